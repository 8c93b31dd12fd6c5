/* pattern_match.c - functions that the recognisers of patterns share; see pattern_match.h. */
#include "pattern_match.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- looking around ---- */

void cr_match_each(struct cr_onnx_graph *g, const char *domain, const char *op,
                   void (*find)(struct cr_onnx_graph *g, int node))
{
    for (int i = 0, n = g->n_nodes; i < n; i++)
        if (!g->nodes[i].dead && strcmp(g->nodes[i].op, op) == 0 && strcmp(g->nodes[i].domain, domain) == 0)
            find(g, i);
}

int cr_match_op(const struct cr_onnx_graph *g, int value, const char *op)
{
    int producer = value == CR_ONNX_NONE ? CR_ONNX_NONE : g->values[value].producer;
    if (producer == CR_ONNX_NONE || g->values[value].folded || g->nodes[producer].dead)
        return CR_ONNX_NONE;
    const struct cr_onnx_node *n = &g->nodes[producer];
    return !*n->domain && strcmp(n->op, op) == 0 && n->outputs[0] == value ? producer
                                                                           : CR_ONNX_NONE;
}

int cr_match_only(const struct cr_onnx_graph *g, int value, const char *op)
{
    int node = cr_match_op(g, value, op);
    return node != CR_ONNX_NONE && cr_onnx_users(g, value) == 1 ? node : CR_ONNX_NONE;
}

bool cr_match_number(const struct cr_onnx_graph *g, int value, double number)
{
    double x;
    return cr_onnx_scalar(g, value, &x) && fabs(x - number) <= 1e-6 * fabs(number);
}

int cr_match_other(const struct cr_onnx_node *n, int value)
{
    if (n->n_inputs != 2 || (n->inputs[0] != value && n->inputs[1] != value))
        return CR_ONNX_NONE;
    return n->inputs[n->inputs[0] == value];
}

bool cr_match_view(const struct cr_onnx_node *n)
{
    static const char *const ops[] = {"Reshape", "Flatten", "Unsqueeze", "Squeeze", "View"};
    bool is_ours = !*n->domain || strcmp(n->domain, CR_ONNX_CRESCENT) == 0;
    for (size_t i = 0; is_ours && i < sizeof ops / sizeof *ops; i++)
        if (strcmp(n->op, ops[i]) == 0)
            return n->n_inputs > 0 && n->inputs[0] != CR_ONNX_NONE;
    return false;
}

int cr_match_user(const struct cr_onnx_graph *g, int value)
{
    return cr_onnx_users(g, value) == 1 ? cr_onnx_user(g, value) : CR_ONNX_NONE;
}

bool cr_match_weight(const struct cr_onnx_graph *g, int value)
{
    const struct cr_onnx_value *v = value == CR_ONNX_NONE ? NULL : &g->values[value];
    return v && v->tensor && !v->folded && v->tensor->data && v->tensor->elements > 1 &&
           (v->tensor->type == CR_ONNX_FLOAT || v->tensor->type == CR_ONNX_FLOAT16 ||
            v->tensor->type == CR_ONNX_BFLOAT16);
}

bool cr_match_same_shape(const struct cr_onnx_value *a, const struct cr_onnx_value *b)
{
    return a->rank == b->rank && a->rank >= 0 &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

bool cr_match_permutes(const struct cr_onnx_graph *g, int node, const int *perm)
{
    if (node == CR_ONNX_NONE)
        return false;
    const struct cr_onnx_attribute *a = cr_onnx_attribute(&g->nodes[node], "perm");
    int rank = g->values[g->nodes[node].inputs[0]].rank;
    if (!a || !a->ints || a->n != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (a->ints[i] != perm[i])
            return false;
    return true;
}

/* ---- making nodes ---- */

static int new_node(struct cr_onnx_graph *g, int like, const char *op, const int *inputs,
                    int n_inputs)
{
    struct cr_onnx_node *n = cr_onnx_new_node(g, CR_ONNX_CRESCENT, op, n_inputs, 1);
    n->name = g->nodes[like].name;
    n->scope = g->nodes[like].scope;
    for (int i = 0; i < n_inputs; i++)
        cr_onnx_set_input(g, g->n_nodes - 1, i, inputs[i]);
    return g->n_nodes - 1;
}

static int new_output(struct cr_onnx_graph *g, int node, const char *name, enum cr_onnx_type type,
                      int rank, const int64_t *shape)
{
    int value = cr_onnx_new_value(g, name);
    struct cr_onnx_value *v = &g->values[value];
    v->type = type;
    v->rank = rank;
    memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
    cr_onnx_set_output(g, node, 0, value);
    return value;
}

int cr_match_replace(struct cr_onnx_graph *g, int old, int like, const char *op, const int *inputs,
                     int n_inputs, const char *name)
{
    int node = new_node(g, like, op, inputs, n_inputs);
    struct cr_onnx_value v = g->values[old];
    cr_onnx_mark_dead(g, v.producer);
    int value = new_output(g, node, name, v.type, v.rank, v.shape);
    cr_onnx_replace(g, old, value);
    return node;
}

int cr_match_make(struct cr_onnx_graph *g, int like, const char *op, const int *inputs,
                  int n_inputs, const char *name, int rank, const int64_t *shape)
{
    return new_output(g, new_node(g, like, op, inputs, n_inputs), name, CR_ONNX_FLOAT, rank, shape);
}

/* ---- names ---- */

/* Returns the path of the innermost module in a list of paths, the last but one: "h.0" for "['',
 * 'h', 'h.0', 'linear']". */
static const char *scope_of_list(struct cr_arena *arena, const char *list)
{
    const char *quotes[4] = {NULL, NULL, NULL, NULL}; /* the last four quotes */
    for (const char *c = list; *c; c++)
        if (*c == '\'') {
            memmove(quotes, quotes + 1, 3 * sizeof *quotes);
            quotes[3] = c;
        }
    return quotes[0] ? cr_arena_text(arena, quotes[0] + 1, (size_t)(quotes[1] - quotes[0] - 1))
                     : "";
}

/* Returns a node's name without its last part, with dots for slashes: "h.h.0.attn" for
 * "/h/h.0/attn/MatMul". */
static const char *scope_of_name(struct cr_arena *arena, const char *name)
{
    const char *last = strrchr(name, '/');
    if (*name != '/' || last == name)
        return "";
    char *scope = cr_arena_text(arena, name + 1, (size_t)(last - name - 1));
    for (char *c = scope; *c; c++)
        if (*c == '/')
            *c = '.';
    return scope;
}

const char *cr_onnx_scope(struct cr_arena *arena, const struct cr_onnx_node *node)
{
    const char *scope =
        *node->scope ? scope_of_list(arena, node->scope) : scope_of_name(arena, node->name);
    for (const char *c = scope; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
            return "";
    return scope;
}

bool cr_match_rename(struct cr_onnx_graph *g, int value, const char *name)
{
    if (strcmp(g->values[value].name, name) == 0)
        return true;
    if (!*name || *name == '.' || strlen(name) > 200)
        return false;
    for (int i = 0; i < g->n_values; i++)
        if (strcmp(g->values[i].name, name) == 0)
            return false;
    g->values[value].name = cr_arena_text(&g->arena, name, strlen(name));
    return true;
}

const char *cr_match_path(struct cr_arena *arena, const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    if (n <= m || n > 200 || strcmp(name + n - m, ending) != 0)
        return NULL;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
            return NULL;
    return cr_arena_text(arena, name, n - m);
}
