/*
 * explain_graph.c - writes the graphs of an explanation: their nodes column by column, the
 * changes by each pass, and the source files of the nodes' lines.
 *
 * Attributes that many nodes share, such as a shape or a scope, are rows of tables; columns
 * contain the numbers of these rows.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "explanation.h"

/* ---- tables ---- */

enum { SHAPES, SCOPES, LINES, TEXTS, FILES, TABLES };

static const char *const table_names[TABLES] = {"shapes", "scopes", "lines", "texts", "files"};

struct tables {
    struct cr_names names[TABLES]; /* names of the rows of each table, owned copies; a line is
                                    * "FILE\tLINE" */
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

/* Writes the table of lines, each as [number of the file, line]. */
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

/* Writes the tables.  Ops have the compiler's numbers; rows of other tables are in the order of
 * their first use. */
static void write_tables(struct cr_doc *d, struct tables *t)
{
    cr_doc_begin(d, "tables", '{');
    cr_doc_begin(d, "ops", '[');
    for (int op = 0; op < crescent_op_count(); op++)
        cr_doc_text(d, NULL, cr_op_of(&(crescent_node){.op = op}));
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

/* Writes the lines of each source file of the nodes; null for a file that cannot be read. */
static void write_sources(struct cr_doc *d, const crescent_explanation *e,
                          const struct tables *t)
{
    cr_doc_begin(d, "sources", '[');
    for (int i = 0; i < t->names[FILES].n; i++) {
        char *text;
        if (crescent_graph_source(e->graph, t->names[FILES].items[i], &text) || !text) {
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
        crescent_free(text);
    }
    cr_doc_end(d, ']');
}

/* ---- nodes ---- */

static bool is_one_of(const char *op, const char *const *ops)
{
    while (*ops && strcmp(op, *ops) != 0)
        ops++;
    return *ops != NULL;
}

/* Writes the attribute of an op as text, such as "axis 3" or "0.125"; "" if the op has none. */
static void attribute_text(char *text, size_t size, const crescent_node *node)
{
    static const char *const along[] = {"sum", "max", "concat", "write", "cumsum", "iota", NULL};
    const char *op = cr_op_of(node);
    bool permutes = strcmp(op, "permute") == 0;
    int at = 0;
    *text = '\0';
    if (strcmp(op, "const") == 0)
        snprintf(text, size, "%.9g", node->value);
    else if (is_one_of(op, along))
        snprintf(text, size, "axis %d", node->axis + 1);
    else if (permutes || strcmp(op, "slice") == 0)
        for (int i = 0; i < node->rank; i++)
            at += snprintf(text + at, size - (size_t)at, "%s%lld", i ? ", " : "",
                           (long long)node->index[i] + permutes);
}

typedef int column(struct tables *t, const crescent_node *node);

static int op_column(struct tables *t, const crescent_node *node)
{
    (void)t;
    return node->op;
}

static int shape_column(struct tables *t, const crescent_node *node)
{
    char shape[200], text[240];
    snprintf(text, sizeof text, "%s%s", crescent_type_name(node->type),
             crescent_shape_text(shape, sizeof shape, node->rank, node->shape));
    return number_of(t, SHAPES, text);
}

static int scope_column(struct tables *t, const crescent_node *node)
{
    return number_of(t, SCOPES, node->scope);
}

static int line_column(struct tables *t, const crescent_node *node)
{
    return number_of_line(t, node->file, node->line);
}

static int library_column(struct tables *t, const crescent_node *node)
{
    return node->library ? number_of_line(t, node->library, node->library_line) : -1;
}

static int name_column(struct tables *t, const crescent_node *node)
{
    bool at_border = node->name && strcmp(cr_op_of(node), "literal") != 0;
    return at_border ? number_of(t, TEXTS, node->name) : -1;
}

static int attribute_column(struct tables *t, const crescent_node *node)
{
    char text[240];
    attribute_text(text, sizeof text, node);
    return *text ? number_of(t, TEXTS, text) : -1;
}

static int backward_column(struct tables *t, const crescent_node *node)
{
    (void)t;
    return node->backward;
}

static const struct {
    const char *name;
    column *of;
    bool each; /* the column has one item for each node, without run-length encoding */
} columns[] = {{"op", op_column, true},
               {"shape", shape_column, false},
               {"scope", scope_column, false},
               {"line", line_column, false},
               {"library", library_column, false},
               {"name", name_column, false},
               {"attribute", attribute_column, false},
               {"backward", backward_column, false}};

/* Writes the operands of each node relative to it: the node's number minus the operand's. */
static void write_operands(struct cr_doc *d, const crescent_node *nodes, int n)
{
    cr_doc_begin(d, "operands", '[');
    for (int id = 0; id < n; id++) {
        cr_doc_begin(d, NULL, '[');
        for (int i = 0; i < nodes[id].n_operands; i++)
            cr_doc_integer(d, NULL, id - nodes[id].operands[i]);
        cr_doc_end(d, ']');
    }
    cr_doc_end(d, ']');
}

/* Writes a column in run-length encoding, [value, count, ...], since neighbouring nodes often
 * have equal values. */
static void write_column(struct cr_doc *d, struct tables *t, const crescent_node *nodes, int n,
                         int c)
{
    int value = 0, times = 0;
    cr_doc_begin(d, columns[c].name, '[');
    for (int id = 0; id <= n; id++) {
        int next = id < n ? columns[c].of(t, &nodes[id]) : value;
        if (times && (id == n || next != value || columns[c].each)) {
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

/* Writes the outputs of a graph.  A gradient is named after its tensor. */
static void write_outputs(struct cr_doc *d, const crescent_inspection *in)
{
    crescent_output out;
    cr_doc_begin(d, "outputs", '[');
    for (int i = 0; i < crescent_output_count(in); i++) {
        crescent_output_at(in, i, &out);
        cr_doc_begin(d, NULL, '{');
        cr_doc_text(d, "name", out.of ? out.of : out.name);
        cr_doc_integer(d, "node", out.node);
        cr_doc_flag(d, "gradient", out.of != NULL);
        cr_doc_flag(d, "state", out.state);
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* Writes a graph column by column: the ops of all nodes, their shapes and other attributes, then
 * their operands. */
static void write_graph(struct cr_doc *d, struct tables *t, const crescent_inspection *in,
                        int graph)
{
    int n;
    crescent_node *nodes = cr_nodes_of(in, graph, &n);
    cr_doc_begin(d, NULL, '{');
    cr_doc_integer(d, "nodes", n);
    for (int c = 0; c < (int)(sizeof columns / sizeof *columns); c++)
        write_column(d, t, nodes, n, c);
    write_operands(d, nodes, n);
    cr_doc_end(d, '}');
    free(nodes);
}

/* ---- changes by passes ---- */

/* Pairs of nodes in two graphs that correspond: they have equal op, shape, attributes and origin.
 * Of several equal nodes, the first ones correspond, then the second ones, and so on. */
struct matching {
    const crescent_node *before, *after;
    int n_before, n_after;
    struct cr_table table; /* finds equal nodes of `before` */
    bool *taken;           /* by node of `before`: true if it has a partner in `after` */
    int *before_of;        /* by node of `after`: its partner in `before`, or -1 */
    const crescent_node *wanted;
};

static uint64_t hash_node(const crescent_node *n)
{
    uint64_t h = (uint64_t)n->op << 32 ^ (uint64_t)n->line << 8 ^ (uint64_t)n->library_line;
    h = cr_hash_word(h, (uintptr_t)n->shape);
    h = cr_hash_word(h, (uintptr_t)n->index ^ (uint64_t)n->axis);
    h = cr_hash_word(h, (uintptr_t)n->scope ^ (uint64_t)n->backward);
    return cr_hash_word(h, (uintptr_t)n->name);
}

static bool is_match(const void *context, int item)
{
    const struct matching *m = context;
    const crescent_node *a = &m->before[item], *b = m->wanted;
    return !m->taken[item] && a->op == b->op && a->type == b->type && a->axis == b->axis &&
           a->shape == b->shape && a->index == b->index && a->name == b->name &&
           a->scope == b->scope && a->file == b->file && a->line == b->line &&
           a->library == b->library && a->library_line == b->library_line &&
           a->backward == b->backward && memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

/* Gives each node of `after` the first equal node of `before` that has no partner yet. */
static void match(struct matching *m)
{
    m->taken = cr_calloc((size_t)m->n_before, sizeof *m->taken);
    m->before_of = cr_calloc((size_t)m->n_after, sizeof *m->before_of);
    for (int id = 0; id < m->n_before; id++)
        cr_table_add(&m->table, hash_node(&m->before[id]), id);
    for (int id = 0; id < m->n_after; id++) {
        m->wanted = &m->after[id];
        m->before_of[id] = cr_table_find(&m->table, hash_node(m->wanted), is_match, m);
        if (m->before_of[id] >= 0)
            m->taken[m->before_of[id]] = true;
    }
}

/* True if a node of `after` has a partner but other operands than the partner. */
static bool is_rewired(const struct matching *m, int id)
{
    const crescent_node *node = &m->after[id];
    if (m->before_of[id] < 0)
        return false;
    const crescent_node *before = &m->before[m->before_of[id]];
    if (before->n_operands != node->n_operands)
        return true;
    for (int i = 0; i < node->n_operands; i++)
        if (m->before_of[node->operands[i]] != before->operands[i])
            return true;
    return false;
}

/* Writes the numbers of changed nodes: removed nodes by their numbers in the graph before the
 * pass, others by their numbers in the graph after it. */
static void write_changes(struct cr_doc *d, const crescent_inspection *in, int graph)
{
    struct matching m = {0};
    crescent_node *before = cr_nodes_of(in, graph - 1, &m.n_before);
    crescent_node *after = cr_nodes_of(in, graph, &m.n_after);
    m.before = before;
    m.after = after;
    match(&m);
    cr_doc_begin(d, "removed", '[');
    for (int id = 0; id < m.n_before; id++)
        if (!m.taken[id])
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "added", '[');
    for (int id = 0; id < m.n_after; id++)
        if (m.before_of[id] < 0)
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_doc_begin(d, "rewired", '[');
    for (int id = 0; id < m.n_after; id++)
        if (is_rewired(&m, id))
            cr_doc_integer(d, NULL, id);
    cr_doc_end(d, ']');
    cr_table_free(&m.table);
    free(m.taken);
    free(m.before_of);
    free(before);
    free(after);
}

/* Writes the counts of the module's parts after a pass. */
static void write_counts(struct cr_doc *d, const crescent_stage *s)
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

/* Writes the passes.  A pass that changed nothing refers to the same graph as the previous pass. */
static void write_passes(struct cr_doc *d, const crescent_inspection *in)
{
    int graph = 0;
    cr_doc_begin(d, "passes", '[');
    for (int i = 0; i < crescent_stage_count(in); i++) {
        crescent_stage s;
        crescent_stage_at(in, i, &s);
        cr_doc_begin(d, NULL, '{');
        cr_doc_text(d, "name", s.name);
        cr_doc_text(d, "doc", s.doc);
        cr_doc_integer(d, "ns", s.ns);
        cr_doc_integer(d, "graph", s.graph);
        write_counts(d, &s);
        if (s.graph > graph)
            write_changes(d, in, s.graph);
        graph = s.graph;
        cr_doc_end(d, '}');
    }
    cr_doc_end(d, ']');
}

/* Writes passes and graphs, then the tables, which writing the columns has filled. */
void cr_explain_graphs(struct cr_doc *d, const crescent_explanation *e)
{
    struct tables tables = {0};
    number_of(&tables, FILES, crescent_graph_script(e->graph));
    write_passes(d, e->inspection);
    cr_doc_begin(d, "graphs", '[');
    for (int graph = 0; graph < e->n_graphs; graph++)
        write_graph(d, &tables, e->inspection, graph);
    cr_doc_end(d, ']');
    write_outputs(d, e->inspection);
    write_tables(d, &tables);
    write_sources(d, e, &tables);
    free_tables(&tables);
}
