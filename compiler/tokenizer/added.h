/*
 * added.h - tokens that are found in the text before anything else: special ones, and others that
 * were added to a vocabulary.
 */
#ifndef CR_ADDED_H
#define CR_ADDED_H

#include "part.h"
#include "lookup_tables.h"
#include "vocabulary.h"

struct cr_added_token {
    const char *text;
    size_t length;
    int32_t id;
    bool special;
    bool single_word;    /* not inside a word */
    bool lstrip, rstrip; /* it takes the white space before it, or behind it */
    bool normalized;     /* it is looked for in the normalized text */
    char *shown; /* such a token normalized, which is what decoding shows; the list's, or null */
    size_t shown_length;
};

struct cr_trie {
    struct cr_trie_node *nodes;
    int n, cap;
};

struct cr_added {
    struct cr_added_token *tokens;
    int n, cap;
    struct cr_vocabulary words; /* the same, by id and by text */
    int *places;                /* by id: which of `tokens` it is, where it is one */
    int n_places, places_cap;
    struct cr_added_rule *rules; /* of each of `tokens` */
    struct cr_trie raw, normalized;
};

/* Adds a token; what is there already, or contradicts the vocabulary, is refused. */
int cr_add_added(struct cr_added *added, const struct cr_added_token *token,
                 const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* Gives a token that is there another one's flags, or adds that. */
int cr_amend_added(struct cr_added *added, const struct cr_added_token *token,
                   const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* When all are added. */
int cr_index_added(struct cr_added *added, const struct cr_text_parts *normalizers,
                   struct cr_error *error);
void cr_free_added(struct cr_added *added);

/* The token of an id, or null. */
const struct cr_added_token *cr_find_added(const struct cr_added *added, int32_t id);

/* Cuts a text at the tokens of a tree, of several at one place at the longest, and adds what comes
 * of it to `out`. */
void cr_cut_added(const struct cr_added *added, const struct cr_trie *trie, const char *text,
                  size_t n, bool first, struct cr_pieces *out);

#endif
