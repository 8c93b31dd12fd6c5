/*
 * A matrix product of two things that are computed: the columns of the right operand are
 * packed as the kernel runs, once for each item, and so are rows of a left operand that lies
 * transposed, as it does in the gradient of a weight, X' dY.  A long k is done in parts, which
 * continue each other's chains of fma.
 */
#include <stdio.h>

#include "gemm.h"

static bool is_transposed(const struct cr_kernel *k)
{
    return !k->prologue.n && cr_step(&k->a.at, k->row) == 1 && cr_step(&k->a.at, k->k) > 1;
}

/* An item is a block of rows by a group of columns, so large that packing costs little beside
 * multiplying, and so small that there are some for every thread. */
static struct cr_gemm_loops cut(const struct cr_kernel *k)
{
    struct cr_gemm_loops s = {.M = cr_extent(k, k->row), .N = k->N, .K = k->K};
    s.depth = s.K;
    s.indent = 8;
    int64_t outer = cr_outer_items(k);
    s.blocks = cr_ceil_div(s.M, MATMUL_ROWS);
    s.groups = cr_ceil_div(s.N, MATMUL_COLS);
    for (;;) {
        s.block = cr_round_up(cr_ceil_div(s.M, s.blocks), s.blocks > 1 ? PANEL : 1);
        s.group = cr_round_up(cr_ceil_div(s.N, s.groups), PANEL);
        bool enough = outer * s.blocks * s.groups >= MATMUL_ITEMS;
        if (enough || cr_max(s.block, s.group) < 2 * MATMUL_LEAST)
            break;
        *(s.block > s.group ? &s.blocks : &s.groups) *= 2;
    }
    s.blocks = cr_ceil_div(s.M, s.block);
    s.groups = cr_ceil_div(s.N, s.group);
    if (s.K > MATMUL_DEPTH && !k->prologue.n && !cr_needs_product(k))
        s.depth = MATMUL_DEPTH, s.indent = 12;
    cr_cut_calls(&s);
    if (is_transposed(k)) { /* rows are packed, too: a call takes a panel of them */
        s.rows = cr_min(s.M, PANEL);
        s.cols = cr_min(s.cols, cr_max(PANEL, GEMM_STEP_FLOATS / s.rows / PANEL * PANEL));
    }
    return s;
}

/* The columns j0 to j1 of the right operand, packed; returns the distance of panels. */
static long long print_pack_columns(struct cr_printer *p, const struct cr_gemm_loops *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], depth[32];
    bool whole = s->depth == s->K;
    snprintf(depth, sizeof depth, "%lld", (long long)s->K);
    cr_take_scratch(p, "panels", s->depth * cr_round_up(s->group, PANEL), "packed columns");
    cr_print_address(p, at, sizeof at, k->b.ref, &k->b.at, whole ? -1 : k->k, "k0", k->col, "j0");
    cr_put_line(p->text, s->indent, "rt->pack(%s, j1 - j0, panels, %lld, %s, %lld, %lld);",
                whole ? depth : "d", (long long)(s->depth * PANEL), at,
                (long long)cr_step(&k->b.at, k->k), (long long)cr_step(&k->b.at, k->col));
    return s->depth * PANEL;
}

/* The rows i0 to i1 of a left operand that lies transposed, packed as if they were columns. */
static void print_pack_rows(struct cr_printer *p, const struct cr_gemm_loops *s)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE], depth[32];
    bool whole = s->depth == s->K;
    snprintf(depth, sizeof depth, "%lld", (long long)s->K);
    cr_take_scratch(p, "rows", s->depth * cr_round_up(s->block, PANEL),
                    "packed rows of the left operand");
    cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i0", whole ? -1 : k->k, "k0");
    cr_put_line(p->text, s->indent, "rt->pack(%s, i1 - i0, rows, %lld, %s, %lld, 1);",
                whole ? depth : "d", (long long)(s->depth * PANEL), at,
                (long long)cr_step(&k->a.at, k->k));
}

/* Makes the rows of an item and says, as arguments of gemm, where they are. */
static void print_rows(struct cr_printer *p, const struct cr_gemm_loops *s, char *rows, size_t size)
{
    const struct cr_kernel *k = p->k;
    char at[CR_ADDRESS_SIZE];
    bool whole = s->depth == s->K;
    if (k->prologue.n) {
        cr_print_prologue(p, s, "");
        snprintf(rows, size, "rows + (i - i0) * %lld, %lld, 1", (long long)s->K, (long long)s->K);
    } else if (is_transposed(k)) {
        print_pack_rows(p, s);
        snprintf(rows, size, "rows + (i - i0) * %lld, 1, %d", (long long)s->depth, PANEL);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", whole ? -1 : k->k,
                         "k0");
        snprintf(rows, size, "%s, %lld, %lld", at, (long long)cr_step(&k->a.at, k->row),
                 (long long)cr_step(&k->a.at, k->k));
    }
}

int64_t cr_print_matmul_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct cr_gemm_loops s = cut(k);
    char rows[CR_ADDRESS_SIZE + 64], panels[64];
    bool parts = s.depth < s.K;
    cr_print_items(p, s.blocks * s.groups);
    cr_print_part(p, "i0", "i1", s.groups, s.blocks, s.block, s.M);
    cr_print_part(p, "j0", "j1", 1, s.groups, s.group, s.N);
    if (parts) {
        cr_put(p->text, "        for (long k0 = 0; k0 < %lld; k0 += %lld) {\n", (long long)s.K,
               (long long)s.depth);
        char end[32];
        snprintf(end, sizeof end, "%lld", (long long)s.K);
        cr_print_count(p, 12, "d", "k0", s.depth, end);
    }
    long long stride = print_pack_columns(p, &s);
    snprintf(panels, sizeof panels, "panels + (j - j0) * %lld, %lld", stride / PANEL, stride);
    print_rows(p, &s, rows, sizeof rows);
    cr_print_gemm_tiles(p, &s, rows, panels);
    cr_put(p->text, parts ? "        }\n    }\n" : "    }\n");
    return cr_outer_items(k) * s.blocks * s.groups;
}
