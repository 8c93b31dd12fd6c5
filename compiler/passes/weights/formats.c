#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "gathered_tables.h"
#include "name_rules.h"
#include "weights.h"

/* ---- requests ---- */

/* Lists the names of the formats for weights. */
static void format_names(char *names, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < CR_FORMAT_COUNT && at < size; i++)
        if (cr_formats[i].pack)
            at +=
                (size_t)snprintf(names + at, size - at, "%s%s", at ? ", " : "", cr_formats[i].name);
}

/* Sets *format to the format that a rule names; fails if weights have no format of this name. */
static int read_format(const struct cr_name_rule *rule, enum cr_format *format, const char *path,
                       struct cr_error *error)
{
    char names[256];
    *format = cr_format_find(rule->name, (size_t)rule->length);
    if (*format < CR_FORMAT_COUNT && cr_formats[*format].pack)
        return 0;
    format_names(names, sizeof names);
    return cr_fail(error, "%.400s: --format: '%.*s' is no format of weights, expected one of %s",
                   path, rule->length < 60 ? rule->length : 60, rule->name, names);
}

/* Sets the format of the parameters whose names a rule matches; fails if it matches none. */
static int apply_rule(struct cr_graph *g, const struct cr_name_rule *rule, enum cr_format format,
                      const char *path, struct cr_error *error)
{
    bool found = strcmp(rule->glob, "*") == 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        struct cr_node *node = &g->nodes[id];
        if (node->op != CR_OP_param || !cr_glob_matches(rule->glob, node->name))
            continue;
        node->format = format;
        found = true;
    }
    return found ? 0
                 : cr_fail(error, "%.400s: --format %.200s=%s: no parameter has such a name", path,
                           rule->glob, cr_formats[format].name);
}

/* Returns the first parameter whose format is not f32, or null. */
static const struct cr_node *first_rounded(const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param && g->nodes[id].format != cr_format_of(CR_F32))
            return &g->nodes[id];
    return NULL;
}

static bool has_gradients(const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].where.backward)
            return true;
    return false;
}

/* The format of a weight matrix, as far as its pieces have been visited. */
struct pieces {
    struct cr_graph *g;
    enum cr_format format; /* the format of the first piece; CR_FORMAT_COUNT before it is known */
    bool same;
};

/* Compares the format of a piece with that of the pieces before.  Parameters one below the other
 * count as equal only in f32, since a block of another format could have numbers of both. */
static void see_piece(void *context, const struct cr_layout_info *info)
{
    struct pieces *p = context;
    enum cr_format format = p->g->nodes[info->param].format;
    if (p->format == CR_FORMAT_COUNT)
        p->format = format;
    p->same &= p->format == format && (!info->first_row || format == cr_format_of(CR_F32));
}

/* Sets the format of a parameter back to f32. */
static void reset(struct cr_graph *g, cr_id param)
{
    g->nodes[param].format = cr_format_of(CR_F32);
}

static void reset_all(struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            reset(g, id);
}

static void reset_piece(void *context, const struct cr_layout_info *info)
{
    const struct pieces *p = context;
    reset(p->g, info->param);
}

/* Sets the parameters of a weight matrix to f32 if they have several formats; returns true if they
 * had. */
static bool reset_if_mixed(struct cr_graph *g, cr_id matrix)
{
    struct pieces p = {g, CR_FORMAT_COUNT, true};
    cr_weight_pieces(g, matrix, see_piece, &p);
    if (!p.same)
        cr_weight_pieces(g, matrix, reset_piece, &p);
    return !p.same;
}

/* Sets the right operands of all products of the script to f32 if they have several formats.
 * Returns true if one of them had several. */
static bool reset_mixed_products(struct cr_graph *g, const bool *weights)
{
    bool any = false;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_matmul && weights[cr_in(g, id, 1)])
            any |= reset_if_mixed(g, cr_weight_matrix(g, cr_in(g, id, 1)));
    return any;
}

/* Returns a list by node: true if the node depends on an input with axes. */
static bool *find_handed_in(const struct cr_graph *g)
{
    bool *handed = cr_calloc((size_t)g->n_nodes, sizeof *handed);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        handed[id] = g->nodes[id].op == CR_OP_input && g->nodes[id].rank > 0;
        for (int i = 0; i < g->nodes[id].n_in; i++)
            handed[id] |= handed[cr_in(g, id, i)];
    }
    return handed;
}

