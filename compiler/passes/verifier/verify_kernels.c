/*
 * Kernels on their own: loops, tile programs, operands and results.
 *
 * The row of a kind (kernel_kinds.h) says for every tile program, operand and result it has which
 * loops may stand in its index.  All indices are affine, so their least and largest
 * values over the loops are exact.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/evaluate.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/weights.h"
#include "verifier.h"

/* What is checked now, and where a message goes. */
struct check {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_error *error;
    int kernel;
    const struct cr_kernel *k;
    unsigned roles[CR_MAX_ATOMS]; /* by atom */
    unsigned stands; /* atoms, as bits, along which the result at hand is summed */
};

static int broken(const struct check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int broken(const struct check *c, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return cr_fail(c->error, "kernel %d: %s", c->kernel, what);
}

static bool is_node(const struct check *c, cr_id id)
{
    return id >= 0 && id < c->g->n_nodes;
}

static int64_t elements(const struct check *c, cr_id id)
{
    return cr_elements(c->g->nodes[id].rank, c->g->nodes[id].shape);
}

/* ---- loops ---- */

/* Gives an atom a role; false if there is no such atom, or it has one. */
static bool take_role(struct check *c, int atom, unsigned role)
{
    if (atom < 0)
        return atom == -1;
    if (atom >= c->k->atoms.n || c->roles[atom])
        return false;
    c->roles[atom] = role;
    return true;
}

/* Parts of rows may share an atom; a whole row has that of the product's sum. */
static bool take_part_roles(struct check *c, const struct cr_row_parts *parts)
{
    bool fine = parts->n >= 0 && parts->n <= CR_MAX_PARTS;
    for (int i = 0; fine && i < parts->n; i++) {
        int atom = parts->items[i].atom;
        bool known = atom == -1 || (atom >= 0 && atom < c->k->atoms.n && c->roles[atom] == CR_LOOP_PART);
        fine = known || (parts->n == 1 && atom == c->k->k) || take_role(c, atom, CR_LOOP_PART);
    }
    return fine;
}

/* Atoms have extents, and none has two parts.  Notes the part of each. */
static int verify_loops(struct check *c)
{
    const struct cr_kernel *k = c->k;
    memset(c->roles, 0, sizeof c->roles);
    if (k->atoms.n < 0 || k->atoms.n > CR_MAX_ATOMS || k->n_outer < 0 || k->n_outer > k->atoms.n)
        return broken(c, "%d atoms, %d of them outer", k->atoms.n, k->n_outer);
    for (int a = 0; a < k->atoms.n; a++)
        if (k->atoms.extent[a] < 1 || k->atoms.extent[a] > CR_MAX_ELEMENTS)
            return broken(c, "atom %d has extent %lld", a, (long long)k->atoms.extent[a]);
    bool fine = take_role(c, k->row, CR_LOOP_ROW) && take_role(c, k->col, CR_LOOP_COL) &&
                take_role(c, k->k, CR_LOOP_SUM) && take_role(c, k->key, CR_LOOP_KEY);
    if (fine && k->kind == CR_KERNEL_ATTENTION_BACKWARD)
        fine = take_role(c, k->attention.bucket, CR_LOOP_BUCKET);
    if (k->kind == CR_KERNEL_ATTENTION)
        fine = fine && take_part_roles(c, &k->attention.query_parts) &&
               take_part_roles(c, &k->attention.key_parts);
    for (int i = 0; fine && i < k->n_outer; i++)
        fine = k->outer[i] >= 0 && take_role(c, k->outer[i], CR_LOOP_OUTER);
    return fine ? 0 : broken(c, "an atom has two parts, or does not exist");
}

/* ---- indices ---- */

/* An affine index over the loops `loops`: its least and its largest value. */
static int find_range(const struct check *c, const struct cr_affine *at, unsigned loops,
                      const char *what, int64_t *least, int64_t *most)
{
    *least = *most = at->base;
    for (int a = 0; a < CR_MAX_ATOMS; a++) {
        if (!at->coef[a] || (a < c->k->atoms.n && c->k->atoms.extent[a] == 1))
            continue;
        if (a >= c->k->atoms.n || !(c->roles[a] & loops))
            return broken(c, "the index of %s goes along atom %d, which is no loop of it", what, a);
        int64_t way, *end = at->coef[a] < 0 ? least : most;
        if (__builtin_mul_overflow(at->coef[a], c->k->atoms.extent[a] - 1, &way) ||
            __builtin_add_overflow(*end, way, end))
            return broken(c, "the index of %s overflows", what);
    }
    return 0;
}

static int verify_index(const struct check *c, const struct cr_affine *at, unsigned loops,
                        int64_t size, const char *what)
{
    int64_t least, most;
    if (find_range(c, at, loops, what, &least, &most))
        return -1;
    if (least < 0 || most >= size)
        return broken(c, "the index of %s goes from %lld to %lld, of %lld elements", what,
                      (long long)least, (long long)most, (long long)size);
    return 0;
}

/* ---- tile programs ---- */

/* A tile program, and what its kind says of it. */
struct program_rule {
    const char *name;
    const struct cr_program_part *part;
    int across; /* the atom along the columns of its tiles, or -1 */
};

/* What a value reads from memory: inside of it, and in even steps along columns. */
static int verify_access(const struct check *c, const struct program_rule *rule,
                         const struct cr_value *v)
{
    const struct cr_node *node = &c->g->nodes[v->node];
    int64_t size = 0;
    if (v->source == CR_LOAD || v->source == CR_GATHER) {
        if (v->ref < 0 || v->ref >= c->k->n_refs)
            return broken(c, "%s: there is no operand %d", rule->name, v->ref);
        size = elements(c, c->k->refs[v->ref]);
    }
    if (v->source == CR_GATHER) {
        if (v->table_stride < 1 || v->table_rows < 1 || size % v->table_stride != 0 ||
            size / v->table_stride != v->table_rows)
            return broken(c, "%s: v[%d] is no table of %lld rows", rule->name,
                          (int)c->k->refs[v->ref], (long long)v->table_rows);
        size = v->table_stride;
    }
    if (v->source == CR_IOTA)
        size = node->op == CR_OP_iota ? node->shape[node->axis] : 0;
    if (v->source == CR_RANDOM) {
        size = node->op == CR_OP_random ? elements(c, v->node) : 0;
        if (v->ref < 0 || v->ref >= c->k->n_streams ||
            c->k->streams[v->ref] != (int64_t)node->value)
            return broken(c, "%s: stream %d is not that of v[%d]", rule->name, v->ref,
                          (int)v->node);
    }
    return verify_index(c, &v->at, rule->part->loops, size, rule->name);
}

/* Whether a value that claims to be one number a row is. */
static bool is_by_row(const struct check *c, const struct cr_tiles *tiles, const struct cr_value *v,
                      int across)
{
    switch (v->source) {
    case CR_CORE:
    case CR_SCORE:
        return false;
    case CR_GATHER:
        if (!tiles->values[v->arg[0]].by_row)
            return false;
        /* fall through */
    case CR_LOAD:
    case CR_IOTA:
    case CR_RANDOM:
        return across < 0 || c->k->atoms.extent[across] == 1 || v->at.coef[across] == 0;
    case CR_MAP:
        for (int i = 0; i < cr_value_args(v); i++)
            if (!tiles->values[v->arg[i]].by_row)
                return false;
        return true;
    default:
        return true;
    }
}

/* Elements along the axis that a reduction goes over. */
static int64_t reduced_size(const struct check *c, cr_id id)
{
    return c->g->nodes[cr_in(c->g, id, 0)].shape[c->g->nodes[id].axis];
}

/* Value i, whose arguments are fine. */
static int verify_source(const struct check *c, const struct program_rule *rule,
                         const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    const struct cr_node *node = &c->g->nodes[v->node];
    enum cr_kind kind = cr_ops[node->op].kind;
    int across = rule->across;
    bool down = c->k->kind == CR_KERNEL_COLUMNS && i == tiles->result;
    switch (v->source) {
    case CR_MAP:
        if (kind != CR_KIND_ELEMENTWISE || node->op != v->op)
            return broken(c, "%s: value %d is no %s", rule->name, i, cr_ops[v->op].name);
        break;
    case CR_REDUCE:
        if (kind != CR_KIND_REDUCE || node->op != v->op || !v->by_row || !rule->part->reduces ||
            down != (c->k->kind == CR_KERNEL_COLUMNS) ||
            reduced_size(c, v->node) != v->parts * cr_extent(c->k, down ? c->k->row : across))
            return broken(c, "%s: value %d cannot be reduced", rule->name, i);
        break;
    case CR_CORE:
        if (!rule->part->core)
            return broken(c, "%s: value %d is of a product that is not there", rule->name, i);
        break;
    case CR_SCORE:
        if (!rule->part->score || node->op != CR_OP_matmul)
            return broken(c, "%s: value %d is of scores that are not there", rule->name, i);
        break;
    case CR_CONST:
        break;
    case CR_GATHER:
        if (!cr_can_gather(c->g, tiles, v, across < 0 ? 0 : v->at.coef[across]))
            return broken(c, "%s: value %d gathers more than one row", rule->name, i);
        return verify_access(c, rule, v);
    default:
        return verify_access(c, rule, v);
    }
    return 0;
}

/* A value is made of earlier values of its program, and refers to operands that are there. */
static int verify_value(const struct check *c, const struct program_rule *rule,
                        const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    bool known = (unsigned)v->source <= CR_REDUCE && (unsigned)v->op < CR_OP_COUNT &&
                 v->parts >= (v->source == CR_REDUCE) && v->parts <= CR_MAX_PARTS;
    if (!known || !is_node(c, v->node) ||
        (v->source == CR_MAP && cr_ops[v->op].kind != CR_KIND_ELEMENTWISE))
        return broken(c, "%s: there is no such value as %d", rule->name, i);
    for (int a = 0; a < cr_value_args(v); a++)
        if (v->arg[a] < 0 || v->arg[a] >= i)
            return broken(c, "%s: value %d is made of value %d", rule->name, i, v->arg[a]);
    if (v->by_row && !is_by_row(c, tiles, v, rule->across))
        return broken(c, "%s: value %d is not the same in all columns", rule->name, i);
    return verify_source(c, rule, tiles, i);
}

/* The results that a program has to have behind the first: of TILE one for each stored node. */
static int n_more_results(const struct check *c, const struct cr_tiles *tiles)
{
    bool several = c->k->kind == CR_KERNEL_TILE && tiles == &c->k->program;
    return several ? c->k->n_stored - 1 : 0;
}

/* A tile program is what its kind says: needed or not, with the core once, with reductions or none. */
static int verify_program(const struct check *c, const struct program_rule *rule,
                          const struct cr_tiles *tiles)
{
    int cores = 0;
    if (!tiles->n)
        return rule->part->needed ? broken(c, "it has no %s", rule->name) : 0;
    if (tiles->n < 0 || tiles->n > CR_MAX_VALUES || tiles->n_more != n_more_results(c, tiles))
        return broken(c, "%s: it has %d values and %d results", rule->name, tiles->n,
                      1 + tiles->n_more);
    for (int i = 0; i <= tiles->n_more; i++)
        if (tiles->results[i] < 0 || tiles->results[i] >= tiles->n)
            return broken(c, "%s: the result is value %d of %d", rule->name, tiles->results[i],
                          tiles->n);
    for (int i = 0; i < tiles->n; i++) {
        if (verify_value(c, rule, tiles, i))
            return -1;
        cores += tiles->values[i].source == CR_CORE;
    }
    if (cores != rule->part->core)
        return broken(c, "%s: it takes the product %d times", rule->name, cores);
    if (c->k->kind == CR_KERNEL_COLUMNS &&
        (tiles->result != tiles->n - 1 || tiles->values[tiles->result].source != CR_REDUCE))
        return broken(c, "%s: it does not end with a reduction", rule->name);
    return 0;
}

/* Each program that the kind has, and no other. */
static int verify_programs(const struct check *c)
{
    for (int i = 0; i < CR_PROGRAMS; i++) {
        const struct program_rule rule = {cr_program_names[i], &cr_parts_of(c->k)->programs[i],
                                          cr_column_atom(c->k, i)};
        const struct cr_tiles *tiles = &c->k->programs[i];
        if (!rule.part->loops && tiles->n)
            return broken(c, "it has a tile program that its kind has not");
        if (rule.part->loops && verify_program(c, &rule, tiles))
            return -1;
    }
    return 0;
}

/* ---- operands ---- */

/* Elements that a scatter or a scan reads of an operand from its index on; all others read one. */
static int64_t elements_read(const struct cr_kernel *k, const struct cr_operand *operand)
{
    if (k->kind == CR_KERNEL_SCAN)
        return k->scan.items * k->scan.rows * k->scan.cols;
    if (k->kind != CR_KERNEL_SCATTER)
        return 1;
    return operand == &k->a ? k->scatter.rows * k->scatter.width : k->scatter.rows;
}

/* Whether an operand is computed, or packed when weights are loaded, instead of read. */
static bool is_replaced(const struct cr_kernel *k, const struct cr_operand *operand)
{
    if (operand == &k->delta && k->kind == CR_KERNEL_ATTENTION_BACKWARD && k->attention.direct)
        return true; /* there is none */
    return (operand == &k->a && k->prologue.n) ||
           (operand == &k->b && k->kind == CR_KERNEL_ATTENTION && k->key_rows->n) || (operand == &k->b && cr_packed(k) != CR_NONE);
}

static int verify_operand(const struct check *c, int i)
{
    const struct cr_operand *o = &c->k->operands[i];
    if (is_replaced(c->k, o))
        return 0;
    if (o->ref < 0 || o->ref >= c->k->n_refs)
        return broken(c, "operand %s: there is no operand %d", cr_operand_names[i], o->ref);
    int64_t size = elements(c, c->k->refs[o->ref]) - elements_read(c->k, o) + 1;
    return verify_index(c, &o->at, cr_parts_of(c->k)->operands[i].loops, size, cr_operand_names[i]);
}

static int verify_operands(const struct check *c)
{
    for (int i = 0; i < CR_OPERANDS; i++)
        if (cr_parts_of(c->k)->operands[i].used && verify_operand(c, i))
            return -1;
    return 0;
}

/* ---- sizes ---- */

/* The product that a kernel ends with: M x N a batch, each a sum of `summands`. */
static int verify_core(const struct check *c, cr_id id, int64_t N, int64_t summands)
{
    if (!is_node(c, id) || c->g->nodes[id].op != CR_OP_matmul)
        return broken(c, "its core is no matmul");
    const struct cr_node *core = &c->g->nodes[id], *left = &c->g->nodes[cr_in(c->g, id, 0)];
    if (N != core->shape[core->rank - 1] || summands != left->shape[left->rank - 1] ||
        elements(c, id) != elements(c, c->k->root))
        return broken(c, "its sizes are not those of its core, v[%d]", (int)id);
    return 0;
}

/* Weights are packed as a matrix of the kernel's size. */
static int verify_packed(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    cr_id packed = k->gemm.packed;
    int64_t K = k->gemm.K, N = k->gemm.N;
    if (packed == CR_NONE)
        return 0;
    if (!is_node(c, packed))
        return broken(c, "it has packed weights of no node");
    const struct cr_node *node = &c->g->nodes[packed];
    if (node->rank < 2 || node->shape[node->rank - 2] != K || node->shape[node->rank - 1] != N ||
        elements(c, packed) != K * N)
        return broken(c, "its packed weights v[%d] are no %lld x %lld", (int)packed, (long long)K,
                      (long long)N);
    return 0;
}

static int verify_gemm(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->gemm.K != cr_extent(k, k->k) || k->gemm.N != cr_extent(k, k->col))
        return broken(c, "K or N is not the extent of its loop");
    if (verify_core(c, k->gemm.core, k->gemm.N, k->gemm.K))
        return -1;
    return verify_packed(c);
}

