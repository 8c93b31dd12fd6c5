#include "pack.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* Values of a part in one place, one after another. */
struct place {
    const cr_id *values; /* by time */
    int n;
    int64_t within, floats;
    int begin, end; /* of the first and of the last */
};

/* Offsets at which a part cannot be: more than one, and less than the other. */
struct gap {
    int64_t after, before;
};

struct packer {
    struct cr_lifetimes *l;
    cr_id *values;        /* those in the arena, by part, place and time */
    struct place *places; /* by part */
    int *first_place;     /* by part, and one more */
    struct gap *gaps;
    int n_gaps, cap_gaps;
};

/* ---- places ---- */

/* For qsort, which hands over nothing else. */
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

/* The values in the arena, in order; returns how many. */
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

static void find_places(struct packer *p, int n_nodes)
{
    struct value *values = cr_calloc((size_t)n_nodes + 1, sizeof *values);
    int n = sort_values(p->l, values, n_nodes), n_places = 0;
    p->values = cr_calloc((size_t)n + 1, sizeof *p->values);
    p->places = cr_calloc((size_t)n + 1, sizeof *p->places);
    p->first_place = cr_calloc((size_t)p->l->n + 1, sizeof *p->first_place);
    for (int i = 0; i < n; i++) {
        const struct value *v = &values[i], *last = i ? v - 1 : NULL;
        p->values[i] = v->id;
        if (!last || last->part != v->part || last->within != v->within ||
            last->floats != v->floats) {
            p->places[n_places++] = (struct place){.values = &p->values[i],
                                                   .within = v->within,
                                                   .floats = v->floats,
                                                   .begin = v->first};
            p->first_place[v->part + 1] = n_places;
        }
        struct place *place = &p->places[n_places - 1];
        place->n++;
        place->end = p->l->last[v->id];
    }
    free(values);
}

/* ---- offsets ---- */

/* Whether values of two places are alive at once. */
static bool are_together(const struct cr_lifetimes *l, const struct place *a, const struct place *b)
{
    if (a->end < b->begin || b->end < a->begin)
        return false;
    for (int i = 0, j = 0; i < a->n && j < b->n;) {
        if (l->last[a->values[i]] < l->first[b->values[j]])
            i++;
        else if (l->last[b->values[j]] < l->first[a->values[i]])
            j++;
        else
            return true;
    }
    return false;
}

/* Finds the offsets that a part cannot have because of one that has its own. */
static void add_gaps(struct packer *p, int part, int other)
{
    int64_t offset = p->l->parts[other].offset;
    for (int i = p->first_place[part]; i < p->first_place[part + 1]; i++) {
        for (int j = p->first_place[other]; j < p->first_place[other + 1]; j++) {
            const struct place *a = &p->places[i], *b = &p->places[j];
            if (are_together(p->l, a, b))
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

/* The lowest offset that is in none of the gaps. */
static int64_t lowest(struct packer *p)
{
    int64_t offset = 0;
    if (p->n_gaps)
        qsort(p->gaps, (size_t)p->n_gaps, sizeof *p->gaps, by_start);
    for (int i = 0; i < p->n_gaps && p->gaps[i].after < offset; i++)
        if (offset < p->gaps[i].before)
            offset = p->gaps[i].before;
    return offset;
}

/* A part's number, by which to sort. */
struct numbered {
    int64_t floats;
    int part;
};

static int larger_first(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    return a->floats != b->floats ? order_of(b->floats, a->floats) : order_of(a->part, b->part);
}

int64_t cr_pack_parts(struct cr_lifetimes *l, int n_nodes)
{
    struct packer p = {.l = l};
    struct numbered *order = cr_calloc((size_t)l->n + 1, sizeof *order);
    int64_t floats = 0;
    find_places(&p, n_nodes);
    for (int i = 0; i < l->n; i++)
        order[i] = (struct numbered){l->parts[i].floats, i};
    qsort(order, (size_t)l->n, sizeof *order, larger_first);
    for (int i = 0; i < l->n; i++) {
        struct cr_part *part = &l->parts[order[i].part];
        p.n_gaps = 0;
        for (int j = 0; j < i; j++)
            add_gaps(&p, order[i].part, order[j].part);
        part->offset = lowest(&p);
        if (floats < part->offset + part->floats)
            floats = part->offset + part->floats;
    }
    free(order);
    free(p.values);
    free(p.places);
    free(p.first_place);
    free(p.gaps);
    return floats;
}
