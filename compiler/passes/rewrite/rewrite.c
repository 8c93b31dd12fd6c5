#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"

/* ---- sharing equal nodes ---- */

static unsigned hash_node(const struct cr_graph *g, const struct cr_node *node)
{
    uint64_t value, h;
    memcpy(&value, &node->value, sizeof value);
    h = cr_hash_word(value, (uint64_t)node->op << 8 | (uint64_t)node->axis);
    h = cr_hash_word(h, (uintptr_t)node->name ^ (uint64_t)node->where.entry << 56);
    for (int i = 0; i < node->n_in; i++)
        h = cr_hash_word(h, (uint64_t)cr_inputs(g, node)[i]);
    return (unsigned)cr_hash_word(h, cr_hash_axes(node));
}

/* Returns the slot of a node that equals `id`, whose hash is `hash`, or the free slot for `id`. */
static struct cr_rewrite_slot *find_slot(const struct cr_rewrite *rw, unsigned hash, cr_id id)
{
    const struct cr_graph *g = rw->to;
    unsigned last = (unsigned)(rw->table_size - 1), at = hash & last;
    for (;; at = (at + 1) & last) {
        struct cr_rewrite_slot *slot = &rw->table[at];
        if (!slot->id_plus_1 ||
            (slot->hash == hash && cr_equal_nodes(g, &g->nodes[slot->id_plus_1 - 1], &g->nodes[id])))
            return slot;
    }
}

static void enter(struct cr_rewrite *rw, cr_id id)
{
    unsigned hash = hash_node(rw->to, &rw->to->nodes[id]);
    *find_slot(rw, hash, id) = (struct cr_rewrite_slot){hash, id + 1};
}

/* Adds matmul `id`, the newest node, to the list of matmuls with the same right operand. */
static void link_product(struct cr_rewrite *rw, cr_id id)
{
    cr_id right = cr_in(rw->to, id, 1);
    rw->older_product[id] = rw->newest_product[right];
    rw->newest_product[right] = id;
}

/* Returns `links` with room for as many nodes as a hash table of `to` slots can have, which is half
 * as many. */
static cr_id *grow_links(cr_id *links, int from, int to)
{
    cr_id *grown = cr_calloc((size_t)to / 2 + 1, sizeof *grown);
    if (links)
        memcpy(grown, links, ((size_t)from / 2 + 1) * sizeof *grown);
    free(links);
    return grown;
}

static void grow_table(struct cr_rewrite *rw, int size)
{
    free(rw->table);
    rw->newest_product = grow_links(rw->newest_product, rw->table_size, size);
    rw->older_product = grow_links(rw->older_product, rw->table_size, size);
    rw->table_size = size;
    rw->table = cr_calloc((size_t)size, sizeof *rw->table);
    for (cr_id id = 0; id < rw->to->n_nodes; id++)
        enter(rw, id);
}

/* Removes the newest node if an older node equals it, and returns the older one; otherwise returns
 * the newest. */
static cr_id share_newest(struct cr_rewrite *rw)
{
    struct cr_graph *g = rw->to;
    cr_id newest = g->n_nodes - 1;
    unsigned hash = hash_node(g, &g->nodes[newest]);
    struct cr_rewrite_slot *slot = find_slot(rw, hash, newest);
    if (slot->id_plus_1) {
        g->n_operands = g->nodes[newest].first_in;
        g->n_nodes--;
        return slot->id_plus_1 - 1;
    }
    *slot = (struct cr_rewrite_slot){hash, newest + 1};
    if (g->nodes[newest].op == CR_OP_matmul)
        link_product(rw, newest);
    rw->has_concat |= g->nodes[newest].op == CR_OP_concat;
    if (2 * g->n_nodes > rw->table_size)
        grow_table(rw, 2 * rw->table_size);
    return newest;
}

/* ---- adding nodes ---- */

const struct cr_node *cr_draft_in(const struct cr_rewrite *rw, const struct cr_draft *draft, int i)
{
    return &rw->to->nodes[draft->in[i]];
}

cr_id cr_draft_operand(const struct cr_rewrite *rw, const struct cr_draft *draft, int i)
{
    if (draft->all)
        return draft->all[i];
    return rw->map[cr_in(rw->from, draft->copied, i)];
}

/* ---- lengths ---- */

bool cr_infer_draft(struct cr_rewrite *rw, const struct cr_draft *draft, struct cr_node *node)
{
    cr_id few[8] = {0}, *in = draft->n > 8 ? cr_calloc((size_t)draft->n, sizeof *in) : few;
    for (int i = 0; i < draft->n; i++)
        in[i] = cr_draft_operand(rw, draft, i);
    bool good = cr_infer(rw->to, draft->op, draft->n, in, draft->attr, node);
    if (in != few)
        free(in);
    return good;
}

