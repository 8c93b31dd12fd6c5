/*
 * verifier.h - checks kernels, steps, plan and program between any two passes.
 *
 * Comes in:   a module, and the properties (CR_HAS_...) that it has so far; or a program alone.
 * Goes out:   0, or the first fault as a message.
 * Promise:    nothing is changed.
 * Used later: kernel_check.h, with which the kinds check their own members.
 *
 * Each check relies on the graph (compiler/ir/verify.h) and on the checks before it, and on no data
 * that passes computed for their own use.  A check returns 0, or -1 with the first fault in *error:
 * "kernel 3: it reads v[5], which is not made yet".  All checks take time that is nearly linear in
 * the size of the module.
 */
#ifndef CR_VERIFIER_H
#define CR_VERIFIER_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"
#include "compiler/passes/plan/lifetimes.h"

/* For CR_HAS_GRADIENTS: checks that each product has the operands that module.h gives, and that
 * each result is one part of the concat or a node of its own. */
int cr_verify_backwards(const struct cr_module *m, struct cr_error *error);

/*
 * For CR_HAS_KERNELS: checks that kernels store every stored node once and completely, and read
 * only nodes stored before; that each index depends only on loops of its kernel, and stays inside
 * its tensor in all iterations; and that values of tile programs have only earlier values as
 * operands.
 */
int cr_verify_kernels(const struct cr_module *m, struct cr_error *error);

/* For CR_HAS_STATES: checks that exactly the nodes that replace states are stored in the states'
 * memory, and that a kernel that reads a state runs before it is overwritten, or overwrites each
 * element after its last read. */
int cr_verify_states(const struct cr_module *m, struct cr_error *error);

/* For CR_HAS_LOOPS: checks that the steps call each kernel once and in order; that kernels that
 * share a function have the same code; and that the iterations of a loop do, too. */
int cr_verify_steps(const struct cr_module *m, struct cr_error *error);

/*
 * For CR_HAS_PLAN: checks that every operand is inside its buffer; that no float of a value is
 * overwritten by another value before a kernel reads it; that outputs are written once and
 * completely; and that the arena is no smaller than all values that are live at the same time.
 */
int cr_verify_plan(const struct cr_module *m, struct cr_error *error);

/* For CR_HAS_PLAN, too: checks that layouts of weights do not overlap, and that they have the
 * parameters that kernels read. */
int cr_verify_weights(const struct cr_module *m, struct cr_error *error);

/*
 * For CR_HAS_PROGRAM, from the program alone: checks that blocks nest, and variables are declared
 * before use; that calls fit their signatures; that every address is inside its slot and the slot's
 * buffer in all iterations of all loops; that scratch is written before it is read; that the
 * formulas of bindings give the bound buffers; and that a buffer that is read was written, and not
 * overwritten since.
 */
int cr_verify_program(const struct cr_program *program, struct cr_error *error);

/* True if a range of floats begins on a cache line and is inside a buffer of `buffer` floats. */
static inline bool cr_is_inside(int64_t offset, int64_t floats, int64_t buffer)
{
    return offset >= 0 && offset % CR_ALIGN == 0 && floats <= buffer && offset <= buffer - floats;
}

#endif
