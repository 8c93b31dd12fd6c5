#include "functions.h"
#include "compiler/passes/fuse/in_place.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/weights.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

enum { LEAST_JOINED = 4 }; /* the fewest functions without a product that are joined into one */

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

static void put_affine(struct bytes *b, const struct cr_affine *affine, int64_t start)
{
    put_int(b, affine->base - start);
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (affine->coef[a]) {
            put_int(b, a);
            put_int(b, affine->coef[a]);
        }
    put_int(b, -1);
}

/* Appends those fields of a value that its source uses; the others are undefined. */
static void put_value(struct bytes *b, const struct cr_graph *g, const struct cr_value *v,
                      const struct cr_buffer_offsets *starts)
{
    int32_t fields[] = {(int32_t)v->source | (int32_t)v->op << 8,
                        (int32_t)g->nodes[v->node].dtype,
                        v->arg[0],
                        v->arg[1],
                        v->arg[2],
                        v->arg[3],
                        v->parts,
                        v->ref};
    put(b, fields, sizeof fields);
    switch (v->source) {
    case CR_GATHER:
        put_int(b, v->table_rows);
        put_int(b, v->table_stride);
        put_int(b, v->table_length);
        /* fall through */
    case CR_LOAD:
        put_affine(b, &v->at, starts->at[v->ref]);
        break;
    case CR_IOTA:
    case CR_RANDOM:
        put_affine(b, &v->at, 0);
        break;
    case CR_CONST:
        put(b, &v->number, sizeof v->number);
        break;
    default:
        break;
    }
}

static void put_tiles(struct bytes *b, const struct cr_graph *g, const struct cr_tiles *tiles,
                      const struct cr_buffer_offsets *starts)
{
    put_int(b, tiles->n);
    for (int i = 0; i <= tiles->n_more; i++)
        put_int(b, tiles->results[i]);
    for (int i = 0; i < tiles->n; i++)
        put_value(b, g, &tiles->values[i], starts);
}

/* Returns the format of the packed weights that the kernel reads, or -1 if it reads none. */
static int panel_format(const struct cr_graph *g, const struct cr_kernel *k)
{
    return cr_packed(k) == CR_NONE ? -1 : (int)cr_panel_format(g, cr_packed(k));
}

static int panel_arithmetic(const struct cr_graph *g, const struct cr_kernel *k)
{
    return cr_packed(k) == CR_NONE ? -1 : (int)cr_panel_arithmetic(g, cr_packed(k));
}

/* Appends the sizes of the operands, if there are several ranks.  The sizes determine where the
 * rank's part of an operand begins.  On rank 0 all parts begin at 0, so without them it would share
 * more functions than other ranks; but all ranks must have the same functions. */
static void put_sizes(struct bytes *b, const struct cr_module *m, const struct cr_kernel *k)
{
    for (int i = 0; i < k->n_refs && m->settings.ranks > 1; i++)
        put_int(b, cr_elements(m->graph->nodes[k->refs[i]].rank, m->graph->nodes[k->refs[i]].shape));
}

/* Appends everything on which a kernel's code depends, if its calls pass the offsets `starts`. */
static void put_kernel(struct bytes *b, const struct cr_module *m, const struct cr_kernel *k,
                       const struct cr_buffer_offsets *starts)
{
    const struct cr_graph *g = m->graph;
    int64_t fields[] = {k->kind, k->row,    k->col,       k->k,       k->key,
                        k->n_refs, k->n_streams, k->n_outer, k->n_stored,
                        panel_format(g, k), panel_arithmetic(g, k)};
    int64_t numbers[CR_MAX_NUMBERS];
    int n_numbers = cr_kernel_numbers(k, numbers);
    put(b, fields, sizeof fields);
    put(b, numbers, (size_t)n_numbers * sizeof *numbers);
    put(b, k->atoms.extent, (size_t)k->atoms.n * sizeof *k->atoms.extent);
    put(b, k->atoms.length, (size_t)k->atoms.n * sizeof *k->atoms.length);
    put(b, k->outer, (size_t)k->n_outer * sizeof *k->outer);
    for (int i = 0; i < k->n_refs; i++)
        put_int(b, g->nodes[k->refs[i]].dtype), put_int(b, cr_kept_format(g, k->refs[i]));
    for (int i = 1; i < k->n_stored; i++)
        put_int(b, g->nodes[k->stored[i]].dtype);
    put_sizes(b, m, k);
    const struct cr_tiles *tiles;
    for (int i = 0; (tiles = cr_program_of(k, i)); i++)
        put_tiles(b, g, tiles, starts);
    const struct cr_operand *operand;
    for (int i = 0; (operand = cr_operand_of(k, i)); i++) {
        int ref = cr_ref_of_operand(k, i);
        put_int(b, operand->ref);
        put_affine(b, &operand->at, ref < 0 ? 0 : starts->at[ref]);
    }
    for (int i = 0; i < cr_n_results_of(k); i++)
        put_int(b, k->stored_in[i]),
            put_affine(b, &k->results[i], i ? 0 : starts->at[CR_START_RESULT]);
}

/* Returns a hash of the whole words.  Bytes after the last whole word are ignored: keys that differ
 * only there collide, and a comparison tells them apart. */
static uint64_t hash_bytes(const struct bytes *b)
{
    uint64_t h = 0, word;
    for (int i = 0; i + 8 <= b->n; i += 8) {
        memcpy(&word, b->data + i, sizeof word);
        h = cr_hash_word(h, word);
    }
    return h;
}

/* The keys of the functions found so far, by their first kernel, and the key to look up. */
struct known {
    struct cr_table table;
    struct bytes *keys;
    struct bytes key;
};

