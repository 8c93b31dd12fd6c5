/*
 * kernel.h - a fused kernel: loops, tile programs, and where its operands lie.
 *
 * Every kernel computes a node, its root, and stores it; it may store others besides, which it
 * computes on the way.  Its atoms (see index_map.h) play fixed parts:
 *
 *   outer atoms   plain loops, split between threads
 *   row atom      rows of the tiles that the runtime works on
 *   col atom      columns of those tiles
 *
 * What happens to a tile is a *tile program*: a list of values, each an elementwise
 * op, a row reduction, a load ... of earlier ones, for the runtime's vectorised functions.
 *
 *   TILE        root = program(loads)
 *   GEMM        root = epilogue(A B), A loaded or computed row by row by a prologue
 *   ATTENTION   root = epilogue(dropout(softmax(scores(Q K))) V), keys in blocks, online; or
 *               epilogue(scores(Q K) V)
 *   ATTENTION_BACKWARD  root = dQ, dK and dV, one after another, of such an attention
 *   COLUMNS     root = reduction of program(loads) over the row atom, which the root has not
 *   SCATTER     root[r] = sum of those rows of A whose index in B is r
 *   SCAN        root = running sums of A along an axis
 *   WRITE       the rows of program(loads), each at a row of the root found at run time
 */
#ifndef CR_KERNEL_H
#define CR_KERNEL_H

#include "compiler/ir/graph.h"
#include "index_map.h"

enum { CR_MAX_VALUES = 96, CR_MAX_REFS = 24, CR_MAX_STREAMS = 8, CR_MAX_BOUNDS = 4, CR_MAX_ARRAYS = 3 };
enum { CR_MAX_STORED = 1 + CR_MAX_ARRAYS }; /* nodes that a kernel stores */
enum { CR_MAX_PARTS = 4 }; /* of a row */

enum cr_source {
    CR_LOAD,   /* an element of ref at `at` */
    CR_GATHER, /* an element of ref at `at`, in the row that value arg[0] gives */
    CR_IOTA,   /* the number `at` */
    CR_RANDOM, /* number `at` of the stream `ref` of the seed arg[0] */
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
    int parts;            /* REDUCE: of so many tiles, side by side */
    int ref;              /* LOAD, GATHER: index in kernel->refs; RANDOM: in streams */
    struct cr_affine at;  /* LOAD, GATHER, IOTA, RANDOM */
    int64_t table_rows;   /* GATHER */
    int table_length;     /* GATHER: 1 + the length that counts its rows, or 0 */
    int64_t table_stride; /* GATHER */
    double number;        /* CONST */
    bool by_row;          /* the same for all columns: one number a row */
    bool vector;          /* LOAD: of a node with one axis */
};

/* How many earlier values it is made of: arg[0] .. */
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
        int result; /* the value that is stored, or that another program takes */
        int results[CR_MAX_STORED]; /* TILE: that one, then the values of the other stored nodes */
    };
    int n_more; /* results behind the first */
};

/* True if a value is a result of its program. */
static inline bool cr_is_result(const struct cr_tiles *tiles, int value)
{
    for (int i = 0; i <= tiles->n_more; i++)
        if (tiles->results[i] == value)
            return true;
    return false;
}

/* Queries may stand further on than their index: by the sum of so many numbers, known at run time. */
enum { CR_MAX_SHIFTS = 2 };

/* An end of the keys that a query sees, which goes along with the query or stays, or both: the end
 * is then the one of the two that leaves more to see. */
struct cr_edge {
    bool moves, stays;
    int64_t offset; /* it is at key row + offset */
    int64_t at;     /* it is at this key */
};

/*
 * What a part of a mask says of the keys that a query sees: they lie at or before the edge `last`,
 * or at or behind the edge `first`.  One of the two is enough, and most masks have just one: a
 * causal mask has `last`, a window has one bound of each kind.  A bound with both hides what lies
 * between, and at most one of its edges moves.
 */
struct cr_bound {
    struct cr_edge first, last;
};

static inline bool cr_has_edge(const struct cr_edge *edge)
{
    return edge->moves || edge->stays;
}

/* The kinds, a row of kernel_kinds.def each; cr_kernel_kinds[kind] says what one is made of. */
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
 * Rows that are computed before a product, column after column, may be made of several parts, each by
 * a program of its own: the halves of a rotated query, say.  Column c of a part is column
 * start + c * step of the row; c is an atom.
 */
