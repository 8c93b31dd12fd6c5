#include "attention.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/weights/weights.h"

/* ---- paths between two nodes ---- */

static bool is_whole_move(enum cr_op op)
{
    return op == CR_OP_reshape || op == CR_OP_permute;
}

static bool region_has(const struct cr_region *region, cr_id id)
{
    for (int i = 0; i < region->n; i++)
        if (region->nodes[i] == id)
            return true;
    return false;
}

/* True if `id` is computed only inside the kernel of an attention's gradients, which does not store
 * it. */
static bool is_computed_inside(const struct cr_module *module, cr_id id)
{
    for (int i = 0; i < module->n_backwards; i++)
        for (int j = 0; j < module->backwards[i].n_behind; j++)
            if (module->backwards[i].behind[j] == id)
                return true;
    return false;
}

/* Appends the users of `from` to the region, each once.  Returns false if a user cannot belong to
 * the region. */
static bool visit_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                         struct cr_region *region)
{
    const struct cr_graph *g = module->graph;
    for (int i = users->first[from]; i < users->first[from + 1]; i++) {
        cr_id user = users->list[i];
        if (region_has(region, user) ||
            (region->skips_gradients && is_computed_inside(module, user)))
            continue;
        bool work = cr_kind_of(g, user) == CR_KIND_ELEMENTWISE || is_whole_move(g->nodes[user].op);
        if (!work || user > region->to || region->n == CR_MAX_VALUES)
            return false;
        region->nodes[region->n++] = user;
        if (user == region->to)
            continue;
        if (cr_is_materialised(module, user) || !visit_region(module, users, user, region))
            return false;
    }
    return cr_n_users(users, from) > 0;
}

bool cr_find_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                    cr_id to, struct cr_region *region)
{
    region->to = to;
    region->n = 0;
    return visit_region(module, users, from, region);
}

/* ---- the nodes between scores and values ---- */

struct matcher {
    const struct cr_module *module;
    const struct cr_graph *g;
    const struct cr_users *users;
};

static bool among(const struct cr_softmax *s, cr_id id)
{
    for (int i = 0; i < s->n; i++)
        if (s->parts[i] == id)
            return true;
    return false;
}

/* True if `user` is computed by the kernel of the attention's gradients, which recomputes the
 * probabilities `id` instead of loading them. */
static bool is_read_backward(const struct matcher *m, cr_id id, cr_id user)
{
    for (int i = 0; i < m->module->n_backwards; i++) {
        const struct cr_attention_backward *b = &m->module->backwards[i];
        cr_id transposed = cr_in(m->g, b->dv, 0);
        if ((b->probs == id && user == b->dlogits) || (b->dropped == id && user == transposed))
            return true;
    }
    return false;
}

/* True if no node of the softmax is stored, and only the softmax, the attention and its gradients
 * read these nodes.  Then one kernel can compute the attention without storing them. */
static bool has_no_other_reader(const struct matcher *m, const struct cr_softmax *s, cr_id output)
{
    for (int i = -1; i < s->n; i++) {
        cr_id id = i < 0 ? s->logits : s->parts[i];
        if (cr_is_materialised(m->module, id))
            return false;
        for (int u = m->users->first[id]; u < m->users->first[id + 1]; u++) {
            cr_id user = m->users->list[u];
            if (!among(s, user) && user != output && !is_read_backward(m, id, user) &&
                !is_computed_inside(m->module, user))
                return false;
        }
    }
    return true;
}

/* Returns the matmul from which elementwise ops, reshapes and permutes compute the logits `id`.
 * Returns CR_NONE if there is none among the first `budget` nodes visited. */
static cr_id find_scores(const struct matcher *m, cr_id id, int *budget)
{
    if (--*budget < 0)
        return CR_NONE;
    enum cr_kind kind = cr_kind_of(m->g, id);
    if (kind == CR_KIND_CONTRACT)
        return cr_is_materialised(m->module, id) ? CR_NONE : id;
    if ((kind != CR_KIND_ELEMENTWISE && !is_whole_move(m->g->nodes[id].op)) ||
        cr_is_materialised(m->module, id))
        return CR_NONE;
    for (int i = 0; i < m->g->nodes[id].n_in; i++) {
        cr_id scores = find_scores(m, cr_in(m->g, id, i), budget);
        if (scores != CR_NONE)
            return scores;
    }
    return CR_NONE;
}

cr_id cr_find_scores(const struct cr_module *module, cr_id logits)
{
    int budget = 4 * CR_MAX_VALUES;
    return find_scores(&(struct matcher){module, module->graph, NULL}, logits, &budget);
}

/* True if elementwise ops, reshapes and permutes lead from the scores to the logits, and no node
 * outside the attention reads the intermediate results. */
static bool leads_to_logits(const struct matcher *m, cr_id scores, cr_id logits)
{
    struct cr_region region = {.skips_gradients = true};
    if (scores == CR_NONE)
        return false;
    return scores == logits || cr_find_region(m->module, m->users, scores, logits, &region);
}

/* Matches `output` = softmax x values, with or without dropout, and fills in *found. */
static bool match_attention(const struct matcher *m, cr_id output, struct cr_attention *found)
{
    struct cr_softmax s;
    cr_id dropped = cr_in(m->g, output, 0);
    if (!cr_match_dropped(m->g, &s, dropped))
        return false;
    if (!has_no_other_reader(m, &s, output) || cr_in(m->g, output, 1) == dropped)
        return false;
    cr_id scores = cr_find_scores(m->module, s.logits);
    if (!leads_to_logits(m, scores, s.logits))
        return false;
    *found = (struct cr_attention){.output = output,
                                   .dropped = dropped,
                                   .probs = s.parts[0],
                                   .logits = s.logits,
                                   .scores = scores,
                                   .sink = s.sink};
    return true;
}

