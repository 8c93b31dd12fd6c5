/* emit_steps.h - prints steps of each kind, and the arguments bound to their operands, as C. */
#ifndef CR_EMIT_STEPS_H
#define CR_EMIT_STEPS_H

#include "compiler/ir/program.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/text.h"

/* Prints the argument that is bound to an operand: a pointer or a number, as an expression of the
 * layer's number. */
void cr_emit_binding(struct cr_text *text, const struct cr_program *program,
                     const struct cr_layers *loop, const struct cr_binding *binding,
                     enum cr_format format);

/* Prints the shape of a buffer, with lengths and sizes by name: "[n, 3 * N_EMBD]". */
void cr_emit_shape(struct cr_text *text, const struct cr_program *program, const struct cr_buffer *buffer);

/* Returns the identifier of the input that holds a length.  In the function of an entry,
 * length_IDENTIFIER is the variable with the length's value. */
static inline const char *cr_length_identifier(const struct cr_program *program, int length)
{
    return program->inputs[program->input_of_length[length]].identifier;
}

/* Prints a step of the kind, indented by 8 columns inside a loop. */
#define STEP(NAME, name, traits, description)                                                      \
    void cr_emit_step_##name(struct cr_text *text, const struct cr_step *step,                     \
                             const struct cr_step_walk *walk);
#include "compiler/ir/steps.def"
#undef STEP

#endif
