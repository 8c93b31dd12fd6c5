/* schedule_attention.h - what the kernels of attention and of its gradients share. */
#ifndef CR_SCHEDULE_ATTENTION_H
#define CR_SCHEDULE_ATTENTION_H

#include "compiler/passes/schedule/schedule_parts.h"

/* The least and the greatest of some i32. */
struct cr_extremes {
    int least, greatest; /* variables, or CR_NONE */
};

/*
 * The scratch and the variables that both have under one name.  A step does queries i to i + m, and
 * for them one block of keys after another, j to j + n.
 */
struct cr_attention_vars {
    int queries, scores, dropout;     /* slots; see take_..._scratch */
    int product;                      /* a slot: what scores are made of, or the same */
    int keys;                         /* slot: rows of keys, if they are computed */
    int max, sum, scale;              /* slots: a number for each query of the step */
    struct cr_steps i, j;
    int first, last; /* of the keys that the step's queries see */
    bool alone;      /* a step is one query, whose scores lie in a row */
    bool shifted;    /* the queries stand further on than their row, by the variable `shift` */
    int shift;
    struct cr_extremes extremes[CR_MAX_VALUES]; /* of what masks load */
};

/* Declares where the kernel's queries begin, if that is known at run time. */
void cr_let_shift(struct cr_builder *b, struct cr_attention_vars *v);

/* The position of a query, by which bounds move, from its row. */
cr_expr cr_position(struct cr_builder *b, const struct cr_attention_vars *v, cr_expr row);

/* Where queries i to i + m have seen nothing yet: a maximum of -inf and a sum of 0. */
void cr_start_softmax(struct cr_builder *b, const struct cr_attention_vars *v);

/* True if the mask bounds from above (or from below) the keys that a query sees. */
bool cr_has_bound(const struct cr_kernel *k, bool upper);

/* True if a block between others may be skipped: a part of the mask hides keys between those that a
 * query sees, or depends on data. */
bool cr_may_skip(struct cr_builder *b);

/* True if keys may be skipped at all. */
bool cr_hides_keys(struct cr_builder *b);

/* True if the mask depends on data in a way by which blocks can be skipped; see schedule_mask.c. */
bool cr_masks_by_data(struct cr_builder *b);

/* Declares what such a mask compares keys with for all queries of the step: before its blocks. */
void cr_let_step_extremes(struct cr_builder *b, struct cr_attention_vars *v);

/* Whether such a mask may leave a score of the block to be seen; CR_NONE if there is none. */
cr_expr cr_may_be_seen(struct cr_builder *b, const struct cr_attention_vars *v);

/* Narrows the end (or beginning) of a range of keys, a variable, to what a row sees; where
 * `condition` is a variable, only if that is not 0. */
void cr_narrow_to_bounds(struct cr_builder *b, bool upper, int var, cr_expr row, int condition);

/* Gives v the range of keys, first to last, that queries i to i + m see of `all`; narrowed under a
 * condition, a variable or CR_NONE. */
void cr_let_key_range(struct cr_builder *b, struct cr_attention_vars *v, cr_expr all,
                      int condition);

/* A variable: whether all of an operand, along these two atoms, is finite; CR_NONE where no key is
 * hidden. */
int cr_let_finite(struct cr_builder *b, const char *name, const struct cr_operand *operand,
                  int row, int col);

/* In a block of keys by queries, gives what lies outside the bounds a value. */
void cr_hide_outside(struct cr_builder *b, const struct cr_attention_vars *v, int block,
                     double value);

/* Of row r of a block those columns that lie inside the bounds, or more: begin + r <= c < end + r. */
struct cr_band {
    cr_expr begin, end;
};

/* The band of a block whose rows are queries i to i + m, and its columns keys j to j + n; all of the
 * block unless `condition`, a variable, is true. */
struct cr_band cr_band_of_queries(struct cr_builder *b, const struct cr_attention_vars *v,
                                  int condition);

/* An operand's rows and columns: atoms, and how many columns. */
struct cr_fetch {
    const struct cr_operand *operand;
    int row, col;
    int64_t cols;
};

/* Asks memory for rows i to i + m of what these operands are for the next head.  Heads lie in
 * many short rows, too far apart for the processor to foresee. */
void cr_fetch_next_head(struct cr_builder *b, const struct cr_attention_vars *v, int n,
                        const struct cr_fetch *fetches);

/* A loop over the blocks of keys from first to last. */
void cr_begin_keys(struct cr_builder *b, struct cr_attention_vars *v, cr_expr first, cr_expr last);

/* "scores": of the keys from j on, n of them, and the queries from i on, m of them, which lie
 * packed in "queries".  Returns the positive number that logits are these times, a constant. */
int cr_score_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* The same, without a factor: what its program makes of the scores. */
void cr_logit_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* One block of an online softmax on those scores. */
void cr_softmax_block(struct cr_builder *b, const struct cr_attention_vars *v, int factor);

/* The score that is of no key, for each query of a step of at most `rows`, in the slot `sink`; and the
 * same, where softmax sees it first, as if it were a key whose value is 0. */
void cr_sink_row(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);
void cr_see_sink(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);

/* For a kernel that may skip a block: what follows is done if some query of the step sees some key
 * of it, or where `condition` is a variable that is 0. */
void cr_begin_if_seen(struct cr_builder *b, const struct cr_attention_vars *v, int condition);

/* A program on that block, keys down and queries across, from one slot of scratch to another. */
void cr_block_program(struct cr_builder *b, const struct cr_attention_vars *v,
                      const struct cr_tiles *program, int from, int to);

/* A constant's address; a slot's row of numbers for the m queries of a step. */
struct cr_argument cr_at_constant(struct cr_builder *b, double value);
struct cr_argument cr_at_slot(int slot);

/* What the loops move: `steps` of queries go through the keys they see, half of them under a bound;
 * `passes` bring keys and values into the second-level cache, and `rows` floats come once. */
struct cr_traffic cr_attention_traffic(const struct cr_kernel *k, int64_t steps, int64_t passes,
                                       int64_t rows);

#endif
