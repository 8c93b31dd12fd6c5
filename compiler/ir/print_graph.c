#include "print_graph.h"

#include <math.h>
#include <string.h>

#include "escape.h"
#include "lengths.h"
#include "program.h"

/* Prints a Lua string literal. */
static void print_string(FILE *out, const char *text)
{
    size_t n = strlen(text), length;
    fputc('"', out);
    for (size_t i = 0; i < n; i += length ? length : 1) {
        length = cr_printable_size(text + i, n - i);
        if (text[i] == '"' || text[i] == '\\')
            fprintf(out, "\\%c", text[i]);
        else if (length)
            fwrite(text + i, 1, length, out);
        else
            fprintf(out, "\\%03d", (unsigned char)text[i]);
    }
    fputc('"', out);
}

static void print_list(FILE *out, int n, const int64_t *items, int base)
{
    fputs(", {", out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)(items[i] + base));
    fputc('}', out);
}

/* Prints a number that reads back as the same double. */
static void print_number(FILE *out, double value)
{
    if (isnan(value))
        fputs("0/0", out);
    else if (isinf(value))
        fputs(value < 0 ? "-math.huge" : "math.huge", out);
    else if (value == 0 && signbit(value))
        fputs("-0.0", out); /* Lua reads -0 as the integer 0 */
    else
        fprintf(out, "%.17g", value);
}

/* True if a node has initial values; inputs may have none. */
static bool has_init(const struct cr_node *node)
{
    return node->init != CR_INIT_UNIFORM || node->value != 0;
}

static void print_init(FILE *out, const struct cr_node *node)
{
    static const char *const inits[] = {"uniform", "normal", "fill"};
    fprintf(out, ", {%s = ", inits[node->init]);
    print_number(out, node->value);
    fputc('}', out);
}

/* Prints a length as a reference to the input that holds its value. */
static void print_length(FILE *out, const struct cr_graph *g, int length)
{
    cr_id id = 0;
    while (g->nodes[id].op != CR_OP_input || g->nodes[id].name != g->lengths[length - 1].name)
        id++;
    fprintf(out, "v[%d]", (int)id);
}

static void print_sizes(FILE *out, const struct cr_graph *g, const struct cr_node *node)
{
    fputc('{', out);
    for (int i = 0; i < node->rank; i++) {
        fputs(i ? ", " : "", out);
        if (node->lengths[i])
            print_length(out, g, node->lengths[i]);
        else
            fprintf(out, "%lld", (long long)node->shape[i]);
    }
    fputc('}', out);
}

/* Prints the shortest number that reads back as the same element. */
static void print_element(FILE *out, enum cr_dtype dtype, uint32_t word)
{
    char text[32];
    float value;
    memcpy(&value, &word, sizeof value);
    if (dtype == CR_I32)
        fprintf(out, "%d", (int)(int32_t)word);
    else if (isfinite(value) && value != 0)
        cr_number_text(text, sizeof text, CR_FORMAT_f32, value), fputs(text, out);
    else
        print_number(out, value);
}

/* Prints "{1, 2, 3}", with at most IN_LINE elements on a line. */
static void print_elements(FILE *out, const struct cr_literal *literal)
{
    enum { IN_LINE = 16 };
    fputc('{', out);
    for (int64_t i = 0; i < literal->n; i++) {
        fputs(!i ? "" : i % IN_LINE ? ", " : ",\n    ", out);
        print_element(out, literal->dtype, literal->words[i]);
    }
    fputc('}', out);
}

/* Prints the arguments of a leaf, as the front end reads them: name or value, shape, type, init. */
static void print_leaf(FILE *out, const struct cr_graph *g, const struct cr_node *node)
{
    if (node->op == CR_OP_const)
        print_number(out, node->value);
    else if (node->op == CR_OP_literal)
        print_elements(out, cr_literal_of(g, node));
    else if (node->op != CR_OP_iota)
        print_string(out, node->name);
    /* the shape is iota's first argument, so no comma precedes it */
    if (node->op == CR_OP_iota) {
        print_sizes(out, g, node);
        fprintf(out, ", %d", node->axis + 1);
        return;
    }
    int length = node->op == CR_OP_input ? cr_find_length(g, node->name) : CR_NONE;
    if (length >= 0) {
        fprintf(out, ", %lld", (long long)g->lengths[length].bound);
        if (g->lengths[length].batch) {
            fputs(", ", out);
            print_length(out, g, g->lengths[length].batch);
        }
        return;
    }
    if (node->op == CR_OP_input || node->op == CR_OP_const) {
        fputs(", ", out);
        print_sizes(out, g, node);
    } else {
        print_list(out, node->rank, node->shape, 0);
    }
    if (node->op != CR_OP_param)
        fprintf(out, ", \"%s\"", cr_dtype_name(node->dtype));
    if (node->op == CR_OP_param || (node->op == CR_OP_input && has_init(node)))
        print_init(out, node);
}

static void print_operands(FILE *out, const struct cr_graph *g, const struct cr_node *node)
{
    bool concat = cr_ops[node->op].kind == CR_KIND_CONCAT;
    if (concat)
        fputc('{', out);
    for (int i = 0; i < node->n_in; i++)
        fprintf(out, "%sv[%d]", i ? ", " : "", (int)cr_inputs(g, node)[i]);
    if (concat)
        fputc('}', out);
}

