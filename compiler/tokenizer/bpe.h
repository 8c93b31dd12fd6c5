/*
 * bpe.h - byte-pair encoding: the ids of a piece of text.
 */
#ifndef CR_BPE_H
#define CR_BPE_H

#include <stdbool.h>

#include "lookup_tables.h"
#include "vocabulary.h"

/* The tokens of one character; see struct cr_bpe_tables. */
struct cr_letter_table {
    struct cr_letter *slots;
    uint32_t mask;
};

/* The position of a character in a piece, if it changes the text of its token. */
enum { CR_CONTINUES = 1, CR_ENDS = 2, CR_POSITIONS = 4 };

struct cr_bpe {
    const struct cr_vocabulary *vocabulary;
    int32_t *left, *right, *made; /* by rank, see struct cr_merges */
    int n_merges, left_cap, right_cap, made_cap;
    int32_t *levels; /* by rank; see struct cr_merges; set by the reader, or null */
    int32_t *slots;
    uint32_t mask;
    /* continuing_subword_prefix, which precedes tokens that continue a piece, and
     * end_of_word_suffix, which follows tokens that end one; or null.  The document owns both. */
    const char *prefix, *suffix;
    size_t prefix_length, suffix_length;
    struct cr_letter_table letters[CR_POSITIONS]; /* by position; the first table has the characters
                                                  without affixes */
    int32_t unknown;    /* the id of the unknown token, or -1 */
    const char *missing; /* an unknown token that the vocabulary does not have; or null.  The document owns it */
    int32_t bytes[256]; /* by byte: the id of its token <0xHH>, if there is byte_fallback; else
                           -1 */
    bool fuse_unknown, byte_fallback, ignore_merges;
};

/* Adds a merge of two tokens' texts; its rank is the number of merges before it.  The right text
 * loses its continuing_subword_prefix when they are merged. */
int cr_add_merge(struct cr_bpe *bpe, const char *left, size_t left_length, const char *right,
                 size_t right_length, const char *path, struct cr_error *error);

/* Builds the hash tables for encoding; called after all merges were added.  Of several merges of
 * one pair the last counts. */
void cr_index_bpe(struct cr_bpe *bpe);
void cr_free_bpe(struct cr_bpe *bpe);

/* Returns the hash of piece_hash.inc. */
uint32_t cr_hash_piece(const char *text, size_t n);

/* A growing list of ids, and the working memory of encoding. */
struct cr_ids {
    int32_t *items;
    int n, cap;
};

struct cr_bpe_work {
    struct cr_symbol *symbols;
    struct cr_candidate *heap;
    int32_t *ids;
    size_t room; /* capacity in symbols */
};

/* Encodes n bytes of text, fewer than 2^28, and appends the ids.  Returns false if the text has a character that
 * needs the unknown token that is missing. */
bool cr_bpe_encode(const struct cr_bpe *bpe, const char *text, size_t n, struct cr_ids *ids,
                   struct cr_bpe_work *work);
void cr_free_bpe_work(struct cr_bpe_work *work);

#endif
