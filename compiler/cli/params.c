/* params.c - crescent params: the table of parameters. */
#include <string.h>

#include "model.h"
#include "report.h"

/* A parameter node as the port it will be. */
static struct cr_port port_of(const struct cr_node *node)
{
    struct cr_port port = {.name = node->name, .rank = node->rank};
    memcpy(port.shape, node->shape, sizeof port.shape);
    return port;
}

static int64_t count_of(const struct cr_node *node)
{
    return cr_elements(node->rank, node->shape);
}

static void print_json(const struct cr_graph *g)
{
    json_t *list = json_array();
    int64_t total = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_node *node = &g->nodes[i];
        struct cr_port port = port_of(node);
        if (node->op != CR_OP_param)
            continue;
        total += count_of(node);
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:I}", "name", node->name, "shape",
                                        cr_json_shape(&port), "count", (json_int_t)count_of(node)));
    }
    cr_print_json(
        json_pack("{s:s, s:o, s:I}", "model", g->name, "params", list, "total", (json_int_t)total));
}

static void print_table(const struct cr_graph *g)
{
    int width = 5;
    int64_t total = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == CR_OP_param && (int)strlen(g->nodes[i].name) > width)
            width = (int)strlen(g->nodes[i].name);
    printf("%-*s  %-16s %16s\n", width, "name", "shape", "count");
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_node *node = &g->nodes[i];
        struct cr_port port = port_of(node);
        if (node->op != CR_OP_param)
            continue;
        total += count_of(node);
        printf("%-*s  %-16s %16s\n", width, node->name, cr_port_shape(&port).text,
               cr_thousands(count_of(node)).text);
    }
    printf("%-*s  %-16s %16s\n", width, "total", "", cr_thousands(total).text);
}

int cr_verb_params(const struct cr_options *o, struct cr_error *error)
{
    struct cr_model model;
    if (cr_model_load(&model, o, error))
        return 2;
    if (o->json)
        print_json(model.script.graph);
    else
        print_table(model.script.graph);
    cr_model_free(&model);
    return 0;
}
