#include "past_rows.h"

#include <string.h>

enum { BYTES = 4 }; /* bytes of an element, of any type */

int cr_port_batch_axis(const struct cr_engine *e, const struct cr_port *port,
                       const signed char *axes, int length)
{
    for (int a = 0; length && e->lengths[length - 1].batch && a < port->rank; a++)
        if (axes[a] == e->lengths[length - 1].batch)
            return a;
    return CR_NONE;
}

/* A tensor of a ragged batch while the elements past the end of each row are set to 0. */
struct past {
    const struct cr_engine *engine;
    const struct cr_port *port;
    const signed char *axes;
    const void *const *inputs;
    int last; /* the last axis that has a ragged length */
    char *data;
    int64_t width, index[CR_MAX_RANK];
};

/* Sets the elements past the ends of rows to 0, in the part of the tensor that starts at element
 * `at` and has the axes from `axis` on. */
static void clear(struct past *p, int axis, int64_t at)
{
    const struct cr_port *port = p->port;
    int64_t stride = cr_elements(port->rank - axis - 1, port->shape + axis + 1);
    int64_t size = port->shape[axis];
    int length = p->axes[axis], batch = cr_port_batch_axis(p->engine, port, p->axes, length);
    if (length && !p->engine->lengths[length - 1].batch)
        size = *(const int32_t *)p->inputs[p->engine->lengths[length - 1].input];
    if (batch != CR_NONE) {
        const int32_t *rows = p->inputs[p->engine->lengths[length - 1].input];
        size = rows[p->index[batch]];
        memset(p->data + (at + size * stride) * p->width, 0,
               (size_t)((port->shape[axis] - size) * stride * p->width));
    }
    for (int64_t *i = &p->index[axis]; axis < p->last && *i < size; ++*i)
        clear(p, axis + 1, at + *i * stride);
    p->index[axis] = 0;
}

void cr_clear_past_rows(const struct cr_engine *e, const void *const *inputs, void *const *outputs,
                        double *const *wanted)
{
    for (int i = 0; i < e->n_outputs; i++) {
        struct past p = {.engine = e,
                         .port = &e->outputs[i],
                         .axes = e->output_axes[i],
                         .inputs = inputs,
                         .last = CR_NONE,
                         .data = outputs[i],
                         .width = BYTES};
        for (int a = 0; a < p.port->rank; a++)
            if (cr_port_batch_axis(e, p.port, p.axes, p.axes[a]) != CR_NONE)
                p.last = a;
        if (p.last != CR_NONE && p.data)
            clear(&p, 0, 0);
        p.data = wanted ? (void *)wanted[i] : NULL;
        p.width = sizeof(double);
        if (p.last != CR_NONE && p.data)
            clear(&p, 0, 0);
    }
}
