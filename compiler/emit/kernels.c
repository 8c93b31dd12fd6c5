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

void cr_identifier(char *buffer, size_t size, const char *name)
{
    size_t n = 0;
    bool number = false;
    for (const char *p = name; *p && n + 2 < size; p++) {
        bool start = p == name || p[-1] == '.';
        if (start)
            number = p[strspn(p, "0123456789")] == '.' || !p[strspn(p, "0123456789")];
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9');
        if (!number && (plain || n > 0))
            buffer[n++] = plain ? *p : '_';
    }
    while (n && buffer[n - 1] == '_')
        n--;
    buffer[n] = 0;
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

/* What the kernel computes, where it comes from, and what it costs. */
static void print_comment(struct cr_printer *p, const char *title)
{
    const struct cr_kernel *k = p->k;
    const struct cr_node *root = &p->g->nodes[k->root];
    struct cr_text *t = p->text;
    cr_put(t, "\n/*\n * k%d_%s: %s   %s:%d\n * out", p->number, title,
           *root->where.scope ? root->where.scope : p->g->name, root->where.file, root->where.line);
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
    print_steps(p, "each row first", &k->prologue);
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

/* One loop over the items of the parallel loop, taken apart into outer loops and blocks. */
static void print_items(struct cr_printer *p, int64_t row_blocks, int64_t col_groups)
{
    struct cr_text *t = p->text;
    const struct cr_kernel *k = p->k;
    int64_t below = row_blocks * col_groups;
    cr_put(t, "    for (long item = begin; item < end; item++) {\n");
    for (int i = k->n_outer - 1; i >= 0; i--) {
        cr_put(t, "        const long o%d = item", i);
        if (below > 1)
            cr_put(t, " / %lld", (long long)below);
        below *= extent(k, k->outer[i]);
        if (i > 0)
            cr_put(t, " %% %lld", (long long)extent(k, k->outer[i]));
        cr_put(t, ";\n");
    }
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
    char count[32], row_end[32], col_end[32];
    snprintf(row_end, sizeof row_end, "%lld", (long long)M);
    snprintf(col_end, sizeof col_end, "%lld", (long long)N);
    snprintf(count, sizeof count, "%lld", (long long)N);
    print_items(p, blocks, 1);
    cr_put(p->text, "        const long i = item %% %lld * %lld;\n", (long long)blocks,
           (long long)rows);
    print_count(p, 8, "m", "i", rows, row_end);
    if (cut) {
        cr_put(p->text, "        for (long j = 0; j < %lld; j += %lld) {\n", (long long)N,
               (long long)cols);
        print_count(p, 12, "n", "j", cols, col_end);
    }
    struct cr_tile_job job = {.tiles = &k->program, .row = k->row, .col = k->col,
                              .max_rows = rows, .max_cols = cols, .first_row = "i",
                              .first_col = cut ? "j" : "0", .rows = "m", .cols = cut ? "n" : count,
                              .dest_strided = step(&k->dest, k->col) != 1,
                              .indent = cut ? 12 : 8};
    job.dest.ld = step(&k->dest, k->row);
    cr_print_address(p, job.dest.address, sizeof job.dest.address, -1, &k->dest, k->row, "i", k->col,
                     job.first_col);
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
static void print_prologue(struct cr_printer *p, const struct gemm_shape *s, int64_t buffer)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = min64(s->block, max64(1, TILE_FLOATS / s->K));
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)s->K);
    if (s->groups > 1)
        cr_put(p->text, "        if (item == begin || item %% %lld == 0)\n", (long long)s->groups);
    cr_put(p->text, "        for (long i = i0; i < i1; i += %lld) {\n", (long long)rows);
    print_count(p, 12, "m", "i", rows, "i1");
    struct cr_tile_job job = {.tiles = &k->prologue, .row = k->row, .col = k->k, .max_rows = rows,
                              .max_cols = s->K, .first_row = "i", .first_col = "0", .rows = "m",
                              .cols = count, .indent = 12};
    snprintf(job.dest.address, sizeof job.dest.address, "scratch + %lld + (i - i0) * %lld",
             (long long)buffer, (long long)s->K);
    job.dest.ld = s->K;
    cr_print_tiles(p, &job);
    cr_put(p->text, "        }\n");
}