struct cr_row_part {
    int atom;
    int64_t start, step;
};

struct cr_row_parts {
    struct cr_row_part items[CR_MAX_PARTS];
    int n; /* 0: the rows are in memory; 1: a whole row, whose atom is that of the product's sum */
};

/* An operand of a contraction: an element is at ref[at]. */
struct cr_operand {
    int ref;
    struct cr_affine at;
};

/* The tile programs of a kernel, in the order in which they run, and how many operands and results
 * it has at most.  A kind has some of them; the others are all zero. */
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
enum { CR_OPERANDS = 5, CR_RESULTS = 3 + CR_MAX_ARRAYS };

/* What ATTENTION_BACKWARD makes of an array of queries by keys besides the gradients of those. */
enum cr_array_kind {
    CR_SUM_OVER_KEYS,
    CR_SUM_OVER_QUERIES,
    CR_WHOLE_ARRAY, /* the array, or its sum over some of the outer loops */
    CR_OF_SINK,     /* no array, but of each query the gradient of its sink: -delta exp(sink) / sum */
    CR_SCATTERED,   /* a table for each iteration of the outer loops: row r is the sum of what has
                     * the index r */
};

/*
 * Where the rows of a `write` go: row r, over outer atoms alone, to row at + r of the axis, if it
 * has such a row.  `dest` is where it would go were `at` 0.
 */
struct cr_write {
    struct cr_operand at; /* one i32; ref -1: the number at.at.base itself */
    struct cr_affine row;
    int64_t rows; /* of the axis */
    int64_t step; /* elements from one to the next */
};

struct cr_kernel {
    enum cr_kernel_kind kind;
    cr_id root;
    union {
        cr_id buffer; /* the node whose storage the root goes to: itself, a concat or a write */
        cr_id stored[CR_MAX_STORED]; /* all nodes that it stores: that one, then whole nodes */
    };
    int n_stored;
    int entry;  /* that calls it */
    bool again; /* recomputes a value whose storage was reused meanwhile; see recompute.c */
    struct cr_atoms atoms;
    int outer[CR_MAX_ATOMS], n_outer;
    int row, col; /* -1: extent 1, as of the next two */
    int k;        /* the atom summed over: GEMM k, ATTENTION and ATTENTION_BACKWARD e */
    int key;      /* ATTENTION, ATTENTION_BACKWARD: the atom of the keys.  Of the latter `col`, the
                   * column of V and of G, may be no part of the root. */
    cr_id refs[CR_MAX_REFS]; /* the nodes whose storage it reads; packed weights aside */
    int n_refs;
    int64_t streams[CR_MAX_STREAMS]; /* of random numbers: like refs given with each call */
    int n_streams;
    cr_id core;   /* the contraction that its root is an epilogue of, or CR_NONE */
    cr_id packed; /* the node of operand b if that is made of parameters alone, and so packed at load; or
                   * CR_NONE */
    int64_t choices; /* GEMM: `packed` is a stack of so many matrices, and the i32 that is operand v says
                      * by which of them it multiplies; 0: it is one matrix */

    union {
        struct {
            struct cr_tiles prologue; /* rows of A (or Q) over (row, k), if n > 0; or the first of
                                       * their parts, ... */
            struct cr_tiles more_queries[CR_MAX_PARTS - 1]; /* ATTENTION: ... and the others */
            struct cr_tiles key_rows[CR_MAX_PARTS]; /* ATTENTION, if n > 0: rows of K over (key, k),
                                                     * by parts */
            struct cr_tiles sink;     /* ATTENTION, if n > 0: over row, one score more of each query
                                       * in its softmax, which is of no key */
            struct cr_tiles scores;   /* ATTENTION: from CORE over (row, key) to what softmax is
                                       * taken of, but for the keys outside the bounds, which are
                                       * hidden: -inf */
            struct cr_tiles dropout;  /* ATTENTION, if n > 0: over (row, key), what probabilities
                                       * are multiplied by before the product with V */
            struct cr_tiles program;  /* TILE, WRITE, COLUMNS: all; ATTENTION_BACKWARD: from the gradient
                                       * of the logits to that of the scores; else the epilogue */
            struct cr_tiles array[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: from there to another array
                                                   * over (row, key) */
            struct cr_tiles index; /* and over the same, the i32 that one is scattered by */
        };
        struct cr_tiles programs[CR_PROGRAMS]; /* the same */
    };
    union {
        struct {
            /* GEMM: A[row, k] B[k, col]; ATTENTION: Q[row, e] K[e, key]; SCATTER: A and B as a
             * whole; SCAN: A as a whole */
            struct cr_operand a, b;
            struct cr_operand v; /* ATTENTION: V[key, col]; GEMM: which matrix of a stack */
            struct cr_operand g; /* ATTENTION_BACKWARD: the gradient of the output: G[row, col] */
            struct cr_operand delta; /* and [row], of what softmax subtracts from it */
        };
        struct cr_operand operands[CR_OPERANDS]; /* the same five */
    };
    union {
        struct {
            struct cr_affine dest;           /* the root's element in the buffer, over the atoms;
                                    * ATTENTION_BACKWARD: that of dQ[row, e] */
            struct cr_affine dest_k, dest_v; /* ATTENTION_BACKWARD: dK[key, e], dV[key, col] */
            struct cr_affine dest_array[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: what is made of each
                                                         * array, by its kind */
        };
        struct cr_affine results[CR_RESULTS]; /* the same */
    };

