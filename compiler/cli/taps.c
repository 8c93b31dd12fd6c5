/* taps.c - crescent compare --taps: finds the first wrong node; see taps.h. */
#include "taps.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/escape.h"
#include "model.h"
#include "report.h"

struct taps {
    const struct cr_options *options;
    crescent_graph *graph;
    crescent_autopsy *autopsy;
    struct cr_arrays inputs, outputs;
    crescent_surplus surplus;
};

/* ---- a node as text ---- */

static const char *const verdicts[] = {"ok", "WRONG", "NAN", "INFINITE"};

static const char *verdict_of(const crescent_tapped *node)
{
    return node->verdict > CRESCENT_WRONG && !node->culprit ? "noted" : verdicts[node->verdict];
}

static crescent_port port_of(const crescent_tapped *node)
{
    crescent_port port = {.name = node->name, .type = node->type, .rank = node->rank};
    memcpy(port.shape, node->shape, sizeof port.shape);
    return port;
}

/* Returns the file, without its folder, and the line of a node; "-" if they are unknown. */
static const char *line_of(const crescent_tapped *node)
{
    const char *slash = strrchr(node->where, '/');
    return !*node->where ? "-" : slash ? slash + 1 : node->where;
}

/* ---- the table ---- */

/* Returns the node's name, followed by ' if the node belongs to the backward pass. */
static struct cr_phrase name_of(const crescent_tapped *node)
{
    struct cr_phrase out;
    snprintf(out.text, sizeof out.text, "%.200s%s", node->name, node->backward ? "'" : "");
    return out;
}

static int width_of(const struct taps *t)
{
    crescent_tapped node;
    int width = 8;
    for (int i = 0; i < crescent_autopsy_count(t->autopsy); i++)
        if (!crescent_autopsy_at(t->autopsy, i, &node) &&
            (int)strlen(name_of(&node).text) > width)
            width = (int)strlen(name_of(&node).text);
    return width;
}

static void print_head(int width)
{
    printf("%-*s  %-8s %-18s %-20s %9s %9s %9s %9s  %s\n", width, "node", "op", "shape", "line",
           "error", "inherited", "own", "bound", "verdict");
}

/* Prints the row of a node.  A value that no kernel stores cannot be compared. */
static void print_row(const crescent_tapped *node, int width)
{
    const crescent_port port = port_of(node);
    cr_print(stdout, "%-*s  %-8s %-18s %-20s ", width, name_of(node).text, node->op,
             cr_port_shape(&port).text, line_of(node));
    if (node->kernel)
        printf("%9.2e %9.2e %9.2e %9.2e  %s\n", node->error, node->inherited, node->own,
               node->bound, verdict_of(node));
    else
        printf("%9s %9s %9s %9s  %s\n", "-", "-", "-", "-", verdict_of(node));
}

/* Prints a node with its operands and its value, as in "log(-0.25) is nan". */
static void print_operands(const crescent_tapped *node)
{
    printf("%s(", node->op);
    for (int i = 0; i < node->n_operands; i++)
        printf("%s%.9g", i ? ", " : "", node->operands[i]);
    printf(") is %.9g", node->got);
}

/* Prints the first wrong node in two lines that can be understood without the table. */
static void print_culprit(const crescent_tapped *node)
{
    const crescent_port port = port_of(node);
    struct cr_phrase at = cr_coordinates(&port, node->worst < 0 ? 0 : node->worst);
    bool leaf = strcmp(node->op, "param") == 0 || strcmp(node->op, "input") == 0 ||
                strcmp(node->op, "state") == 0;
    cr_print(stdout, "%s: %s is the first to go wrong (%s%s%s)\n", *node->where ? node->where : "?",
             node->name, node->backward ? "backward pass, " : "", node->op,
             node->kernel || leaf ? "" : ", inside of a kernel");
    if (node->verdict == CRESCENT_WRONG) {
        printf(
            "  at %s %.9g, expected %.9g within %.3g; %s elements are further off; stored by %s\n",
            at.text, node->got, node->want, node->bound, cr_thousands(node->failing).text,
            node->kernel);
        return;
    }
    printf("  at %s ", at.text);
    if (node->n_operands)
        print_operands(node);
    else
        printf(leaf ? "it comes in as %.9g" : "it becomes %.9g", node->got);
    printf("; in double precision %.9g\n", node->want);
}

/* Prints all nodes, then the first wrong node. */
static void print_table(const struct taps *t)
{
    crescent_tapped node;
    int stored = 0, culprit = crescent_autopsy_culprit(t->autopsy), width = width_of(t);
    print_head(width);
    for (int i = 0; crescent_autopsy_at(t->autopsy, i, &node) == CRESCENT_OK &&
                    i < crescent_autopsy_count(t->autopsy);
         i++) {
        print_row(&node, width);
        stored += node.kernel != NULL;
    }
    if (culprit == CRESCENT_NONE) {
        printf("no culprit: %d values that kernels store are what their operands and roundings "
               "explain\n",
               stored);
        return;
    }
    crescent_autopsy_at(t->autopsy, culprit, &node);
    print_culprit(&node);
}

