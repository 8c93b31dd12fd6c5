/* probabilities.h - computes probabilities from the logits of labels, in the library and in
 * emitted C. */
#ifndef CR_PROBABILITIES_H
#define CR_PROBABILITIES_H

#include <math.h>

/* Replaces n > 0 logits by probabilities, computed in double precision: each by a sigmoid, or all
 * by a softmax. */
static inline void cr_make_probabilities(float *logits, int n, int by_sigmoid)
{
    double most = (double)logits[0], sum = 0;
    int i;
    for (i = 0; i < n; i++)
        most = fmax(most, (double)logits[i]);
    for (i = 0; i < n; i++)
        sum += exp((double)logits[i] - most);
    for (i = 0; i < n; i++)
        logits[i] = (float)(by_sigmoid ? 1 / (1 + exp(-(double)logits[i])) : exp((double)logits[i] - most) / sum);
}

#endif
