#include "functions.h"
#include "formats.h"
#include "in_place.h"
#include "kernel_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

struct bytes {
    unsigned char *data;
    int n, cap;
};

static void put(struct bytes *b, const void *data, size_t size)
{
    if (b->n + (int)size >= b->cap)
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

/* Only the fields that the source of a value uses; others may hold anything. */
static void put_value(struct bytes *b, const struct cr_graph *g, const struct cr_value *v)
{
    int32_t fields[] = {(int32_t)v->source | (int32_t)v->op << 8,
                        (int32_t)g->nodes[v->node].dtype << 8 | v->vector,
                        v->arg[0],
                        v->arg[1],
                        v->arg[2],
                        v->ref};
    put(b, fields, sizeof fields);
    switch (v->source) {
    case CR_GATHER:
        put_int(b, v->table_rows);
        put_int(b, v->table_stride);
        /* fall through */
    case CR_LOAD:
    case CR_IOTA:
    case CR_RANDOM:
        put_affine(b, &v->at);
        break;
    case CR_CONST:
        put(b, &v->number, sizeof v->number);
        break;
    default:
        break;
    }
}

static void put_tiles(struct bytes *b, const struct cr_graph *g, const struct cr_tiles *tiles)
{
    put_int(b, tiles->n);
    put_int(b, tiles->result);
    for (int i = 0; i < tiles->n; i++)
        put_value(b, g, &tiles->values[i]);
}

/* Of its packed weights; -1 if it has none. */
static int panel_format(const struct cr_graph *g, const struct cr_kernel *k)
{
    return cr_packed(k) == CR_NONE ? -1 : (int)cr_panel_format(g, cr_packed(k));
}

/* Everything about a kernel that its code depends on. */
static void put_kernel(struct bytes *b, const struct cr_graph *g, const struct cr_kernel *k)
{
    int64_t fields[] = {k->kind, k->row,    k->col,       k->k,       k->key,
                        k->n_refs, k->n_streams, k->n_outer, panel_format(g, k)};
    int64_t numbers[CR_MAX_NUMBERS];
    int n_numbers = cr_kernel_numbers(k, numbers);
    put(b, fields, sizeof fields);
    put(b, numbers, (size_t)n_numbers * sizeof *numbers);
    put(b, k->atoms.extent, (size_t)k->atoms.n * sizeof *k->atoms.extent);
    put(b, k->atoms.length, (size_t)k->atoms.n * sizeof *k->atoms.length);
    put(b, k->outer, (size_t)k->n_outer * sizeof *k->outer);
    for (int i = 0; i < k->n_refs; i++)
        put_int(b, g->nodes[k->refs[i]].dtype);
    for (int i = 0; i < CR_PROGRAMS; i++)
        if (cr_parts_of(k)->programs[i].loops)
            put_tiles(b, g, &k->programs[i]);
    for (int i = 0; i < CR_OPERANDS; i++) {
        put_int(b, k->operands[i].ref);
        put_affine(b, &k->operands[i].at);
    }
    for (int i = 0; i < cr_n_results_of(k); i++)
        put_affine(b, &k->results[i]);
}

/* Reads a word at a time.  The bytes past the last whole word are not hashed: keys that differ only
 * there are told apart by comparison. */
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

int *cr_find_functions(const struct cr_module *m)
{
    struct known known = {.keys = cr_calloc((size_t)m->n_kernels, sizeof *known.keys)};
    struct cr_table table = {0};
    int *function = cr_calloc((size_t)m->n_kernels, sizeof *function);
    for (int i = 0; i < m->n_kernels; i++) {
        known.key.n = 0;
        put_kernel(&known.key, m->graph, &m->kernels[i]);
        put_int(&known.key, cr_writes_over(m, &m->kernels[i]));
        uint64_t hash = hash_bytes(&known.key);
        function[i] = cr_table_find(&table, hash, has_key, &known);
        if (function[i] < 0) {
            function[i] = i;
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
    return function;
}
