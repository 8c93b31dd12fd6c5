/*
 * module.h - the module that the passes work on: a graph, its kernels, and their memory.
 *
 * This directory holds what all other directories of compiler/passes/ share.
 *
 * Comes in:   a graph.
 * Goes out:   a module that has only the graph; passes fill in the rest.
 * Promise:    data, tables and functions that read them.  Nothing here changes a graph or decides.
 * Used later: kernel.h, a kernel; index_map.h, how its loops index elements; kernel_kinds.h, the
 *             kinds; buffer_offsets.h, the offsets of kernels in buffers; target.h, tile sizes of loops.
 */
#ifndef CR_MODULE_H
#define CR_MODULE_H

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"
#include "kernel.h"
#include "settings.h"

/* Properties that passes need, give and break.  Kernels, loops, plan and program are each made from
 * the one before: a pass that breaks one breaks all after it. */
enum {
    CR_HAS_SIMPLE = 1 << 0,  /* no two nodes are equal; none is dead except inputs and parameters */
    CR_HAS_KERNELS = 1 << 1, /* module->kernels, by entry, in an order that respects data flow */
    CR_HAS_LOOPS = 1 << 2,   /* module->segments, module->functions */
    CR_HAS_PLAN = 1 << 3,    /* module->storage, module->layouts */
    CR_HAS_PROGRAM = 1 << 4, /* module->program */
    CR_HAS_ENTRIES = 1 << 5, /* two entries share no nodes except inputs, states and parameters */
    CR_HAS_OUTPUTS = 1 << 6, /* each output is a separate node that a kernel can store, and it is
                                marked as stored */
    CR_HAS_FORMATS = 1 << 7, /* each parameter has its final format */
    CR_HAS_STATES =
        1 << 8, /* module->in_state; no kernel reads a state after its next value is stored */
    CR_HAS_GRADIENTS = 1 << 9, /* module->backwards */
    CR_HAS_STORED = 1 << 10,   /* module->materialised, inside, stored_with and attentions */
};

/* An additional score in a softmax, which belongs to no key: see softmax.h. */
struct cr_sink {
    bool there;
    cr_id node; /* one number a row, or CR_NONE: `number` for all rows */
    double number;
};

/*
 * An attention pattern: A V with logits computed from a matmul, P = softmax(logits), and A either
 * P or, after dropout, P times factors that do not depend on it.
 */
struct cr_attention {
    cr_id output;  /* the second matmul */
    cr_id dropped; /* A, the probabilities after dropout */
    cr_id probs;   /* P */
    cr_id logits;
    cr_id scores; /* the first matmul */
    struct cr_sink sink;
    bool direct; /* no softmax: A, P and the logits are one node, which holds the weights of the
                    values */
};

/* The gradient that is computed from an array made of dS: see kernel.h. */
struct cr_array_gradient {
    enum cr_array_kind kind;
    cr_id array, result; /* `result` stores the whole array, as a reshape of `array`; for a sink,
                            `array` is delta */
    bool apart;          /* the result is an output that nothing reads */
};

/*
 * The gradients of an attention's queries, keys and values:
 *     dA = g V',  dS = (dP - delta) P,  dQ = T K,  dK = T' Q,  dV = A' g
 * with dP to dA as A is to P, and T computed from dS by elementwise work, as the logits are from
 * the scores.  Without softmax dS is dA, and T depends on the scores, too.  Arrays give the gradients
 * of tensors that the scores are multiplied by or that are added to them.
 *
 * The kernel that computes them stores each as a node, or, if a concat of the script joins them, all
 * but outputs apart as parts of the concat.
 */
