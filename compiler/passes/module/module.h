/*
 * module.h - what the passes work on: the graph, then its kernels, then their memory.
 *
 * The room of what all other rooms of compiler/passes/ share.
 *
 * Comes in:   a graph.
 * Goes out:   a module that has only the graph; passes fill in the rest.
 * Promise:    data, tables, and what is read off them.  Nothing here changes a graph or chooses anything.
 * Used later: kernel.h, a kernel; index_map.h, how its loops reach elements; kernel_kinds.h, the rows of
 *             the kinds; starts.h, where kernels begin in their buffers; target.h, what loops are cut by.
 */
#ifndef CR_MODULE_H
#define CR_MODULE_H

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"
#include "kernel.h"
#include "settings.h"

/* Properties that passes need, give and break.  Kernels, loops, plan and program are each made of
 * the one before: a pass that breaks one breaks all after it. */
enum {
    CR_HAS_SIMPLE = 1 << 0,  /* no two nodes are equal; none is dead but inputs and parameters */
    CR_HAS_KERNELS = 1 << 1, /* module->kernels, by entry, in an order that respects data flow */
    CR_HAS_LOOPS = 1 << 2,   /* module->segments, module->functions */
    CR_HAS_PLAN = 1 << 3,    /* module->storage, module->places */
    CR_HAS_PROGRAM = 1 << 4, /* module->program */
    CR_HAS_ENTRIES = 1 << 5, /* no node but inputs, states and parameters is needed by two entries */
    CR_HAS_OUTPUTS = 1 << 6, /* each output is a node that a kernel can store for it alone */
    CR_HAS_FORMATS = 1 << 7, /* each parameter has the format that it is kept in */
};

/*
 * An attention pattern: A V with logits computed from a matmul, P = softmax(logits), and A either
 * P or, after dropout, P times something that does not depend on it.
 */
/* One score more in a softmax, of no key: see softmax.h. */
struct cr_sink {
    bool there;
    cr_id node; /* a number for each row, or CR_NONE: `number` for all */
    double number;
};

struct cr_attention {
    cr_id output;  /* the second matmul */
    cr_id dropped; /* A, the probabilities after dropout */
    cr_id probs;   /* P */
    cr_id logits;
    cr_id scores; /* the first matmul */
    struct cr_sink sink;
    bool direct; /* no softmax: A, P and the logits are one node, the weights of the values */
};

/* What else is made of dS: see kernel.h. */
struct cr_array_gradient {
    enum cr_array_kind kind;
    cr_id array, result; /* the same node, where the array is the result; of a sink, delta */
    bool apart;          /* the result is an output that nothing reads: no part of the concat */
};

/*
 * The gradients of an attention's queries, keys and values, one after another in a concat:
 *     dA = g V',  dS = (dP - delta) P,  dQ = T K,  dK = T' Q,  dV = A' g
 * with dP to dA as A is to P, and T computed from dS by elementwise work, as the logits are from
 * the scores.  Without softmax dS is dA, and T is made of that and of the scores.  Behind them in the concat are those of what the scores are multiplied by, or what is
 * added to them.
 */
struct cr_attention_backward {
    cr_id output;           /* the concat, or CR_NONE where there is none yet */
    bool direct;            /* no softmax: A, P and the logits are one node; so are dA, dP and dS */
    cr_id dq, dk, dv;       /* the products */
    cr_id dropped, probs;   /* A and P ... */
    cr_id logits, scores;   /* ... of the forward pass */
    cr_id ddropped, dprobs; /* dA and dP */
    struct cr_sink sink;
    cr_id delta;            /* a number for each query: rowsum(g o attention); CR_NONE if direct */
    cr_id dlogits;          /* dS */
    cr_id dscores;          /* T */
    bool dk_turned, dv_turned; /* dk is Q' T and dv g' A, transposed: not joined yet */
    struct cr_array_gradient arrays[CR_MAX_ARRAYS];
    int n_arrays;
    cr_id behind[CR_MAX_VALUES]; /* the nodes from dS on that the kernel computes for itself */
    int n_behind;
};

/*
 * Kernels first .. first + period - 1 stand for `count` repetitions, a layer each: iteration i
 * is layer start + i * direction.  A loop that reads what another loop made for each layer uses the
 * same numbers; so a backward pass goes down (direction -1).
 */
