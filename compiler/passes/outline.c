/*
 * outline.c - each distinct kernel becomes one function, repeated sequences a loop.
 *
 * Two kernels share a function if they differ only in which tensors they read and write.
 * A sequence of functions that repeats, as the layers of a model do, becomes a loop if
 * the repetitions hang together evenly: each operand is a weight, or the n-th input, or
 * made by the n-th kernel, where n is the same for all iterations or goes up or down by
 * equal steps - but for the first and the last iteration, which begin and end a chain.
 * So the backward pass of a stack is a loop too, which goes down the layers that the
 * forward pass went up.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "pass_list.h"

/* ---- equal kernels ---- */

struct bytes {
    unsigned char *data;
    int n, cap;
};

static void put(struct bytes *b, const void *data, size_t size)
{
    while (b->n + (int)size >= b->cap)
        b->data = cr_grow(b->data, b->cap, &b->cap, 1);
    if (size)
        memcpy(b->data + b->n, data, size);
    b->n += (int)size;
}

static void put_int(struct bytes *b, int64_t value)
{
    put(b, &value, sizeof value);
}

static void put_affine(struct bytes *b, const struct cr_affine *affine)
{
    put_int(b, affine->base);
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (affine->coef[a]) {
            put_int(b, a);
            put_int(b, affine->coef[a]);
        }
    put_int(b, -1);
}

static void put_tiles(struct bytes *b, const struct cr_graph *g, const struct cr_tiles *tiles)
{
    put_int(b, tiles->n);
    put_int(b, tiles->result);
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        int64_t fields[] = {v->source,     v->op,           v->arg[0],
                            v->arg[1],     v->arg[2],       v->ref,
                            v->table_rows, v->table_stride, g->nodes[v->node].dtype,
                            v->vector};
        put(b, fields, sizeof fields);
        put(b, &v->number, sizeof v->number);
        put_affine(b, &v->at);
    }
}

/* Everything about a kernel that its code depends on. */
static void put_kernel(struct bytes *b, const struct cr_graph *g, const struct cr_kernel *k)
{
    int64_t fields[] = {k->kind,    k->row,       k->col,
                        k->k,       k->key,       k->K,
                        k->N,       k->keys,      k->packed != CR_NONE,
                        k->n_refs,  k->n_streams, k->n_outer,
                        k->n_bounds, k->chooses,  k->hides_gradients,
                        k->sees_all};
    put(b, fields, sizeof fields);
    put(b, k->atoms.extent, (size_t)k->atoms.n * sizeof *k->atoms.extent);
    put(b, k->outer, (size_t)k->n_outer * sizeof *k->outer);
    for (int i = 0; i < k->n_refs; i++)
        put_int(b, g->nodes[k->refs[i]].dtype);
    for (int i = 0; i < k->n_bounds; i++) {
        put_int(b, k->bounds[i].upper);
        put_int(b, k->bounds[i].offset);
    }
    put(b, &k->factor, sizeof k->factor);
    for (int i = 0; i < CR_PROGRAMS; i++)
        put_tiles(b, g, &k->programs[i]);
    for (int i = 0; i < CR_OPERANDS; i++) {
        put_int(b, k->operands[i].ref);
        put_affine(b, &k->operands[i].at);
    }
    for (int i = 0; i < CR_RESULTS; i++)
        put_affine(b, &k->results[i]);
}

/* A word at a time; the key's bytes past the last whole word do not count. */
static uint64_t hash_bytes(const struct bytes *b)
{
    uint64_t h = 0, word;
    for (int i = 0; i + 8 <= b->n; i += 8) {
        memcpy(&word, b->data + i, sizeof word);
        h = cr_hash_word(h, word);
    }
    return h;
}

/* Keys of the functions so far, by their first kernel, and one that is looked for. */
struct known {
    struct bytes *keys;
    struct bytes key;
};

static bool has_key(const void *context, int kernel)
{
    const struct known *known = context;
    const struct bytes *a = &known->keys[kernel], *b = &known->key;
    return a->n == b->n && memcmp(a->data, b->data, (size_t)a->n) == 0;
}

