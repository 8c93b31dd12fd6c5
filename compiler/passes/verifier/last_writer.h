/*
 * last_writer.h - a map from each float of a buffer to the value that was written there last.
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
    int64_t *bounds; /* begins and ends of ranges, ascending; cell i: bounds[i] .. bounds[i + 1] */
    int n_bounds;
    int *writer; /* by node of the tree: the writer of all its cells, or SEVERAL */
};

enum { CR_NO_WRITER = -1 };

/* Begins with nothing written.  `ranges` must have every range that will be written or queried;
 * none is empty. */
void cr_last_writer_begin(struct cr_last_writer *w, const struct cr_range *ranges, int n);
void cr_last_writer_end(struct cr_last_writer *w);

void cr_write_range(struct cr_last_writer *w, struct cr_range range, int writer);

/* Returns `writer` if it wrote the whole range, else another writer of a part of it. */
int cr_other_writer(const struct cr_last_writer *w, struct cr_range range, int writer);

#endif