/* True if elementwise ops and movement ops compute `id` from `product` and from smaller
 * contractions only.  Visits at most `budget` nodes.  A smaller contraction, such as a bias for
 * each key, is stored: in an incremental graph it is a state. */
static bool is_made_of(const struct matcher *m, cr_id id, cr_id product, int *budget)
{
    enum cr_kind kind = cr_kind_of(m->g, id);
    if (--*budget < 0)
        return false;
    if (cr_is_materialised(m->module, id) || id == product)
        return true;
    for (int i = 0; (kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE) &&
                    i < m->g->nodes[id].n_in; i++)
        if (!is_made_of(m, cr_in(m->g, id, i), product, budget))
            return false;
    const struct cr_node *node = &m->g->nodes[id], *scores = &m->g->nodes[product];
    return kind != CR_KIND_CONTRACT || cr_elements(node->rank, node->shape) <
                                           cr_elements(scores->rank, scores->shape);
}

/* True if `id` is computed from parameters and constants by arithmetic alone, such as a normalised
 * weight.  Visits at most `budget` nodes. */
static bool is_made_of_weights(const struct cr_graph *g, cr_id id, int *budget)
{
    const struct cr_node *node = &g->nodes[id];
    enum cr_kind kind = cr_kind_of(g, id);
    bool good = --*budget >= 0 && (node->op == CR_OP_param || node->op == CR_OP_const || kind == CR_KIND_ELEMENTWISE ||
                                   kind == CR_KIND_REDUCE || kind == CR_KIND_MOVE || kind == CR_KIND_CONCAT ||
                                   kind == CR_KIND_CONTRACT);
    for (int i = 0; i < node->n_in && good; i++)
        good = is_made_of_weights(g, cr_in(g, id, i), budget);
    return good;
}

static bool is_computed_weight(const struct cr_graph *g, cr_id id)
{
    int budget = 4 * CR_MAX_VALUES;
    return is_made_of_weights(g, id, &budget);
}

/* True if a product multiplies activations of one head: neither operand is a weight, and its inner
 * size or its columns are at most those of a wide head.  One operand then stays in a cache while
 * the kernel loops over queries. */
static bool multiplies_head(const struct matcher *m, const bool *weights, cr_id product)
{
    enum { WIDEST_HEAD = 256 };
    const struct cr_node *node = &m->g->nodes[product];
    cr_id left = cr_in(m->g, product, 0), right = cr_in(m->g, product, 1);
    const struct cr_node *rows = &m->g->nodes[left];
    bool first = rows->shape[rows->rank - 1] <= WIDEST_HEAD;
    bool second = node->shape[node->rank - 1] <= WIDEST_HEAD;
    struct cr_stacked choice;
    return !weights[right] && !weights[left] && !cr_find_choice(m->g, right, &choice) &&
           !is_computed_weight(m->g, right) && !is_computed_weight(m->g, left) && (first || second);
}

cr_id cr_find_direct_scores(const struct cr_module *module, const bool *weights, cr_id output)
{
    const struct matcher m = {module, module->graph, NULL};
    int budget = 4 * CR_MAX_VALUES;
    cr_id logits = cr_in(m.g, output, 0);
    if (!multiplies_head(&m, weights, output) || logits == cr_in(m.g, output, 1) ||
        cr_kind_of(m.g, logits) != CR_KIND_ELEMENTWISE)
        return CR_NONE;
    cr_id scores = cr_find_scores(module, logits);
    bool fits = scores != CR_NONE && multiplies_head(&m, weights, scores) &&
                is_made_of(&m, logits, scores, &budget);
    return fits ? scores : CR_NONE;
}

/*
 * Matches elementwise ops on scores, times values: attention without softmax, so no row is divided
 * by a sum, as in sigmoid attention (Ramapuram et al. 2024).  Two layers of a network do not match,
 * since they multiply by weights; nor does the product after an attention, whose scores would be
 * the attention's output.
 */
static bool match_direct(const struct matcher *m, const bool *weights, cr_id output,
                         struct cr_attention *found)
{
    const struct cr_softmax none = {.logits = cr_in(m->g, output, 0)};
    cr_id scores = cr_find_direct_scores(m->module, weights, output);
    if (scores == CR_NONE || cr_attention_at(m->module, scores) ||
        !has_no_other_reader(m, &none, output) ||
        !leads_to_logits(m, scores, none.logits))
        return false;
    *found = (struct cr_attention){.output = output,
                                   .dropped = none.logits,
                                   .probs = none.logits,
                                   .logits = none.logits,
                                   .scores = scores,
                                   .direct = true};
    return true;
}

void cr_find_attentions(struct cr_module *module, const struct cr_users *users)
{
    struct matcher m = {module, module->graph, users};
    struct cr_attention found;
    bool *weights = cr_find_weights(module->graph);
    for (cr_id id = 0; id < module->graph->n_nodes; id++)
        if (module->graph->nodes[id].op == CR_OP_matmul &&
            (match_attention(&m, id, &found) || match_direct(&m, weights, id, &found)))
            *CR_PUSH(module->attentions, module->n_attentions, module->cap_attentions) = found;
    free(weights);
}