/* True if operand i of a node is read as a weight: as the right operand of a product, or as a
 * parameter of which an input selects rows.  A table of positions is no weight: it is gathered in
 * some graphs and sliced in others, so it stays f32 in both. */
static bool reads_as_weight(const struct cr_graph *g, const bool *handed, cr_id id, int i)
{
    const struct cr_node *in = &g->nodes[cr_in(g, id, i)];
    return (g->nodes[id].op == CR_OP_matmul && i == 1) ||
           (g->nodes[id].op == CR_OP_gather && i == 0 && in->op == CR_OP_param && in->rank == 2 &&
            handed[cr_in(g, id, 1)]);
}

/* Sets parameters to f32 if a node other than a product or a gather reads them, directly or through
 * movement ops and concats.  Also sets the parameters that the script joins with such a parameter
 * in one matrix. */
static void reset_other_reads(struct cr_graph *g)
{
    bool *weights = cr_find_weights(g), *handed = find_handed_in(g);
    bool *plain = cr_calloc((size_t)g->n_nodes, sizeof *plain);
    for (int i = 0; i < g->n_outputs; i++)
        plain[g->outputs[i].id] = true;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        for (int i = 0; i < g->nodes[id].n_in; i++)
            plain[cr_in(g, id, i)] |= weights[id] ? plain[id] : !reads_as_weight(g, handed, id, i);
        if (g->nodes[id].op == CR_OP_param && plain[id])
            reset(g, id);
    }
    while (reset_mixed_products(g, weights))
        ;
    free(weights);
    free(handed);
    free(plain);
}

/* A search for a parameter in a format with blocks, among the parameters of a weight matrix. */
struct summed {
    const struct cr_graph *g;
    cr_id blocks; /* the first such parameter, or CR_NONE */
};

static void see_blocks(void *context, const struct cr_layout_info *info)
{
    struct summed *s = context;
    if (s->blocks == CR_NONE && cr_formats[s->g->nodes[info->param].format].block > 1)
        s->blocks = info->param;
}

/*
 * Returns a parameter of a product that has blocks along the axis that is summed, if that axis has
 * a length; else CR_NONE.  If the length ended inside a block, the block's scale would depend on
 * elements that do not exist.
 */
static cr_id cut_blocks(struct cr_graph *g, cr_id product, int *length)
{
    cr_id left = cr_in(g, product, 0), right = cr_in(g, product, 1);
    int r = g->nodes[product].rank;
    struct summed s = {g, CR_NONE};
    *length = cr_length_at(g, left, r - 1);
    *length = *length ? *length : cr_length_at(g, right, r - 2);
    if (*length)
        cr_weight_pieces(g, cr_weight_matrix(g, right), see_blocks, &s);
    return s.blocks;
}

/* Fails if a length may end inside a block of a parameter. */
static int check_blocks(struct cr_graph *g, const char *path, struct cr_error *error)
{
    int length, status = 0;
    bool *weights = cr_find_weights(g);
    for (cr_id id = 0; g->n_lengths && id < g->n_nodes && !status; id++) {
        if (g->nodes[id].op != CR_OP_matmul || !weights[cr_in(g, id, 1)])
            continue;
        cr_id param = cut_blocks(g, id, &length);
        if (param != CR_NONE)
            status = cr_fail(error,
                             "%.400s: --format: %.200s is to be kept in %s, in blocks that the "
                             "length %.100s may end in, expected f32 or f16",
                             path, g->nodes[param].name, cr_formats[g->nodes[param].format].name,
                             g->lengths[length - 1].name);
    }
    free(weights);
    return status;
}

/* Fails if parameters in a rounded format have gradients: the derivative of rounding is 0, so that
 * nothing would be learned. */
int cr_want_formats(struct cr_graph *g, const char *rules, const char *path, struct cr_error *error)
{
    const char *text = rules;
    struct cr_name_rule rule;
    enum cr_format format;
    bool gradients = has_gradients(g);
    if (gradients)
        reset_all(g);
    while (text)
        if (cr_read_name_rule(&rule, &text, "--format", path, error) ||
            read_format(&rule, &format, path, error) || apply_rule(g, &rule, format, path, error))
            return -1;
    const struct cr_node *rounded = first_rounded(g);
    if (!rounded)
        return 0;
    if (gradients)
        return cr_fail(error,
                       "%.400s: --format: %.200s is to be kept in %s, and there are gradients, "
                       "expected f32",
                       path, rounded->name, cr_formats[rounded->format].name);
    reset_other_reads(g);
    return check_blocks(g, path, error);
}

