/* quantiles.h - samples of repeated measurements, and their quantiles. */
#ifndef CR_QUANTILES_H
#define CR_QUANTILES_H

struct cr_sample {
    double *values;
    int n, cap;
};

void cr_sample_add(struct cr_sample *sample, double value);

/* Returns the quantile q of the sample; 0 if it is empty.  Sorts the sample. */
double cr_sample_quantile(struct cr_sample *sample, double q);
double cr_sample_median(struct cr_sample *sample);
double cr_sample_least(struct cr_sample *sample);

void cr_sample_free(struct cr_sample *sample);

#endif
