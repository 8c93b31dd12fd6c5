#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

static void broken(const char *after, cr_id id, const char *what)
{
    fprintf(stderr, "crescent: bug: after %s, node %d: %s\n", after, (int)id, what);
    abort();
}

/* What the op infers from the operands once more must be what the node says. */
static void verify_inference(struct cr_graph *g, cr_id id, const char *after)
{
    const struct cr_node *node = &g->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    struct cr_node again;
    if (!cr_infer(g, node->op, node->n_in, cr_inputs(g, node), &attr, &again))
        broken(after, id, g->error);
    if (!cr_same_shape(&again, node) || again.dtype != node->dtype)
        broken(after, id, "shape or type is not what its operands give");
}

static void verify_node(struct cr_graph *g, cr_id id, const char *after)
{
    const struct cr_node *node = &g->nodes[id];
    if ((unsigned)node->op >= CR_OP_COUNT)
        broken(after, id, "no such op");
    if (node->first_in < 0 || node->first_in + node->n_in > g->n_operands)
        broken(after, id, "operands outside the pool");
    for (int i = 0; i < node->n_in; i++)
        if (cr_in(g, id, i) < 0 || cr_in(g, id, i) >= id)
            broken(after, id, "an operand does not come before its user");
    verify_inference(g, id, after);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Inputs share one space of names, parameters another. */
static void verify_names(const struct cr_graph *g, enum cr_op op, const char *after)
{
    const char **names = cr_calloc((size_t)g->n_nodes, sizeof *names);
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == op)
            names[n++] = g->nodes[id].name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            broken(after, CR_NONE, names[i]);
    free(names);
}

void cr_verify(struct cr_graph *g, const char *after)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        verify_node(g, id, after);
    verify_names(g, CR_OP_input, after);
    verify_names(g, CR_OP_param, after);
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].id < 0 || g->outputs[i].id >= g->n_nodes)
            broken(after, g->outputs[i].id, "an output that does not exist");
}
