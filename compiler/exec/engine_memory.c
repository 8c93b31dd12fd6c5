/* engine_memory.c - checks that an engine fits into memory, and allocates its states. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "engine_parts.h"
#include "tensor_memory.h"

/* ---- memory ---- */

static int64_t elements_of(const struct cr_port *ports, int n)
{
    int64_t elements = 0;
    for (int i = 0; i < n; i++)
        elements += cr_port_elements(&ports[i]);
    return elements;
}

/* Returns the bytes of inputs, outputs and states.  If there is a program, they are taken from
 * its ports, since a rank may have only shares of them. */
static int64_t border_bytes(const struct cr_engine *e)
{
    const struct cr_program *p = e->program; /* its states are inputs */
    int64_t elements = p ? elements_of(p->inputs, p->n_inputs) + elements_of(p->outputs, p->n_outputs)
                         : elements_of(e->inputs, e->n_inputs) + elements_of(e->outputs, e->n_outputs) +
                               elements_of(e->states, e->n_states);
    return elements * (int64_t)sizeof(float);
}

/* Checks the sum of all parts; the message gives advice for the largest part. */
int cr_engine_check_memory(const struct cr_engine *e, int64_t weights, int64_t arena,
                           struct cr_error *error)
{
    struct cr_error why;
    int64_t border = border_bytes(e);
    if (cr_memory_check(weights + arena + border, "a run", &why) == 0)
        return 0;
    const char *advice = weights >= arena && weights >= border
                             ? "mostly for weights: expected fewer of them, or a --format of fewer bits"
                         : arena >= border
                             ? "mostly for values in between: expected smaller sizes (--set), or --max-arena"
                             : "mostly for inputs, outputs and states: expected smaller sizes (--set), or a "
                               "shorter --context";
    return cr_fail(error, "%s: %s, %s", e->path, why.text, advice);
}

/* ---- states ---- */

static size_t state_bytes(const struct cr_port *state)
{
    return (size_t)cr_port_elements(state) * sizeof(float);
}

/* Returns the bytes reserved for a state: a multiple of 64, so that each state starts at a cache
 * line. */
static size_t state_room(const struct cr_port *state)
{
    return (state_bytes(state) + 63) / 64 * 64;
}

int cr_engine_make_states(struct cr_engine *e, struct cr_error *error)
{
    int64_t bytes = 0;
    e->program_inputs = cr_calloc((size_t)(e->n_inputs + e->n_states), sizeof *e->program_inputs);
    e->memory = cr_calloc((size_t)e->n_states, sizeof *e->memory);
    for (int i = 0; i < e->n_states; i++)
        bytes += (int64_t)state_room(&e->states[i]);
    if (bytes && cr_zeros_new(&e->zeros, bytes, "the states", error))
        return -1;
    char *at = e->zeros.memory;
    for (int i = 0; i < e->n_states; at += state_room(&e->states[i++]))
        e->memory[i] = at;
    return 0;
}

void cr_engine_get_state(const struct cr_engine *e, int i, void *data)
{
    memcpy(data, e->memory[i], state_bytes(&e->states[i]));
}

void cr_engine_set_state(struct cr_engine *e, int i, const void *data)
{
    memcpy(e->memory[i], data, state_bytes(&e->states[i]));
}

void cr_engine_reset_states(struct cr_engine *e)
{
    if (e->n_states)
        cr_zeros_clear(&e->zeros);
}
