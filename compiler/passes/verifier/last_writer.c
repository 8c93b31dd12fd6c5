#include "last_writer.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"

enum { SEVERAL = -2 };

void cr_last_writer_begin(struct cr_last_writer *w, const struct cr_range *ranges, int n)
{
    int64_t *bounds = cr_calloc(2 * (size_t)n + 1, sizeof *bounds);
    for (int i = 0; i < n; i++) {
        bounds[2 * i] = ranges[i].begin;
        bounds[2 * i + 1] = ranges[i].end;
    }
    qsort(bounds, 2 * (size_t)n, sizeof *bounds, cr_compare_int64);
    *w = (struct cr_last_writer){.bounds = bounds};
    for (int i = 0; i < 2 * n; i++)
        if (!w->n_bounds || bounds[w->n_bounds - 1] != bounds[i])
            bounds[w->n_bounds++] = bounds[i];
    w->writer = cr_calloc(4 * (size_t)w->n_bounds + 1, sizeof *w->writer);
    for (int i = 0; i < 4 * w->n_bounds + 1; i++)
        w->writer[i] = CR_NO_WRITER;
}

void cr_last_writer_end(struct cr_last_writer *w)
{
    free(w->bounds);
    free(w->writer);
}

/* A node of the tree, and the range of its cells, first .. end - 1.  Its children are nodes 2 *
 * node and 2 * node + 1. */
struct subtree {
    int node, first, end;
};

static struct subtree root_of(const struct cr_last_writer *w)
{
    return (struct subtree){1, 0, w->n_bounds - 1};
}

static struct subtree child(struct subtree t, bool second)
{
    int middle = t.first + (t.end - t.first) / 2;
    if (second)
        return (struct subtree){2 * t.node + 1, middle, t.end};
    return (struct subtree){2 * t.node, t.first, middle};
}

/* misses returns true if a range contains no cell of a subtree; holds returns true if it contains
 * all of them. */
static bool misses(const struct cr_last_writer *w, struct subtree t, struct cr_range r)
{
    return t.first >= t.end || w->bounds[t.end] <= r.begin || r.end <= w->bounds[t.first];
}

static bool holds(const struct cr_last_writer *w, struct subtree t, struct cr_range r)
{
    return r.begin <= w->bounds[t.first] && w->bounds[t.end] <= r.end;
}

/* Sets the writer of a range in a subtree.  An inner node has the writer of all its cells, or
 * SEVERAL. Before only some of its cells are written, its writer is copied to its children. */
static void write_in(struct cr_last_writer *w, struct subtree t, struct cr_range range, int writer)
{
    int *here = &w->writer[t.node], *left = &w->writer[2 * t.node], *right = left + 1;
    if (misses(w, t, range))
        return;
    if (holds(w, t, range)) {
        *here = writer;
        return;
    }
    if (*here != SEVERAL)
        *left = *right = *here;
    write_in(w, child(t, false), range, writer);
    write_in(w, child(t, true), range, writer);
    *here = *left == *right ? *left : SEVERAL;
}

void cr_write_range(struct cr_last_writer *w, struct cr_range range, int writer)
{
    write_in(w, root_of(w), range, writer);
}

static int other_in(const struct cr_last_writer *w, struct subtree t, struct cr_range range,
                    int writer)
{
    if (misses(w, t, range))
        return writer;
    if (w->writer[t.node] != SEVERAL)
        return w->writer[t.node];
    int other = other_in(w, child(t, false), range, writer);
    return other != writer ? other : other_in(w, child(t, true), range, writer);
}

int cr_other_writer(const struct cr_last_writer *w, struct cr_range range, int writer)
{
    return other_in(w, root_of(w), range, writer);
}
