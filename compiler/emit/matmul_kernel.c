/*
 * A matrix product of two things that are computed: the columns of the right operand are
 * packed as the kernel runs, and so are rows of a left operand that lies transposed, as it does
 * in the gradient of a weight, X' dY.  A long k is done in parts, which continue each other's
 * chains of fma.
 *
 * Of the two loops inside an item, the outer one packs what its step needs, which is little
 * enough to stay in the second-level cache, and the inner one goes through all of the other
 * operand, which was packed before: once for all the items that a thread does in a row and
 * that share it.
 */
#include <stdio.h>

#include "gemm.h"

enum packing {
    IN_PLACE, /* not at all */
    BY_STEP,  /* of the outer loop */
    BY_ITEM,
};

struct matmul {
    struct cr_gemm_loops s;
    enum packing rows, columns;
};

static bool is_transposed(const struct cr_kernel *k)
{
    return !k->prologue.n && cr_step(&k->a.at, k->row) == 1 && cr_step(&k->a.at, k->k) > 1;
}

/* An item is a block of rows by a group of columns, so large that packing costs little beside
 * multiplying, and so small that there are some for every thread. */
static struct cr_gemm_loops cut_items(const struct cr_kernel *k)
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

static bool is_whole(const struct matmul *m)
{
    return m->s.depth == m->s.K;
}

/*
 * Columns that all of a thread's items share are packed as a whole, once.  A large gradient of a
 * weight, which is read when the whole backward pass is over, goes past the caches.
 */
static struct matmul cut(const struct cr_kernel *k)
{
    struct matmul m = {.s = cut_items(k)};
    bool shared = is_whole(&m) && m.s.groups == 1 && m.s.blocks > 1;
    m.columns = shared ? BY_ITEM : BY_STEP;
    m.rows = !is_transposed(k) ? IN_PLACE : shared ? BY_STEP : BY_ITEM;
    m.s.stream = m.rows != IN_PLACE && is_whole(&m) && !cr_needs_product(k) &&
                 (double)cr_outer_items(k) * (double)m.s.M * (double)m.s.N >= STREAM_FLOATS;
    return m;
}

/* What is packed, and how its columns (of a left operand that lies transposed, its rows) are
 * called in C. */
struct packed {
    const struct cr_operand *operand;
    int across;                               /* the atom of those columns */
    const char *name, *at, *count;            /* of the scratch, and of a step */
    const char *first, *all, *first_of_other; /* of the item */
    bool is_shared;                           /* with items that differ in the other ones alone */
};

/* Packs those of the item, once for all that share it, or those of a step. */
static void print_pack(struct cr_printer *p, const struct matmul *m, enum packing when,
                       const struct packed *x)
{
    const struct cr_kernel *k = p->k;
    bool step = when == BY_STEP, whole = is_whole(m);
    char at[CR_ADDRESS_SIZE], depth[32] = "d";
    int indent = m->s.indent + (step ? 4 : 0);
    if (whole)
        snprintf(depth, sizeof depth, "%lld", (long long)m->s.K);
    if (!step && whole && x->is_shared) {
        cr_put(p->text, "%*sif (item == begin || %s == 0)\n", indent, "", x->first_of_other);
        indent += 4;
    }
    cr_print_address(p, at, sizeof at, x->operand->ref, &x->operand->at, whole ? -1 : k->k, "k0",
                     x->across, step ? x->at : x->first);
    cr_put_line(p->text, indent, "rt->pack(%s, %s, %s, %lld, %s, %lld, %lld);", depth,
                step ? x->count : x->all, x->name, (long long)(m->s.depth * PANEL), at,
                (long long)cr_step(&x->operand->at, k->k),
                (long long)cr_step(&x->operand->at, x->across));
}

/* What is packed at this time. */
static void print_packs(struct cr_printer *p, const struct matmul *m, enum packing when)
{
    const struct cr_kernel *k = p->k;
    const struct packed rows = {&k->a,     k->row, "rows",         "i", "m", "i0",
                                "i1 - i0", "j0",   m->s.groups > 1};
    const struct packed columns = {&k->b,     k->col, "panels",       "j", "n", "j0",
                                   "j1 - j0", "i0",   m->s.blocks > 1};
    if (m->rows == when)
        print_pack(p, m, when, &rows);
    if (m->columns == when)
        print_pack(p, m, when, &columns);
}

