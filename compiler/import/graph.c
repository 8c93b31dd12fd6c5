/* graph.c - makes values and nodes of an ONNX model; see graph.h. */
#include "graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"

enum {
    DEPTH = 64,
    MOST_NODES = 1 << 18,
    WRITTEN = 32, /* the most elements of a constant that the script contains as text; larger ones
                     become weights */
    NEWEST = 28   /* the newest known version of ai.onnx */
};

/* ---- names ---- */

/* The scope of a graph or a function body: maps names of ONNX to values of the graph.  It also has
 * what nodes of the body need: a prefix for names, versions of operators, the function that is
 * inlined. */
struct cr_onnx_names {
    const struct cr_onnx_names *outer; /* the outer scope of a graph in an attribute, or null */
    const char *prefix;                /* put before the names of values and nodes of this body */
    int depth;
    const struct cr_onnx_opset *opsets;
    int n_opsets;
    const struct cr_onnx_function *function; /* the function whose body this is, or null */
    const struct cr_onnx_call *call;         /* the call that is replaced by the body */
    struct cr_names names;
    int *values; /* by index in `names`: its value */
    int n, cap;
    struct cr_onnx_names *made_before; /* the scope that was created before this one, or null: a
                                          list for freeing them */
};

/* Makes an empty scope, a copy of `how`.  The graph frees it. */
static struct cr_onnx_names *new_names(struct cr_onnx_graph *g, const struct cr_onnx_names *how)
{
    struct cr_onnx_names *names = cr_arena_new(&g->arena, 1, sizeof *names);
    *names = *how;
    names->made_before = g->names;
    return g->names = names;
}

/* Returns the value that a name has in this scope, ignoring outer scopes, or null. */
static const int *own_value(const struct cr_onnx_names *names, const char *name)
{
    int at = cr_names_find(&names->names, name);
    return at < 0 ? NULL : &names->values[at];
}

/* Returns the value that a name has in this scope or in the innermost outer scope that defines it,
 * or null. */
static const int *value_of(const struct cr_onnx_names *names, const char *name)
{
    const int *value = NULL;
    for (; names && !value; names = names->outer)
        value = own_value(names, name);
    return value;
}

/* Maps a name to a value.  An earlier value of the name is replaced, as a body may be inlined
 * several times. */
static void define(struct cr_onnx_names *names, const char *name, int value)
{
    int *known = (int *)own_value(names, name);
    if (known) {
        *known = value;
        return;
    }
    cr_names_add(&names->names, name);
    *CR_PUSH(names->values, names->n, names->cap) = value;
}

/* Maps a new name to a value; fails if the scope has the name already. */
static int define_new(struct cr_onnx_graph *g, struct cr_onnx_names *names, const char *name,
                      int value, struct cr_error *error)
{
    if (own_value(names, name))
        return cr_fail(error, "%.300s: two values have the name %s, expected a name for each", g->path,
                       cr_show(name, strlen(name)).text);
    define(names, name, value);
    return 0;
}

int cr_onnx_named(const struct cr_onnx_names *names, const char *name)
{
    const int *value = value_of(names, name);
    return value ? *value : CR_ONNX_NONE;
}

int cr_onnx_replacement(const struct cr_onnx_graph *g, int value)
{
    while (value != CR_ONNX_NONE && g->values[value].by)
        value = g->values[value].by - 1;
    return value;
}

/* ---- values and nodes ---- */

int cr_onnx_new_value(struct cr_onnx_graph *g, const char *name)
{
    struct cr_onnx_value *v = CR_PUSH(g->values, g->n_values, g->cap_values);
    *v = (struct cr_onnx_value){
        .name = cr_arena_text(&g->arena, name, strlen(name)), .rank = -1, .producer = CR_ONNX_NONE};
    return g->n_values - 1;
}

static int *new_list(struct cr_onnx_graph *g, int n)
{
    int *list = cr_arena_new(&g->arena, (size_t)n, sizeof *list);
    for (int i = 0; i < n; i++)
        list[i] = CR_ONNX_NONE;
    return list;
}

