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

/* The kernel that is checked, and the error to which a fault is written. */
struct cr_kernel_check {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_error *error;
    int kernel;
    const struct cr_kernel *k;
    const struct cr_kernel_parts *parts; /* the row of the kernel's kind */
    unsigned roles[CR_MAX_ATOMS];        /* by atom: the atom's role, a bit CR_LOOP_ */
};

/* How much of a node the kernels checked so far have stored. */
struct cr_made_part {
    int64_t stored; /* number of elements */
    int part;       /* for a concat or a write: the operand that must be stored next */
    int64_t start;  /* for a concat: the index of the first element of `part` in each run */
    bool besides;   /* true if a kernel whose buffer is another node stored the node */
};

/* Sets the error to "kernel N: ...", where N is the kernel being checked; returns -1. */
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

/* Gives an atom a role (CR_LOOP_...).  Returns false if there is no such atom, or if it has a role
 * already. */
bool cr_take_role(struct cr_kernel_check *check, int atom, unsigned role);

/* Fails unless an affine index depends only on atoms with one of the roles `loops`, and is always
 * within `size` elements; `what` names the operand in the message. */
int cr_verify_index(const struct cr_kernel_check *check, const struct cr_affine *at, unsigned loops,
                    int64_t size, const char *what);

/* Fails unless the kernel's core is a matmul with N columns that sums over `summands` elements, and
 * has as many elements as the root. */
int cr_verify_core(const struct cr_kernel_check *check, int64_t N, int64_t summands);

/* Returns the number of consecutive elements that one operand of a concat or a write has in the
 * node: the product of its sizes from the axis on. */
int64_t cr_part_width(const struct cr_kernel_check *check, cr_id concat, int part);

/* Fails unless the index `at` of a result, over the loops `loops` without the atoms `summed`,
 * visits each of `width` elements from `first` on exactly once, in each run of the node's axis. */
int cr_verify_result(const struct cr_kernel_check *check, cr_id id, const struct cr_affine *at,
                     unsigned loops, unsigned summed, int64_t first, int64_t width);

#endif
