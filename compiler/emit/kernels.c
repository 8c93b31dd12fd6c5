#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "parts.h"

/* ---- names ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the part of a dotted name that begins here is a number. */
static bool is_number(const char *part)
{
    size_t digits = strspn(part, "0123456789");
    return digits > 0 && (part[digits] == '.' || part[digits] == 0);
}

/* What a gradient is the gradient of, or null. */
static const char *gradient_of(const char *name)
{
    size_t length = sizeof CR_GRADIENT - 1;
    return strncmp(name, CR_GRADIENT, length) == 0 ? name + length : NULL;
}

void cr_identifier(char *buffer, size_t size, const char *name)
{
    size_t n = 0;
    bool number = false;
    if (gradient_of(name) && size > 2) {
        memcpy(buffer, "d_", 2);
        cr_identifier(buffer + 2, size - 2, gradient_of(name));
        return;
    }
    for (const char *p = name; *p && n + 1 < size; p++) {
        if (p == name || p[-1] == '.')
            number = is_number(p);
        if (!number && (is_word(*p) || n > 0))
            buffer[n++] = is_word(*p) ? *p : '_';
    }
    while (n && buffer[n - 1] == '_')
        n--;
    buffer[n] = 0;
}

void cr_plain_scope(char *buffer, size_t size, const char *scope)
{
    size_t n = 0;
    if (gradient_of(scope)) {
        n = (size_t)snprintf(buffer, size, "gradient of ");
        scope = gradient_of(scope);
    }
    for (const char *p = scope; *p && n + 1 < size; p++) {
        bool start = p == scope || p[-1] == '.';
        if (start && is_number(p)) {
            buffer[n++] = '#';
            p += strspn(p, "0123456789") - 1;
        } else {
            buffer[n++] = is_word(*p) || *p == '.' ? *p : '_';
        }
    }
    buffer[n] = 0;
}

/* A path as it may stand in a comment. */
static void plain_path(char *buffer, size_t size, const char *path)
{
    size_t n = 0;
    for (; *path && n + 1 < size; path++)
        buffer[n++] = is_word(*path) || strchr("./-", *path) ? *path : '_';
    buffer[n] = 0;
    for (char *end = buffer; (end = strstr(end, "*/")) != NULL;)
        *end = '_';
}

/* Words that a field of the arguments must not be called. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "auto",   "break",    "case",   "char",     "const",    "continue", "default", "do",
        "double", "else",     "enum",   "extern",   "float",    "for",      "goto",    "if",
        "inline", "int",      "long",   "out",      "register", "restrict", "return",  "rt",
        "short",  "signed",   "sizeof", "static",   "struct",   "switch",   "typedef", "typeof",
        "union",  "unsigned", "void",   "volatile", "w",        "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return name[0] < 'A' || !*name || strncmp(name, "stream", 6) == 0;
}

/* Names the operands after what they are: a parameter, or the scope that made them. */
static void name_operands(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    for (int i = 0; i < k->n_refs; i++) {
        const struct cr_node *node = &p->g->nodes[k->refs[i]];
        char plain[CR_NAME_SIZE - 16];
        cr_identifier(plain, sizeof plain,
                      node->name  ? node->name
                      : node->tap ? node->tap
                                  : node->where.scope);
        bool taken = is_reserved(plain);
        for (int j = 0; j < i; j++)
            taken |= strcmp(plain, p->names[j]) == 0;
        if (taken)
            snprintf(p->names[i], CR_NAME_SIZE, "v%d_%s", i, plain);
        else
            snprintf(p->names[i], CR_NAME_SIZE, "%s", plain);
    }
}

/* ---- the frame of a function ---- */

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
        cr_put(t, first ? " * %s: %s" : "%s%s", first ? title : "", first ? "" : ", ");
        cr_put(t, "%s", cr_ops[v->op].name);
        first = false;
    }
    if (!first)
        cr_put(t, "\n");
}

/* What a kernel is called after: the name of its result, or the scope it was made in. */
static const char *title_of(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *root = &g->nodes[id];
    if (root->tap)
        return root->tap;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].id == id)
            return g->outputs[i].name;
    return *root->where.scope ? root->where.scope : g->name;
}

/* What the kernel computes, where it comes from, and what it costs. */
static void print_comment(struct cr_printer *p, const char *title)
{
    const struct cr_kernel *k = p->k;
    const struct cr_node *root = &p->g->nodes[k->root];
    struct cr_text *t = p->text;
    char scope[128], path[200];
    cr_plain_scope(scope, sizeof scope, title_of(p->g, k->root));
    plain_path(path, sizeof path, root->where.file);
    cr_put(t, "\n/*\n * k%d_%s: %s, %s:%d\n * out", p->number, title, scope, path,
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
    for (int i = 0; i < k->n_refs; i++) {
        cr_put(t, "%s%s", i ? ", " : "\n * reads ", p->names[i]);
        print_shape(t, &p->g->nodes[k->refs[i]]);
    }
    cr_put(t, "\n");
    print_steps(p, k->kind == CR_KERNEL_GEMM ? "each row first" : "queries first", &k->prologue);
    print_steps(p, "scores", &k->scores);
    print_steps(p, "probabilities times", &k->dropout);
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
        bool integers = node->op == CR_OP_input && node->dtype == CR_I32;
        cr_put(t, "    const %s *%s;\n", integers ? "int" : "float", p->names[i]);
    }
    if (p->k->packed != CR_NONE)
        cr_put(t, "    const float *w; /* packed */\n");
    for (int i = 0; i < p->k->n_streams; i++)
        cr_put(t, "    long stream%d; /* of random numbers */\n", i);
    cr_put(t, "    float *out;\n};\n\n");
}

/* ---- one kernel ---- */

/* The declarations stand before the code, but are known only after it. */
static void assemble(struct cr_text *text, struct cr_printer *p, struct cr_text *body,
                     const char *title)
{
    p->text = text;
    print_comment(p, title);
    print_struct(p);
    cr_put(text,
           "static void k%d_%s(const void *args, long begin, long end, float *scratch)\n{\n"
           "    const struct k%d_args *a = args;\n"
           "    const struct cr_kernels *rt = a->rt;\n",
           p->number, title, p->number);
    if (!p->scratch)
        cr_put(text, "    (void)scratch;\n");
    cr_put_bytes(text, p->declarations.data, p->declarations.length);
    cr_put_bytes(text, body->data, body->length);
    cr_put(text, "}\n");
}

void cr_print_kernel_function(struct cr_text *text, const struct cr_module *module, int kernel,
                              int number, struct cr_function *function)
{
    struct cr_text body = {0};
    struct cr_printer p = {
        .text = &body, .g = module->graph, .k = &module->kernels[kernel], .number = number};
    name_operands(&p);
    function->number = number;
    cr_identifier(function->title, sizeof function->title, title_of(p.g, p.k->root));
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
    assemble(text, &p, &body, function->title);
    free(body.data);
    free(p.constants.data);
    free(p.declarations.data);
}
