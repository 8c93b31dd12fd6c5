/* schedule_attention.h - functions that the kernels of attention and of its gradients share. */
#ifndef CR_SCHEDULE_ATTENTION_H
#define CR_SCHEDULE_ATTENTION_H

#include "compiler/passes/schedule/schedule_parts.h"

/* The variables that hold the minimum and the maximum of several i32. */
struct cr_extremes {
    int least, greatest; /* or CR_NONE */
};

/*
 * The scratch and the variables that the forward kernel and the gradients share.  A step computes
 * queries i to i + m, and loops over blocks of keys, j to j + n.
 */
struct cr_attention_vars {
    int queries, scores, dropout;     /* slots; see take_..._scratch */
    int product;                      /* slot: queries times keys; may be the slot `scores` */
    int keys;                         /* slot: rows of keys, if has_keys: computed or copied */
    bool has_keys;
    int max, sum, scale;              /* slots: a number for each query of the step */
    struct cr_steps i, j;
    int first, last; /* variables: the range of keys that the step's queries see */
    bool alone;      /* a step is one query, whose scores lie in a row */
    bool shifted;    /* the position of a query is its row plus the variable `shift` */
    int shift;
    struct cr_extremes extremes[CR_MAX_VALUES]; /* by value of the mask: the variables that hold
                                                   its range */
};

/* Declares v->shift, the position of query 0, if the kernel loads it at run time. */
void cr_let_shift(struct cr_builder *b, struct cr_attention_vars *v);

/* Returns the position of the query at `row`, which bounds are relative to. */
cr_expr cr_position(struct cr_builder *b, const struct cr_attention_vars *v, cr_expr row);

/* Resets the online softmax of queries i to i + m: the maximum to -inf, the sum to 0. */
void cr_start_softmax(struct cr_builder *b, const struct cr_attention_vars *v);

/* True if a block inside the range of keys may be skipped: the mask has a gap between visible keys,
 * or depends on data. */
bool cr_may_skip(struct cr_builder *b);

/* True if any keys may be skipped. */
bool cr_hides_keys(struct cr_builder *b);

/* True if the mask depends on data, and blocks can be skipped by it; see schedule_mask.c. */
bool cr_masks_by_data(struct cr_builder *b);

/* Before the blocks of a step: declares v->extremes, the ranges of the values that the mask loads
 * for the queries of the step. */
void cr_let_step_extremes(struct cr_builder *b, struct cr_attention_vars *v);

/* Returns the condition that a mask that depends on data may leave some score of the block
 * visible; CR_NONE if there is no such mask. */
cr_expr cr_may_be_seen(struct cr_builder *b, const struct cr_attention_vars *v);

/* Narrows the variable `var`, the end (upper) or beginning of a range of keys, to the keys visible
 * to `row`.  If `condition` is a variable, it does so only if that is not 0. */
void cr_narrow_to_bounds(struct cr_builder *b, bool upper, int var, cr_expr row, int condition);

/* True if the bounds may narrow a range of keys that ends at `keys` (upper), or begins there, for
 * the query at `row`. */
bool cr_narrows(struct cr_builder *b, bool upper, cr_expr row, cr_expr keys);

/* True if the end of the keys that a query sees may lie before key 0. */
bool cr_may_see_none(const struct cr_builder *b, const struct cr_attention_vars *v);

/* Declares v->first and v->last, the range of keys that queries i to i + m see of `all` keys.  If
 * `condition` is a variable, the range is narrowed only if that is not 0. */
void cr_let_key_range(struct cr_builder *b, struct cr_attention_vars *v, cr_expr all,
                      int condition);

/* Declares a variable that is 1 if an operand is finite along the atoms `row` and `col`, else 0.
 * Returns CR_NONE if hidden keys cannot yield NaN. */
int cr_let_finite(struct cr_builder *b, const char *name, const struct cr_operand *operand,
                  int row, int col);

/* Sets the elements outside the bounds to `value` in a block of keys by queries. */
void cr_hide_outside(struct cr_builder *b, const struct cr_attention_vars *v,
                     struct cr_address block, double value);

/* A band of a block: row r has the columns begin + r <= c < end + r.  It includes all elements
 * inside the bounds, and may include more. */
struct cr_band {
    cr_expr begin, end;
};

/* Returns the band of a block whose rows are queries i to i + m and whose columns are keys j to j +
 * n.  If `condition` is a variable that is 0, the band is the whole block. */
struct cr_band cr_band_of_queries(struct cr_builder *b, const struct cr_attention_vars *v,
                                  int condition);

/* An operand to prefetch: the atoms of its rows and columns, and the number of columns. */
struct cr_fetch {
    const struct cr_operand *operand;
    int row, col;
    int64_t cols;
};

/* Prefetches rows i to i + m of these operands for the next head.  The rows of a head are short and
 * far apart, so the processor's own prefetcher does not find them. */
void cr_fetch_next_head(struct cr_builder *b, const struct cr_attention_vars *v, int n,
                        const struct cr_fetch *fetches);

/* Appends what the outer loops iterate over, for the description of a kernel: " for each head". */
void cr_put_outer(struct cr_text *text, const struct cr_builder *b);

/* Begins a loop over the blocks of keys from `first` to `last`; sets v->j. */
void cr_begin_keys(struct cr_builder *b, struct cr_attention_vars *v, cr_expr first, cr_expr last);

/* Computes the slot `scores` for keys j to j + n and queries i to i + m, which are packed in the
 * slot `queries`.  Returns a constant: the positive factor from these scores to logits. */
int cr_score_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* Computes the logits of the same block, without that factor: runs the program of scores, and
 * hides scores outside the bounds. */
void cr_logit_block(struct cr_builder *b, const struct cr_attention_vars *v);

/* Does the online softmax on the block in the slot `scores`; `factor` is a constant. */
void cr_softmax_block(struct cr_builder *b, const struct cr_attention_vars *v, int factor);

/* cr_sink_row computes the sink's score for each query of a step of at most `rows` into the slot
 * `sink`.  cr_start_with_sink also feeds it to softmax first, like a key whose value is 0. */
void cr_sink_row(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);
void cr_start_with_sink(struct cr_builder *b, const struct cr_attention_vars *v, int sink, int64_t rows);

/* For a kernel that may skip a block: begins an `if` that is true if some query of the step may see
 * some key of the block, or if `condition` is a variable that is 0. */
void cr_begin_if_seen(struct cr_builder *b, const struct cr_attention_vars *v, int condition);

/* Runs a program on a block (rows are keys, columns queries) from the slot `from` to the slot
 * `to`. */
void cr_block_program(struct cr_builder *b, const struct cr_attention_vars *v,
                      const struct cr_tiles *program, int from, int to);

/* Return the address of a constant, and the start of a slot. */
struct cr_argument cr_at_constant(struct cr_builder *b, double value);
struct cr_argument cr_at_slot(int slot);

/* Returns the bytes that the loops move.  Each of `steps` reads the visible keys and values, half
 * of them under a bound; `passes` read all of them into the second-level cache; `rows` floats are
 * read once. */
struct cr_traffic cr_attention_traffic(const struct cr_kernel *k, int64_t steps, int64_t passes,
                                       int64_t rows);

#endif
