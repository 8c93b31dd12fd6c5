/*
 * added_tokens.h - tokens that are found in the text before anything else: special tokens, and
 * other tokens that were added to a vocabulary.
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
    bool hidden; /* decoding hides the token when it hides special tokens; set by cr_index_added */
    bool single_word;    /* the token is not found inside a word */
    bool lstrip, rstrip; /* the match includes the white space before the token, or after it */
    bool normalized;     /* the token is searched for in the normalized text */
    bool kept;           /* normalizers are not applied to the token's text */
    char *shown; /* of a `normalized` token: its normalized text, which decoding shows; the list
                    owns it; else null */
    size_t shown_length;
};

struct cr_added {
    struct cr_added_token *tokens;
    int n, cap;
    struct cr_vocabulary words; /* the texts of `tokens`, by id and by text */
    int *places;                /* by id of an added token: its index in `tokens` */
    int n_places, places_cap;
    struct cr_added_rule *rules; /* by index in `tokens` */
    struct cr_trie raw, normalized;
};

/* Adds a token.  Fails if it was added before or contradicts the vocabulary. */
int cr_add_added(struct cr_added *added, const struct cr_added_token *token,
                 const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* Replaces the flags of an added token with the same text, or adds the token if there is none. */
int cr_amend_added(struct cr_added *added, const struct cr_added_token *token,
                   const struct cr_vocabulary *vocabulary, const char *path, struct cr_error *error);

/* Builds the tries and rules.  Call it once, after all tokens were added. */
int cr_index_added(struct cr_added *added, const struct cr_text_parts *normalizers,
                   struct cr_error *error);
void cr_free_added(struct cr_added *added);

/* Returns the added token with an id, or null. */
const struct cr_added_token *cr_find_added(const struct cr_added *added, int32_t id);

/* Cuts a text at the tokens that are in a trie, and appends tokens and the pieces between them to
 * `out`.  If several tokens begin at one position, the longest one is taken. */
void cr_cut_added(const struct cr_added *added, const struct cr_trie *trie, const char *text,
                  size_t n, size_t leading, struct cr_pieces *out);

#endif
