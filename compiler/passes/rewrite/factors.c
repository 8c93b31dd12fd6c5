#include "factors.h"

#include <math.h>
#include <string.h>

/* Returns the number of operand x of where(c, x, 0) or where(c, 0, x); 0 if node `id` is
 * neither. */
static int selected_operand(const struct cr_graph *g, cr_id id)
{
    for (int i = 1; g->nodes[id].op == CR_OP_where && i <= 2; i++) {
        const struct cr_node *other = &g->nodes[cr_in(g, id, 3 - i)];
        if (other->op == CR_OP_const && other->value == 0)
            return i;
    }
    return 0;
}

static bool divides_by_constant(const struct cr_graph *g, cr_id id)
{
    return g->nodes[id].op == CR_OP_div && g->nodes[cr_in(g, id, 1)].op == CR_OP_const;
}

static bool add_factor(struct cr_factors *f, cr_id id)
{
    int at = f->n;
    if (f->n == CR_MAX_FACTORS)
        return false;
    for (; at > 0 && f->nodes[at - 1] > id; at--)
        f->nodes[at] = f->nodes[at - 1];
    f->nodes[at] = id;
    f->n++;
    return true;
}

/* Appends the factors of node `id`, following products, selections against zero, and divisions by
 * constants.  Returns false if there are too many factors, or `budget` is used up. */
static bool add_factors(const struct cr_graph *g, cr_id id, struct cr_factors *f, int *budget)
{
    const struct cr_node *node = &g->nodes[id];
    int selected = selected_operand(g, id);
    if (--*budget < 0)
        return false;
    if (selected)
        return add_factor(f, selected == 1 ? cr_in(g, id, 0) : ~cr_in(g, id, 0)) &&
               add_factors(g, cr_in(g, id, selected), f, budget);
    if (node->op == CR_OP_mul)
        return add_factors(g, cr_in(g, id, 0), f, budget) &&
               add_factors(g, cr_in(g, id, 1), f, budget);
    if (divides_by_constant(g, id)) {
        f->number /= g->nodes[cr_in(g, id, 1)].value;
        return add_factors(g, cr_in(g, id, 0), f, budget);
    }
    if (node->op == CR_OP_const) {
        f->number *= node->value;
        return true;
    }
    return add_factor(f, id);
}

bool cr_find_factors(const struct cr_graph *g, cr_id id, struct cr_factors *factors)
{
    int budget = 4 * CR_MAX_FACTORS;
    *factors = (struct cr_factors){.number = 1};
    return add_factors(g, id, factors, &budget);
}

bool cr_take_factor(struct cr_factors *f, cr_id id)
{
    int at = 0, n = 0;
    for (int i = 0; i < f->n; i++)
        if (f->nodes[i] == id) {
            at = i;
            n++;
        }
    if (n != 1)
        return false;
    f->n--;
    memmove(f->nodes + at, f->nodes + at + 1, (size_t)(f->n - at) * sizeof *f->nodes);
    return true;
}

bool cr_equal_factors(const struct cr_factors *a, const struct cr_factors *b)
{
    return a->n == b->n && memcmp(a->nodes, b->nodes, (size_t)a->n * sizeof *a->nodes) == 0 &&
           fabs(a->number - b->number) <= 1e-9 * fabs(a->number);
}

/* Returns the number of factors that are conditions. */
static int count_conditions(const struct cr_graph *g, const struct cr_factors *f)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        n += f->nodes[i] < 0 || g->nodes[f->nodes[i]].dtype == CR_BOOL;
    return n;
}

bool cr_choose(const struct cr_graph *g, const struct cr_factors *f)
{
    return count_conditions(g, f) > 0;
}

bool cr_is_dropout(const struct cr_graph *g, const struct cr_factors *f)
{
    int n = count_conditions(g, f);
    return n == 0 || (n == f->n && f->number > 0);
}

/* True if `factor` is a factor of node `id`. */
static bool has_factor(const struct cr_graph *g, cr_id id, cr_id factor)
{
    struct cr_factors f;
    if (!cr_find_factors(g, id, &f))
        return false;
    for (int i = 0; i < f.n; i++)
        if (f.nodes[i] == factor)
            return true;
    return false;
}

cr_id cr_operand_with_factor(const struct cr_graph *g, cr_id id, cr_id factor)
{
    if (id == factor)
        return CR_NONE;
    if (g->nodes[id].op != CR_OP_mul)
        return cr_in(g, id, selected_operand(g, id));
    return cr_in(g, id, !has_factor(g, cr_in(g, id, 0), factor));
}
