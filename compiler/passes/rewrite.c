#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "rules.h"

/* ---- sharing equal nodes ---- */

/* One more word into a hash: a multiplication, and its high half folded in. */
static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static unsigned hash_node(const struct cr_graph *g, const struct cr_node *node)
{
    uint64_t value, h = mix((uint64_t)node->op << 8 | (uint64_t)node->axis, (uintptr_t)node->name);
    memcpy(&value, &node->value, sizeof value);
    h = mix(h, value);
    for (int i = 0; i < node->n_in; i++)
        h = mix(h, (uint64_t)cr_inputs(g, node)[i]);
    for (int i = 0; i < node->rank; i++)
        h = mix(h, (uint64_t)node->shape[i] ^ (uint64_t)node->index[i] << 40);
    return (unsigned)h;
}

static bool equal_nodes(const struct cr_graph *g, const struct cr_node *a, const struct cr_node *b)
{
    return a->op == b->op && a->dtype == b->dtype && cr_same_shape(a, b) && a->n_in == b->n_in &&
           memcmp(cr_inputs(g, a), cr_inputs(g, b), (size_t)a->n_in * sizeof(cr_id)) == 0 &&
           memcmp(a->index, b->index, sizeof a->index) == 0 && a->axis == b->axis &&
           memcmp(&a->value, &b->value, sizeof a->value) == 0 && a->name == b->name;
}

static void enter(struct cr_rewrite *rw, cr_id id)
{
    unsigned at = hash_node(rw->to, &rw->to->nodes[id]) % (unsigned)rw->table_size;
    while (rw->table[at] != CR_NONE)
        at = (at + 1) % (unsigned)rw->table_size;
    rw->table[at] = id;
}

/* The node is the newest one. */
static void link_product(struct cr_rewrite *rw, cr_id id)
{
    cr_id right = cr_in(rw->to, id, 1);
    rw->older_product[id] = rw->newest_product[right];
    rw->newest_product[right] = id;
}

/* The table is at most half full, so there are twice as many slots as nodes. */
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
    for (int i = 0; i < size; i++)
        rw->table[i] = CR_NONE;
    for (cr_id id = 0; id < rw->to->n_nodes; id++)
        enter(rw, id);
}

/* The older node equal to the newest one, which is then taken back; or the newest. */
static cr_id share_newest(struct cr_rewrite *rw)
{
    struct cr_graph *g = rw->to;
    cr_id newest = g->n_nodes - 1;
    unsigned at = hash_node(g, &g->nodes[newest]) % (unsigned)rw->table_size;
    for (; rw->table[at] != CR_NONE; at = (at + 1) % (unsigned)rw->table_size) {
        if (equal_nodes(g, &g->nodes[rw->table[at]], &g->nodes[newest])) {
            g->n_operands = g->nodes[newest].first_in;
            g->n_nodes--;
            return rw->table[at];
        }
    }
    rw->table[at] = newest;
    if (g->nodes[newest].op == CR_OP_matmul)
        link_product(rw, newest);
    if (2 * g->n_nodes > rw->table_size)
        grow_table(rw, 2 * rw->table_size);
    return newest;
}

cr_id cr_rewrite_add(struct cr_rewrite *rw, enum cr_op op, int n, const cr_id *in,
                     const struct cr_attr *attr)
{
    struct cr_draft draft = {.op = op, .n = n};
    if (attr)
        draft.attr = *attr;
    for (int i = 0; i < n && i < 3; i++)
        draft.in[i] = in[i];
    cr_id id = cr_apply_rules(rw, &draft);
    if (id != CR_NONE)
        return id;
    cr_must(rw->to, op, n, in, attr);
    return share_newest(rw);
}

void cr_rewrite_at(struct cr_rewrite *rw, cr_id id)
{
    const struct cr_where *where = &rw->from->nodes[id].where;
    if (where->file != rw->origin.file)
        rw->to->here.file = cr_intern(rw->to, where->file);
    if (where->scope != rw->origin.scope)
        rw->to->here.scope = cr_intern(rw->to, where->scope);
    rw->to->here.line = where->line;
    rw->to->here.backward = where->backward;
    rw->origin = *where;
}

