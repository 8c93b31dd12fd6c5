/* quantiles.c - collects samples of repeated measurements; see quantiles.h. */
#include "quantiles.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"

void cr_sample_add(struct cr_sample *s, double value)
{
    *CR_PUSH(s->values, s->n, s->cap) = value;
}

double cr_sample_quantile(struct cr_sample *s, double q)
{
    if (!s->n)
        return 0;
    qsort(s->values, (size_t)s->n, sizeof *s->values, cr_compare_doubles);
    int i = (int)(q * s->n);
    return s->values[i < s->n ? i : s->n - 1];
}

double cr_sample_median(struct cr_sample *s)
{
    return cr_sample_quantile(s, 0.5);
}

double cr_sample_least(struct cr_sample *s)
{
    return cr_sample_quantile(s, 0);
}

void cr_sample_free(struct cr_sample *s)
{
    free(s->values);
    *s = (struct cr_sample){0};
}
