/*
 * outline.c - each distinct kernel becomes one function, repeated sequences a loop.
 *
 * Two kernels share a function if they differ only in which tensors they read and write.
 * A sequence of functions that repeats, as the layers of a model do, becomes a loop if
 * the repetitions hang together evenly: what an iteration reads is made in the same
 * iteration, or in the one before (a carry), or is the same for all, or is a weight.
 */
#include <stdlib.h>
#include <string.h>

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
    int64_t fields[] = {
        k->kind,   k->row,     k->col,     k->k, k->key, k->K, k->N, k->keys, k->packed != CR_NONE,
        k->n_refs, k->n_streams, k->n_outer, k->n_bounds};
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
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/* What is kept of a function to know it again. */
struct known {
    int kernel;
    uint64_t hash;
    struct bytes key;
};

/* module->function: for each kernel the first one with the same code. */
static void find_functions(struct cr_module *m)
{
    struct known *known = cr_calloc((size_t)m->n_kernels, sizeof *known);
    struct bytes key = {0};
    int n = 0;
    m->function = cr_calloc((size_t)m->n_kernels, sizeof *m->function);
    for (int i = 0; i < m->n_kernels; i++) {
        int f = 0;
        key.n = 0;
        put_kernel(&key, m->graph, &m->kernels[i]);
        uint64_t hash = hash_bytes(&key);
        while (f < n && (known[f].hash != hash || known[f].key.n != key.n ||
                         memcmp(known[f].key.data, key.data, (size_t)key.n) != 0))
            f++;
        if (f == n) {
            known[n++] = (struct known){i, hash, key};
            key = (struct bytes){0};
        }
        m->function[i] = known[f].kernel;
    }
    for (int f = 0; f < n; f++)
        free(known[f].key.data);
    free(known);
    free(key.data);
}

/* ---- repeated sequences ---- */

struct outline {
    struct cr_module *m;
    int *first_def, *last_def, *last_use; /* by node: kernels, or -1 */
    bool *output;                         /* by node */
};

static void find_uses(struct outline *o)
{
    struct cr_module *m = o->m;
    size_t n = (size_t)m->graph->n_nodes;
    o->first_def = cr_calloc(n, sizeof *o->first_def);
    o->last_def = cr_calloc(n, sizeof *o->last_def);
    o->last_use = cr_calloc(n, sizeof *o->last_use);
    o->output = cr_calloc(n, sizeof *o->output);
    for (size_t i = 0; i < n; i++)
        o->first_def[i] = o->last_def[i] = o->last_use[i] = -1;
    for (int i = m->n_kernels - 1; i >= 0; i--) {
        o->first_def[m->kernels[i].buffer] = i;
        if (o->last_def[m->kernels[i].buffer] < 0)
            o->last_def[m->kernels[i].buffer] = i;
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            if (o->last_use[m->kernels[i].refs[r]] < 0)
                o->last_use[m->kernels[i].refs[r]] = i;
    }
    for (int i = 0; i < m->graph->n_outputs; i++)
        o->output[m->graph->outputs[i].id] = true;
}

static const struct cr_kernel *body(const struct outline *o, const struct cr_loop *loop,
                                    int iteration, int at)
{
    return &o->m->kernels[loop->first + iteration * loop->period + at];
}

/* The iteration that makes a node, or -1 if it is made outside the loop. */
static int made_in(const struct outline *o, const struct cr_loop *loop, cr_id id, int *at)
{
    int def = o->first_def[id] - loop->first;
    if (o->first_def[id] < 0 || def < 0 || def >= loop->period * loop->count)
        return -1;
    *at = def % loop->period;
    return def / loop->period;
}

static struct cr_carry *carry_of(struct outline *o, int loop, cr_id body_node)
{
    for (int i = 0; i < o->m->n_carries; i++)
        if (o->m->carries[i].loop == loop && o->m->carries[i].body == body_node)
            return &o->m->carries[i];
    return NULL;
}

/* Records that iterations read what kernel `at` of the one before made; false on a clash. */
static bool add_carry(struct outline *o, int index, const struct cr_loop *loop, int at,
                      cr_id initial)
{
    cr_id first = body(o, loop, 0, at)->buffer;
    struct cr_carry *carry = carry_of(o, index, first);
    if (carry)
        return carry->initial == initial;
    carry = CR_PUSH(o->m->carries, o->m->n_carries, o->m->cap_carries);
    *carry = (struct cr_carry){.loop = index,
                               .initial = initial,
                               .body = first,
                               .last = body(o, loop, loop->count - 1, at)->buffer};
    return true;
}

