#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tiles.h"

/*
 * Sizes of the loops around the runtime's tiles.  They steer speed alone: no result
 * depends on them, but for KEY_BLOCK, which fixes the order of attention's sums.
 */
enum {
    TILE_FLOATS = 2048,     /* of an elementwise tile: it stays in the first-level cache */
    TILE_COLS = 1024,       /* columns of one, if it can be cut */
    GEMM_STEP_ROWS = 24,    /* rows of one call of gemm, two tiles of the micro-kernel */
    GEMM_STEP_FLOATS = 3072, /* rows x columns of one call */
    GEMM_ROWS_FLOATS = 98304, /* rows x k of the left operand: half of a second-level cache */
    GEMM_ITEMS = 16,        /* shares wanted at least, so that threads get equal ones */
    PANEL = 32,             /* CR_PANEL of the runtime */
    KEY_BLOCK = 128,        /* keys of an online softmax step */
    QUERY_ROWS = 24,
    ATTENTION_ITEMS = 8,
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t round_up(int64_t a, int64_t b)
{
    return ceil_div(a, b) * b;
}

static int64_t extent(const struct cr_kernel *k, int atom)
{
    return atom < 0 ? 1 : k->atoms.extent[atom];
}

static int64_t step(const struct cr_affine *at, int atom)
{
    return atom < 0 ? 0 : at->coef[atom];
}

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

void cr_identifier(char *buffer, size_t size, const char *name)
{
    size_t n = 0;
    bool number = false;
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
        "auto",   "break",  "case",     "char",   "const",  "continue", "default",  "do",
        "double", "else",   "enum",     "extern", "float",  "for",      "goto",     "if",
        "inline", "int",    "long",     "out",    "register", "restrict", "return", "rt",
        "short",  "signed", "sizeof",   "static", "struct", "switch",   "typedef",  "typeof",
        "union",  "unsigned", "void",   "volatile", "w",    "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return name[0] < 'A' || !*name;
}

/* Names the operands after what they are: a parameter, or the scope that made them. */
static void name_operands(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    for (int i = 0; i < k->n_refs; i++) {
        const struct cr_node *node = &p->g->nodes[k->refs[i]];
        char plain[CR_NAME_SIZE - 16];
        cr_identifier(plain, sizeof plain,
                      node->name ? node->name : node->tap ? node->tap : node->where.scope);
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
static const char *title_of(const struct cr_graph *g, const struct cr_node *root)
{
    if (root->tap)
        return root->tap;
    return *root->where.scope ? root->where.scope : g->name;
}

/* What the kernel computes, where it comes from, and what it costs. */
static void print_comment(struct cr_printer *p, const char *title)
{
    const struct cr_kernel *k = p->k;
    const struct cr_node *root = &p->g->nodes[k->root];
    struct cr_text *t = p->text;
    char scope[128], path[200];
    cr_plain_scope(scope, sizeof scope, title_of(p->g, root));
    plain_path(path, sizeof path, root->where.file);
    cr_put(t, "\n/*\n * k%d_%s: %s, %s:%d\n * out", p->number, title, scope, path,
           root->where.line);
    print_shape(t, root);
    if (k->kind == CR_KERNEL_GEMM)
        cr_put(t, " = rows[%lld, %lld] x columns[%lld, %lld]", (long long)extent(k, k->row),
               (long long)k->K, (long long)k->K, (long long)k->N);
    if (k->kind == CR_KERNEL_ATTENTION)
        cr_put(t, " = softmax(q[%lld, %lld] x k[%lld, %lld]) x v[%lld, %lld] for each head",
               (long long)extent(k, k->row), (long long)k->K, (long long)k->K, (long long)k->keys,
               (long long)k->keys, (long long)k->N);
    for (int i = 0; i < k->n_refs; i++) {
        cr_put(t, "%s%s", i ? ", " : "\n * reads ", p->names[i]);
        print_shape(t, &p->g->nodes[k->refs[i]]);
    }
    cr_put(t, "\n");
    print_steps(p, k->kind == CR_KERNEL_GEMM ? "each row first" : "queries first", &k->prologue);
    print_steps(p, "scores", &k->scores);
    print_steps(p, k->kind == CR_KERNEL_TILE ? "steps" : "then", &k->program);
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
    cr_put(t, "    float *out;\n};\n\n");
}

/* "item", divided by `below` and modulo `extent` where that is not idle. */
static void print_digit(struct cr_printer *p, int64_t below, int64_t extent, bool top)
{
    cr_put(p->text, "item");
    if (below > 1)
        cr_put(p->text, " / %lld", (long long)below);
    if (!top)
        cr_put(p->text, " %% %lld", (long long)extent);
}

/* The loop over the items, each taken apart into outer loops, blocks and groups. */
static void print_items(struct cr_printer *p, int64_t below)
{
    const struct cr_kernel *k = p->k;
    cr_put(p->text, "    for (long item = begin; item < end; item++) {\n");
    for (int i = k->n_outer - 1; i >= 0; i--) {
        int64_t size = extent(k, k->outer[i]);
        cr_put(p->text, "        const long o%d = ", i);
        print_digit(p, below, size, i == 0);
        cr_put(p->text, ";\n");
        below *= size;
    }
}

/* The part of a dimension that an item does: "first" to "last", `step` of `size`. */
static void print_part(struct cr_printer *p, const char *first, const char *last, int64_t below,
                       int64_t parts, int64_t part, int64_t size)
{
    struct cr_text *t = p->text;
    if (parts == 1) {
        cr_put(t, "        const long %s = 0, %s = %lld;\n", first, last, (long long)size);
        return;
    }
    cr_put(t, "        const long %s = ", first);
    print_digit(p, below, parts, false);
    cr_put(t, " * %lld;\n        const long %s = %s + %lld < %lld ? %s + %lld : %lld;\n",
           (long long)part, last, first, (long long)part, (long long)size, first, (long long)part,
           (long long)size);
}

static int64_t outer_items(const struct cr_kernel *k)
{
    int64_t items = 1;
    for (int i = 0; i < k->n_outer; i++)
        items *= k->atoms.extent[k->outer[i]];
    return items;
}

/* "const long name = first + step < end ? step : end - first;", or the plain number. */
static void print_count(struct cr_printer *p, int indent, const char *name, const char *first,
                        int64_t step_size, const char *end)
{
    cr_put(p->text, "%*sconst long %s = %s - %s < %lld ? %s - %s : %lld;\n", indent, "", name, end,
           first, (long long)step_size, end, first, (long long)step_size);
}

/* ---- TILE ---- */

static bool reduces(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_REDUCE)
            return true;
    return false;
}

/* Whether nothing in the program has columns. */
static bool all_by_row(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (!tiles->values[i].by_row)
            return false;
    return true;
}

static int64_t print_tile_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    int64_t M = extent(k, k->row), N = extent(k, k->col);
    bool cut = !reduces(&k->program) && N > TILE_COLS;
    int64_t cols = cut ? TILE_COLS : N;
    int64_t rows = min64(M, max64(1, TILE_FLOATS / (all_by_row(&k->program) ? 1 : cols)));
    int64_t blocks = ceil_div(M, rows);
    char count[32], end[32];
    snprintf(count, sizeof count, "%lld", (long long)N);
    snprintf(end, sizeof end, "%lld", (long long)M);
    print_items(p, blocks);
    if (blocks > 1) {
        cr_put(p->text, "        const long i = ");
        print_digit(p, 1, blocks, k->n_outer == 0);
        cr_put(p->text, " * %lld;\n", (long long)rows);
        print_count(p, 8, "m", "i", rows, end);
    }
    if (cut) {
        cr_put(p->text, "        for (long j = 0; j < %lld; j += %lld) {\n", (long long)N,
               (long long)cols);
        print_count(p, 12, "n", "j", cols, count);
    }
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = rows,
                              .max_cols = cols,
                              .first_row = blocks > 1 ? "i" : "0",
                              .first_col = cut ? "j" : "0",
                              .rows = blocks > 1 ? "m" : end,
                              .cols = cut ? "n" : count,
                              .dest_strided = step(&k->dest, k->col) != 1,
                              .indent = cut ? 12 : 8};
    job.dest.ld = step(&k->dest, k->row);
    cr_print_address(p, job.dest.address, sizeof job.dest.address, -1, &k->dest, k->row,
                     job.first_row, k->col, job.first_col);
    cr_print_tiles(p, &job);
    cr_put(p->text, cut ? "        }\n    }\n" : "    }\n");
    return outer_items(k) * blocks;
}

