/*
 * join_tiles.c - joins elementwise kernels that read the same arrays into one kernel with several results.
 *
 * AdamW updates two moments and a weight of each parameter.  Three kernels read the gradient three times and
 * the moments twice; one kernel reads each array once.  A norm whose mean and deviation are stored, as for
 * its gradient, reads its rows once instead of three times.
 *
 * A kernel is joined with the kernel before it if
 *   - both have the same loops;
 *   - both read the same array at the same index, or the later one reads a result of the earlier one at the
 *     index at which it was stored;
 *   - their programs differ: kernels with equal programs share a function, and may form a loop;
 *   - no value reads a state after the result that is stored over the state;
 *   - both store only outputs and states, with the same index, so that no value of the arena lives longer; or
 *     the earlier one stores only per-row values (one number a row), and all arrays that it reads are read by
 *     the later one, too.  In the second case the rows must fit in the first-level cache if the later kernel
 *     alone would work through parts of rows.
 *
 * With --max-arena, kernels that store per-row values stay separate, because the pass recompute can drop only
 * everything that a kernel stores.  A second list has the kernels joined as without --max-arena, and is used
 * if its arena is within the limit.
 *
 * Values that both programs compute are computed once.  The bits do not change: each value is rounded to the
 * type of its node, whether it is stored or not.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/module/target.h"
#include "evaluate.h"
#include "fuse.h"
#include "in_place.h"
#include "lower.h"

/* Two kernels that are being joined.  `k` starts as a copy of the earlier kernel; the values of the
 * later one are appended. */
struct joint {
    const struct cr_graph *g;
    const struct cr_kernel *earlier, *later;
    struct cr_kernel k;
    int map[CR_MAX_VALUES]; /* by value of the later program: its number in the joined program */
    bool numbers;           /* the earlier kernel stores one number a row, and no arrays */
    bool shares;            /* both kernels read the same array */
    bool in_both[CR_MAX_VALUES]; /* by value of the earlier program: the later program computes it,
                                    too */
};

/* True if two programs have the same operations in the same order; their operands may differ. */
static bool are_alike(const struct cr_tiles *a, const struct cr_tiles *b)
{
    bool alike = a->n == b->n;
    for (int i = 0; alike && i < a->n; i++) {
        const struct cr_value *x = &a->values[i], *y = &b->values[i];
        alike = x->source == y->source && x->op == y->op &&
                (x->source != CR_CONST || x->number == y->number);
        for (int p = 0; alike && p < cr_value_args(x); p++)
            alike = x->arg[p] == y->arg[p];
    }
    return alike;
}

/* ---- joining two programs ---- */

/* True if two values are equal.  Two loads of the same element are equal, even through different
 * views of the node. */
static bool same_value(const struct cr_graph *g, const struct cr_value *a, const struct cr_value *b)
{
    bool same = a->source == b->source && a->by_row == b->by_row &&
                g->nodes[a->node].dtype == g->nodes[b->node].dtype;
    switch (same ? a->source : CR_CORE) {
    case CR_GATHER:
        same = a->table_rows == b->table_rows && a->table_length == b->table_length &&
               a->table_stride == b->table_stride;
        /* fall through */
    case CR_LOAD:
    case CR_IOTA:
    case CR_RANDOM:
        same = same && (a->source == CR_IOTA || a->ref == b->ref) &&
               !memcmp(&a->at, &b->at, sizeof a->at);
        break;
    case CR_CONST:
        return !memcmp(&a->number, &b->number, sizeof a->number);
    case CR_MAP:
    case CR_REDUCE:
        same = a->op == b->op && a->parts == b->parts;
        break;
    default:
        return false;
    }
    for (int i = 0; same && i < cr_value_args(a); i++)
        same = a->arg[i] == b->arg[i];
    return same;
}

/* True if a load's index depends on all loops, so that each element is read once. */
static bool is_array(const struct cr_kernel *k, const struct cr_value *v)
{
    bool moves = v->source == CR_LOAD;
    for (int a = 0; a < k->atoms.n; a++)
        moves &= v->at.coef[a] != 0 || k->atoms.extent[a] == 1;
    return moves;
}

/* Returns the number of an equal value of the joined program, or appends the value; -1 if there are
 * too many. */
