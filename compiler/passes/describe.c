#include "describe.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/text.h"
#include "schedule_parts.h"

enum { WIDTH = 96 /* of a line, so that it fits behind " * " */ };

/* Another thing in a list, or in the next line if this one is full. */
static void put_item(struct cr_text *t, bool first, const char *item)
{
    const char *line = t->length ? memrchr(t->data, '\n', t->length) : NULL;
    long length = line ? t->data + t->length - line - 1 : (long)t->length;
    bool full = length + (long)strlen(item) + 2 > WIDTH;
    cr_put(t, first ? "" : full ? ",\n   " : ", ");
    cr_put(t, first || !full ? "%s" : " %s", item);
}

static void put_shape(struct cr_text *text, const struct cr_node *node)
{
    char shape[200];
    cr_put(text, "%s", cr_shape_text(shape, sizeof shape, node->rank, node->shape));
}

static void put_size(struct cr_text *text, double value, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    for (; value >= 1000 && i < 5; i++)
        value /= 1000;
    cr_put(text, "%.4g %s%s", value, prefix[i], unit);
}

/* What is computed of a program, for the reader. */
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

/* The equation of a kind of kernel, behind "out[shape]". */
static void put_equation(struct cr_text *t, const struct cr_kernel *k)
{
    long long rows = cr_extent(k, k->row), K = k->K, N = k->N, keys = k->keys;
    switch (k->kind) {
    case CR_KERNEL_TILE:
        break;
    case CR_KERNEL_GEMM:
        cr_put(t, " = rows[%lld, %lld] x columns[%lld, %lld]", rows, K, K, N);
        break;
    case CR_KERNEL_ATTENTION:
        cr_put(t, " = softmax(q[%lld, %lld] x k[%lld, %lld]) x v[%lld, %lld] for each head", rows,
               K, K, keys, keys, N);
        break;
    case CR_KERNEL_ATTENTION_BACKWARD:
        cr_put(t, " = gradients of q[%lld, %lld], k[%lld, %lld] and v[%lld, %lld] for each head",
               rows, K, keys, K, keys, N);
        break;
    case CR_KERNEL_COLUMNS:
        cr_put(t, " = %s over %lld rows of columns[%lld]",
               cr_ops[k->program.values[k->program.result].op].name, K,
               (long long)cr_extent(k, k->col));
        break;
    case CR_KERNEL_SCATTER:
        cr_put(t, " = for each row the sum of the %lld rows[%lld] with its index", K, N);
        break;
    }
}

static void put_reads(struct cr_text *t, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(t, k->n_refs ? "\nreads " : "");
    for (int i = 0; i < k->n_refs; i++) {
        char shape[200], item[300];
        const struct cr_node *node = &b->g->nodes[k->refs[i]];
        snprintf(item, sizeof item, "%s%s", b->f->slots[b->ref[i]].name,
                 cr_shape_text(shape, sizeof shape, node->rank, node->shape));
        put_item(t, i == 0, item);
    }
    cr_put(t, "\n");
}

static void put_programs(struct cr_text *t, const struct cr_kernel *k)
{
    put_ops(t, k->kind == CR_KERNEL_GEMM ? "each row first" : "queries first", &k->prologue);
    put_ops(t, "scores", &k->scores);
    if (k->scores.n && k->factor != 1)
        cr_put(t, "scores times %.9g\n", k->factor);
    put_ops(t, k->chooses ? "probabilities, 0 where this is, times" : "probabilities times",
            &k->dropout);
    for (int i = 0; i < k->n_bounds; i++)
        cr_put(t, "mask: query i sees keys %s i %+lld\n", k->bounds[i].upper ? "<=" : ">=",
               (long long)k->bounds[i].offset);
    put_ops(t, k->kind == CR_KERNEL_TILE || k->kind == CR_KERNEL_COLUMNS ? "steps" : "then",
            &k->program);
}

char *cr_describe(const struct cr_builder *b, const char *title)
{
    const struct cr_kernel *k = b->k;
    const struct cr_node *root = &b->g->nodes[k->root];
    struct cr_text t = {0};
    char plain[256], path[200];
    cr_plain_scope(plain, sizeof plain, title);
    cr_plain_text(path, sizeof path, root->where.file);
    cr_put(&t, "%s, %s:%d\nout", plain, path, root->where.line);
    put_shape(&t, root);
    put_equation(&t, k);
    put_reads(&t, b);
    put_programs(&t, k);
    put_size(&t, k->flops, "flop, reads ");
    put_size(&t, k->bytes_read, "B, writes ");
    put_size(&t, k->bytes_written, "B");
    return t.data;
}
