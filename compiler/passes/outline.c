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

static void put_tiles(struct bytes *b, const struct cr_tiles *tiles)
{
    put_int(b, tiles->n);
    put_int(b, tiles->result);
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        int64_t fields[] = {v->source, v->op,  v->arg[0],     v->arg[1],
                            v->arg[2], v->ref, v->table_rows, v->table_stride};
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
                        k->n_bounds, k->chooses,  k->hides_gradients};
    put(b, fields, sizeof fields);
    put(b, k->atoms.extent, (size_t)k->atoms.n * sizeof *k->atoms.extent);
    put(b, k->outer, (size_t)k->n_outer * sizeof *k->outer);
    for (int i = 0; i < k->n_refs; i++)
        put_int(b, g->nodes[k->refs[i]].op == CR_OP_input ? g->nodes[k->refs[i]].dtype : CR_F32);
    for (int i = 0; i < k->n_bounds; i++) {
        put_int(b, k->bounds[i].upper);
        put_int(b, k->bounds[i].offset);
    }
    put_tiles(b, &k->program);
    put_tiles(b, &k->prologue);
    put_tiles(b, &k->scores);
    put_tiles(b, &k->dropout);
    put_affine(b, &k->dest);
    put_affine(b, &k->dest_k);
    put_affine(b, &k->dest_v);
    const struct cr_operand *operands[] = {&k->a, &k->b, &k->v, &k->g, &k->delta};
    for (int i = 0; i < 5; i++) {
        put_int(b, operands[i]->ref);
        put_affine(b, &operands[i]->at);
    }
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
    int *run[LONGEST + 1];     /* by period and kernel: how many from there on are like the one a
                                  period later */
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

static void find_runs(struct outline *o)
{
    int n = o->m->n_kernels;
    for (int period = 1; period <= LONGEST; period++) {
        o->run[period] = cr_calloc((size_t)n + 1, sizeof *o->run[period]);
        for (int i = n - period - 1; i >= 0; i--)
            if (o->m->function[i] == o->m->function[i + period])
                o->run[period][i] = o->run[period][i + 1] + 1;
    }
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
    for (int i = 0; i < loop->period * loop->count; i++) {
        cr_id id = o->m->kernels[loop->first + i].buffer;
        int begin = loop->first + i - i % loop->period;
        if (o->first_def[id] < begin || o->last_def[id] >= begin + loop->period)
            return false;
    }
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

/* How often the `period` functions from `first` on repeat, within `end`. */
static int repetitions(const struct outline *o, int first, int period, int end)
{
    int most = (end - first) / period, n = o->run[period][first] / period + 1;
    return n < most ? n : most;
}

/* The calls that a loop saves. */
static int saving(const struct cr_loop *loop)
{
    return loop->period * (loop->count - 1);
}

/* The loop that saves the most calls of a range; false if there is none worth the name. */
static bool find_loop(const struct outline *o, int begin, int end, struct cr_loop *best)
{
    *best = (struct cr_loop){begin, 1, LEAST, 0, 1};
    bool found = false;
    for (int start = begin; saving(best) < end - start; start++) {
        for (int period = 1; period <= (end - start) / 2 && period <= LONGEST; period++) {
            struct cr_loop loop = {start, period, repetitions(o, start, period, end), 0, 1};
            for (; saving(&loop) > saving(best); loop.count--) {
                if (is_loop(o, &loop)) {
                    *best = loop;
                    found = true;
                }
            }
        }
    }
    return found;
}

static void add_calls(struct cr_module *m, int begin, int end)
{
    for (int i = begin; i < end; i++)
        *CR_PUSH(m->steps, m->n_steps, m->cap_steps) = (struct cr_step){i, -1};
}

/* The steps of a range: its longest loop, and what is before and behind it. */
static void find_steps(struct outline *o, int begin, int end)
{
    struct cr_module *m = o->m;
    struct cr_loop loop;
    if (find_loop(o, begin, end, &loop)) {
        find_steps(o, begin, loop.first);
        *CR_PUSH(m->steps, m->n_steps, m->cap_steps) = (struct cr_step){loop.first, m->n_loops};
        *CR_PUSH(m->loops, m->n_loops, m->cap_loops) = loop;
        find_steps(o, loop.first + loop.period * loop.count, end);
        return;
    }
    add_calls(m, begin, end);
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
    find_runs(&o);
    if (module->unrolled)
        add_calls(module, 0, module->n_kernels);
    else
        find_steps(&o, 0, module->n_kernels);
    for (int i = 0; i < module->n_loops; i++)
        number_layers(&o, &module->loops[i]);
    for (int period = 1; period <= LONGEST; period++)
        free(o.run[period]);
    free(o.first_def);
    free(o.last_def);
    free(o.origin);
}
