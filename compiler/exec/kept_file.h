/*
 * kept_file.h - keeps data that were computed from other files in the user's cache folder.
 *
 * A kept file begins with its key, a text of everything on which its contents depend:
 *
 *     a title that says what it contains
 *     the build id of this library, which the linker writes; without one nothing is kept
 *     further lines by the caller
 *     for each source, a file: path, device and number, size, times of the last changes, and a hash
 *     of its contents, or of a part of them
 *
 * Contents follow at the next page, so that they can be mapped.  The file's name is a hash of the
 * key.  A file with another key is ignored.
 */
#ifndef CR_KEPT_FILE_H
#define CR_KEPT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

/* A source: its resolved path, and the hash of its contents. */
struct cr_kept_source {
    char *path;
    uint64_t hash[2];
};

struct cr_kept_key {
    struct cr_text text;
    size_t sources_at; /* offset in `text` at which the lines about sources begin */
    struct cr_kept_source *sources;
    int n_sources, sources_cap;
    char *path; /* path of the kept file; null: nothing can be kept */
};

/* Updates a hash of 128 bits, initially zeros, with n bytes.  Changing any single byte changes
 * the hash. */
void cr_kept_hash(uint64_t hash[2], const void *bytes, size_t n);

/* Updates a hash as cr_kept_hash does, with n bytes of an open file from `at` on, which it reads
 * and does not map.  Returns false if they cannot be read. */
bool cr_kept_hash_file(uint64_t hash[2], int fd, size_t at, size_t n);

/* Begins a key for contents described by `title`.  Returns false if this library has no build
 * id. */
bool cr_kept_begin(struct cr_kept_key *key, const char *title);

/* Adds an open file as a source; returns false on failure.  Sources must be added after all other
 * lines. */
bool cr_kept_add_source(struct cr_kept_key *key, const char *path, int fd, const uint64_t hash[2]);

/* Ends a key: sets the path of the kept file, whose name ends in `suffix`, one of the suffixes in
 * kept_file.c. */
void cr_kept_name(struct cr_kept_key *key, const char *suffix);

/* True if no source has changed since it was added. */
bool cr_kept_is_current(const struct cr_kept_key *key);

/* Returns the offset of the contents: the first page after the key. */
size_t cr_kept_at(const struct cr_kept_key *key);

/* Opens the kept file.  Returns its descriptor and sets *bytes to the size of the contents;
 * returns -1 if there is no file that belongs to this user and has the key. */
int cr_kept_open(const struct cr_kept_key *key, int64_t *bytes);

/* Writes the kept file, after it has removed the least recently used ones until all take at most
 * `most` bytes. Returns the bytes of the file.  Returns 0 with an error, and writes nothing, if
 * the file is too large, a source has changed, the disk has less than four times as much free,
 * writing fails, or another process is writing to the folder. */
int64_t cr_kept_store(const struct cr_kept_key *key, const void *contents, int64_t bytes, int64_t most,
                      struct cr_error *error);

void cr_kept_free_key(struct cr_kept_key *key);

#endif