/* module->function: for each kernel the first one with the same code. */
static void find_functions(struct cr_module *m)
{
    struct known known = {.keys = cr_calloc((size_t)m->n_kernels, sizeof *known.keys)};
    struct cr_table table = {0};
    m->function = cr_calloc((size_t)m->n_kernels, sizeof *m->function);
    for (int i = 0; i < m->n_kernels; i++) {
        known.key.n = 0;
        put_kernel(&known.key, m->graph, &m->kernels[i]);
        uint64_t hash = hash_bytes(&known.key);
        m->function[i] = cr_table_find(&table, hash, has_key, &known);
        if (m->function[i] < 0) {
            m->function[i] = i;
            cr_table_add(&table, hash, i);
            known.keys[i] = known.key;
            known.key = (struct bytes){0};
        }
    }
    for (int i = 0; i < m->n_kernels; i++)
        free(known.keys[i].data);
    free(known.keys);
    free(known.key.data);
    cr_table_free(&table);
}

/* ---- repeated sequences ---- */

enum {
    LONGEST = 64, /* kernels of an iteration */
    LEAST = 2,    /* calls that a loop is to save */
};

/* Where an operand comes from, or a result goes: number `at` of its kind. */
struct origin {
    enum { PARAM, INPUT, OUTPUT, MADE /* by kernel `at` */ } kind;
    int at;
};

struct outline {
    struct cr_module *m;
    int *first_def, *last_def; /* by node: kernels, or -1 */
    struct origin *origin;     /* by node */
    bool *crossed;             /* by kernel, and one more: a value is made by kernels before it, and
                                  by it or kernels behind it */
    int *most[LONGEST + 1];    /* by period and kernel: how often a loop from there on goes round,
                                  but 3 or 2 may be too often */
    bool *taken;               /* by kernel: it is in a loop that was chosen */
};

static void find_uses(struct outline *o)
{
    struct cr_module *m = o->m;
    size_t n = (size_t)m->graph->n_nodes;
    o->first_def = cr_calloc(n, sizeof *o->first_def);
    o->last_def = cr_calloc(n, sizeof *o->last_def);
    for (size_t i = 0; i < n; i++)
        o->first_def[i] = o->last_def[i] = -1;
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id id = m->kernels[i].buffer;
        o->last_def[id] = i;
        if (o->first_def[id] < 0)
            o->first_def[id] = i;
    }
    o->crossed = cr_calloc((size_t)m->n_kernels + 1, sizeof *o->crossed);
    for (int i = 0, last = 0; i < m->n_kernels; i++) {
        if (last < o->last_def[m->kernels[i].buffer])
            last = o->last_def[m->kernels[i].buffer];
        o->crossed[i + 1] = last > i;
    }
}

static void find_origins(struct outline *o)
{
    const struct cr_graph *g = o->m->graph;
    int n_inputs = 0;
    o->origin = cr_calloc((size_t)g->n_nodes, sizeof *o->origin);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op == CR_OP_input)
            o->origin[id] = (struct origin){INPUT, n_inputs++};
        else if (g->nodes[id].op == CR_OP_param)
            o->origin[id] = (struct origin){PARAM, id};
        else
            o->origin[id] = (struct origin){MADE, o->first_def[id]};
    }
    for (int i = 0; i < g->n_outputs; i++)
        o->origin[g->outputs[i].id] = (struct origin){OUTPUT, i};
}

static const struct cr_kernel *body(const struct outline *o, const struct cr_loop *loop,
                                    int iteration, int at)
{
    return &o->m->kernels[loop->first + iteration * loop->period + at];
}

/* The node that kernel `at` reads as `ref` in an iteration, or writes if RESULT. */
enum { RESULT = -1 };
static cr_id operand(const struct outline *o, const struct cr_loop *loop, int iteration, int at,
                     int ref)
{
    const struct cr_kernel *k = body(o, loop, iteration, at);
    return ref == RESULT ? k->buffer : k->refs[ref];
}

