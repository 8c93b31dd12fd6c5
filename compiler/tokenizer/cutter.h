/* cutter.h - describes how a pre-tokenizer cuts text; the file is also copied into emitted C. */
#ifndef CR_CUTTER_H
#define CR_CUTTER_H

#include "lookup_tables.h"

/* Flags for pairs of adjacent characters of classes 1 and 2, in this order: they stay in one
 * piece. */
enum { CR_JOINS_11 = 1, CR_JOINS_12 = 2, CR_JOINS_21 = 4, CR_JOINS_22 = 8 };

/* The operations of the program that a pattern is compiled to.  Control passes to the next
 * operation unless the operation names a target. */
enum cr_pattern_code {
    CR_OP_SET,        /* consumes a character if it is in one of the `b` ranges at sets[a] */
    CR_OP_SPLIT,      /* continues at a and at b; a has priority */
    CR_OP_JUMP,       /* continues at a */
    CR_OP_LOOK,       /* a look-ahead: fails unless the operations up to its CR_OP_MATCH match here
                         or, if b is 1, fails if they match; then continues at a */
    CR_OP_BEHIND,     /* fails unless the previous character is in the set */
    CR_OP_NOT_BEHIND, /* fails if the previous character is in the set */
    CR_OP_LINE_BEGIN, CR_OP_LINE_END, CR_OP_BEGIN, CR_OP_END,
    CR_OP_LAST_END, /* fails unless at most one newline follows, at the end of the text */
    CR_OP_MATCH
};

struct cr_pattern_op {
    int code, a, b;
};

enum { CR_MOST_OPS = 512 };

/* Selects the texts that become one piece: a match alone; a match and the text before it; a match
 * and the text behind it; adjacent matches. */
enum cr_match_joins { CR_MATCHES_APART, CR_MATCHES_AFTER_TEXT, CR_MATCHES_BEFORE_TEXT, CR_MATCHES_TOGETHER };

struct cr_cutter {
    /* Returns the end of the next piece that begins at or after `at`, and sets *begin to its begin;
     * returns 0 if there is no piece. */
    size_t (*piece)(const struct cr_cutter *cutter, const char *text, size_t n, size_t at, size_t *begin);
    int (*class_of)(const struct cr_cutter *cutter, uint32_t character); /* 1 or 2; 0: the character
                                                                            is dropped */
    int joins;
    int drops;          /* a class whose characters are dropped, or 0 */
    uint32_t character; /* for cr_cut_character: the character that matches */
    size_t digits;      /* for a scanner: the most digits in a piece */
    const struct cr_pattern_op *ops; /* for a pattern: its program.  `joins` is then an enum
                                        cr_match_joins; `drops` is 1 to drop text, 2 to drop
                                        matches */
    const uint32_t *sets;
    int n_ops;
};

#endif
