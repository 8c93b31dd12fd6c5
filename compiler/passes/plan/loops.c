/*
 * loops.c - finds repeated sequences of kernels; see loops.h.
 *
 * The operands of the iterations must be regular: each is a weight, or input n, or the result of
 * kernel n, where n is constant or changes by equal steps from iteration to iteration.  The first
 * and the last iteration may be exceptions, since they begin and end a chain.  Entries share
 * functions, but a loop belongs to one entry.
 */
#include "loops.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/sort_order.h"
#include "compiler/ir/unwind.h"
#include "compiler/passes/weights/weights.h"

/* ---- repeated sequences ---- */

enum {
    LONGEST = 128, /* the most kernels in an iteration */
    LEAST = 2,    /* a loop must save at least so many calls */
};

/* The source of an operand, or the destination of a result: its kind, and its number `at` among
 * those of its kind. */
struct origin {
    enum { PARAM, INPUT, OUTPUT, STATE, LITERAL, MADE /* the result of kernel `at` */ } kind;
    int at;
};

struct search {
    const struct cr_module *m;
    const int *function; /* by kernel: the first kernel whose code the kernel shares */
    const struct cr_buffer_offsets *starts; /* by kernel: the offsets at which the kernel begins in
                                               its operands */
    struct cr_loops *found;
    int *first_def, *last_def; /* by node: the first and last kernel that writes the node, or -1 */
    struct origin *origin;     /* by node: the node's source or destination */
    bool *crossed;             /* by kernel, and one more: true if kernels before it and kernels
                                  from it on write the same value */
    int *most[LONGEST + 1];    /* by period and first kernel: an upper bound of the iterations of a
                                  loop; 2 and 3 need a further test.  Null if no loop has the
                                  period */
    bool *taken;               /* by kernel: true if the kernel is in a chosen loop */
};

/* Finds the first and the last kernel that writes each node. */
static void find_writers(struct search *s)
{
    const struct cr_module *m = s->m;
    size_t n = (size_t)m->graph->n_nodes;
    s->first_def = cr_calloc(n, sizeof *s->first_def);
    s->last_def = cr_calloc(n, sizeof *s->last_def);
    for (size_t i = 0; i < n; i++)
        s->first_def[i] = s->last_def[i] = -1;
    for (int i = 0; i < m->n_kernels; i++)
        for (int j = 0; j < m->kernels[i].n_stored; j++) {
            cr_id id = m->kernels[i].stored[j];
            s->last_def[id] = i;
            if (s->first_def[id] < 0)
                s->first_def[id] = i;
        }
}

/* Finds the kernels before which no iteration may begin or end, because kernels on both sides write
 * the same value and other kernels run between them.  If all writers of a value are consecutive, a
 * loop may have some of them. */
static void find_crossed(struct search *s)
{
    const struct cr_module *m = s->m;
    int *writers = cr_calloc((size_t)m->graph->n_nodes, sizeof *writers); /* by node: the number of
                                                                             kernels that write
                                                                             it */
    for (int i = 0; i < m->n_kernels; i++)
        writers[m->kernels[i].buffer]++;
    s->crossed = cr_calloc((size_t)m->n_kernels + 1, sizeof *s->crossed);
    for (int i = 0, last = 0; i < m->n_kernels; i++) {
        cr_id id = m->kernels[i].buffer; /* further stored nodes have only one writer */
        bool in_a_row = writers[id] == s->last_def[id] - s->first_def[id] + 1;
        if (last < s->last_def[id] && !in_a_row)
            last = s->last_def[id];
        s->crossed[i + 1] = last > i;
    }
    free(writers);
}

/* Finds the origin of each node.  An output has the origin OUTPUT although a kernel computes it:
 * the caller chooses its memory, so only its number can change by equal steps. */
static void find_origins(struct search *s)
{
    const struct cr_graph *g = s->m->graph;
    int n_inputs = 0;
    s->origin = cr_calloc((size_t)g->n_nodes, sizeof *s->origin);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (cr_is_input(&g->nodes[id]))
            s->origin[id] = (struct origin){g->nodes[id].op == CR_OP_state ? STATE : INPUT,
                                            n_inputs++};
        else if (cr_is_laid_out(g, id))
            s->origin[id] = (struct origin){PARAM, id};
        else if (g->nodes[id].op == CR_OP_literal)
            s->origin[id] = (struct origin){LITERAL, (int)g->nodes[id].value};
        else
            s->origin[id] = (struct origin){MADE, s->first_def[id]};
    }
    for (int i = 0; i < cr_n_results(g); i++)
        s->origin[g->outputs[i].id] = (struct origin){OUTPUT, i};
    for (int i = cr_n_results(g); i < g->n_outputs; i++)
        s->origin[g->outputs[i].id] = s->origin[g->outputs[i].state];
}