bool cr_can_be_limited(enum cr_op op)
{
    return cr_takes_lengths(op) && op != CR_OP_input && op != CR_OP_limit;
}

cr_id cr_rewrite_limited(struct cr_rewrite *rw, cr_id id, const signed char *lengths)
{
    const struct cr_node node = rw->to->nodes[id];
    struct cr_attr attr = {0};
    bool itself = cr_can_be_limited(node.op), lost = false;
    for (int a = 0; a < node.rank; a++)
        lost |= lengths[a] != 0 && lengths[a] != node.lengths[a];
    if (!lost)
        return id;
    cr_id in = itself && node.n_in ? cr_in(rw->to, id, 0) : id;
    if (itself)
        cr_get_attr(&node, &attr);
    for (int a = 0; a < node.rank; a++)
        attr.lengths[a] = lengths[a] ? lengths[a] : attr.lengths[a];
    cr_must(rw->to, itself ? node.op : CR_OP_limit, itself ? node.n_in : 1, &in, &attr);
    return share_newest(rw);
}

/* Adds the lengths `wanted`, those of the draft, to a rule's result.  Returns CR_NONE if the result
 * has a length that the draft does not have. */
static cr_id keep_lengths(struct cr_rewrite *rw, const signed char *wanted, cr_id id)
{
    const struct cr_node *node = &rw->to->nodes[id];
    for (int a = 0; a < node->rank; a++)
        if (node->lengths[a] && node->lengths[a] != wanted[a])
            return CR_NONE;
    return cr_rewrite_limited(rw, id, wanted);
}

/* ---- rules ---- */

/* Returns the result of the first rule that applies to a draft, or CR_NONE. */
static cr_id apply_rules(struct cr_rewrite *rw, const struct cr_draft *draft)
{
    struct cr_node wanted;
    bool known = false;
    cr_id id = CR_NONE;
    for (uint64_t left = rw->rules_of[draft->op]; left && id == CR_NONE; left &= left - 1) {
        id = rw->rules->items[__builtin_ctzll(left)].apply(rw, draft);
        if (id == CR_NONE || !rw->to->n_lengths)
            continue;
        if (!known && !cr_infer_draft(rw, draft, &wanted))
            return CR_NONE; /* the lengths of the operands do not fit; an error is reported when the
                               node is made */
        known = true;
        id = keep_lengths(rw, wanted.lengths, id);
    }
    return id;
}

static void sort_rules(struct cr_rewrite *rw)
{
    CR_CHECK(rw->rules->n <= 64);
    for (int i = 0; i < rw->rules->n; i++)
        for (uint64_t ops = rw->rules->items[i].ops; ops; ops &= ops - 1)
            rw->rules_of[__builtin_ctzll(ops)] |= UINT64_C(1) << i;
}

cr_id cr_rewrite_add(struct cr_rewrite *rw, enum cr_op op, int n, const cr_id *in,
                     const struct cr_attr *attr)
{
    static const struct cr_attr none;
    struct cr_draft draft = {.op = op, .n = n, .attr = attr ? attr : &none, .all = in};
    struct cr_attr unlimited;
    if (rw->to->n_lengths && cr_can_be_limited(op)) {
        unlimited = *attr;
        memset(unlimited.lengths, 0, sizeof unlimited.lengths);
        draft.attr = attr = &unlimited;
    }
    for (int i = 0; i < n && i < 3; i++)
        draft.in[i] = in[i];
    cr_id id = apply_rules(rw, &draft);
    if (id != CR_NONE)
        return id;
    cr_must(rw->to, op, n, in, attr);
    return share_newest(rw);
}

void cr_rewrite_at(struct cr_rewrite *rw, cr_id id)
{
    struct cr_where *here = &rw->to->here;
    int entry = here->entry;
    *here = rw->from->nodes[id].where;
    if (rw->from->nodes[id].name)
        here->entry = (signed char)entry; /* inputs and parameters belong to no entry, so the
                                             current one is kept */
}

/* Maps node `id` of `from` to node `to`, which gets its tap and kernel; returns `to`. */
static cr_id set_map(struct cr_rewrite *rw, cr_id id, cr_id to)
{
    const struct cr_node *node = &rw->from->nodes[id];
    struct cr_node *made = &rw->to->nodes[to];
    if (!made->tap)
        made->tap = node->tap;
    made->kernel = node->kernel;
    rw->map[id] = to;
    return to;
}

cr_id cr_rewrite_replace(struct cr_rewrite *rw, cr_id id, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr)
{
    cr_rewrite_at(rw, id);
    return set_map(rw, id, cr_rewrite_add(rw, op, n, in, attr));
}