/* The call of gemm and the epilogue on the tile it made. */
static void print_product(struct cr_printer *p, const struct gemm_shape *s, const char *rows,
                          const char *columns)
{
    const struct cr_kernel *k = p->k;
    struct cr_tile_job job = {.tiles = &k->program, .row = k->row, .col = k->col,
                              .max_rows = s->rows, .max_cols = s->cols, .first_row = "i",
                              .first_col = "j", .rows = "m", .cols = "n",
                              .dest_strided = step(&k->dest, k->col) != 1, .indent = 16};
    if (job.dest_strided) {
        snprintf(job.core.address, sizeof job.core.address, "scratch + %lld",
                 (long long)cr_take_scratch(p, s->rows * s->cols));
        job.core.ld = s->cols;
    } else {
        cr_print_address(p, job.core.address, sizeof job.core.address, -1, &k->dest, k->row, "i",
                         k->col, "j");
        job.core.ld = step(&k->dest, k->row);
    }
    job.dest = job.core;
    cr_put(p->text, "                rt->gemm(m, n, %lld, %s, %s, %lld, %s, %lld);\n",
           (long long)s->K, rows, columns, (long long)(s->K * PANEL), job.core.address,
           (long long)job.core.ld);
    cr_print_tiles(p, &job);
}

static int64_t print_gemm_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct gemm_shape s = gemm_shape(k);
    struct cr_text *t = p->text;
    char rows[256], columns[256], at[192];
    bool prologue = k->prologue.n > 0;
    int64_t buffer = prologue ? cr_take_scratch(p, s.block * s.K) : 0;
    int64_t panels = k->packed == CR_NONE ? cr_take_scratch(p, s.K * round_up(s.group, PANEL)) : 0;
    print_items(p, s.blocks, s.groups);
    cr_put(t, "        const long i0 = item / %lld %% %lld * %lld, i1 = i0 + %lld < %lld ? i0 + %lld : %lld;\n",
           (long long)s.groups, (long long)s.blocks, (long long)s.block, (long long)s.block,
           (long long)s.M, (long long)s.block, (long long)s.M);
    cr_put(t, "        const long j0 = item %% %lld * %lld, j1 = j0 + %lld < %lld ? j0 + %lld : %lld;\n",
           (long long)s.groups, (long long)s.group, (long long)s.group, (long long)s.N,
           (long long)s.group, (long long)s.N);
    if (prologue) {
        print_prologue(p, &s, buffer);
        snprintf(rows, sizeof rows, "scratch + %lld + (i - i0) * %lld, %lld, 1", (long long)buffer,
                 (long long)s.K, (long long)s.K);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
        snprintf(rows, sizeof rows, "%s, %lld, %lld", at, (long long)step(&k->a.at, k->row),
                 (long long)step(&k->a.at, k->k));
    }
    if (k->packed == CR_NONE) {
        cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", k->col, "j0");
        cr_put(t, "        rt->pack(%lld, j1 - j0, scratch + %lld, %lld, %s, %lld, %lld);\n",
               (long long)s.K, (long long)panels, (long long)(s.K * PANEL), at,
               (long long)step(&k->b.at, k->k), (long long)step(&k->b.at, k->col));
        snprintf(columns, sizeof columns, "scratch + %lld + (j - j0) * %lld", (long long)panels,
                 (long long)s.K);
    } else {
        snprintf(columns, sizeof columns, "a->w + j * %lld", (long long)s.K);
    }
    cr_put(t, "        for (long j = j0; j < j1; j += %lld) {\n", (long long)s.cols);
    print_count(p, 12, "n", "j", s.cols, "j1");
    cr_put(t, "            for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    print_count(p, 16, "m", "i", s.rows, "i1");
    print_product(p, &s, rows, columns);
    cr_put(t, "            }\n        }\n    }\n");
    return outer_items(k) * s.blocks * s.groups;
}

/* ---- ATTENTION ---- */

/* Scratch of an attention kernel, and how its rows are cut. */
struct attention_shape {
    int64_t M, chunk, chunks, rows, keys, width; /* width: head_dim in whole panels */
    int64_t k_panels, v_panels, scores, sums, max, sum, scale;
};

static struct attention_shape attention_shape(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct attention_shape s = {.M = extent(k, k->row), .keys = k->keys};
    int64_t most = ceil_div(s.M, QUERY_ROWS);
    s.chunks = max64(1, min64(most, ceil_div(ATTENTION_ITEMS, outer_items(k))));
    s.chunk = ceil_div(s.M, s.chunks);
    s.rows = ceil_div(s.chunk, ceil_div(s.chunk, QUERY_ROWS));
    s.width = round_up(k->N, PANEL);
    s.k_panels = cr_take_scratch(p, k->K * round_up(s.keys, PANEL));
    s.v_panels = cr_take_scratch(p, s.keys * s.width);
    s.scores = cr_take_scratch(p, s.rows * KEY_BLOCK);
    s.sums = cr_take_scratch(p, s.rows * s.width);
    s.max = cr_take_scratch(p, s.rows);
    s.sum = cr_take_scratch(p, s.rows);
    s.scale = cr_take_scratch(p, s.rows);
    return s;
}

