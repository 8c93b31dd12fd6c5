/* schedule_attention.h - functions that the kernel of attention and the kernel of its gradients
 * share. */
#ifndef CR_SCHEDULE_ATTENTION_H
#define CR_SCHEDULE_ATTENTION_H

#include "compiler/passes/schedule/schedule_parts.h"

/* Two variables with the minimum and the maximum of several i32. */
struct cr_extremes {
    int least, greatest; /* numbers of variables, or CR_NONE */
};

/*
 * The scratch slots and the variables that the forward kernel and the gradients share.  A step
 * computes queries i to i + m, and loops over blocks of keys, j to j + n.
 */
struct cr_attention_vars {
    int queries, scores, dropout;     /* numbers of scratch slots (see the take_scratch
                                         functions) */
    int product;                      /* scratch slot: products of queries and keys; may equal the
                                         slot `scores` */
    int keys;                         /* scratch slot, used if has_keys: computed or copied rows of
                                         keys */
    bool has_keys;
    int max, sum, scale;              /* scratch slots: one number for each query of the step */
    struct cr_steps i, j;
    int first, last; /* variables: the range of keys that the queries of the step see */
    bool alone;      /* true if a step is one query, whose scores are a row */
    bool shifted;    /* true if the position of a query is its row plus the variable `shift` */
    int shift;
    struct cr_extremes extremes[CR_MAX_VALUES]; /* by value of the mask's program: variables with
                                                   the range of the value */
};

/* Declares v->shift, the position of query 0, if that position is known only at run time. */
void cr_let_shift(struct cr_builder *b, struct cr_attention_vars *v);

/* Returns the position of the query of row `row`; the bounds of masks are relative to it. */
cr_expr cr_position(struct cr_builder *b, const struct cr_attention_vars *v, cr_expr row);

/* Resets the online softmax of queries i to i + m: the maximum to -inf, the sum to 0. */
void cr_start_softmax(struct cr_builder *b, const struct cr_attention_vars *v);

/* True if a block inside the range of visible keys may be hidden: the mask has a gap between
 * visible keys, or depends on data. */
bool cr_may_skip(struct cr_builder *b);

/* True if the kernel may leave out any keys. */
bool cr_hides_keys(struct cr_builder *b);

/* True if the mask depends on data and the kernel can decide from this data whether to skip a block
 * (schedule_mask.c). */
bool cr_masks_by_data(struct cr_builder *b);

/* Before the loop over blocks of a step: declares v->extremes, the ranges of the values that the
 * mask loads for the queries of the step. */
void cr_let_step_extremes(struct cr_builder *b, struct cr_attention_vars *v);

/* Returns an expression that is false only if a mask that depends on data hides every score of the
 * block.  Returns CR_NONE if there is no such mask. */
cr_expr cr_may_be_seen(struct cr_builder *b, const struct cr_attention_vars *v);

/* Moves the variable `var`, the end (if `upper`) or the beginning of a range of keys, so that the
 * range has only keys that the query of row `row` may see.  If `condition` is a variable, does this
 * only if the variable is not 0. */
void cr_narrow_to_bounds(struct cr_builder *b, bool upper, int var, cr_expr row, int condition);

/* True if bounds may shorten the range of keys of the query of row `row` at its end (if `upper`,
 * where the end is `keys`) or at its beginning. */
bool cr_narrows(struct cr_builder *b, bool upper, cr_expr row, cr_expr keys);

/* True if the end of the range of keys that a query sees may be before key 0. */
bool cr_may_see_none(const struct cr_builder *b, const struct cr_attention_vars *v);

/* Declares v->first and v->last: queries i to i + m see only keys from `first` to before `last`, of
 * `all` keys.  If `condition` is a variable, the range is all keys if the variable is 0. */
void cr_let_key_range(struct cr_builder *b, struct cr_attention_vars *v, cr_expr all,
                      int condition);

/* Declares a variable that is 1 if all elements of an operand along the atoms `row` and `col` are
 * finite, else 0.  Returns CR_NONE if hidden keys cannot make the result NaN. */
int cr_let_finite(struct cr_builder *b, const char *name, const struct cr_operand *operand,
                  int row, int col);

/* Sets the elements of a block of keys by queries that are outside the bounds to `value`. */
void cr_hide_outside(struct cr_builder *b, const struct cr_attention_vars *v,
                     struct cr_address block, double value);

/* A band of a block: row r has the columns from begin + r to before end + r.  It has all elements
 * inside the bounds, and may have others. */
struct cr_band {
    cr_expr begin, end;
};

/* Returns the band of a block whose rows are queries i to i + m and whose columns are keys j to j +
 * n.  If `condition` is a variable that is 0, the band is the whole block. */
struct cr_band cr_band_of_queries(struct cr_builder *b, const struct cr_attention_vars *v,
                                  int condition);

/* An operand to prefetch: the atoms of its rows and columns, and its number of columns. */
struct cr_fetch {
    const struct cr_operand *operand;
    int row, col;
    int64_t cols;
};

/* Prefetches rows i to i + m of these operands for the next head.  The rows of a head are short and
 * far apart, so the processor does not prefetch them by itself. */
void cr_fetch_next_head(struct cr_builder *b, const struct cr_attention_vars *v, int n,
                        const struct cr_fetch *fetches);

/* Appends the roles of the outer loops to a kernel's description, for example " for each head". */
void cr_put_outer(struct cr_text *text, const struct cr_builder *b);

/* Begins a loop over the blocks of keys from `first` to before `last`; sets v->j to its
 * variables. */
void cr_begin_keys(struct cr_builder *b, struct cr_attention_vars *v, cr_expr first, cr_expr last);

/* Computes the slot `scores` for keys j to j + n and queries i to i + m, which are packed in the
 * slot `queries`.  Returns a constant: the positive factor by which these scores must be multiplied
 * to get logits. */
int cr_score_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* Computes the logits of the same block, divided by the factor of cr_score_block: runs the program
 * of scores, and hides scores outside the bounds. */
void cr_logit_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* Updates the online softmax with the block in the slot `scores`; `factor` is the constant returned
 * by cr_score_block. */
void cr_softmax_block(struct cr_builder *b, const struct cr_attention_vars *v, int factor);

/* cr_sink_row computes the sink's score for each query of a step of at most `rows` into the slot
 * `sink`.  cr_start_with_sink does this, too, and starts softmax with these scores, like a key
 * whose value is 0. */
void cr_sink_row(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);
void cr_start_with_sink(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);

/* Begins an `if` around the work of a step on a block of keys, so that a kernel may skip hidden
 * blocks.  It is true if some query of the step may see some key of the block.  `condition` is a
 * variable, or CR_NONE; where the variable is 0, the `if` is always true. */
void cr_begin_if_seen(struct cr_builder *b, const struct cr_attention_vars *v, int condition);

/* Runs a program on a block, whose rows are keys and whose columns are queries, from the slot
 * `from` into the slot `to`. */
void cr_block_program(struct cr_builder *b, const struct cr_attention_vars *v,
                      const struct cr_tiles *program, int from, int to);

/* cr_at_constant returns the address of a constant; cr_at_slot returns the address of the first
 * element of a slot. */
struct cr_argument cr_at_constant(struct cr_builder *b, double value);
struct cr_argument cr_at_slot(int slot);

/* Returns the bytes that the loops move.  Each of `steps` reads the visible keys and values (half
 * of all keys under a causal bound); `passes` times all of them are read into the second-level
 * cache; `rows` floats are read once. */
struct cr_traffic cr_attention_traffic(const struct cr_kernel *k, int64_t steps, int64_t passes,
                                       int64_t rows);

#endif
