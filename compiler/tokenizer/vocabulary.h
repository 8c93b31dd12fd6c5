/*
 * vocabulary.h - the tokens of a model: maps texts to ids and back.
 */
#ifndef CR_VOCABULARY_H
#define CR_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/text.h"
#include "compiler/json/document.h"

/* All ids are less than this. */
enum { CR_MOST_IDS = 1 << 22 };

struct cr_token {
    uint32_t at; /* the offset of its text in the vocabulary's texts; 0: no token has this id */
    uint32_t length, hash;
};

/* The slots are a hash table with open addressing.  A free slot is 0.  Otherwise its low bits are a
 * token's id + 1, and its high bits the first bits of the token's hash, by which most other tokens
 * are ruled out without reading them.  No table contains an address.  An empty vocabulary is all
 * zero. */
struct cr_vocabulary {
    struct cr_token *tokens; /* by id */
    int n, cap;              /* n: the greatest id + 1 */
    uint32_t *slots;
    uint32_t n_words, n_slots; /* n_slots is a power of two, or 0 */
    uint32_t longest;          /* the length of the longest token in bytes */
    struct cr_text texts;      /* the texts of tokens, each followed by a NUL; the first byte is not
                                  used */
    bool is_complete; /* the tables belong to an image (table_image.h), so adding a token does
                         nothing */
};

/* Allocates memory for n tokens with the ids 0 to n - 1, so that adding them does not move
 * others. */
void cr_reserve_words(struct cr_vocabulary *vocabulary, int n);

/* Adds a token and copies its text.  Fails, with an error that begins with `path`, if the id or the
 * text exists already, or if the id is out of range. */
int cr_add_word(struct cr_vocabulary *vocabulary, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error);

/* Returns the text of a token, valid until another token is added; null if no token has the id. */
static inline const char *cr_word_text(const struct cr_vocabulary *vocabulary, int32_t id)
{
    bool is_there = id >= 0 && id < vocabulary->n && vocabulary->tokens[id].at;
    return is_there ? vocabulary->texts.data + vocabulary->tokens[id].at : NULL;
}

/* Returns the id of the token with a text, or -1. */
int32_t cr_find_word(const struct cr_vocabulary *vocabulary, const char *text, size_t length);

/* Sets ids[byte] to the id of the token <0xHH> of each byte; to -1 if there is none, or if
 * byte_fallback is false. */
void cr_find_bytes(const struct cr_vocabulary *vocabulary, bool byte_fallback, int32_t ids[256]);

/* True if the token with an id exists and its text is `left` followed by `right`. */
bool cr_has_both(const struct cr_vocabulary *vocabulary, int32_t id, const char *left,
                 size_t left_length, const char *right, size_t right_length);
/* Adds the members of a JSON object, whose keys are tokens and whose values are ids. */
int cr_read_vocabulary(struct cr_vocabulary *vocabulary, const struct cr_document *document,
                       int object, struct cr_error *error);

void cr_free_vocabulary(struct cr_vocabulary *vocabulary);

#endif