/* "const long name = ...": the least end, or the greatest begin, of keys that rows up to
 * `last` (or from `first` on) see. */
static void print_key_range(struct cr_printer *p, int indent, const char *begin, const char *end,
                            const char *first, const char *last, bool blocks)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    cr_put(t, "%*slong %s = 0, %s = %lld;\n", indent, "", begin, end, (long long)k->keys);
    for (int i = 0; i < k->n_bounds; i++) {
        const struct cr_bound *b = &k->bounds[i];
        long long offset = b->offset;
        if (b->upper)
            cr_put(t, "%*s%s = %s + %lld < %s ? %s + %lld : %s;\n", indent, "", end, last, offset,
                   end, last, offset, end);
        else
            cr_put(t, "%*s%s = %s + %lld > %s ? %s + %lld : %s;\n", indent, "", begin, first,
                   offset, begin, first, offset, begin);
    }
    if (blocks && k->n_bounds)
        cr_put(t, "%*s%s -= %s %% %d;\n", indent, "", begin, begin, KEY_BLOCK);
}

/* Packs the keys and values of one head. */
static void print_pack(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char at[192];
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, -1, "", -1, "");
    cr_put(p->text, "        rt->pack(%lld, last, scratch + %lld, %lld, %s, %lld, %lld);\n",
           (long long)k->K, (long long)s->k_panels, (long long)(k->K * PANEL), at,
           (long long)step(&k->b.at, k->k), (long long)step(&k->b.at, k->key));
    cr_print_address(p, at, sizeof at, k->v.ref, &k->v.at, -1, "", -1, "");
    cr_put(p->text, "        rt->pack(last, %lld, scratch + %lld, %lld, %s, %lld, %lld);\n",
           (long long)k->N, (long long)s->v_panels, (long long)(s->keys * PANEL), at,
           (long long)step(&k->v.at, k->key), (long long)step(&k->v.at, k->col));
}

/* From the product of q and k to logits; masked where some row sees only a part of the keys. */
static void print_scores(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    struct cr_tile_job job = {.tiles = &k->scores, .row = k->row, .col = k->key,
                              .max_rows = s->rows, .max_cols = KEY_BLOCK, .first_row = "i",
                              .first_col = "j", .rows = "m", .cols = "n", .indent = 16};
    snprintf(job.core.address, sizeof job.core.address, "scratch + %lld", (long long)s->scores);
    job.core.ld = KEY_BLOCK;
    job.dest = job.core;
    if (!k->unmasked.n) {
        cr_print_tiles(p, &job);
        return;
    }
    cr_put(t, "                if (");
    for (int i = 0; i < k->n_bounds; i++)
        cr_put(t, k->bounds[i].upper ? "%sj + n <= i + %lld" : "%sj >= i + m + %lld",
               i ? " && " : "", (long long)(k->bounds[i].offset + (k->bounds[i].upper ? 1 : -1)));
    cr_put(t, ") { /* every row sees every key */\n");
    job.indent = 20;
    job.tiles = &k->unmasked;
    cr_print_tiles(p, &job);
    cr_put(t, "                } else {\n");
    job.tiles = &k->scores;
    cr_print_tiles(p, &job);
    cr_put(t, "                }\n");
}