static bool has_key(const void *context, int kernel)
{
    const struct known *known = context;
    const struct bytes *a = &known->keys[kernel], *b = &known->key;
    return a->n == b->n && memcmp(a->data, b->data, (size_t)a->n) == 0;
}

static void known_begin(struct known *known, int n)
{
    *known = (struct known){.keys = cr_calloc((size_t)n, sizeof *known->keys)};
}

static void known_end(struct known *known, int n)
{
    for (int i = 0; i < n; i++)
        free(known->keys[i].data);
    free(known->keys);
    free(known->key.data);
    cr_table_free(&known->table);
}

/* Returns the first kernel with the current key, which is `kernel` itself if no earlier one has
 * it. */
static int first_with_key(struct known *known, int kernel)
{
    uint64_t hash = hash_bytes(&known->key);
    int first = cr_table_find(&known->table, hash, has_key, known);
    if (first >= 0)
        return first;
    cr_table_add(&known->table, hash, kernel);
    known->keys[kernel] = known->key;
    known->key = (struct bytes){0};
    return kernel;
}

/* Returns a list by kernel: the first kernel with the same code and the same offsets, which may be
 * itself. */
static int *find_equal(const struct cr_module *m)
{
    static const struct cr_buffer_offsets none = {{0}};
    struct known known;
    int *function = cr_calloc((size_t)m->n_kernels, sizeof *function);
    known_begin(&known, m->n_kernels);
    for (int i = 0; i < m->n_kernels; i++) {
        known.key.n = 0;
        put_kernel(&known.key, m, &m->kernels[i], &none);
        put_int(&known.key, cr_writes_over(m, &m->kernels[i]));
        function[i] = first_with_key(&known, i);
    }
    known_end(&known, m->n_kernels);
    return function;
}

/* ---- functions that differ only in their offsets ---- */

/* Functions that may be joined into one.  A function is identified by the index of its first
 * kernel. */
struct joining {
    const struct cr_module *m;
    const int *function;
    struct cr_buffer_offsets *starts; /* by function: the offsets of the function's first kernel */
    int *joined;              /* by function: the first function that differs from this one only in
                                 offsets, which may be itself */
    int *n;                   /* by first function: the number of functions joined into it, itself
                                 included */
    uint32_t *moves;          /* by first function: a bit for each offset that differs among the
                                 joined functions */
};

/* True if calls may pass the kernel's offsets as arguments.  Not so if it stores a state: a state
 * is written in place, at an offset that is a constant in the code. */
static bool may_move(const struct cr_module *m, const struct cr_kernel *k)
{
    return cr_has_buffer_offsets(k) && k->n_stored == 1 && cr_state_of(m, k->buffer) == CR_NONE;
}

static uint32_t differences(const struct cr_buffer_offsets *a, const struct cr_buffer_offsets *b)
{
    uint32_t bits = 0;
    for (int i = 0; i <= CR_START_RESULT; i++)
        bits |= (uint32_t)(a->at[i] != b->at[i]) << i;
    return bits;
}

/* Fills in `joined`, `n` and `moves` for the first kernel of each function; the other kernels of a
 * function have the same offsets. */
static void find_joined(struct joining *j)
{
    struct known known;
    known_begin(&known, j->m->n_kernels);
    for (int i = 0; i < j->m->n_kernels; i++) {
        const struct cr_kernel *k = &j->m->kernels[i];
        j->joined[i] = i;
        if (j->function[i] != i || !may_move(j->m, k))
            continue;
        cr_find_buffer_offsets(k, &j->starts[i]);
        known.key.n = 0;
        put_kernel(&known.key, j->m, k, &j->starts[i]);
        int first = j->joined[i] = first_with_key(&known, i);
        j->n[first]++;
        j->moves[first] |= differences(&j->starts[i], &j->starts[first]);
    }
    known_end(&known, j->m->n_kernels);
}

/* Clears the offsets that are equal in all joined functions (bit not set in `moves`); these stay
 * constants in the code. */
static void keep_moving(struct cr_buffer_offsets *starts, uint32_t moves)
{
    for (int i = 0; i <= CR_START_RESULT; i++)
        if (!(moves >> i & 1))
            starts->at[i] = 0;
}

/* Returns the least number of functions that are worth joining into one, which then takes the
 * offsets as arguments.  A few short functions are easier to read separately; functions with a
 * product are long, so two suffice. */
static int least_joined(const struct cr_kernel *k)
{
    return k->core == CR_NONE ? LEAST_JOINED : 2;
}

/* Joins functions that differ only in offsets, if least_joined or more of them do. */
static void join_functions(const struct cr_module *m, struct cr_functions *f)
{
    size_t n = (size_t)m->n_kernels;
    bool any = false;
    struct joining j = {m, f->first, cr_calloc(n, sizeof *j.starts),
                        cr_calloc(n, sizeof *j.joined), cr_calloc(n, sizeof *j.n),
                        cr_calloc(n, sizeof *j.moves)};
    find_joined(&j);
    f->starts = cr_calloc(n, sizeof *f->starts);
    for (int i = 0; i < m->n_kernels; i++) {
        int function = f->first[i], first = j.joined[function];
        if (j.n[first] < least_joined(&m->kernels[first]))
            continue;
        any = true;
        f->first[i] = first;
        f->starts[i] = j.starts[function];
        keep_moving(&f->starts[i], j.moves[first]);
    }
    if (!any) {
        free(f->starts);
        f->starts = NULL;
    }
    free(j.starts);
    free(j.joined);
    free(j.n);
    free(j.moves);
}

struct cr_functions cr_find_functions(const struct cr_module *m)
{
    struct cr_functions found = {.first = find_equal(m)};
    join_functions(m, &found);
    return found;
}
