/* quantiles.h - collects samples of repeated measurements, and computes their quantiles. */
#ifndef CR_QUANTILES_H
#define CR_QUANTILES_H

struct cr_sample {
    double *values;
    int n, cap;
};

void cr_sample_add(struct cr_sample *sample, double value);

/* Returns quantile q of a sample, such as the median for q = 0.5; 0 if the sample is empty.
 * Sorts the sample. */
double cr_sample_quantile(struct cr_sample *sample, double q);
double cr_sample_median(struct cr_sample *sample);
double cr_sample_least(struct cr_sample *sample);

void cr_sample_free(struct cr_sample *sample);

#endif
