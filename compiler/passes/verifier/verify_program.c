/* verify_program.c - checks a program from its own data alone: its buffers, its functions one by
 * one, and its calls. */
#include "verify_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "verifier.h"

/* ---- buffers ---- */

/* Returns the number of elements of a shape, or -1 if the shape is invalid. */
static int64_t elements_of(int rank, const int64_t *shape)
{
    int64_t n = 1;
    if (rank < 0 || rank > CR_MAX_RANK)
        return -1;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(n, shape[i], &n) || n > 64 * CR_MAX_ELEMENTS)
            return -1;
    return n;
}

/* Fails unless an input or output buffer has the type and the number of elements of its port. */
static int verify_port(const struct cr_program_check *c, int i, const struct cr_port *ports, int n)
{
    const struct cr_buffer *b = &c->p->buffers[i];
    if (b->offset < 0 || b->offset >= n)
        return cr_fail_at(c->error, "buffer", i, "there is no such input or output");
    const struct cr_port *port = &ports[b->offset];
    if (port->state != (b->space == CR_SPACE_STATE))
        return cr_fail_at(c->error, "buffer", i,
                          "it is a state, and its port is not, or the other way round");
    if (cr_formats[b->format].dtype != port->dtype ||
        elements_of(b->rank, b->shape) != elements_of(port->rank, port->shape))
        return cr_fail_at(c->error, "buffer", i,
                          "its type or size is not that of its input or output");
    return 0;
}

static int verify_inside(const struct cr_program_check *c, int i, int64_t bytes)
{
    const struct cr_buffer *b = &c->p->buffers[i];
    if (b->offset % (CR_ALIGN * (int64_t)sizeof(float)))
        return cr_fail_at(c->error, "buffer", i, "it does not begin on a cache line");
    if (b->offset < 0 || b->bytes > bytes || b->offset > bytes - b->bytes)
        return cr_fail_at(c->error, "buffer", i,
                          b->space == CR_SPACE_ARENA ? "it lies outside the arena"
                                                     : "it lies outside the weights");
    return 0;
}

static bool is_same_state(const struct cr_program_check *c, int next, int now)
{
    const struct cr_buffer *a = &c->p->buffers[next], *b = &c->p->buffers[now];
    return b->space == CR_SPACE_STATE && b->alias == CR_NONE && a->offset == b->offset;
}

/* Fails unless the buffer of a literal has the literal's type and number of elements. */
static int verify_literal(const struct cr_program_check *c, int i)
{
    const struct cr_buffer *b = &c->p->buffers[i];
    if (b->offset < 0 || b->offset >= c->p->n_literals)
        return cr_fail_at(c->error, "buffer", i, "there is no such literal");
    const struct cr_literal *literal = &c->p->literals[b->offset];
    if (cr_format_of(literal->dtype) != b->format || elements_of(b->rank, b->shape) != literal->n)
        return cr_fail_at(c->error, "buffer", i, "its type or size is not that of its literal");
    return 0;
}

/* Fails unless the `offset` of a buffer is valid: it counts bytes in the arena and the weights, and
 * is an index for inputs, outputs, states and literals. */
static int verify_space(const struct cr_program_check *c, int i)
{
    switch (c->p->buffers[i].space) {
    case CR_SPACE_ARENA:
        return verify_inside(c, i, c->p->arena_bytes);
    case CR_SPACE_WEIGHTS:
        return verify_inside(c, i, c->p->weights_bytes);
    case CR_SPACE_INPUT:
        return verify_port(c, i, c->p->inputs, c->p->n_inputs);
    case CR_SPACE_LITERAL:
        return verify_literal(c, i);
    case CR_SPACE_OUTPUT:
        return verify_port(c, i, c->p->outputs, c->p->n_outputs);
    case CR_SPACE_STATE:
        if (c->p->buffers[i].alias != CR_NONE && !is_same_state(c, i, c->p->buffers[i].alias))
            return cr_fail_at(c->error, "buffer", i,
                              "it is the next value of what is another state, or none");
        return verify_port(c, i, c->p->inputs, c->p->n_inputs);
    default:
        return cr_fail_at(c->error, "buffer", i, "it lies nowhere");
    }
}