/* ---- GEMM ---- */

/* How the loops of a GEMM are cut. */
struct gemm_shape {
    int64_t M, N, K;
    int64_t block;     /* rows of an item */
    int64_t blocks;
    int64_t group;     /* columns of an item */
    int64_t groups;
    int64_t rows, cols; /* of one call */
};

static struct gemm_shape gemm_shape(const struct cr_kernel *k)
{
    struct gemm_shape s = {.M = extent(k, k->row), .N = k->N, .K = k->K};
    int64_t most = max64(GEMM_STEP_ROWS, min64(192, GEMM_ROWS_FLOATS / s.K));
    s.blocks = k->packed == CR_NONE ? 1 : ceil_div(s.M, most);
    s.block = ceil_div(s.M, s.blocks);
    s.rows = ceil_div(s.block, ceil_div(s.block, GEMM_STEP_ROWS));
    s.cols = min64(round_up(max64(GEMM_STEP_FLOATS / s.rows, PANEL), PANEL), 512);
    s.cols = min64(s.cols, round_up(s.N, PANEL));
    int64_t wanted = ceil_div(GEMM_ITEMS, outer_items(k) * s.blocks);
    s.groups = max64(1, min64(wanted, ceil_div(s.N, s.cols)));
    s.group = round_up(ceil_div(s.N, s.groups), PANEL);
    s.groups = ceil_div(s.N, s.group);
    return s;
}

