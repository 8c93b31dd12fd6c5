#include "recompute_order.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"

enum {
    NEVER = INT_MAX,
    MOST_CALLS = 12, /* the most calls per value, on average; more calls would be too slow */
};

/* The state of a search, which simulates a run. */
struct search {
    const struct cr_made *values;
    int n;
    int *first_reader, *readers; /* the readers of value v are readers[first_reader[v]] to
                                    readers[first_reader[v + 1] - 1] */
    int *ahead;                  /* by value: the number of its readers that have been computed */
    int64_t budget, live;
    int now; /* the number of the value that is being computed for the first time */
    bool *alive;
    int *locks;    /* by value: the number of computations in progress that need it */
    int *next;     /* by value: the time of the value's next read, or NEVER */
    double *again; /* by value: the cost of recomputing the value */
    struct cr_order *order;
};

/* ---- the cost of dropping a value ---- */

/*
 * Lists the readers of each value in ascending order, by a counting sort.  While the lists are
 * filled, count[v + 1] is the index of the next free item for value v; afterwards it is the start
 * of the list of v + 1.
 */
static void find_readers(struct search *s)
{
    int *count = s->first_reader = cr_calloc((size_t)s->n + 2, sizeof *count), total = 0;
    for (int v = 0; v < s->n; v++)
        for (int i = 0; i < s->values[v].n_reads; i++, total++)
            count[s->values[v].reads[i] + 2]++;
    for (int v = 2; v < s->n + 2; v++)
        count[v] += count[v - 1];
    s->readers = cr_calloc((size_t)total, sizeof *s->readers);
    for (int v = 0; v < s->n; v++)
        for (int i = 0; i < s->values[v].n_reads; i++)
            s->readers[count[s->values[v].reads[i] + 1]++] = v;
}

/* Returns the time of the next read of value v, by a value computed for the first time or by one
 * that is recomputed. */
static int next_read(struct search *s, int v)
{
    int at = s->first_reader[v], end = s->first_reader[v + 1], next = NEVER;
    while (at + s->ahead[v] < end && s->readers[at + s->ahead[v]] < s->now)
        s->ahead[v]++;
    if (at + s->ahead[v] < end)
        next = s->readers[at + s->ahead[v]];
    for (int i = 0; i < s->ahead[v]; i++) {
        int reader = s->readers[at + i];
        if (!s->alive[reader] && s->next[reader] < next)
            next = s->next[reader];
    }
    return next;
}

/* Returns the cost of recomputing a value.  Operands that were dropped have to be recomputed first;
 * only the most expensive of these chains is counted. */
static double work_again(const struct search *s, int v)
{
    double before = 0;
    for (int i = 0; i < s->values[v].n_reads; i++) {
        int read = s->values[v].reads[i];
        if (!s->alive[read] && s->again[read] > before)
            before = s->again[read];
    }
    return s->values[v].work + before;
}

static void update_costs(struct search *s)
{
    for (int v = s->now - 1; v >= 0; v--)
        s->next[v] = next_read(s, v);
    for (int v = 0; v < s->now; v++)
        s->again[v] = work_again(s, v);
}

/*
 * Returns the gain of dropping a value: its size times the time until its next read, divided by the
 * cost of recomputing it.  The time counts by its power of 3/4, since memory is needed now, and
 * other values can be dropped later.
 */
static double gain_of(const struct search *s, int v)
{
    double away = s->next[v] - s->now + 1;
    return (double)s->values[v].floats * sqrt(away * sqrt(away)) / s->again[v];
}

/* Returns the value to drop: one that is never read again, else the one with the largest gain; -1
 * if none can be dropped. */
static int find_victim(const struct search *s)
{
    int best = -1;
    double most = 0;
    for (int v = 0; v < s->now; v++) {
        if (!s->alive[v] || !s->values[v].floats || s->locks[v])
            continue;
        if (s->next[v] == NEVER)
            return v;
        if (gain_of(s, v) > most) {
            most = gain_of(s, v);
            best = v;
        }
    }
    return best;
}

