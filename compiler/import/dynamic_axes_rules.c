/*
 * dynamic_axes_rules.c - rules for operations on axes that are lengths; see dynamic_axes.h.
 *
 * An axis of a length is stored with the bound as its size.  The front end infers that it is cut to
 * the length if it comes from an input, or meets such an axis in an operation.  Until then, axes of
 * known elements and of tables run to the bound.  This has no effect on elementwise operations;
 * where elements are reduced or output, limit(x, shape) cuts the axis.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "dynamic_axes.h"
#include "shape_inference.h"
#include "term_map.h"
#include "term_parts.h"

struct settling {
    struct cr_onnx_script *script;
    int node; /* the node of the current term */
    signed char (*values)[CR_ONNX_RANK]; /* by value of the graph: the lengths that its axes are
                                            cut to, see cr_onnx_term */
    struct cr_term_map made;
    struct cr_error *error;
};

static struct cr_arena *arena_of(const struct settling *s)
{
    return &s->script->graph->arena;
}

/* Refuses an axis of a term that is a length; the error advises to fix the length's size. */
static bool refuse(const struct settling *s, cr_t x, const char *what, int axis)
{
    char text[256];
    const struct cr_onnx_graph *g = s->script->graph;
    const struct cr_onnx_length *length = &s->script->graph->symbols->lengths[x->lengths[axis] - 1];
    if (!s->error->text[0])
        cr_fail(s->error, "%.300s: %s: %s the length %.60s (axis %d), expected --set %.60s=N",
                g->path,
                s->node == CR_ONNX_NONE ? "an output"
                                        : cr_onnx_node_text(&g->nodes[s->node], text, sizeof text),
                what, length->name, axis + 1, length->name);
    return false;
}

/* ---- arguments ---- */

static cr_t operand(cr_t x, int i)
{
    return i < x->n_arguments ? x->arguments[i].term : NULL;
}

/* ---- which axes are cut ---- */

/* Refuses a term.  The message names a length of an operand or of the result. */
static bool refuse_term(struct settling *s, cr_t x, const char *what)
{
    struct cr_onnx_graph *g = s->script->graph;
    char node[256];
    int length = 0;
    for (int i = -1; i < x->n_arguments; i++) {
        cr_t y = i < 0 ? x : operand(x, i);
        for (int a = 0; y && a < y->rank; a++)
            length = y->lengths[a] ? y->lengths[a] - 1 : length;
    }
    if (!s->error->text[0])
        cr_fail(s->error, "%.300s: %s: %s, or --set %.60s=N", g->path,
                s->node == CR_ONNX_NONE ? "an output"
                                        : cr_onnx_node_text(&g->nodes[s->node], node, sizeof node),
                what, s->script->graph->symbols->lengths[length].name);
    return false;
}

/* True if a term or an operand of it has an axis that is a length. */
static bool has_length(cr_t x)
{
    static const signed char none[CR_ONNX_RANK];
    bool has = memcmp(x->lengths, none, sizeof none) != 0;
    for (int i = 0; i < x->n_arguments && !has; i++)
        has = operand(x, i) && memcmp(operand(x, i)->lengths, none, sizeof none) != 0;
    return has;
}

static bool is_cut(cr_t x)
{
    return memcmp(x->cuts, x->lengths, sizeof x->cuts) == 0;
}

static bool has_cut_operands(cr_t x)
{
    bool all = true;
    for (int i = 0; i < x->n_arguments; i++)
        all &= !operand(x, i) || is_cut(operand(x, i));
    return all;
}

/* Returns a term that is cut to all of its lengths: limit(x, {seq, 4}). */
static cr_t limited(struct settling *s, cr_t x)
{
    struct cr_onnx_term *y = cr_arena_new(arena_of(s), 1, sizeof *y);
    struct cr_onnx_argument *arguments = cr_arena_new(arena_of(s), 2, sizeof *arguments);
    const char *shape = "{";
    if (is_cut(x))
        return x;
    for (int a = 0; a < x->rank; a++) {
        const char *comma = a ? ", " : "";
        shape = x->lengths[a] ? cr_arena_print(arena_of(s), "%s%s%c%d", shape, comma, CR_TERM_LENGTH,
                                               x->lengths[a] - 1)
                              : cr_arena_print(arena_of(s), "%s%s%" PRId64, shape, comma, x->shape[a]);
    }
    arguments[0].term = x;
    arguments[1].text = cr_arena_print(arena_of(s), "%s}", shape);
    *y = *x;
    y->kind = CR_TERM_CALL;
    y->name = "limit";
    y->arguments = arguments;
    y->n_arguments = 2;
    y->data = NULL;
    memcpy(y->cuts, y->lengths, sizeof y->cuts);
    return y;
}

