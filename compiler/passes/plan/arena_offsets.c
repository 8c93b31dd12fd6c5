#include "arena_offsets.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* The live range of a value: its first and its last kernel. */
struct span {
    int begin, end;
};

/* The values of a part that have the same offset and size; their live ranges follow one another. */
struct place {
    const struct span *values; /* sorted by live range */
    int n;
    int64_t within, floats;
};

/* An interval of offsets that a part cannot have: greater than `after` and less than `before`. */
struct gap {
    int64_t after, before;
};

struct packer {
    struct cr_part *parts;
    int n;
    struct span *values;  /* sorted by part, place and live range */
    struct place *places; /* sorted by part */
    int n_places;
    int *first_place; /* by part: the part's first place; one more entry ends the last part */
    int *placed;      /* the numbers of the parts that have an offset already, sorted by offset */
    struct gap *gaps;
    int n_gaps, cap_gaps;
};

/* ---- places of values ---- */

/* A value with the keys it is sorted by; qsort passes no context to the comparison. */
struct value {
    int part;
    int64_t within, floats;
    int first;
    cr_id id;
};

static int order_of(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_place(const void *x, const void *y)
{
    const struct value *a = x, *b = y;
    int order = order_of(a->part, b->part);
    order = order ? order : order_of(a->within, b->within);
    order = order ? order : order_of(a->floats, b->floats);
    return order ? order : order_of(a->first, b->first);
}

/* Lists the values in the arena, sorted by part, offset, size and live range; returns their
 * number. */
static int sort_values(const struct cr_lifetimes *l, struct value *values, int n_nodes)
{
    int n = 0;
    for (cr_id id = 0; id < n_nodes; id++)
        if (l->part[id] >= 0)
            values[n++] =
                (struct value){l->part[id], l->within[id], l->floats[id], l->first[id], id};
    qsort(values, (size_t)n, sizeof *values, by_place);
    return n;
}

/* Allocates a packer for `n` parts with n_values values; find_places fills in the places. */
static void begin_packer(struct packer *p, struct cr_part *parts, int n, int n_values)
{
    *p = (struct packer){.parts = parts, .n = n};
    p->values = cr_calloc((size_t)n_values, sizeof *p->values);
    p->places = cr_calloc((size_t)n_values, sizeof *p->places);
    p->first_place = cr_calloc((size_t)n + 1, sizeof *p->first_place);
    p->placed = cr_calloc((size_t)n, sizeof *p->placed);
}

static void end_packer(struct packer *p)
{
    free(p->values);
    free(p->places);
    free(p->first_place);
    free(p->placed);
    free(p->gaps);
}

/* Groups the values of each part by offset and size, sorted by live range. */
static void find_places(struct packer *p, const struct cr_lifetimes *l, int n_nodes)
{
    struct value *values = cr_calloc((size_t)n_nodes + 1, sizeof *values);
    int n = sort_values(l, values, n_nodes);
    begin_packer(p, l->parts, l->n, n);
    for (int i = 0; i < n; i++) {
        const struct value *v = &values[i], *last = i ? v - 1 : NULL;
        p->values[i] = (struct span){v->first, l->last[v->id]};
        if (!last || last->part != v->part || last->within != v->within ||
            last->floats != v->floats) {
            p->places[p->n_places++] =
                (struct place){.values = &p->values[i], .within = v->within, .floats = v->floats};
            p->first_place[v->part + 1] = p->n_places;
        }
        p->places[p->n_places - 1].n++;
    }
    free(values);
}

/* ---- offsets ---- */

/* True if a value of one place and a value of the other are live at the same time. */
static bool are_together(const struct place *a, const struct place *b)
{
    if (a->values[a->n - 1].end < b->values[0].begin || b->values[b->n - 1].end < a->values[0].begin)
        return false;
    for (int i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->values[i].end < b->values[j].begin)
            i++;
        else if (b->values[j].end < a->values[i].begin)
            j++;
        else
            return true;
    }
    return false;
}

/* Appends the intervals of offsets that `part` cannot have because of part `other`, which has an
 * offset. */
