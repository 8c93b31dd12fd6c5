/*
 * verifier.h - what must hold of kernels, steps and plan between any two passes.
 *
 * The room of the verifier.
 *
 * Comes in:   a module, and which properties (CR_HAS_...) it has by now; or a program alone.
 * Goes out:   0, or the first fault as a message.
 * Promise:    nothing is changed.
 * Used later: kernel_check.h, with which the kinds check what only they have.
 *
 * Each check relies on the graph (compiler/ir/verify.h) and on what the checks before it
 * verified, and on nothing that passes computed for their own use.  They return 0, or -1 and in
 * *error the first thing that is wrong: "kernel 3: it reads v[5], which is not made yet".  All
 * take time that is near linear in the size of the module.
 */
#ifndef CR_VERIFIER_H
#define CR_VERIFIER_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"
#include "compiler/passes/plan/lifetimes.h"

/*
 * CR_HAS_KERNELS: every stored node is made once and completely, by kernels that read what is
 * made before; every loop a kernel's index speaks of is there, and every index stays inside its
 * tensor for all iterations of all loops; tile programs make values of earlier ones.
 */
int cr_verify_kernels(const struct cr_module *m, struct cr_error *error);

/* CR_HAS_LOOPS: the steps call each kernel once and in order; kernels that share a function, and
 * the iterations of a loop, do the same. */
int cr_verify_steps(const struct cr_module *m, struct cr_error *error);

/*
 * CR_HAS_PLAN: every operand lies inside its buffer.  When a kernel reads a value, each float of
 * it was written last for that value.  Outputs are written once and completely.  The arena is no
 * smaller than what is live at once.
 */
int cr_verify_plan(const struct cr_module *m, struct cr_error *error);

/* CR_HAS_PLAN, too: places of weights do not overlap, and hold what the kernels read there. */
int cr_verify_weights(const struct cr_module *m, struct cr_error *error);

/*
 * CR_HAS_PROGRAM, of the program by itself: bodies nest and declare what they use; what they call
 * fits its signature; every address stays inside its slot and every slot's buffer, for all iterations
 * of all loops; scratch is written before it is read; the forms of bindings say what is bound; a
 * buffer that is read was written, and nothing over it since.
 */
int cr_verify_program(const struct cr_program *program, struct cr_error *error);

/* True if a range of floats begins on a cache line and ends inside a buffer. */
static inline bool cr_is_inside(int64_t offset, int64_t floats, int64_t buffer)
{
    return offset >= 0 && offset % CR_ALIGN == 0 && floats <= buffer && offset <= buffer - floats;
}

#endif