/* The rows of A for rows i0 to i1, computed into scratch when an item begins a new block. */
static void print_prologue(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = min64(s->block, max64(1, TILE_FLOATS / s->K));
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)s->K);
    const char *all = s->groups == 1 ? "" : " && (item == begin || j0 == 0)";
    cr_put(p->text, "        for (long i = i0; i < i1%s; i += %lld) {\n", all, (long long)rows);
    print_count(p, 12, "m", "i", rows, "i1");
    struct cr_tile_job job = {.tiles = &k->prologue,
                              .row = k->row,
                              .col = k->k,
                              .max_rows = rows,
                              .max_cols = s->K,
                              .first_row = "i",
                              .first_col = "0",
                              .rows = "m",
                              .cols = count,
                              .indent = 12};
    snprintf(job.dest.address, sizeof job.dest.address, "rows + (i - i0) * %lld", (long long)s->K);
    job.dest.ld = s->K;
    cr_print_tiles(p, &job);
    cr_put(p->text, "        }\n");
}

/* The arguments of gemm for its left operand, and of the panels of its right one. */
static void print_gemm_operands(struct cr_printer *p, const struct gemm_shape *s, char *rows,
                                char *panels, size_t size)
{
    const struct cr_kernel *k = p->k;
    long long K = s->K;
    char at[CR_ADDRESS_SIZE];
    if (k->prologue.n) {
        snprintf(rows, size, "rows + (i - i0) * %lld, %lld, 1", K, K);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(rows, size, "%s, %lld, %lld", at, (long long)step(&k->a.at, k->row),
                 (long long)step(&k->a.at, k->k));
    }
    if (k->packed == CR_NONE)
        snprintf(panels, size, "panels + (j - j0) * %lld", K);
    else
        snprintf(panels, size, "a->w + j * %lld", K);
}

/* Packs the columns of an item that are no weights. */
static void print_pack_columns(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    cr_take_scratch(p, "panels", s->K * round_up(s->group, PANEL), "packed columns");
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", k->col, "j0");
    cr_put_line(p->text, 8, "rt->pack(%lld, j1 - j0, panels, %lld, %s, %lld, %lld);",
                (long long)s->K, (long long)(s->K * PANEL), at, (long long)step(&k->b.at, k->k),
                (long long)step(&k->b.at, k->col));
}

