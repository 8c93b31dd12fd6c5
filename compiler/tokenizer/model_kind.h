/*
 * model_kind.h - the kinds of models of tokenizers.  A model converts a piece of text to ids.
 *
 * Each kind is a row of the table in model_kinds.c, and has a file of its own.
 */
#ifndef CR_MODEL_KIND_H
#define CR_MODEL_KIND_H

#include "bpe.h"
#include "compiler/json/document.h"

struct cr_shape;
struct cr_tokenizer;

struct cr_model_kind {
    const char *type; /* its name in tokenizer.json */
    /* Reads the member `model` of a tokenizer.json, with the vocabulary. */
    int (*read)(struct cr_tokenizer *tokenizer, const struct cr_document *document, int model,
                struct cr_error *error);
    /* Called once after a file of any format was read; may be null. */
    void (*index)(struct cr_tokenizer *tokenizer);
    /* Appends the ids of a piece of text, which is not empty.  Fails if the vocabulary has no
     * tokens for it, nor an unknown token. */
    int (*encode)(struct cr_tokenizer *tokenizer, const char *text, size_t n, struct cr_ids *ids,
                  struct cr_error *error);
    void (*release)(struct cr_tokenizer *tokenizer); /* may be null */
    /* Chooses the function that encodes a piece in emitted C; fails if there is none.  Null: it is
     * `piece`. */
    int (*list)(const struct cr_tokenizer *tokenizer, struct cr_shape *shape, struct cr_error *error);
    const char *piece;
};

extern const struct cr_model_kind cr_bpe_model, cr_wordpiece_model, cr_word_level_model,
    cr_unigram_model;

/* Reads the model in a tokenizer.json, by the row of its type. */
int cr_read_model(struct cr_tokenizer *tokenizer, const struct cr_document *document,
                  struct cr_error *error);

#endif
