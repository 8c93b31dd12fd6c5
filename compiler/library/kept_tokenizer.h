/*
 * kept_tokenizer.h - tokenizers whose tables are kept in files.
 *
 * The image of a tokenizer's tables (tokenizer/table_image.h) is written to a file of the user's
 * cache folder (exec/kept_file.h), with a hash of the image behind it.  The next process that opens
 * the same tokenizer.json maps that file, and reads the rest of the JSON.  The file's only source
 * is tokenizer.json, with a hash of all its bytes, or a GGUF file, with one of its first MiB.
 */
#ifndef CR_KEPT_TOKENIZER_H
#define CR_KEPT_TOKENIZER_H

#include "compiler/tokenizer/tokenizer.h"

/* The mapped file of a tokenizer; all zero if it has none. */
struct cr_kept_image {
    void *mapping;
    size_t bytes;
};

/* Opens the tokenizer at a path.  If kept files may take `most` bytes, and its file has at
 * least `least`, its tables are mapped if they are kept, and kept otherwise.  The image must be freed
 * after the tokenizer. */
struct cr_tokenizer *cr_open_kept_tokenizer(const char *path, int64_t most, int64_t least,
                                            struct cr_kept_image *image, struct cr_error *error);

void cr_free_kept_image(struct cr_kept_image *image);

#endif