/* Each bound has an edge, and at most one that moves, or what is hidden between two has no shape that
 * loops know. */
static int verify_bounds(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->attention.n_bounds < 0 || k->attention.n_bounds > CR_MAX_BOUNDS)
        return broken(c, "it has %d bounds", k->attention.n_bounds);
    if (k->attention.n_shifts < 0 || k->attention.n_shifts > CR_MAX_SHIFTS)
        return broken(c, "its queries stand at %d numbers", k->attention.n_shifts);
    for (int i = 0; i < k->attention.n_shifts; i++) {
        int ref = k->attention.shift[i];
        if (ref < 0 || ref >= k->n_refs || c->g->nodes[k->refs[ref]].dtype != CR_I32 ||
            elements(c, k->refs[ref]) != 1)
            return broken(c, "operand %d is no position", ref);
    }
    for (int i = 0; i < k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &k->attention.bounds[i];
        bool first = cr_has_edge(&bound->first), last = cr_has_edge(&bound->last);
        if (!(first || last) || (bound->first.moves && bound->last.moves))
            return broken(c, "bound %d has no edge, or two that move", i);
    }
    return 0;
}

/* What is made of arrays of queries by keys: there is a program for each, but none for a sink; one
 * at most is scattered, by an index, and only whole arrays are summed along outer loops. */
