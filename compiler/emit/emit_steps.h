/* emit_steps.h - steps of each kind as C, and what their operands are bound to. */
#ifndef CR_EMIT_STEPS_H
#define CR_EMIT_STEPS_H

#include "compiler/ir/program.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/text.h"

/* Prints what an operand is: a pointer or a number, as an expression of the layer's number. */
void cr_emit_binding(struct cr_text *text, const struct cr_program *program,
                     const struct cr_layers *loop, const struct cr_binding *binding,
                     enum cr_format format);

/* Prints a step of the kind; those in a loop are indented by 8. */
#define STEP(NAME, name, traits, description)                                                      \
    void cr_emit_step_##name(struct cr_text *text, const struct cr_step *step,                     \
                             const struct cr_step_walk *walk);
#include "compiler/ir/steps.def"
#undef STEP

#endif
