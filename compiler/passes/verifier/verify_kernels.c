/*
 * verify_kernels.c - checks each kernel by itself: loops, tile programs, operands and results.
 *
 * The row of a kind (kernel_kinds.h) gives, for every tile program, operand and result, the loops
 * on which its index may depend.  All indices are affine, so their smallest and largest values over
 * the loops are exact.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/fuse/evaluate.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/weights.h"
#include "kernel_check.h"
#include "verifier.h"

/* ---- loops ---- */

/* Sets the roles of all atoms.  Fails unless each atom has an extent and at most one role. */
static int verify_loops(struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    memset(c->roles, 0, sizeof c->roles);
    if (k->atoms.n < 0 || k->atoms.n > CR_MAX_ATOMS || k->n_outer < 0 || k->n_outer > k->atoms.n)
        return cr_kernel_fault(c, "%d atoms, %d of them outer", k->atoms.n, k->n_outer);
    for (int a = 0; a < k->atoms.n; a++)
        if (k->atoms.extent[a] < 1 || k->atoms.extent[a] > CR_MAX_ELEMENTS)
            return cr_kernel_fault(c, "atom %d has extent %lld", a, (long long)k->atoms.extent[a]);
    bool fine = cr_take_role(c, k->row, CR_LOOP_ROW) && cr_take_role(c, k->col, CR_LOOP_COL) &&
                cr_take_role(c, k->k, CR_LOOP_SUM) && cr_take_role(c, k->key, CR_LOOP_KEY);
    if (fine && c->parts->take_roles)
        fine = c->parts->take_roles(c);
    for (int i = 0; fine && i < k->n_outer; i++)
        fine = k->outer[i] >= 0 && cr_take_role(c, k->outer[i], CR_LOOP_OUTER);
    return fine ? 0 : cr_kernel_fault(c, "an atom has two parts, or does not exist");
}

/* ---- tile programs ---- */

/* The rules that a kind has for one of its tile programs. */
struct program_rule {
    const struct cr_program_part *part;
    int across; /* the atom of the columns of its tiles, or -1 */
};

/* True if a tensor of `size` elements is a table that a value may gather from: it has as many rows
 * as the value says or, for a take, which has a table for each index of the other axes, a multiple
 * of that. */
static bool is_table(const struct cr_node *node, int64_t size, const struct cr_value *v)
{
    int64_t rows = size / v->table_stride;
    return size % v->table_stride == 0 &&
           (node->op == CR_OP_take ? rows % v->table_rows == 0 : rows == v->table_rows);
}

/* Fails unless the index of a value stays inside the tensor that it reads, or inside the iota or
 * random numbers that it computes. */
static int verify_access(const struct cr_kernel_check *c, const struct program_rule *rule,
                         const struct cr_value *v)
{
    const struct cr_node *node = &c->g->nodes[v->node];
    int64_t size = 0;
    if (v->source == CR_LOAD || v->source == CR_GATHER) {
        if (v->ref < 0 || v->ref >= c->k->n_refs)
            return cr_kernel_fault(c, "%s: there is no operand %d", rule->part->name, v->ref);
        size = cr_check_elements(c, c->k->refs[v->ref]);
    }
    if (v->source == CR_GATHER) {
        if (v->table_stride < 1 || v->table_rows < 1 || !is_table(node, size, v))
            return cr_kernel_fault(c, "%s: v[%d] is no table of %lld rows", rule->part->name,
                                   (int)c->k->refs[v->ref], (long long)v->table_rows);
        size -= (v->table_rows - 1) * v->table_stride;
    }
    if (v->source == CR_IOTA)
        size = node->op == CR_OP_iota ? node->shape[node->axis] : 0;
    if (v->source == CR_RANDOM) {
        size = node->op == CR_OP_random ? cr_check_elements(c, v->node) : 0;
        if (v->ref < 0 || v->ref >= c->k->n_streams ||
            c->k->streams[v->ref] != (int64_t)node->value)
            return cr_kernel_fault(c, "%s: stream %d is not that of v[%d]", rule->part->name,
                                   v->ref, (int)v->node);
    }
    return cr_verify_index(c, &v->at, rule->part->loops, size, rule->part->name);
}

/* True if a value has one number a row; by_row of its arguments has been checked. */
static bool is_by_row(const struct cr_kernel_check *c, const struct cr_tiles *tiles,
                      const struct cr_value *v, int across)
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