/* Cuts all operands to their lengths. */
static void limit_operands(struct settling *s, struct cr_onnx_term *x)
{
    size_t n = (size_t)x->n_arguments;
    struct cr_onnx_argument *arguments = cr_arena_new(arena_of(s), n, sizeof *arguments);
    for (size_t i = 0; i < n; i++) {
        arguments[i] = x->arguments[i];
        if (arguments[i].term)
            arguments[i].term = limited(s, arguments[i].term);
    }
    x->arguments = arguments;
}

/* True if a function computes with the size of its operand's last axis, which is the bound. */
static bool computes_with_width(cr_t x)
{
    return (x->kind == CR_TERM_SCOPE && strcmp(x->name, "nn.embedding") != 0) ||
           strcmp(x->name, "attention.attend") == 0 || strcmp(x->name, "attention.grouped") == 0;
}

/* Sets the cuts of a new term, which the front end infers from the cuts of its operands; false if
 * it refuses the term.  Where a reduction would run to the bound, operands are cut first. */
static bool cut(struct settling *s, struct cr_onnx_term *x)
{
    struct cr_inferred result;
    struct cr_error error = {""};
    memset(x->cuts, 0, sizeof x->cuts);
    if (!has_length(x) || strcmp(x->name, "rotary.angles") == 0) /* angles are a table */
        return true;
    if (computes_with_width(x) && operand(x, 0)->lengths[operand(x, 0)->rank - 1])
        return refuse_term(s, x, "its width is a length, expected a number");
    if (!has_cut_operands(x) && cr_onnx_runs_to_bound(s->script->graph, x))
        limit_operands(s, x);
    if (cr_onnx_infer_cut(s->script->graph, x, &result, &error))
        return refuse_term(s, x, error.text);
    for (int a = 0; a < x->rank; a++)
        if (result.lengths[a] && result.lengths[a] != x->lengths[a])
            return refuse_term(s, x,
                               "found an axis with a length that the file does not give it, expected "
                               "the length of the file");
    memcpy(x->cuts, result.lengths, sizeof x->cuts);
    return true;
}

/* ---- terms that are rewritten ---- */

static cr_t remade(struct settling *s, cr_t x);

/* Makes a call with the type, shape and lengths of `like`. */
static cr_t call(struct settling *s, enum cr_onnx_term_kind kind, const char *name, cr_t like,
                 const struct cr_onnx_argument *arguments, int n)
{
    struct cr_onnx_term *x = cr_arena_new(arena_of(s), 1, sizeof *x);
    *x = *like;
    x->kind = kind;
    x->name = name;
    x->arguments = memcpy(cr_arena_new(arena_of(s), (size_t)n, sizeof *arguments), arguments,
                          (size_t)n * sizeof *arguments);
    x->n_arguments = n;
    x->data = NULL;
    cut(s, x);
    return x;
}

/* Returns a term with axes 0 and `axis` exchanged. */
static cr_t exchanged(struct settling *s, cr_t x, int axis)
{
    struct cr_onnx_term like = *x;
    if (axis == 0)
        return x;
    like.shape[0] = x->shape[axis];
    like.shape[axis] = x->shape[0];
    like.lengths[0] = x->lengths[axis];
    like.lengths[axis] = x->lengths[0];
    return call(s, CR_TERM_CALL, "transpose", &like,
                (struct cr_onnx_argument[]){{x, NULL},
                                            {NULL, "1"},
                                            {NULL, cr_arena_print(arena_of(s), "%d", axis + 1)}},
                3);
}

/* Gathers elements of an axis by an index. */
static cr_t picked(struct settling *s, cr_t x, int axis, cr_t index)
{
    cr_t front = exchanged(s, x, axis);
    struct cr_onnx_term like = *front;
    like.shape[0] = index->shape[0];
    like.lengths[0] = 0;
    return exchanged(s,
                     call(s, CR_TERM_CALL, "gather", &like,
                          (struct cr_onnx_argument[]){{front, NULL}, {index, NULL}}, 2),
                     axis);
}

static const struct cr_onnx_term one_index = {
    .type = CR_ONNX_INT64, .rank = 1, .shape = {1}, .name = ""};

/* The index of a length's first element, {0}; narrow cannot take a part of such an axis. */
static cr_t first_index(struct settling *s)
{
    struct cr_onnx_term *index = cr_arena_new(arena_of(s), 1, sizeof *index);
    *index = one_index;
    index->kind = CR_TERM_DATA;
    index->data = cr_arena_new(arena_of(s), 1, sizeof *index->data);
    return index;
}

/* The index of a length's last element: expand(seq - 1, {1}). */
static cr_t last_index(struct settling *s, int length)
{
    static const double one = 1;
    struct cr_onnx_term *value = cr_arena_new(arena_of(s), 1, sizeof *value),
                        *number = cr_arena_new(arena_of(s), 1, sizeof *number);
    *number = (struct cr_onnx_term){
        .kind = CR_TERM_DATA, .type = CR_ONNX_INT64, .data = &one, .name = ""};
    *value = *number;
    value->kind = CR_TERM_VALUE;
    value->data = NULL;
    value->value = s->script->graph->symbols->lengths[length].value;
    cr_t last = call(s, CR_TERM_INFIX, "-", value,
                     (struct cr_onnx_argument[]){{value, NULL}, {number, NULL}}, 2);
    return call(s, CR_TERM_CALL, "expand", &one_index,
                (struct cr_onnx_argument[]){{last, NULL}, {NULL, "{1}"}}, 2);
}

