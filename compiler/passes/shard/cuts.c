/*
 * cuts.c - computes sizes and offsets of cuts, and finds the axes and segments that a movement op,
 * a slice or a gather keeps.
 */
#include "cuts.h"

int64_t cr_share_of(const struct cr_shard *s, const struct cr_cut_segment *segment)
{
    int64_t units = segment->size / segment->unit;
    return (units + s->ranks - 1) / s->ranks * segment->unit;
}

/* Returns the number of elements that a rank has along the cut axis. */
int64_t cr_local_size(const struct cr_shard *s, const struct cr_axis_cut *cut)
{
    int64_t size = 0;
    for (int i = 0; i < cut->n; i++)
        size += cr_share_of(s, &cut->segments[i]);
    return size;
}

/* True if both cuts give each rank the same elements. */
bool cr_same_cut(const struct cr_shard *s, const struct cr_axis_cut *a, const struct cr_axis_cut *b)
{
    bool same = a->n == b->n && (a->n == 0 || a->axis == b->axis);
    for (int i = 0; i < a->n && same; i++)
        same = a->segments[i].size == b->segments[i].size &&
               cr_share_of(s, &a->segments[i]) == cr_share_of(s, &b->segments[i]);
    return same;
}

/* Returns the cut of a node for its readers: whole if it is gathered. */
const struct cr_axis_cut *cr_read_cut(const struct cr_shard *s, cr_id id)
{
    static const struct cr_axis_cut whole;
    return s->of[id].gathered ? &whole : &s->of[id].cut;
}

/* Returns the offset at which this rank's part of a segment begins. */
int64_t cr_begin_of(const struct cr_shard *s, const struct cr_cut_segment *segment)
{
    int64_t share = cr_share_of(s, segment), first = share * s->rank;
    return first > segment->size - share ? segment->size - share : first;
}

/* Sets *first and *n to the segments that a slice covers.  Returns false if it covers only a part
 * of a segment. */
bool cr_find_segments(const struct cr_axis_cut *cut, int64_t begin, int64_t size, int *first,
                      int *n)
{
    int64_t at = 0;
    int i = 0;
    for (; i < cut->n && at < begin; i++)
        at += cut->segments[i].size;
    bool begins = at == begin;
    *first = i;
    for (; i < cut->n && at < begin + size; i++)
        at += cut->segments[i].size;
    *n = i - *first;
    return begins && at == begin + size && *n > 0;
}

/* Finds the axis of a reshape that corresponds to axis `axis` of its operand.  Returns false if
 * there is none, for example if the reshape merges the axis with axes before it. */
bool cr_find_reshaped_axis(const struct cr_node *in, const struct cr_node *out, int axis,
                           struct cr_reshaped_axis *place)
{
    int64_t before = cr_elements(axis, in->shape), size = in->shape[axis], n = 1;
    int b = 0;
    while (b < out->rank && n < before)
        n *= out->shape[b++];
    while (b < out->rank && out->shape[b] == 1)
        b++;
    if (n != before || b == out->rank || size == 1)
        return false;
    *place = (struct cr_reshaped_axis){b, 1, 1};
    if (size % out->shape[b] == 0)
        place->split = size / out->shape[b];
    else if (out->shape[b] % size == 0)
        place->merged = out->shape[b] / size;
    else
        return false;
    return true;
}

/* Returns the number of axes of a gather's indices.  They come first in its result; the axes of a
 * row follow. */
int cr_index_rank(const struct cr_graph *g, cr_id gather)
{
    return g->nodes[cr_in(g, gather, 1)].rank;
}