/* Returns the size of the axis that reduction `id` reduces. */
static int64_t reduced_size(const struct cr_kernel_check *c, cr_id id)
{
    return c->g->nodes[cr_in(c->g, id, 0)].shape[c->g->nodes[id].axis];
}

/* Checks value i according to its source; its arguments have been checked. */
static int verify_source(const struct cr_kernel_check *c, const struct program_rule *rule,
                         const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    const struct cr_node *node = &c->g->nodes[v->node];
    enum cr_kind kind = cr_ops[node->op].kind;
    int across = rule->across;
    bool down = rule->part->ends_down && i == tiles->result;
    switch (v->source) {
    case CR_MAP:
        if (kind != CR_KIND_ELEMENTWISE || node->op != v->op)
            return cr_kernel_fault(c, "%s: value %d is no %s", rule->part->name, i,
                                   cr_ops[v->op].name);
        break;
    case CR_REDUCE:
        if (kind != CR_KIND_REDUCE || node->op != v->op || !v->by_row || !rule->part->reduces ||
            down != rule->part->ends_down ||
            reduced_size(c, v->node) != v->parts * cr_extent(c->k, down ? c->k->row : across))
            return cr_kernel_fault(c, "%s: value %d cannot be reduced", rule->part->name, i);
        break;
    case CR_CORE:
        if (!rule->part->core)
            return cr_kernel_fault(c, "%s: value %d is of a product that is not there",
                                   rule->part->name, i);
        break;
    case CR_SCORE:
        if (!rule->part->score || node->op != CR_OP_matmul)
            return cr_kernel_fault(c, "%s: value %d is of scores that are not there",
                                   rule->part->name, i);
        break;
    case CR_CONST:
        break;
    case CR_GATHER:
        if (!cr_can_gather(c->g, tiles, v, across < 0 ? 0 : v->at.coef[across]))
            return cr_kernel_fault(c, "%s: value %d gathers more than one row", rule->part->name,
                                   i);
        return verify_access(c, rule, v);
    default:
        return verify_access(c, rule, v);
    }
    return 0;
}

/* Fails unless a value has earlier values as arguments, and refers to operands that exist. */
static int verify_value(const struct cr_kernel_check *c, const struct program_rule *rule,
                        const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    bool known = (unsigned)v->source <= CR_REDUCE && (unsigned)v->op < CR_OP_COUNT &&
                 v->parts >= (v->source == CR_REDUCE) && v->parts <= CR_MAX_PARTS;
    if (!known || !cr_check_node(c, v->node) ||
        (v->source == CR_MAP && cr_ops[v->op].kind != CR_KIND_ELEMENTWISE))
        return cr_kernel_fault(c, "%s: there is no such value as %d", rule->part->name, i);
    for (int a = 0; a < cr_value_args(v); a++)
        if (v->arg[a] < 0 || v->arg[a] >= i)
            return cr_kernel_fault(c, "%s: value %d is made of value %d", rule->part->name, i,
                                   v->arg[a]);
    if (v->by_row && !is_by_row(c, tiles, v, rule->across))
        return cr_kernel_fault(c, "%s: value %d is not the same in all columns", rule->part->name,
                               i);
    return verify_source(c, rule, tiles, i);
}

/* Returns the number of results that the program must have besides the first: in an elementwise
 * kernel, one for each stored node after the first. */
static int n_more_results(const struct cr_kernel_check *c, const struct cr_tiles *tiles)
{
    bool several = c->parts->elementwise && tiles == &c->k->program;
    return several ? c->k->n_stored - 1 : 0;
}

/* Fails unless a tile program follows its rules: whether it may be empty, may read the core (then
 * exactly once), and may reduce. */
