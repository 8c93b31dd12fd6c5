#include "in_place.h"

#include <stdlib.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/kernel_kinds.h"

static int ref_of(const struct cr_kernel *k, cr_id id)
{
    for (int i = 0; i < k->n_refs; i++)
        if (k->refs[i] == id)
            return i;
    return -1;
}

static bool reads_ref(const struct cr_value *v, int ref)
{
    return (v->source == CR_LOAD || v->source == CR_GATHER) && v->ref == ref;
}

/* True if two indices are equal in all iterations of the loops. */
static bool same_place(const struct cr_kernel *k, const struct cr_affine *a,
                       const struct cr_affine *b)
{
    bool same = a->base == b->base;
    for (int i = 0; i < k->atoms.n; i++)
        same &= a->coef[i] == b->coef[i] || k->atoms.extent[i] == 1;
    return same;
}

/* Returns the only value that reads value i, if it reads it once and i is no result; otherwise
 * -1. */
static int only_reader(const struct cr_tiles *tiles, int i)
{
    int uses = 0, reader = -1;
    for (int j = i + 1; j < tiles->n; j++)
        for (int a = 0; a < cr_value_args(&tiles->values[j]); a++)
            if (tiles->values[j].arg[a] == i) {
                uses++;
                reader = j;
            }
    return uses == 1 && !cr_is_result(tiles, i) ? reader : -1;
}

/* One runtime function may compute value i and its single-use readers together (combined_ops.h) and
 * read the operands of all of them.  Returns the last value of this chain. */
static int latest_of(const struct cr_tiles *tiles, int i)
{
    int reader = only_reader(tiles, i);
    while (tiles->values[i].source == CR_MAP && reader >= 0) {
        i = reader;
        reader = only_reader(tiles, i);
    }
    return i;
}

/* True if no value reads operand `ref` after `result` is stored over it, and no other result is a
 * plain copy of the operand. */
static bool reads_before(const struct cr_kernel *k, int ref, int result)
{
    const struct cr_tiles *tiles = &k->program;
    int stored = tiles->results[result];
    for (int r = 0; r <= tiles->n_more; r++)
        if (r != result && tiles->results[r] == stored && reads_ref(&tiles->values[stored], ref))
            return false;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        bool late = reads_ref(v, ref) && i > stored;
        for (int a = 0; a < cr_value_args(v); a++)
            late |= reads_ref(&tiles->values[v->arg[a]], ref) && latest_of(tiles, i) > stored;
        if (late)
            return false;
    }
    return true;
}

/* True if a program other than the main one, or an operand of a contraction, reads `ref`. */
static bool reads_elsewhere(const struct cr_kernel *k, int ref)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; tiles != &k->program && i < tiles->n; i++)
            if (reads_ref(&tiles->values[i], ref))
                return true;
    for (int i = 0; cr_operand_of(k, i); i++)
        if (cr_ref_of_operand(k, i) == ref)
            return true;
    return false;
}

/* True if a value is a gather whose row numbers are elements of operand `ref`. */
static bool is_indexed_by(const struct cr_tiles *tiles, const struct cr_value *v, int ref)
{
    for (int a = 0; v->source == CR_GATHER && a < cr_value_args(v); a++)
        if (reads_ref(&tiles->values[v->arg[a]], ref))
            return true;
    return false;
}

/* False for gathered rows and for operands of products, which are read at other addresses than the
 * result; false for row numbers of gathers, which loops read on their own, not the runtime's
 * functions. */
bool cr_reads_in_place(const struct cr_kernel *k, int result, cr_id state)
{
    int ref = ref_of(k, state);
    if (ref < 0)
        return true;
    if (!cr_parts_of(k)->in_place || reads_elsewhere(k, ref))
        return false;
    for (int i = 0; i < k->program.n; i++) {
        const struct cr_value *v = &k->program.values[i];
        if (is_indexed_by(&k->program, v, ref) ||
            (reads_ref(v, ref) &&
             (v->source == CR_GATHER || !same_place(k, &v->at, &k->results[result]))))
            return false;
    }
    return !k->program.n_more || reads_before(k, ref, result);
}

/* ---- results stored over inputs and parameters ---- */

/* The kernels that use a node, by their number in execution order; -1 where there is none.
 * last_joined is the last one that reads it as part of a weight that no kernel stores, such as a
 * concat of parameters. */
struct uses {
    int first_stored, last_stored, last_read, last_joined;
};

/* Sets last_joined of all nodes: the last reader of a node that no kernel stores also reads its
 * operands. */
static void find_joined(const struct cr_graph *g, struct uses *uses)
{
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        const struct uses *u = &uses[id];
        int last = u->last_read > u->last_joined ? u->last_read : u->last_joined;
        for (int i = 0; u->first_stored < 0 && i < g->nodes[id].n_in; i++) {
            struct uses *operand = &uses[cr_in(g, id, i)];
            operand->last_joined = operand->last_joined > last ? operand->last_joined : last;
        }
    }
}

/* Returns the uses of each node.  The caller frees them. */
static struct uses *find_uses(const struct cr_module *m)
{
    struct uses *uses = cr_calloc((size_t)m->graph->n_nodes, sizeof *uses);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        uses[id] = (struct uses){-1, -1, -1, -1};
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        for (int r = 0; r < k->n_refs; r++)
            uses[k->refs[r]].last_read = i;
        for (int s = 0; s < k->n_stored; s++) {
            struct uses *u = &uses[k->stored[s]];
            u->first_stored = u->first_stored < 0 ? i : u->first_stored;
            u->last_stored = i;
        }
    }
    find_joined(m->graph, uses);
    return uses;
}

/* True if `output` may be stored over `input`: no kernel reads the input later, and the one that
 * stores the output reads each element before it overwrites it.  That kernel must be elementwise,
 * as others may write parts of a result before they have read the whole input. */
static bool may_store_over(const struct cr_module *m, const struct uses *uses, cr_id input,
                           cr_id output)
{
    int reader = uses[input].last_read;
    const struct uses *stored = &uses[output];
    if (uses[input].last_joined >= stored->first_stored)
        return false;
    if (stored->first_stored < 0 || reader < stored->first_stored)
        return stored->first_stored >= 0;
    const struct cr_kernel *k = &m->kernels[reader];
    return reader == stored->first_stored && reader == stored->last_stored &&
           cr_parts_of(k)->elementwise &&
           cr_reads_in_place(k, cr_find_stored_node(k, output), input);
}

/* Inputs that hold a length are excluded, because every call reads them. */
bool *cr_find_in_place(const struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    bool *in_place = cr_calloc((size_t)cr_n_results(g) + 1, sizeof *in_place);
    struct uses *uses = find_uses(m);
    struct cr_names names = {0};
    cr_id *leaves = cr_calloc((size_t)g->n_nodes + 1, sizeof *leaves);
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        if (node->op == CR_OP_param ||
            (node->op == CR_OP_input && cr_find_length(g, node->name) < 0)) {
            cr_names_add(&names, node->name);
            leaves[n++] = id;
        }
    }
    for (int i = 0; i < cr_n_results(g); i++) {
        int leaf = cr_names_find(&names, g->outputs[i].name);
        in_place[i] = leaf != CR_NONE && may_store_over(m, uses, leaves[leaf], g->outputs[i].id);
    }
    cr_names_free(&names);
    free(leaves);
    free(uses);
    return in_place;
}
