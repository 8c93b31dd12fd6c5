/* sample.h - repeated measurements, their median and other quantiles. */
#ifndef CR_SAMPLE_H
#define CR_SAMPLE_H

struct cr_sample {
    double *values;
    int n, cap;
};

void cr_sample_add(struct cr_sample *sample, double value);

/* Returns the value below which a fraction q of the sample lies; 0 if the sample is empty.  Sorts
 * the sample. */
double cr_sample_quantile(struct cr_sample *sample, double q);
double cr_sample_median(struct cr_sample *sample);
double cr_sample_least(struct cr_sample *sample);

void cr_sample_free(struct cr_sample *sample);

#endif
