#include "attention.h"

#include "compiler/ir/mem.h"
#include "factors.h"

/* ---- regions ---- */

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

/* Visits the users of a node, each once; false if one of them does not belong to the region. */
static bool visit_region(const struct cr_module *module, const struct cr_users *users, cr_id from,
                         struct cr_region *region)
{
    const struct cr_graph *g = module->graph;
    for (int i = users->first[from]; i < users->first[from + 1]; i++) {
        cr_id user = users->list[i];
        if (region_has(region, user))
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

/* ---- the softmax between ---- */

struct matcher {
    const struct cr_module *module;
    const struct cr_graph *g;
    const struct cr_users *users;
};

static bool is_op(const struct matcher *m, cr_id id, enum cr_op op)
{
    return m->g->nodes[id].op == op;
}

static void part(struct cr_softmax *s, cr_id id)
{
    s->parts[s->n++] = id;
}

/* True if `id` is op(of, last axis) repeated along that axis. */
static bool is_row_reduction(const struct matcher *m, struct cr_softmax *s, cr_id id, enum cr_op op,
                             cr_id of)
{
    if (is_op(m, id, CR_OP_expand)) {
        part(s, id);
        id = cr_in(m->g, id, 0);
    }
    if (!is_op(m, id, op) || cr_in(m->g, id, 0) != of)
        return false;
    part(s, id);
    return m->g->nodes[id].axis == m->g->nodes[id].rank - 1;
}

/* exp(x - max(x)) or exp(x) */
static bool match_exp(const struct matcher *m, struct cr_softmax *s, cr_id id)
{
    if (!is_op(m, id, CR_OP_exp))
        return false;
    s->exp = id;
    s->logits = cr_in(m->g, id, 0);
    part(s, id);
    if (is_op(m, s->logits, CR_OP_sub)) {
        cr_id difference = s->logits, x = cr_in(m->g, difference, 0);
        int n = s->n;
        part(s, difference);
        if (is_row_reduction(m, s, cr_in(m->g, difference, 1), CR_OP_max, x))
            s->logits = x, s->is_shifted = true;
        else
            s->n = n; /* another difference is a logit itself */
    }
    return true;
}

/* e / sum(e): rules have brought other spellings into this one */
static bool match_softmax(const struct matcher *m, struct cr_softmax *s, cr_id id)
{
    *s = (struct cr_softmax){.n = 0};
    if (!is_op(m, id, CR_OP_div))
        return false;
    part(s, id);
    return match_exp(m, s, cr_in(m->g, id, 0)) &&
           is_row_reduction(m, s, cr_in(m->g, id, 1), CR_OP_sum, s->exp);
}

static bool among(const struct cr_softmax *s, cr_id id)
{
    for (int i = 0; i < s->n; i++)
        if (s->parts[i] == id)
            return true;
    return false;
}

/* True if the kernel of an attention's gradients reads the probabilities, before or after dropout:
 * it computes them again. */
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

/* True if no part is stored or read from outside: then none of them has to be stored. */
static bool is_closed(const struct matcher *m, const struct cr_softmax *s, cr_id output)
{
    for (int i = -1; i < s->n; i++) {
        cr_id id = i < 0 ? s->logits : s->parts[i];
        if (cr_is_materialised(m->module, id))
            return false;
        for (int u = m->users->first[id]; u < m->users->first[id + 1]; u++) {
            cr_id user = m->users->list[u];
            if (!among(s, user) && user != output && !is_read_backward(m, id, user))
                return false;
        }
    }
    return true;
}

/* The matmul that the logits are computed from by elementwise work alone, if the search
 * meets it within `budget` nodes. */
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

bool cr_match_softmax(const struct cr_module *module, struct cr_softmax *s, cr_id id)
{
    return match_softmax(&(struct matcher){module, module->graph, NULL}, s, id);
}

cr_id cr_find_scores(const struct cr_module *module, cr_id logits)
{
    int budget = 4 * CR_MAX_VALUES;
    return find_scores(&(struct matcher){module, module->graph, NULL}, logits, &budget);
}

/* A product of factors, one of which is a softmax and the others a dropout; or the softmax
 * alone. */
static bool match_dropped(const struct matcher *m, struct cr_softmax *s, cr_id dropped)
{
    struct cr_factors f;
    if (!cr_find_factors(m->g, dropped, &f))
        return false;
    for (int i = 0; i < f.n; i++) {
        cr_id probs = f.nodes[i];
        if (probs < 0 || !match_softmax(m, s, probs) || !cr_take_factor(&f, probs))
            continue;
        if (!cr_is_dropout(m->g, &f) || (cr_choose(m->g, &f) && !s->is_shifted))
            return false; /* without a shift, of infinite scores only the dropped ones are NaN */
        for (cr_id id = dropped; id != probs; id = cr_towards_factor(m->g, id, probs))
            if (s->n < CR_SOFTMAX_PARTS)
                part(s, id);
        return true;
    }
    return false;
}

bool cr_match_dropped(const struct cr_module *module, struct cr_softmax *s, cr_id dropped)
{
    return match_dropped(&(struct matcher){module, module->graph, NULL}, s, dropped);
}

/* The pattern that ends in a matmul: nothing outside of it reads the softmax, and elementwise
 * work alone leads from the scores to the logits. */
static bool match_attention(const struct matcher *m, cr_id output, struct cr_attention *found)
{
    struct cr_softmax s;
    cr_id dropped = m->g->nodes[output].n_in ? cr_in(m->g, output, 0) : CR_NONE;
    if (!is_op(m, output, CR_OP_matmul) || !match_dropped(m, &s, dropped))
        return false;
    if (!is_closed(m, &s, output) || cr_in(m->g, output, 1) == dropped)
        return false;
    struct cr_region region;
    cr_id scores = cr_find_scores(m->module, s.logits);
    if (scores == CR_NONE)
        return false;
    if (scores != s.logits && !cr_find_region(m->module, m->users, scores, s.logits, &region))
        return false;
    *found = (struct cr_attention){output, dropped, s.parts[0], s.logits, scores};
    return true;
}

void cr_find_attentions(struct cr_module *module, const struct cr_users *users)
{
    struct matcher m = {module, module->graph, users};
    struct cr_attention found;
    for (cr_id id = 0; id < module->graph->n_nodes; id++)
        if (match_attention(&m, id, &found))
            *CR_PUSH(module->attentions, module->n_attentions, module->cap_attentions) = found;
}