static const struct cr_kernel *body(const struct search *s, const struct cr_loop *loop,
                                    int iteration, int at)
{
    return &s->m->kernels[loop->first + iteration * loop->period + at];
}

/* Returns the operand or result number `ref` (cr_touched) of kernel `at` of an iteration. */
static cr_id operand(const struct search *s, const struct cr_loop *loop, int iteration, int at,
                     int ref)
{
    return cr_touched(body(s, loop, iteration, at), ref);
}

/* Returns the offset at which a kernel begins in operand or result number `ref` (cr_touched). */
static int64_t start_of(const struct search *s, int kernel, int ref)
{
    return !s->starts ? 0 : s->starts[kernel].at[ref < 0 ? CR_START_RESULT : ref];
}

/* True if the offset in operand `ref` differs as much between kernels a and b as between c and
 * d. */
static bool starts_step(const struct search *s, int ref, int a, int b, int c, int d)
{
    return start_of(s, b, ref) - start_of(s, a, ref) == start_of(s, d, ref) - start_of(s, c, ref);
}

/* True if node b can be the operand of the iteration after that of node a: their origins have the
 * same kind and, unless that is PARAM, the same distance as the origins of c and d. */
static bool is_step(const struct search *s, cr_id a, cr_id b, cr_id c, cr_id d)
{
    const struct origin *x = &s->origin[a], *y = &s->origin[b];
    if (x->kind != y->kind)
        return false;
    if (x->kind == MADE && s->function[x->at] != s->function[y->at])
        return false;
    return x->kind == PARAM || y->at - x->at == s->origin[d].at - s->origin[c].at;
}

/* True if an operand changes by equal steps in the iterations begin .. end - 1. */
static bool is_progression(const struct search *s, const struct cr_loop *loop, int at, int ref,
                           int begin, int end)
{
    cr_id first = operand(s, loop, begin, at, ref), second = operand(s, loop, begin + 1, at, ref);
    int kernel = loop->first + begin * loop->period + at, next = kernel + loop->period;
    for (int i = begin; i + 1 < end; i++) {
        int k = loop->first + i * loop->period + at;
        if (!is_step(s, operand(s, loop, i, at, ref), operand(s, loop, i + 1, at, ref), first,
                     second) ||
            !starts_step(s, ref, k, k + loop->period, kernel, next))
            return false;
    }
    return true;
}

/*
 * True if an operand changes by equal steps, except perhaps in the first or the last iteration.  If
 * there are only two iterations, and the operand is no progression, a kernel must compute it in one
 * of them; otherwise the iterations are no loop, and share only their functions.
 */
static bool is_even(const struct search *s, const struct cr_loop *loop, int at, int ref)
{
    int n = loop->count;
    if (is_progression(s, loop, at, ref, 0, n))
        return true;
    if (n == 2)
        return s->origin[operand(s, loop, 0, at, ref)].kind == MADE ||
               s->origin[operand(s, loop, 1, at, ref)].kind == MADE;
    return is_progression(s, loop, at, ref, 1, n) || is_progression(s, loop, at, ref, 0, n - 1) ||
           (n > 3 && is_progression(s, loop, at, ref, 1, n - 1));
}

/* True if no iteration begins or ends between kernels that write parts of one value, such as a
 * concat. */
static bool is_whole(const struct search *s, const struct cr_loop *loop)
{
    for (int i = 0; i <= loop->count; i++)
        if (s->crossed[loop->first + i * loop->period])
            return false;
    return true;
}

/* True if the kernels of a candidate can run as a loop. */
static bool is_loop(const struct search *s, const struct cr_loop *loop)
{
    if (!is_whole(s, loop))
        return false;
    for (int at = 0; at < loop->period; at++) {
        const struct cr_kernel *k = body(s, loop, 0, at);
        for (int ref = -k->n_stored; ref < k->n_refs; ref++)
            if (!is_even(s, loop, at, ref))
                return false;
    }
    return true;
}