struct cr_onnx_node *cr_onnx_new_node(struct cr_onnx_graph *g, const char *domain, const char *op,
                                      int n_inputs, int n_outputs)
{
    struct cr_onnx_node *n = CR_PUSH(g->nodes, g->n_nodes, g->cap_nodes);
    g->is_swept = false;
    *n = (struct cr_onnx_node){.op = op,
                               .domain = domain,
                               .name = "",
                               .scope = "",
                               .version = 99,
                               .inputs = new_list(g, n_inputs),
                               .outputs = new_list(g, n_outputs),
                               .n_inputs = n_inputs,
                               .n_outputs = n_outputs};
    return n;
}

void cr_onnx_set_output(struct cr_onnx_graph *g, int node, int output, int value)
{
    g->nodes[node].outputs[output] = value;
    g->values[value].producer = node;
}

/* Adds a value whose elements are a tensor of the model; returns its number. */
static int tensor_value(struct cr_onnx_graph *g, const char *name, const struct cr_onnx_tensor *t)
{
    int v = cr_onnx_new_value(g, name);
    g->values[v].tensor = t;
    g->values[v].type = t->type;
    g->values[v].rank = t->rank;
    for (int i = 0; i < t->rank && i < CR_ONNX_RANK; i++)
        g->values[v].shape[i] = t->shape[i];
    return v;
}

int cr_onnx_known(struct cr_onnx_graph *g, const char *name, enum cr_onnx_type type, int rank,
                  const int64_t *shape, const double *data)
{
    struct cr_onnx_tensor *t = cr_arena_new(&g->arena, 1, sizeof *t);
    int64_t *sizes = cr_arena_new(&g->arena, (size_t)rank, sizeof *sizes);
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= sizes[i] = shape[i];
    double *copy = cr_arena_new(&g->arena, (size_t)n, sizeof *copy);
    if (n)
        memcpy(copy, data, (size_t)n * sizeof *copy);
    *t = (struct cr_onnx_tensor){name, CR_ONNX_DOUBLE, rank, sizes, n, (const void *)copy, false};
    int v = tensor_value(g, name, t);
    g->values[v].folded = true;
    g->values[v].type = type; /* the tensor stores numbers of this type as doubles */
    return v;
}

/* ---- attributes ---- */

