/* probe_target.c - measures the best tile sizes on this machine; see probe_target.h. */
#include "probe_target.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/emit/make_program.h"
#include "runtime/pool.h"
#include "tensor_memory.h"

/* The timed product: A [M, K] times packed weights [K, N], N columns for each thread.  N is as
 * large as the available time allows, so that the operands exceed the second-level cache. */
enum { K = 768, MANY_ROWS = 256, FEW_ROWS = 10, LEAST_N = 128, MOST_N = 1024, MOST_COLUMNS = 4096 };
enum { MOST_THREADS = 8 };

struct probe {
    const struct cr_runtime *rt;
    struct cr_pool *pool;
    int threads;
    float *rows, *weights, *results;
    long M, N, most_N;
    const struct cr_target *target; /* the target whose sizes are being timed */
    double ns[MOST_THREADS];        /* by thread: processor time of its part of the product */
    double used, passed; /* of all products, in ns: processor time; wall time multiplied by the
                          * number of threads */
};

/* ---- the product ---- */

/* Multiplies one thread's columns, from column `first` on, in runtime calls of the shape that
 * emitted C uses. */
static void multiply_part(const struct probe *p, long first)
{
    const struct cr_target *t = p->target;
    long step = p->M < t->gemm_step_rows ? p->M : (long)t->gemm_step_rows;
    long cols = (long)t->gemm_step_floats / step / CR_PANEL * CR_PANEL;
    cols = cols < CR_PANEL ? CR_PANEL : cols > LEAST_N ? LEAST_N : cols;
    for (long n = first, last = first + p->N; n < last; n += cols)
        for (long m = 0; m < p->M; m += step) {
            long N = last - n < cols ? last - n : cols, M = p->M - m < step ? p->M - m : step;
            p->rt->gemm(M, N, K, p->rows + m * K, K, 1, p->weights + n * K, K * CR_PANEL,
                        p->results + m * p->N * p->threads + n, p->N * p->threads, NULL, 0, NULL,
                        (long)t->tile_columns, (long)t->ahead);
        }
}

/* Returns the processor time of this thread in nanoseconds; it excludes the time of other
 * programs. */
static double thread_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Multiplies the parts of threads begin .. end - 1 of the product. */
static void multiply(const void *args, long begin, long end, float *scratch)
{
    struct probe *p = *(struct probe *const *)args;
    (void)scratch;
    for (long item = begin; item < end; item++) {
        double start = thread_clock();
        multiply_part(p, item * p->N);
        p->ns[item] = thread_clock() - start;
    }
}

/* Returns the processor time of one product with a target's sizes, in nanoseconds. */
static double time_product(struct probe *p, long rows, const struct cr_target *target)
{
    double sum = 0;
    p->M = rows;
    p->target = target;
    int64_t start = cr_clock();
    cr_pool_parallel(p->pool, p->threads, p->threads, multiply, &p, NULL, 0);
    p->passed += (double)(cr_clock() - start) * p->threads;
    for (int i = 0; i < p->threads; i++)
        sum += p->ns[i];
    p->used += sum;
    return sum;
}

/* ---- choices ---- */

enum { MOST_CHOICES = 4 };

/* Candidates for a target.  The first one is kept unless another takes less than `needed` times
 * its time. */
struct choices {
    struct cr_target targets[MOST_CHOICES];
    int n;
    double needed;
};

static struct cr_target *add_choice(struct choices *c, const struct cr_target *base)
{
    c->targets[c->n] = *base;
    return &c->targets[c->n++];
}

/* Times all candidates in turn, at least once each, until the time `end`.  Returns the one with
 * the fastest single run: load by other programs only makes runs longer. */
static struct cr_target choose(struct probe *p, const struct choices *c, long rows, int64_t end)
{
    enum { MOST_ROUNDS = 12 };
    double fastest[MOST_CHOICES];
    int best = 0, round = 0;
    do {
        for (int i = 0; i < c->n; i++) {
            double ns = time_product(p, rows, &c->targets[i]);
            fastest[i] = round && fastest[i] < ns ? fastest[i] : ns;
        }
    } while (++round < MOST_ROUNDS && cr_clock() < end);
    for (int i = 1; i < c->n; i++)
        if (fastest[i] < fastest[best] * (best ? 1 : c->needed))
            best = i;
    return c->targets[best];
}

