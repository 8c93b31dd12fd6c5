/* params.c - crescent params: prints the table of parameters. */
#include <stdbool.h>
#include <string.h>

#include "model.h"
#include "report.h"
#include "verbs.h"

/* The parameters of a graph.  Formats are known only once the graph is compiled. */
struct listing {
    crescent_graph *graph;
    crescent_model *model; /* the compiled model if formats are shown; else null */
    int n;
};

/* Returns the port of parameter i, which must exist. */
static crescent_port param_at(const struct listing *l, int i)
{
    crescent_port port = {0};
    if (l->model)
        return cr_port_of(l->model, CRESCENT_PARAM, i);
    crescent_graph_port_at(l->graph, CRESCENT_PARAM, i, &port);
    return port;
}

/* Prints one JSON object. */
static void print_json(const struct listing *l)
{
    struct cr_doc d = cr_json_begin();
    cr_doc_text(&d, "model", crescent_graph_name(l->graph));
    cr_doc_begin(&d, "params", '[');
    for (int i = 0; i < l->n; i++) {
        crescent_port port = param_at(l, i);
        cr_doc_begin(&d, NULL, '{');
        cr_doc_text(&d, "name", port.name);
        cr_doc_integers(&d, "shape", port.shape, port.rank);
        cr_doc_integer(&d, "count", crescent_port_elements(&port));
        if (port.format)
            cr_doc_text(&d, "format", port.format);
        cr_doc_end(&d, '}');
    }
    cr_doc_end(&d, ']');
    cr_doc_integer(&d, "total", cr_count_parameters(l->graph));
    cr_json_end(&d);
}

/* Prints a table; the column of names is as wide as the longest name. */
static void print_table(const struct listing *l)
{
    int width = 5;
    for (int i = 0; i < l->n; i++)
        if ((int)strlen(param_at(l, i).name) > width)
            width = (int)strlen(param_at(l, i).name);
    printf("%-*s  %-16s %16s%s\n", width, "name", "shape", "count", l->model ? "  format" : "");
    for (int i = 0; i < l->n; i++) {
        crescent_port port = param_at(l, i);
        printf("%-*s  %-16s %16s%s%s\n", width, port.name, cr_port_shape(&port).text,
               cr_thousands(crescent_port_elements(&port)).text, l->model ? "  " : "",
               l->model ? port.format : "");
    }
    printf("%-*s  %-16s %16s\n", width, "total", "",
           cr_thousands(cr_count_parameters(l->graph)).text);
}

/* True if formats are shown: those of --format or of the model's file. */
static bool has_formats(const struct cr_options *o, const crescent_graph *graph)
{
    crescent_port port;
    return o->format ||
           (!crescent_graph_port_at(graph, CRESCENT_PARAM, 0, &port) && port.format);
}

/* Compiles the graph only if formats are shown, since the compiler chooses them. */
int cr_verb_params(const struct cr_options *o, struct cr_error *error)
{
    struct listing l = {0};
    if (cr_graph_load_entries(o, &l.graph, error))
        return 2;
    l.n = crescent_graph_port_count(l.graph, CRESCENT_PARAM);
    const crescent_config config = cr_config_of(o, CRESCENT_TCC);
    int status = l.n && has_formats(o, l.graph)
                     ? cr_passed(o, crescent_compile(l.graph, &config, &l.model), error)
                     : 0;
    if (!status)
        (o->json ? print_json : print_table)(&l);
    crescent_close(l.model);
    crescent_graph_close(l.graph);
    return status ? 2 : 0;
}