/* The call of gemm and the epilogue on the tile it made. */
static void print_product(struct cr_printer *p, const struct gemm_shape *s)
{
    const struct cr_kernel *k = p->k;
    char rows[256], panels[256];
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = s->rows,
                              .max_cols = s->cols,
                              .first_row = "i",
                              .first_col = "j",
                              .rows = "m",
                              .cols = "n",
                              .dest_strided = step(&k->dest, k->col) != 1,
                              .indent = 16};
    if (job.dest_strided) {
        cr_take_scratch(p, "product", s->rows * s->cols, "a tile of the product");
        job.core = (struct cr_tile_at){"product", s->cols};
    } else {
        cr_print_address(p, job.core.address, sizeof job.core.address, -1, &k->dest, k->row, "i",
                         k->col, "j");
        job.core.ld = step(&k->dest, k->row);
    }
    job.dest = job.core;
    print_gemm_operands(p, s, rows, panels, sizeof rows);
    cr_put_line(p->text, 16, "rt->gemm(m, n, %lld, %s, %s, %lld, %s, %lld);", (long long)s->K, rows,
                panels, (long long)(s->K * PANEL), job.core.address, (long long)job.core.ld);
    cr_print_tiles(p, &job);
}

static int64_t print_gemm_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct gemm_shape s = gemm_shape(k);
    struct cr_text *t = p->text;
    if (k->prologue.n)
        cr_take_scratch(p, "rows", s.block * s.K, "rows of the left operand");
    print_items(p, s.blocks * s.groups);
    print_part(p, "i0", "i1", s.groups, s.blocks, s.block, s.M);
    print_part(p, "j0", "j1", 1, s.groups, s.group, s.N);
    if (k->prologue.n)
        print_prologue(p, &s);
    if (k->packed == CR_NONE)
        print_pack_columns(p, &s);
    cr_put(t, "        for (long j = j0; j < j1; j += %lld) {\n", (long long)s.cols);
    print_count(p, 12, "n", "j", s.cols, "j1");
    cr_put(t, "            for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    print_count(p, 16, "m", "i", s.rows, "i1");
    print_product(p, &s);
    cr_put(t, "            }\n        }\n    }\n");
    return outer_items(k) * s.blocks * s.groups;
}

/* ---- ATTENTION ---- */

/* How the rows of an attention kernel are cut. */
struct attention_shape {
    int64_t M, keys;
    int64_t chunk, chunks; /* rows of an item */
    int64_t rows;          /* of one step */
    int64_t width;         /* head_dim in whole panels */
};

static struct attention_shape attention_shape(const struct cr_kernel *k)
{
    struct attention_shape s = {.M = extent(k, k->row), .keys = k->keys};
    int64_t most = ceil_div(s.M, QUERY_ROWS);
    s.chunks = max64(1, min64(most, ceil_div(ATTENTION_ITEMS, outer_items(k))));
    s.chunk = ceil_div(s.M, s.chunks);
    s.chunks = ceil_div(s.M, s.chunk);
    s.rows = ceil_div(s.chunk, ceil_div(s.chunk, QUERY_ROWS));
    s.width = round_up(k->N, PANEL);
    return s;
}

static void take_attention_scratch(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    cr_take_scratch(p, "keys", k->K * round_up(s->keys, PANEL), "packed keys, transposed");
    cr_take_scratch(p, "values", s->keys * s->width, "packed values");
    cr_take_scratch(p, "scores", s->rows * KEY_BLOCK, "rows x a block of keys");
    cr_take_scratch(p, "sums", s->rows * s->width, "of exp(score - max) * value");
    cr_take_scratch(p, "max", s->rows, "of a row's scores so far");
    cr_take_scratch(p, "sum", s->rows, "of exp(score - max) so far");
    cr_take_scratch(p, "scale", s->rows, "exp(old max - new max)");
}

static bool has_bound(const struct cr_kernel *k, bool upper)
{
    for (int i = 0; i < k->n_bounds; i++)
        if (k->bounds[i].upper == upper)
            return true;
    return false;
}

/* "x + offset", or "x". */
static void print_sum(struct cr_text *t, const char *x, int64_t offset)
{
    if (offset)
        cr_put(t, "%s + %lld", x, (long long)offset);
    else
        cr_put(t, "%s", x);
}

