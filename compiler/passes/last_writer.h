/*
 * last_writer.h - for every float of a buffer, for which value it was written last.
 *
 * A tree over the ranges that values occupy: writing a range and asking for one take time that is
 * logarithmic in their number.
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

/* Nothing is written yet.  All ranges that will be asked for are among the n, none is empty. */
void cr_last_writer_begin(struct cr_last_writer *w, const struct cr_range *ranges, int n);
void cr_last_writer_end(struct cr_last_writer *w);

void cr_write_range(struct cr_last_writer *w, struct cr_range range, int writer);

/* A writer of a part of the range that is not `writer`, or `writer` if all of it is. */
int cr_other_writer(const struct cr_last_writer *w, struct cr_range range, int writer);

#endif