/* ---- the number of iterations ---- */

/* Returns the origin of a kernel's operand or result (cr_touched). */
static const struct origin *origin_of(const struct search *s, int kernel, int ref)
{
    return &s->origin[cr_touched(&s->m->kernels[kernel], ref)];
}

/* True if two kernels that share a function may be one kernel in two iterations of a loop, as far as
 * the kinds of their operands and results tell: the origins of each have the same kind and, if
 * kernels compute them, these share a function, too. */
static bool may_step(const struct search *s, int kernel, int other)
{
    const struct cr_kernel *k = &s->m->kernels[kernel];
    for (int ref = -k->n_stored; ref < k->n_refs; ref++) {
        const struct origin *x = origin_of(s, kernel, ref), *y = origin_of(s, other, ref);
        if (x->kind != y->kind || (x->kind == MADE && s->function[x->at] != s->function[y->at]))
            return false;
    }
    return true;
}

/* True if all operands change by the same step from a kernel to the kernel one period later, and
 * from there to the kernel two periods later.  Both pairs must satisfy may_step. */
static bool steps_evenly(const struct search *s, int kernel, int period)
{
    const struct cr_kernel *k = &s->m->kernels[kernel];
    for (int ref = -k->n_stored; ref < k->n_refs; ref++) {
        const struct origin *x = origin_of(s, kernel, ref);
        int y = origin_of(s, kernel + period, ref)->at,
            z = origin_of(s, kernel + 2 * period, ref)->at;
        if (x->kind != PARAM && z - y != y - x->at)
            return false;
        if (!starts_step(s, ref, kernel, kernel + period, kernel + period, kernel + 2 * period))
            return false;
    }
    return true;
}

/* By kernel: the number of consecutive kernels, beginning with it, that have a property.  Each
 * kernel is compared with the kernel one period later.  For `whole`, the kernels counted are one
 * period apart. */
struct runs {
    int *alike;   /* kernel i and kernel i + period have the same function and entry; kernels are
                     sorted by entry, so a run is in one */
    int *stepped; /* kernel i and kernel i + period have the same function, and may_step is true for
                     their operands */
    int *even;    /* `stepped`, and all operands change by the same step from i to i + period and to
                     i + 2 period */
    int *whole;   /* no value is written by kernels both before kernel i and from it on */
};

/*
 * Fills in all four arrays for one period, from the last kernel to the first: each count is one
 * more than the next kernel's (for `whole`, than that of the kernel one period later).  Takes time
 * linear in the number of kernels.
 */
