/* params.c - crescent params: the table of parameters. */
#include <string.h>

#include "model.h"
#include "report.h"
#include "verbs.h"

/* Parameter number i, which there is. */
static crescent_port param_at(const crescent_graph *graph, int i)
{
    crescent_port port = {0};
    crescent_graph_port_at(graph, CRESCENT_PARAM, i, &port);
    return port;
}

/* As one object. */
static void print_json(const crescent_graph *graph)
{
    json_t *list = json_array();
    int n = crescent_graph_port_count(graph, CRESCENT_PARAM);
    for (int i = 0; i < n; i++) {
        crescent_port port = param_at(graph, i);
        json_array_append_new(list, json_pack("{s:s, s:o, s:I}", "name", port.name, "shape",
                                              cr_json_shape(&port), "count",
                                              (json_int_t)crescent_port_elements(&port)));
    }
    cr_print_json(json_pack("{s:s, s:o, s:I}", "model", crescent_graph_name(graph), "params", list,
                            "total", (json_int_t)cr_count_parameters(graph)));
}

/* As wide as the longest name. */
static void print_table(const crescent_graph *graph)
{
    int width = 5, n = crescent_graph_port_count(graph, CRESCENT_PARAM);
    for (int i = 0; i < n; i++)
        if ((int)strlen(param_at(graph, i).name) > width)
            width = (int)strlen(param_at(graph, i).name);
    printf("%-*s  %-16s %16s\n", width, "name", "shape", "count");
    for (int i = 0; i < n; i++) {
        crescent_port port = param_at(graph, i);
        printf("%-*s  %-16s %16s\n", width, port.name, cr_port_shape(&port).text,
               cr_thousands(crescent_port_elements(&port)).text);
    }
    printf("%-*s  %-16s %16s\n", width, "total", "", cr_thousands(cr_count_parameters(graph)).text);
}

int cr_verb_params(const struct cr_options *o, struct cr_error *error)
{
    crescent_graph *graph;
    if (cr_graph_load_entries(o, &graph, error))
        return 2;
    if (o->json)
        print_json(graph);
    else
        print_table(graph);
    crescent_graph_close(graph);
    return 0;
}