static int verify_arrays(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    int n = k->attention.n_arrays, scattered = 0;
    unsigned serial = 0;
    if (n < 0 || n > CR_MAX_ARRAYS)
        return broken(c, "it has %d arrays", n);
    for (int i = 0; i < n; i++)
        if (k->attention.stored[i] < 0 || k->attention.stored[i] >= k->n_stored)
            return broken(c, "it stores no node %d for array %d", k->attention.stored[i], i);
    for (int i = 0; i < CR_MAX_ARRAYS; i++) {
        bool sink = i < n && k->attention.arrays[i] == CR_OF_SINK;
        if ((k->array[i].n > 0) != (i < n && !sink) || (sink && !k->sink.n) || (i < n && k->attention.arrays[i] > CR_SCATTERED))
            return broken(c, "array %d is not there, or nothing is made of it", i);
        scattered += i < n && k->attention.arrays[i] == CR_SCATTERED;
        for (int o = 0; i < n && o < k->n_outer; o++)
            if (k->attention.arrays[i] == CR_WHOLE_ARRAY && !k->dest_array[i].coef[k->outer[o]])
                serial |= 1u << k->outer[o];
    }
    if (k->attention.serial != serial)
        return broken(c, "its loops are not those that its arrays are summed along");
    if (scattered > 1 || (k->index.n > 0) != scattered || (k->attention.bucket >= 0 && !scattered))
        return broken(c, "it has an index for no table, or a table without");
    if (scattered && c->g->nodes[k->index.values[k->index.result].node].dtype != CR_I32)
        return broken(c, "its index is no whole number");
    return 0;
}