struct cr_loop {
    int first, period, count;
    int start, direction;
};

static inline int cr_layer_of(const struct cr_loop *loop, int iteration)
{
    return loop->start + iteration * loop->direction;
}

/* A segment of the list of kernels: one, or those that a loop stands for. */
struct cr_segment {
    int kernel; /* index of the kernel, for a loop of its first */
    int loop;   /* index in loops, or -1 */
};

/* How a parameter's elements go into the weights; see runtime/place.h. */
struct cr_place_info {
    cr_id param;
    int64_t source, rows, cols, row_stride, col_stride;
    int64_t target;       /* floats from the start of the weights */
    int64_t panel_stride; /* units of the parameter's format; 0: plain rows */
    int64_t first_col;    /* of the panels */
    int64_t first_row;    /* of the panels; the target is there */
    bool last;            /* pads the last panel */
};

struct cr_storage {
    enum cr_space space;
    int64_t offset; /* floats, in arena or weights; the index of an input or output */
};

struct cr_starts;

struct cr_module {
    struct cr_graph *graph;
    unsigned has;
    uint64_t *hashes; /* of the nodes, then of the outputs, when the driver looked last */
    int n_hashes;
    int ops_before; /* arithmetic nodes as the script made them */
    struct cr_settings settings;

    /* fuse */
    bool *materialised; /* by node */
    struct cr_attention *attentions;
    int n_attentions, cap_attentions;
    struct cr_attention_backward *backwards;
    int n_backwards, cap_backwards;
    struct cr_kernel *kernels;
    int n_kernels, cap_kernels;
    cr_id *in_state; /* by node: the state in whose memory it is stored, or CR_NONE; null where
                        the graph replaces none */

    /* recompute */
    int64_t least_arena_floats; /* what can be had, if that is more than was asked for; else 0 */
    int most_values;            /* so many it can make again, and there are more; or 0 */
    bool unrolled;              /* without loops the arena is smaller, and has to be */

    /* outline */
    int *function; /* by kernel: the first kernel whose code it shares */
    struct cr_starts *starts; /* by kernel: where calls of its code let it begin in its operands,
                               * which the code itself has no part in; null: always at 0 */
    struct cr_loop *loops;
    int n_loops, cap_loops;
    struct cr_segment *segments;
    int n_segments, cap_segments;

    /* plan */
    struct cr_storage *storage; /* by node */
    int64_t *packed;            /* by kernel: its packed weights, floats; or -1 */
    cr_id *columns_of; /* by node: the packed matrix whose columns are the rows of this table, which
                        * kernels gather there; the table itself, if it has panels of its own
                        * (tables.h); or CR_NONE */
    struct cr_place_info *places;
    int n_places, cap_places;
    int64_t weights_floats, arena_floats;
    int64_t lower_bound_floats; /* of the arena: the most that is live at once */
    int64_t activation_floats;  /* in it, kept for the backward pass (activations.h), or -1 */

    /* schedule */
    struct cr_program *program;
};

/* The loop a kernel is in, or null: of some that are in the order of their kernels. */
const struct cr_loop *cr_loop_at(const struct cr_loop *loops, int n, int kernel);

/* The same, of the module's. */
static inline const struct cr_loop *cr_loop_of(const struct cr_module *module, int kernel)
{
    return cr_loop_at(module->loops, module->n_loops, kernel);
}

/* Takes over the graph. */
struct cr_module *cr_module_new(struct cr_graph *graph);
void cr_module_free(struct cr_module *module);

/* The attention pattern that ends in this matmul, or null. */
const struct cr_attention *cr_attention_at(const struct cr_module *module, cr_id output);

/* The same, for the concat of an attention's gradients. */
const struct cr_attention_backward *cr_backward_at(const struct cr_module *module, cr_id output);

/* The state in whose memory a node is stored, as what replaces it; or CR_NONE. */
static inline cr_id cr_state_of(const struct cr_module *module, cr_id id)
{
    return module->in_state ? module->in_state[id] : CR_NONE;
}

/* True if a kernel writes over a state that it reads. */
bool cr_writes_over(const struct cr_module *module, const struct cr_kernel *kernel);

/* True if fuse has decided so far that a node is stored. */
static inline bool cr_is_materialised(const struct cr_module *module, cr_id id)
{
    return module->materialised && module->materialised[id];
}

#endif
