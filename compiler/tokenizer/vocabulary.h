/*
 * vocabulary.h - the tokens of a model: texts and ids.
 */
#ifndef CR_VOCABULARY_H
#define CR_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/text.h"
#include "compiler/json/document.h"

/* All ids are below this. */
enum { CR_MOST_IDS = 1 << 22 };

struct cr_token {
    uint32_t at; /* offset of its text in the vocabulary's texts; 0: no token has this id */
    uint32_t length, hash;
};

/* Slots are a hash table with open addressing.  A slot is 0 if it is free.  Otherwise its low
 * bits are a token's id + 1, and its high bits the first bits of the token's hash, which tell
 * most other tokens apart without reading them.  No table holds an address.  All zero is empty. */
struct cr_vocabulary {
    struct cr_token *tokens; /* by id */
    int n, cap;              /* the greatest id + 1 */
    uint32_t *slots;
    uint32_t n_words, n_slots; /* slots are a power of two, or none */
    uint32_t longest;          /* bytes of the longest token */
    struct cr_text texts;      /* of tokens, each with a NUL behind it; the first byte is not used */
    bool is_complete; /* the tables are those of an image (table_image.h), and adding a token does
                       * nothing */
};

/* Makes room for n tokens with the ids 0 to n - 1; adding them does not move others. */
void cr_reserve_words(struct cr_vocabulary *vocabulary, int n);

/* Adds a token, whose text is copied.  Fails, with an error that begins with `path`, if its id or text exists, or the id
 * is out of bounds. */
int cr_add_word(struct cr_vocabulary *vocabulary, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error);

/* Returns the text of a token, which is valid until another is added; null if no token has that
 * id. */
static inline const char *cr_word_text(const struct cr_vocabulary *vocabulary, int32_t id)
{
    bool is_there = id >= 0 && id < vocabulary->n && vocabulary->tokens[id].at;
    return is_there ? vocabulary->texts.data + vocabulary->tokens[id].at : NULL;
}

/* Returns the id of a text, or -1. */
int32_t cr_find_word(const struct cr_vocabulary *vocabulary, const char *text, size_t length);

/* Sets the id of the token <0xHH> of each byte, or -1 if there is none or the model has no byte fallback. */
void cr_find_bytes(const struct cr_vocabulary *vocabulary, bool byte_fallback, int32_t ids[256]);

/* True if the token of that id exists and its text is `left` followed by `right`. */
bool cr_has_both(const struct cr_vocabulary *vocabulary, int32_t id, const char *left,
                 size_t left_length, const char *right, size_t right_length);
/* Adds the members of an object, each a token and its id. */
int cr_read_vocabulary(struct cr_vocabulary *vocabulary, const struct cr_document *document,
                       int object, struct cr_error *error);

void cr_free_vocabulary(struct cr_vocabulary *vocabulary);

#endif