/* The parts of rows make each of their columns once, with a program for each. */
static int verify_row_parts(const struct check *c, const struct cr_row_parts *parts, int first)
{
    const struct cr_kernel *k = c->k;
    int64_t K = k->attention.K, made = 0;
    bool *there = cr_calloc((size_t)K, sizeof *there), fine = true;
    for (int p = 0; p < parts->n; p++) {
        const struct cr_row_part *part = &parts->items[p];
        for (int64_t col = 0; fine && col < cr_extent(k, part->atom); col++) {
            int64_t at = part->start + col * part->step;
            fine = at >= 0 && at < K && !there[at];
            if (fine)
                there[at] = true;
            made++;
        }
        fine &= k->programs[p ? first + p : first == CR_KEYS ? CR_KEYS : CR_PROLOGUE].n > 0;
    }
    free(there);
    return fine && (made == K || !parts->n) ? 0 : broken(c, "the parts of its rows are no rows");
}

/* Both kinds; the backward pass does not end with a matmul of the graph. */
static int verify_attention(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->attention.K != cr_extent(k, k->k) || k->attention.N != cr_extent(k, k->col))
        return broken(c, "K or N is not the extent of its loop");
    if (k->attention.keys != cr_extent(k, k->key))
        return broken(c, "there are not as many keys as its loop has");
    if (verify_bounds(c) || verify_row_parts(c, &k->attention.query_parts, CR_PROLOGUE) ||
        verify_row_parts(c, &k->attention.key_parts, CR_KEYS))
        return -1;
    if (k->kind == CR_KERNEL_ATTENTION_BACKWARD)
        return verify_arrays(c);
    return verify_core(c, k->attention.core, k->attention.N, k->attention.keys);
}