/* Rewrites a narrow.  Its size is a number, for a length the bound.  A part of a length may only
 * be its first or its last element, which always exist. */
static cr_t narrowed(struct settling *s, cr_t x)
{
    int a = atoi(x->arguments[1].text) - 1;
    cr_t y = operand(x, 0);
    const char *from = x->arguments[2].text;
    bool behind = *from == CR_TERM_LENGTH, part = y->lengths[a] && !x->lengths[a];
    int64_t start = strtoll(behind ? from + 2 : from, NULL, 10);
    if ((behind && (start != -1 || x->shape[a] != 1)) || (part && !behind && start + x->shape[a] > 1)) {
        struct cr_onnx_term like = *y;
        like.lengths[a] = (signed char)(behind ? from[1] - '0' + 1 : y->lengths[a]);
        refuse(s, &like, "it takes elements that do not exist if the size is 1, along", a);
    }
    if (part || behind)
        return picked(s, y, a, behind ? last_index(s, from[1] - '0') : first_index(s));
    struct cr_onnx_argument arguments[4];
    memcpy(arguments, x->arguments, sizeof arguments);
    arguments[3].text = cr_arena_print(arena_of(s), "%lld", (long long)x->shape[a]);
    return call(s, CR_TERM_CALL, "narrow", x, arguments, 4);
}

/* Rewrites a term and its operands into forms that the language has. */
static cr_t remake(struct settling *s, cr_t x)
{
    struct cr_onnx_term *copy = cr_arena_new(arena_of(s), 1, sizeof *copy);
    struct cr_onnx_argument *arguments =
        cr_arena_new(arena_of(s), (size_t)x->n_arguments + 1, sizeof *arguments);
    *copy = *x;
    copy->arguments = arguments;
    for (int i = 0; i < x->n_arguments; i++) {
        arguments[i] = x->arguments[i];
        if (arguments[i].term)
            arguments[i].term = remade(s, arguments[i].term);
    }
    if (copy->kind == CR_TERM_CALL && strcmp(copy->name, "narrow") == 0 && x->n_arguments == 4)
        return narrowed(s, copy);
    cut(s, copy);
    return copy;
}

/* Returns the term of a value with the value's cuts. */
static cr_t as_cut(const struct settling *s, cr_t x)
{
    struct cr_onnx_term *copy = cr_arena_new(arena_of(s), 1, sizeof *copy);
    *copy = *x;
    memcpy(copy->cuts, s->values[x->value], sizeof copy->cuts);
    return copy;
}

/* Rewrites each term once, so that shared terms stay shared. */
static cr_t remade(struct settling *s, cr_t x)
{
    cr_t done = cr_term_map_find(&s->made, x);
    if (done || x->kind == CR_TERM_DATA)
        return done ? done : x;
    done = x->kind == CR_TERM_VALUE ? as_cut(s, x) : remake(s, x);
    cr_term_map_add(&s->made, x, done);
    return done;
}

/* ---- the whole ---- */

static void settle_inputs(struct settling *s)
{
    const struct cr_onnx_graph *g = s->script->graph;
    for (int i = 0; i < g->n_inputs; i++)
        if (!g->values[g->inputs[i]].tensor)
            cr_onnx_input_lengths(g->symbols, &g->values[g->inputs[i]], s->values[g->inputs[i]]);
}

/* Rewrites the outputs, and cuts them to their lengths. */
static void settle_outputs(struct settling *s)
{
    const struct cr_onnx_graph *g = s->script->graph;
    s->node = CR_ONNX_NONE;
    for (int i = 0; i < g->n_outputs; i++) {
        cr_t *x = &s->script->terms[g->outputs[i]];
        *x = limited(s, remade(s, *x));
    }
}

static bool settle_statements(struct settling *s)
{
    for (int i = 0; i < s->script->n_statements; i++) {
        struct cr_onnx_statement *x = &s->script->statements[i];
        s->node = x->node;
        x->term = remade(s, x->term);
        if (s->error->text[0])
            return false;
        memcpy(s->values[x->value], x->term->cuts, sizeof s->values[x->value]);
    }
    return true;
}

int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error)
{
    size_t n = (size_t)script->graph->n_values;
    struct settling s = {.script = script, .values = cr_calloc(n, sizeof *s.values), .error = error};
    error->text[0] = '\0';
    settle_inputs(&s);
    if (settle_statements(&s))
        settle_outputs(&s);
    cr_term_map_free(&s.made);
    free(s.values);
    return error->text[0] ? -1 : 0;
}
