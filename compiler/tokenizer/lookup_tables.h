/* lookup_tables.h - the tables of a tokenizer.  The library builds them; in emitted C they are
 * constants. */
#ifndef CR_LOOKUP_TABLES_H
#define CR_LOOKUP_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Merge r replaces symbols left[r] and right[r] by made[r].  slots[] is a hash table of the merges
 * with open addressing: it has mask + 1 slots, a power of two; -1 marks a free slot, and there is
 * always one.  Merges are made in the order of levels[r], of which several may be equal, or of r if
 * levels is null. */
struct cr_merges {
    const int32_t *left, *right, *made, *slots;
    uint32_t mask;
    const int32_t *levels;
};

/* A character that is a token: an entry of a hash table with open addressing; id -1 marks a free
 * slot. */
struct cr_letter {
    uint32_t character;
    int32_t id;
};

/* The tables of a model for byte-pair encoding. */
struct cr_bpe_tables {
    struct cr_merges merges;
    const struct cr_letter *letters; /* letter_mask + 1 slots, a power of two; some are free */
    uint32_t letter_mask;
    const int32_t *byte_ids; /* by byte: the id of its token, or -1 */
    int32_t unknown;         /* the id of the unknown token, or -1 */
    int fuse_unknown;        /* consecutive unknown tokens become one */
};

/* When a space is put before a text: never; if the text is not empty; if it does not begin with a
 * space; or, in addition, only if it begins with the first character of the input. */
enum cr_prepending {
    CR_PREPEND_NEVER,
    CR_PREPEND_TO_TEXT,
    CR_PREPEND_UNLESS_THERE,
    CR_PREPEND_ONCE_UNLESS_THERE
};

/* A node of a trie of the bytes of tokens.  Its children are a linked list.  Node 0 is the root. */
struct cr_trie_node {
    int child, sibling, token; /* indices, or -1 */
    unsigned char byte;
};

enum {
    CR_ADDED_SPECIAL = 1,
    CR_ADDED_SINGLE_WORD = 2, /* the token is not found inside a word */
    CR_ADDED_LSTRIP = 4,      /* the match includes the white space before the token */
    CR_ADDED_RSTRIP = 8       /* the match includes the white space after the token */
};

/* The id and the flags of an added token, by the number that the trie stores for it. */
struct cr_added_rule {
    int32_t id;
    int flags;
};

/* The map of a Precompiled: the trie's units of 32 bits, and the results, each terminated by a
 * NUL. */
struct cr_map_tables {
    const uint32_t *units;
    const char *results;
    size_t n_units, n_results;
};

/* The texts of tokens: a vocabulary in the library, tables in emitted C (word_table.inc). */
struct cr_words;

/* The tables of a WordPiece model. */
struct cr_wordpiece_tables {
    const struct cr_words *words;
    const char *prefix; /* begins tokens that continue a word */
    size_t n_prefix, longest_token; /* in bytes */
    int64_t longest; /* the most characters of a word; a longer word is unknown */
};

/* At each position of a text, tokens are looked up only up to the length of the longest token with
 * the same first CR_UNIGRAM_HEAD bytes; CR_UNIGRAM_HEADS is the size of the hash table of these
 * lengths. */
enum { CR_UNIGRAM_HEAD = 4, CR_UNIGRAM_HEADS = 1 << 14 };

/* The tables of a unigram language model. */
struct cr_unigram_tables {
    const struct cr_words *words;
    const double *scores; /* by id; a token with an infinite score is not searched for in texts */
    double unknown_score; /* the score of a character that is not a token */
    int32_t unknown;      /* the id of the unknown token, or -1 */
    const int32_t *bytes; /* by byte: the id of its token, or -1; null: unknown text is not encoded
                             byte by byte */
    int single; /* scores are added in float32, as in SentencePiece, and not in float64, as in
                   Hugging Face's library */
    const uint32_t *longest; /* by the hash of the first CR_UNIGRAM_HEAD bytes: the length of the
                                longest token that begins so */
};

/* Selects the text of a pair that is truncated if the pair is too long. */
enum cr_truncation_strategy { CR_LONGEST_FIRST, CR_ONLY_FIRST, CR_ONLY_SECOND };

/* An id below 0 in a template stands for one of the texts. */
enum { CR_FIRST_TEXT = -1, CR_SECOND_TEXT = -2 };

struct cr_template_item {
    int32_t id, type; /* type: the segment of the id, BERT's token_type_ids */
};

#endif