static int verify_scatter(const struct check *c)
{
    int64_t rows = c->k->scatter.rows, width = c->k->scatter.width;
    if (rows < 1 || width < 1 || rows > CR_MAX_ELEMENTS / width)
        return broken(c, "it scatters no rows");
    return 0;
}

static int verify_scan(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    int64_t rows = k->scan.rows, cols = k->scan.cols;
    if (k->scan.items < 1 || rows < 1 || cols < 1 || rows > CR_MAX_ELEMENTS / cols ||
        k->scan.items > CR_MAX_ELEMENTS / rows / cols ||
        k->scan.items * rows * cols != elements(c, k->root))
        return broken(c, "its sums are not those of its root");
    return 0;
}

/* What a kind has of its own repeats what the atoms and the nodes say. */
static int verify_sizes(const struct check *c)
{
    if (cr_attends(c->k))
        return verify_attention(c);
    if (c->k->kind == CR_KERNEL_GEMM)
        return verify_gemm(c);
    if (c->k->kind == CR_KERNEL_SCAN)
        return verify_scan(c);
    return c->k->kind == CR_KERNEL_SCATTER ? verify_scatter(c) : 0;
}

/* ---- results ---- */

/* A way through memory: `count` runs of `width` elements, `step` apart, from `first` on. */
struct runs {
    int64_t first, width, step, count;
};

/* A term of an index. */
struct term {
    int64_t coef, extent;
};

/* The terms of an index, smallest steps first. */
static int sort_terms(const struct cr_kernel *k, const struct cr_affine *at, struct term *terms)
{
    int n = 0;
    for (int a = 0; a < k->atoms.n; a++) {
        if (!at->coef[a] || k->atoms.extent[a] == 1)
            continue;
        int i = n++;
        for (; i > 0 && terms[i - 1].coef > at->coef[a]; i--)
            terms[i] = terms[i - 1];
        terms[i] = (struct term){at->coef[a], k->atoms.extent[a]};
    }
    return n;
}

/* The runs that an index takes, each element once; false if it does not. */
static bool find_runs(const struct cr_kernel *k, const struct cr_affine *at, struct runs *runs)
{
    struct term terms[CR_MAX_ATOMS];
    int n = sort_terms(k, at, terms), i = 0;
    *runs = (struct runs){at->base, 1, 0, 1};
    for (; i < n && terms[i].coef == runs->width; i++)
        runs->width *= terms[i].extent;
    if (i < n)
        runs->step = terms[i].coef;
    for (; i < n && terms[i].coef == runs->step * runs->count; i++)
        runs->count *= terms[i].extent;
    return i == n && (runs->count == 1 || runs->step > runs->width);
}

/* How the axis of a concat or a write, or the whole of another node, lies in memory. */
static struct runs room_of(const struct check *c, cr_id id)
{
    const struct cr_node *node = &c->g->nodes[id];
    struct runs room = {0, elements(c, id), 0, 1};
    if (node->op != CR_OP_concat && node->op != CR_OP_write)
        return room;
    for (int i = 0; i < node->axis; i++)
        room.count *= node->shape[i];
    room.step = room.width = room.width / room.count;
    return room;
}

/* What kernels made of a node so far. */
struct made {
    int64_t stored; /* elements */
    int part;       /* of a concat or a write: the operand that is stored next ... */
    int64_t start;  /* ... and where it begins in each run */
    bool besides;   /* by a kernel that stores another node */
};

/* How much of each run of a concat, or of a write, an operand takes. */
static int64_t part_width(const struct check *c, cr_id concat, int part)
{
    const struct cr_node *node = &c->g->nodes[concat];
    const struct cr_node *operand = &c->g->nodes[cr_in(c->g, concat, part)];
    return cr_elements(node->rank - node->axis, operand->shape + node->axis);
}

