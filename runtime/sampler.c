/*
 * sampler.c - chooses the next token; see sampler.h.
 *
 * Nothing is sorted.  Logits are compared by keys: unsigned integers in the same order.  A radix
 * select finds the smallest key that is kept.  For each digit it adds up the masses of tokens by
 * the value of the digit.  The digit of the smallest key is the value at which the sum, from the
 * largest value down, reaches the limit.
 */
#include "philox.h"
#include "sampler.h"
#include "vector.h"

/* Describes the tokens that are kept: those with larger keys than `key`, and the first `ties`
 * tokens with this key. */
struct cr_cut {
    uint32_t key;
    long ties;
};

/* Returns the key of a logit: an integer that is larger for larger logits, and equal for +0 and
 * -0. */
CR_INLINE uint32_t cr_sample_key(float logit)
{
    union {
        float f;
        uint32_t u;
    } bits = {logit + 0.0f};
    return bits.u & 0x80000000u ? ~bits.u : bits.u | 0x80000000u;
}

/* Returns exp(x) for x <= 0, with a relative error of 3e-13; 0 for x below -700.  For x = m ln 2 +
 * r, multiplies a Taylor polynomial of r by 2^m, which is made of exponent bits. */
CR_INLINE double cr_sample_exp(double x)
{
    union {
        uint64_t u;
        double f;
    } power;
    double m, r, p;
    if (!(x >= -700.0)) {
        return 0.0;
    }
    m = (double)(int)(x * 1.4426950408889634 - 0.5);
    r = (x - m * 0.693147180369123816490) - m * 1.90821492927058770002e-10;
    p = 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    power.u = (uint64_t)(1023 + (int)m) << 52;
    return p * power.f;
}

/* Returns the most likely token. */
static long cr_sample_first(const float *logits, long n)
{
    float best = -INFINITY;
    long at = CR_SAMPLE_NONE;
    for (long i = 0; i < n; i++) {
        if (logits[i] != logits[i]) {
            return CR_SAMPLE_NAN;
        }
        if (logits[i] > best) {
            best = logits[i];
            at = i;
        }
    }
    return at;
}

/* Sets the masses of all tokens whose mass is not 0; the most likely token gets mass 1. */
static void cr_sample_masses(const float *logits, long n, float best, double temperature,
                             double *mass)
{
    for (long i = 0; i < n; i++) {
        if (mass[i] != 0) {
            mass[i] = best == INFINITY ? (double)(logits[i] == best)
                                       : cr_sample_exp(((double)logits[i] - best) / temperature);
        }
    }
}

/*
 * One step of a radix select: returns the next digit of the smallest key that is kept.  Considers
 * keys that have the digits of `cut` in the bits `known`.  The digit is the largest one for which
 * the mass of keys with this digit or a larger one reaches the limit; if none is, the smallest one
 * that occurs. Adds the mass of larger digits to *above.
 */
static uint32_t cr_sample_digit(const float *logits, const double *mass, long n, double limit,
                                const struct cr_cut *cut, uint32_t known, int shift, double *bucket,
                                double *above)
{
    double sum = *above;
    uint32_t digit = 0;
    for (uint32_t v = 0; v < CR_SAMPLE_BUCKETS; v++) {
        bucket[v] = 0;
    }
    for (long i = 0; i < n; i++) {
        uint32_t key = cr_sample_key(logits[i]);
        if ((key & known) == cut->key) {
            bucket[key >> shift & (CR_SAMPLE_BUCKETS - 1)] += mass[i];
        }
    }
    for (uint32_t v = CR_SAMPLE_BUCKETS; v-- > 0 && sum < limit;) {
        if (bucket[v] != 0) {
            digit = v;
            *above = sum;
            sum += bucket[v];
        }
    }
    return digit;
}

/* Selects the fewest tokens, the most likely ones, whose masses add up to the limit; all tokens if
 * rounding keeps the sum below it.  Ignores tokens without mass. */
static struct cr_cut cr_sample_select(const float *logits, const double *mass, long n, double limit,
                                      double *bucket)
{
    static const int shifts[] = {21, 10, 0}; /* digits of 11, 11 and 10 bits */
    struct cr_cut cut = {0, 0};
    uint32_t known = 0;
    double above = 0;
    for (int d = 0; d < 3; d++) {
        cut.key |= cr_sample_digit(logits, mass, n, limit, &cut, known, shifts[d], bucket, &above)
                   << shifts[d];
        known = ~((UINT32_C(1) << shifts[d]) - 1);
    }
    for (long i = 0; i < n && above < limit; i++) {
        if (mass[i] != 0 && cr_sample_key(logits[i]) == cut.key) {
            above += mass[i];
            cut.ties++;
        }
    }
    return cut;
}

/* Sets the masses of all tokens that are not kept to 0, and returns the sum of the others. */
static double cr_sample_apply(const float *logits, double *mass, long n, struct cr_cut cut)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        uint32_t key = cr_sample_key(logits[i]);
        if (key < cut.key || (key == cut.key && cut.ties-- <= 0)) {
            mass[i] = 0;
        }
        sum += mass[i];
    }
    return sum;
}

/* Returns 53 random bits for the position, as a number 0 <= u < 1. */
static double cr_sample_number(const struct cr_sampling *how, uint64_t position)
{
    const uint32_t key[2] = {(uint32_t)how->seed, (uint32_t)(how->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32),
                                 (uint32_t)how->stream, (uint32_t)(how->stream >> 32)};
    uint32_t words[4];
    cr_philox_block(counter, key, words);
    return ((double)(words[0] >> 5) * 67108864.0 + (double)(words[1] >> 6)) * 0x1p-53;
}

CR_API long cr_sample(const struct cr_sampling *how, const float *logits, long n, uint64_t position,
                      double *scratch)
{
    double *mass = scratch, *bucket = scratch + n, sum = 0, at;
    long first = cr_sample_first(logits, n), last = first;
    if (first < 0 || how->temperature == 0) {
        return first;
    }
    for (long i = 0; i < n; i++) { /* not 0, so that cr_sample_masses sets it */
        mass[i] = logits[i] > -INFINITY;
    }
    if (how->top_k > 0 && how->top_k < n) {
        cr_sample_apply(logits, mass, n,
                        cr_sample_select(logits, mass, n, (double)how->top_k, bucket));
    }
    cr_sample_masses(logits, n, logits[first], how->temperature, mass);
    for (long i = 0; i < n; i++) {
        sum += mass[i];
    }
    if (how->top_p > 0 && how->top_p < 1) {
        sum = cr_sample_apply(logits, mass, n,
                              cr_sample_select(logits, mass, n, how->top_p * sum, bucket));
    }
    at = cr_sample_number(how, position) * sum;
    for (long i = 0; i < n; i++) {
        if (mass[i] != 0) {
            at -= mass[i];
            last = i;
            if (at < 0) {
                break;
            }
        }
    }
    return last;
}
