/*
 * module.h - the module that the passes work on: a graph, its kernels, and their memory.
 *
 * This directory has the types that all other directories of compiler/passes/ share.
 *
 * Comes in:   a graph.
 * Goes out:   a module that has only the graph; passes fill in the rest.
 * Promise:    data, tables and functions that read them.  Nothing here changes a graph or decides.
 * Used later: kernel.h, a kernel; index_map.h, how its loops index elements; kernel_kinds.h, the kinds;
 *             buffer_offsets.h, the offsets of kernels in buffers; target.h, tile sizes of loops.
 */
#ifndef CR_MODULE_H
#define CR_MODULE_H

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"
#include "kernel.h"
#include "settings.h"

/* Properties that passes need, give and break.  Kernels, loops, plan and program are each derived
 * from the one before: a pass that breaks one breaks all after it. */
enum {
    CR_HAS_SIMPLE = 1 << 0,  /* no two nodes are equal; every node but inputs and parameters has a
                                reader or is an output */
    CR_HAS_KERNELS = 1 << 1, /* module->kernels is set: sorted by entry, in an order that respects
                                data flow */
    CR_HAS_LOOPS = 1 << 2,   /* module->segments, loops and function are set */
    CR_HAS_PLAN = 1 << 3,    /* module->storage and layouts are set */
    CR_HAS_PROGRAM = 1 << 4, /* module->program */
    CR_HAS_ENTRIES = 1 << 5, /* no two entries share nodes, except inputs, states and parameters */
    CR_HAS_OUTPUTS = 1 << 6, /* each output is a separate node that a kernel can store, and is
                                marked as stored */
    CR_HAS_FORMATS = 1 << 7, /* each parameter has its final format */
    CR_HAS_STATES =
        1 << 8, /* module->in_state is set; no kernel reads a state after its next value is
                   stored */
    CR_HAS_GRADIENTS = 1 << 9, /* module->backwards */
    CR_HAS_STORED = 1 << 10,   /* module->materialised, inside, stored_with and attentions are
                                  set */
};

/* A sink: an additional score in a softmax that belongs to no key (softmax.h). */
struct cr_sink {
    bool there;
    cr_id node; /* the score, one number a row; or CR_NONE if it is `number` in all rows */
    double number;
};

/*
 * An attention: the product A V, with P = softmax(logits), logits computed from a matmul, and A
 * either P or, with dropout, P times factors that do not depend on P.
 */
struct cr_attention {
    cr_id output;  /* the second matmul */
    cr_id dropped; /* A, the probabilities after dropout */
    cr_id probs;   /* P */
    cr_id logits;
    cr_id scores; /* the first matmul, of queries and keys */
    struct cr_sink sink;
    bool direct; /* no softmax: A, P and the logits are the same node, which has the weights of the
                    values */
};

/* A gradient that is computed from `array`, an array of queries by keys that depends on dS
 * (kernel_attention.h). */
struct cr_array_gradient {
    enum cr_array_kind kind;
    cr_id array, result; /* `result` is the gradient's node; for a whole array it may be a reshape
                            of `array`; for a sink, `array` is delta */
    bool apart;          /* true if the result is an output that nothing reads */
};

/*
 * The gradients of an attention's queries, keys and values:
 *     dA = g V',  dS = (dP - delta) P,  dQ = T K,  dK = T' Q,  dV = A' g
 * Here dP has the same relation to dA as A has to P, and elementwise ops compute T from dS, as they compute the logits
 * from the scores.  Without softmax dS is dA, and T depends on the scores, too. Other arrays computed from dS give the
 * gradients of tensors that scores are multiplied by or that are added to scores.
 *
 * The kernel stores each gradient as a node of its own.  If a concat of the script joins them, it stores them as parts
 * of the concat, except outputs that nothing reads (`apart`).
 */
struct cr_attention_backward {
    cr_id output;           /* the first node that the kernel stores: the concat, or dq */
    bool joined;            /* true if `output` is a concat of the script */
    bool divided;           /* set by fuse if one kernel cannot compute them, so that each has its
                               own kernel */
    bool direct;            /* no softmax: A, P and the logits are the same node, and so are dA, dP
                               and dS */
    cr_id dq, dk, dv;       /* the products dQ, dK and dV */
    cr_id dropped, probs;   /* A and P of the forward pass */
    cr_id logits, scores;   /* logits and scores of the forward pass */
    cr_id ddropped, dprobs; /* dA and dP */
    struct cr_sink sink;
    cr_id delta;            /* one number a query, rowsum(g o output); CR_NONE if direct */
    cr_id dlogits;          /* dS */
    cr_id dscores;          /* T */
    bool dk_turned, dv_turned; /* before join_grads: dk is Q' T, or dv is g' A, the transpose of dK
                                  or dV */
    struct cr_array_gradient arrays[CR_MAX_ARRAYS];
    int n_arrays;
    cr_id behind[CR_MAX_VALUES]; /* nodes computed from dS inside the kernel, without storing
                                    them */
    int n_behind;
};

static inline int cr_n_gradients(const struct cr_attention_backward *backward)
{
    return 3 + backward->n_arrays;
}

/* Returns gradient i: 0, 1 and 2 are those of queries, keys and values; those of arrays follow. */
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
 * Kernels first .. first + period - 1 are the first iteration of a loop over layers, with `count`
 * iterations; iteration i is layer start + i * direction.  Loops that read each other's values use
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

/* The layout of a part of a parameter in the weights; see runtime/pack_weights.h. */
struct cr_layout_info {
    cr_id param;
    int64_t source, rows, cols, row_stride, col_stride;
    int64_t target;       /* offset from the start of the weights, in floats */
    int64_t panel_stride; /* distance of panels, in units of the parameter's format; 0 for row-major
                             weights without panels */
    int64_t first_col;    /* the part's first column, in the panels */
    int64_t first_row;    /* the part's first row, in the panels; `target` is its offset */
    bool last;            /* true if the part pads the last panel */
};

