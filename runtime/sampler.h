/*
 * sampler.h - the next token, from the logits of all.
 *
 * The rules are those of Hugging Face's generation, in this order:
 *   - logits are divided by the temperature; at temperature 0 the likeliest token is taken;
 *   - top-k leaves the k likeliest tokens;
 *   - top-p leaves the smallest set of the likeliest of these whose mass reaches p of theirs;
 *   - one of what is left is drawn by its mass, exp(logit / temperature).
 * Of equal logits the lower id is the likelier.  The number that is drawn is a function of seed, stream
 * and position; masses are doubles, added in the order of ids, and exp is this file's own: so the
 * token does not depend on the machine.
 */
#ifndef CR_SAMPLER_H
#define CR_SAMPLER_H

#include <stdint.h>

#include "api.h" /* only for crescent */

struct cr_sampling {
    double temperature;    /* 0: the most likely token is chosen, and the other fields are
                              ignored */
    long top_k;            /* 0: any number */
    double top_p;          /* 0, or 1 and more: all */
    uint64_t seed, stream; /* stream: the number of the sequence, if there are several */
};

enum {
    CR_SAMPLE_BUCKETS = 2048,
    CR_SAMPLE_NAN = -1, /* returned in place of a token: a logit is NaN */
    CR_SAMPLE_NONE = -2 /* returned if no token is possible: all logits are -infinity */
};

/* The doubles of scratch memory for n tokens. */
#define CR_SAMPLE_SCRATCH(n) ((n) + CR_SAMPLE_BUCKETS)

/* Returns the token at a position of a sequence, counted from 0, given the logits of n tokens;
 * or one of the values above.  An infinite logit is more likely than any finite one; several
 * infinite logits share the mass. */
CR_API long cr_sample(const struct cr_sampling *how, const float *logits, long n, uint64_t position,
                      double *scratch);

#endif
