/*
 * sampler.h - chooses the next token from the logits of all tokens.
 *
 * The rules are those of Hugging Face's generation, in this order:
 *   - temperature: logits are divided by it; at temperature 0 the most likely token is chosen;
 *   - top-k: only the k most likely tokens remain;
 *   - top-p: of these, the fewest most likely tokens remain whose mass is at least p times the mass of
 *     all of these;
 *   - one of the remaining tokens is drawn, with a probability proportional to its mass,
 *     exp(logit / temperature).
 * Of equal logits, the token with the lower id counts as more likely.  The random number is a function
 * of seed, stream and position; masses are doubles that are added in the order of ids; exp is computed
 * by sampler.c itself.  So the token does not depend on the machine.
 */
#ifndef CR_SAMPLER_H
#define CR_SAMPLER_H

#include <stdint.h>

#include "api.h" /* only for crescent */

struct cr_sampling {
    double temperature;    /* 0: the most likely token is chosen, and the following fields are
                              ignored */
    long top_k;            /* 0: no limit */
    double top_p;          /* 0, or 1 and more: no limit */
    uint64_t seed, stream; /* stream: the number of the sequence if there are several */
};

enum {
    CR_SAMPLE_BUCKETS = 2048,
    CR_SAMPLE_NAN = -1, /* returned instead of a token if a logit is NaN */
    CR_SAMPLE_NONE = -2 /* returned if all logits are -infinity, so that no token is possible */
};

/* The doubles of scratch memory that cr_sample needs for n tokens. */
#define CR_SAMPLE_SCRATCH(n) ((n) + CR_SAMPLE_BUCKETS)

/* Returns the token at a position of a sequence, counted from 0, given the logits of n tokens; or
 * CR_SAMPLE_NAN or CR_SAMPLE_NONE.  An infinite logit is more likely than any finite one; several
 * infinite logits share the mass. */
CR_API long cr_sample(const struct cr_sampling *how, const float *logits, long n, uint64_t position,
                      double *scratch);

#endif
