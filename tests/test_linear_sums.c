/* test_linear_sums.c - linear sums of integer unknowns, and their bounds, on which the verifier of
 * programs relies: a bound that is too tight would make it accept a wrong program. */
#include <check.h>
#include <stdint.h>

#include "compiler/passes/verifier/linear_sums.h"

/* The unknowns of a test. */
static struct cr_unknowns unknowns;

static void begin(void)
{
    unknowns = (struct cr_unknowns){0};
}

static void end(void)
{
    cr_unknowns_free(&unknowns);
}

static struct cr_linear number(int64_t n)
{
    struct cr_linear a;
    cr_linear_set(&a, n);
    return a;
}

/* number + factor * unknown */
static struct cr_linear sum_of(int64_t n, int64_t factor, int unknown)
{
    struct cr_linear a = number(n), x;
    cr_linear_set_unknown(&x, unknown);
    cr_linear_add(&a, &x, factor);
    return a;
}

static struct cr_linear plus(struct cr_linear a, struct cr_linear b)
{
    cr_linear_add(&a, &b, 1);
    return a;
}

/* Adds an unknown between `least` and `most`. */
static int between(int64_t least, int64_t most)
{
    int x = cr_new_unknown(&unknowns, 0);
    struct cr_linear low = number(least), high = number(most);
    cr_at_least(&unknowns, x, &low);
    cr_at_most(&unknowns, x, &high);
    return x;
}

/* Adds an unknown that is equal to one of two sums. */
static int one_of(struct cr_linear a, struct cr_linear b)
{
    int x = cr_new_unknown(&unknowns, 0);
    cr_one_of(&unknowns, x, &a, &b);
    return x;
}

static void expect_most(struct cr_linear a, int64_t expected)
{
    int64_t most = 0;
    ck_assert(cr_find_most(&unknowns, &a, &most));
    ck_assert_int_eq(most, expected);
}

static void expect_least(struct cr_linear a, int64_t expected)
{
    int64_t least = 0;
    ck_assert(cr_find_least(&unknowns, &a, &least));
    ck_assert_int_eq(least, expected);
    ck_assert(cr_is_at_least(&unknowns, &a, expected));
    ck_assert(!cr_is_at_least(&unknowns, &a, expected + 1));
}

static void expect_unbounded(struct cr_linear a)
{
    int64_t found;
    ck_assert(!cr_find_most(&unknowns, &a, &found));
    ck_assert(!cr_find_least(&unknowns, &a, &found));
    ck_assert(!cr_is_at_least(&unknowns, &a, INT64_MIN));
}

/* ---- sums ---- */

START_TEST(sums_are_equal_term_by_term)
{
    int x = between(0, 1), y = between(0, 1);
    struct cr_linear a = plus(sum_of(5, 2, x), sum_of(0, 3, y));
    struct cr_linear same = plus(sum_of(0, 3, y), sum_of(5, 2, x));
    ck_assert(cr_linear_equal(&a, &same));
    const struct cr_linear others[] = {
        plus(sum_of(5, 2, x), sum_of(0, 4, y)),
        plus(sum_of(5, 1, x), sum_of(0, 3, y)),
        plus(sum_of(6, 2, x), sum_of(0, 3, y)),
        sum_of(5, 2, x),
        sum_of(5, 3, y),
        number(5),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!cr_linear_equal(&a, &others[i]));
        ck_assert(!cr_linear_equal(&others[i], &a));
    }
    struct cr_linear left = sum_of(1, 2, x), right = sum_of(1, 2, y);
    ck_assert(!cr_linear_equal(&left, &right));
}
END_TEST

START_TEST(terms_cancel)
{
    int x = between(0, 9), y = between(0, 9), z = between(0, 9);
    struct cr_linear all = plus(plus(sum_of(1, 2, z), sum_of(2, 3, x)), sum_of(4, 5, y));
    cr_linear_add(&all, &(struct cr_linear){.n = 1, .summands = {{y, 1}}}, -5);
    struct cr_linear rest = plus(sum_of(7, 3, x), sum_of(0, 2, z));
    ck_assert(cr_linear_equal(&all, &rest));
    cr_linear_add(&all, &rest, -1);
    ck_assert(cr_linear_is_number(&all));
    ck_assert_int_eq(all.number, 0);
    cr_linear_add(&all, &rest, 0);
    ck_assert(cr_linear_is_number(&all));
}
END_TEST

/* A sum with too many terms, or with a number too large, is lost: it has no bounds and is not equal
 * even to itself. */