/* Returns the candidates for the width of a tile: the width in the table of targets, if there is
 * one, then 4, 2 and 3 vectors. */
static struct choices widths(const struct cr_target *base, int floats)
{
    static const int vectors[] = {4, 2, 3};
    struct choices c = {.needed = 0.97};
    if (base->tile_columns)
        add_choice(&c, base);
    for (int i = 0; i < 3; i++)
        if (vectors[i] * floats != base->tile_columns)
            add_choice(&c, base)->tile_columns = vectors[i] * floats;
    return c;
}

/* Returns the candidates for the shape of a gemm call: the shape in the table of targets, then
 * 256 rows by 128 columns, 96 by 64 and 48 by 32. */
static struct choices steps(const struct cr_target *base)
{
    static const int rows[] = {256, 96, 48}, size[] = {32768, 6144, 1536};
    struct choices c = {.needed = 0.97};
    add_choice(&c, base);
    for (int i = 0; i < 3; i++)
        if (rows[i] != base->gemm_step_rows) {
            struct cr_target *t = add_choice(&c, base);
            t->gemm_step_rows = rows[i];
            t->gemm_step_floats = size[i];
        }
    return c;
}

static struct choices distances(const struct cr_target *base)
{
    static const int floats[] = {16384, 4096, 32768};
    struct choices c = {.needed = 0.97};
    for (int i = 0; i < 3; i++)
        add_choice(&c, base)->ahead = floats[i];
    return c;
}

/* ---- the probe ---- */

/* Returns the number of floats in a vector of an instruction set; 1 if it has no vectors. */
static int vector_floats(const char *isa)
{
    static const struct {
        const char *isa;
        int floats;
    } table[] = {{"amx", 16}, {"vnni", 16}, {"avx512", 16}, {"avx2", 8}, {"neon", 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].isa, isa) == 0)
            return table[i].floats;
    return 1;
}

/* Returns n floats of one value.  Operands are normal numbers, since processors may multiply
 * zeros and subnormal numbers at another speed. */
static float *numbers(int64_t n, float value)
{
    struct cr_error error;
    float *x = cr_memory_new(n * (int64_t)sizeof *x, "a probe", &error);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = value;
    return x;
}

static bool prepare(struct probe *p, int threads)
{
    p->threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    p->pool = p->threads > 1 ? cr_pool_new(p->threads) : NULL;
    p->threads = cr_pool_threads(p->pool);
    p->most_N = p->threads * MOST_N > MOST_COLUMNS ? MOST_COLUMNS / p->threads : MOST_N;
    int64_t columns = p->threads * p->most_N;
    p->rows = numbers(MANY_ROWS * K, 0.5f);
    p->weights = numbers(columns * K, 0.25f);
    p->results = numbers(columns * MANY_ROWS, 0);
    return p->rows && p->weights && p->results;
}

static void end_probe(struct probe *p)
{
    if (p->pool)
        cr_pool_free(p->pool);
    free(p->rows);
    free(p->weights);
    free(p->results);
}

/* Sets N to the largest size for which about 40 products fit into the time `left`. */
static void choose_size(struct probe *p, const struct cr_target *target, int64_t left)
{
    p->N = LEAST_N;
    time_product(p, MANY_ROWS, target); /* warm-up, since the caches are empty */
    double ns = time_product(p, MANY_ROWS, target), fit = (double)left * p->threads / 40 / (ns + 1);
    while (2 * p->N <= p->most_N && fit >= 2) {
        p->N *= 2;
        fit /= 2;
    }
}

bool cr_probe_target(const struct cr_runtime *rt, int threads, struct cr_target *target)
{
    struct probe p = {.rt = rt};
    int64_t begin = cr_clock();
    int floats = vector_floats(rt->isa);
    if (floats > 1 && prepare(&p, threads)) {
        choose_size(&p, target, begin + CR_PROBE_NS - cr_clock());
        int64_t now = cr_clock(), left = begin + CR_PROBE_NS - now;
        struct choices c = widths(target, floats);
        *target = choose(&p, &c, MANY_ROWS, now + left * 4 / 10);
        c = steps(target);
        *target = choose(&p, &c, MANY_ROWS, now + left * 7 / 10);
        p.N = p.most_N;
        c = distances(target);
        *target = choose(&p, &c, FEW_ROWS, now + left);
    }
    end_probe(&p);
    return p.used >= 0.75 * p.passed;
}
