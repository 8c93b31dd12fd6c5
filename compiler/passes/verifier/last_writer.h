/*
 * last_writer.h - records, for each float of a buffer, the value that was written there last.
 *
 * This is a segment tree over the ranges of the values: writing or querying a range takes time
 * logarithmic in the number of ranges.
 */
#ifndef CR_LAST_WRITER_H
#define CR_LAST_WRITER_H

#include <stdbool.h>
#include <stdint.h>

/* The range of floats begin .. end - 1. */
struct cr_range {
    int64_t begin, end;
};

struct cr_last_writer {
    int64_t *bounds; /* the begins and ends of all ranges, ascending; cell i is bounds[i] ..
                        bounds[i + 1] - 1 */
    int n_bounds;
    int *writer; /* by node of the tree: the writer of all cells of the node, or SEVERAL */
};

enum { CR_NO_WRITER = -1 };

/* Initialises *w, with nothing written.  `ranges` must have every range that will be written or
 * queried; none may be empty. */
void cr_last_writer_begin(struct cr_last_writer *w, const struct cr_range *ranges, int n);
void cr_last_writer_end(struct cr_last_writer *w);

void cr_write_range(struct cr_last_writer *w, struct cr_range range, int writer);

/* Returns `writer` if it wrote the whole range last, else the writer of some part of the range. */
int cr_other_writer(const struct cr_last_writer *w, struct cr_range range, int writer);

#endif