/* ---- choosing formats ---- */

static void note_param(void *context, const struct cr_layout_info *info)
{
    *(cr_id *)context = info->param;
}

enum cr_format cr_panel_format(const struct cr_graph *g, cr_id matrix)
{
    cr_id param = matrix;
    cr_weight_pieces(g, cr_weight_matrix(g, matrix), note_param, &param);
    return g->nodes[param].format;
}

double cr_panel_bytes(const struct cr_graph *g, const struct cr_kernel *k)
{
    const struct cr_packed_weights *weights = cr_weights_of(k);
    if (!weights)
        return 0;
    const struct cr_node *node = &g->nodes[weights->node];
    int64_t matrices = weights->choices ? weights->choices : 1;
    int64_t elements = cr_elements(node->rank, node->shape) / matrices;
    return (double)cr_format_bytes(cr_panel_format(g, weights->node), elements);
}

/* Returns the most elements that a kernel reads of its operand r.  An elementwise kernel gathers at
 * most as many elements of a table as it stores. */
static int64_t elements_read(const struct cr_graph *g, const struct cr_kernel *k, int r)
{
    const struct cr_node *node = &g->nodes[k->refs[r]], *root = &g->nodes[k->root];
    int64_t all = cr_elements(node->rank, node->shape), made = cr_elements(root->rank, root->shape);
    bool gathers = false, loads = !cr_parts_of(k)->elementwise;
    for (int i = 0; i < k->program.n && !loads; i++) {
        const struct cr_value *v = &k->program.values[i];
        gathers |= v->source == CR_GATHER && v->ref == r;
        loads |= v->source == CR_LOAD && v->ref == r;
    }
    return gathers && !loads && made < all ? made : all;
}

double cr_ref_bytes(const struct cr_graph *g, const struct cr_kernel *k, int r)
{
    cr_id param = cr_param_of(g, k->refs[r]);
    enum cr_format format =
        param != CR_NONE ? g->nodes[param].format : cr_format_of(g->nodes[k->refs[r]].dtype);
    return (double)cr_format_bytes(format, elements_read(g, k, r));
}

/* Sets parameters to f32 if a kernel reads them other than from panels or by whole rows. */
static void reset_plain(struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++)
        for (int r = 0; r < m->kernels[i].n_refs; r++) {
            cr_id id = m->kernels[i].refs[r], param = cr_param_of(m->graph, id);
            if (param != CR_NONE && !cr_gathers_rows(m->graph, &m->kernels[i], r))
                reset(m->graph, param);
            for (int p = 0; p < m->graph->nodes[id].n_in && cr_is_joined(m->graph, id); p++)
                reset(m->graph, cr_joined_param(m->graph, id, p));
        }
}

/* Sets the weights of a product to f32 if they have several formats; returns true if there was such
 * a product. */
static bool reset_mixed(struct cr_module *m)
{
    bool any = false;
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id matrix = cr_packed(&m->kernels[i]);
        any |= matrix != CR_NONE && reset_if_mixed(m->graph, matrix);
    }
    return any;
}

/* Adds `sign` times the bytes of parameters that each kernel reads to its bytes_read. */
static void count_weights(struct cr_module *m, int sign)
{
    for (int i = 0; i < m->n_kernels; i++) {
        struct cr_kernel *k = &m->kernels[i];
        k->bytes_read += sign * cr_panel_bytes(m->graph, k);
        for (int r = 0; r < k->n_refs; r++)
            if (cr_param_of(m->graph, k->refs[r]) != CR_NONE)
                k->bytes_read += sign * cr_ref_bytes(m->graph, k, r);
    }
}

/* Calls reset_mixed until it changes nothing, since a parameter that it sets to f32 may share
 * another matrix with parameters in other formats. */
void cr_keep_supported_formats(struct cr_module *m)
{
    if (!first_rounded(m->graph))
        return;
    count_weights(m, -1);
    reset_plain(m);
    while (reset_mixed(m))
        ;
    count_weights(m, 1);
}
