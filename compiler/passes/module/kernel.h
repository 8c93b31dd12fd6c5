/*
 * kernel.h - a fused kernel: loops, tile programs, and the indices of its operands.
 *
 * Every kernel computes a node, its root, and stores it; it may also store others that it computes
 * for the root.  Its atoms (see index_map.h) have fixed roles:
 *
 *   outer atoms   plain loops, split between threads
 *   row atom      rows of the tiles that the runtime works on
 *   col atom      columns of those tiles
 *
 * The work on a tile is a *tile program*: a list of values, each an elementwise op or a row
 * reduction of earlier values, a load ..., for the runtime's vectorised functions.
 *
 *   TILE        root = program(loads)
 *   GEMM        root = epilogue(A B), A loaded or computed row by row by a prologue
 *   ATTENTION   root = epilogue(dropout(softmax(scores(Q K))) V), keys in blocks, online; or
 *               epilogue(scores(Q K) V)
 *   ATTENTION_BACKWARD  dQ, dK and dV of such an attention, each a result or a part of a concat
 *   COLUMNS     root = reduction of program(loads) over the row atom, which the root lacks
 *   SCATTER     root[r] = sum of those rows of A whose index in B is r
 *   SCAN        root = running sums of A along an axis
 *   WRITE       the rows of program(loads), each stored in a row of the root known at run time
 */
#ifndef CR_KERNEL_H
#define CR_KERNEL_H

#include "compiler/ir/graph.h"
#include "index_map.h"

enum { CR_MAX_VALUES = 96, CR_MAX_REFS = 24, CR_MAX_STREAMS = 8, CR_MAX_BOUNDS = 4, CR_MAX_ARRAYS = 3 };
enum { CR_MAX_STORED = 3 + CR_MAX_ARRAYS }; /* the most nodes that a kernel stores */
enum { CR_MAX_PARTS = 4 }; /* the most parts of a row */

enum cr_source {
    CR_LOAD,   /* an element of ref, at index `at` */
    CR_GATHER, /* an element of ref, at index `at` of the row whose number is value arg[0] */
    CR_IOTA,   /* the number `at`, as an index */
    CR_RANDOM, /* number `at` of the random stream `ref`, with the seed arg[0] */
    CR_CONST,  /* `number` */
    CR_CORE,   /* the contraction's result */
    CR_SCORE,  /* ATTENTION_BACKWARD: the product of query and key */
    CR_MAP,    /* elementwise op of arg[..] */
    CR_REDUCE, /* op over the columns of arg[0] */
};

/* One value of a tile program. */
struct cr_value {
    enum cr_source source;
    cr_id node;
    enum cr_op op;
    int arg[CR_MAX_PARTS];
    int parts;            /* REDUCE: the number of tiles, side by side, that it reduces */
    int ref;              /* LOAD, GATHER: index in kernel->refs; RANDOM: in streams */
    struct cr_affine at;  /* LOAD, GATHER, IOTA, RANDOM */
    int64_t table_rows;   /* GATHER */
    int table_length;     /* GATHER: 1 + the number of the length that counts its rows, or 0 */
    int64_t table_stride; /* GATHER */
    double number;        /* CONST */
    bool by_row;          /* equal in all columns: one number a row */
    bool vector;          /* LOAD: of a node with one axis */
};

/* Returns the number of earlier values that a value reads: arg[0], ... */
static inline int cr_value_args(const struct cr_value *value)
{
    switch (value->source) {
    case CR_MAP:
        return cr_ops[value->op].arity;
    case CR_REDUCE:
        return value->parts;
    case CR_GATHER:
    case CR_RANDOM:
        return 1;
    default:
        return 0;
    }
}

struct cr_tiles {
    struct cr_value *values;
    int n;
    union {
        int result; /* the value that is stored, or that another program reads */
        int results[CR_MAX_STORED]; /* TILE: the index of the first stored value, then those of
                                       the values of the other stored nodes */
    };
    int n_more; /* number of results after the first */
};

/* True if a value is a result of its program. */
static inline bool cr_is_result(const struct cr_tiles *tiles, int value)
{
    for (int i = 0; i <= tiles->n_more; i++)
        if (tiles->results[i] == value)
            return true;
    return false;
}

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

/* The kinds, each a row of kernel_kinds.def; cr_kernel_kinds[kind] describes it. */
enum cr_kernel_kind {
#define KIND(NAME, name, title) CR_KERNEL_##NAME,
#include "kernel_kinds.def"
#undef KIND
};

enum {
#define KIND(NAME, name, title) +1
    CR_KERNEL_KINDS = 0
#include "kernel_kinds.def"
#undef KIND
};