cr_id cr_rewrite_replace(struct cr_rewrite *rw, cr_id id, enum cr_op op, int n, const cr_id *in,
                         const struct cr_attr *attr)
{
    const struct cr_node *node = &rw->from->nodes[id];
    cr_rewrite_at(rw, id);
    rw->map[id] = cr_rewrite_add(rw, op, n, in, attr);
    struct cr_node *made = &rw->to->nodes[rw->map[id]];
    if (node->tap && !made->tap)
        made->tap = cr_intern(rw->to, node->tap);
    made->kernel = node->kernel;
    return rw->map[id];
}

cr_id cr_rewrite_copy(struct cr_rewrite *rw, cr_id id)
{
    const struct cr_node *node = &rw->from->nodes[id];
    struct cr_attr attr = cr_attr_of(node);
    cr_id few[8], *in = node->n_in <= 8 ? few : cr_calloc((size_t)node->n_in, sizeof *in);
    for (int i = 0; i < node->n_in; i++)
        in[i] = rw->map[cr_in(rw->from, id, i)];
    cr_rewrite_replace(rw, id, node->op, node->n_in, in, &attr);
    if (in != few)
        free(in);
    return rw->map[id];
}

/* Leaves stay although nothing may read them: they are part of the model's interface. */
static void mark_live(const struct cr_graph *g, bool *live)
{
    for (int i = 0; i < g->n_outputs; i++)
        live[g->outputs[i].id] = true;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--) {
        if (g->nodes[id].name)
            live[id] = true;
        for (int i = 0; live[id] && i < g->nodes[id].n_in; i++)
            live[cr_in(g, id, i)] = true;
    }
}

/* Moves the live nodes together; rules leave nodes behind that nothing reads. */
static void drop_dead(struct cr_graph *g)
{
    bool *live = cr_calloc((size_t)g->n_nodes, sizeof *live);
    cr_id *moved = cr_calloc((size_t)g->n_nodes, sizeof *moved), n = 0;
    mark_live(g, live);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (!live[id])
            continue;
        struct cr_node *node = &g->nodes[n];
        *node = g->nodes[id];
        for (int i = 0; i < node->n_in; i++)
            g->operands[node->first_in + i] = moved[g->operands[node->first_in + i]];
        moved[id] = n++;
    }
    for (int i = 0; i < g->n_outputs; i++)
        g->outputs[i].id = moved[g->outputs[i].id];
    g->n_nodes = n;
    free(live);
    free(moved);
}

void cr_rewrite_begin(struct cr_rewrite *rw, struct cr_graph *from)
{
    *rw = (struct cr_rewrite){.from = from, .to = cr_graph_new(from->name)};
    cr_graph_reserve(rw->to, from->n_nodes, from->n_operands);
    rw->map = cr_calloc((size_t)from->n_nodes, sizeof *rw->map);
    rw->live = cr_calloc((size_t)from->n_nodes, sizeof *rw->live);
    for (cr_id id = 0; id < from->n_nodes; id++)
        rw->map[id] = CR_NONE;
    grow_table(rw, 4 * from->n_nodes + 16);
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

/* Whether two graphs are the same node by node; leaves are, for no pass changes them. */
static bool equal_graphs(const struct cr_graph *a, const struct cr_graph *b)
{
    if (a->n_nodes != b->n_nodes)
        return false;
    for (cr_id id = 0; id < a->n_nodes; id++) {
        const struct cr_node *x = &a->nodes[id], *y = &b->nodes[id];
        if (x->op != y->op || x->axis != y->axis || x->n_in != y->n_in || !cr_same_shape(x, y) ||
            memcmp(x->index, y->index, sizeof x->index) != 0 ||
            memcmp(&x->value, &y->value, sizeof x->value) != 0 ||
            memcmp(cr_inputs(a, x), cr_inputs(b, y), (size_t)x->n_in * sizeof(cr_id)) != 0)
            return false;
    }
    return true;
}

struct cr_graph *cr_rewrite_end(struct cr_rewrite *rw)
{
    for (int i = 0; i < rw->from->n_outputs; i++)
        cr_add_output(rw->to, rw->from->outputs[i].name, rw->map[rw->from->outputs[i].id]);
    drop_dead(rw->to);
    rw->is_copy = equal_graphs(rw->from, rw->to);
    cr_graph_free(rw->from);
    free_tables(rw);
    return rw->to;
}

void cr_rewrite_cancel(struct cr_rewrite *rw)
{
    cr_graph_free(rw->to);
    free_tables(rw);
}