/* Whether two nodes follow each other as a third and a fourth do. */
static bool is_step(const struct outline *o, cr_id a, cr_id b, cr_id c, cr_id d)
{
    const struct origin *x = &o->origin[a], *y = &o->origin[b];
    if (x->kind != y->kind)
        return false;
    if (x->kind == MADE && o->m->function[x->at] != o->m->function[y->at])
        return false;
    return x->kind == PARAM || y->at - x->at == o->origin[d].at - o->origin[c].at;
}

/* Whether an operand goes by equal steps from one iteration to another. */
static bool is_progression(const struct outline *o, const struct cr_loop *loop, int at, int ref,
                           int begin, int end)
{
    cr_id first = operand(o, loop, begin, at, ref), second = operand(o, loop, begin + 1, at, ref);
    for (int i = begin; i + 1 < end; i++)
        if (!is_step(o, operand(o, loop, i, at, ref), operand(o, loop, i + 1, at, ref), first,
                     second))
            return false;
    return true;
}

/* The same, with an end that may be different, but not of two iterations that have no more in
 * common than their functions. */
static bool is_even(const struct outline *o, const struct cr_loop *loop, int at, int ref)
{
    int n = loop->count;
    if (is_progression(o, loop, at, ref, 0, n))
        return true;
    if (n == 2)
        return o->origin[operand(o, loop, 0, at, ref)].kind == MADE ||
               o->origin[operand(o, loop, 1, at, ref)].kind == MADE;
    return is_progression(o, loop, at, ref, 1, n) || is_progression(o, loop, at, ref, 0, n - 1) ||
           (n > 3 && is_progression(o, loop, at, ref, 1, n - 1));
}

/* Whether each result, of which a concat is made by several kernels, is made in one iteration. */
static bool is_whole(const struct outline *o, const struct cr_loop *loop)
{
    for (int i = 0; i <= loop->count; i++)
        if (o->crossed[loop->first + i * loop->period])
            return false;
    return true;
}

/* Whether the kernels can be run as a loop. */
static bool is_loop(const struct outline *o, const struct cr_loop *loop)
{
    if (!is_whole(o, loop))
        return false;
    for (int at = 0; at < loop->period; at++)
        for (int ref = RESULT; ref < body(o, loop, 0, at)->n_refs; ref++)
            if (!is_even(o, loop, at, ref))
                return false;
    return true;
}

/* ---- how long loops can be ---- */

/* Whether all operands go by equal steps from a kernel to the one a period later, and so on for
 * so many iterations. */
static bool steps_evenly(const struct outline *o, int kernel, int period, int iterations)
{
    const struct cr_loop loop = {kernel, period, iterations, 0, 1};
    for (int i = 1; i < iterations; i++)
        if (kernel + i * period >= o->m->n_kernels ||
            o->m->function[kernel] != o->m->function[kernel + i * period])
            return false;
    for (int ref = RESULT; ref < o->m->kernels[kernel].n_refs; ref++)
        if (!is_progression(o, &loop, 0, ref, 0, iterations))
            return false;
    return true;
}

/* Numbers of kernels in a row, or of those a period apart, of which something holds. */
struct runs {
    int *alike;   /* the function is that of the kernel a period later */
    int *stepped; /* so it is, and all operands step from the one to the other */
    int *even;    /* the next step is as wide */
    int *whole;   /* a period apart: no value is made on both sides of the kernel's beginning */
};

