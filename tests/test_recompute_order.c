/*
 * test_recompute_order.c - orders that compute values in little memory and recompute some: chains
 * whose best order is known, and random programs, where each order found is simulated.
 */
#include <check.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/plan/recompute_order.h"

enum { MOST = 60, PROGRAMS = 300 };

/* A program under test; v reads the values reads[v][..]. */
struct program {
    struct cr_made values[MOST];
    int reads[MOST][MOST];
    int n;
};

/* Adds a value; `kept`: it is an output, which takes no memory in the arena, so `floats` is only
 * its work. */
static void add_value(struct program *p, int64_t floats, bool kept)
{
    p->values[p->n] = (struct cr_made){kept ? 0 : floats, kept, (double)floats, p->reads[p->n], 0};
    p->n++;
}

static void add_read(struct program *p, int read)
{
    struct cr_made *value = &p->values[p->n - 1];
    value->reads[value->n_reads++] = read;
}

/* ---- checks of an order ---- */

/* Returns the next call after `call` that reads or recomputes the value; the number of calls if there is
 * none. */
static int next_use(const struct program *p, const struct cr_order *s, int call, int value,
                   bool *reads)
{
    for (int i = call + 1; i < s->n; i++) {
        const struct cr_made *maker = &p->values[s->calls[i]];
        *reads = true;
        for (int r = 0; r < maker->n_reads; r++)
            if (maker->reads[r] == value)
                return i;
        *reads = false;
        if (s->calls[i] == value)
            return i;
    }
    *reads = false;
    return s->n;
}

/* Returns the floats that are live during a call: its own result, and earlier results that this
 * call or a later one reads before they are recomputed. */
static int64_t live_at(const struct program *p, const struct cr_order *s, int call)
{
    int64_t live = 0;
    for (int v = 0; v < p->n; v++) {
        bool made = false, reads;
        for (int i = 0; i < call; i++)
            made |= s->calls[i] == v;
        next_use(p, s, call - 1, v, &reads);
        if (s->calls[call] == v || (made && reads))
            live += p->values[v].floats;
    }
    return live;
}

/* Simulates the order: values are computed before they are read; outputs are computed, and only once if
 * they are alone in their kernel; the peak is the reported one. */
static void check_order(const struct program *p, const struct cr_order *s, int64_t budget)
{
    int made[MOST] = {0};
    int64_t peak = 0;
    for (int i = 0; i < s->n; i++) {
        const struct cr_made *value = &p->values[s->calls[i]];
        bool reads;
        for (int r = 0; r < value->n_reads; r++)
            ck_assert_msg(made[value->reads[r]] > 0, "call %d reads what is not made", i);
        made[s->calls[i]]++;
        next_use(p, s, i, s->calls[i], &reads);
        ck_assert_msg(value->wanted || reads, "call %d is for nothing", i);
        int64_t live = live_at(p, s, i);
        peak = live > peak ? live : peak;
    }
    for (int v = 0; v < p->n; v++)
        ck_assert(p->values[v].floats ? !p->values[v].wanted || made[v] : made[v] == 1);
    ck_assert_int_eq(s->peak, peak);
    ck_assert_int_le(s->peak, budget);
}

/* ---- known answers ---- */

/* Makes a chain of n values and back: each of n further values reads the one before it and its
 * mirror image. */
static void make_chain(struct program *p, int n)
{
    p->n = 0;
    for (int v = 0; v < 2 * n; v++) {
        int mirror = v < n ? -1 : 2 * n - 1 - v;
        add_value(p, 1, v == 2 * n - 1);
        if (mirror >= 0)
            add_read(p, mirror);
        if (v > 0 && v - 1 != mirror)
            add_read(p, v - 1);
    }
}

/* With enough memory nothing is recomputed; orders keep within every budget down to the least
 * possible, and a smaller budget takes at least as many calls. */
START_TEST(a_chain_and_back)
{
    struct program p;
    for (int n = 2; n <= MOST / 2; n += 4) {
        struct cr_order s;
        make_chain(&p, n);
        ck_assert(cr_order_find(p.values, p.n, 2 * n, &s));
        ck_assert_int_eq(s.n, 2 * n);
        int64_t plain = s.peak;
        cr_order_free(&s);
        for (int64_t budget = plain; budget >= 4; budget--) {
            ck_assert_msg(cr_order_find(p.values, p.n, budget, &s), "%d in %d", n, (int)budget);
            check_order(&p, &s, budget);
            ck_assert_int_ge(s.n, 2 * n);
            ck_assert(budget == plain || s.n > 2 * n);
            cr_order_free(&s);
        }
        ck_assert(!cr_order_find(p.values, p.n, 1, &s));
        cr_order_free(&s);
    }
}
END_TEST

/* Of two values of equal size, the search drops the value that is cheaper to recompute. */
START_TEST(the_cheaper_value_goes)
{
    struct program p = {.n = 0};
    struct cr_order s;
    add_value(&p, 10, false);
    p.values[0].work = 1000;
    add_value(&p, 10, false);
    p.values[1].work = 10;
    add_value(&p, 10, false); /* the budget leaves no room for a third */
    add_value(&p, 1, true);
    add_read(&p, 2);
    add_value(&p, 1, true);
    add_read(&p, 0);
    add_read(&p, 1);
    ck_assert(cr_order_find(p.values, p.n, 20, &s));
    check_order(&p, &s, 20);
    for (int i = 0, dear = 0; i < s.n; i++)
        ck_assert_int_le(dear += s.calls[i] == 0, 1);
    cr_order_free(&s);
}
END_TEST

/* ---- random programs ---- */

static uint64_t state;

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void make_random(struct program *p)
{
    int n = 2 + random_below(MOST - 2);
    p->n = 0;
    for (int v = 0; v < n; v++) {
        add_value(p, 1 + random_below(20), false);
        p->values[v].wanted = v == n - 1 || random_below(8) == 0;
        p->values[v].work = 1 + random_below(100);
        for (int read = 0; read < v; read++)
            if (random_below(v) < 3 || (read == v - 1 && random_below(2)))
                add_read(p, read);
    }
    bool read[MOST] = {false}; /* a value that nobody reads is an output, and may take no memory in the arena */
    for (int v = n - 1; v >= 0; v--) {
        p->values[v].wanted |= !read[v];
        if (p->values[v].wanted && random_below(3))
            p->values[v].floats = 0;
        for (int r = 0; r < p->values[v].n_reads; r++)
            read[p->values[v].reads[r]] = true;
    }
}

START_TEST(random_programs)
{
    struct program p;
    int made_again = 0;
    for (state = 1; state <= PROGRAMS; state++) {
        uint64_t seed = state;
        struct cr_order s;
        make_random(&p);
        ck_assert(cr_order_find(p.values, p.n, INT64_MAX / 4, &s));
        check_order(&p, &s, INT64_MAX / 4);
        ck_assert_int_eq(s.n, p.n);
        int64_t peak = s.peak;
        cr_order_free(&s);
        for (int64_t budget = peak; budget > 0; budget -= 1 + budget / 8) {
            if (cr_order_find(p.values, p.n, budget, &s)) {
                check_order(&p, &s, budget);
                made_again += s.n - p.n;
            }
            cr_order_free(&s);
        }
        state = seed;
    }
    ck_assert_int_gt(made_again, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recompute order");
    TCase *tests = tcase_create("recompute order");
    tcase_add_test(tests, a_chain_and_back);
    tcase_add_test(tests, the_cheaper_value_goes);
    tcase_add_test(tests, random_programs);
    tcase_set_timeout(tests, 300);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