/* Narrows the end (or beginning) of a range of keys to what a row sees. */
static void print_bounds(struct cr_printer *p, int indent, bool upper, const char *name,
                         const char *row)
{
    struct cr_text *t = p->text;
    for (int i = 0; i < p->k->n_bounds; i++) {
        const struct cr_bound *b = &p->k->bounds[i];
        if (b->upper != upper)
            continue;
        cr_put(t, "%*sif (", indent, "");
        print_sum(t, row, b->offset);
        cr_put(t, " %c %s)\n%*s%s = ", upper ? '<' : '>', name, indent + 4, "", name);
        print_sum(t, row, b->offset);
        cr_put(t, ";\n");
    }
}

/* Packs the keys and values that the rows of an item see. */
static void print_pack_keys(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    cr_put(p->text, "        %slong visible = %lld; /* keys that any row sees lie before */\n",
           has_bound(k, true) ? "" : "const ", (long long)s->keys);
    print_bounds(p, 8, true, "visible", "i1");
    if (has_bound(k, true))
        cr_put(p->text, "        if (visible < 0)\n            visible = 0;\n");
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(%lld, visible, keys, %lld, %s, %lld, %lld);", (long long)k->K,
                (long long)(k->K * PANEL), at, (long long)step(&k->b.at, k->k),
                (long long)step(&k->b.at, k->key));
    cr_print_address(p, at, sizeof at, k->v.ref, &k->v.at, -1, "", -1, "");
    cr_put_line(p->text, 8, "rt->pack(visible, %lld, values, %lld, %s, %lld, %lld);",
                (long long)k->N, (long long)(s->keys * PANEL), at,
                (long long)step(&k->v.at, k->key), (long long)step(&k->v.at, k->col));
}

/* The condition under which every row of the tile sees every key of the block. */
static void print_all_visible(struct cr_printer *p)
{
    struct cr_text *t = p->text;
    cr_put(t, "                if (");
    for (int i = 0; i < p->k->n_bounds; i++) {
        const struct cr_bound *b = &p->k->bounds[i];
        cr_put(t, i ? " && " : "");
        cr_put(t, b->upper ? "j + n <= " : "j >= ");
        print_sum(t, b->upper ? "i" : "i + m", b->offset + (b->upper ? 1 : -1));
    }
    cr_put(t, ") { /* every row sees every key of the block */\n");
}

/* From the product of q and k to logits; masked where some row sees only a part of the keys. */
static void print_scores(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_tile_job job = {.tiles = &k->scores,
                              .row = k->row,
                              .col = k->key,
                              .max_rows = s->rows,
                              .max_cols = KEY_BLOCK,
                              .first_row = "i",
                              .first_col = "j",
                              .rows = "m",
                              .cols = "n",
                              .core = {"scores", KEY_BLOCK},
                              .dest = {"scores", KEY_BLOCK},
                              .indent = 16};
    if (!k->unmasked.n) {
        cr_print_tiles(p, &job);
        return;
    }
    print_all_visible(p);
    job.indent = 20;
    job.tiles = &k->unmasked;
    cr_print_tiles(p, &job);
    cr_put(p->text, "                } else {\n");
    job.tiles = &k->scores;
    cr_print_tiles(p, &job);
    cr_put(p->text, "                }\n");
}

/* Nothing seen yet: a maximum of -inf, sums of 0; and the range of keys to go through. */
static void print_row_start(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char zero[64], minus[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_print_constant(p, minus, sizeof minus, -1.0 / 0.0);
    cr_put(t, "            rt->load(1, m, max, 0, %s, 0, 0);\n", minus);
    cr_put(t, "            rt->load(1, m, sum, 0, %s, 0, 0);\n", zero);
    cr_put(t, "            rt->load(m, %lld, sums, %lld, %s, 0, 0);\n", (long long)k->N,
           (long long)s->width, zero);
    cr_put(t, "            %slong last = visible;\n", has_bound(k, true) ? "" : "const ");
    print_bounds(p, 12, true, "last", "i + m");
    cr_put(t, "            %slong first = 0;\n", has_bound(k, false) ? "" : "const ");
    print_bounds(p, 12, false, "first", "i");
    if (has_bound(k, false))
        cr_put(t, "            first -= first %% %d; /* blocks begin at fixed keys */\n", KEY_BLOCK);
}

/* The arguments of gemm for the queries: in place, or computed into scratch. */
static void print_queries(struct cr_printer *p, const struct attention_shape *s, char *queries,
                          size_t size)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], count[32];
    if (!k->prologue.n) {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(queries, size, "%s, %lld, %lld", at, (long long)step(&k->a.at, k->row),
                 (long long)step(&k->a.at, k->k));
        return;
    }
    snprintf(count, sizeof count, "%lld", (long long)k->K);
    struct cr_tile_job job = {.tiles = &k->prologue,
                              .row = k->row,
                              .col = k->k,
                              .max_rows = s->rows,
                              .max_cols = k->K,
                              .first_row = "i",
                              .first_col = "0",
                              .rows = "m",
                              .cols = count,
                              .dest = {"queries", k->K},
                              .indent = 12};
    cr_take_scratch(p, "queries", s->rows * k->K, "rows of queries");
    cr_print_tiles(p, &job);
    snprintf(queries, size, "queries, %lld, 1", (long long)k->K);
}

