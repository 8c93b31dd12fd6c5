/*
 * mapping.h - the bytes of a file, and messages of one line about it.
 *
 * A function that can fail for a reason outside the program returns 0 or -1 and
 * then leaves "PATH: what was found, what was expected" in error[size].
 */
#ifndef CR_MAPPING_H
#define CR_MAPPING_H

#include <stddef.h>

#ifndef CR_API
#define CR_API
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers in files are taken as they are: this needs a little-endian machine"
#endif

#if defined(__GNUC__)
#define CR_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define CR_PRINTF(text, values)
#endif

/* Sets the message and returns -1.  The path is shortened and escaped where need be. */
CR_API int cr_file_fail(char *error, size_t size, const char *path, const char *format, ...)
    CR_PRINTF(4, 5);

/* Text from a file made fit for a message: escaped, shortened, in quotes. */
struct cr_shown {
    char text[96];
};
CR_API struct cr_shown cr_show(const char *text, size_t length);

#if defined(__unix__) || defined(__APPLE__)
/* Of stat's st_mode: "a folder", "a pipe", ...; null for a regular file. */
CR_API const char *cr_file_kind(unsigned mode);
#endif

/* The bytes of a file, readable until it is unmapped. */
struct cr_mapping {
    const unsigned char *bytes;
    size_t size;
    int handle; /* its descriptor + 1, open as long; 0 for bytes that are in memory */
};

CR_API int cr_map_file(struct cr_mapping *mapping, const char *path, char *error, size_t size);
CR_API void cr_unmap_file(struct cr_mapping *mapping);

/* Copies n bytes from `at` on, of which there were as many when the file was mapped.  They are read and
 * not touched: no page of the mapping comes to memory, and if the file was cut meanwhile, or the system
 * fails, that is -1 and no signal.  Threads may call it at the same time. */
CR_API int cr_mapping_read(const struct cr_mapping *mapping, size_t at, size_t n, void *out);

/* The message for that; returns -1. */
CR_API int cr_mapping_fail(const struct cr_mapping *mapping, const char *path, char *error,
                           size_t size);

#endif
