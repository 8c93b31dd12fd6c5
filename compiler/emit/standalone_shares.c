/* standalone_shares.c - prints the parts of a standalone training step that work with other
 * ranks; see standalone_shares.h. */
#include "standalone_shares.h"

#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/passes/shard/share_states.h"

const struct cr_port *cr_whole_input(const struct cr_program *p, int input)
{
    return p->whole_inputs ? &p->whole_inputs[input] : &p->inputs[input];
}

const struct cr_port *cr_whole_output(const struct cr_program *p, int output)
{
    return p->whole_outputs ? &p->whole_outputs[output] : &p->outputs[output];
}

static bool differ(const struct cr_port *a, const struct cr_port *b)
{
    return memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0;
}

bool cr_is_input_share(const struct cr_program *p, int input)
{
    return differ(&p->inputs[input], cr_whole_input(p, input));
}

bool cr_is_output_share(const struct cr_program *p, int output)
{
    return differ(&p->outputs[output], cr_whole_output(p, output));
}

bool cr_is_sum_in_parts(const struct cr_standalone *w, int output)
{
    const struct cr_port *port = cr_whole_output(w->p, output);
    return w->p->ranks && w->next_state->to_sum[output] != CR_NONE &&
           cr_is_worth_sharing(port->rank, port->shape, w->p->ranks);
}

static long long elements_of(const struct cr_port *port)
{
    return (long long)cr_elements(port->rank, port->shape);
}

static long long share_of(const struct cr_standalone *w, const struct cr_port *whole)
{
    return (long long)cr_share_elements(whole->rank, whole->shape, w->p->ranks);
}

void cr_put_share_begin(struct cr_text *t, const struct cr_standalone *w, const struct cr_port *whole)
{
    cr_put(t, " + share_begin(&(const struct shared){0, %lldL, %lldL, 0}, ranks.rank)", elements_of(whole),
           share_of(w, whole));
}

void cr_put_shared_row(struct cr_text *t, const struct cr_standalone *w, const struct cr_port *whole, int64_t begin,
                       bool is_whole)
{
    char plain[200];
    cr_plain_text(plain, sizeof plain, whole->name);
    cr_put(t, "    {%lldL, %lldL, %lldL, %d}, /* %s */\n", (long long)begin, elements_of(whole), share_of(w, whole),
           is_whole, plain);
}

void cr_put_shares_tables(struct cr_text *t, const struct cr_standalone *w, const int64_t *offset)
{
    const struct cr_program *p = w->p;
    cr_put(t,
           "\n/* ---- what ranks share ---- */\n\n"
           "#ifndef %s_MPI\n#error \"the step is cut for %d processes: compile it by mpicc -D%s_MPI\"\n#endif\n\n"
           "/* A tensor of which each rank has rows: its offset in floats, its number of elements, and the number in a\n"
           " * rank's share has.  The last one of a table has none. */\n"
           "struct shared {\n    long begin, elements, share;\n"
           "    int is_whole; /* the tensor is a sum, and each rank needs all rows */\n};\n\n"
           "/* The parameters in a state of which a rank computes its share. */\n"
           "static const struct shared shared_params[] = {\n",
           w->upper, p->ranks, w->upper);
    for (int i = 0; i < p->n_outputs; i++)
        if (w->next_state->to_param[i] != CR_NONE && cr_is_output_share(p, i))
            cr_put_shared_row(t, w, cr_whole_output(p, i),
                              offset[w->next_state->to_param[i]] / (int64_t)sizeof(float), true);
    cr_put(t, "    {0, 0, 0, 0},\n};\n");
}