static void find_runs(const struct outline *o, int period, struct runs *r)
{
    int n = o->m->n_kernels;
    const int *function = o->m->function;
    for (int i = n; i >= 0; i--) {
        bool alike = i + period < n && function[i] == function[i + period];
        bool stepped = alike && steps_evenly(o, i, period, 2);
        bool even = stepped && r->stepped[i + period] > 0 && steps_evenly(o, i, period, 3);
        r->alike[i] = alike ? r->alike[i + 1] + 1 : 0;
        r->stepped[i] = stepped ? r->stepped[i + 1] + 1 : 0;
        r->even[i] = even ? r->even[i + 1] + 1 : 0;
        r->whole[i] = o->crossed[i] ? 0 : i + period > n ? 1 : r->whole[i + period] + 1;
    }
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/*
 * How often a loop from `first` on goes round.  In one of four iterations or more the first and the
 * last may differ from the others, so the steps between those count (see is_even); of three and
 * two, only is_loop knows.
 */
static int most_iterations(const struct runs *r, int first, int period)
{
    int most = lesser(r->alike[first] / period + 1, r->whole[first] - 1);
    if (most > 3 && r->stepped[first + period] < period)
        return 3;
    return most > 3 ? lesser(most, 4 + r->even[first + period] / period) : most;
}

static void find_most(struct outline *o)
{
    int n = o->m->n_kernels, *room = cr_calloc(4 * ((size_t)n + 2), sizeof *room);
    struct runs r = {room, room + n + 2, room + 2 * (n + 2), room + 3 * (n + 2)};
    for (int period = 1; period <= LONGEST; period++) {
        o->most[period] = cr_calloc((size_t)n + 1, sizeof *o->most[period]);
        find_runs(o, period, &r);
        for (int i = 0; i + period < n; i++)
            o->most[period][i] = most_iterations(&r, i, period);
    }
    free(room);
}

/* ---- the loops ---- */

/* The calls that a loop saves. */
static int saving(const struct cr_loop *loop)
{
    return loop->period * (loop->count - 1);
}

/* The loop that begins with a kernel and saves the most calls, within `end`; returns how many, or
 * 0 if there is none worth the name. */
static int find_loop(const struct outline *o, int first, int end, struct cr_loop *best)
{
    bool found = false;
    *best = (struct cr_loop){first, 1, LEAST, 0, 1};
    for (int period = 1; period <= (end - first) / 2 && period <= LONGEST; period++) {
        struct cr_loop loop = {first, period, o->most[period][first], 0, 1};
        if (saving(&loop) <= saving(best))
            continue;
        loop.count = lesser(loop.count, (end - first) / period);
        for (; saving(&loop) > saving(best); loop.count--) {
            if (loop.count > 3 || is_loop(o, &loop)) {
                *best = loop;
                found = true;
            }
        }
    }
    return found ? saving(best) : 0;
}

/* Kernels that loops begin with, in lists by what the loops save. */
struct queue {
    int *head; /* by saving: a kernel, or -1 */
    int *next; /* by kernel */
};

static void put_into_queue(struct queue *q, int kernel, int saving)
{
    q->next[kernel] = q->head[saving];
    q->head[saving] = kernel;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Takes out the kernels whose loops save so much; returns how many, in their order. */
static int take_from_queue(struct queue *q, int saving, int *kernels)
{
    int n = 0;
    for (int k = q->head[saving]; k >= 0; k = q->next[k])
        kernels[n++] = k;
    qsort(kernels, (size_t)n, sizeof *kernels, ascending);
    return n;
}

/* The first kernel from this one on, but not beyond so many, that is in a loop; or the last. */
static int end_of_room(const struct outline *o, int kernel, int length)
{
    int most = lesser(length, o->m->n_kernels - kernel);
    const bool *end = memchr(o->taken + kernel, true, (size_t)most);
    return end ? (int)(end - o->taken) : kernel + most;
}

/* Takes the loop of a kernel if it has the room, or puts it where the loop belongs that has. */
static void choose_loop(struct outline *o, struct queue *q, int kernel, int wanted)
{
    struct cr_loop loop;
    int end = end_of_room(o, kernel, wanted + LONGEST);
    int saved = o->taken[kernel] ? 0 : find_loop(o, kernel, end, &loop);
    if (saved == wanted) {
        assert(is_loop(o, &loop));
        memset(o->taken + kernel, true, (size_t)(loop.period * loop.count));
        *CR_PUSH(o->m->loops, o->m->n_loops, o->m->cap_loops) = loop;
    } else if (saved) {
        put_into_queue(q, kernel, saved);
    }
}

/* Chooses loops that do not overlap: again and again the one that saves the most calls, of such
 * the first. */
static void choose_loops(struct outline *o)
{
    int n = o->m->n_kernels, *kernels = cr_calloc((size_t)n, sizeof *kernels);
    struct queue q = {cr_calloc((size_t)n + 1, sizeof *q.head),
                      cr_calloc((size_t)n + 1, sizeof *q.next)};
    struct cr_loop loop;
    o->taken = cr_calloc((size_t)n + 1, sizeof *o->taken);
    for (int i = 0; i < n; i++)
        q.head[i] = -1;
    for (int i = n - 1; i >= 0; i--)
        put_into_queue(&q, i, find_loop(o, i, n, &loop));
    for (int wanted = n - 1; wanted > 0; wanted--)
        for (int i = 0, found = take_from_queue(&q, wanted, kernels); i < found; i++)
            choose_loop(o, &q, kernels[i], wanted);
    free(kernels);
    free(q.head);
    free(q.next);
}

static int by_first(const void *a, const void *b)
{
    return ((const struct cr_loop *)a)->first - ((const struct cr_loop *)b)->first;
}

/* Goes through the kernels: a step for each loop, and for each kernel in none. */
static void add_steps(struct cr_module *m)
{
    int next = 0;
    if (m->n_loops)
        qsort(m->loops, (size_t)m->n_loops, sizeof *m->loops, by_first);
    for (int i = 0; i < m->n_kernels;) {
        bool begins = next < m->n_loops && m->loops[next].first == i;
        *CR_PUSH(m->segments, m->n_segments, m->cap_segments) = (struct cr_segment){i, begins ? next : -1};
        i += begins ? m->loops[next].period * m->loops[next].count : 1;
        next += begins;
    }
}

/* ---- numbers of layers ---- */

/* A way to number the layers of a loop, and how many operands speak for it. */
struct numbering {
    int start, direction, votes;
};

/* The numbering by which an operand of each iteration was made in the layer of that number. */
static bool numbering_of(const struct outline *o, const struct cr_loop *loop, int at, int ref,
                         struct numbering *found)
{
    for (int i = 0; i + 1 < loop->count; i++) {
        int x = o->first_def[operand(o, loop, i, at, ref)];
        int y = o->first_def[operand(o, loop, i + 1, at, ref)];
        const struct cr_loop *made = x < 0 ? NULL : cr_loop_of(o->m, x);
        if (!made || made->first >= loop->first || y < 0 || cr_loop_of(o->m, y) != made ||
            abs(y - x) != made->period)
            continue;
        int layer = cr_layer_of(made, (x - made->first) / made->period);
        found->direction = y > x ? made->direction : -made->direction;
        found->start = layer - i * found->direction;
        return found->start >= 0 && found->start + (loop->count - 1) * found->direction >= 0;
    }
    return false;
}

/* Numbers the layers as most of what earlier loops left for this one was numbered. */
static void number_layers(const struct outline *o, struct cr_loop *loop)
{
    struct numbering ways[16], way, best = {0, 1, 0};
    int n = 0;
    for (int at = 0; at < loop->period; at++) {
        for (int ref = 0; ref < body(o, loop, 0, at)->n_refs; ref++) {
            if (!numbering_of(o, loop, at, ref, &way))
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

void cr_pass_outline(struct cr_module *module)
{
    struct outline o = {.m = module};
    find_functions(module);
    find_uses(&o);
    find_origins(&o);
    if (!module->unrolled) {
        find_most(&o);
        choose_loops(&o);
    }
    add_steps(module);
    for (int i = 0; i < module->n_loops; i++)
        number_layers(&o, &module->loops[i]);
    for (int period = 1; period <= LONGEST; period++)
        free(o.most[period]);
    free(o.crossed);
    free(o.taken);
    free(o.first_def);
    free(o.last_def);
    free(o.origin);
}
