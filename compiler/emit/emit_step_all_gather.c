/* emit_step_all_gather.c - prints the step ALL_GATHER, an exchange between ranks, as C. */
#include "compiler/ir/identifiers.h"
#include "emit_steps.h"

#include <stdio.h>

/* Returns the buffer that is bound to an operand; in a loop over layers, the buffer in the first
 * layer. */
static const struct cr_buffer *buffer_of(const struct cr_program *p, const struct cr_step *step, int operand)
{
    return &p->buffers[p->bound[cr_operand_binding(p, step, operand)->first_buffer].what];
}

/* Prints declarations of the pointers `from` and `to`, such as "const float *const from = arena +
 * 12; // [B, T, 48]".  The step writes to `to`; its other slots are lengths.  Returns the buffer
 * of `from`. */
static const struct cr_buffer *print_pointers(struct cr_text *t, const struct cr_step *step,
                                              const struct cr_step_walk *walk, int indent)
{
    const struct cr_buffer *from = NULL;
    for (int i = 0; i < cr_n_operands(walk->program, step); i++) {
        const struct cr_slot *s = cr_operand_slot(walk->program, step, i);
        if (s->kind != CR_SLOT_ARGUMENT)
            continue;
        cr_put(t, "%*s%s%s *const %s = ", indent, "", s->written ? "" : "const ", cr_formats[s->format].c_type,
               s->written ? "to" : "from");
        cr_emit_binding(t, walk->program, walk->loop, cr_operand_binding(walk->program, step, i), s->format);
        cr_put(t, "; /* ");
        cr_emit_shape(t, walk->program, buffer_of(walk->program, step, i));
        cr_put(t, " */\n");
        from = s->written ? from : buffer_of(walk->program, step, i);
    }
    return from;
}

/* Writes a number of elements as the product of the named sizes of axes from `axis` on; if they
 * have no names, as a number. */
static void write_elements(char text[512], const struct cr_program *p, const struct cr_buffer *buffer, int axis,
                           int64_t elements)
{
    int size = p->sizes ? cr_plain_size(p->sizes, 1) : 0;
    for (int a = axis; a < buffer->rank && size; a++)
        size = cr_size_product(p->sizes, size, buffer->size[a]);
    if (size && p->sizes->sizes[size - 1].value == elements)
        cr_size_text(p->sizes, size, text, 512);
    else
        snprintf(text, 512, "%lld", (long long)elements);
}

/* Prints the exchange of a whole tensor in one call. */
static void print_whole(struct cr_text *t, const struct cr_program *p, const struct cr_exchanged *x,
                        const struct cr_buffer *from, int indent)
{
    char floats[512];
    write_elements(floats, p, from, 0, x->pieces * x->rows * x->width);
    cr_put_line(t, indent, "const long bytes = %s * (long)sizeof(float); /* of a rank */", floats);
    cr_put_line(t, indent, "ranks->gather_blocks(ranks, to, from, bytes, bytes);");
}

/* Prints the exchange of as many rows as a length counts: one call for each piece of the tensor. */
static void print_pieces(struct cr_text *t, const struct cr_program *p, const struct cr_exchanged *x,
                         const struct cr_buffer *from, int indent)
{
    char row[512], piece[512], all[512];
    int axis = 0;
    while (axis < from->rank - 1 && from->length[axis] != x->length)
        axis++;
    write_elements(row, p, from, axis + 1, x->width);
    write_elements(piece, p, from, axis, x->rows * x->width);
    write_elements(all, p, from, 0, x->pieces * x->rows * x->width);
    cr_put_line(t, indent, "const long row = %s * (long)sizeof(float); /* bytes */", row);
    cr_put_line(t, indent, "const long next_rank = %s * (long)sizeof(float); /* bytes */", all);
    if (x->pieces > 1) {
        cr_put_line(t, indent, "for (long piece = 0; piece < %lld; piece++)", (long long)x->pieces);
        cr_put_line(t, indent + 4, "ranks->gather_blocks(ranks, to + piece * (%s), from + piece * (%s), length_%s * row, next_rank);",
                    piece, piece, cr_length_identifier(p, x->length));
    } else {
        cr_put_line(t, indent, "ranks->gather_blocks(ranks, to, from, length_%s * row, next_rank);",
                    cr_length_identifier(p, x->length));
    }
}

void cr_emit_step_all_gather(struct cr_text *t, const struct cr_step *step, const struct cr_step_walk *walk)
{
    const struct cr_exchanged *x = &step->all_gather;
    int indent = walk->loop ? 8 : 4;
    cr_put(t, "%*s{ /* what every rank has */\n", indent, "");
    const struct cr_buffer *from = print_pointers(t, step, walk, indent + 4);
    (x->length == CR_NONE ? print_whole : print_pieces)(t, walk->program, x, from, indent + 4);
    cr_put(t, "%*s}\n", indent, "");
}