static void add_gaps(struct packer *p, int part, int other)
{
    int64_t offset = p->parts[other].offset;
    for (int i = p->first_place[part]; i < p->first_place[part + 1]; i++) {
        for (int j = p->first_place[other]; j < p->first_place[other + 1]; j++) {
            const struct place *a = &p->places[i], *b = &p->places[j];
            if (are_together(a, b))
                *CR_PUSH(p->gaps, p->n_gaps, p->cap_gaps) =
                    (struct gap){offset + b->within - a->within - a->floats,
                                 offset + b->within + b->floats - a->within};
        }
    }
}

static int by_start(const void *x, const void *y)
{
    return order_of(((const struct gap *)x)->after, ((const struct gap *)y)->after);
}

/* True if the gaps are in ascending order, which they are if all parts have a single place. */
static bool are_sorted(const struct packer *p)
{
    for (int i = 1; i < p->n_gaps; i++)
        if (p->gaps[i - 1].after > p->gaps[i].after)
            return false;
    return true;
}

/* Returns the lowest offset that is in no gap. */
static int64_t lowest(struct packer *p)
{
    int64_t offset = 0;
    if (!are_sorted(p))
        qsort(p->gaps, (size_t)p->n_gaps, sizeof *p->gaps, by_start);
    for (int i = 0; i < p->n_gaps && p->gaps[i].after < offset; i++)
        if (offset < p->gaps[i].before)
            offset = p->gaps[i].before;
    return offset;
}

/* A part's number with its sort key. */
struct numbered {
    int64_t floats;
    int part;
};

static int larger_first(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    return a->floats != b->floats ? order_of(b->floats, a->floats) : order_of(a->part, b->part);
}

/* Inserts a part into the list of the n parts that have an offset, which is sorted by offset. */
static void insert_placed(struct packer *p, int n, int part)
{
    int at = n;
    for (; at > 0 && p->parts[p->placed[at - 1]].offset > p->parts[part].offset; at--)
        p->placed[at] = p->placed[at - 1];
    p->placed[at] = part;
}

/* Sets the offset of each part; returns the size of the arena in floats. */
static int64_t place_parts(struct packer *p)
{
    struct numbered *order = cr_calloc((size_t)p->n, sizeof *order);
    int64_t floats = 0;
    for (int i = 0; i < p->n; i++)
        order[i] = (struct numbered){p->parts[i].floats, i};
    qsort(order, (size_t)p->n, sizeof *order, larger_first);
    for (int i = 0; i < p->n; i++) {
        struct cr_part *part = &p->parts[order[i].part];
        p->n_gaps = 0;
        for (int j = 0; j < i; j++)
            add_gaps(p, order[i].part, p->placed[j]);
        part->offset = lowest(p);
        insert_placed(p, i, order[i].part);
        if (floats < part->offset + part->floats)
            floats = part->offset + part->floats;
    }
    free(order);
    return floats;
}

/* ---- many places ---- */

/*
 * Each place is compared with all earlier ones, which is too slow for more than MANY places.  Then
 * parts of similar size share a *slot*, one after another in time, and only slots are compared.  If
 * there are more than MANY_SLOTS slots, they are placed side by side without sharing.
 */
enum { MANY = 8192, MANY_SLOTS = 1024, UNIT = CR_ALIGN };

/* A part treated as one block, which is live from its first value to its last. */
struct whole {
    int part, slot;
    int64_t floats; /* the size, rounded up */
    struct span span;
};

/* Rounds a size up, so that sizes that differ by less than an eighth become equal. */
static int64_t rounded(int64_t floats)
{
    int64_t unit = UNIT;
    while (16 * unit < floats)
        unit *= 2;
    return (floats + unit - 1) / unit * unit;
}

/* Returns a list with one block for each part; the caller frees it. */
static struct whole *find_wholes(const struct packer *p)
{
    struct whole *wholes = cr_calloc((size_t)p->n, sizeof *wholes);
    for (int i = 0; i < p->n; i++) {
        wholes[i] = (struct whole){i, 0, rounded(p->parts[i].floats), {INT_MAX, -1}};
        struct span *span = &wholes[i].span;
        for (int j = p->first_place[i]; j < p->first_place[i + 1]; j++) {
            const struct place *place = &p->places[j];
            if (span->begin > place->values[0].begin)
                span->begin = place->values[0].begin;
            if (span->end < place->values[place->n - 1].end)
                span->end = place->values[place->n - 1].end;
        }
    }
    return wholes;
}