static int add_value(struct joint *j, const struct cr_value *v)
{
    struct cr_tiles *tiles = &j->k.program;
    for (int i = 0; i < tiles->n; i++)
        if (same_value(j->g, &tiles->values[i], v)) {
            j->shares |= is_array(&j->k, v);
            j->in_both[i] = true;
            return i;
        }
    if (tiles->n == CR_MAX_VALUES)
        return -1;
    tiles->values[tiles->n] = *v;
    return tiles->n++;
}

/* If the later kernel loads a result of the earlier one, returns the value that the earlier one
 * stores there.  Returns -1 if the load has another index or another type. */
static int find_passed(struct joint *j, const struct cr_value *v, int stored)
{
    int result = j->earlier->program.results[stored];
    const struct cr_value *passed = &j->earlier->program.values[result];
    bool same = v->source == CR_LOAD && v->by_row == passed->by_row &&
                !memcmp(&v->at, &j->earlier->results[stored], sizeof v->at) &&
                j->g->nodes[v->node].dtype == j->g->nodes[passed->node].dtype;
    j->shares |= same && is_array(&j->k, v);
    return same ? result : -1;
}

/* Adds a value of the later program to the joined one; returns its number there, or -1 if that is
 * impossible. */
static int join_value(struct joint *j, const struct cr_value *value)
{
    struct cr_value v = *value;
    bool reads = v.source == CR_LOAD || v.source == CR_GATHER;
    int stored = reads ? cr_find_stored_node(j->earlier, j->later->refs[v.ref]) : -1;
    if (stored >= 0)
        return find_passed(j, value, stored);
    if (reads)
        v.ref = cr_add_ref(&j->k, j->later->refs[v.ref]);
    if (v.source == CR_RANDOM)
        v.ref = cr_add_stream(&j->k, j->later->streams[v.ref]);
    if ((reads || v.source == CR_RANDOM) && v.ref < 0)
        return -1;
    for (int a = 0; a < cr_value_args(&v); a++)
        v.arg[a] = j->map[v.arg[a]];
    return add_value(j, &v);
}

/* Makes the root of the later kernel the first result, because the joined kernel runs in its
 * position; the root of the earlier kernel becomes the last result. */
static void set_results(struct joint *j)
{
    struct cr_kernel *k = &j->k;
    int last = k->n_stored++;
    k->stored[last] = k->stored[0];
    k->program.results[last] = k->program.results[0];
    k->program.n_more++;
    k->results[last] = k->results[0];
    k->results[0] = j->later->dest;
    k->stored_in[last] = last;
    k->root = k->stored[0] = j->later->root;
    k->program.results[0] = j->map[j->later->program.result];
}

/* True if, for each state that the joined kernel overwrites, the kernel does not read an element
 * after it has stored its new value. */
static bool writes_in_place(const struct cr_module *m, const struct cr_kernel *k)
{
    for (int i = 0; i < k->n_stored; i++) {
        cr_id state = cr_state_of(m, k->stored[i]);
        if (state != CR_NONE && !cr_reads_in_place(k, i, state))
            return false;
    }
    return true;
}

/* True if all arrays that the earlier kernel reads are also read by the later kernel. */
static bool reads_no_more(const struct joint *j)
{
    const struct cr_tiles *tiles = &j->earlier->program;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        if ((v->source == CR_GATHER || is_array(j->earlier, v)) && !j->in_both[i])
            return false;
    }
    return true;
}

/* True if one row of each array of the joined kernel, and one row of a temporary, fit in the
 * first-level cache. */
static bool rows_fit_cache(const struct cr_module *m, const struct cr_kernel *k)
{
    const struct cr_target *target = m->settings.target ? m->settings.target : &cr_target_generic;
    int64_t arrays = 1;
    for (int i = 0; i < k->program.n; i++)
        arrays += is_array(k, &k->program.values[i]);
    for (int i = 0; i < k->n_stored; i++)
        arrays += k->results[i].coef[k->col] != 0;
    return arrays * cr_extent(k, k->col) * (int64_t)sizeof(float) <= target->l1_bytes;
}

/* True if it is faster to compute the earlier kernel's per-row values together with the later
 * kernel.  A kernel without reductions works through parts of wide rows; joined, it works through
 * whole rows. */
static bool is_faster(const struct cr_module *m, const struct joint *j)
{
    return reads_no_more(j) && (cr_tiles_reduce(&j->later->program) || rows_fit_cache(m, &j->k));
}

