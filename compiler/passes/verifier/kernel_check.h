/*
 * kernel_check.h - functions with which verify_kernels.c and the kinds check a kernel.
 *
 * The row of a kind (kernel_kinds.h) names the checks of the kind's own members.  They return 0, or
 * -1 with the fault in check->error.
 */
#ifndef CR_KERNEL_CHECK_H
#define CR_KERNEL_CHECK_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/module/module.h"

/* The kernel that is checked, and the error that a fault is written to. */
struct cr_kernel_check {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_error *error;
    int kernel;
    const struct cr_kernel *k;
    const struct cr_kernel_parts *parts; /* the row of its kind */
    unsigned roles[CR_MAX_ATOMS];        /* by atom: its CR_LOOP_... */
};

/* The part of a node that the kernels checked so far store. */
struct cr_made_part {
    int64_t stored; /* elements */
    int part;       /* of a concat or a write: index of the operand that is stored next ... */
    int64_t start;  /* ... and its first element in each run of the axis */
    bool besides;   /* stored by a kernel whose buffer is another node */
};

/* Sets the error to "kernel 3: ..."; returns -1. */
#define cr_kernel_fault(check, ...)                                                                \
    cr_fail_at((check)->error, "kernel", (check)->kernel, __VA_ARGS__)

static inline bool cr_check_node(const struct cr_kernel_check *check, cr_id id)
{
    return id >= 0 && id < check->g->n_nodes;
}

static inline int64_t cr_check_elements(const struct cr_kernel_check *check, cr_id id)
{
    return cr_elements(check->g->nodes[id].rank, check->g->nodes[id].shape);
}

/* Gives an atom a role (CR_LOOP_...); fails if there is no such atom, or if it has a role. */
bool cr_take_role(struct cr_kernel_check *check, int atom, unsigned role);

/* Fails unless an affine index depends only on atoms with one of the roles `loops`, and stays
 * inside the `size` elements of `what`. */
int cr_verify_index(const struct cr_kernel_check *check, const struct cr_affine *at, unsigned loops,
                    int64_t size, const char *what);

/* Fails unless the kernel's core is a matmul with N columns, sums of `summands`, and as many
 * elements as the root. */
int cr_verify_core(const struct cr_kernel_check *check, int64_t N, int64_t summands);

/* The consecutive elements that one operand of a concat or a write has in the node: its sizes from
 * the axis on, multiplied. */
int64_t cr_part_width(const struct cr_kernel_check *check, cr_id concat, int part);

/* Fails unless the address `at` of a result, over its loops without the atoms `summed`, visits
 * `width` elements from `first` on in each run of the node's axis, each once. */
int cr_verify_result(const struct cr_kernel_check *check, cr_id id, const struct cr_affine *at,
                     unsigned loops, unsigned summed, int64_t first, int64_t width);

#endif
