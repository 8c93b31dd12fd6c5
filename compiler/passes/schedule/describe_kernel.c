#include "describe_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/text.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "schedule_parts.h"

enum { WIDTH = 96 /* the longest line of a comment, after " * " */ };

/* Appends an item to a list, on a new line if the current one is full. */
static void put_item(struct cr_text *t, bool first, const char *item)
{
    const char *line = t->length ? memrchr(t->data, '\n', t->length) : NULL;
    long length = line ? t->data + t->length - line - 1 : (long)t->length;
    bool full = length + (long)strlen(item) + 2 > WIDTH;
    cr_put(t, first ? "" : full ? ",\n   " : ", ");
    cr_put(t, first || !full ? "%s" : " %s", item);
}

/* Returns the shape of a node, with the names of its sizes; the caller frees it. */
static char *shape_text(const struct cr_builder *b, cr_id id)
{
    const struct cr_node *node = &b->g->nodes[id];
    struct cr_text t = {0};
    char name[512];
    cr_put(&t, "[");
    for (int i = 0; i < node->rank; i++) {
        int size = b->node_sizes ? b->node_sizes[id][i] : 0;
        if (size)
            cr_size_text(cr_named_sizes_of(b->g), size, name, sizeof name);
        else
            snprintf(name, sizeof name, "%lld", (long long)node->shape[i]);
        cr_put(&t, "%s%s", i ? ", " : "", name);
    }
    cr_put(&t, "]");
    return cr_take_text(&t);
}

static void put_size(struct cr_text *text, double value, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    for (; value >= 1000 && i < 5; i++)
        value /= 1000;
    cr_put(text, "%.4g %s%s", value, prefix[i], unit);
}

/* Lists the ops of a tile program after its title; appends nothing if it has no ops. */
static void put_ops(struct cr_text *t, const char *title, const struct cr_tiles *tiles)
{
    bool first = true;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        if (v->source != CR_MAP && v->source != CR_REDUCE)
            continue;
        if (first)
            cr_put(t, "%s: ", title);
        put_item(t, first, cr_ops[v->op].name);
        first = false;
    }
    if (!first)
        cr_put(t, "\n");
}

/* Lists the nodes that are stored besides the root, by the names of their arguments. */
static void put_stored(struct cr_text *t, const struct cr_builder *b)
{
    for (int i = 1; i < b->k->n_stored; i++) {
        char item[700], *shape = shape_text(b, b->k->stored[i]);
        snprintf(item, sizeof item, "%s%s", b->f->slots[b->stored[i]].name, shape);
        put_item(t, false, item);
        free(shape);
    }
}

/* Appends the format of packed weights, and the arithmetic of their products. */
static void put_weights(struct cr_text *t, const struct cr_builder *b)
{
    cr_id matrix = cr_packed(b->k);
    if (matrix == CR_NONE || cr_panel_format(b->g, matrix) == CR_FORMAT_f32)
        return;
    cr_put(t, "weights in %s, products in %s\n", cr_formats[cr_panel_format(b->g, matrix)].name,
           cr_arithmetics[cr_panel_arithmetic(b->g, matrix)].name);
}

/* Prints the factor of scores, and that it is 1 / sqrt(n) if it is, where n is the extent of the
 * sum. */
static void put_factor(struct cr_text *t, const struct cr_builder *b, const char *name, double factor)
{
    const int sum = b->k->k;
    cr_put(t, "%s times %.9g", name, factor);
    if (fabs(factor * factor * (double)cr_extent(b->k, sum) - 1) < 1e-6) {
        cr_put(t, ", 1 / sqrt(");
        cr_put_extent(t, b, sum);
        cr_put(t, ")");
    }
    cr_put(t, "\n");
}

/* Numbers that occur in the formulas of activations, and products of such numbers (Hendrycks &
 * Gimpel 2016). */
static const struct known {
    double value;
    const char *formula;
} known[] = {
    {0.7978845608028654, "sqrt(2 / pi)"},
    {1.5957691216057308, "2 sqrt(2 / pi)"},
    {0.035677408136300125, "0.044715 sqrt(2 / pi)"},
    {0.07135481627260025, "2 * 0.044715 sqrt(2 / pi)"},
    {0.21406444881780074, "6 * 0.044715 sqrt(2 / pi)"},
    {0.7071067811865476, "1 / sqrt(2)"},
    {0.3989422804014327, "1 / sqrt(2 pi)"},
    {0.6931471805599453, "log(2)"},
};

enum { KNOWN = sizeof known / sizeof *known };

/* Sets has[i] for each known number i that a program has. */
static void note_known(const struct cr_tiles *tiles, bool *has)
{
    for (int i = 0; i < tiles->n; i++)
        for (int j = 0; j < KNOWN; j++)
            has[j] |= tiles->values[i].source == CR_CONST && (float)tiles->values[i].number == (float)known[j].value;
}

/* Prints the formula of each number of the table `known` that occurs in a kernel's programs, such
 * as "0.707106769 is 1 / sqrt(2)". */
static void put_known(struct cr_text *t, const struct cr_kernel *k)
{
    bool has[KNOWN] = {false}, first = true;
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        note_known(tiles, has);
    for (int j = 0; j < KNOWN; j++) {
        char item[100], number[40];
        if (!has[j])
            continue;
        cr_number_text(number, sizeof number, CR_FORMAT_f32, known[j].value);
        snprintf(item, sizeof item, "%s is %s", number, known[j].formula);
        cr_put(t, first ? "numbers: " : "");
        put_item(t, first, item);
        first = false;
    }
    if (!first)
        cr_put(t, "\n");
}

/* Lists the ops of each program after its title; for an attention also the factor of scores and the
 * bounds of keys. */
static void put_programs(struct cr_text *t, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    const struct cr_remarks remarks = cr_remarks_of(k);
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++) {
        const struct cr_program_part *part = &cr_parts_of(k)->programs[p];
        const char *title = cr_title_of(k, p);
        put_ops(t, title ? title : part->title, tiles);
        if (part->scaled && tiles->n && remarks.factor != 1)
            put_factor(t, b, part->name, remarks.factor);
        char bound[128];
        for (int i = 0; i < remarks.n_bounds && part->hidden; i++)
            cr_put(t, "mask: query i sees keys j %s\n",
                   cr_bound_text(bound, sizeof bound, &remarks.bounds[i], "i"));
    }
}

char *cr_describe(const struct cr_builder *b, const char *title)
{
    const struct cr_kernel *k = b->k;
    const struct cr_node *root = &b->g->nodes[k->root];
    struct cr_text t = {0};
    char plain[256], path[200], *shape = shape_text(b, k->root);
    cr_plain_scope(plain, sizeof plain, title);
    cr_plain_text(path, sizeof path, root->where.file);
    cr_put(&t, "%s, %s:%d\nout", plain, path, root->where.line);
    cr_put(&t, "%s", shape);
    free(shape);
    put_stored(&t, b);
    cr_kernel_kinds[k->kind].describe(&t, b);
    cr_put(&t, "\n");
    put_weights(&t, b);
    put_programs(&t, b);
    put_known(&t, k);
    put_size(&t, k->flops, "flop, reads ");
    put_size(&t, k->bytes_read, "B, writes ");
    put_size(&t, k->bytes_written, "B");
    return cr_take_text(&t);
}
