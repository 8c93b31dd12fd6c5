/*
 * table_image.h - the large tables of a tokenizer as one block of bytes, which a file can hold.
 *
 * Reading a tokenizer of 50,000 tokens and as many merges spends nearly all its time on these tables.
 * They contain no addresses: tokens refer to their texts by offsets, and hash tables refer to tokens
 * by ids.  So the tables can stand one after another in an image, and a later process uses them in
 * place:
 *
 *     struct cr_image_header   numbers of items, and where tokenizer.json lists tokens and merges
 *     vocabulary               tokens, slots, texts
 *     BPE                      left, right, made, levels, slots, letters
 *     unigram                  scores, longest tokens
 *
 * Each table begins at a multiple of 8 bytes.  Writing and mapping an image use one list of the
 * tables, in table_image.c.
 *
 * A tokenizer that is opened with an image reads everything else from its files: parts, added
 * tokens and settings.  Functions that add tokens or merges then do nothing, and the reader of JSON
 * passes over their lists.  The image must have been made of the same files by the same build.
 */
#ifndef CR_TOKENIZER_IMAGE_H
#define CR_TOKENIZER_IMAGE_H

#include "end_tokens.h"
#include "tokenizer.h"

/* Finds the file that a tokenizer's image is made of: the tokenizer.json at the path, or a GGUF
 * file.  Returns false for other layouts, which have no images. */
bool cr_image_source(const char *path, char source[CR_PATH_SIZE]);

/* Opens a tokenizer as cr_tokenizer_open does, with an image of its tables, which must outlive it. */
struct cr_tokenizer *cr_tokenizer_open_image(const char *path, const void *image, size_t bytes,
                                             struct cr_error *error);

/* Appends the image of a tokenizer; its length is then a multiple of 8. */
void cr_write_image(struct cr_text *out, struct cr_tokenizer *tokenizer);

/* Lets an empty tokenizer use the tables of an image, which must outlive it.  Returns false if the
 * image has another size than its header says. */
bool cr_use_image(struct cr_tokenizer *tokenizer, const void *image, size_t bytes);

/* Makes a tokenizer forget the tables of an image; without an image it does nothing. */
void cr_leave_image(struct cr_tokenizer *tokenizer);

#endif