/* Joins two kernels with equal loops.  If they cannot be joined, frees j->k and returns false. */
static bool join_programs(const struct cr_module *m, struct joint *j)
{
    bool fits = j->earlier->n_stored < CR_MAX_STORED;
    cr_kernel_copy(&j->k, j->earlier);
    free(j->k.program.values);
    j->k.program.values = cr_calloc(CR_MAX_VALUES, sizeof *j->k.program.values);
    memcpy(j->k.program.values, j->earlier->program.values,
           (size_t)j->earlier->program.n * sizeof *j->k.program.values);
    for (int i = 0; fits && i < j->later->program.n; i++) {
        j->map[i] = join_value(j, &j->later->program.values[i]);
        fits = j->map[i] >= 0;
    }
    if (fits && j->shares) {
        set_results(j);
        cr_count_work(j->g, &j->k);
        if (writes_in_place(m, &j->k) && (!j->numbers || is_faster(m, j)))
            return true;
    }
    cr_kernel_free(&j->k);
    return false;
}

/* ---- choosing kernels ---- */

static bool is_elementwise(const struct cr_kernel *k)
{
    return cr_parts_of(k)->elementwise && k->root == k->buffer && !k->again;
}

/* True if all results of a kernel are outputs, and so outside the arena; `apart` has the outputs,
 * by node. */
static bool stores_only_outputs(const struct cr_kernel *k, const bool *apart)
{
    for (int i = 0; i < k->n_stored; i++)
        if (!apart[k->stored[i]])
            return false;
    return true;
}

/* True if the rows of a kernel have several columns, and each result has one number a row. */
static bool stores_row_numbers(const struct cr_kernel *k)
{
    bool numbers = cr_extent(k, k->col) > 1;
    for (int i = 0; numbers && i < k->n_stored; i++)
        numbers = k->results[i].coef[k->col] == 0;
    return numbers;
}

/* Settings of join_kernels. */
struct joining {
    const struct cr_module *m;
    const bool *apart; /* by node: true for an output */
    bool numbers;      /* kernels that store one number a row are joined, too */
};

/* Replaces `before` by a kernel that computes both.  Returns false, and changes nothing, if they
 * cannot be joined. */
static bool join(const struct joining *joining, struct cr_kernel *before, struct cr_kernel *k)
{
    struct joint j = {.g = joining->m->graph, .earlier = before, .later = k};
    bool outside = stores_only_outputs(before, joining->apart) &&
                   stores_only_outputs(k, joining->apart) &&
                   !memcmp(&before->dest, &k->dest, sizeof k->dest);
    j.numbers = !outside && joining->numbers && stores_row_numbers(before);
    if ((!outside && !j.numbers) || !is_elementwise(before) || !is_elementwise(k) || !cr_same_loops(before, k) ||
        before->entry != k->entry || are_alike(&before->program, &k->program) ||
        !join_programs(joining->m, &j))
        return false;
    cr_kernel_free(before);
    cr_kernel_free(k);
    *before = j.k;
    return true;
}

/* Joins each of `n` kernels with the kernel before it, where that is possible, and keeps their
 * order.  Returns the number of kernels that remain. */
static int join_kernels(const struct joining *joining, struct cr_kernel *kernels, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        struct cr_kernel k = kernels[i];
        if (!kept || !join(joining, &kernels[kept - 1], &k))
            kernels[kept++] = k;
    }
    return kept;
}

/* Joins each kernel with the one before it where that is possible.  With --max-arena, kernels that
 * store one number a row stay separate in module->kernels; module->joined is a second list in which
 * these are joined, too. */
void cr_pass_join_tiles(struct cr_module *module)
{
    bool *apart = cr_calloc((size_t)module->graph->n_nodes, sizeof *apart);
    struct joining joining = {.m = module, .apart = apart, .numbers = true};
    int n = module->n_kernels;
    for (int i = 0; i < module->graph->n_outputs; i++)
        apart[module->graph->outputs[i].id] = true;
    if (module->settings.max_arena) {
        module->joined = cr_calloc((size_t)n, sizeof *module->joined);
        for (int i = 0; i < n; i++)
            cr_kernel_copy(&module->joined[i], &module->kernels[i]);
        module->n_joined = join_kernels(&joining, module->joined, n);
        joining.numbers = false;
    }
    module->n_kernels = join_kernels(&joining, module->kernels, n);
    cr_number_kernels(module);
    free(apart);
}