/* One result of a kernel, in a node's memory: takes its loops through `width` elements of each run from `first` on,
 * each once. */
static int verify_result(const struct check *c, cr_id buffer, const struct cr_affine *at,
                         unsigned loops, int64_t first, int64_t width)
{
    struct runs room = room_of(c, buffer), runs;
    int64_t times = 1;
    bool fits = true;
    if (verify_index(c, at, loops, elements(c, buffer), "its result"))
        return -1;
    for (int a = 0; fits && a < c->k->atoms.n; a++)
        if ((c->roles[a] & loops) && !(c->stands >> a & 1))
            fits = !__builtin_mul_overflow(times, c->k->atoms.extent[a], &times);
    fits = fits && find_runs(c->k, at, &runs) && runs.width * runs.count == times;
    if (fits && runs.width == room.width * room.count) {
        runs.width = room.width;
        runs.step = room.step;
        runs.count = room.count;
    }
    if (!fits || runs.first != first || runs.width != width || runs.count != room.count ||
        (room.count > 1 && runs.step != room.step))
        return broken(c, "its loops do not go through the elements of its result once");
    return 0;
}

static bool makes_rows(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE || k->kind == CR_KERNEL_WRITE;
}

/* The columns of a TILE or WRITE may be those of a reduction, which its result has not. */
static unsigned result_loops(const struct cr_kernel *k)
{
    bool reduced = makes_rows(k) && k->col >= 0 && k->dest.coef[k->col] == 0;
    return cr_parts_of(k)->results[0] & ~(reduced ? (unsigned)CR_LOOP_COL : 0);
}

/* The loops that go through a gradient: of a whole array, those that it is not summed along. */
static unsigned gradient_loops(const struct check *c, int i)
{
    static const unsigned loops[] = {
        [CR_SUM_OVER_KEYS] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_OF_SINK] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_SUM_OVER_QUERIES] = CR_LOOP_OUTER | CR_LOOP_KEY,
        [CR_WHOLE_ARRAY] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
        [CR_SCATTERED] = CR_LOOP_OUTER | CR_LOOP_BUCKET,
    };
    return i < 3 ? cr_parts_of(c->k)->results[i] : loops[c->k->attention.arrays[i - 3]];
}

/* The atoms along which result i is summed, as bits. */
static unsigned standing_loops(const struct cr_kernel *k, int i)
{
    unsigned stands = 0;
    for (int o = 0; o < k->n_outer && i >= 3; o++)
        if (k->attention.arrays[i - 3] == CR_WHOLE_ARRAY && !k->results[i].coef[k->outer[o]])
            stands |= 1u << k->outer[o];
    return stands;
}

/* The arrays that go to outputs: each whole, to one that no kernel made. */
static int verify_outputs(struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    for (int i = 0; i < k->attention.n_arrays; i++) {
        cr_id id = k->stored[k->attention.stored[i]];
        if (!k->attention.stored[i])
            continue;
        if (k->attention.arrays[i] != CR_WHOLE_ARRAY || !c->m->materialised[id] ||
            c->g->nodes[id].name || (all[id].stored && !k->again))
            return broken(c, "array %d does not go to an output of its own", i);
        c->stands = standing_loops(k, 3 + i);
        if (verify_result(c, id, &k->results[3 + i], gradient_loops(c, 3 + i), 0, elements(c, id)))
            return -1;
        all[id].stored = elements(c, id);
        all[id].besides = true;
    }
    return 0;
}

/* The result that begins where the next part of a concat does; -1 if there is none. */
static int next_gradient(const struct check *c, const struct made *made)
{
    const struct cr_kernel *k = c->k;
    for (int i = 0; i < 3 + k->attention.n_arrays; i++)
        if (k->results[i].base == made->start && (i < 3 || !k->attention.stored[i - 3]))
            return i;
    return -1;
}

/* The gradients of an attention, each of which is a part of a concat, or an output. */
static int verify_gradients(struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    const struct cr_node *node = &c->g->nodes[k->buffer];
    struct made *made = &all[k->buffer];
    int n = 3;
    for (int i = 0; i < k->attention.n_arrays; i++)
        n += !k->attention.stored[i];
    if (node->op != CR_OP_concat || node->n_in != n)
        return broken(c, "v[%d] is no concat of %d gradients", (int)k->buffer, n);
    for (; made->part < n; made->part++) {
        int64_t width = part_width(c, k->buffer, made->part);
        int i = next_gradient(c, made);
        if (i < 0)
            return broken(c, "it does not store part %d of v[%d]", made->part, (int)k->buffer);
        c->stands = standing_loops(k, i);
        if (verify_result(c, k->buffer, &k->results[i], gradient_loops(c, i), made->start, width))
            return -1;
        made->start += width;
    }
    int status = verify_outputs(c, all);
    c->stands = 0;
    return status;
}