/* Checks buffer i: first its shape and format, since its number of bytes follows from them.  Only
 * an output may have no elements. */
static int verify_buffer(const struct cr_program_check *c, int i)
{
    const struct cr_buffer *b = &c->p->buffers[i];
    int64_t n = elements_of(b->rank, b->shape);
    if (n < (b->space == CR_SPACE_OUTPUT ? 0 : 1))
        return cr_fail_at(c->error, "buffer", i, "it has no such shape");
    if ((int)b->format < 0 || b->format >= CR_FORMAT_COUNT)
        return cr_fail_at(c->error, "buffer", i, "it has no such format");
    if (b->bytes != cr_format_bytes(b->format, n))
        return cr_fail_at(c->error, "buffer", i, "it has other bytes than its elements take");
    if (b->alias != CR_NONE && (b->alias < 0 || b->alias >= c->p->n_buffers))
        return cr_fail_at(c->error, "buffer", i, "it is a part of a buffer that is not there");
    for (int axis = 0; axis < b->rank; axis++)
        if (b->length[axis] != CR_NONE &&
            (b->length[axis] < 0 || b->length[axis] >= c->p->n_lengths ||
             c->p->lengths[b->length[axis]].bound != b->shape[axis]))
            return cr_fail_at(c->error, "buffer", i, "an axis is not as long as its length may be");
    return verify_space(c, i);
}

/* ---- functions ---- */

int cr_check_function(struct cr_program_check *c, int function)
{
    c->f = &c->p->functions[function];
    c->function = function;
    c->statement = CR_NONE;
    c->kept = cr_calloc((size_t)c->f->n_body, sizeof *c->kept);
    int status = cr_verify_function(c);
    if (c->f->n_body && !status) /* a function without a body is never called (verify_calls.c) */
        status = cr_verify_body(c) || cr_verify_scratch(c);
    free(c->kept);
    if (!status && c->p->scratch_bytes < c->f->scratch_floats * (int64_t)sizeof(float))
        return cr_program_fault(c, "its scratch takes more than the program's");
    return status ? -1 : 0;
}

struct cr_program_check *cr_check_begin(const struct cr_program *program, struct cr_error *error)
{
    struct cr_program_check *c = cr_calloc(1, sizeof *c);
    int slots = 0;
    c->p = program;
    c->error = error;
    c->first_reach = cr_calloc((size_t)program->n_functions, sizeof *c->first_reach);
    for (int i = 0; i < program->n_functions; i++) {
        c->first_reach[i] = slots;
        slots += program->functions[i].n_slots;
    }
    c->reaches = cr_calloc((size_t)slots, sizeof *c->reaches);
    return c;
}

void cr_check_end(struct cr_program_check *c)
{
    for (int i = 0; i < CR_CALLEE_COUNT + CR_MAP_SIGNATURES; i++)
        free(c->signatures[i]);
    free(c->first_reach);
    free(c->reaches);
    free(c);
}

/* ---- the whole program ---- */

/* Fails if two buffers are the same output. */
static int verify_outputs(const struct cr_program_check *c)
{
    bool *seen = cr_calloc((size_t)c->p->n_outputs, sizeof *seen);
    int status = 0;
    for (int i = 0; i < c->p->n_buffers && !status; i++) {
        const struct cr_buffer *b = &c->p->buffers[i];
        if (b->space != CR_SPACE_OUTPUT)
            continue;
        if (seen[b->offset])
            status = cr_fail_at(c->error, "buffer", i, "another is the same output");
        seen[b->offset] = true;
    }
    free(seen);
    return status;
}

static int verify(struct cr_program_check *c)
{
    for (int i = 0; i < c->p->n_buffers; i++)
        if (verify_buffer(c, i))
            return -1;
    if (verify_outputs(c))
        return -1;
    for (int i = 0; i < c->p->n_functions; i++)
        if (cr_check_function(c, i))
            return -1;
    return cr_verify_calls(c);
}

int cr_verify_program(const struct cr_program *program, struct cr_error *error)
{
    struct cr_program_check *c = cr_check_begin(program, error);
    int status = verify(c);
    cr_check_end(c);
    return status;
}
