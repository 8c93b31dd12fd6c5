/*
 * added_tokens.h - tokens that are found in the text before anything else: special ones, and others
 * that were added to a vocabulary.
 */
#ifndef CR_ADDED_TOKENS_H
#define CR_ADDED_TOKENS_H

#include "tokenizer_part.h"
#include "lookup_tables.h"
#include "vocabulary.h"

struct cr_added_token {
    const char *text;
    size_t length;
    int32_t id;
    bool special;
    bool hidden; /* decoding hides it with the special ones; set when the tokens are indexed */
    bool single_word;    /* not inside a word */
    bool lstrip, rstrip; /* the token also matches the white space before it, or after it */
    bool normalized;     /* the token is searched in the normalized text */
    bool kept;           /* normalizers do not change the token's text */
    char *shown; /* the normalized text of such a token, which decoding shows; owned by the list,
                    or null */
    size_t shown_length;
};

struct cr_added {
    struct cr_added_token *tokens;
    int n, cap;
    struct cr_vocabulary words; /* the texts of `tokens`, by id and by text */
    int *places;                /* by id of an added token: its index into `tokens` */
    int n_places, places_cap;
    struct cr_added_rule *rules; /* by index into `tokens` */
    struct cr_trie raw, normalized;
};

/* Adds a token.  Fails if it was added before or contradicts the vocabulary. */
int cr_add_added(struct cr_added *added, const struct cr_added_token *token,
                 const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* Updates the flags of an added token, or adds the token if it is new. */
int cr_amend_added(struct cr_added *added, const struct cr_added_token *token,
                   const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* Builds the tries and rules; called once, after all tokens were added. */
int cr_index_added(struct cr_added *added, const struct cr_text_parts *normalizers,
                   struct cr_error *error);
void cr_free_added(struct cr_added *added);

/* Returns the added token of an id, or null. */
const struct cr_added_token *cr_find_added(const struct cr_added *added, int32_t id);

/* Cuts a text at the tokens of a trie and adds pieces and tokens to `out`.  The longest of several
 * tokens at one position wins. */
void cr_cut_added(const struct cr_added *added, const struct cr_trie *trie, const char *text,
                  size_t n, size_t leading, struct cr_pieces *out);

#endif