static int by_begin(const void *x, const void *y)
{
    const struct whole *a = x, *b = y;
    int order = order_of(a->floats, b->floats);
    order = order ? order : order_of(a->span.begin, b->span.begin);
    return order ? order : order_of(a->part, b->part);
}

static int by_end(const void *x, const void *y)
{
    const struct whole *a = x, *b = y;
    int order = order_of(a->floats, b->floats);
    order = order ? order : order_of(a->span.end, b->span.end);
    return order ? order : order_of(a->part, b->part);
}

static int by_slot(const void *x, const void *y)
{
    const struct whole *a = x, *b = y;
    return a->slot != b->slot ? order_of(a->slot, b->slot) : order_of(a->span.begin, b->span.begin);
}

/* Puts parts of the same rounded size whose live ranges do not overlap into one slot.  Sorts the
 * parts by slot and returns the number of slots. */
static int find_slots(struct whole *wholes, int n)
{
    struct whole *ends = cr_calloc((size_t)n, sizeof *ends);
    int *slot = cr_calloc((size_t)n, sizeof *slot), *idle = cr_calloc((size_t)n, sizeof *idle);
    int n_slots = 0, n_idle = 0, end = 0;
    qsort(wholes, (size_t)n, sizeof *wholes, by_begin);
    memcpy(ends, wholes, (size_t)n * sizeof *ends);
    qsort(ends, (size_t)n, sizeof *ends, by_end);
    for (int i = 0; i < n; i++) {
        struct whole *w = &wholes[i];
        if (i > 0 && w->floats != w[-1].floats)
            n_idle = 0, end = i;
        for (; ends[end].span.end < w->span.begin; end++)
            idle[n_idle++] = slot[ends[end].part];
        w->slot = slot[w->part] = n_idle ? idle[--n_idle] : n_slots++;
    }
    qsort(wholes, (size_t)n, sizeof *wholes, by_slot);
    free(ends);
    free(slot);
    free(idle);
    return n_slots;
}

/* Places the parts one after another, without sharing memory; returns their total size. */
static int64_t line_up(struct packer *p)
{
    int64_t floats = 0;
    for (int i = 0; i < p->n; i++) {
        p->parts[i].offset = floats;
        floats += p->parts[i].floats;
    }
    return floats;
}

/* Sets the offset of each slot, and the offsets of its parts to the slot's; returns the size of the
 * arena. */
static int64_t place_slots(struct packer *parts)
{
    struct packer slots;
    struct whole *wholes = find_wholes(parts);
    int n = find_slots(wholes, parts->n);
    begin_packer(&slots, cr_calloc((size_t)n, sizeof *slots.parts), n, parts->n);
    for (int i = 0; i < parts->n; i++) {
        const struct whole *w = &wholes[i];
        struct place *place = &slots.places[w->slot];
        slots.values[i] = w->span;
        if (!place->n++)
            place->values = &slots.values[i];
        if (place->floats < parts->parts[w->part].floats)
            place->floats = slots.parts[w->slot].floats = parts->parts[w->part].floats;
        slots.first_place[w->slot + 1] = w->slot + 1;
    }
    int64_t floats = n <= MANY_SLOTS ? place_parts(&slots) : line_up(&slots);
    for (int i = 0; i < parts->n; i++)
        parts->parts[wholes[i].part].offset = slots.parts[wholes[i].slot].offset;
    free(slots.parts);
    end_packer(&slots);
    free(wholes);
    return floats;
}

int64_t cr_set_arena_offsets(struct cr_lifetimes *l, int n_nodes)
{
    struct packer p;
    find_places(&p, l, n_nodes);
    int64_t floats = p.n_places <= MANY ? place_parts(&p) : place_slots(&p);
    end_packer(&p);
    return floats;
}