/* The rows of a write: the row that one goes to is at the number plus where the loops are. */
static int verify_write(const struct check *c)
{
    const struct cr_write *w = &c->k->write;
    const struct cr_node *node = &c->g->nodes[c->k->buffer];
    int axis = node->axis, ref = w->at.ref;
    int64_t rows = c->g->nodes[cr_in(c->g, c->k->buffer, 1)].shape[axis];
    if (w->rows != node->shape[axis] ||
        w->step != cr_elements(node->rank - axis - 1, node->shape + axis + 1))
        return broken(c, "it does not write rows as v[%d] has them", (int)c->k->buffer);
    if (ref < -1 || ref >= c->k->n_refs ||
        (ref >= 0 && c->g->nodes[c->k->refs[ref]].dtype != CR_I32))
        return broken(c, "there is no number where its rows begin");
    if (ref >= 0 && verify_index(c, &w->at.at, 0, elements(c, c->k->refs[ref]), "that number"))
        return -1;
    if (verify_index(c, &w->row, CR_LOOP_OUTER, rows, "its rows"))
        return -1;
    for (int a = 0; a < c->k->atoms.n; a++)
        if (w->row.coef[a] && c->k->dest.coef[a] != w->row.coef[a] * w->step)
            return broken(c, "atom %d moves its result by other than rows", a);
    return 0;
}

/* True if the columns of a TILE or WRITE, which its result has not, are not reduced. */
static bool keeps_columns(const struct cr_kernel *k, int result)
{
    return makes_rows(k) && !(result_loops(k) & CR_LOOP_COL) && cr_extent(k, k->col) > 1 &&
           !k->program.values[k->program.results[result]].by_row;
}

/* Stored nodes behind the first are whole, of no other kernel, and as large as the root: each result
 * goes to the same place. */
static int verify_more_results(const struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    for (int i = 1; i < k->n_stored; i++) {
        cr_id id = k->stored[i];
        const struct cr_node *node = &c->g->nodes[id];
        if (k->root != k->buffer || !c->m->materialised[id] || node->name || all[id].stored ||
            node->op == CR_OP_concat || node->op == CR_OP_write || node->where.entry != k->entry)
            return broken(c, "v[%d] is no node that it can store besides", (int)id);
        if (elements(c, id) != elements(c, k->root) ||
            memcmp(&k->results[i], &k->dest, sizeof k->dest) != 0)
            return broken(c, "v[%d] does not lie as v[%d] does", (int)id, (int)k->root);
        if (keeps_columns(k, i))
            return broken(c, "its columns are not reduced");
        all[id].stored = elements(c, id);
        all[id].besides = true;
    }
    return 0;
}

/* The result covers the kernel's part of the buffer, behind the parts of the kernels before it. */
static int verify_results(const struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    struct made *made = &all[k->buffer];
    unsigned loops = result_loops(k);
    bool part = k->root != k->buffer, write = c->g->nodes[k->buffer].op == CR_OP_write;
    if (k->kind == CR_KERNEL_WRITE && verify_write(c))
        return -1;
    if (write) /* each of the two begins at the first row */
        return verify_result(c, k->buffer, &k->dest, loops, 0, part_width(c, k->buffer, made->part++));
    int64_t width = part ? part_width(c, k->buffer, made->part++) : elements(c, k->buffer);
    if (keeps_columns(k, 0))
        return broken(c, "its columns are not reduced");
    if (verify_result(c, k->buffer, &k->dest, loops, made->start, width))
        return -1;
    made->start += width;
    return verify_more_results(c, all);
}

/* ---- a kernel ---- */

/* What it is made for: what a write goes over, unless that is there, as it is a state that the
 * write replaces; and then the rows. */
static int verify_write_root(const struct check *c, struct made *made)
{
    const struct cr_kernel *k = c->k;
    cr_id below = cr_in(c->g, k->buffer, 0);
    bool rows = k->root == k->buffer;
    bool in_place = cr_state_of(c->m, k->buffer) == below && c->g->nodes[below].op == CR_OP_state;
    if (rows && !made->part && in_place)
        made->part = 1;
    if (rows != (k->kind == CR_KERNEL_WRITE) || made->part != rows || (!rows && k->root != below))
        return broken(c, "v[%d] is not the next part of v[%d]", (int)k->root, (int)k->buffer);
    return 0;
}

/* Elementwise work and an attention's gradients may store more than the buffer. */
static int verify_stored_nodes(const struct check *c)
{
    const struct cr_kernel *k = c->k;
    bool several = k->kind == CR_KERNEL_ATTENTION_BACKWARD || k->kind == CR_KERNEL_TILE;
    int most = several ? CR_MAX_STORED : 1;
    if (k->n_stored < 1 || k->n_stored > most)
        return broken(c, "it stores %d nodes", k->n_stored);
    for (int i = 0; i < k->n_stored; i++)
        if (!is_node(c, k->stored[i]))
            return broken(c, "no such node");
    return 0;
}

