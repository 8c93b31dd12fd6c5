/*
 * verifier.h - checks of kernels, steps, plan and program between any two passes.
 *
 * The room of the verifier.
 *
 * Comes in:   a module, and the properties (CR_HAS_...) that it has so far; or a program alone.
 * Goes out:   0, or the first fault as a message.
 * Promise:    nothing is changed.
 * Used later: kernel_check.h, with which the kinds check their own members.
 *
 * Each check relies on the graph (compiler/ir/verify.h) and on the checks before it, and on nothing
 * that passes computed for their own use.  A check returns 0, or -1 with the first fault in *error:
 * "kernel 3: it reads v[5], which is not made yet".  All take time that is near linear in the size
 * of the module.
 */
#ifndef CR_VERIFIER_H
#define CR_VERIFIER_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"
#include "compiler/passes/plan/lifetimes.h"

/* CR_HAS_GRADIENTS: each product is of the operands that module.h says, and each result is one part
 * of the concat or an output. */
int cr_verify_backwards(const struct cr_module *m, struct cr_error *error);

/*
 * CR_HAS_KERNELS: kernels store every stored node once and completely, and read only nodes stored
 * before; an index depends only on loops of its kernel, and stays inside its tensor for all
 * iterations; values of tile programs have only earlier values as operands.
 */
int cr_verify_kernels(const struct cr_module *m, struct cr_error *error);

/* CR_HAS_STATES: exactly the nodes that replace states are stored in their memory, and a kernel
 * that reads a state runs before that is overwritten, or overwrites each element after its last
 * read. */
int cr_verify_states(const struct cr_module *m, struct cr_error *error);

/* CR_HAS_LOOPS: the steps call each kernel once and in order; kernels that share a function are
 * alike, and so are the iterations of a loop. */
int cr_verify_steps(const struct cr_module *m, struct cr_error *error);

/*
 * CR_HAS_PLAN: every operand lies inside its buffer.  When a kernel reads a value, no float of it
 * has been overwritten by another value.  Outputs are written once and completely.  The arena is no
 * smaller than all values that are live at once.
 */
int cr_verify_plan(const struct cr_module *m, struct cr_error *error);

/* CR_HAS_PLAN, too: places of weights do not overlap, and hold the parameters that kernels read. */
int cr_verify_weights(const struct cr_module *m, struct cr_error *error);

/*
 * CR_HAS_PROGRAM, from the program alone: blocks nest, and variables are declared before use; calls
 * fit their signatures; every address stays inside its slot and the slot's buffer, for all
 * iterations of all loops; scratch is written before it is read; the closed forms of bindings match
 * the bound buffers; a buffer that is read was written, and not overwritten since.
 */
int cr_verify_program(const struct cr_program *program, struct cr_error *error);

/* True if a range of floats begins on a cache line and ends inside a buffer. */
static inline bool cr_is_inside(int64_t offset, int64_t floats, int64_t buffer)
{
    return offset >= 0 && offset % CR_ALIGN == 0 && floats <= buffer && offset <= buffer - floats;
}

#endif
