#include "schedule.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"

enum {
    NEVER = INT_MAX,
    MOST_CALLS = 12, /* for a value, on average: less memory than that takes is too dear */
};

/* The search, at a moment of the run it imagines. */
struct search {
    const struct cr_made *values;
    int n;
    int *first_reader, *readers; /* by value, and one past the last: readers[first_reader[v] ..] */
    int *ahead;                  /* by value: how many of its readers lie behind */
    int64_t budget, live;
    int now; /* the value that is to be made next for the first time */
    bool *alive;
    int *locks;    /* by value: who needs it at this moment */
    int *next;     /* by value: when it is read next, or NEVER */
    double *again; /* by value: the work of making it again */
    struct cr_schedule *schedule;
};

/* ---- what going and coming back costs ---- */

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

/* When a value is read next: by one that is to come, or to make one again that went. */
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

/* To make a value again, what it reads may have to be made again: the longest chain counts. */
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

static void look_around(struct search *s)
{
    for (int v = s->now - 1; v >= 0; v--)
        s->next[v] = next_read(s, v);
    for (int v = 0; v < s->now; v++)
        s->again[v] = work_again(s, v);
}

/* What is won if a value goes.  How long it may stay away counts by its power of 3/4: the room is
 * needed now, and others may go later. */
static double gain_of(const struct search *s, int v)
{
    double away = s->next[v] - s->now + 1;
    return (double)s->values[v].floats * sqrt(away * sqrt(away)) / s->again[v];
}

/* The value that had best go, or -1. */
static int find_victim(const struct search *s)
{
    int best = -1;
    double most = 0;
    for (int v = 0; v < s->now; v++) {
        if (!s->alive[v] || s->values[v].kept || s->locks[v])
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

/* ---- making ---- */

static bool make_room(struct search *s, int64_t floats)
{
    while (s->live + floats > s->budget) {
        look_around(s);
        int victim = find_victim(s);
        if (victim < 0)
            return false;
        s->alive[victim] = false;
        s->live -= s->values[victim].floats;
    }
    return true;
}

/* Makes a value, and before it what it reads and is not there. */
static bool make(struct search *s, int v)
{
    const struct cr_made *value = &s->values[v];
    int64_t floats = value->kept ? 0 : value->floats;
    for (int i = 0; i < value->n_reads; i++)
        s->locks[value->reads[i]]++;
    for (int i = 0; i < value->n_reads; i++)
        if (!s->alive[value->reads[i]] && !make(s, value->reads[i]))
            return false;
    if (!make_room(s, floats) || s->schedule->n >= MOST_CALLS * s->n)
        return false;
    for (int i = 0; i < value->n_reads; i++)
        s->locks[value->reads[i]]--;
    s->alive[v] = true;
    s->live += floats;
    *CR_PUSH(s->schedule->calls, s->schedule->n, s->schedule->cap) = v;
    return true;
}

/* ---- afterwards ---- */

/* Leaves out calls whose value goes before anybody reads it. */
static void drop_unread(struct search *s)
{
    struct cr_schedule *schedule = s->schedule;
    bool *wanted = cr_calloc((size_t)s->n, sizeof *wanted);
    int kept = schedule->n;
    for (int v = 0; v < s->n; v++)
        wanted[v] = s->values[v].kept;
    for (int i = schedule->n - 1; i >= 0; i--) {
        int v = schedule->calls[i];
        if (!wanted[v])
            continue;
        wanted[v] = false;
        for (int r = 0; r < s->values[v].n_reads; r++)
            wanted[s->values[v].reads[r]] = true;
        schedule->calls[--kept] = v;
    }
    schedule->n -= kept;
    for (int i = 0; i < schedule->n; i++)
        schedule->calls[i] = schedule->calls[kept + i];
    free(wanted);
}

/* A value occupies its floats from its making to its last reader. */
static void find_peak(struct search *s)
{
    struct cr_schedule *schedule = s->schedule;
    bool *here = cr_calloc((size_t)s->n, sizeof *here); /* walking back: between the two */
    int64_t live = 0;
    for (int i = schedule->n - 1; i >= 0; i--) {
        const struct cr_made *value = &s->values[schedule->calls[i]];
        int64_t own = value->kept ? 0 : value->floats;
        live += here[schedule->calls[i]] ? 0 : own;
        for (int r = 0; r < value->n_reads; r++) {
            int read = value->reads[r];
            live += here[read] || s->values[read].kept ? 0 : s->values[read].floats;
            here[read] = true;
        }
        if (schedule->peak < live)
            schedule->peak = live;
        here[schedule->calls[i]] = false;
        live -= own;
    }
    free(here);
}

bool cr_schedule_find(const struct cr_made *values, int n, int64_t budget,
                      struct cr_schedule *schedule)
{
    struct search s = {.values = values, .n = n, .budget = budget, .schedule = schedule};
    *schedule = (struct cr_schedule){0};
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

void cr_schedule_free(struct cr_schedule *schedule)
{
    free(schedule->calls);
    *schedule = (struct cr_schedule){0};
}
