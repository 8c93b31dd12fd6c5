#include "arithmetics.h"

#include <stdio.h>
#include <string.h>

#include "compiler/passes/module/kernel_kinds.h"
#include "name_rules.h"
#include "weights.h"

/* ---- requests ---- */

/* Lists the names of all arithmetics, or of the formats that have products in one arithmetic. */
static void list_names(char *names, size_t size, enum cr_arithmetic of)
{
    bool formats = of != CR_ARITHMETIC_COUNT;
    int n = formats ? (int)CR_FORMAT_COUNT : (int)CR_ARITHMETIC_COUNT;
    size_t at = 0;
    names[0] = 0;
    for (int i = 0; i < n && at < size; i++)
        if (!formats || cr_product_of((enum cr_format)i, of) != CR_CALLEE_COUNT)
            at += (size_t)snprintf(names + at, size - at, "%s%s", at ? ", " : "",
                                   formats ? cr_formats[i].name : cr_arithmetics[i].name);
}

/* Sets *arithmetic to the arithmetic that a rule names; fails if there is none of this name. */
static int read_arithmetic(const struct cr_name_rule *rule, enum cr_arithmetic *arithmetic,
                           const char *path, struct cr_error *error)
{
    char names[256];
    *arithmetic = cr_arithmetic_find(rule->name, (size_t)rule->length);
    if (*arithmetic < CR_ARITHMETIC_COUNT)
        return 0;
    list_names(names, sizeof names, CR_ARITHMETIC_COUNT);
    return cr_fail(error, "%.400s: --arithmetic: '%.*s' is no arithmetic, expected one of %s", path,
                   rule->length < 60 ? rule->length : 60, rule->name, names);
}

/* Sets the arithmetic of the parameters whose names a rule matches; fails if none of them can use
 * it. */
static int apply_rule(struct cr_graph *g, const struct cr_name_rule *rule,
                      enum cr_arithmetic arithmetic, const char *path, struct cr_error *error)
{
    bool found = strcmp(rule->glob, "*") == 0, any = arithmetic == CR_ARITHMETIC_f32;
    const char *name = cr_arithmetics[arithmetic].name;
    char names[256];
    for (cr_id id = 0; id < g->n_nodes; id++) {
        struct cr_node *node = &g->nodes[id];
        if (node->op != CR_OP_param || !cr_glob_matches(rule->glob, node->name))
            continue;
        found = true;
        any |= cr_product_of(node->format, arithmetic) != CR_CALLEE_COUNT;
        node->arithmetic = arithmetic;
    }
    if (!found)
        return cr_fail(error, "%.400s: --arithmetic %.200s=%s: no parameter has such a name", path,
                       rule->glob, name);
    if (any)
        return 0;
    list_names(names, sizeof names, arithmetic);
    bool all = strcmp(rule->glob, "*") == 0;
    return cr_fail(error,
                   "%.400s: --arithmetic %.200s%s%s: no weight %sis kept in a format that has "
                   "products in %s, expected %s",
                   path, all ? "" : rule->glob, all ? "" : "=", name,
                   all ? "" : "of such a name ", name, names);
}

int cr_want_arithmetics(struct cr_graph *g, const char *rules, const char *path,
                        struct cr_error *error)
{
    const char *text = rules;
    struct cr_name_rule rule;
    enum cr_arithmetic arithmetic;
    while (text)
        if (cr_read_name_rule(&rule, &text, "--arithmetic", path, error) ||
            read_arithmetic(&rule, &arithmetic, path, error) ||
            apply_rule(g, &rule, arithmetic, path, error))
            return -1;
    return 0;
}

/* ---- choosing arithmetics ---- */

/* Returns the arithmetic that a parameter requests if products in its format have it; else f32. */
static enum cr_arithmetic arithmetic_of(const struct cr_node *param)
{
    bool has = cr_product_of(param->format, param->arithmetic) != CR_CALLEE_COUNT;
    return has ? param->arithmetic : CR_ARITHMETIC_f32;
}

enum cr_arithmetic cr_panel_arithmetic(const struct cr_graph *g, cr_id matrix)
{
    while (g->nodes[matrix].n_in)
        matrix = cr_in(g, matrix, 0);
    return arithmetic_of(&g->nodes[matrix]);
}

/* The arithmetic of a weight matrix, as far as its pieces have been visited. */
struct pieces {
    struct cr_graph *g;
    enum cr_arithmetic arithmetic; /* the arithmetic of the first piece; CR_ARITHMETIC_COUNT before
                                      it is known */
    bool same;
};

static void see_piece(void *context, const struct cr_layout_info *info)
{
    struct pieces *p = context;
    enum cr_arithmetic arithmetic = arithmetic_of(&p->g->nodes[info->param]);
    if (p->arithmetic == CR_ARITHMETIC_COUNT)
        p->arithmetic = arithmetic;
    p->same &= p->arithmetic == arithmetic;
}

static void leave_piece(void *context, const struct cr_layout_info *info)
{
    const struct pieces *p = context;
    p->g->nodes[info->param].arithmetic = CR_ARITHMETIC_f32;
}

/* Sets the arithmetic of weights to f32 if one product has weights with several; returns true if
 * there was such a product. */
static bool reset_mixed(struct cr_module *m)
{
    bool any = false;
    for (int i = 0; i < m->n_kernels; i++) {
        struct pieces p = {m->graph, CR_ARITHMETIC_COUNT, true};
        cr_id matrix = cr_packed(&m->kernels[i]);
        if (matrix == CR_NONE)
            continue;
        cr_weight_pieces(m->graph, matrix, see_piece, &p);
        if (!p.same)
            cr_weight_pieces(m->graph, matrix, leave_piece, &p);
        any |= !p.same;
    }
    return any;
}

void cr_keep_supported_arithmetics(struct cr_module *m)
{
    while (reset_mixed(m))
        ;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->graph->nodes[id].op == CR_OP_param)
            m->graph->nodes[id].arithmetic = arithmetic_of(&m->graph->nodes[id]);
}
