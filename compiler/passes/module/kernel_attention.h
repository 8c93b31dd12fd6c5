/*
 * kernel_attention.h - the members of struct cr_kernel of ATTENTION and ATTENTION_BACKWARD: one
 * that both have, and one of each.
 *
 * Q[row, k], K[k, key] and V[key, col] are queries, keys and values; k, key, row and col are the
 * kernel's atoms.
 */
#ifndef CR_KERNEL_ATTENTION_H
#define CR_KERNEL_ATTENTION_H

#include "tile_program.h"

enum { CR_MAX_BOUNDS = 4, CR_MAX_ARRAYS = 3 };

/* ---- the mask ---- */

/* A query's position is its index plus the sum of numbers known at run time; this is the most such
 * numbers. */
enum { CR_MAX_SHIFTS = 2 };

/* An edge of the keys that a query sees.  It moves with the query, is fixed, or is both; then the
 * edge is the one of the two that leaves more keys visible. */
struct cr_edge {
    bool moves, stays;
    int64_t offset; /* the moving edge is at key row + offset, for the query of row `row` */
    int64_t at;     /* the number of the key at the fixed edge */
};

/*
 * One bound of a mask: a query sees the keys up to and including the edge `last`, or from the edge
 * `first` on.  Most bounds have one edge: a causal mask is a bound with `last`; a window has one
 * bound of each kind.  A bound with both edges hides the keys between them, and at most one of the
 * edges moves.
 */
struct cr_bound {
    struct cr_edge first, last;
};

static inline bool cr_has_edge(const struct cr_edge *edge)
{
    return edge->moves || edge->stays;
}

/* ---- both kinds of attention ---- */

struct cr_kernel_attention {
    struct cr_operand query, key, value;
    int64_t K, N, keys; /* extents of the atoms k, col and key */

    struct cr_tiles sink;   /* if n > 0: over row, one more score in each query's softmax, which
                               belongs to no key */
    struct cr_tiles scores; /* over (row, key): computes the logits from CORE, the scores.  Keys
                               outside the bounds are set to -inf */
    struct cr_tiles
        dropout;   /* if n > 0: over (row, key), the factors by which probabilities are multiplied
                      before the product with V */
    double factor; /* the constant factor of the scores before softmax */
    bool direct;   /* no softmax: the program of scores computes the weights of the values; hidden
                      keys have weight 0 */
    bool chooses;  /* a dropout factor of 0 gives 0, even times NaN */
    bool sees_all; /* hidden keys are computed, too, because their dropout factors may be
                      infinite */

    struct cr_bound bounds[CR_MAX_BOUNDS];
    int n_bounds;
    int shift[CR_MAX_SHIFTS]; /* the refs of the numbers whose sum, added to the row, is the query's
                                 position; moving bounds are relative to it */
    int n_shifts;
};

/* ---- ATTENTION ---- */

/*
 * A part of the columns of queries or keys that the kernel computes.  Each part, such as a half of
 * a rotated query, has its own program.  Column c of a part, where c is its atom, is column start +
 * c * step of the row.
 */
struct cr_row_part {
    int atom;
    int64_t start, step;
};

struct cr_row_parts {
    struct cr_row_part items[CR_MAX_PARTS];
    int n; /* 0 if the rows are in memory; 1 if they have one part, whose atom is then k */
};

/* The programs of queries and keys that the kernel computes, row by row. */
struct cr_kernel_attention_rows {
    struct cr_row_parts query_parts, key_parts;
    struct cr_tiles queries[CR_MAX_PARTS]; /* by part, over (row, k) */
    struct cr_tiles keys[CR_MAX_PARTS];    /* by part, over (key, k) */
};

/* ---- ATTENTION_BACKWARD ---- */

/* The numbers of the results: the gradients of queries over (row, k), of keys over (key, k), of
 * values over (key, col), then those of the arrays. */
enum { CR_DQ, CR_DK, CR_DV, CR_OF_ARRAY };
_Static_assert(CR_OF_ARRAY + CR_MAX_ARRAYS <= CR_MAX_STORED, "results of an attention");

/* The gradient that ATTENTION_BACKWARD computes from an array of queries by keys. */
enum cr_array_kind {
    CR_SUM_OVER_KEYS,
    CR_SUM_OVER_QUERIES,
    CR_WHOLE_ARRAY, /* the array itself, or its sum over some of the outer loops */
    CR_OF_SINK,     /* the gradient of each query's sink, -delta exp(sink) / sum; not computed from
                       an array */
    CR_SCATTERED,   /* a table for each outer iteration: row r is the sum of the elements with index
                       r */
};

/* The member of ATTENTION_BACKWARD.  The kernel's `program` computes the gradient of the scores, T,
 * from the gradient of the logits, dS. */
struct cr_kernel_attention_backward {
    struct cr_operand grad;               /* the gradient of the output: G[row, col] */
    struct cr_operand delta;              /* delta[row], one number a query, which is subtracted
                                             from dP */
    struct cr_tiles array[CR_MAX_ARRAYS]; /* over (row, key): compute another array from dS */
    struct cr_tiles index; /* over (row, key): the i32 index by which an array is scattered */
    enum cr_array_kind arrays[CR_MAX_ARRAYS]; /* by array: the kind of its gradient */
    int n_arrays;
    int bucket;         /* the atom of the rows of the scattered table, or -1 */
    unsigned serial;    /* outer loops, as bits, that run serially because an array is summed over
                           them */
    bool scores_hidden; /* the gradient of the scores is 0 outside the bounds */
    bool hidden[CR_MAX_ARRAYS]; /* by array: true if the array is 0 outside the bounds */
};

#endif