/* Whether one operand of one kernel follows the iterations evenly. */
static bool is_even(struct outline *o, int index, const struct cr_loop *loop, int at, int ref)
{
    cr_id zero = body(o, loop, 0, at)->refs[ref], one = body(o, loop, 1, at)->refs[ref];
    enum cr_op op = o->m->graph->nodes[zero].op;
    int at0 = 0, at1 = 0, made0 = made_in(o, loop, zero, &at0), made1 = made_in(o, loop, one, &at1);
    bool weight = op == CR_OP_param;
    for (int i = 1; i < loop->count; i++) {
        cr_id id = body(o, loop, i, at)->refs[ref];
        int made_at = 0, made = made_in(o, loop, id, &made_at);
        if (made1 < 0) {
            bool layered = weight && o->m->graph->nodes[id].op == CR_OP_param;
            if (made >= 0 || (zero != one ? !layered || id == zero : id != zero))
                return false;
        } else if (made != made1 + i - 1 || made_at != at1) {
            return false;
        }
    }
    if (made1 == 0) /* read one iteration later than made */
        return made0 < 0 && !weight && add_carry(o, index, loop, at1, zero);
    return made1 < 0 || (made1 == 1 && made0 == 0 && at0 == at1);
}

/* Whether what the loop makes is needed outside only as the last value of a carry. */
static bool is_closed(struct outline *o, int index, const struct cr_loop *loop)
{
    int end = loop->first + loop->period * loop->count;
    for (int i = loop->first; i < end; i++) {
        cr_id id = o->m->kernels[i].buffer;
        if (!o->output[id] && o->last_use[id] < end)
            continue;
        bool carried = false;
        for (int c = 0; c < o->m->n_carries; c++)
            carried |= o->m->carries[c].loop == index && o->m->carries[c].last == id;
        if (!carried)
            return false;
    }
    return true;
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

/* Whether the kernels can be run as a loop; its carries are recorded if so. */
static bool is_loop(struct outline *o, int index, const struct cr_loop *loop)
{
    int n_carries = o->m->n_carries;
    bool even = is_whole(o, loop);
    for (int at = 0; even && at < loop->period; at++)
        for (int ref = 0; even && ref < body(o, loop, 0, at)->n_refs; ref++)
            even = is_even(o, index, loop, at, ref);
    if (even && is_closed(o, index, loop))
        return true;
    o->m->n_carries = n_carries;
    return false;
}

/* How often the `period` functions from `first` on repeat, within `end`. */
static int repetitions(const struct cr_module *m, int first, int period, int end)
{
    int i = first + period;
    while (i < end && m->function[i] == m->function[i - period])
        i++;
    return (i - first) / period;
}

/* The loop at or after `first` that covers the most kernels; false if there is none. */
static bool find_loop(struct outline *o, int first, int end, int index, struct cr_loop *best)
{
    best->period = best->count = 0;
    for (int start = first; start < end; start++) {
        if (best->period * best->count >= end - start)
            break;
        for (int period = 1; period <= (end - start) / 2 && period <= 64; period++) {
            struct cr_loop loop = {start, period, repetitions(o->m, start, period, end)};
            for (; loop.count >= 2 && loop.period * loop.count > best->period * best->count;
                 loop.count--) {
                int n_carries = o->m->n_carries;
                if (is_loop(o, index, &loop))
                    *best = loop;
                o->m->n_carries = n_carries;
            }
        }
    }
    return best->count >= 2 && is_loop(o, index, best); /* again, to keep its carries */
}

static void add_steps(struct outline *o, int begin, int end)
{
    for (int i = begin; i < end; i++)
        *CR_PUSH(o->m->steps, o->m->n_steps, o->m->cap_steps) = (struct cr_step){i, -1};
}

static void find_steps(struct outline *o)
{
    struct cr_module *m = o->m;
    struct cr_loop loop;
    int at = 0;
    while (find_loop(o, at, m->n_kernels, m->n_loops, &loop)) {
        add_steps(o, at, loop.first);
        *CR_PUSH(m->steps, m->n_steps, m->cap_steps) = (struct cr_step){loop.first, m->n_loops};
        *CR_PUSH(m->loops, m->n_loops, m->cap_loops) = loop;
        at = loop.first + loop.period * loop.count;
    }
    add_steps(o, at, m->n_kernels);
}

void cr_pass_outline(struct cr_module *module)
{
    struct outline o = {.m = module};
    find_functions(module);
    find_uses(&o);
    find_steps(&o);
    free(o.first_def);
    free(o.last_def);
    free(o.last_use);
    free(o.output);
}
