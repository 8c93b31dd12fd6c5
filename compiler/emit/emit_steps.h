/* emit_steps.h - prints steps of each kind, and the arguments bound to their operands, as C. */
#ifndef CR_EMIT_STEPS_H
#define CR_EMIT_STEPS_H

#include "compiler/ir/program.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/text.h"

/* Prints the argument of an operand: a pointer or a number, as an expression of the layer's
 * number. */
void cr_emit_binding(struct cr_text *text, const struct cr_program *program,
                     const struct cr_layers *loop, const struct cr_binding *binding,
                     enum cr_format format);

/* Writes the variable in the function of an entry that has the value of a length: length_T for T; length0 and so
 * on for lengths whose names make no identifier or the same one. */
enum { CR_LENGTH_VARIABLE = 48 };
void cr_length_variable(char *name, size_t size, const struct cr_program *program, int length);

/* Prints a step of the kind, indented by 8 inside a loop. */
#define STEP(NAME, name, traits, description)                                                      \
    void cr_emit_step_##name(struct cr_text *text, const struct cr_step *step,                     \
                             const struct cr_step_walk *walk);
#include "compiler/ir/steps.def"
#undef STEP

#endif