/* Names the scratch that operands are packed into. */
static void take_scratch(struct cr_printer *p, const struct matmul *m)
{
    const struct cr_gemm_loops *s = &m->s;
    int64_t columns = m->columns == BY_STEP ? s->cols : s->group;
    int64_t rows = m->rows == BY_STEP ? s->rows : s->block;
    cr_take_scratch(p, "panels", s->depth * cr_round_up(columns, PANEL), "packed columns");
    if (m->rows != IN_PLACE)
        cr_take_scratch(p, "rows", s->depth * cr_round_up(rows, PANEL),
                        "packed rows of the left operand");
}

/* Says, as arguments of gemm, where the rows are ... */
static void rows_text(struct cr_printer *p, const struct matmul *m, char *rows, size_t size)
{
    const struct cr_kernel *k = p->k;
    const struct cr_gemm_loops *s = &m->s;
    char at[CR_ADDRESS_SIZE];
    if (k->prologue.n) {
        snprintf(rows, size, "rows + (i - i0) * %lld, %lld, 1", (long long)s->K, (long long)s->K);
    } else if (m->rows == BY_STEP) {
        snprintf(rows, size, "rows, 1, %d", PANEL);
    } else if (m->rows == BY_ITEM) {
        snprintf(rows, size, "rows + (i - i0) * %lld, 1, %d", (long long)s->depth, PANEL);
    } else {
        cr_print_address(p, at, sizeof at, k->a.ref, &k->a.at, k->row, "i", is_whole(m) ? -1 : k->k,
                         "k0");
        snprintf(rows, size, "%s, %lld, %lld", at, (long long)cr_step(&k->a.at, k->row),
                 (long long)cr_step(&k->a.at, k->k));
    }
}

/* ... and the columns. */
static void columns_text(const struct matmul *m, char *panels, size_t size)
{
    long long depth = m->s.depth;
    if (m->columns == BY_STEP)
        snprintf(panels, size, "panels, %lld", depth * PANEL);
    else
        snprintf(panels, size, "panels + (j - j0) * %lld, %lld", depth, depth * PANEL);
}

/* The two loops of an item (or of a part of its k) and the call of gemm in them. */
static void print_loops(struct cr_printer *p, const struct matmul *m)
{
    const struct cr_gemm_loops *s = &m->s;
    char rows[CR_ADDRESS_SIZE + 64], panels[64];
    bool by_rows = m->rows == BY_STEP;
    rows_text(p, m, rows, sizeof rows);
    columns_text(m, panels, sizeof panels);
    print_packs(p, m, BY_ITEM);
    (by_rows ? cr_print_rows_loop : cr_print_columns_loop)(p, s, s->indent);
    print_packs(p, m, BY_STEP);
    (by_rows ? cr_print_columns_loop : cr_print_rows_loop)(p, s, s->indent + 4);
    cr_print_gemm_tile(p, s, rows, panels);
    cr_put(p->text, "%*s}\n%*s}\n", s->indent + 4, "", s->indent, "");
}

int64_t cr_print_matmul_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    struct matmul m = cut(k);
    const struct cr_gemm_loops *s = &m.s;
    take_scratch(p, &m);
    cr_print_items(p, s->blocks * s->groups);
    cr_print_part(p, "i0", "i1", s->groups, s->blocks, s->block, s->M);
    cr_print_part(p, "j0", "j1", 1, s->groups, s->group, s->N);
    if (k->prologue.n)
        cr_print_prologue(p, s, "");
    if (!is_whole(&m)) {
        char end[32];
        snprintf(end, sizeof end, "%lld", (long long)s->K);
        cr_put(p->text, "        for (long k0 = 0; k0 < %lld; k0 += %lld) {\n", (long long)s->K,
               (long long)s->depth);
        cr_print_count(p, 12, "d", "k0", s->depth, end);
    }
    print_loops(p, &m);
    cr_put(p->text, is_whole(&m) ? "    }\n" : "        }\n    }\n");
    if (s->stream)
        cr_put(p->text, "    rt->stream_end();\n");
    return cr_outer_items(k) * s->blocks * s->groups;
}
