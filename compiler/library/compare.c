/* compare.c - compares an array with the expected one; see crescent.h. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "handles.h"

/* Returns the position of a float in the sequence of all floats in ascending order: adjacent floats
 * differ by 1. */
static int64_t place_of(double value)
{
    float f = (float)value;
    int32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

static int64_t ulp_between(double a, double b)
{
    int64_t distance = place_of(a) - place_of(b);
    return distance < 0 ? -distance : distance;
}

/* Returns the distance between adjacent floats of a magnitude (one ulp). */
static double ulp_of(double magnitude)
{
    int exponent = magnitude > 0 ? ilogb(magnitude) : -126;
    return ldexp(1, (exponent > -126 ? exponent : -126) - 23);
}

/* Returns the root mean square of the finite elements, to which rounding errors of sums are
 * proportional. */
static double root_mean_square(const double *values, int64_t n)
{
    double largest = 0, sum = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(values[i]) && fabs(values[i]) > largest)
            largest = fabs(values[i]);
    for (int64_t i = 0; i < n && largest > 0; i++) {
        if (!isfinite(values[i]))
            continue;
        double part = values[i] / largest;
        sum += part * part;
        finite++;
    }
    return finite ? largest * sqrt(sum / (double)finite) : 0;
}

/* True if two elements are equal as floats; NaNs are equal. */
static bool is_same(double got, double want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return true;
    return isinf(got) != isinf(want) && !isnan(got) && !isnan(want) && (float)got == (float)want;
}

/* True if an element that differs from the expected one is within the tolerance. */
static bool passes(const crescent_tolerance *t, double got, double want)
{
    double apart = fabs(got - want);
    bool only_ulp = t->max_ulp >= 0 && t->atol == 0 && t->rtol == 0;
    if (!(apart < INFINITY))
        return false;
    return (only_ulp || apart <= t->atol + t->rtol * fabs(want)) &&
           (t->max_ulp < 0 || ulp_between(got, want) <= t->max_ulp);
}

/* Returns the larger of two errors; NaN counts as the largest. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* Updates the largest errors found so far with an element that differs from the expected one. */
static void note_errors(crescent_difference *d, double got, double want, double scale)
{
    double apart = fabs(got - want), size = fabs(want);
    bool finite = apart < INFINITY;
    d->max_abs = larger(apart, d->max_abs);
    d->max_rel = larger(finite ? apart / size : apart, d->max_rel);
    d->max_ulp = larger(finite ? apart / ulp_of(size > scale ? size : scale) : apart, d->max_ulp);
    int64_t ulp = finite ? ulp_between(got, want) : INT64_MAX;
    d->max_ulp_each = ulp > d->max_ulp_each ? ulp : d->max_ulp_each;
    d->nans += isnan(apart);
}

/* Compares two arrays.  The worst element is the one that exceeds the tolerance most or, if all are
 * within the tolerance, the one that differs most. */
static crescent_difference compare(const double *got, const double *want, int64_t n,
                                   const crescent_tolerance *tolerance)
{
    crescent_difference d = {.worst = -1};
    double worst = 0, scale = root_mean_square(want, n);
    crescent_tolerance t = *tolerance;
    if (t.by_size && scale > 1)
        t.atol *= scale;
    for (int64_t i = 0; i < n; i++) {
        bool same = is_same(got[i], want[i]);
        bool good = same || passes(&t, got[i], want[i]);
        double apart = same ? 0 : fabs(got[i] - want[i]);
        double excess = isnan(apart) ? INFINITY : apart;
        if (!same)
            note_errors(&d, got[i], want[i], scale);
        if (d.worst < 0 || (!good && !d.failures) || (good == !d.failures && excess > worst)) {
            worst = excess;
            d.worst = i;
            d.got = isnan(got[i]) ? fabs(got[i]) : got[i]; /* an unsigned NaN, so that it is printed
                                                              as "nan" */
            d.want = isnan(want[i]) ? fabs(want[i]) : want[i];
        }
        d.failures += !good;
    }
    return d;
}

int crescent_compare(const double *got, const double *want, int64_t n,
                     const crescent_tolerance *tolerance, crescent_difference *difference)
{
    if (!tolerance || !difference || n < 0 || (n && (!got || !want)))
        return cr_refuse_null(NULL, __func__);
    *difference = compare(got, want, n, tolerance);
    return CRESCENT_OK;
}

int crescent_same_bits(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!a || !b || (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))))
            return 0;
    return 1;
}