const struct cr_onnx_attribute *cr_onnx_attribute(const struct cr_onnx_node *node, const char *name)
{
    for (int i = 0; i < node->n_attributes; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

const struct cr_onnx_attribute *cr_onnx_typed(const struct cr_onnx_node *node, const char *name,
                                              enum cr_onnx_kind kind)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(node, name);
    if (a && a->kind && a->kind != (int)kind && node->mistyped)
        *node->mistyped = a->name;
    return a;
}

int64_t cr_onnx_integer(const struct cr_onnx_node *node, const char *name, int64_t otherwise)
{
    const struct cr_onnx_attribute *a = cr_onnx_typed(node, name, CR_ONNX_A_INT);
    return a ? a->i : otherwise;
}

double cr_onnx_real(const struct cr_onnx_node *node, const char *name, double otherwise)
{
    const struct cr_onnx_attribute *a = cr_onnx_typed(node, name, CR_ONNX_A_FLOAT);
    return a ? a->f : otherwise;
}

static void set_attribute(struct cr_onnx_graph *g, struct cr_onnx_node *node,
                          const struct cr_onnx_attribute *a)
{
    size_t n = (size_t)node->n_attributes;
    struct cr_onnx_attribute *more = cr_arena_new(&g->arena, n + 1, sizeof *more);
    if (n)
        memcpy(more, node->attributes, n * sizeof *more);
    more[n] = *a;
    node->attributes = more;
    node->n_attributes++;
}

void cr_onnx_set_integer(struct cr_onnx_graph *g, struct cr_onnx_node *node, const char *name,
                         int64_t value)
{
    set_attribute(g, node,
                  &(struct cr_onnx_attribute){.name = name, .kind = CR_ONNX_A_INT, .i = value});
}

void cr_onnx_set_integers(struct cr_onnx_graph *g, struct cr_onnx_node *node, const char *name,
                          int n, const int64_t *values)
{
    int64_t *ints = cr_arena_new(&g->arena, (size_t)n, sizeof *ints);
    memcpy(ints, values, (size_t)n * sizeof *ints);
    set_attribute(
        g, node,
        &(struct cr_onnx_attribute){.name = name, .kind = CR_ONNX_A_INTS, .ints = ints, .n = n});
}

void cr_onnx_set_real(struct cr_onnx_graph *g, struct cr_onnx_node *node, const char *name,
                      double value)
{
    set_attribute(g, node,
                  &(struct cr_onnx_attribute){.name = name, .kind = CR_ONNX_A_FLOAT, .f = value});
}

/* Resolves a reference in a function's body: returns attribute `of` of the function's call, else
 * its default, else null. */
static const struct cr_onnx_attribute *referred(const struct cr_onnx_names *names, const char *of)
{
    for (; names && !names->function; names = names->outer)
        ;
    if (!names)
        return NULL;
    for (int i = 0; i < names->call->n_attributes; i++)
        if (strcmp(names->call->attributes[i].name, of) == 0)
            return &names->call->attributes[i];
    for (int i = 0; i < names->function->n_defaults; i++)
        if (strcmp(names->function->defaults[i].name, of) == 0)
            return &names->function->defaults[i];
    return NULL;
}

/* Returns the attributes of a call.  In a function's body, an attribute that refers to an attribute
 * of the function gets the value of that attribute, and is left out if the function was called
 * without it. */
static struct cr_onnx_attribute *take_attributes(struct cr_onnx_graph *g, const struct cr_onnx_call *call,
                                                 const struct cr_onnx_names *names, int *n)
{
    struct cr_onnx_attribute *taken = cr_arena_new(&g->arena, (size_t)call->n_attributes, sizeof *taken);
    *n = 0;
    for (int i = 0; i < call->n_attributes; i++) {
        const struct cr_onnx_attribute *a = &call->attributes[i], *from = a->of ? referred(names, a->of) : a;
        if (!from)
            continue;
        taken[*n] = *from;
        taken[*n].name = a->name;
        taken[(*n)++].of = NULL;
    }
    return taken;
}

/* ---- bodies ---- */

static int version_of(const struct cr_onnx_names *names, const char *domain)
{
    for (; names && !names->opsets; names = names->outer)
        ;
    for (int i = 0; names && i < names->n_opsets; i++)
        if (strcmp(names->opsets[i].domain, domain) == 0)
            return (int)names->opsets[i].version;
    return 1;
}

static const char *with_prefix(struct cr_onnx_graph *g, const struct cr_onnx_names *names,
                               const char *name)
{
    return *names->prefix ? cr_arena_print(&g->arena, "%s/%s", names->prefix, name) : name;
}

/* Sets the inputs of a call.  Fails if nothing before the call defines a name.  In a function's
 * body, an input that the function's call omits is omitted, too. */
static int take_inputs(struct cr_onnx_graph *g, const struct cr_onnx_call *call,
                       const struct cr_onnx_names *names, int *inputs, struct cr_error *error)
{
    for (int i = 0; i < call->n_inputs; i++) {
        const int *value = *call->inputs[i] ? value_of(names, call->inputs[i]) : NULL;
        inputs[i] = value ? cr_onnx_replacement(g, *value) : CR_ONNX_NONE;
        if (*call->inputs[i] && !value)
            return cr_fail(error,
                           "%.300s: %s (%s) reads %s, expected a node before it that outputs it",
                           g->path, cr_show(call->op, strlen(call->op)).text,
                           cr_show(call->name, strlen(call->name)).text,
                           cr_show(call->inputs[i], strlen(call->inputs[i])).text);
    }
    return 0;
}

static int add_calls(struct cr_onnx_graph *g, const struct cr_onnx_body *body,
                     struct cr_onnx_names *names, struct cr_error *error);

static const struct cr_onnx_function *find_function(const struct cr_onnx_graph *g,
                                                    const struct cr_onnx_call *call)
{
    for (int i = 0; i < g->model->n_functions; i++)
        if (strcmp(g->model->functions[i].name, call->op) == 0 &&
            strcmp(g->model->functions[i].domain, call->domain) == 0)
            return &g->model->functions[i];
    return NULL;
}

/* Replaces a call of a function by its body. */
static int add_function(struct cr_onnx_graph *g, const struct cr_onnx_call *call,
                        const struct cr_onnx_function *f, const int *inputs,
                        struct cr_onnx_names *names, struct cr_error *error)
{
    const char *prefix = with_prefix(g, names, *call->name ? call->name : call->op);
    struct cr_onnx_call *resolved = cr_arena_new(&g->arena, 1, sizeof *resolved);
    *resolved = *call;
    resolved->attributes = take_attributes(g, call, names, &resolved->n_attributes);
    struct cr_onnx_names *kept = new_names(g, &(struct cr_onnx_names){.prefix = prefix,
                                                                      .depth = names->depth + 1,
                                                                      .opsets = f->opsets,
                                                                      .n_opsets = f->n_opsets,
                                                                      .function = f,
                                                                      .call = resolved});
    if (kept->depth > DEPTH)
        return cr_fail(error,
                       "%.300s: calls of functions are nested too deep, expected at most %d levels",
                       g->path, DEPTH);
    for (int i = 0; i < f->body.n_inputs; i++)
        define(kept, f->body.inputs[i].name, i < call->n_inputs ? inputs[i] : CR_ONNX_NONE);
    if (add_calls(g, &f->body, kept, error))
        return -1;
    for (int i = 0; i < f->body.n_outputs && i < call->n_outputs; i++)
        if (*call->outputs[i] && define_new(g, names, call->outputs[i],
                                            cr_onnx_named(kept, f->body.outputs[i].name), error))
            return -1;
    return 0;
}

/* Makes a value of a Constant, so that it needs no node; returns CR_ONNX_NONE if the constant is
 * not a number or a tensor. */
static int add_constant(struct cr_onnx_graph *g, const struct cr_onnx_node *node, const char *name)
{
    const struct cr_onnx_attribute *a = node->n_attributes ? &node->attributes[0] : NULL;
    int64_t n = a ? a->n : 0;
    if (!a)
        return CR_ONNX_NONE;
    if (a->tensor) {
        int v = tensor_value(g, name, a->tensor);
        g->values[v].folded = a->tensor->elements <= WRITTEN;
        return v;
    }
    if (strcmp(a->name, "value_float") == 0)
        return cr_onnx_known(g, name, CR_ONNX_FLOAT, 0, NULL, &a->f);
    if (strcmp(a->name, "value_int") == 0)
        return cr_onnx_known(g, name, CR_ONNX_INT64, 0, NULL, &(double){(double)a->i});
    if (strcmp(a->name, "value_floats") == 0 && (a->floats || !n))
        return cr_onnx_known(g, name, CR_ONNX_FLOAT, 1, &n, a->floats);
    if (strcmp(a->name, "value_ints") != 0 || (n && !a->ints))
        return CR_ONNX_NONE;
    double *data = cr_calloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (double)a->ints[i];
    int v = cr_onnx_known(g, name, CR_ONNX_INT64, 1, &n, data);
    free(data);
    return v;
}

/* Adds a node for a call of an operator. */
static int add_node(struct cr_onnx_graph *g, const struct cr_onnx_call *call, const int *inputs,
                    struct cr_onnx_names *names, struct cr_error *error)
{
    if (strcmp(call->domain, CR_ONNX_CRESCENT) == 0)
        return cr_fail(error,
                       "%.300s: found an operator of the domain %s, expected a domain of ONNX",
                       g->path, CR_ONNX_CRESCENT);
    struct cr_onnx_node *node =
        cr_onnx_new_node(g, call->domain, call->op, call->n_inputs, call->n_outputs);
    int number = g->n_nodes - 1;
    node->name = with_prefix(g, names, call->name);
    node->scope = call->scope;
    node->version = version_of(names, call->domain);
    node->names = names;
    for (int i = 0; i < call->n_inputs; i++)
        cr_onnx_set_input(g, number, i, inputs[i]);
    node->attributes = take_attributes(g, call, names, &node->n_attributes);
    if (strcmp(call->op, "Constant") == 0 && !*call->domain && call->n_outputs == 1) {
        int v = add_constant(g, node, with_prefix(g, names, call->outputs[0]));
        if (v != CR_ONNX_NONE) {
            g->n_nodes--;
            return define_new(g, names, call->outputs[0], v, error);
        }
    }
    for (int i = 0; i < call->n_outputs; i++)
        if (*call->outputs[i]) {
            int v = cr_onnx_new_value(g, with_prefix(g, names, call->outputs[i]));
            cr_onnx_set_output(g, number, i, v);
            if (define_new(g, names, call->outputs[i], v, error))
                return -1;
        }
    if (g->n_nodes > MOST_NODES)
        return cr_fail(error, "%.300s: too many nodes, expected at most %d", g->path, MOST_NODES);
    return 0;
}

static int add_call(struct cr_onnx_graph *g, const struct cr_onnx_call *call,
                    struct cr_onnx_names *names, struct cr_error *error)
{
    int *inputs = new_list(g, call->n_inputs);
    if (take_inputs(g, call, names, inputs, error))
        return -1;
    const struct cr_onnx_function *f = find_function(g, call);
    return f ? add_function(g, call, f, inputs, names, error)
             : add_node(g, call, inputs, names, error);
}

/* Adds the initializers of a body, then its calls in order. */
static int add_calls(struct cr_onnx_graph *g, const struct cr_onnx_body *body,
                     struct cr_onnx_names *names, struct cr_error *error)
{
    for (int i = 0; i < body->n_initializers; i++) {
        const struct cr_onnx_tensor *t = &body->initializers[i];
        int v = tensor_value(g, with_prefix(g, names, t->name), t);
        if (define_new(g, names, t->name, v, error))
            return -1;
    }
    for (int i = 0; i < body->n_calls; i++)
        if (add_call(g, &body->calls[i], names, error))
            return -1;
    return 0;
}

int cr_onnx_inline(struct cr_onnx_graph *g, const struct cr_onnx_node *node,
                   const struct cr_onnx_body *body, const char *prefix, const int *inputs,
                   int *outputs, struct cr_error *error)
{
    const char *kept = cr_arena_text(&g->arena, prefix, strlen(prefix));
    struct cr_onnx_names *names = new_names(
        g, &(struct cr_onnx_names){.outer = node->names, .prefix = kept, .depth = node->names->depth + 1});
    if (names->depth > DEPTH)
        return cr_fail(error, "%.300s: graphs are nested too deep, expected at most %d levels",
                       g->path, DEPTH);
    for (int i = 0; i < body->n_inputs; i++)
        define(names, body->inputs[i].name, inputs[i]);
    if (add_calls(g, body, names, error))
        return -1;
    for (int i = 0; i < body->n_outputs; i++) {
        outputs[i] = cr_onnx_replacement(g, cr_onnx_named(names, body->outputs[i].name));
        if (outputs[i] == CR_ONNX_NONE)
            return cr_fail(error, "%.300s: no node computes the output %s, expected one", g->path,
                           cr_show(body->outputs[i].name, strlen(body->outputs[i].name)).text);
    }
    return 0;
}

/* ---- the whole ---- */

/* Fails if an input that is also an initializer has another type or known sizes that differ. */
static int check_default(const struct cr_onnx_graph *g, const struct cr_onnx_info *info,
                         const struct cr_onnx_tensor *t, struct cr_error *error)
{
    bool fits = info->rank < 0 || info->rank == t->rank;
    for (int i = 0; fits && i < info->rank; i++)
        fits = info->sizes[i].size < 0 || info->sizes[i].name || info->sizes[i].size == t->shape[i];
    if (fits && (!info->type || info->type == (int)t->type))
        return 0;
    return cr_fail(error, "%.300s: input %s has another type or shape than its initializer, "
                   "expected the same", g->path, cr_show(info->name, strlen(info->name)).text);
}

/* Returns a map from names to indices of initializers.  add_calls refuses a name that occurs
 * twice. */
static const struct cr_onnx_names *defaults_of(struct cr_onnx_graph *g)
{
    const struct cr_onnx_body *body = &g->model->graph;
    struct cr_onnx_names *names = new_names(g, &(struct cr_onnx_names){.prefix = ""});
    for (int i = 0; i < body->n_initializers; i++)
        define(names, body->initializers[i].name, i);
    return names;
}

/* Adds the inputs of the model, without initializers, which older files list as inputs. */
static int add_inputs(struct cr_onnx_graph *g, struct cr_onnx_names *names, struct cr_error *error)
{
    const struct cr_onnx_body *body = &g->model->graph;
    const struct cr_onnx_names *defaults = defaults_of(g);
    g->inputs = new_list(g, body->n_inputs);
    for (int i = 0; i < body->n_inputs; i++) {
        const struct cr_onnx_info *info = &body->inputs[i];
        int given = cr_onnx_named(defaults, info->name);
        if (given != CR_ONNX_NONE) {
            if (check_default(g, info, &body->initializers[given], error))
                return -1;
            continue;
        }
        int v = cr_onnx_new_value(g, info->name);
        g->values[v].info = info;
        g->values[v].is_input = true;
        g->inputs[g->n_inputs++] = v;
        if (define_new(g, names, info->name, v, error))
            return -1;
    }
    return 0;
}

/* Adds the outputs.  They keep their names, even if a pass replaces the value. */
static int add_outputs(struct cr_onnx_graph *g, struct cr_onnx_names *names, struct cr_error *error)
{
    const struct cr_onnx_body *body = &g->model->graph;
    struct cr_onnx_names *taken = new_names(g, &(struct cr_onnx_names){.prefix = ""});
    g->outputs = new_list(g, body->n_outputs);
    g->output_names = cr_arena_new(&g->arena, (size_t)body->n_outputs, sizeof *g->output_names);
    for (int i = 0; i < body->n_outputs; i++) {
        int v = cr_onnx_named(names, body->outputs[i].name);
        if (v == CR_ONNX_NONE)
            return cr_fail(error, "%.300s: no node computes the output %s, expected one", g->path,
                           cr_show(body->outputs[i].name, strlen(body->outputs[i].name)).text);
        if (define_new(g, taken, body->outputs[i].name, v, error))
            return -1;
        g->values[v].is_output = true;
        g->output_names[g->n_outputs] = body->outputs[i].name;
        g->outputs[g->n_outputs++] = v;
    }
    return 0;
}

/* Fails for versions that are not known, as later ones may change operators. */
static int check_opsets(const struct cr_onnx_graph *g, const struct cr_onnx_opset *opsets, int n,
                        struct cr_error *error)
{
    for (int i = 0; i < n; i++) {
        const char *domain = opsets[i].domain;
        int64_t version = opsets[i].version, most = *domain ? INT32_MAX : NEWEST;
        if (version < 1 || version > most)
            return cr_fail(error, "%.300s: version %" PRId64 " of %s, expected 1 to %" PRId64, g->path,
                           version, *domain ? cr_show(domain, strlen(domain)).text : "ai.onnx", most);
    }
    return 0;
}

static int check_all_opsets(const struct cr_onnx_graph *g, struct cr_error *error)
{
    const struct cr_onnx_model *m = g->model;
    if (check_opsets(g, m->opsets, m->n_opsets, error))
        return -1;
    for (int i = 0; i < m->n_functions; i++)
        if (check_opsets(g, m->functions[i].opsets, m->functions[i].n_opsets, error))
            return -1;
    return 0;
}

int cr_onnx_graph_make(struct cr_onnx_graph *g, const struct cr_onnx_model *model,
                       struct cr_error *error)
{
    *g = (struct cr_onnx_graph){.path = model->path, .model = model};
    g->symbols = cr_arena_new(&g->arena, 1, sizeof *g->symbols);
    struct cr_onnx_names *names = new_names(
        g, &(struct cr_onnx_names){.prefix = "", .opsets = model->opsets, .n_opsets = model->n_opsets});
    if (check_all_opsets(g, error) == 0 && add_inputs(g, names, error) == 0 &&
        add_calls(g, &model->graph, names, error) == 0 && add_outputs(g, names, error) == 0)
        return 0;
    cr_onnx_graph_free(g);
    return -1;
}

void cr_onnx_graph_free(struct cr_onnx_graph *g)
{
    free(g->values);
    free(g->nodes);
    free(g->uses);
    for (; g->names; g->names = g->names->made_before) {
        cr_names_free(&g->names->names);
        free(g->names->values);
    }
    cr_elements_free(&g->elements);
    cr_arena_free(&g->arena);
    *g = (struct cr_onnx_graph){0};
}

/* ---- for passes ---- */

static void add_users(struct cr_onnx_graph *g, int value, int n)
{
    if (value != CR_ONNX_NONE)
        g->values[value].users += n;
}

/* Adds input number `input` of a node to the list of uses of the value that it reads. */
static void add_use(struct cr_onnx_graph *g, int node, int input)
{
    int value = g->nodes[node].inputs[input];
    if (value == CR_ONNX_NONE)
        return;
    *CR_PUSH(g->uses, g->n_uses, g->cap_uses) = (struct cr_onnx_use){node, input, g->values[value].uses};
    g->values[value].uses = g->n_uses;
}

/* True if the input that `use` describes still reads the value: it may have been set to another
 * one. */
static bool is_used(const struct cr_onnx_graph *g, const struct cr_onnx_use *use, int value)
{
    return g->nodes[use->node].inputs[use->input] == value;
}

void cr_onnx_set_input(struct cr_onnx_graph *g, int node, int input, int value)
{
    struct cr_onnx_node *n = &g->nodes[node];
    g->is_swept = false;
    if (!n->dead) {
        add_users(g, n->inputs[input], -1);
        add_users(g, value, 1);
    }
    n->inputs[input] = value;
    add_use(g, node, input);
}

void cr_onnx_mark_dead(struct cr_onnx_graph *g, int node)
{
    struct cr_onnx_node *n = &g->nodes[node];
    for (int i = 0; i < n->n_inputs && !n->dead; i++)
        add_users(g, n->inputs[i], -1);
    n->dead = true;
    g->is_swept = false;
}

void cr_onnx_replace(struct cr_onnx_graph *g, int value, int by)
{
    int uses = g->values[value].uses;
    g->is_swept = false;
    g->values[value].uses = 0;
    while (uses) {
        const struct cr_onnx_use use = g->uses[uses - 1];
        if (is_used(g, &use, value)) {
            g->nodes[use.node].inputs[use.input] = by;
            add_use(g, use.node, use.input);
        }
        uses = use.next;
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == value) {
            g->outputs[i] = by;
            g->values[by].is_output = true;
        }
    g->values[value].is_output = false;
    if (value != by) {
        add_users(g, by, g->values[value].users);
        g->values[value].users = 0;
        g->values[value].by = by + 1;
    }
}

#ifdef CR_DEBUG
/* Counts the users of a value anew, to check `users`, which is updated at each change. */
static int count_users(const struct cr_onnx_graph *g, int value)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->nodes[i].n_inputs && !g->nodes[i].dead; j++)
            n += g->nodes[i].inputs[j] == value;
    for (int i = 0; i < g->n_outputs; i++)
        n += g->outputs[i] == value;
    return n;
}
#endif

