/*
 * schedule_blocks.c - chooses the tiling of a product by a packed weight: the rows and columns of
 * an item and of a call of gemm, and whether k is split into parts.
 *
 * The outer loop of an item iterates over its columns, the inner one over its rows, one call of
 * gemm at a time.  Weights are read into the second-level cache once for every block of rows,
 * provided that the columns of a call stay there during the inner loop.  If a block of rows also
 * fits in the cache, it is read once, otherwise once for the columns of each call.  Large blocks
 * read weights less often, and small blocks fit in the cache.  With a long k no block does both,
 * unless k is split, too.
 */
#include "schedule_gemm.h"

/* Blocks have a multiple of 24 rows: two micro-kernel tiles of 12 rows, or four of 6. */
enum { TWO_TILES = 24 };

/* Returns the number of floats that a kernel can keep in the second-level cache, beside other
 * data. */
static double kept_floats(const struct cr_target *t)
{
    return 0.75 * (double)t->l2_bytes / (double)sizeof(float);
}

/* Returns the size of an element of a format, in floats. */
static double element_floats(enum cr_format format)
{
    enum { MANY = 1024 };
    return (double)cr_format_bytes(format, MANY) / (MANY * (double)sizeof(float));
}

/* Returns the number of floats read into the second-level cache: weights, rows, sums read again,
 * and the result.  `kept` floats stay there. */
static double floats_to_l2(const struct cr_gemm_loops *s, double kept)
{
    double M = (double)s->M, N = (double)s->N, depth = (double)s->depth;
    double of_rows = element_floats(cr_row_format(s)), of_weights = element_floats(s->weights);
    double row = (double)s->K * of_rows, column = (double)s->K * of_weights;
    double row_step = depth * of_rows, columns = (double)s->cols * depth * of_weights;
    double rows = (double)s->block * row_step;
    double sums = cr_is_cut(s) ? (double)s->block * (double)s->group : 0;
    bool rows_stay = rows + columns + sums <= kept;
    bool columns_stay = columns + (double)s->rows * row_step <= kept;
    bool weights_stay = rows + column * N <= kept;
    int64_t row_passes = !rows_stay ? cr_ceil_div(s->N, s->cols) : cr_is_cut(s) ? s->groups : 1;
    int64_t weight_passes = !columns_stay  ? cr_ceil_div(s->M, s->rows)
                            : weights_stay ? 1
                                           : s->blocks;
    double again = cr_is_cut(s) && !rows_stay ? 2 * M * N * (double)s->K / depth : 0;
    return column * N * (double)weight_passes + row * M * (double)row_passes + again + M * N;
}

/* Returns the number of floats read into the first-level cache: for each k, a tile reads one float
 * for each of its columns and one for each of its rows. */
static double floats_to_l1(const struct cr_gemm_loops *s, const struct cr_target *t)
{
    enum { COLUMNS = 32, FLOATS = 384 }; /* the default columns of a tile; the floats of 24
                                            registers */
    double cols = t->tile_columns ? (double)t->tile_columns : COLUMNS, rows = FLOATS / cols;
    double M = (double)s->M, N = (double)s->N, K = (double)s->K;
    rows = rows > M ? M : rows;
    cols = cols > N ? N : cols;
    return M * N * K * (1 / rows + 1 / cols) + M * N;
}

struct cr_traffic cr_gemm_traffic(const struct cr_gemm_loops *s, int64_t outer,
                                  const struct cr_target *t)
{
    double bytes = (double)outer * (double)sizeof(float);
    return (struct cr_traffic){bytes * floats_to_l1(s, t), bytes * floats_to_l2(s, kept_floats(t))};
}

static void cut_rows(struct cr_gemm_loops *s, int64_t blocks, int64_t most_cols,
                     const struct cr_target *t)
{
    s->block = cr_ceil_div(s->M, blocks);
    s->blocks = cr_ceil_div(s->M, s->block);
    cr_cut_calls(s, t, most_cols);
}

/* Sets the columns of an item to a multiple of a call's columns, so that there are at least
 * gemm_items items if N is large enough. */
static void cut_columns(struct cr_gemm_loops *s, int64_t outer, const struct cr_target *t)
{
    int64_t steps = cr_ceil_div(s->N, s->cols);
    int64_t wanted = cr_ceil_div(t->gemm_items, outer * s->blocks);
    s->group = cr_max(1, steps / wanted) * s->cols;
    s->groups = cr_ceil_div(s->N, s->group);
}

