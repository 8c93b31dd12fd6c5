/*
 * vocabulary.h - the tokens of a model: texts and ids.
 */
#ifndef CR_VOCABULARY_H
#define CR_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/json/document.h"

/* Ids are below this. */
enum { CR_MOST_IDS = 1 << 22 };

/* Texts belong to the caller.  All zero is empty. */
struct cr_token {
    const char *text; /* null: no token has this id */
    uint32_t length, hash;
};

/* Slots are a hash table: at the hash of a token, or behind it, stands its id + 1 below the first
 * bits of the hash, which tell most other tokens apart without a look at them; and 0 where no token
 * stands. */
struct cr_vocabulary {
    struct cr_token *tokens; /* by id */
    int n, cap;              /* the greatest id + 1 */
    uint32_t *slots;
    uint32_t n_words, n_slots; /* slots are a power of two, or none */
};

/* Makes room for n tokens with the ids 0 to n - 1, which are added then without moving others. */
void cr_reserve_words(struct cr_vocabulary *vocabulary, int n);

/* Adds a token.  Refuses, in a line that begins with `path`, an id or a text that is there, and an
 * id out of bounds. */
int cr_add_word(struct cr_vocabulary *vocabulary, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error);

/* The id of a text, or -1. */
int32_t cr_find_word(const struct cr_vocabulary *vocabulary, const char *text, size_t length);

/* True if there is a token with that id, and its text is `left` and then `right`. */
bool cr_has_both(const struct cr_vocabulary *vocabulary, int32_t id, const char *left,
                 size_t left_length, const char *right, size_t right_length);
/* Adds the members of an object, each a token and its id. */
int cr_read_vocabulary(struct cr_vocabulary *vocabulary, const struct cr_document *document,
                       int object, struct cr_error *error);

void cr_free_vocabulary(struct cr_vocabulary *vocabulary);

#endif
