/*
 * explain_graph.c - the graphs of an explanation: their nodes column by column, what each pass changed,
 * and the sources of their lines.
 *
 * What many nodes have in common, such as a shape or a scope, is a row of a table and a number in a
 * column.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "explanation.h"

/* ---- tables ---- */

enum { SHAPES, SCOPES, LINES, TEXTS, FILES, TABLES };

static const char *const table_names[TABLES] = {"shapes", "scopes", "lines", "texts", "files"};

struct tables {
    struct cr_names names[TABLES]; /* their texts are copies; of a line "FILE\tLINE" */
};

static int number_of(struct tables *t, int table, const char *text)
{
    struct cr_names *names = &t->names[table];
    int known = cr_names_find(names, text);
    if (known >= 0)
        return known;
    cr_names_add(names, cr_strdup(text));
    return names->n - 1;
}

static int number_of_line(struct tables *t, const char *file, int line)
{
    char text[600];
    if (!line || !*file)
        return -1;
    number_of(t, FILES, file);
    snprintf(text, sizeof text, "%.500s\t%d", file, line);
    return number_of(t, LINES, text);
}

/* [number of the file, line] for each. */
static void write_lines(struct cr_doc *d, struct tables *t)
{
    cr_doc_begin(d, "lines", '[');
    for (int i = 0; i < t->names[LINES].n; i++) {
        char *text = cr_strdup(t->names[LINES].items[i]), *tab = strrchr(text, '\t');
        *tab = '\0';
        cr_doc_begin(d, NULL, '[');
        cr_doc_integer(d, NULL, number_of(t, FILES, text));
        cr_doc_integer(d, NULL, atoi(tab + 1));
        cr_doc_end(d, ']');
        free(text);
    }
    cr_doc_end(d, ']');
}

/* Ops are numbered as the compiler numbers them; the rest as it was first met. */
static void write_tables(struct cr_doc *d, struct tables *t)
{
    cr_doc_begin(d, "tables", '{');
    cr_doc_begin(d, "ops", '[');
    for (int op = 0; op < CR_OP_COUNT; op++)
        cr_doc_text(d, NULL, cr_ops[op].name);
    cr_doc_end(d, ']');
    for (int i = 0; i < TABLES; i++) {
        if (i == LINES) {
            write_lines(d, t);
            continue;
        }
        cr_doc_begin(d, table_names[i], '[');
        for (int row = 0; row < t->names[i].n; row++)
            cr_doc_text(d, NULL, t->names[i].items[row]);
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, '}');
}

static void free_tables(struct tables *t)
{
    for (int i = 0; i < TABLES; i++) {
        for (int row = 0; row < t->names[i].n; row++)
            free((char *)t->names[i].items[row]);
        cr_names_free(&t->names[i]);
    }
}

/* ---- the sources ---- */

/* The text of a file: of a script in memory, of one on the disk, else of one that is built in; to be
 * freed, or null. */
static char *source_of(const crescent_explanation *e, const char *path)
{
    const struct cr_origin *o = e->origin;
    char error[200];
    struct cr_mapping mapping;
    if (o->text && strcmp(path, o->path) == 0)
        return cr_strdup(o->text);
    bool is_builtin = o->folder && o->text;
    if (!is_builtin && cr_map_file(&mapping, path, error, sizeof error) == 0) {
        char *text = cr_calloc(mapping.size + 1, 1);
        memcpy(text, mapping.bytes, mapping.size);
        cr_unmap_file(&mapping);
        return text;
    }
    const char *slash = strrchr(path, '/'), *found;
    char name[128];
    size_t size;
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    name[strcspn(name, ".")] = '\0';
    const char *text = cr_builtin_module(name, &found, &size);
    return text && strcmp(found, path) == 0 ? cr_strdup(text) : NULL;
}

/* Each file that some node comes from, line by line; null where it cannot be read. */
static void write_sources(struct cr_doc *d, const crescent_explanation *e,
                          const struct tables *t)
{
    cr_doc_begin(d, "sources", '[');
    for (int i = 0; i < t->names[FILES].n; i++) {
        char *text = source_of(e, t->names[FILES].items[i]);
        if (!text) {
            cr_doc_text(d, NULL, NULL);
            continue;
        }
        cr_doc_begin(d, NULL, '[');
        for (const char *line = text; *line;) {
            size_t n = strcspn(line, "\n");
            cr_doc_bytes(d, NULL, line, n);
            line += n + (line[n] == '\n');
        }
        cr_doc_end(d, ']');
        free(text);
    }
    cr_doc_end(d, ']');
}

/* ---- nodes ---- */