struct cr_storage {
    enum cr_space space;
    int64_t offset; /* an offset in floats, in the arena or the weights; or the number of an input
                       or output */
};

struct cr_buffer_offsets;

struct cr_module {
    struct cr_graph *graph;
    unsigned has;
    uint64_t *hashes; /* hash of each node, then of each output, after the last pass */
    int n_hashes;
    uint64_t kernels_hash; /* hash of the kernels, after the last pass */
    int ops_before; /* number of arithmetic nodes in the graph that the script built */
    struct cr_settings settings;

    bool uncut; /* each rank computes the whole model, because kernels of a part would need other
                   formats of weights */

    /* set by shard: */
    /* True if some ranks read a part of a gathered tensor that only one rank sent, while others
     * read a part that two ranks sent, which has to be stored.  Then all ranks store the part, so
     * that they run the same kernels. */
    bool stores_gathered;

    /* set by separate_outputs (for outputs) and materialise, extended by fuse: */
    bool *materialised; /* by node: true if a kernel stores the node */
    bool *inside; /* by node: true if the kernel of an attention's gradients computes the node
                     without storing it */
    cr_id *stored_with; /* by node: if a kernel stores it besides its first node, that first node;
                           else CR_NONE */

    /* set by lift_grads: */
    bool no_gradients; /* true if no node is the gradient of an attention's logits */

    /* set by join_grads: */
    struct cr_attention_backward *backwards;
    int n_backwards;

    /* set by fuse: */
    struct cr_attention *attentions;
    int n_attentions, cap_attentions;
    struct cr_kernel *kernels;
    int n_kernels, cap_kernels;

    /* set by states: */
    cr_id *in_state; /* by node: the state whose memory the node is stored in, or CR_NONE; null if
                        the graph replaces no state */

    /* set by join_tiles: */
    struct cr_kernel *joined; /* with --max-arena: the kernels joined as without the limit; else
                                 null */
    int n_joined;

    /* set by recompute: */
    int64_t least_arena_floats; /* the smallest arena that is possible, if that exceeds --max-arena;
                                   else 0 */
    int most_values;            /* the limit MOST_VALUES of recompute if the model has more values,
                                   so that no order is searched; else 0 */
    bool unrolled;              /* no loops are used, so that the arena is small enough */

    /* set by outline: */
    int *function; /* by kernel: the first kernel with the same code */
    struct cr_buffer_offsets *starts; /* by kernel: the offsets that calls of the kernel's function
                                         pass; null if all are 0 */
    struct cr_loop *loops;
    int n_loops;
    struct cr_segment *segments;
    int n_segments, cap_segments;

    /* set by plan: */
    struct cr_storage *storage; /* by node: where its value is stored */
    bool *lies_over; /* by function, at its first kernel: true if some call stores a result over an
                        operand in the arena */
    int64_t *packed;            /* by kernel: the offset of the kernel's packed weights, in floats,
                                   or -1 */
    /* by node, for a table whose rows are gathered from panels: the packed matrix whose columns are
     * the table's rows, or the table itself if it has its own panels (gathered_tables.h); else
     * CR_NONE */
    cr_id *columns_of;
    struct cr_layout_info *layouts;
    int n_layouts, cap_layouts;
    int64_t weights_floats, arena_floats;
    int64_t lower_bound_floats; /* a lower bound of the arena: the most floats that are live at the
                                   same time */
    int64_t activation_floats;  /* floats of the arena that keep values for the backward pass
                                   (activations.h); -1 without one */

    /* set by schedule: */
    struct cr_program *program;
};

/* Returns the loop that contains a kernel, or null.  `loops` are sorted by kernel. */
const struct cr_loop *cr_loop_at(const struct cr_loop *loops, int n, int kernel);

/* Returns the loop that contains a kernel of a module, or null. */
static inline const struct cr_loop *cr_loop_of(const struct cr_module *module, int kernel)
{
    return cr_loop_at(module->loops, module->n_loops, kernel);
}

/* Returns a new module with a graph, which the module then owns. */
struct cr_module *cr_module_new(struct cr_graph *graph);
void cr_module_free(struct cr_module *module);

/* Returns the attention whose output is this matmul, or null. */
const struct cr_attention *cr_attention_at(const struct cr_module *module, cr_id output);

/* Returns the gradients of an attention whose `output` is this node, or null; null also if they are
 * divided, each with its own kernel. */
const struct cr_attention_backward *cr_backward_at(const struct cr_module *module, cr_id output);

/* Returns the state whose memory the next value `id` is stored in, or CR_NONE. */
static inline cr_id cr_state_of(const struct cr_module *module, cr_id id)
{
    return module->in_state ? module->in_state[id] : CR_NONE;
}

/* Sorts kernels by entry, by node, and by part of the node; then numbers them
 * (cr_number_kernels). */
void cr_sort_kernels(struct cr_module *module);

/* Sets node->kernel of each node to the kernel whose buffer it is.  If several kernels store parts
 * of the node, this is the last one; if none stores it, CR_NONE. */
void cr_number_kernels(struct cr_module *module);

/* True if two kernels have the same loops: equal atoms in equal roles. */
bool cr_same_loops(const struct cr_kernel *a, const struct cr_kernel *b);

/* True if a kernel stores a node over a state that the kernel itself reads. */
bool cr_writes_over(const struct cr_module *module, const struct cr_kernel *kernel);

/* True if fusion has decided that a kernel stores a node. */
static inline bool cr_is_materialised(const struct cr_module *module, cr_id id)
{
    return module->materialised && module->materialised[id];
}

#endif
