/* lookup_tables.h - the tables of a tokenizer: the library builds them; in emitted C they are
 * constants. */
#ifndef CR_LOOKUP_TABLES_H
#define CR_LOOKUP_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Merge r makes symbol made[r] of left[r] and right[r].  slots[] is a hash table of the ranks
 * with open addressing: -1 marks a free slot, and it has mask + 1 slots, a power of two, of
 * which some are free. Merges are made in the order of levels[r], where several may be equal, or
 * of r if levels is null. */
struct cr_merges {
    const int32_t *left, *right, *made, *slots;
    uint32_t mask;
    const int32_t *levels;
};

/* A character that is a token, in a hash table: open addressing, an id of -1 is free. */
struct cr_letter {
    uint32_t character;
    int32_t id;
};

/* A model of byte-pair encoding. */
struct cr_bpe_tables {
    struct cr_merges merges;
    const struct cr_letter *letters; /* letter_mask + 1 slots, a power of two and not all taken */
    uint32_t letter_mask;
    const int32_t *byte_ids; /* of 256 bytes, -1 for none */
    int32_t unknown;         /* the id of the unknown token, or -1 */
    int fuse_unknown;        /* several unknown tokens in a row become one */
};

/* When a space is put before a text: if the text is not empty; if it does not begin with a
 * space; or in the second case, only before the first text. */
enum cr_prepending {
    CR_PREPEND_NEVER,
    CR_PREPEND_TO_TEXT,
    CR_PREPEND_UNLESS_THERE,
    CR_PREPEND_ONCE_UNLESS_THERE
};

/* A node of a trie of the bytes of tokens; the children of a node are a linked list.  Node 0 is
 * the root. */
struct cr_trie_node {
    int child, sibling, token; /* or -1 */
    unsigned char byte;
};

enum {
    CR_ADDED_SPECIAL = 1,
    CR_ADDED_SINGLE_WORD = 2, /* not inside a word */
    CR_ADDED_LSTRIP = 4,      /* the match includes the white space before the token */
    CR_ADDED_RSTRIP = 8       /* the match includes the white space after the token */
};

/* The id and the flags of an added token, by the number that the trie has for it. */
struct cr_added_rule {
    int32_t id;
    int flags;
};

/* The map of a Precompiled: a trie of 32-bit units, and texts terminated by zeros. */
struct cr_map_tables {
    const uint32_t *units;
    const char *results;
    size_t n_units, n_results;
};

/* Tokens by their texts: the library has a vocabulary, and emitted C tables (word_table.inc). */
struct cr_words;

/* A model of WordPiece. */
struct cr_wordpiece_tables {
    const struct cr_words *words;
    const char *prefix; /* of tokens that continue a word */
    size_t n_prefix, longest_token; /* bytes */
    int64_t longest; /* maximum characters of a word; a longer word is unknown */
};

/* Tokens of at least CR_UNIGRAM_HEAD bytes are looked up only if one of that length begins with the
 * same bytes as the text. */
enum { CR_UNIGRAM_HEAD = 4, CR_UNIGRAM_HEADS = 1 << 14 };

/* A unigram language model. */
struct cr_unigram_tables {
    const struct cr_words *words;
    const double *scores; /* by id; if infinite, the token is not searched for in texts */
    double unknown_score; /* the score of a character that is not a token */
    int32_t unknown;      /* the id of the unknown token, or -1 */
    const int32_t *bytes; /* the token of each of 256 bytes, -1 for none; null: unknown text is
                             not encoded as bytes */
    int single; /* sums are rounded to float32, as SentencePiece's are; Hugging Face's are of float64 */
    const uint32_t *longest; /* by the hash of the first bytes: bytes of the longest such token */
};

/* The text of a pair that is truncated if the pair is too long. */
enum cr_truncation_strategy { CR_LONGEST_FIRST, CR_ONLY_FIRST, CR_ONLY_SECOND };

/* The positions of one text or of two among special ids.  An id below 0 stands for a text. */
enum { CR_FIRST_TEXT = -1, CR_SECOND_TEXT = -2 };

struct cr_template_item {
    int32_t id, type; /* the type is the segment of the id: BERT's token_type_ids */
};

#endif