    /* What a kind has besides; TILE and COLUMNS have no more.  K, N and keys are the extents of the
     * atoms k, col and key. */
    union {
        struct {
            int64_t K, N;
        } gemm;
        struct {
            int64_t K, N, keys;
            struct cr_row_parts query_parts, key_parts; /* of what is computed before */
            double factor;        /* softmax is taken of this times scores */
            bool direct;          /* there is no softmax: what the scores' program makes are the
                                   * weights of the values, and of a hidden key 0 */
            bool chooses;         /* where dropout is 0 the product is 0, even of NaN */
            bool sees_all;        /* keys that are hidden count: dropout may be infinite for them */
            unsigned hides_gradients; /* ATTENTION_BACKWARD: the programs, as bits, whose results
                                       * are 0 outside the bounds */
            enum cr_array_kind arrays[CR_MAX_ARRAYS]; /* ATTENTION_BACKWARD: what is made of them */
            int n_arrays;
            int stored[CR_MAX_ARRAYS]; /* which of the stored nodes an array goes to: an output that
                                        * nothing reads; or 0: to its part of the buffer */
            int bucket;      /* the atom of the rows of a table, or -1 */
            unsigned serial; /* outer loops, as bits, along which a whole array is summed: one
                              * iteration after the other */
            struct cr_bound bounds[CR_MAX_BOUNDS];
            int n_bounds;
            int shift[CR_MAX_SHIFTS]; /* ATTENTION: the refs of the numbers by which queries stand
                                       * further on than their row, where bounds move with them */
            int n_shifts;
        } attention; /* ATTENTION, ATTENTION_BACKWARD */
        struct {
            int64_t rows, width; /* of A */
        } scatter;
        struct {
            int64_t items, rows, cols; /* before, of and behind the axis of the sums */
            bool reverse;
        } scan;
        struct cr_write write; /* where the rows go that its program makes */
    };

    double flops, bytes_read, bytes_written;
};

/* How far an atom runs; -1 stands still. */
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

/* Operands and results of a kernel have one numbering, for code that treats both alike: stored nodes are
 * numbers -1, -2 .. -n_stored, refs are 0 .. n_refs - 1.  The node of a number. */
static inline cr_id cr_touched(const struct cr_kernel *kernel, int number)
{
    return number < 0 ? kernel->stored[-1 - number] : kernel->refs[number];
}

/* The node whose weights it reads packed, or CR_NONE. */
static inline cr_id cr_packed(const struct cr_kernel *kernel)
{
    return kernel->packed;
}

/* The node that most of its work is for: the contraction, if there is one. */
static inline cr_id cr_main_node(const struct cr_kernel *kernel)
{
    return kernel->core == CR_NONE ? kernel->root : kernel->core;
}

/* "<= i +0": what a bound says of the keys that query `row` sees; returns the buffer. */
const char *cr_bound_text(char *buffer, size_t size, const struct cr_bound *bound,
                          const char *row);

/* True if a node is a reduction down columns: over an axis that is not the innermost. */
bool cr_goes_down(const struct cr_graph *g, cr_id id);

/* Frees the tile programs. */
void cr_kernel_free(struct cr_kernel *kernel);

/* True if a node is among the operands of a kernel. */
bool cr_reads_node(const struct cr_kernel *kernel, cr_id id);

/* A copy with tile programs of its own. */
void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel);

#endif
