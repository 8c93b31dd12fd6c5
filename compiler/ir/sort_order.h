/* sort_order.h - comparisons for qsort: ascending numbers, and names by their bytes. */
#ifndef CR_SORT_ORDER_H
#define CR_SORT_ORDER_H

#include <stdint.h>
#include <string.h>

static inline int cr_compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static inline int cr_compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static inline int cr_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Compares, by the strings' bytes, array elements that are a pointer to a string or structs that
 * begin with one. */
static inline int cr_compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#endif
