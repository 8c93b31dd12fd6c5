/*
 * kernel_attention.h - what ATTENTION and ATTENTION_BACKWARD have in common, and what each has
 * alone.
 *
 * Q[row, k], K[k, key] and V[key, col] are queries, keys and values; k, key, row and col are the
 * kernel's atoms.
 */
#ifndef CR_KERNEL_ATTENTION_H
#define CR_KERNEL_ATTENTION_H

#include "tile_program.h"

enum { CR_MAX_BOUNDS = 4, CR_MAX_ARRAYS = 3 };

/* ---- the mask ---- */

/* The most numbers, known at run time, whose sum is added to a query's index to get its
 * position. */
enum { CR_MAX_SHIFTS = 2 };

/* An edge of the keys that a query sees: one that moves with the query, a fixed one, or both: then
 * the one counts that leaves more keys visible. */
struct cr_edge {
    bool moves, stays;
    int64_t offset; /* the moving edge is at key row + offset */
    int64_t at;     /* the fixed edge is at this key */
};

/*
 * One bound of a mask: a query sees the keys up to the edge `last`, or from the edge `first` on.
 * Most bounds have one edge: a causal mask is a bound with `last`; a window has one bound of each
 * kind.  A bound with both edges hides the keys between them, and at most one of the edges moves.
 */
struct cr_bound {
    struct cr_edge first, last;
};

static inline bool cr_has_edge(const struct cr_edge *edge)
{
    return edge->moves || edge->stays;
}

/* ---- both kinds ---- */

struct cr_kernel_attention {
    struct cr_operand query, key, value;
    int64_t K, N, keys; /* extents of the atoms k, col and key */

    struct cr_tiles sink;   /* if n > 0: over row, one score more in each query's softmax, which
                              * belongs to no key */
    struct cr_tiles scores; /* from CORE over (row, key) to the softmax's operand.  Keys outside the
                              * bounds are hidden: -inf */
    struct cr_tiles
        dropout;   /* if n > 0: over (row, key), the factor of the probabilities before the
                              * product with V */
    double factor; /* the factor of the scores before softmax */
    bool direct;   /* no softmax: the program of scores computes the weights of the values, 0 for a
                    * hidden key */
    bool chooses;  /* a dropout of 0 makes the product 0, even for NaN */
    bool sees_all; /* hidden keys are computed, too: their dropout may be infinite */

    struct cr_bound bounds[CR_MAX_BOUNDS];
    int n_bounds;
    int shift[CR_MAX_SHIFTS]; /* the refs of the numbers that are added to a row to get the query's
                               * position, with which bounds move */
    int n_shifts;
};

/* ---- ATTENTION ---- */

/*
 * The queries or keys that a kernel computes may consist of several parts, each computed by its
 * own program: the halves of a rotated query, for instance.  Column c of a part is column
 * start + c * step of the row; c is an atom.
 */
struct cr_row_part {
    int atom;
    int64_t start, step;
};

struct cr_row_parts {
    struct cr_row_part items[CR_MAX_PARTS];
    int n; /* 0: the rows are in memory; 1: one whole row, whose atom is the one summed over */
};

/* Queries and keys that the kernel computes, row by row. */
struct cr_kernel_attention_rows {
    struct cr_row_parts query_parts, key_parts;
    struct cr_tiles queries[CR_MAX_PARTS]; /* by part, over (row, k) */
    struct cr_tiles keys[CR_MAX_PARTS];    /* by part, over (key, k) */
};

/* ---- ATTENTION_BACKWARD ---- */

/* The results by number; the gradients of queries, keys and values are over (row, k), (key, k) and
 * (key, col).  The results of the arrays follow. */
enum { CR_DQ, CR_DK, CR_DV, CR_OF_ARRAY };
_Static_assert(CR_OF_ARRAY + CR_MAX_ARRAYS <= CR_MAX_STORED, "results of an attention");

/* The result that ATTENTION_BACKWARD computes from an array of queries by keys. */
enum cr_array_kind {
    CR_SUM_OVER_KEYS,
    CR_SUM_OVER_QUERIES,
    CR_WHOLE_ARRAY, /* the array, or its sum over some of the outer loops */
    CR_OF_SINK,     /* not an array: the gradient of each query's sink, -delta exp(sink) / sum */
    CR_SCATTERED,   /* a table for each outer iteration: row r sums the elements with index r */
};

/* The kernel's `program` computes the gradient of the scores from that of the logits. */
struct cr_kernel_attention_backward {
    struct cr_operand grad;               /* the gradient of the output: G[row, col] */
    struct cr_operand delta;              /* delta[row], which the gradient of softmax subtracts */
    struct cr_tiles array[CR_MAX_ARRAYS]; /* from the gradient of the logits to another array over
                                           * (row, key) */
    struct cr_tiles index; /* over (row, key): the i32 index by which an array is scattered */
    enum cr_array_kind arrays[CR_MAX_ARRAYS]; /* the kind of their results */
    int n_arrays;
    int bucket;         /* the atom of the rows of a scattered table, or -1 */
    unsigned serial;    /* bits of outer loops that run serially: an array is summed over them */
    bool scores_hidden; /* the gradient of the scores is 0 outside the bounds */
    bool hidden[CR_MAX_ARRAYS]; /* the array is 0 outside the bounds */
};

#endif
