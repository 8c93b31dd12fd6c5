#include "kernels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "program.h"
#include "parts.h"

/* ---- names ---- */

/* The function that makes a node, or null: of an operand, always one that is printed by now. */
static const struct cr_function *maker_of(const struct cr_printer *p, cr_id id)
{
    int kernel = p->g->nodes[id].kernel;
    assert(kernel >= CR_NONE && kernel < p->m->n_kernels);
    if (kernel == CR_NONE || p->m->kernels[kernel].root != id)
        return NULL;
    const struct cr_function *function = &p->functions[p->m->function[kernel]];
    return function->number ? function : NULL;
}

/* Names an operand after what it is: a parameter, a value with a name, what a kernel makes, or
 * at least the scope it was made in. */
static void name_operand(const struct cr_printer *p, cr_id id, char *plain, size_t size)
{
    const struct cr_node *node = &p->g->nodes[id];
    const struct cr_function *maker = maker_of(p, id);
    if (node->name || node->tap)
        cr_identifier(plain, size, node->name ? node->name : node->tap);
    else if (maker)
        snprintf(plain, size, "k%d_%.40s", maker->number, maker->title);
    else
        cr_identifier(plain, size, node->where.scope);
}

static void name_operands(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    for (int i = 0; i < k->n_refs; i++) {
        char plain[CR_NAME_SIZE - 16];
        name_operand(p, k->refs[i], plain, sizeof plain);
        bool taken = cr_is_reserved(plain);
        for (int j = 0; j < i; j++)
            taken |= strcmp(plain, p->names[j]) == 0;
        if (taken)
            snprintf(p->names[i], CR_NAME_SIZE, *plain ? "v%d_%s" : "v%d", i, plain);
        else
            snprintf(p->names[i], CR_NAME_SIZE, "%s", plain);
    }
}

/* ---- the frame of a function ---- */

enum { COMMENT_WIDTH = 100 };

/* Another thing in a line of a comment, or in the next one if the line is full. */
static void put_item(struct cr_text *t, bool first, const char *item)
{
    const char *end = t->data + t->length, *line = memrchr(t->data, '\n', t->length);
    bool full = end - line + (long)strlen(item) + 2 > COMMENT_WIDTH;
    cr_put(t, first ? "" : full ? ",\n *    " : ", ");
    cr_put(t, first || !full ? "%s" : " %s", item);
}

static void print_shape(struct cr_text *text, const struct cr_node *node)
{
    char shape[200];
    cr_put(text, "%s", cr_shape_text(shape, sizeof shape, node->rank, node->shape));
}

static void print_size(struct cr_text *text, double value, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    for (; value >= 1000 && i < 5; i++)
        value /= 1000;
    cr_put(text, "%.4g %s%s", value, prefix[i], unit);
}

/* The elementwise steps of a program, for the reader. */
static void print_steps(struct cr_printer *p, const char *title, const struct cr_tiles *tiles)
{
    struct cr_text *t = p->text;
    bool first = true;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        if (v->source != CR_MAP && v->source != CR_REDUCE)
            continue;
        if (first)
            cr_put(t, " * %s: ", title);
        put_item(t, first, cr_ops[v->op].name);
        first = false;
    }
    if (!first)
        cr_put(t, "\n");
}

/* What the kernel computes, where it comes from, and what it costs. */
static void print_comment(struct cr_printer *p, const char *title, const char *identifier)
{
    const struct cr_kernel *k = p->k;
    const struct cr_node *root = &p->g->nodes[k->root];
    struct cr_text *t = p->text;
    char plain[256], path[200];
    cr_plain_scope(plain, sizeof plain, title);
    cr_plain_text(path, sizeof path, root->where.file);
    cr_put(t, "\n/*\n * k%d_%s: %s, %s:%d\n * out", p->number, identifier, plain, path,
           root->where.line);
    print_shape(t, root);
    if (k->kind == CR_KERNEL_GEMM)
        cr_put(t, " = rows[%lld, %lld] x columns[%lld, %lld]", (long long)cr_extent(k, k->row),
               (long long)k->K, (long long)k->K, (long long)k->N);
    if (k->kind == CR_KERNEL_ATTENTION)
        cr_put(t, " = softmax(q[%lld, %lld] x k[%lld, %lld]) x v[%lld, %lld] for each head",
               (long long)cr_extent(k, k->row), (long long)k->K, (long long)k->K,
               (long long)k->keys, (long long)k->keys, (long long)k->N);
    if (k->kind == CR_KERNEL_ATTENTION_BACKWARD)
        cr_put(t, " = gradients of q[%lld, %lld], k[%lld, %lld] and v[%lld, %lld] for each head",
               (long long)cr_extent(k, k->row), (long long)k->K, (long long)k->keys,
               (long long)k->K, (long long)k->keys, (long long)k->N);
    if (k->kind == CR_KERNEL_COLUMNS)
        cr_put(t, " = %s over %lld rows of columns[%lld]",
               cr_ops[k->program.values[k->program.result].op].name, (long long)k->K,
               (long long)cr_extent(k, k->col));
    if (k->kind == CR_KERNEL_SCATTER)
        cr_put(t, " = for each row the sum of the %lld rows[%lld] with its index", (long long)k->K,
               (long long)k->N);
    cr_put(t, k->n_refs ? "\n * reads " : "");
    for (int i = 0; i < k->n_refs; i++) {
        char shape[200], item[200 + CR_NAME_SIZE];
        const struct cr_node *node = &p->g->nodes[k->refs[i]];
        snprintf(item, sizeof item, "%s%s", p->names[i],
                 cr_shape_text(shape, sizeof shape, node->rank, node->shape));
        put_item(t, i == 0, item);
    }
    cr_put(t, "\n");
    print_steps(p, k->kind == CR_KERNEL_GEMM ? "each row first" : "queries first", &k->prologue);
    print_steps(p, "scores", &k->scores);
    if (k->scores.n && k->factor != 1)
        cr_put(t, " * scores times %.9g\n", k->factor);
    print_steps(p, k->chooses ? "probabilities, 0 where this is, times" : "probabilities times",
                &k->dropout);
    for (int i = 0; i < k->n_bounds; i++)
        cr_put(t, " * mask: query i sees keys %s i %+lld\n",
               k->bounds[i].upper ? "<=" : ">=", (long long)k->bounds[i].offset);
    print_steps(p, k->kind == CR_KERNEL_TILE || k->kind == CR_KERNEL_COLUMNS ? "steps" : "then",
                &k->program);
    cr_put(t, " * ");
    print_size(t, k->flops, "flop, reads ");
    print_size(t, k->bytes_read, "B, writes ");
    print_size(t, k->bytes_written, "B\n */\n");
}