static void find_runs(const struct search *s, int period, struct runs *r)
{
    int n = s->m->n_kernels;
    const int *function = s->function;
    for (int i = n; i >= 0; i--) {
        bool alike = i + period < n && function[i] == function[i + period] &&
                     s->m->kernels[i].entry == s->m->kernels[i + period].entry;
        bool stepped = alike && may_step(s, i, i + period);
        bool even = stepped && r->stepped[i + period] > 0 && steps_evenly(s, i, period);
        r->alike[i] = alike ? r->alike[i + 1] + 1 : 0;
        r->stepped[i] = stepped ? r->stepped[i + 1] + 1 : 0;
        r->even[i] = even ? r->even[i + 1] + 1 : 0;
        r->whole[i] = s->crossed[i] ? 0 : i + period > n ? 1 : r->whole[i + period] + 1;
    }
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Returns an upper bound of the iterations of a loop that begins at kernel `first`.  With four or
 * more iterations, the first and the last may differ from the others, so only the steps between the
 * others count (see is_even).  For two or three iterations, is_loop must decide.
 */
static int most_iterations(const struct runs *r, int first, int period)
{
    int most = lesser(r->alike[first] / period + 1, r->whole[first] - 1);
    if (most > 3 && r->stepped[first + period] < period)
        return 3;
    return most > 3 ? lesser(most, 4 + r->even[first + period] / period) : most;
}

/* True if some kernel has the same function as the kernel one period later; otherwise no loop has
 * the period. */
static bool may_repeat(const struct search *s, int period)
{
    for (int i = 0; i + period < s->m->n_kernels; i++)
        if (s->function[i] == s->function[i + period])
            return true;
    return false;
}

/* Fills in `most` for the few periods that a loop may have: the number of kernels of a block, and
 * its multiples. */
static void find_most(struct search *s)
{
    int n = s->m->n_kernels, *room = cr_calloc(4 * ((size_t)n + 2), sizeof *room);
    struct runs r = {room, room + n + 2, room + 2 * (n + 2), room + 3 * (n + 2)};
    for (int period = 1; period <= LONGEST; period++) {
        if (!may_repeat(s, period))
            continue;
        s->most[period] = cr_calloc((size_t)n + 1, sizeof *s->most[period]);
        find_runs(s, period, &r);
        for (int i = 0; i + period < n; i++)
            s->most[period][i] = most_iterations(&r, i, period);
    }
    free(room);
}

/* ---- choosing loops ---- */

/* Returns the number of calls that a loop saves. */
static int saving(const struct cr_loop *loop)
{
    return loop->period * (loop->count - 1);
}

/* True if a loop saves more calls than `other`, or equally many with a shorter period. */
static bool is_better(const struct cr_loop *loop, const struct cr_loop *other)
{
    int more = saving(loop) - saving(other);
    return more > 0 || (more == 0 && loop->period < other->period);
}

/*
 * Finds the best loop that begins at kernel `first` and ends before `end`.  Returns the number of
 * calls that it saves, or 0 if these are too few.  Only loops of two or three iterations need a
 * test.  Tests the longest periods first, since they save the most, so that few tests succeed for
 * each kernel.
 */
static int find_loop(const struct search *s, int first, int end, struct cr_loop *best)
{
    const struct cr_loop none = {first, 1, LEAST, 0, 1};
    int longest = lesser((end - first) / 2, LONGEST), most[LONGEST + 1];
    *best = none;
    for (int period = 1; period <= longest; period++) {
        most[period] = s->most[period] ? lesser(s->most[period][first], (end - first) / period) : 0;
        struct cr_loop loop = {first, period, most[period], 0, 1};
        if (loop.count > 3 && is_better(&loop, best))
            *best = loop;
    }
    for (int period = longest; period > 0; period--) {
        struct cr_loop loop = {first, period, lesser(most[period], 3), 0, 1};
        for (; loop.count > 1 && is_better(&loop, best); loop.count--)
            if (is_loop(s, &loop))
                *best = loop;
    }
    return is_better(best, &none) ? saving(best) : 0;
}

/* A queue of kernels at which loops begin: lists of kernels, by the number of calls that the loops
 * save. */
struct queue {
    int *head; /* by saving: the first kernel in the list, or -1 */
    int *next; /* by kernel: the next kernel in the list */
};

static void put_into_queue(struct queue *q, int kernel, int saving)
{
    q->next[kernel] = q->head[saving];
    q->head[saving] = kernel;
}

/* Removes all kernels whose loops save `saving` calls from the queue.  Writes them to `kernels` in
 * ascending order, and returns their number. */
static int take_from_queue(struct queue *q, int saving, int *kernels)
{
    int n = 0;
    for (int k = q->head[saving]; k >= 0; k = q->next[k])
        kernels[n++] = k;
    qsort(kernels, (size_t)n, sizeof *kernels, cr_compare_ints);
    return n;
}

/* Returns the first kernel at or after `kernel` that is in a chosen loop, but at most kernel +
 * length. */
static int end_of_room(const struct search *s, int kernel, int length)
{
    int most = lesser(length, s->m->n_kernels - kernel);
    const bool *end = memchr(s->taken + kernel, true, (size_t)most);
    return end ? (int)(end - s->taken) : kernel + most;
}

/* Chooses the best loop that begins at `kernel` if it still saves `wanted` calls.  If other loops
 * have taken some of its kernels, it may save fewer: then returns the kernel to the queue with the
 * new saving. */
static void choose_loop(struct search *s, struct queue *q, int kernel, int wanted)
{
    struct cr_loop loop;
    int end = end_of_room(s, kernel, wanted + LONGEST);
    int saved = s->taken[kernel] ? 0 : find_loop(s, kernel, end, &loop);
    if (saved == wanted) {
        CR_CHECK(is_loop(s, &loop));
        memset(s->taken + kernel, true, (size_t)(loop.period * loop.count));
        *CR_PUSH(s->found->items, s->found->n, s->found->cap) = loop;
    } else if (saved) {
        put_into_queue(q, kernel, saved);
    }
}

/* Chooses loops that do not overlap, greedily: always the loop that saves the most calls, and the
 * first of several equal ones. */
static void choose_loops(struct search *s)
{
    int n = s->m->n_kernels, *kernels = cr_calloc((size_t)n, sizeof *kernels);
    struct queue q = {cr_calloc((size_t)n + 1, sizeof *q.head),
                      cr_calloc((size_t)n + 1, sizeof *q.next)};
    struct cr_loop loop;
    s->taken = cr_calloc((size_t)n + 1, sizeof *s->taken);
    for (int i = 0; i < n; i++)
        q.head[i] = -1;
    for (int i = n - 1; i >= 0; i--)
        put_into_queue(&q, i, find_loop(s, i, n, &loop));
    for (int wanted = n - 1; wanted > 0; wanted--)
        for (int i = 0, found = take_from_queue(&q, wanted, kernels); i < found; i++)
            choose_loop(s, &q, kernels[i], wanted);
    free(kernels);
    free(q.head);
    free(q.next);
}

static int by_first(const void *a, const void *b)
{
    return ((const struct cr_loop *)a)->first - ((const struct cr_loop *)b)->first;
}

/* ---- layer numbers ---- */

/* Layer numbers for a loop, and the number of operands that agree with them. */
struct numbering {
    int start, direction, votes;
};

static const struct cr_loop *made_in(const struct search *s, int kernel)
{
    return cr_loop_at(s->found->items, s->found->n, kernel);
}

/* Finds the layer numbers by which each iteration reads an operand from the same layer of an
 * earlier loop.  Returns false if the operand does not determine any. */
static bool numbering_of(const struct search *s, const struct cr_loop *loop, int at, int ref,
                         struct numbering *found)
{
    for (int i = 0; i + 1 < loop->count; i++) {
        int x = s->first_def[operand(s, loop, i, at, ref)];
        int y = s->first_def[operand(s, loop, i + 1, at, ref)];
        const struct cr_loop *made = x < 0 ? NULL : made_in(s, x);
        if (!made || made->first >= loop->first || y < 0 || made_in(s, y) != made ||
            abs(y - x) != made->period)
            continue;
        int layer = cr_layer_of(made, (x - made->first) / made->period);
        found->direction = y > x ? made->direction : -made->direction;
        found->start = layer - i * found->direction;
        return found->start >= 0 && found->start + (loop->count - 1) * found->direction >= 0;
    }
    return false;
}

/* Sets the layer numbers with which most of the operands from earlier loops agree. */
static void number_layers(const struct search *s, struct cr_loop *loop)
{
    struct numbering ways[16], way, best = {0, 1, 0};
    int n = 0;
    for (int at = 0; at < loop->period; at++) {
        for (int ref = 0; ref < body(s, loop, 0, at)->n_refs; ref++) {
            if (!numbering_of(s, loop, at, ref, &way))
                continue;
            int w = 0;
            while (w < n && (ways[w].start != way.start || ways[w].direction != way.direction))
                w++;
            if (w == 16)
                continue;
            if (w == n)
                ways[n++] = (struct numbering){way.start, way.direction, 0};
            if (++ways[w].votes > best.votes)
                best = ways[w];
        }
    }
    loop->start = best.start;
    loop->direction = best.direction;
}

/* ---- public functions ---- */

void cr_find_loops(const struct cr_module *m, const struct cr_functions *functions,
                   struct cr_loops *loops)
{
    struct search s = {
        .m = m, .function = functions->first, .starts = functions->starts, .found = loops};
    *loops = (struct cr_loops){0};
    find_writers(&s);
    find_crossed(&s);
    find_origins(&s);
    find_most(&s);
    choose_loops(&s);
    if (loops->n)
        qsort(loops->items, (size_t)loops->n, sizeof *loops->items, by_first);
    for (int i = 0; i < loops->n; i++)
        number_layers(&s, &loops->items[i]);
    for (int period = 1; period <= LONGEST; period++)
        free(s.most[period]);
    free(s.crossed);
    free(s.taken);
    free(s.first_def);
    free(s.last_def);
    free(s.origin);
}