struct cr_attention_backward {
    cr_id output;           /* the concat, or dq: the first node that the kernel stores */
    bool joined;            /* `output` is a concat */
    bool divided;           /* fuse: one kernel cannot compute them, so each has its own */
    bool direct;            /* no softmax: A, P and the logits are one node; so are dA, dP and dS */
    cr_id dq, dk, dv;       /* the products */
    cr_id dropped, probs;   /* A and P ... */
    cr_id logits, scores;   /* ... of the forward pass */
    cr_id ddropped, dprobs; /* dA and dP */
    struct cr_sink sink;
    cr_id delta;            /* one number a query, rowsum(g o attention); CR_NONE if direct */
    cr_id dlogits;          /* dS */
    cr_id dscores;          /* T */
    bool dk_turned, dv_turned; /* before join_grads: dk is Q' T, dv is g' A */
    struct cr_array_gradient arrays[CR_MAX_ARRAYS];
    int n_arrays;
    cr_id behind[CR_MAX_VALUES]; /* nodes after dS that the kernel computes without storing */
    int n_behind;
};

static inline int cr_n_gradients(const struct cr_attention_backward *backward)
{
    return 3 + backward->n_arrays;
}

/* Returns gradient i: of queries, keys, values, then of the arrays. */
static inline cr_id cr_gradient_at(const struct cr_attention_backward *b, int i)
{
    return i == 0 ? b->dq : i == 1 ? b->dk : i == 2 ? b->dv : b->arrays[i - 3].result;
}

/* True if the kernel stores gradient i as a separate node. */
static inline bool cr_is_own_node(const struct cr_attention_backward *b, int i)
{
    return !b->joined || (i >= 3 && b->arrays[i - 3].apart);
}

/*
 * Kernels first .. first + period - 1 are one iteration of a loop over layers, with `count`
 * iterations: iteration i is layer start + i * direction.  Loops that read each other's values use
 * the same layer numbers, so a backward pass counts down (direction -1).
 */
struct cr_loop {
    int first, period, count;
    int start, direction;
};

static inline int cr_layer_of(const struct cr_loop *loop, int iteration)
{
    return loop->start + iteration * loop->direction;
}

/* A segment of the list of kernels: one kernel, or all kernels of a loop. */
struct cr_segment {
    int kernel; /* index of the kernel, or of the loop's first kernel */
    int loop;   /* index in loops, or -1 */
};

/* The layout of a parameter's elements in the weights; see runtime/pack_weights.h. */
struct cr_layout_info {
    cr_id param;
    int64_t source, rows, cols, row_stride, col_stride;
    int64_t target;       /* floats from the start of the weights */
    int64_t panel_stride; /* units of the parameter's format; 0: row-major, no panels */
    int64_t first_col;    /* first column in the panels */
    int64_t first_row;    /* first row in the panels, to which `target` points */
    bool last;            /* it pads the last panel */
};

struct cr_storage {
    enum cr_space space;
    int64_t offset; /* floats in arena or weights; or the index of an input or output */
};

struct cr_buffer_offsets;

struct cr_module {
    struct cr_graph *graph;
    unsigned has;
    uint64_t *hashes; /* hash of each node, then of each output, after the last pass */
    int n_hashes;
    uint64_t kernels_hash; /* hash of the kernels after the last pass */
    int ops_before; /* number of arithmetic nodes in the script's graph */
    struct cr_settings settings;

    bool uncut; /* each rank computes the whole model: kernels of a part would keep weights in other formats */

    /* shard */
    /* Some ranks read a part of a gathered tensor that one rank sent, others a part that two ranks
     * sent, for which it has to be stored.  If so, all ranks store it, and run the same kernels. */
    bool stores_gathered;

    /* separate_outputs, which marks outputs, and fuse */
    bool *materialised; /* by node: a kernel stores it */
    bool *inside; /* by node: a kernel of an attention's gradients computes it without storing it */
    cr_id *stored_with; /* by node: CR_NONE, or, for a further result of a kernel, the kernel's first stored node */

    /* lift_grads */
    bool no_gradients; /* no node is the gradient of an attention's logits */

