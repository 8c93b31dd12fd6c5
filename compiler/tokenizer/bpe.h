/*
 * bpe.h - byte-pair encoding: converts a piece of text to ids.
 */
#ifndef CR_BPE_H
#define CR_BPE_H

#include <stdbool.h>

#include "lookup_tables.h"
#include "vocabulary.h"

/* A hash table of the tokens that are a single character; see struct cr_letter. */
struct cr_letter_table {
    struct cr_letter *slots;
    uint32_t mask;
};

/* The position of a character in a piece.  It counts only where it adds a prefix or suffix to the
 * character's token. */
enum { CR_CONTINUES = 1, CR_ENDS = 2, CR_POSITIONS = 4 };

struct cr_bpe {
    const struct cr_vocabulary *vocabulary;
    int32_t *left, *right, *made; /* by rank: the tokens of a merge and its result, see struct
                                     cr_merges */
    int n_merges, left_cap, right_cap, made_cap;
    int32_t *levels; /* by rank: the priority, see struct cr_merges; set by the reader, or null */
    int32_t *slots;
    uint32_t mask;
    /* `prefix` (continuing_subword_prefix) begins tokens that continue a piece, `suffix`
     * (end_of_word_suffix) ends tokens that end a piece; or null.  The document owns both. */
    const char *prefix, *suffix;
    size_t prefix_length, suffix_length;
    struct cr_letter_table letters[CR_POSITIONS]; /* by position; letters[0] is for characters
                                                     without prefix and suffix */
    int32_t unknown;    /* the id of the unknown token, or -1 */
    const char *missing; /* the text of an unknown token that is not in the vocabulary, owned by the
                            document; or null */
    int32_t bytes[256]; /* by byte: with byte_fallback, the id of the byte's token <0xHH>; else
                           -1 */
    bool fuse_unknown, byte_fallback, ignore_merges;
};

/* Adds a merge of two tokens, given by their texts.  Its rank is the number of merges added before.
 * The continuing_subword_prefix of the right text is not part of the result. */
int cr_add_merge(struct cr_bpe *bpe, const char *left, size_t left_length, const char *right,
                 size_t right_length, const char *path, struct cr_error *error);

/* Builds the hash tables for encoding.  Call it after all merges were added.  If several merges
 * have the same pair, the last one counts. */
void cr_index_bpe(struct cr_bpe *bpe);
void cr_free_bpe(struct cr_bpe *bpe);

/* Returns the hash of piece_hash.inc for n bytes of text. */
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
    size_t room; /* the number of symbols that the memory suffices for */
};

/* Encodes n < 2^28 bytes of text and appends the ids.  Returns false if a character needs the
 * unknown token and that is not in the vocabulary. */
bool cr_bpe_encode(const struct cr_bpe *bpe, const char *text, size_t n, struct cr_ids *ids,
                   struct cr_bpe_work *work);
void cr_free_bpe_work(struct cr_bpe_work *work);

#endif