/* ---- computing a value ---- */

static bool make_room(struct search *s, int64_t floats)
{
    while (s->live + floats > s->budget) {
        update_costs(s);
        int victim = find_victim(s);
        if (victim < 0)
            return false;
        s->alive[victim] = false;
        s->live -= s->values[victim].floats;
    }
    return true;
}

/* Computes a value, after its operands that are not in memory.  Returns false if that exceeds the
 * budget or MOST_CALLS. */
static bool make(struct search *s, int v)
{
    const struct cr_made *value = &s->values[v];
    for (int i = 0; i < value->n_reads; i++)
        s->locks[value->reads[i]]++;
    for (int i = 0; i < value->n_reads; i++)
        if (!s->alive[value->reads[i]] && !make(s, value->reads[i]))
            return false;
    if (!make_room(s, value->floats) || s->order->n >= MOST_CALLS * s->n)
        return false;
    for (int i = 0; i < value->n_reads; i++)
        s->locks[value->reads[i]]--;
    s->alive[v] = true;
    s->live += value->floats;
    *CR_PUSH(s->order->calls, s->order->n, s->order->cap) = v;
    return true;
}

/* ---- the finished order ---- */

/* Removes calls whose value is dropped before it is read. */
static void drop_unread(struct search *s)
{
    struct cr_order *order = s->order;
    bool *wanted = cr_calloc((size_t)s->n, sizeof *wanted);
    int kept = order->n;
    for (int v = 0; v < s->n; v++)
        wanted[v] = s->values[v].wanted;
    for (int i = order->n - 1; i >= 0; i--) {
        int v = order->calls[i];
        if (!wanted[v])
            continue;
        wanted[v] = false;
        for (int r = 0; r < s->values[v].n_reads; r++)
            wanted[s->values[v].reads[r]] = true;
        order->calls[--kept] = v;
    }
    order->n -= kept;
    for (int i = 0; i < order->n; i++)
        order->calls[i] = order->calls[kept + i];
    free(wanted);
}

/* Sets order->peak to the most floats that are live at the same time.  A value is live from the
 * call that computes it to its last reader. */
static void find_peak(struct search *s)
{
    struct cr_order *order = s->order;
    bool *here = cr_calloc((size_t)s->n, sizeof *here); /* by value: true if the value is live at
                                                           the current call */
    int64_t live = 0;
    for (int i = order->n - 1; i >= 0; i--) {
        const struct cr_made *value = &s->values[order->calls[i]];
        live += here[order->calls[i]] ? 0 : value->floats;
        for (int r = 0; r < value->n_reads; r++) {
            int read = value->reads[r];
            live += here[read] ? 0 : s->values[read].floats;
            here[read] = true;
        }
        if (order->peak < live)
            order->peak = live;
        here[order->calls[i]] = false;
        live -= value->floats;
    }
    free(here);
}

bool cr_order_find(const struct cr_made *values, int n, int64_t budget,
                   struct cr_order *order)
{
    struct search s = {.values = values, .n = n, .budget = budget, .order = order};
    *order = (struct cr_order){0};
    find_readers(&s);
    s.ahead = cr_calloc((size_t)n, sizeof *s.ahead);
    s.alive = cr_calloc((size_t)n, sizeof *s.alive);
    s.locks = cr_calloc((size_t)n, sizeof *s.locks);
    s.next = cr_calloc((size_t)n, sizeof *s.next);
    s.again = cr_calloc((size_t)n, sizeof *s.again);
    bool ok = true;
    for (; ok && s.now < n; s.now++)
        ok = make(&s, s.now);
    if (ok) {
        drop_unread(&s);
        find_peak(&s);
    }
    free(s.first_reader);
    free(s.readers);
    free(s.ahead);
    free(s.alive);
    free(s.locks);
    free(s.next);
    free(s.again);
    return ok;
}

void cr_order_free(struct cr_order *order)
{
    free(order->calls);
    *order = (struct cr_order){0};
}
