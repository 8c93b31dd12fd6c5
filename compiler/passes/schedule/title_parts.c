#include "title_parts.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/kernel_kinds.h"

enum { FEW_STEPS = 4 };

/* Returns the node below a chain of reshapes, permutes and expands that ends in `id`. */
static cr_id below_views(const struct cr_graph *g, cr_id id)
{
    while (g->nodes[id].op == CR_OP_reshape || g->nodes[id].op == CR_OP_permute ||
           g->nodes[id].op == CR_OP_expand)
        id = cr_in(g, id, 0);
    return id;
}

/* ---- the role of a result ---- */

/* Sets the role of each operand of a kernel to the operand's name in its kind, if that has several
 * letters, such as "query". */
static void mark_operands(const char **role, const struct cr_kernel *k)
{
    const struct cr_kernel_parts *parts = cr_parts_of(k);
    const struct cr_operand *operand;
    for (int i = 0; (operand = cr_operand_of(k, i)); i++)
        if (parts->operands[i].name[1] && !(parts->lacks && parts->lacks(k, i)))
            role[k->refs[operand->ref]] = parts->operands[i].name;
}

const char **cr_find_roles(const struct cr_module *m)
{
    const char **role = cr_calloc((size_t)m->graph->n_nodes, sizeof *role);
    for (int i = m->n_kernels - 1; i >= 0; i--) {
        const struct cr_kernel *k = &m->kernels[i];
        mark_operands(role, k);
        if (cr_is_copy(k) && k->n_refs > 0 && role[k->buffer] && !role[k->refs[0]])
            role[k->refs[0]] = role[k->buffer];
    }
    return role;
}

/* ---- the operation of a kernel ---- */

bool cr_is_copy(const struct cr_kernel *kernel)
{
    const struct cr_tiles *tiles = cr_program_of(kernel, 0);
    if (!cr_parts_of(kernel)->elementwise || !tiles)
        return false;
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source != CR_LOAD)
            return false;
    return true;
}

const char *cr_weights_name(const struct cr_module *m, const struct cr_kernel *kernel)
{
    cr_id packed = cr_packed(kernel);
    return packed == CR_NONE ? NULL : m->graph->nodes[below_views(m->graph, packed)].name;
}

/* True if a node divides a sum over an axis by the number of its elements. */
static bool is_mean(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    cr_id sum = node->op == CR_OP_div ? below_views(g, cr_in(g, id, 0)) : CR_NONE;
    if (sum == CR_NONE || g->nodes[sum].op != CR_OP_sum)
        return false;
    const struct cr_node *in = &g->nodes[cr_in(g, sum, 0)], *by = &g->nodes[below_views(g, cr_in(g, id, 1))];
    int64_t summed = cr_elements(in->rank, in->shape) / cr_elements(g->nodes[sum].rank, g->nodes[sum].shape);
    return by->op == CR_OP_const && by->value == (double)summed;
}

/* Returns a word for the operation of a node: "mean"; "centered" for a number minus a mean; else
 * its op. */
static const char *word_of(const struct cr_graph *g, cr_id id)
{
    if (is_mean(g, id))
        return "mean";
    if (g->nodes[id].op == CR_OP_sub && is_mean(g, below_views(g, cr_in(g, id, 1))))
        return "centered";
    return cr_ops[g->nodes[id].op].name;
}

void cr_put_op(struct cr_text *title, const struct cr_module *m, cr_id root)
{
    const struct cr_graph *g = m->graph;
    cr_id id = below_views(g, root);
    if (cr_kind_of(g, id) == CR_KIND_REDUCE) {
        cr_id in = below_views(g, cr_in(g, id, 0));
        if (cr_kind_of(g, in) == CR_KIND_ELEMENTWISE && m->storage[in].space == CR_SPACE_NONE)
            cr_put(title, ".%s", cr_ops[g->nodes[in].op].name);
    }
    cr_put(title, ".%s", word_of(g, id));
}

void cr_put_window(struct cr_text *title, const struct cr_kernel *kernel)
{
    const struct cr_remarks remarks = cr_remarks_of(kernel);
    for (int i = 0; i < remarks.n_bounds; i++)
        if (remarks.bounds[i].first.moves) {
            cr_put(title, ".window");
            return;
        }
}

/* Counts the ops of a tile program, or if `title` is not null appends them to it; returns their
 * number. */
static int put_ops(struct cr_text *title, const struct cr_tiles *tiles)
{
    int n = 0;
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_MAP || tiles->values[i].source == CR_REDUCE) {
            n++;
            if (title)
                cr_put(title, ".%s", cr_ops[tiles->values[i].op].name);
        }
    return n;
}

bool cr_put_steps(struct cr_text *title, const struct cr_kernel *kernel)
{
    const struct cr_tiles *tiles = cr_program_of(kernel, 0);
    return tiles && put_ops(NULL, tiles) <= FEW_STEPS && put_ops(title, tiles) > 0;
}

void cr_put_shape(struct cr_text *title, const struct cr_module *m, const struct cr_kernel *kernel)
{
    const struct cr_node *node = &m->graph->nodes[kernel->root];
    for (int i = 0; node->rank == 0 && i < kernel->n_refs; i++)
        node = &m->graph->nodes[kernel->refs[i]];
    for (int i = 0; i < node->rank; i++)
        cr_put(title, "%s%lld", i ? "x" : "_", (long long)node->shape[i]);
}

void cr_keep_numbers(char *title)
{
    for (char *dot = title; (dot = strchr(dot, '.')); dot++) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits && dot > title && (dot[1 + digits] == '.' || !dot[1 + digits]))
            *dot = '_';
    }
}
