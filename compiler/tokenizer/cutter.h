/* cutter.h - how a pre-tokenizer cuts text, character by character; it is also copied into emitted C. */
#ifndef CR_CUTTER_H
#define CR_CUTTER_H

#include "lookup_tables.h"

/* Flags: adjacent characters of these classes, 1 or 2, stay in one piece. */
enum { CR_JOINS_11 = 1, CR_JOINS_12 = 2, CR_JOINS_21 = 4, CR_JOINS_22 = 8 };

/* The operations of the program that a pattern is compiled to.  Control passes to the next
 * operation unless the operation names a target. */
enum cr_pattern_code {
    CR_OP_SET,        /* consumes a character that is in the `b` ranges at sets[a] */
    CR_OP_SPLIT,      /* continues at a, and at b with lower priority */
    CR_OP_JUMP,       /* continues at a */
    CR_OP_LOOK,       /* a look-ahead: fails unless the operations up to its CR_OP_MATCH match
                       * here or, if b is 1, do not; then continues at a */
    CR_OP_BEHIND,     /* fails unless the previous character is in the set */
    CR_OP_NOT_BEHIND, /* fails if the previous character is in the set */
    CR_OP_LINE_BEGIN, CR_OP_LINE_END, CR_OP_BEGIN, CR_OP_END,
    CR_OP_LAST_END, /* fails unless only a final newline may follow */
    CR_OP_MATCH
};

struct cr_pattern_op {
    int code, a, b;
};

enum { CR_MOST_OPS = 512 };

/* The text that becomes one piece: a match alone; a match with the text before it; a match with the
 * text behind it; adjacent matches together. */
enum cr_match_joins { CR_MATCHES_APART, CR_MATCHES_AFTER_TEXT, CR_MATCHES_BEFORE_TEXT, CR_MATCHES_TOGETHER };

struct cr_cutter {
    /* Returns the end of the next piece that begins at or after `at`, and sets where it begins;
     * 0 if there is no piece. */
    size_t (*piece)(const struct cr_cutter *cutter, const char *text, size_t n, size_t at, size_t *begin);
    int (*class_of)(const struct cr_cutter *cutter, uint32_t character); /* 1 or 2; 0: it is left out */
    int joins;
    int drops;          /* a class of characters that are dropped, or 0 */
    uint32_t character; /* of cr_cut_character */
    size_t digits;      /* of a scanner */
    const struct cr_pattern_op *ops; /* of a pattern, whose joins are an enum cr_match_joins; it drops text (1) or
                                      * matches (2) */
    const uint32_t *sets;
    int n_ops;
};

#endif