/* Copies a node of `from` without inferring it: the operands have the same shapes and types as
 * before, so the node does, too. */
static cr_id copy_as_is(struct cr_rewrite *rw, cr_id id)
{
    struct cr_graph *to = rw->to;
    const struct cr_node *node = &rw->from->nodes[id];
    struct cr_node *copy = CR_PUSH(to->nodes, to->n_nodes, to->cap_nodes);
    memcpy(copy, node, sizeof *copy);
    copy->first_in = to->n_operands;
    copy->tap = NULL;
    for (int i = 0; i < node->n_in; i++)
        *CR_PUSH(to->operands, to->n_operands, to->cap_operands) = rw->map[cr_in(rw->from, id, i)];
    return share_newest(rw);
}

cr_id cr_rewrite_copy(struct cr_rewrite *rw, cr_id id)
{
    static const struct cr_attr none;
    const struct cr_node *node = &rw->from->nodes[id];
    struct cr_draft draft = {.op = node->op, .n = node->n_in, .attr = &none, .copied = id};
    struct cr_attr attr;
    cr_rewrite_at(rw, id);
    if (cr_has_attributes(node->op)) {
        cr_get_attr(node, &attr);
        draft.attr = &attr;
    }
    for (int i = 0; i < node->n_in && i < 3; i++)
        draft.in[i] = rw->map[cr_in(rw->from, id, i)];
    cr_id to = apply_rules(rw, &draft);
    return set_map(rw, id, to == CR_NONE ? copy_as_is(rw, id) : to);
}

/* ---- the graphs ---- */

/* Marks the nodes that outputs depend on, and all inputs, states and parameters, which are part of
 * the model's interface. */
static void mark_live(const struct cr_graph *g, bool *live)
{
    for (int i = 0; i < g->n_outputs; i++)
        live[g->outputs[i].id] = true;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (cr_is_interface(&g->nodes[id]))
            live[id] = true;
        for (int i = 0; live[id] && i < g->nodes[id].n_in; i++)
            live[cr_in(g, id, i)] = true;
    }
}

/* Removes nodes that rules added and nothing reads. */
static void drop_dead(struct cr_graph *g)
{
    bool *live = cr_calloc((size_t)g->n_nodes, sizeof *live);
    mark_live(g, live);
    cr_keep_nodes(g, live);
    free(live);
}

/* Reserves memory for as many nodes as `from` has, as most passes change their number little. */
void cr_rewrite_begin(struct cr_rewrite *rw, struct cr_graph *from,
                      const struct cr_rewrite_rules *rules)
{
    *rw = (struct cr_rewrite){.rules = rules, .from = from, .to = cr_graph_successor(from)};
    sort_rules(rw);
    int size = 16;
    while (size < 2 * from->n_nodes)
        size *= 2;
    cr_graph_reserve(rw->to, from->n_nodes, from->n_operands);
    rw->map = cr_calloc((size_t)from->n_nodes, sizeof *rw->map);
    rw->live = cr_calloc((size_t)from->n_nodes, sizeof *rw->live);
    for (cr_id id = 0; id < from->n_nodes; id++)
        rw->map[id] = CR_NONE;
    grow_table(rw, size);
    mark_live(from, rw->live);
}

static void free_tables(struct cr_rewrite *rw)
{
    free(rw->map);
    free(rw->live);
    free(rw->table);
    free(rw->newest_product);
    free(rw->older_product);
}

/* True if two graphs have equal nodes in the same order.  Leaves are not compared, since no pass
 * changes them. */
static bool equal_graphs(const struct cr_graph *a, const struct cr_graph *b)
{
    if (a->n_nodes != b->n_nodes)
        return false;
    for (cr_id id = 0; id < a->n_nodes; id++) {
        const struct cr_node *x = &a->nodes[id], *y = &b->nodes[id];
        if (x->op != y->op || x->axis != y->axis || x->n_in != y->n_in || !cr_same_sizes(x, y) ||
            x->index != y->index ||
            memcmp(&x->value, &y->value, sizeof x->value) != 0 ||
            memcmp(cr_inputs(a, x), cr_inputs(b, y), (size_t)x->n_in * sizeof(cr_id)) != 0)
            return false;
    }
    return true;
}

struct cr_graph *cr_rewrite_end(struct cr_rewrite *rw)
{
    cr_copy_outputs(rw->to, rw->from, rw->map);
    if (!rw->keeps_dead)
        drop_dead(rw->to);
    rw->is_settled = !rw->looks_around || equal_graphs(rw->from, rw->to);
    cr_graph_free(rw->from);
    free_tables(rw);
    return rw->to;
}

void cr_rewrite_cancel(struct cr_rewrite *rw)
{
    cr_graph_free(rw->to);
    free_tables(rw);
}