    /* join_grads */
    struct cr_attention_backward *backwards;
    int n_backwards;

    /* fuse */
    struct cr_attention *attentions;
    int n_attentions, cap_attentions;
    struct cr_kernel *kernels;
    int n_kernels, cap_kernels;

    /* states */
    cr_id *in_state; /* by node: the state whose memory it is stored in, or CR_NONE; null if the
                        graph replaces no state */

    /* join_tiles */
    struct cr_kernel *joined; /* with --max-arena: the kernels as they are joined without it; else null */
    int n_joined;

    /* recompute */
    int64_t least_arena_floats; /* the smallest possible arena, if it exceeds --max-arena; else 0 */
    int most_values;            /* with more values than this recompute searches no order; 0: not too many */
    bool unrolled;              /* loops are not used, so that the arena becomes small enough */

    /* outline */
    int *function; /* by kernel: the first kernel with the same code */
    struct cr_buffer_offsets *starts; /* by kernel: the operand offsets that calls pass to its
                                         code; null: all 0 */
    struct cr_loop *loops;
    int n_loops, cap_loops;
    struct cr_segment *segments;
    int n_segments, cap_segments;

    /* plan */
    struct cr_storage *storage; /* by node */
    bool *lies_over; /* by the first kernel of a function: some call of it stores a result over an
                        operand in the arena */
    int64_t *packed;            /* by kernel: the offset in floats of its packed weights, or -1 */
    /* by node, for a table whose rows are gathered from panels: the packed matrix whose columns are
     * its rows, or the table itself if it has its own panels (gathered_tables.h); else CR_NONE */
    cr_id *columns_of;
    struct cr_layout_info *layouts;
    int n_layouts, cap_layouts;
    int64_t weights_floats, arena_floats;
    int64_t lower_bound_floats; /* of the arena: the maximum of the floats that are live at the
                                   same time */
    int64_t activation_floats;  /* kept in it for the backward pass (activations.h), or -1 */

    /* schedule */
    struct cr_program *program;
};

/* Returns the loop of a kernel, or null; `loops` are sorted by kernel. */
const struct cr_loop *cr_loop_at(const struct cr_loop *loops, int n, int kernel);

/* Returns the loop of a kernel of a module, or null. */
static inline const struct cr_loop *cr_loop_of(const struct cr_module *module, int kernel)
{
    return cr_loop_at(module->loops, module->n_loops, kernel);
}

/* Makes a module, which owns the graph. */
struct cr_module *cr_module_new(struct cr_graph *graph);
void cr_module_free(struct cr_module *module);

/* Returns the attention pattern whose output is this matmul, or null. */
const struct cr_attention *cr_attention_at(const struct cr_module *module, cr_id output);

/* Returns the gradients of an attention whose `output` is this node and that one kernel computes,
 * or null. */
const struct cr_attention_backward *cr_backward_at(const struct cr_module *module, cr_id output);

/* Returns the state that a node replaces in its memory, or CR_NONE. */
static inline cr_id cr_state_of(const struct cr_module *module, cr_id id)
{
    return module->in_state ? module->in_state[id] : CR_NONE;
}

/* Sorts kernels by entry, node and part of the node, and numbers them. */
void cr_sort_kernels(struct cr_module *module);

/* Sets node->kernel to the kernel whose buffer is the node; the last one, if several kernels
 * store parts; CR_NONE if none does. */
void cr_number_kernels(struct cr_module *module);

/* True if two kernels have the same loops: equal atoms in equal roles. */
bool cr_same_loops(const struct cr_kernel *a, const struct cr_kernel *b);

/* True if a kernel stores a node over a state that it reads. */
bool cr_writes_over(const struct cr_module *module, const struct cr_kernel *kernel);

/* True if fusion has decided that a kernel stores a node. */
static inline bool cr_is_materialised(const struct cr_module *module, cr_id id)
{
    return module->materialised && module->materialised[id];
}

#endif
