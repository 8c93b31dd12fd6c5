/*
 * mapping.h - the bytes of a file, and error messages of one line about it.
 *
 * A function that can fail for a reason outside the program returns 0 or -1 and then leaves
 * "PATH: what was found, what was expected" in error[size].
 */
#ifndef CR_MAPPING_H
#define CR_MAPPING_H

#include <stddef.h>

#include "linkage.h" /* only for crescent */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers in files are taken as they are: this needs a little-endian machine"
#endif

#if defined(__GNUC__)
#define CR_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define CR_PRINTF(text, values)
#endif

/* Sets the message and returns -1.  A long path is shortened; control characters in it become '?'. */
CR_API int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
    CR_PRINTF(4, 5);

/* Text from a file, prepared for a message: escaped, shortened, in quotes. */
struct cr_shown {
    char text[96];
};
CR_API struct cr_shown cr_show(const char *text, size_t length);

#if defined(__unix__) || defined(__APPLE__)
/* Returns "a folder", "a pipe", ... for the st_mode of stat; null for a regular file. */
CR_API const char *cr_file_kind(unsigned mode);
#endif

/* The contents of a file; readable until cr_unmap_file. */
struct cr_mapping {
    const unsigned char *bytes;
    size_t size;
    size_t mapped; /* number of bytes that are mapped, from the first on */
    int handle; /* descriptor of the open file + 1; 0 if all bytes are in memory */
};

/* Maps a whole file. */
CR_API int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size);

/* Maps the first n bytes of a file.  The others take no address space (`ulimit -v` limits it),
 * and only cr_mapping_read reads them. */
CR_API int cr_map_begin(struct cr_mapping *mapping, const char *path, size_t n, char *error, size_t size);

/* Maps the first n bytes instead of fewer. */
CR_API int cr_map_more(struct cr_mapping *mapping, size_t n, const char *path, char *error, size_t size);

CR_API void cr_unmap_file(struct cr_mapping *mapping);

/* Copies n bytes of the file, from offset `at` on, to `out`.  Reads the file instead of the
 * mapping, so that no page of the mapping is loaded, and returns -1 for a file that was
 * truncated, instead of raising SIGBUS. Threads may call it at the same time. */
CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out);

/* Sets the message after a cr_mapping_read that failed; returns -1. */
CR_API int cr_mapping_fail(const struct cr_mapping *mapping, const char *path, char *error,
                           size_t size);

#endif