static void print_struct(struct cr_printer *p)
{
    struct cr_text *t = p->text;
    cr_put(t, "struct k%d_args {\n    const struct cr_kernels *rt;\n", p->number);
    for (int i = 0; i < p->k->n_refs; i++) {
        const struct cr_node *node = &p->g->nodes[p->k->refs[i]];
        cr_put(t, "    const %s *%s;\n", cr_c_type(node->dtype), p->names[i]);
    }
    if (p->k->packed != CR_NONE)
        cr_put(t, "    const float *w; /* packed */\n");
    for (int i = 0; i < p->k->n_streams; i++)
        cr_put(t, "    long stream%d; /* of random numbers */\n", i);
    cr_put(t, "    %s *out;\n};\n\n", cr_c_type(p->g->nodes[p->k->root].dtype));
}

/* ---- one kernel ---- */

/* The declarations stand before the code, but are known only after it. */
static void assemble(struct cr_text *text, struct cr_printer *p, struct cr_text *body,
                     const char *title, const char *identifier)
{
    p->text = text;
    print_comment(p, title, identifier);
    print_struct(p);
    cr_put(text,
           "static void k%d_%s(const void *args, long begin, long end, float *scratch)\n{\n"
           "    const struct k%d_args *a = args;\n"
           "    const struct cr_kernels *rt = a->rt;\n",
           p->number, identifier, p->number);
    if (!p->scratch)
        cr_put(text, "    (void)scratch;\n");
    cr_put_bytes(text, p->declarations.data, p->declarations.length);
    cr_put_bytes(text, body->data, body->length);
    cr_put(text, "}\n");
}

void cr_print_kernel_function(struct cr_text *text, const struct cr_module *module, int kernel,
                              int number, const struct cr_titles *titles,
                              struct cr_function *functions)
{
    struct cr_text body = {0};
    struct cr_function *function = &functions[kernel];
    struct cr_printer p = {.text = &body,
                           .m = module,
                           .functions = functions,
                           .g = module->graph,
                           .k = &module->kernels[kernel],
                           .number = number};
    char title[256];
    name_operands(&p);
    function->number = number;
    cr_kernel_title(title, sizeof title, titles, p.k->root);
    cr_identifier(function->title, sizeof function->title, title);
    if (!*function->title)
        snprintf(function->title, sizeof function->title, "tile");
    switch (p.k->kind) {
    case CR_KERNEL_TILE:
        function->items = cr_print_tile_kernel(&p);
        break;
    case CR_KERNEL_GEMM:
        function->items =
            p.k->packed == CR_NONE ? cr_print_matmul_kernel(&p) : cr_print_gemm_kernel(&p);
        break;
    case CR_KERNEL_ATTENTION:
        function->items = cr_print_attention_kernel(&p);
        break;
    case CR_KERNEL_ATTENTION_BACKWARD:
        function->items = cr_print_attention_backward_kernel(&p);
        break;
    case CR_KERNEL_COLUMNS:
        function->items = cr_print_columns_kernel(&p);
        break;
    case CR_KERNEL_SCATTER:
        function->items = cr_print_scatter_kernel(&p);
        break;
    }
    function->scratch = p.scratch;
    for (int i = 0; i < p.k->n_refs; i++)
        memcpy(function->fields[i], p.names[i], CR_NAME_SIZE);
    assemble(text, &p, &body, title, function->title);
    free(body.data);
    free(p.constants.data);
    free(p.declarations.data);
}