/* The online softmax over blocks of keys for rows i to i + m. */
static void print_key_loop(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char queries[256];
    print_queries(p, s, queries, sizeof queries);
    cr_put(t, "            for (long j = first; j < last; j += %d) {\n", KEY_BLOCK);
    print_count(p, 16, "n", "j", KEY_BLOCK, "last");
    cr_put_line(t, 16, "rt->gemm(m, n, %lld, %s, keys + j * %lld, %lld, scores, %d);",
                (long long)k->K, queries, (long long)k->K, (long long)(k->K * PANEL), KEY_BLOCK);
    print_scores(p, s);
    cr_put(t, "                rt->softmax_block(m, n, scores, %d, max, sum, scale);\n", KEY_BLOCK);
    cr_put_line(t, 16,
                "rt->gemm_scaled(m, %lld, n, scores, %d, 1, values + j * %d, %lld, sums, %lld, "
                "scale);",
                (long long)k->N, KEY_BLOCK, PANEL, (long long)(s->keys * PANEL),
                (long long)s->width);
    cr_put(t, "            }\n");
}

/* Divides by the sums and does the epilogue. */
static void print_attention_end(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)k->N);
    struct cr_tile_job job = {.tiles = &k->program,
                              .row = k->row,
                              .col = k->col,
                              .max_rows = s->rows,
                              .max_cols = s->width,
                              .first_row = "i",
                              .first_col = "0",
                              .rows = "m",
                              .cols = count,
                              .dest_strided = step(&k->dest, k->col) != 1,
                              .core = {"sums", s->width},
                              .indent = 12};
    if (!job.dest_strided) {
        cr_print_address(p, job.core.address, sizeof job.core.address, -1, &k->dest, k->row, "i",
                         k->col, "0");
        job.core.ld = step(&k->dest, k->row);
    }
    job.dest = job.core;
    cr_put_line(p->text, 12, "rt->div_vs(m, %lld, %s, %lld, sums, %lld, sum, 1);", (long long)k->N,
                job.core.address, (long long)job.core.ld, (long long)s->width);
    cr_print_tiles(p, &job);
}

static int64_t print_attention_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct attention_shape s = attention_shape(k);
    take_attention_scratch(p, &s);
    print_items(p, s.chunks);
    print_part(p, "i0", "i1", 1, s.chunks, s.chunk, s.M);
    print_pack_keys(p, &s);
    cr_put(p->text, "        for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    print_count(p, 12, "m", "i", s.rows, "i1");
    print_row_start(p, &s);
    print_key_loop(p, &s);
    print_attention_end(p, &s);
    cr_put(p->text, "        }\n    }\n");
    return outer_items(k) * s.chunks;
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
    struct cr_printer p = {.text = &body, .g = module->graph, .k = &module->kernels[kernel],
                           .number = number};
    name_operands(&p);
    const struct cr_node *root = &p.g->nodes[p.k->root];
    function->number = number;
    cr_identifier(function->title, sizeof function->title, title_of(p.g, root));
    if (!*function->title)
        snprintf(function->title, sizeof function->title, "tile");
    switch (p.k->kind) {
    case CR_KERNEL_TILE:
        function->items = print_tile_kernel(&p);
        break;
    case CR_KERNEL_GEMM:
        function->items = print_gemm_kernel(&p);
        break;
    case CR_KERNEL_ATTENTION:
        function->items = print_attention_kernel(&p);
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
