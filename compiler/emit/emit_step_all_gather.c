/* emit_step_all_gather.c - ALL_GATHER: an exchange between ranks, as C. */
#include "compiler/ir/identifiers.h"
#include "emit_steps.h"

#include <stdio.h>

/* Prints "const float *const from = arena + 12;", and the same of `to`, which the step writes.
 * Other slots are lengths. */
static void print_pointers(struct cr_text *t, const struct cr_step *step, const struct cr_step_walk *walk, int indent)
{
    for (int i = 0; i < cr_n_operands(walk->program, step); i++) {
        const struct cr_slot *s = cr_operand_slot(walk->program, step, i);
        if (s->kind != CR_SLOT_ARGUMENT)
            continue;
        cr_put(t, "%*s%s%s *const %s = ", indent, "", s->written ? "" : "const ", cr_formats[s->format].c_type,
               s->written ? "to" : "from");
        cr_emit_binding(t, walk->program, walk->loop, cr_operand_binding(walk->program, step, i), s->format);
        cr_put(t, ";\n");
    }
}

/* Prints one call of ranks->gather_blocks for each piece: its rows follow one another. */
void cr_emit_step_all_gather(struct cr_text *t, const struct cr_step *step, const struct cr_step_walk *walk)
{
    const struct cr_exchanged *x = &step->all_gather;
    int indent = walk->loop ? 8 : 4;
    char rows[CR_C_NAME + sizeof "length_"];
    if (x->length == CR_NONE)
        snprintf(rows, sizeof rows, "%lld", (long long)x->rows);
    else
        snprintf(rows, sizeof rows, "length_%s", cr_length_identifier(walk->program, x->length));
    cr_put(t, "%*s{ /* what every rank has */\n", indent, "");
    print_pointers(t, step, walk, indent + 4);
    cr_put_line(t, indent + 4, "for (long piece = 0; piece < %lld; piece++)", (long long)x->pieces);
    cr_put_line(t, indent + 8, "ranks->gather_blocks(ranks, to + piece * %lld, from + piece * %lld, %s * %lld, %lld);",
                (long long)(x->rows * x->width), (long long)(x->rows * x->width), rows,
                (long long)(x->width * (int64_t)sizeof(float)),
                (long long)(x->pieces * x->rows * x->width * (int64_t)sizeof(float)));
    cr_put(t, "%*s}\n", indent, "");
}