int cr_onnx_users(const struct cr_onnx_graph *g, int value)
{
#ifdef CR_DEBUG
    CR_CHECK(value == CR_ONNX_NONE || count_users(g, value) == g->values[value].users);
#endif
    return value == CR_ONNX_NONE ? 0 : g->values[value].users;
}

int cr_onnx_user(const struct cr_onnx_graph *g, int value)
{
    for (int i = g->values[value].uses; i; i = g->uses[i - 1].next)
        if (!g->nodes[g->uses[i - 1].node].dead && is_used(g, &g->uses[i - 1], value))
            return g->uses[i - 1].node;
    return CR_ONNX_NONE;
}

const double *cr_onnx_computed(const struct cr_onnx_value *value)
{
    const struct cr_onnx_tensor *t = value->tensor;
    bool are_doubles = value->folded && t->type == CR_ONNX_DOUBLE && !t->is_transposed &&
                       (uintptr_t)t->data % sizeof(double) == 0;
    return are_doubles ? (const double *)(const void *)t->data : NULL;
}

bool cr_onnx_scalar(const struct cr_onnx_graph *g, int value, double *out)
{
    const struct cr_onnx_tensor *t = value == CR_ONNX_NONE ? NULL : g->values[value].tensor;
    if (!t || t->elements != 1 || !t->data)
        return false;
    *out = cr_onnx_element(t, 0);
    return true;
}