/* What it is made for: a stored node, or the next operand of a stored concat. */
static int verify_root(const struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    if ((unsigned)k->kind >= CR_KERNEL_KINDS)
        return broken(c, "no such kind");
    if (!is_node(c, k->root))
        return broken(c, "no such node");
    if (verify_stored_nodes(c))
        return -1;
    const struct cr_node *buffer = &c->g->nodes[k->buffer];
    struct made *made = &all[k->buffer];
    if (k->entry != buffer->where.entry)
        return broken(c, "it is called for another entry than v[%d]", (int)k->buffer);
    if (c->kernel && k[-1].entry > k->entry)
        return broken(c, "it is not listed by entry");
    if (!c->m->materialised[k->buffer] || buffer->name)
        return broken(c, "v[%d] is not to be stored", (int)k->buffer);
    if (made->stored == elements(c, k->buffer) ||
        (k->root == k->buffer && made->stored && buffer->op != CR_OP_write))
        return broken(c, "it stores v[%d] a second time", (int)k->buffer);
    if (buffer->op == CR_OP_write)
        return verify_write_root(c, made);
    if (k->kind == CR_KERNEL_WRITE)
        return broken(c, "it has rows to write, but v[%d] is no write", (int)k->buffer);
    if (k->root != k->buffer && (buffer->op != CR_OP_concat || made->part >= buffer->n_in ||
                                 cr_in(c->g, k->buffer, made->part) != k->root))
        return broken(c, "v[%d] is not the next part of v[%d]", (int)k->root, (int)k->buffer);
    return 0;
}

/* What a kernel reads was made before, completely, and for the same entry. */
static int verify_refs(const struct check *c, const struct made *made)
{
    const struct cr_kernel *k = c->k;
    if (k->n_refs < 0 || k->n_refs > CR_MAX_REFS || k->n_streams < 0 ||
        k->n_streams > CR_MAX_STREAMS)
        return broken(c, "%d operands, %d streams", k->n_refs, k->n_streams);
    for (int i = 0; i < k->n_refs; i++) {
        cr_id ref = k->refs[i];
        if (!is_node(c, ref))
            return broken(c, "it reads v[%d], which does not exist", (int)ref);
        if (cr_is_joined(c->g, ref))
            continue;
        if (!c->g->nodes[ref].name && made[ref].stored != elements(c, ref))
            return broken(c, "it reads v[%d], which is not made yet", (int)ref);
        if (!c->g->nodes[ref].name && c->g->nodes[ref].where.entry != k->entry)
            return broken(c, "it reads v[%d] of another entry", (int)ref);
    }
    return 0;
}

/* All of a kernel, and that it stores what its node has no part of yet. */
static int verify_kernel(struct check *c, struct made *all)
{
    const struct cr_kernel *k = c->k;
    struct made *made;
    if (verify_root(c, all) || verify_refs(c, all) || verify_loops(c) || verify_programs(c) ||
        verify_sizes(c) || verify_operands(c))
        return -1;
    made = &all[k->buffer];
    bool gradients = k->kind == CR_KERNEL_ATTENTION_BACKWARD;
    bool below = c->g->nodes[k->buffer].op == CR_OP_write && k->root != k->buffer;
    made->stored += below ? 0 : elements(c, k->root); /* a write is whole with its rows */
    return gradients ? verify_gradients(c, all) : verify_results(c, all);
}

/* What is stored and what was to be stored are the same; nodes know their kernels. */
static int verify_stored(const struct check *c, const struct made *all)
{
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        int kernel = c->g->nodes[id].kernel;
        bool stored = c->m->materialised[id];
        if (stored && all[id].stored != elements(c, id))
            return cr_fail(c->error, "node %d: no kernel stores all of it", (int)id);
        bool has_one = stored && !all[id].besides;
        if (has_one ? kernel < 0 || kernel >= c->m->n_kernels ||
                          c->m->kernels[kernel].buffer != id
                    : kernel != CR_NONE)
            return cr_fail(c->error, "node %d: kernel %d does not store it", (int)id, kernel);
    }
    for (int i = 0; i < c->g->n_outputs; i++)
        if (!c->m->materialised[c->g->outputs[i].id] &&
            !cr_is_empty(&c->g->nodes[c->g->outputs[i].id]))
            return cr_fail(c->error, "output %.200s: no kernel stores it", c->g->outputs[i].name);
    return 0;
}

int cr_verify_kernels(const struct cr_module *m, struct cr_error *error)
{
    struct check c = {.m = m, .g = m->graph, .error = error};
    struct made *made = cr_calloc((size_t)m->graph->n_nodes, sizeof *made);
    int status = 0;
    for (int i = 0; !status && i < m->n_kernels; i++) {
        c.kernel = i;
        c.k = &m->kernels[i];
        status = verify_kernel(&c, made);
    }
    if (!status)
        status = verify_stored(&c, made);
    free(made);
    return status ? -1 : 0;
}
