/*
 * shard.c - cuts a model for several ranks.  Each rank has a part of every weight matrix, of the heads and of the
 * caches, and computes a part of the values.  An all_gather gives all ranks a whole value.
 *
 * A product is cut by columns, never along k.  So each element of the result is one chain of sums on one rank, and the
 * bits are those of a single rank.
 *
 *   demand_units.c   from the last node to the first: the units and segments of a product's columns that
 *                    its readers need
 *   decide_cuts.c    from the first node to the last: along which axis a node is cut, from the cuts of
 *                    its operands
 *   rank_parts.c     adds parts and whole values to the new graph
 *   tied_tables.c    adds lookups in tables that are cut by rows
 *   shard.c          the pass, which builds the new graph
 *
 * cuts.h defines a cut.
 */
#include "shard.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/attention/attention.h"
#include "cuts.h"

/* Returns the node of the new graph that is operand i of node `id`, in the form that
 * cr_form_of_operand gives. */
static cr_id operand_for(struct cr_shard *s, cr_id id, int i)
{
    cr_id in = cr_in(s->g, id, i);
    switch (cr_form_of_operand(s, id, i)) {
    case CR_NEEDS_WHOLE:
        return cr_whole_of(s, in);
    case CR_NEEDS_OWN:
        return s->rw.map[in];
    case CR_NEEDS_TABLE:
        return cr_add_table(s, s->rw.map[in], &s->of[id].cut);
    default:
        return cr_part_of(s, in, &s->of[id].cut);
    }
}

/* Returns the attributes of a node with the size of this rank's part.  For a slice, also adjusts
 * where it begins in this rank's part of the operand. */
static struct cr_attr local_attr(const struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cr_axis_cut *cut = &s->of[id].cut;
    struct cr_attr attr = cr_attr_of(node);
    int first, n;
    if (!cut->n && !s->of[id].is_common)
        return attr;
    if (cut->n)
        attr.shape[cut->axis] = cr_local_size(s, cut);
    if (node->op != CR_OP_slice)
        return attr;
    const struct cr_axis_cut *of = cr_read_cut(s, cr_in(s->g, id, 0));
    struct cr_axis_cut before = *of;
    cr_find_segments(of, node->index[of->axis], node->shape[of->axis], &first, &n);
    before.n = first;
    attr.index[of->axis] = cr_local_size(s, &before);
    return attr;
}

/* Adds node `id` to the new graph, with its operands in the form that it reads, and the sizes of
 * this rank's part. */
static void build_node(struct cr_shard *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    bool as_before = !s->of[id].cut.n;
    for (int i = 0; i < node->n_in; i++)
        as_before &= !s->of[cr_in(s->g, id, i)].cut.n;
    cr_rewrite_at(&s->rw, id);
    if (node->op == CR_OP_gather && cr_is_tied(s, id)) {
        s->rw.map[id] = cr_add_lookup(s, id);
        return;
    }
    if (as_before) {
        cr_rewrite_copy(&s->rw, id);
        return;
    }
    cr_id *in = cr_calloc((size_t)node->n_in + 1, sizeof *in);
    for (int i = 0; i < node->n_in; i++)
        in[i] = operand_for(s, id, i);
    struct cr_attr attr = local_attr(s, id);
    cr_rewrite_replace(&s->rw, id, node->op, node->n_in, in, &attr);
    free(in);
}

/* Makes results whole, and cuts the next value of a state as the state is cut. */
static void build_outputs(struct cr_shard *s)
{
    cr_id *of = cr_calloc((size_t)s->g->n_outputs, sizeof *of);
    for (int i = 0; i < s->g->n_outputs; i++) {
        const struct cr_output *o = &s->g->outputs[i];
        of[i] = o->state == CR_NONE ? cr_whole_of(s, o->id) : cr_part_of(s, o->id, &s->of[o->state].cut);
    }
    for (int i = 0; i < s->g->n_outputs; i++)
        s->rw.map[s->g->outputs[i].id] = of[i];
    free(of);
}

/* ---- the pass ---- */

static void find_weights(struct cr_shard *s)
{
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        enum cr_kind kind = cr_kind_of(s->g, id);
        s->of[id].is_weight =
            s->g->nodes[id].op == CR_OP_param || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT;
        for (int i = 0; i < s->g->nodes[id].n_in; i++)
            s->of[id].is_weight &= s->of[cr_in(s->g, id, i)].is_weight;
    }
}

/* True if the graph has a ragged length, with a value for each row of a batch.  all_gather cannot
 * be used for it, because it moves equally many elements for each row. */
static bool is_ragged(const struct cr_graph *g)
{
    for (int i = 0; i < g->n_lengths; i++)
        if (g->lengths[i].batch)
            return true;
    return false;
}

/* Marks the nodes that attention number `number` computes from its scores, and its output. */
static void mark_attention(struct cr_shard *s, const struct cr_attention *attention, int number)
{
    for (cr_id id = attention->scores; id <= attention->output; id++) {
        bool inside = id == attention->scores;
        for (int i = 0; i < s->g->nodes[id].n_in; i++)
            inside |= s->of[cr_in(s->g, id, i)].attention == number;
        if (inside)
            s->of[id].attention = number;
    }
    s->of[attention->scores].is_scores = true;
    s->of[attention->output].is_output = true;
}

/* Marks the nodes that attentions compute.  Then clears the module's list of attentions, which must
 * be made again from the new graph. */
static void find_scores(struct cr_shard *s, struct cr_module *module)
{
    cr_find_attentions(module, &s->users);
    for (int i = 0; i < module->n_attentions; i++)
        mark_attention(s, &module->attentions[i], i + 1);
    s->is_whole = cr_calloc((size_t)module->n_attentions + 1, sizeof *s->is_whole);
    s->attends = module->n_attentions > 0;
    module->n_attentions = 0;
}

/* Decides the cuts of all nodes, repeatedly, until no state changes its cut and no further node has
 * to be gathered; then builds the new graph. */
void cr_pass_shard(struct cr_module *module)
{
    static const struct cr_rewrite_rules no_rules = {0}; /* rules might split joined sums */
    struct cr_shard s = {
        .g = module->graph, .rank = module->settings.rank, .ranks = module->settings.ranks};
    bool listed =
        module->has & CR_HAS_GRADIENTS; /* without the list of gradients it is unknown which of them
                                           belong to attentions */
    if (s.ranks < 2 || module->uncut || module->settings.update || !listed || module->n_backwards ||
        is_ragged(module->graph))
        return;
    s.of = cr_calloc((size_t)s.g->n_nodes, sizeof *s.of);
    for (cr_id id = 0; id < s.g->n_nodes; id++)
        s.of[id].whole = CR_NONE;
    cr_users_find(&s.users, s.g);
    find_weights(&s);
    find_scores(&s, module);
    cr_find_demands(&s);
    do
        cr_decide_cuts(&s);
    while (cr_settle_states(&s) || cr_find_gathered(&s, true) || cr_find_gathered(&s, false));
    cr_rewrite_begin(&s.rw, module->graph, &no_rules);
    for (cr_id id = 0; id < s.g->n_nodes; id++)
        if (s.rw.live[id])
            build_node(&s, id);
    build_outputs(&s);
    module->graph = cr_rewrite_end(&s.rw);
    module->stores_gathered = s.stores_gathered;
    cr_users_free(&s.users);
    free(s.is_whole);
    free(s.of);
}