/* What an op has besides its operands and its shape, as a reader wants it: "axis 3", "0.125". */
static void attribute_text(char *text, size_t size, const struct cr_node *node)
{
    int at = 0;
    *text = '\0';
    switch (node->op) {
    case CR_OP_const:
        snprintf(text, size, "%.9g", node->value);
        break;
    case CR_OP_permute:
    case CR_OP_slice:
        for (int i = 0; i < node->rank; i++)
            at += snprintf(text + at, size - (size_t)at, "%s%lld", i ? ", " : "",
                           (long long)node->index[i] + (node->op == CR_OP_permute));
        break;
    case CR_OP_sum:
    case CR_OP_max:
    case CR_OP_concat:
    case CR_OP_write:
    case CR_OP_cumsum:
    case CR_OP_iota:
        snprintf(text, size, "axis %d", node->axis + 1);
        break;
    default:
        break;
    }
}

typedef int column(struct tables *t, const struct cr_graph *g, const struct cr_node *node);

static int op_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    (void)t, (void)g;
    return (int)node->op;
}

static int shape_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    char shape[200], text[240];
    (void)g;
    snprintf(text, sizeof text, "%s%s", cr_dtype_name(node->dtype),
             cr_shape_text(shape, sizeof shape, node->rank, node->shape));
    return number_of(t, SHAPES, text);
}

static int scope_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    (void)g;
    return number_of(t, SCOPES, node->where.scope);
}

static int line_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    (void)g;
    return number_of_line(t, node->where.file, node->where.line);
}

static int library_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    const struct cr_text_line *line = cr_line_of(g, node->where.library);
    return line ? number_of_line(t, line->file, line->line) : -1;
}

static int name_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    (void)g;
    return cr_is_interface(node) ? number_of(t, TEXTS, node->name) : -1;
}

static int attribute_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    char text[240];
    (void)g;
    attribute_text(text, sizeof text, node);
    return *text ? number_of(t, TEXTS, text) : -1;
}

static int backward_column(struct tables *t, const struct cr_graph *g, const struct cr_node *node)
{
    (void)t, (void)g;
    return node->where.backward;
}

static const struct {
    const char *name;
    column *of;
    bool each; /* written node by node, not as runs */
} columns[] = {{"op", op_column, true},
               {"shape", shape_column, false},
               {"scope", scope_column, false},
               {"line", line_column, false},
               {"library", library_column, false},
               {"name", name_column, false},
               {"attribute", attribute_column, false},
               {"backward", backward_column, false}};

/* By how much the number of an operand is smaller than the node's. */
static void write_operands(struct cr_doc *d, const struct cr_graph *g)
{
    cr_doc_begin(d, "operands", '[');
    for (cr_id id = 0; id < g->n_nodes; id++) {
        cr_doc_begin(d, NULL, '[');
        for (int i = 0; i < g->nodes[id].n_in; i++)
            cr_doc_integer(d, NULL, id - cr_in(g, id, i));
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, ']');
}

/* [number, how often it follows itself, ...], where neighbours have much in common. */
static void write_column(struct cr_doc *d, struct tables *t, const struct cr_graph *g, int c)
{
    int value = 0, times = 0;
    cr_doc_begin(d, columns[c].name, '[');
    for (cr_id id = 0; id <= g->n_nodes; id++) {
        int next = id < g->n_nodes ? columns[c].of(t, g, &g->nodes[id]) : value;
        if (times && (id == g->n_nodes || next != value || columns[c].each)) {
            cr_doc_integer(d, NULL, value);
            if (!columns[c].each)
                cr_doc_integer(d, NULL, times);
            times = 0;
        }
        value = next;
        times++;
    }
    cr_doc_end(d, ']');
}

/* A gradient has the name of the tensor that it is of. */
static void write_outputs(struct cr_doc *d, const struct cr_graph *g)
{
    cr_doc_begin(d, "outputs", '[');
    for (int i = 0; i < g->n_outputs; i++) {
        char *name = cr_output_name(g, i);
        const char *of = cr_gradient_of(name);
        cr_doc_begin(d, NULL, '{');
        cr_doc_text(d, "name", of ? of : name);
        cr_doc_integer(d, "node", g->outputs[i].id);
        cr_doc_flag(d, "gradient", of != NULL);
        cr_doc_flag(d, "state", g->outputs[i].state != CR_NONE);
        cr_doc_end(d, '}');
        free(name);
    }
    cr_doc_end(d, ']');
}

/* Columns, then operands. */
static void write_graph(struct cr_doc *d, struct tables *t, const struct cr_graph *g)
{
    cr_doc_begin(d, NULL, '{');
    cr_doc_integer(d, "nodes", g->n_nodes);
    for (int c = 0; c < (int)(sizeof columns / sizeof *columns); c++)
        write_column(d, t, g, c);
    write_operands(d, g);
    cr_doc_end(d, '}');
}

/* ---- what a pass changed ---- */

/* Nodes of two graphs that are the same for a reader: of one op, shape, attribute and origin.  Of
 * several such nodes the first is the first one's, and so on. */
struct matching {
    const struct cr_graph *before, *after;
    struct cr_table table; /* nodes of `before` */
    bool *taken;           /* of those */
    cr_id *before_of;      /* by node of `after`: a node of `before`, or CR_NONE */
    const struct cr_node *wanted;
};