START_TEST(large_sums_are_lost)
{
    struct cr_linear all = number(0), large = number(INT64_MAX), twice;
    int x = between(0, 1);
    for (int i = 0; i <= CR_MAX_SUMMANDS; i++) {
        ck_assert(!all.lost);
        all = plus(all, sum_of(0, 1, between(0, 1)));
    }
    ck_assert(all.lost);
    expect_unbounded(all);
    ck_assert(!cr_linear_equal(&all, &all));
    ck_assert(!cr_divides(&unknowns, &all, 1));
    ck_assert_int_eq(cr_grain(&unknowns, &all), 1);
    twice = plus(large, number(1));
    ck_assert(twice.lost && !cr_linear_is_number(&twice));
    expect_unbounded(twice);
    twice = plus(sum_of(0, INT64_MAX, x), sum_of(0, 1, x));
    ck_assert(twice.lost);
    struct cr_linear one = sum_of(0, 1, x);
    twice = one;
    cr_linear_add(&twice, &one, INT64_MAX);
    ck_assert(twice.lost);
    /* the bound overflows int64 */
    expect_unbounded(sum_of(0, INT64_MAX, between(-3, 3)));
}
END_TEST

START_TEST(sums_are_kept)
{
    int x = between(0, 1), y = between(0, 1);
    struct cr_linear a = plus(sum_of(5, 2, x), sum_of(0, 3, y)), b = sum_of(-1, 7, y), found;
    struct cr_kept_linear kept[] = {cr_keep(&unknowns, &a), cr_keep(&unknowns, &b)};
    cr_kept(&unknowns, &kept[1], &found);
    ck_assert(cr_linear_equal(&found, &b));
    cr_kept(&unknowns, &kept[0], &found);
    ck_assert(cr_linear_equal(&found, &a));
}
END_TEST

/* Results computed from a lost sum are lost: a sum that contains it, its stored copy, a bound, a
 * case. */
START_TEST(lost_sums_stay_lost)
{
    struct cr_linear lost = plus(number(INT64_MAX), number(1)), a = plus(number(3), lost), found;
    ck_assert(a.lost);
    struct cr_kept_linear kept = cr_keep(&unknowns, &lost);
    cr_kept(&unknowns, &kept, &found);
    ck_assert(found.lost);
    int x = cr_new_unknown(&unknowns, 0);
    cr_at_most(&unknowns, x, &lost);
    cr_at_least(&unknowns, x, &lost);
    expect_unbounded(sum_of(0, 1, x));
    expect_unbounded(sum_of(0, 1, one_of(lost, number(1))));
}
END_TEST

/* ---- bounds ---- */

START_TEST(bounds_follow_the_sign)
{
    int x = between(-2, 5), y = between(1, 10);
    struct cr_linear a = plus(sum_of(100, 3, x), sum_of(0, -2, y));
    expect_most(a, 100 + 15 - 2);
    expect_least(a, 100 - 6 - 20);
    expect_most(number(-7), -7);
    expect_least(number(-7), -7);
}
END_TEST

/* If m <= last - i, then i + m <= last: the unknown i cancels. */
START_TEST(unknowns_of_bounds_cancel)
{
    int i = between(0, 90), m = cr_new_unknown(&unknowns, 0);
    struct cr_linear most = sum_of(99, -1, i), least = number(1);
    cr_at_most(&unknowns, m, &most);
    cr_at_least(&unknowns, m, &least);
    struct cr_linear a = plus(sum_of(0, 1, i), sum_of(0, 1, m));
    expect_most(a, 99);
    expect_least(a, 1);
}
END_TEST

/* A sum with a bound on one side only is unbounded on the other side. */
START_TEST(one_side_is_unbounded)
{
    int x = cr_new_unknown(&unknowns, 0), y = cr_new_unknown(&unknowns, 0);
    struct cr_linear three = number(3), a = sum_of(0, 1, x), b = sum_of(0, -1, x);
    int64_t found;
    cr_at_most(&unknowns, x, &three);
    expect_most(a, 3);
    ck_assert(!cr_find_least(&unknowns, &a, &found));
    expect_least(b, -3);
    ck_assert(!cr_find_most(&unknowns, &b, &found));
    expect_unbounded(sum_of(0, 1, y));
}
END_TEST

/* Of two bounds of an unknown the tighter one holds, in whichever order they are given; if they
 * cannot be compared, either. */
START_TEST(tighter_bound_holds)
{
    int free = cr_new_unknown(&unknowns, 0);
    struct cr_linear six = number(6), nine = number(9), any = sum_of(0, 1, free);
    const struct cr_linear *orders[][2] = {
        {&six, &nine}, {&nine, &six}, {&six, &any}, {&any, &six}};
    for (int i = 0; i < 4; i++) {
        int x = cr_new_unknown(&unknowns, 0), y = cr_new_unknown(&unknowns, 0);
        for (int j = 0; j < 2; j++) {
            cr_at_most(&unknowns, x, orders[i][j]);
            cr_at_least(&unknowns, y, orders[i][j]);
        }
        expect_most(sum_of(1, 2, x), 13);
        expect_least(sum_of(-1, -2, x), -13);
        expect_least(sum_of(1, 2, y), i < 2 ? 19 : 13);
        expect_most(sum_of(-1, -2, y), i < 2 ? -19 : -13);
    }
}
END_TEST