const char *cr_onnx_node_text(const struct cr_onnx_node *node, char *buf, size_t size)
{
    const char *domain = node->domain;
    snprintf(buf, size, "%.60s%s%.60s (%s)", domain, *domain ? "." : "", node->op,
             *node->name ? cr_show(node->name, strlen(node->name)).text : "without a name");
    return buf;
}

/* The topological order of nodes that is being made. */
struct ordering {
    struct cr_onnx_graph *graph;
    unsigned char *state; /* by node: 0 before its visit, 1 while its inputs are visited, 2 when the
                             node is placed */
    int *order, n;
};

/* Places a node after its inputs; false if nodes form a cycle. */
static bool place(struct ordering *o, int node)
{
    struct cr_onnx_node *n = &o->graph->nodes[node];
    if (o->state[node])
        return o->state[node] == 2;
    o->state[node] = 1;
    for (int i = 0; i < n->n_inputs; i++) {
        int producer =
            n->inputs[i] == CR_ONNX_NONE ? CR_ONNX_NONE : o->graph->values[n->inputs[i]].producer;
        if (producer != CR_ONNX_NONE && !place(o, producer))
            return false;
    }
    o->state[node] = 2;
    o->order[o->n++] = node;
    return true;
}

/* Marks the nodes that outputs depend on, in reverse topological order. */
static void mark_needed(const struct cr_onnx_graph *g, const struct ordering *o, bool *needed)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->values[g->outputs[i]].producer != CR_ONNX_NONE)
            needed[g->values[g->outputs[i]].producer] = true;
    for (int i = o->n - 1; i >= 0; i--) {
        const struct cr_onnx_node *n = &g->nodes[o->order[i]];
        for (int j = 0; needed[o->order[i]] && j < n->n_inputs; j++)
            if (n->inputs[j] != CR_ONNX_NONE && g->values[n->inputs[j]].producer != CR_ONNX_NONE)
                needed[g->values[n->inputs[j]].producer] = true;
    }
}