static uint64_t hash_node(const struct cr_node *n)
{
    uint64_t h = (uint64_t)n->op << 32 ^ (uint64_t)n->where.line << 8 ^ (uint64_t)n->where.library;
    h = cr_hash_word(h, cr_hash_axes(n));
    h = cr_hash_word(h, (uintptr_t)n->where.scope ^ (uint64_t)n->where.backward);
    return cr_hash_word(h, (uintptr_t)n->name);
}

static bool is_match(const void *context, int item)
{
    const struct matching *m = context;
    const struct cr_node *a = &m->before->nodes[item], *b = m->wanted;
    return !m->taken[item] && a->op == b->op && a->dtype == b->dtype && a->axis == b->axis &&
           a->shape == b->shape && a->index == b->index && a->name == b->name &&
           a->where.scope == b->where.scope && a->where.file == b->where.file &&
           a->where.line == b->where.line && a->where.library == b->where.library &&
           a->where.backward == b->where.backward &&
           memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

/* Each node of `after` takes the first of its kind that is left. */
static void match(struct matching *m)
{
    m->taken = cr_calloc((size_t)m->before->n_nodes, sizeof *m->taken);
    m->before_of = cr_calloc((size_t)m->after->n_nodes, sizeof *m->before_of);
    for (cr_id id = 0; id < m->before->n_nodes; id++)
        cr_table_add(&m->table, hash_node(&m->before->nodes[id]), id);
    for (cr_id id = 0; id < m->after->n_nodes; id++) {
        m->wanted = &m->after->nodes[id];
        m->before_of[id] = cr_table_find(&m->table, hash_node(m->wanted), is_match, m);
        if (m->before_of[id] >= 0)
            m->taken[m->before_of[id]] = true;
    }
}

/* Whether a node that was there before has other operands now. */
static bool is_rewired(const struct matching *m, cr_id id)
{
    cr_id before = m->before_of[id];
    const struct cr_node *node = &m->after->nodes[id];
    if (before < 0)
        return false;
    if (m->before->nodes[before].n_in != node->n_in)
        return true;
    for (int i = 0; i < node->n_in; i++)
        if (m->before_of[cr_in(m->after, id, i)] != cr_in(m->before, before, i))
            return true;
    return false;
}

/* Numbers of nodes: those that are gone by the graph before, others by the graph after. */
static void write_changes(struct cr_doc *d, const struct cr_graph *before,
                          const struct cr_graph *after)
{
    struct matching m = {.before = before, .after = after};
    match(&m);
    cr_doc_begin(d, "removed", '[');
    for (cr_id id = 0; id < before->n_nodes; id++)
        if (!m.taken[id])
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "added", '[');
    for (cr_id id = 0; id < after->n_nodes; id++)
        if (m.before_of[id] < 0)
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "rewired", '[');
    for (cr_id id = 0; id < after->n_nodes; id++)
        if (is_rewired(&m, id))
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_table_free(&m.table);
    free(m.taken);
    free(m.before_of);
}

/* What a module does not have yet is left out. */
static void write_counts(struct cr_doc *d, const struct cr_stage *s)
{
    if (s->kernels >= 0)
        cr_doc_integer(d, "kernels", s->kernels);
    if (s->functions >= 0)
        cr_doc_integer(d, "functions", s->functions);
    if (s->loops >= 0)
        cr_doc_integer(d, "loops", s->loops);
    if (s->weights_bytes || s->arena_bytes) {
        cr_doc_integer(d, "weights_bytes", s->weights_bytes);
        cr_doc_integer(d, "arena_bytes", s->arena_bytes);
        cr_doc_integer(d, "arena_bytes_least", s->arena_bytes_least);
    }
    if (s->steps) {
        cr_doc_integer(d, "steps", s->steps);
        cr_doc_integer(d, "statements", s->statements);
    }
}

/* A pass that left the graph as it was names that of the pass before. */
static void write_passes(struct cr_doc *d, const crescent_explanation *e)
{
    const struct cr_graph *before = NULL;
    int graph = -1;
    cr_doc_begin(d, "passes", '[');
    for (int i = 0; i < e->n_stages; i++) {
        const struct cr_stage *s = &e->stages[i];
        graph += s->graph != NULL;
        cr_doc_begin(d, NULL, '{');
        cr_doc_text(d, "name", s->name);
        cr_doc_text(d, "doc", s->doc);
        cr_doc_integer(d, "ns", s->ns);
        cr_doc_integer(d, "graph", graph);
        write_counts(d, s);
        if (before && s->graph)
            write_changes(d, before, s->graph);
        before = s->graph ? s->graph : before;
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* Tables come behind the columns that fill them. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e)
{
    struct tables tables = {0};
    number_of(&tables, FILES, e->origin->path);
    write_passes(d, e);
    cr_doc_begin(d, "graphs", '[');
    for (int i = 0; i < e->n_stages; i++)
        if (e->stages[i].graph)
            write_graph(d, &tables, e->stages[i].graph);
    cr_doc_end(d, ']');
    write_outputs(d, e->module->graph);
    write_tables(d, &tables);
    write_sources(d, e, &tables);
    free_tables(&tables);
}