/* Prints the arguments after the operands. */
static void print_attributes(FILE *out, const struct cr_graph *g, const struct cr_node *node)
{
    switch (node->op) {
    case CR_OP_limit:
    case CR_OP_expand:
        fputs(", ", out);
        print_sizes(out, g, node);
        break;
    case CR_OP_reshape:
        print_list(out, node->rank, node->shape, 0);
        break;
    case CR_OP_permute:
        print_list(out, node->rank, node->index, 1);
        break;
    case CR_OP_slice:
        print_list(out, node->rank, node->index, 0);
        print_list(out, node->rank, node->shape, 0);
        break;
    case CR_OP_random:
        print_list(out, node->rank, node->shape, 0);
        fputs(", ", out);
        print_number(out, node->value);
        break;
    case CR_OP_scatter_add:
        fprintf(out, ", %lld", (long long)node->shape[0]);
        break;
    case CR_OP_all_gather:
        fprintf(out, ", %lld", (long long)node->shape[0]);
        break;
    case CR_OP_cumsum:
        fprintf(out, node->index[0] ? ", %d, true" : ", %d", node->axis + 1);
        break;
    default:
        if (cr_ops[node->op].kind == CR_KIND_REDUCE || cr_ops[node->op].kind == CR_KIND_CONCAT ||
            cr_ops[node->op].kind == CR_KIND_WRITE || cr_ops[node->op].kind == CR_KIND_TAKE)
            fprintf(out, ", %d", node->axis + 1);
    }
}

/* Returns the name of the function of the script language that makes a node. */
static const char *function_of(const struct cr_graph *g, const struct cr_node *node)
{
    if (node->op == CR_OP_literal)
        return cr_ops[CR_OP_const].name;
    bool length = node->op == CR_OP_input && cr_find_length(g, node->name) >= 0;
    return length ? "length" : cr_ops[node->op].name;
}

/* Prints a node's type, such as "f32[b<=8, n[b]<=128, 768]": a length with its bound, a ragged
 * length with its batch if the node has the axis of the batch. */
static void print_type(FILE *out, const struct cr_graph *g, const struct cr_node *node)
{
    fprintf(out, "%s[", cr_dtype_name(node->dtype));
    for (int i = 0; i < node->rank; i++) {
        int length = node->lengths[i], batch = length ? cr_batch_axis(g, node, length) : CR_NONE;
        fputs(i ? ", " : "", out);
        if (length)
            fputs(g->lengths[length - 1].name, out);
        if (batch != CR_NONE)
            fprintf(out, "[%s]", g->lengths[node->lengths[batch] - 1].name);
        fprintf(out, "%s%lld", length ? "<=" : "", (long long)node->shape[i]);
    }
    fputc(']', out);
}

/* Prints a node's statement with its type as a comment, then the statement that taps it, if it is
 * tapped. */
static void print_node(FILE *out, const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    fprintf(out, "v[%d] = %s(", (int)id, function_of(g, node));
    if (node->n_in)
        print_operands(out, g, node);
    else
        print_leaf(out, g, node);
    print_attributes(out, g, node);
    fputs(") -- ", out);
    print_type(out, g, node);
    fputc('\n', out);
    if (node->tap) {
        fputs("tap(", out);
        print_string(out, node->tap);
        fprintf(out, ", v[%d])\n", (int)id);
    }
}

static void print_origin(FILE *out, const struct cr_where *where)
{
    fputs("at(", out);
    print_string(out, where->file);
    fprintf(out, ", %d, ", where->line);
    print_string(out, where->scope);
    fputs(where->backward ? ", true)\n" : ")\n", out);
}

static bool same_origin(const struct cr_where *a, const struct cr_where *b)
{
    return a->line == b->line && a->backward == b->backward && strcmp(a->file, b->file) == 0 &&
           strcmp(a->scope, b->scope) == 0;
}

/* Prints "replace(v[1], v[7])", with the name of the entry if it has one. */
static void print_replacement(FILE *out, const struct cr_graph *g, const struct cr_output *output)
{
    const char *entry = g->entries[output->entry];
    fprintf(out, "replace(v[%d], v[%d]", (int)output->state, (int)output->id);
    if (*entry) {
        fputs(", ", out);
        print_string(out, entry);
    }
    fputs(")\n", out);
}

/* Prints "return { ["y"] = v[7] }", or for named entries a table of such tables. */
static void print_outputs(FILE *out, const struct cr_graph *g)
{
    bool named = *g->entries[0];
    fputs(named ? "return {\n" : "return {", out);
    for (int i = 0; i < cr_n_results(g); i++) {
        const struct cr_output *output = &g->outputs[i];
        bool first = i == 0 || output[-1].entry != output->entry;
        if (named && first) {
            fputs(i ? " },\n    [" : "    [", out);
            print_string(out, g->entries[output->entry]);
            fputs("] = {", out);
        }
        fputs(first ? " [" : ", [", out);
        print_string(out, output->name);
        fprintf(out, "] = v[%d]", (int)output->id);
    }
    fputs(named ? " },\n}\n" : " }\n", out);
}

void cr_print_graph(FILE *out, const struct cr_graph *g)
{
    fputs("local v = graph(", out);
    print_string(out, g->name);
    fputs(")\n", out);
    struct cr_where where = {.file = "", .scope = ""};
    int kernel = CR_NONE;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (!same_origin(&where, &node->where))
            print_origin(out, &node->where);
        if (where.entry != node->where.entry)
            fprintf(out, "entry(%d)\n", node->where.entry);
        where = node->where;
        if (kernel != node->kernel)
            fprintf(out, "kernel(%d)\n", node->kernel);
        kernel = node->kernel;
        print_node(out, g, id);
    }
    for (int i = cr_n_results(g); i < g->n_outputs; i++)
        print_replacement(out, g, &g->outputs[i]);
    print_outputs(out, g);
}
