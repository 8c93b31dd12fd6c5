/*
 * difference.h - how far an array is from the one that is expected.
 *
 * Two NaN agree, and so do infinities of one sign.  A finite number beyond float's range
 * agrees with the infinity that it rounds to.  NaN against a number never passes.
 */
#ifndef CR_DIFFERENCE_H
#define CR_DIFFERENCE_H

#include <stdint.h>

/* An element passes if |got - expected| is at most atol + rtol * |expected| and, where
 * max_ulp is not negative, no more than max_ulp floats lie from one to the other.  If max_ulp
 * is given and both tolerances are 0, the ulps alone decide. */
struct cr_tolerance {
    double atol, rtol;
    int64_t max_ulp; /* negative: any */
};

/* Errors that involve an infinity are infinite, those that involve a NaN are NaN. */
struct cr_difference {
    double max_abs, max_rel; /* rel: by the element's own expected value */
    double max_ulp;          /* in units of the last place of a float as large as the expected
                              * value or, if that is larger, as the array's root mean square */
    int64_t max_ulp_each;    /* floats from one to the other; INT64_MAX if that has no meaning */
    int64_t worst;           /* the element that fails the most, else differs the most; or -1 */
    double got, want;        /* there */
    int64_t failures, nans;  /* elements that fail; those where one only is NaN */
};

struct cr_difference cr_difference(const double *got, const double *want, int64_t n,
                                   const struct cr_tolerance *tolerance);

/* Whether two arrays of floats have the same bits; all NaN count as one value. */
int cr_same_bits(const float *a, const float *b, int64_t n);

#endif