static int verify_program(const struct cr_kernel_check *c, const struct program_rule *rule,
                          const struct cr_tiles *tiles)
{
    int cores = 0;
    if (!tiles->n)
        return rule->part->needed ? cr_kernel_fault(c, "it has no %s", rule->part->name) : 0;
    if (tiles->n < 0 || tiles->n > CR_MAX_VALUES || tiles->n_more != n_more_results(c, tiles))
        return cr_kernel_fault(c, "%s: it has %d values and %d results", rule->part->name, tiles->n,
                               1 + tiles->n_more);
    for (int i = 0; i <= tiles->n_more; i++)
        if (tiles->results[i] < 0 || tiles->results[i] >= tiles->n)
            return cr_kernel_fault(c, "%s: the result is value %d of %d", rule->part->name,
                                   tiles->results[i], tiles->n);
    for (int i = 0; i < tiles->n; i++) {
        if (verify_value(c, rule, tiles, i))
            return -1;
        cores += tiles->values[i].source == CR_CORE;
    }
    if (cores != rule->part->core)
        return cr_kernel_fault(c, "%s: it takes the product %d times", rule->part->name, cores);
    if (rule->part->ends_down &&
        (tiles->result != tiles->n - 1 || tiles->values[tiles->result].source != CR_REDUCE))
        return cr_kernel_fault(c, "%s: it does not end with a reduction", rule->part->name);
    return 0;
}

/* Checks each tile program of the kernel. */
static int verify_programs(const struct cr_kernel_check *c)
{
    const struct cr_tiles *tiles;
    for (int i = 0; (tiles = cr_program_of(c->k, i)); i++) {
        const struct program_rule rule = {&c->parts->programs[i], cr_column_atom(c->k, i)};
        if (verify_program(c, &rule, tiles))
            return -1;
    }
    return 0;
}

/* ---- operands ---- */

static int verify_operand(const struct cr_kernel_check *c, int i)
{
    const struct cr_operand *o = cr_operand_of(c->k, i);
    const char *name = c->parts->operands[i].name;
    int64_t read = c->parts->elements_read ? c->parts->elements_read(c->k, i) : 1;
    if (o->ref < 0 || o->ref >= c->k->n_refs)
        return cr_kernel_fault(c, "operand %s: there is no operand %d", name, o->ref);
    return cr_verify_index(c, &o->at, c->parts->operands[i].loops,
                           cr_check_elements(c, c->k->refs[o->ref]) - read + 1, name);
}

static int verify_operands(const struct cr_kernel_check *c)
{
    for (int i = 0; cr_operand_of(c->k, i); i++)
        if (cr_reads_operand(c->k, i) && verify_operand(c, i))
            return -1;
    return 0;
}

/* ---- results ---- */

/* Returns the number of results that are in stored node number `stored`. */
static int n_results_in(const struct cr_kernel *k, int stored)
{
    int n = 0;
    for (int i = 0, all = cr_n_results_of(k); i < all; i++)
        n += k->stored_in[i] == stored;
    return n;
}

/* Returns the result in a stored node: the only one if `only`; otherwise one whose index begins at
 * `start`, or -1 if there is none. */
static int find_result(const struct cr_kernel *k, int stored, bool only, int64_t start)
{
    int i = cr_n_results_of(k) - 1;
    while (i >= 0 && (k->stored_in[i] != stored || (!only && k->results[i].base != start)))
        i--;
    return i;
}

/* Fails unless a node may be stored by a kernel whose buffer is another node.  A kernel that runs
 * again stores outputs once more. */
static int verify_besides(const struct cr_kernel_check *c, const struct cr_made_part *all, cr_id id)
{
    const struct cr_kernel *k = c->k;
    const struct cr_node *node = &c->g->nodes[id];
    if (k->root != k->buffer || !c->m->materialised[id] || node->name ||
        (all[id].stored && !k->again) || node->op == CR_OP_concat || node->op == CR_OP_write ||
        node->where.entry != k->entry)
        return cr_kernel_fault(c, "v[%d] is no node that it can store besides", (int)id);
    return 0;
}

/* Fails unless result i covers its node, or its part of a concat or a write.  In a write, both the
 * old value and the rows begin at element 0. */
static int verify_result(const struct cr_kernel_check *c, int i, struct cr_made_part *made)
{
    const struct cr_kernel *k = c->k;
    cr_id id = k->stored[k->stored_in[i]];
    bool joins = c->g->nodes[id].op == CR_OP_concat, write = c->g->nodes[id].op == CR_OP_write;
    bool reduced = c->parts->narrow && k->col >= 0 && k->results[i].coef[k->col] == 0;
    unsigned summed = 0, loops = c->parts->result_loops ? c->parts->result_loops(k, i, &summed)
                                                        : c->parts->results[0];
    if (reduced && cr_extent(k, k->col) > 1 && !k->program.values[k->program.results[i]].by_row)
        return cr_kernel_fault(c, "its columns are not reduced");
    int64_t width = joins || write ? cr_part_width(c, id, made->part++) : cr_check_elements(c, id);
    if (cr_verify_result(c, id, &k->results[i], loops & ~(reduced ? (unsigned)CR_LOOP_COL : 0),
                         summed, joins ? made->start : 0, width))
        return -1;
    made->start += width;
    return 0;
}

