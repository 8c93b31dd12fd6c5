/* test_compare.c - how crescent_compare measures errors, and which results count as equal. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

static const double nan_ = (double)NAN, inf = (double)INFINITY;

static crescent_difference compare(const double *got, const double *want, int64_t n,
                                   const crescent_tolerance *tolerance)
{
    crescent_difference d;
    ck_assert_int_eq(crescent_compare(got, want, n, tolerance, &d), CRESCENT_OK);
    return d;
}

static crescent_difference difference_of_one(double got, double want, crescent_tolerance tolerance)
{
    return compare(&got, &want, 1, &tolerance);
}

/* Results that do not depend on the tolerance. */
START_TEST(values_that_are_no_numbers)
{
    const struct {
        double got, want;
        int agree;
    } rows[] = {
        {nan_, nan_, 1},   {nan_, -nan_, 1}, {inf, inf, 1},  {-inf, -inf, 1}, {inf, 1e39, 1},
        {-1e300, -inf, 1}, {nan_, 0, 0},     {1, nan_, 0},   {inf, -inf, 0},  {inf, 3e38, 0},
        {nan_, inf, 0},    {inf, -1e39, 0},  {0.0, -0.0, 1},
    };
    static const crescent_tolerance tolerances[] = {{0, 0, -1, 0}, {0, 0, 0, 0}, {1e300, 1, -1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof tolerances / sizeof *tolerances; j++) {
            crescent_difference d = difference_of_one(rows[i].got, rows[i].want, tolerances[j]);
            ck_assert_msg(d.failures == !rows[i].agree, "%g, %g", rows[i].got, rows[i].want);
            ck_assert_int_eq(d.nans, isnan(rows[i].got) != isnan(rows[i].want));
            ck_assert_int_eq(isnan(d.max_abs), d.nans);
            ck_assert(rows[i].agree ? d.max_abs == 0 && d.max_ulp == 0 && d.max_ulp_each == 0
                                    : !isfinite(d.max_ulp) && d.max_ulp_each == INT64_MAX);
        }
}
END_TEST

/* A NaN is found although numbers follow it. */
START_TEST(finds_the_nan)
{
    const double got[] = {1, 2, nan_, 4, 9}, want[] = {1, 2, 3, 4, 5};
    crescent_difference d = compare(got, want, 5, &(crescent_tolerance){100, 0, -1, 0});
    ck_assert(d.worst == 2 && isnan(d.got) && d.want == 3);
    ck_assert(d.failures == 1 && d.nans == 1 && isnan(d.max_abs) && isnan(d.max_rel));
}
END_TEST

/* Near zero, an error of 2^-23 is one ulp at the scale of an output around 1, but millions of
 * representable floats. */
START_TEST(ulps_next_to_zero)
{
    const double want[] = {1, -1, 1e-9, 1}, got[] = {1, -1, 1e-9 + 0x1p-23, 1};
    crescent_difference d = compare(got, want, 4, &(crescent_tolerance){1e-6, 0, -1, 0});
    ck_assert_int_eq(d.failures, 0);
    ck_assert(d.max_ulp > 1.9 && d.max_ulp < 2.1); /* the root mean square is below 1 */
    ck_assert_int_gt(d.max_ulp_each, 10000000);
    d = compare(got, want, 4, &(crescent_tolerance){0, 0, 3, 0});
    ck_assert_int_eq(d.failures, 1);
    d = compare(got, want, 4, &(crescent_tolerance){1, 0, 3, 0}); /* both must hold */
    ck_assert_int_eq(d.failures, 1);
}
END_TEST

/* For an element larger than the scale, the unit is the element's own last place. */
START_TEST(ulps_of_large_elements)
{
    const double want[] = {1024, 0, 0, 0}, got[] = {1024 + 0x1p-12, 0, 0, 0};
    crescent_difference d = compare(got, want, 4, &(crescent_tolerance){0, 0, 2, 0});
    ck_assert(d.failures == 0 && d.max_ulp == 2 && d.max_ulp_each == 2);
    d = difference_of_one(1, 1 + 0x1p-23, (crescent_tolerance){0, 0, 1, 0});
    ck_assert(d.failures == 0 && d.max_ulp == 1 && d.max_ulp_each == 1);
    d = difference_of_one(0x1p-149, 0, (crescent_tolerance){0, 0, 0, 0});
    ck_assert(d.failures == 1 && d.max_ulp == 1 && d.max_ulp_each == 1);
}
END_TEST

/* By size, the absolute tolerance of a large output grows with its root mean square; that of an output below 1
 * stays. */
START_TEST(tolerance_by_size)
{
    const double large[] = {300, -300, 1e-3, 300}, small[] = {0.3, -0.3, 0.1, 0.3}, wrong[] = {INFINITY, 300, 300, 300};
    double got[4] = {300, -300, 1e-3 + 2e-4, 300};
    ck_assert_int_eq(compare(got, large, 4, &(crescent_tolerance){1e-6, 0, -1, 0}).failures, 1);
    ck_assert_int_eq(compare(got, large, 4, &(crescent_tolerance){1e-6, 0, -1, 1}).failures, 0);
    got[2] += 1e-4; /* above 1e-6 times the root mean square, 260 */
    ck_assert_int_eq(compare(got, large, 4, &(crescent_tolerance){1e-6, 0, -1, 1}).failures, 1);
    memcpy(got, small, sizeof got);
    got[2] += 2e-6;
    ck_assert_int_eq(compare(got, small, 4, &(crescent_tolerance){1e-6, 0, -1, 1}).failures, 1);
    memcpy(got, wrong, sizeof got);
    got[0] = 300; /* only finite elements count, and a number is no infinity */
    ck_assert_int_eq(compare(got, wrong, 4, &(crescent_tolerance){1e-6, 0, -1, 1}).failures, 1);
}
END_TEST

START_TEST(bits_of_nan)
{
    const uint32_t a[] = {0x7fc00000, 0x3f800000, 0x80000000};
    const uint32_t b[] = {0xffc00001, 0x3f800000, 0x80000000}, c[] = {0x7fc00000, 0x3f800000, 0};
    float floats[3][3];
    memcpy(floats[0], a, sizeof a);
    memcpy(floats[1], b, sizeof b);
    memcpy(floats[2], c, sizeof c);
    ck_assert(crescent_same_bits(floats[0], floats[1], 3));
    ck_assert(!crescent_same_bits(floats[0], floats[2], 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *all = tcase_create("all");
    tcase_add_test(all, values_that_are_no_numbers);
    tcase_add_test(all, finds_the_nan);
    tcase_add_test(all, ulps_next_to_zero);
    tcase_add_test(all, ulps_of_large_elements);
    tcase_add_test(all, tolerance_by_size);
    tcase_add_test(all, bits_of_nan);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