/*
 * The rows that a kernel computes before a product may consist of several parts, each computed by
 * its own program: the halves of a rotated query, for instance.  Column c of a part is column
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

/* An operand of a contraction: its elements are at index `at` of ref. */
struct cr_operand {
    int ref;
    struct cr_affine at;
};

/* The tile programs of a kernel, in the order in which they run, and the maximum numbers of
 * operands and results.  A kind uses some of them; the others are all zeros. */
enum {
    CR_PROLOGUE,
    CR_MORE_QUERIES,
    CR_KEYS = CR_MORE_QUERIES + CR_MAX_PARTS - 1,
    CR_SINK = CR_KEYS + CR_MAX_PARTS,
    CR_SCORES,
    CR_DROPOUT,
    CR_PROGRAM,
    CR_ARRAY,
    CR_INDEX = CR_ARRAY + CR_MAX_ARRAYS,
    CR_PROGRAMS
};
enum { CR_OPERANDS = 5, CR_RESULTS = CR_MAX_STORED };

/* The result that ATTENTION_BACKWARD computes from an array of queries by keys. */
enum cr_array_kind {
    CR_SUM_OVER_KEYS,
    CR_SUM_OVER_QUERIES,
    CR_WHOLE_ARRAY, /* the array, or its sum over some of the outer loops */
    CR_OF_SINK,     /* not an array: the gradient of each query's sink, -delta exp(sink) / sum */
    CR_SCATTERED,   /* a table for each outer iteration: row r sums the elements with index r */
};

/*
 * The rows that a `write` stores.  Row r, a function of outer atoms only, is stored at row at + r
 * of the axis, if there is such a row.  `dest` is the index for `at` = 0.
 */
struct cr_write {
    struct cr_operand at; /* an i32; if ref is -1: the constant at.at.base */
    struct cr_affine row;
    int64_t rows; /* size of the axis */
    int64_t step; /* elements from one row to the next */
};

struct cr_kernel {
    enum cr_kernel_kind kind;
    cr_id root;
    union {
        cr_id buffer; /* the node whose storage contains the root: the root itself, a concat or a
                         write */
        cr_id stored[CR_MAX_STORED]; /* all nodes that it stores: the buffer, then other nodes in
                                        full */
    };
    int n_stored;
    int entry;  /* the entry that calls it */
    bool again; /* it recomputes a value whose storage was reused; see recompute.c */
    struct cr_atoms atoms;
    int outer[CR_MAX_ATOMS], n_outer;
    int row, col; /* -1: extent 1; also for the next two */
    int k;        /* the atom summed over: k of GEMM, e of ATTENTION and ATTENTION_BACKWARD */
    int key;      /* ATTENTION, ATTENTION_BACKWARD: the atom of the keys.  For the latter the root
                   * may have no `col`, which is the column of V and G. */
    cr_id refs[CR_MAX_REFS]; /* the nodes whose storage it reads, except packed weights */
    int n_refs;
    int64_t streams[CR_MAX_STREAMS]; /* of random numbers; passed with each call, like refs */
    int n_streams;
    cr_id core;   /* the contraction that its root is an epilogue of, or CR_NONE */
    cr_id packed; /* the node of operand b if that is made of parameters alone, and so packed at load; or
                   * CR_NONE */
    int64_t choices; /* GEMM: if not 0, `packed` is a stack of this many matrices, and the i32
                        operand v selects one of them */

    union {
        struct {
            struct cr_tiles prologue; /* if n > 0: computes the rows of A (or Q) over (row, k),
                                         or the first part of them */
            /* ATTENTION: the other parts of the prologue */
            struct cr_tiles more_queries[CR_MAX_PARTS - 1];
            struct cr_tiles key_rows[CR_MAX_PARTS]; /* ATTENTION, if n > 0: the rows of K over (key,
                                                     * k), by part */
            struct cr_tiles sink;     /* ATTENTION, if n > 0: over row, one score more in each
                                       * query's softmax, which belongs to no key */
            struct cr_tiles scores;   /* ATTENTION: from CORE over (row, key) to the softmax's
                                       * operand.  Keys outside the bounds are hidden: -inf */
            struct cr_tiles dropout;  /* ATTENTION, if n > 0: over (row, key), the factor of the
                                       * probabilities before the product with V */
            struct cr_tiles program;  /* TILE, WRITE, COLUMNS: all work; ATTENTION_BACKWARD: from
                                       * the gradient of the logits to the gradient of the scores;
                                       * else the epilogue */
            struct cr_tiles array[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: from the gradient of the
                                                   * logits to another array over (row, key) */
            struct cr_tiles index; /* over (row, key): the i32 index by which an array is scattered */
        };
        struct cr_tiles programs[CR_PROGRAMS]; /* all tile programs above, indexed by number */
    };
    union {
        struct {
            /* GEMM: A[row, k] B[k, col]; ATTENTION: Q[row, e] K[e, key]; SCATTER: all of A and B;
             * SCAN: all of A */
            struct cr_operand a, b;
            struct cr_operand v; /* ATTENTION: V[key, col]; GEMM: which matrix of a stack */
            struct cr_operand g; /* ATTENTION_BACKWARD: the gradient of the output: G[row, col] */
            struct cr_operand delta; /* delta[row], which the gradient of softmax subtracts */
        };
        struct cr_operand operands[CR_OPERANDS]; /* the same five, by number */
    };
    union {
        struct {
            struct cr_affine dest;           /* the index of the root's element in the buffer;
                                              * ATTENTION_BACKWARD: of dQ[row, e] */
            struct cr_affine dest_k, dest_v; /* ATTENTION_BACKWARD: dK[key, e], dV[key, col] */
            struct cr_affine dest_array[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: the results of the
                                                         * arrays, by kind */
        };
        struct cr_affine results[CR_RESULTS]; /* the same, by number */
    };
    int stored_in[CR_RESULTS]; /* by result: the index in `stored` of the node that contains it */