/* Checks the results in a stored node: one or, in a concat that this kernel alone stores, one for
 * each part. */
static int verify_results_in(const struct cr_kernel_check *c, int stored, struct cr_made_part *made)
{
    const struct cr_kernel *k = c->k;
    cr_id id = k->stored[stored];
    bool parts = k->root == k->buffer && c->g->nodes[id].op == CR_OP_concat;
    int n = n_results_in(k, stored);
    if (n != (parts ? c->g->nodes[id].n_in : 1))
        return cr_kernel_fault(c, "v[%d] has %d of its results", (int)id, n);
    for (int left = n; left; left--) {
        int i = find_result(k, stored, n == 1, made->start);
        if (i < 0)
            return cr_kernel_fault(c, "it does not store part %d of v[%d]", made->part, (int)id);
        if (verify_result(c, i, made))
            return -1;
    }
    return 0;
}

/* Checks the results of each stored node. */
static int verify_results(const struct cr_kernel_check *c, struct cr_made_part *all)
{
    const struct cr_kernel *k = c->k;
    for (int i = 0; i < cr_n_results_of(k); i++)
        if (k->stored_in[i] < 0 || k->stored_in[i] >= k->n_stored)
            return cr_kernel_fault(c, "it stores no node %d for result %d", k->stored_in[i], i);
    for (int s = 0; s < k->n_stored; s++) {
        cr_id id = k->stored[s];
        if ((s && verify_besides(c, all, id)) || verify_results_in(c, s, &all[id]))
            return -1;
        all[id].besides |= s > 0;
        if (s)
            all[id].stored = cr_check_elements(c, id);
    }
    return 0;
}

/* ---- the whole kernel ---- */

/* True if node `id` replaces state `state`, so that the state's memory already has the value that a
 * write changes. */
static bool replaces(const struct cr_graph *g, cr_id id, cr_id state)
{
    int i = cr_n_results(g);
    while (i < g->n_outputs && (g->outputs[i].id != id || g->outputs[i].state != state))
        i++;
    return i < g->n_outputs;
}

/* Checks the root of a kernel that stores a write.  First the old value must be stored, unless the
 * write replaces a state, which has the old value already; then the rows. */
static int verify_write_root(const struct cr_kernel_check *c, struct cr_made_part *made)
{
    const struct cr_kernel *k = c->k;
    cr_id below = cr_in(c->g, k->buffer, 0);
    bool rows = k->root == k->buffer;
    if (rows && !made->part && replaces(c->g, k->buffer, below))
        made->part = 1;
    if (rows != c->parts->writes_rows || made->part != rows || (!rows && k->root != below))
        return cr_kernel_fault(c, "v[%d] is not the next part of v[%d]", (int)k->root,
                               (int)k->buffer);
    return 0;
}

/* Checks the stored nodes; only some kinds may store others than the buffer. */
static int verify_stored_nodes(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    int most = c->parts->several ? CR_MAX_STORED : 1;
    if (k->n_stored < 1 || k->n_stored > most)
        return cr_kernel_fault(c, "it stores %d nodes", k->n_stored);
    for (int i = 0; i < k->n_stored; i++)
        if (!cr_check_node(c, k->stored[i]))
            return cr_kernel_fault(c, "no such node");
    return 0;
}

/* Fails unless the root is a stored node, or the operand of a stored concat or write that must be
 * stored next. */
