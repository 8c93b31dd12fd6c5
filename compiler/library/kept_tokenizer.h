/*
 * kept_tokenizer.h - tokenizers whose tables are cached in files.
 *
 * The image of a tokenizer's tables (tokenizer/table_image.h) is written to a file in the user's
 * cache folder (exec/kept_file.h), followed by a hash of the image.  The next process that opens
 * the same tokenizer.json maps that file, and reads only the rest of the JSON.  The key of the
 * cached file is a hash of all bytes of tokenizer.json or, for a tokenizer in a GGUF file, of that
 * file's first MiB.
 */
#ifndef CR_KEPT_TOKENIZER_H
#define CR_KEPT_TOKENIZER_H

#include "compiler/tokenizer/tokenizer.h"

/* A mapped cached file; all zero if a tokenizer has none. */
struct cr_kept_image {
    void *mapping;
    size_t bytes;
};

/* Opens the tokenizer at a path.  If the cache may have files of `most` bytes in all, and the
 * tokenizer's file has at least `least` bytes, the tables are mapped from the cache, or written to
 * it if they are not there.  The caller frees *image after the tokenizer. */
struct cr_tokenizer *cr_open_kept_tokenizer(const char *path, int64_t most, int64_t least,
                                            struct cr_kept_image *image, struct cr_error *error);

void cr_free_kept_image(struct cr_kept_image *image);

#endif