/* An unknown has room for two bounds on each side; a third one is ignored. */
START_TEST(third_bound_is_left_out)
{
    int x = cr_new_unknown(&unknowns, 0);
    for (int i = 0; i < 3; i++) {
        struct cr_linear low = number(i), high = number(9 - i);
        cr_at_least(&unknowns, x, &low);
        cr_at_most(&unknowns, x, &high);
    }
    expect_least(sum_of(0, 1, x), 1);
    expect_most(sum_of(0, 1, x), 8);
    ck_assert_int_eq(unknowns.items[x].n_cases, 0);
}
END_TEST

/* If an unknown is one of two sums, the looser of their bounds holds; none if one sum has no bound. */
START_TEST(looser_case_holds)
{
    int free = cr_new_unknown(&unknowns, 0);
    struct cr_linear six = number(6), nine = number(9), any = sum_of(0, 1, free);
    for (int i = 0; i < 2; i++) {
        int x = i ? one_of(nine, six) : one_of(six, nine);
        expect_most(sum_of(1, 2, x), 19);
        expect_least(sum_of(1, 2, x), 13);
        expect_most(sum_of(1, -2, x), -11);
        expect_least(sum_of(1, -2, x), -17);
        expect_unbounded(sum_of(0, 1, i ? one_of(any, six) : one_of(six, any)));
    }
}
END_TEST

/* The search for a bound stops after a number of steps, as the cases of unknowns that depend on
 * each other multiply; a few are searched in full. */
START_TEST(questions_end)
{
    int x = between(0, 0);
    for (int depth = 1; depth <= 18; depth++) {
        x = one_of(sum_of(1, 1, x), sum_of(0, 1, x));
        struct cr_linear a = sum_of(0, 1, x);
        if (depth <= 10) {
            expect_most(a, depth);
            expect_least(a, 0);
        }
        if (depth == 18)
            expect_unbounded(a);
    }
}
END_TEST

/* ---- divisors of a sum; its grain: how many consecutive items give the same sum ---- */

START_TEST(multiples)
{
    int x = cr_new_unknown(&unknowns, 0), y = between(0, 9);
    struct cr_linear origin = number(8), a;
    unknowns.items[x].origin = cr_keep(&unknowns, &origin);
    unknowns.items[x].step = 12;
    const struct {
        int64_t number, factor;
        int unknown;
        int64_t by;
        bool expected;
    } cases[] = {
        {0, 1, x, 4, true},  {0, 1, x, 6, false},  {4, 1, x, 6, true},    {0, 3, x, 24, false},
        {0, 3, x, 12, true}, {12, 3, x, 36, true}, {16, 1, x, 24, false}, {0, 1, y, 1, true},
        {0, 1, y, 2, false}, {6, 4, y, 2, true},   {6, 4, y, 4, false},   {7, 4, y, 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        a = sum_of(cases[i].number, cases[i].factor, cases[i].unknown);
        ck_assert_msg(cr_divides(&unknowns, &a, cases[i].by) == cases[i].expected, "case %zu", i);
    }
}
END_TEST

START_TEST(grains)
{
    int x = cr_new_unknown(&unknowns, 12), y = cr_new_unknown(&unknowns, 8);
    int all = cr_new_unknown(&unknowns, 0);
    struct cr_linear a = sum_of(1, 1, x), b = plus(a, sum_of(0, 1, y)), c = sum_of(0, 1, all);
    struct cr_linear d = plus(a, c), e = number(3);
    ck_assert_int_eq(cr_grain(&unknowns, &a), 12);
    ck_assert_int_eq(cr_grain(&unknowns, &b), 4);
    ck_assert_int_eq(cr_grain(&unknowns, &c), 0);
    ck_assert_int_eq(cr_grain(&unknowns, &d), 12);
    ck_assert_int_eq(cr_grain(&unknowns, &e), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear");
    TCase *sums = tcase_create("sums"), *bounds = tcase_create("bounds");
    TCase *multiples_of = tcase_create("multiples");
    tcase_add_checked_fixture(sums, begin, end);
    tcase_add_checked_fixture(bounds, begin, end);
    tcase_add_checked_fixture(multiples_of, begin, end);
    tcase_add_test(sums, sums_are_equal_term_by_term);
    tcase_add_test(sums, terms_cancel);
    tcase_add_test(sums, large_sums_are_lost);
    tcase_add_test(sums, sums_are_kept);
    tcase_add_test(sums, lost_sums_stay_lost);
    tcase_add_test(bounds, bounds_follow_the_sign);
    tcase_add_test(bounds, unknowns_of_bounds_cancel);
    tcase_add_test(bounds, one_side_is_unbounded);
    tcase_add_test(bounds, tighter_bound_holds);
    tcase_add_test(bounds, third_bound_is_left_out);
    tcase_add_test(bounds, looser_case_holds);
    tcase_add_test(bounds, questions_end);
    tcase_add_test(multiples_of, multiples);
    tcase_add_test(multiples_of, grains);
    suite_add_tcase(suite, sums);
    suite_add_tcase(suite, bounds);
    suite_add_tcase(suite, multiples_of);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