static int verify_root(const struct cr_kernel_check *c, struct cr_made_part *all)
{
    const struct cr_kernel *k = c->k;
    if (!cr_check_node(c, k->root) || (k->core != CR_NONE && !cr_check_node(c, k->core)))
        return cr_kernel_fault(c, "no such node");
    if (verify_stored_nodes(c))
        return -1;
    const struct cr_node *buffer = &c->g->nodes[k->buffer];
    struct cr_made_part *made = &all[k->buffer];
    if (k->entry != buffer->where.entry)
        return cr_kernel_fault(c, "it is called for another entry than v[%d]", (int)k->buffer);
    if (c->kernel && k[-1].entry > k->entry)
        return cr_kernel_fault(c, "it is not listed by entry");
    if (!c->m->materialised[k->buffer] || buffer->name)
        return cr_kernel_fault(c, "v[%d] is not to be stored", (int)k->buffer);
    bool complete = made->stored == cr_check_elements(c, k->buffer);
    if (complete ? !k->again
                 : k->root == k->buffer && made->stored && buffer->op != CR_OP_write)
        return cr_kernel_fault(c, "it stores v[%d] a second time", (int)k->buffer);
    if (buffer->op == CR_OP_write)
        return verify_write_root(c, made);
    if (c->parts->writes_rows)
        return cr_kernel_fault(c, "it has rows to write, but v[%d] is no write", (int)k->buffer);
    if (k->root != k->buffer && (buffer->op != CR_OP_concat || made->part >= buffer->n_in ||
                                 cr_in(c->g, k->buffer, made->part) != k->root))
        return cr_kernel_fault(c, "v[%d] is not the next part of v[%d]", (int)k->root,
                               (int)k->buffer);
    return 0;
}

/* Fails unless each node that a kernel reads was stored before, completely, and for the same
 * entry. */
static int verify_refs(const struct cr_kernel_check *c, const struct cr_made_part *made)
{
    const struct cr_kernel *k = c->k;
    if (k->n_refs < 0 || k->n_refs > CR_MAX_REFS || k->n_streams < 0 ||
        k->n_streams > CR_MAX_STREAMS)
        return cr_kernel_fault(c, "%d operands, %d streams", k->n_refs, k->n_streams);
    for (int i = 0; i < k->n_refs; i++) {
        cr_id ref = k->refs[i];
        if (!cr_check_node(c, ref))
            return cr_kernel_fault(c, "it reads v[%d], which does not exist", (int)ref);
        if (cr_is_joined(c->g, ref))
            continue;
        if (!c->g->nodes[ref].name && made[ref].stored != cr_check_elements(c, ref))
            return cr_kernel_fault(c, "it reads v[%d], which is not made yet", (int)ref);
        if (!c->g->nodes[ref].name && c->g->nodes[ref].where.entry != k->entry)
            return cr_kernel_fault(c, "it reads v[%d] of another entry", (int)ref);
    }
    return 0;
}

/* Checks a kernel, and adds the number of elements that it stores to those of its buffer. */
static int verify_kernel(struct cr_kernel_check *c, struct cr_made_part *all)
{
    const struct cr_kernel *k = c->k;
    if ((unsigned)k->kind >= CR_KERNEL_KINDS || k->parts != cr_kernel_kinds[k->kind].parts)
        return cr_kernel_fault(c, "no such kind");
    c->parts = cr_parts_of(k);
    if (verify_root(c, all) || verify_refs(c, all) || verify_loops(c) || verify_programs(c))
        return -1;
    if ((c->parts->verify && c->parts->verify(c)) || verify_operands(c))
        return -1;
    bool below = c->g->nodes[k->buffer].op == CR_OP_write && k->root != k->buffer;
    if (!below && all[k->buffer].stored < cr_check_elements(c, k->buffer))
        all[k->buffer].stored += cr_check_elements(c, k->root); /* a write is complete when its rows
                                                                   are stored */
    return verify_results(c, all);
}

/* Fails unless exactly the nodes marked as stored are stored completely, and each has the number of
 * its kernel. */
static int verify_stored(const struct cr_kernel_check *c, const struct cr_made_part *all)
{
    for (cr_id id = 0; id < c->g->n_nodes; id++) {
        int kernel = c->g->nodes[id].kernel;
        bool stored = c->m->materialised[id];
        if (stored && all[id].stored != cr_check_elements(c, id))
            return cr_fail(c->error, "node %d: no kernel stores all of it", (int)id);
        bool has_one = stored && !all[id].besides;
        if (has_one ? kernel < 0 || kernel >= c->m->n_kernels || c->m->kernels[kernel].buffer != id
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
    struct cr_kernel_check c = {.m = m, .g = m->graph, .error = error};
    struct cr_made_part *made = cr_calloc((size_t)m->graph->n_nodes, sizeof *made);
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