/* The online softmax over blocks of keys for rows i to i + m. */
static void print_key_loop(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    struct cr_text *t = p->text;
    char at[192], zero[64], minus[64];
    cr_print_constant(p, zero, sizeof zero, 0);
    cr_print_constant(p, minus, sizeof minus, -1.0 / 0.0);
    cr_put(t, "            rt->load(1, m, scratch + %lld, 0, %s, 0, 0);\n", (long long)s->max, minus);
    cr_put(t, "            rt->load(1, m, scratch + %lld, 0, %s, 0, 0);\n", (long long)s->sum, zero);
    cr_put(t, "            rt->load(m, %lld, scratch + %lld, %lld, %s, 0, 0);\n", (long long)k->N,
           (long long)s->sums, (long long)s->width, zero);
    print_key_range(p, 12, "first_key", "last_key", "i", "(i + m)", true);
    cr_put(t, "            for (long j = first_key; j < last_key; j += %d) {\n", KEY_BLOCK);
    print_count(p, 16, "n", "j", KEY_BLOCK, "last_key");
    cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", -1, "");
    cr_put(t, "                rt->gemm(m, n, %lld, %s, %lld, %lld, scratch + %lld + j * %lld, %lld, scratch + %lld, %d);\n",
           (long long)k->K, at, (long long)step(&k->a.at, k->row), (long long)step(&k->a.at, k->k),
           (long long)s->k_panels, (long long)k->K, (long long)(k->K * PANEL),
           (long long)s->scores, KEY_BLOCK);
    print_scores(p, s);
    cr_put(t, "                rt->softmax_block(m, n, scratch + %lld, %d, scratch + %lld, scratch + %lld, scratch + %lld);\n",
           (long long)s->scores, KEY_BLOCK, (long long)s->max, (long long)s->sum,
           (long long)s->scale);
    cr_put(t, "                rt->gemm_scaled(m, %lld, n, scratch + %lld, %d, 1, scratch + %lld + j * %d, %lld, scratch + %lld, %lld, scratch + %lld);\n",
           (long long)k->N, (long long)s->scores, KEY_BLOCK, (long long)s->v_panels, PANEL,
           (long long)(s->keys * PANEL), (long long)s->sums, (long long)s->width,
           (long long)s->scale);
    cr_put(t, "            }\n");
}

/* Divides by the sums and does the epilogue. */
static void print_attention_end(struct cr_printer *p, const struct attention_shape *s)
{
    const struct cr_kernel *k = p->k;
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)k->N);
    struct cr_tile_job job = {.tiles = &k->program, .row = k->row, .col = k->col,
                              .max_rows = s->rows, .max_cols = s->width, .first_row = "i",
                              .first_col = "0", .rows = "m", .cols = count,
                              .dest_strided = step(&k->dest, k->col) != 1, .indent = 12};
    if (job.dest_strided) {
        snprintf(job.core.address, sizeof job.core.address, "scratch + %lld", (long long)s->sums);
        job.core.ld = s->width;
    } else {
        cr_print_address(p, job.core.address, sizeof job.core.address, -1, &k->dest, k->row, "i",
                         k->col, "0");
        job.core.ld = step(&k->dest, k->row);
    }
    job.dest = job.core;
    cr_put(p->text, "            rt->div_vs(m, %lld, %s, %lld, scratch + %lld, %lld, scratch + %lld, 1);\n",
           (long long)k->N, job.core.address, (long long)job.core.ld, (long long)s->sums,
           (long long)s->width, (long long)s->sum);
    cr_print_tiles(p, &job);
}

static int64_t print_attention_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct attention_shape s = attention_shape(p);
    struct cr_text *t = p->text;
    print_items(p, s.chunks, 1);
    cr_put(t, "        const long i0 = item %% %lld * %lld, i1 = i0 + %lld < %lld ? i0 + %lld : %lld;\n",
           (long long)s.chunks, (long long)s.chunk, (long long)s.chunk, (long long)s.M,
           (long long)s.chunk, (long long)s.M);
    print_key_range(p, 8, "first", "last", "i0", "i1", false);
    cr_put(t, "        (void)first;\n");
    print_pack(p, &s);
    cr_put(t, "        for (long i = i0; i < i1; i += %lld) {\n", (long long)s.rows);
    print_count(p, 12, "m", "i", s.rows, "i1");
    print_key_loop(p, &s);
    print_attention_end(p, &s);
    cr_put(t, "        }\n    }\n");
    return outer_items(k) * s.chunks;
}

/* ---- one kernel ---- */

/* The constants stand before the function, but are known only after its body. */
static void assemble(struct cr_text *text, struct cr_printer *p, struct cr_text *body,
                     const char *title)
{
    p->text = text;
    print_comment(p, title);
    print_struct(p);
    if (p->n_constants)
        cr_put(text, "static const float k%d_constants[] = {%s};\n\n", p->number,
               p->constants.data);
    cr_put(text,
           "static void k%d_%s(const void *args, long begin, long end, float *scratch)\n{\n"
           "    const struct k%d_args *a = args;\n"
           "    const struct cr_kernels *rt = a->rt;\n",
           p->number, title, p->number);
    if (!p->scratch)
        cr_put(text, "    (void)scratch;\n");
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
    cr_identifier(function->title, sizeof function->title,
                  *root->where.scope ? root->where.scope : p.g->name);
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
}