/* ---- JSON ---- */

static void write_errors(struct cr_doc *d, const crescent_tapped *node)
{
    cr_doc_number(d, "error", node->error);
    cr_doc_number(d, "inherited", node->inherited);
    cr_doc_number(d, "own", node->own);
    cr_doc_number(d, "bound", node->bound);
    cr_doc_integer(d, "failing", node->failing);
}

static void write_operands(struct cr_doc *d, const crescent_tapped *node)
{
    cr_doc_begin(d, "operands", '[');
    for (int i = 0; i < node->n_operands; i++)
        cr_doc_number(d, NULL, node->operands[i]);
    cr_doc_end(d, ']');
}

/* Writes a node as JSON.  Unknown members are null; errors are omitted if no kernel stores the
 * node. */
static void write_node(struct cr_doc *d, const char *key, const crescent_tapped *node)
{
    const crescent_port port = port_of(node);
    cr_doc_begin(d, key, '{');
    cr_doc_text(d, "node", node->name);
    cr_doc_text(d, "op", node->op);
    cr_doc_text(d, "scope", node->scope);
    cr_doc_text(d, "where", node->where);
    cr_doc_flag(d, "backward", node->backward);
    cr_doc_integers(d, "shape", port.shape, port.rank);
    cr_doc_text(d, "verdict", verdict_of(node));
    cr_doc_flag(d, "culprit", node->culprit);
    cr_doc_text(d, "kernel", node->kernel);
    if (node->kernel)
        write_errors(d, node);
    cr_json_worst_at(d, &port, node->worst < 0 ? 0 : node->worst);
    cr_doc_number(d, "got", node->got);
    cr_doc_number(d, "expected", node->want);
    write_operands(d, node);
    cr_doc_end(d, '}');
}

/* Prints JSON; the first wrong node appears among all nodes and once more separately. */
static void print_json(const struct taps *t)
{
    struct cr_doc d = cr_json_begin();
    crescent_tapped node;
    int culprit = crescent_autopsy_culprit(t->autopsy);
    cr_doc_text(&d, "model", crescent_graph_name(t->graph));
    cr_doc_begin(&d, "nodes", '[');
    for (int i = 0; i < crescent_autopsy_count(t->autopsy); i++)
        if (!crescent_autopsy_at(t->autopsy, i, &node))
            write_node(&d, NULL, &node);
    cr_doc_end(&d, ']');
    if (culprit != CRESCENT_NONE && !crescent_autopsy_at(t->autopsy, culprit, &node))
        write_node(&d, "culprit", &node);
    else
        cr_doc_text(&d, "culprit", NULL);
    cr_doc_flag(&d, "ok", culprit == CRESCENT_NONE);
    cr_json_end(&d);
}

/* ---- the run ---- */

/* Fails if an option of `compare` is given that --taps does not support. */
static int check(const struct cr_options *o, struct cr_error *error)
{
    const char *other = o->backends        ? "--backends"
                        : o->expect.n      ? "--expect"
                        : o->expect_grads  ? "--expect-grads"
                        : o->expect_taps   ? "--expect-taps"
                        : o->atol >= 0     ? "--atol"
                        : o->rtol >= 0     ? "--rtol"
                        : o->max_ulp >= 0  ? "--max-ulp"
                        : cr_grads_file(o) ? "--grads FILE"
                                           : NULL;
    if (other)
        return cr_fail(error,
                       "%s: found --taps, too, which compares with double precision within its "
                       "own bounds, expected one of them%s",
                       other, cr_grads_file(o) ? " (or --grads none)" : "");
    return 0;
}

/* Runs the model and prints; prints notes about unused tensors only after a success. */
static int run(struct taps *t, struct cr_error *error)
{
    const struct cr_options *o = t->options;
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    if (check(o, error) || cr_graph_load(o, &t->graph, error) ||
        cr_passed(o, crescent_autopsy_open(t->graph, &config, &t->autopsy), error))
        return -1;
    crescent_model *model = crescent_autopsy_model(t->autopsy);
    if (cr_arrays_inputs(&t->inputs, model, o, error) ||
        cr_arrays_new(&t->outputs, model, CRESCENT_OUTPUT, o, error) ||
        cr_fill_params(model, o, &t->surplus, error))
        return -1;
    return cr_passed(
        o, crescent_autopsy_run(t->autopsy, (const void *const *)t->inputs.data, t->outputs.data),
        error);
}

int cr_compare_taps(const struct cr_options *options, struct cr_error *error)
{
    struct taps t = {.options = options};
    int status = run(&t, error) ? 2 : 0;
    if (!status) {
        (options->json ? print_json : print_table)(&t);
        cr_note_surplus(&t.surplus);
        status = crescent_autopsy_culprit(t.autopsy) != CRESCENT_NONE;
    }
    cr_arrays_free(&t.inputs);
    cr_arrays_free(&t.outputs);
    crescent_autopsy_close(t.autopsy);
    crescent_graph_close(t.graph);
    return status;
}
