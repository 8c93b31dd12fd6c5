/*
 * last_writer.h - the value for which each float of a buffer was last written.
 *
 * A segment tree over the ranges that values occupy: writing a range and querying one take time
 * logarithmic in the number of ranges.
 */
#ifndef CR_LAST_WRITER_H
#define CR_LAST_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* Floats begin .. end - 1. */
struct cr_range {
    int64_t begin, end;
};

struct cr_last_writer {
    int64_t *bounds; /* where ranges begin and end, ascending; cell i: bounds[i] .. bounds[i + 1] */
    int n_bounds;
    int *writer; /* by node of the tree: of all its cells, or SEVERAL */
};

enum { CR_NO_WRITER = -1 };

/* Begins with nothing written.  All ranges that will be written or queried are among the n; none
 * is empty. */
void cr_last_writer_begin(struct cr_last_writer *w, const struct cr_range *ranges, int n);
void cr_last_writer_end(struct cr_last_writer *w);

void cr_write_range(struct cr_last_writer *w, struct cr_range range, int writer);

/* Another writer of some part of the range, or `writer` if it wrote all of it. */
int cr_other_writer(const struct cr_last_writer *w, struct cr_range range, int writer);

#endif
