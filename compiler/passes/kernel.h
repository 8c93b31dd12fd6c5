/*
 * kernel.h - a fused kernel: loops, tile programs, and where its operands lie.
 *
 * Every kernel computes one node, its root, and stores it.  Its atoms (see index_map.h)
 * play fixed parts:
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
 *   ATTENTION   root = epilogue(dropout(softmax(scores(Q K))) V), keys in blocks, online
 *   ATTENTION_BACKWARD  root = dQ, dK and dV, one after another, of such an attention
 *   COLUMNS     root = reduction of program(loads) over the row atom, which the root has not
 *   SCATTER     root[r] = sum of those rows of A, K of N elements, whose index in B is r
 */
#ifndef CR_KERNEL_H
#define CR_KERNEL_H

#include "compiler/ir/graph.h"
#include "compiler/passes/index_map.h"

enum { CR_MAX_VALUES = 96, CR_MAX_REFS = 24, CR_MAX_STREAMS = 8, CR_MAX_BOUNDS = 4 };

enum cr_source {
    CR_LOAD,   /* an element of ref at `at` */
    CR_GATHER, /* an element of ref at `at`, in the row that value arg[0] gives */
    CR_IOTA,   /* the number `at` */
    CR_RANDOM, /* number `at` of the stream `ref` of the seed arg[0] */
    CR_CONST,  /* `number` */
    CR_CORE,   /* the contraction's result */
    CR_MAP,    /* elementwise op of arg[..] */
    CR_REDUCE, /* op over the columns of arg[0] */
};

/* One value of a tile program. */
struct cr_value {
    enum cr_source source;
    cr_id node;
    enum cr_op op;
    int arg[3];
    int ref;              /* LOAD, GATHER: index in kernel->refs; RANDOM: in streams */
    struct cr_affine at;  /* LOAD, GATHER, IOTA, RANDOM */
    int64_t table_rows;   /* GATHER */
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
    int result;
};

/*
 * Bounds a causal (or windowed) mask puts on the keys a query sees:
 * col <= row + offset if upper, col >= row + offset otherwise.
 */
struct cr_bound {
    bool upper;
    int64_t offset;
};

enum cr_kernel_kind {
    CR_KERNEL_TILE,
    CR_KERNEL_GEMM,
    CR_KERNEL_ATTENTION,
    CR_KERNEL_COLUMNS,
    CR_KERNEL_SCATTER,
    CR_KERNEL_ATTENTION_BACKWARD,
};

/* An operand of a contraction: an element is at ref[at]. */
struct cr_operand {
    int ref;
    struct cr_affine at;
};

struct cr_kernel {
    enum cr_kernel_kind kind;
    cr_id root;
    cr_id core;   /* GEMM, ATTENTION: the (last) matmul */
    cr_id buffer; /* the node whose storage the root goes to: itself, or a concat */
    bool again;   /* what it computes was there before, and went to make room (recompute) */
    struct cr_atoms atoms;
    struct cr_affine dest; /* the root's element in the buffer, over the atoms */
    int outer[CR_MAX_ATOMS], n_outer;
    int row, col;            /* -1: extent 1 */
    cr_id refs[CR_MAX_REFS]; /* the nodes whose storage it reads; packed weights aside */
    int n_refs;
    int64_t streams[CR_MAX_STREAMS]; /* of random numbers: like refs given with each call */
    int n_streams;
    struct cr_tiles program; /* TILE, COLUMNS: all; else the epilogue */

    /* GEMM: A[row, k] B[k, col]; ATTENTION: Q[row, e] K[e, key] and V[key, col]; SCATTER: A
     * and B as a whole */
    int k;                    /* the atom summed over: GEMM k, ATTENTION e; -1: extent 1 */
    struct cr_tiles prologue; /* computes rows of A (or Q) over (row, k) if n > 0 */
    struct cr_operand a, b;
    int64_t K, N;
    cr_id packed; /* GEMM: the node of B if it is made of parameters alone, or CR_NONE */

    /* ATTENTION */
    int key; /* the atom of the keys; -1: one key */
    int64_t keys;
    struct cr_operand v;
    struct cr_tiles scores;  /* from CORE over (row, key) to what softmax is taken of, but for the
                             * keys outside the bounds, which are hidden: -inf */
    double factor;           /* softmax is taken of this times scores */
    struct cr_tiles dropout; /* if n > 0: over (row, key), what probabilities are multiplied by
                              * before the product with V */
    bool chooses;            /* where that is 0 the product is 0, even of NaN */
    bool sees_all;           /* keys that are hidden count: that may be infinite for them */
    struct cr_bound bounds[CR_MAX_BOUNDS];
    int n_bounds;

    /* ATTENTION_BACKWARD: of ATTENTION's fields all but col, the column of V and of G, may be a
     * part of the root; its program goes from the gradient of the logits to that of the scores.
     * `dest` is of dQ[row, e]. */
    bool hides_gradients;            /* its result is 0 outside the bounds */
    struct cr_operand g;             /* the gradient of the output: G[row, col] */
    struct cr_operand delta;         /* [row], of what softmax subtracts from it */
    struct cr_affine dest_k, dest_v; /* of dK[key, e] and dV[key, col] */

    double flops, bytes_read, bytes_written;
};

/* Whether a node is a reduction down columns: over an axis that is not the innermost. */
bool cr_goes_down(const struct cr_graph *g, cr_id id);

struct cr_module;

/* The state of lowering, used for one kernel after another. */
struct cr_lowering;
struct cr_lowering *cr_lowering_new(const struct cr_module *module);
void cr_lowering_free(struct cr_lowering *lowering);

/*
 * Lowers the kernel that computes `root` into `buffer`: itself, or a concat in which it
 * begins at `concat_start`.  If that cannot be one kernel, returns false, and *blame is a
 * node that has to be materialised first, or CR_NONE.
 */
bool cr_lower(struct cr_lowering *lowering, cr_id root, cr_id buffer, int64_t concat_start,
              struct cr_kernel *kernel, cr_id *blame);

void cr_kernel_free(struct cr_kernel *kernel);

/* A copy with tile programs of its own. */
void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel);

#endif