static bool find_order(struct ordering *o)
{
    for (int i = 0; i < o->graph->n_nodes; i++)
        if (!o->graph->nodes[i].dead && !place(o, i))
            return false;
    return true;
}

/* Sets the producer, the list of uses and the number of users of each value. */
static void find_links(struct cr_onnx_graph *g)
{
    g->n_uses = 0;
    for (int i = 0; i < g->n_values; i++) {
        g->values[i].producer = CR_ONNX_NONE;
        g->values[i].users = g->values[i].uses = 0;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_onnx_node *n = &g->nodes[i];
        for (int j = 0; j < n->n_inputs && !n->dead; j++) {
            add_users(g, n->inputs[j], 1);
            add_use(g, i, j);
        }
        for (int j = 0; j < n->n_outputs; j++)
            if (n->outputs[j] != CR_ONNX_NONE)
                g->values[n->outputs[j]].producer = i;
    }
    for (int i = 0; i < g->n_outputs; i++)
        add_users(g, g->outputs[i], 1);
}

int cr_onnx_sweep(struct cr_onnx_graph *g, struct cr_error *error)
{
    size_t n = (size_t)g->n_nodes;
    if (g->is_swept)
        return 0;
    struct ordering o = {g, cr_calloc(n, 1), cr_calloc(n, sizeof *o.order), 0};
    bool *needed = cr_calloc(n, sizeof *needed);
    struct cr_onnx_node *nodes = cr_calloc(n, sizeof *nodes);
    int status =
        find_order(&o) ? 0 : cr_fail(error,
                                     "%.300s: the nodes form a cycle, expected a graph without one",
                                     g->path);
    int kept = 0;
    if (!status) {
        mark_needed(g, &o, needed);
        for (int i = 0; i < o.n; i++)
            if (needed[o.order[i]])
                nodes[kept++] = g->nodes[o.order[i]];
        if (kept)
            memcpy(g->nodes, nodes, (size_t)kept * sizeof *nodes);
        g->n_nodes = kept;
        find_links(g);
        g->is_swept = true;
    }
    free(o.state);
    free(o.order);
    free(needed);
    free(nodes);
    return status;
}