/* True if the product may be computed in several parts of k: there is no prologue, and no part can
 * begin inside a block of weights or of rounded rows. */
static bool may_cut_depth(const struct cr_kernel *k, const struct cr_gemm_loops *s)
{
    return !k->gemm.prologue.n && s->arithmetic == CR_ARITHMETIC_f32 &&
           cr_formats[s->weights].block == 1;
}

/*
 * Tries blocks of rows from large to small, and returns the first tiling that reads clearly less than all larger ones.
 * If there are many rows, a block has at most half of them, so that threads share the work of a prologue.  If the
 * number of rows is a length, a block with a prologue, whose rows are kept in scratch, has at most a quarter of them:
 * scratch is allocated for the longest text, and most texts are short.
 */
static struct cr_gemm_loops cut_for_caches(const struct cr_kernel *k, const struct cr_target *t,
                                           enum cr_format weights, enum cr_arithmetic arithmetic)
{
    static const int steps[] = {64, 48, 32, 24, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1};
    enum { N_STEPS = sizeof steps / sizeof *steps };
    int64_t outer = cr_outer_items(k), K = k->gemm.K;
    struct cr_gemm_loops best = {0}, s = {.M = cr_extent(k, k->row), .N = k->gemm.N, .K = K,
                                          .weights = weights, .arithmetic = arithmetic};
    bool many = s.M > t->gemm_least_rows;
    bool keeps_rows = k->gemm.prologue.n && cr_length_of(k, k->row);
    int64_t limit = many ? cr_max(t->gemm_least_rows, cr_ceil_div(s.M, keeps_rows ? 4 : 2)) : s.M;
    int64_t parts = many && may_cut_depth(k, &s) ? cr_ceil_div(K, t->gemm_depth) : 1;
    double least = 0;
    for (int64_t n = 1; n <= parts; n = n < parts ? parts : n + 1)
        for (int64_t cols = t->gemm_step_cols; cols >= CR_PANEL_FLOATS; cols /= 2)
            for (int i = 0; i < (many ? N_STEPS : 1); i++) {
                int64_t most = many ? cr_min(limit, steps[i] * TWO_TILES) : s.M;
                s.depth = cr_min(K, cr_round_up(cr_ceil_div(K, n), CR_SUM_BLOCK));
                cut_rows(&s, cr_ceil_div(s.M, most), cols, t);
                cut_columns(&s, outer, t);
                double traffic = floats_to_l2(&s, kept_floats(t));
                if (best.M && traffic >= 0.95 * least)
                    continue;
                best = s;
                least = traffic;
            }
    return best;
}

/*
 * Cuts a product into more items if it has fewer than cr_count_shares asks for.  The weights must
 * stay in the second-level cache, since several items read the same ones.  With a prologue, cuts
 * rows into blocks of at least half of the rows, or two tiles, so that no two items compute the
 * same row; but not if the number of rows is a length, since all groups of columns of a block need
 * the same rows.  Without a prologue, cuts columns, which keeps the micro-kernel's tiles full.
 */
static void cut_finer(struct cr_gemm_loops *s, const struct cr_kernel *k, const struct cr_target *t)
{
    int64_t outer = cr_outer_items(k), others = outer * s->blocks;
    int64_t wanted = cr_count_shares(k, t->gemm_items, t);
    int64_t steps = cr_ceil_div(s->N, s->cols);
    int64_t least = cr_min(TWO_TILES, cr_max(TWO_TILES / 2, cr_ceil_div(s->M, 2)));
    double floats = (double)s->K * (double)s->N * element_floats(s->weights);
    if (others * steps >= wanted || floats > kept_floats(t) / 2)
        return;
    if (!k->gemm.prologue.n)
        s->cols = cr_round_up(cr_ceil_div(s->N, cr_ceil_div(wanted, others)), CR_PANEL_FLOATS);
    else if (s->M / least > s->blocks && !cr_length_of(k, k->row))
        cut_rows(s, cr_min(cr_ceil_div(wanted, outer * steps), s->M / least), t->gemm_step_cols, t);
    cut_columns(s, outer, t);
}

struct cr_gemm_loops cr_cut_blocks(const struct cr_kernel *k, const struct cr_target *t,
                                   enum cr_format weights, enum cr_arithmetic arithmetic)
{
    struct cr_gemm_loops s = cut_for_caches(k, t, weights, arithmetic);
    if (!cr_is_cut(&s))
        cut_finer(&s, k, t);
    return s;
}
