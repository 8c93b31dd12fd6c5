/*
 * vocabulary.h - the tokens of a model: texts and ids.
 */
#ifndef CR_VOCABULARY_H
#define CR_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "compiler/ir/hash.h"

/* Ids are below this. */
enum { CR_MOST_IDS = 1 << 22 };

/* Texts belong to the caller.  All zero is empty. */
struct cr_token {
    const char *text; /* null: no token has this id */
    size_t length;
};

struct cr_vocabulary {
    struct cr_token *tokens; /* by id */
    int n, cap;              /* the greatest id + 1 */
    struct cr_table table;
};

/* Adds a token.  Refuses, in a line that begins with `path`, an id or a text that is there, and an
 * id out of bounds. */
int cr_add_word(struct cr_vocabulary *vocabulary, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error);

/* The id of a text, or -1. */
int32_t cr_find_word(const struct cr_vocabulary *vocabulary, const char *text, size_t length);

/* Returns what cr_find_word returns.  It compares the text with token `id` first, which may be any number: that is
 * quicker if they are equal. */
int32_t cr_find_word_near(const struct cr_vocabulary *vocabulary, const char *text, size_t length,
                          int32_t id);
void cr_free_vocabulary(struct cr_vocabulary *vocabulary);

#endif