    /* The kind's own member; TILE and COLUMNS have none.  K, N and keys are the extents of the
     * atoms k, col and key. */
    union {
        struct {
            int64_t K, N;
        } gemm;
        struct {
            int64_t K, N, keys;
            struct cr_row_parts query_parts, key_parts; /* of computed rows */
            double factor;        /* the factor of the scores before softmax */
            bool direct;          /* no softmax: the program of scores computes the weights of
                                     the values, 0 for a hidden key */
            bool chooses;         /* a dropout of 0 makes the product 0, even for NaN */
            bool sees_all;        /* hidden keys are computed, too: their dropout may be infinite */
            unsigned hides_gradients; /* ATTENTION_BACKWARD: the programs, as bits, whose results
                                       * are 0 outside the bounds */
            enum cr_array_kind arrays[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: the kind of their
                                                       * results */
            int n_arrays;
            int bucket;      /* the atom of the rows of a scattered table, or -1 */
            unsigned serial; /* outer loops, as bits, over which a whole array is summed serially */
            struct cr_bound bounds[CR_MAX_BOUNDS];
            int n_bounds;
            int shift[CR_MAX_SHIFTS]; /* ATTENTION: the refs of the numbers that are added to a row
                                       * to get the query's position, with which bounds move */
            int n_shifts;
        } attention; /* ATTENTION, ATTENTION_BACKWARD */
        struct {
            int64_t rows, width; /* of A */
        } scatter;
        struct {
            int64_t items, rows, cols; /* sizes before, of and after the axis of the sums */
            bool reverse;
        } scan;
        struct cr_write write; /* the rows that it stores */
    };

    double flops, bytes_read, bytes_written;
};

/* Returns the extent of an atom; 1 for atom -1. */
static inline int64_t cr_extent(const struct cr_kernel *kernel, int atom)
{
    return atom < 0 ? 1 : kernel->atoms.extent[atom];
}

/* Returns the index of a node in kernel->stored, or -1. */
static inline int cr_find_stored_node(const struct cr_kernel *kernel, cr_id id)
{
    int i = kernel->n_stored - 1;
    while (i >= 0 && kernel->stored[i] != id)
        i--;
    return i;
}

/* Returns the node of an operand or result by a common numbering: stored nodes are -1, -2 ..
 * -n_stored, refs 0 .. n_refs - 1. */
static inline cr_id cr_touched(const struct cr_kernel *kernel, int number)
{
    return number < 0 ? kernel->stored[-1 - number] : kernel->refs[number];
}

/* Returns the node whose weights it reads packed, or CR_NONE. */
static inline cr_id cr_packed(const struct cr_kernel *kernel)
{
    return kernel->packed;
}

/* Returns the node that does most of the work: the contraction, if there is one, or the root. */
static inline cr_id cr_main_node(const struct cr_kernel *kernel)
{
    return kernel->core == CR_NONE ? kernel->root : kernel->core;
}

/* Prints the keys that query `row` sees by a bound, as "<= i +0"; returns the buffer. */
const char *cr_bound_text(char *buffer, size_t size, const struct cr_bound *bound,
                          const char *row);

/* True if a node reduces down columns: along an axis other than the innermost. */
bool cr_goes_down(const struct cr_graph *g, cr_id id);

/* Frees the tile programs. */
void cr_kernel_free(struct cr_kernel *kernel);

/* True if a node is among the operands of a kernel. */
bool cr_reads_node(const struct cr_kernel *kernel, cr_id id);

/* Copies a kernel and its tile programs. */
void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel);

#endif
