/*
 * table_image.h - stores the large tables of a tokenizer as one block of bytes, which a file can hold.
 *
 * Reading a tokenizer of 50,000 tokens and as many merges spends nearly all its time on these tables.
 * They contain no addresses: tokens refer to their texts by offsets, and hash tables refer to tokens
 * by ids.  So the tables can be stored one after another in an image, and a later process uses them in
 * place:
 *
 *     struct image_header      numbers of items, and where tokenizer.json lists tokens and merges
 *     vocabulary               tokens, slots, texts
 *     BPE                      left, right, made, levels, slots, letters
 *     unigram                  scores, longest tokens
 *
 * Each table begins at a multiple of 8 bytes.  One list of the tables, in table_image.c, serves for writing
 * and for mapping an image.
 *
 * A tokenizer that is opened with an image reads everything else from its files: parts, added
 * tokens and settings.  Functions that add tokens or merges then do nothing, and the reader of JSON
 * skips the lists of them.  The image must have been made from the same files by the same build.
 */
#ifndef CR_TOKENIZER_IMAGE_H
#define CR_TOKENIZER_IMAGE_H

#include "end_tokens.h"
#include "tokenizer.h"

/* Writes to `source` the path of the file that an image of the tokenizer at `path` is made from:
 * a tokenizer.json or a GGUF file.  Returns false for other layouts, for which there are no
 * images. */
bool cr_image_source(const char *path, char source[CR_PATH_SIZE]);

/* Opens a tokenizer as cr_tokenizer_open does, but with the tables of an image, which must outlive
 * it. */
struct cr_tokenizer *cr_tokenizer_open_image(const char *path, const void *image, size_t bytes,
                                             struct cr_error *error);

/* Appends the image of a tokenizer; its length is a multiple of 8. */
void cr_write_image(struct cr_text *out, struct cr_tokenizer *tokenizer);

/* Makes an empty tokenizer use the tables of an image, which must outlive it.  Returns false if the
 * size of the image differs from the one in its header. */
bool cr_use_image(struct cr_tokenizer *tokenizer, const void *image, size_t bytes);

/* Removes the tables of an image from a tokenizer; does nothing if it has no image. */
void cr_leave_image(struct cr_tokenizer *tokenizer);

#endif
