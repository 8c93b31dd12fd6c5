/*
 * dynamic_axes_rules.c - rules for operations on axes that are lengths; see dynamic_axes.h.
 *
 * A tensor with an axis of a length is allocated for the bound.  The front end infers that the axis
 * is cut to the length if the tensor comes from an input, or meets such an axis in an operation.
 * Until then, axes of known elements and of tables run to the bound.  This has no effect on
 * elementwise operations; where elements are reduced or output, limit(x, shape) cuts the axis.
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
    int node; /* the node that the current term is translated from */
    signed char (*values)[CR_ONNX_RANK]; /* by value of the graph: the lengths that the axes of its
                                            term are cut to; see struct cr_onnx_term */
    struct cr_term_map made;
    struct cr_error *error;
};

static struct cr_arena *arena_of(const struct settling *s)
{
    return &s->script->graph->arena;
}

/* Reports that `axis` of a term is a length; the message advises to fix its size by --set.  Returns
 * false. */
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

/* Reports an error of a term; returns false.  The message names a length of an operand or of the
 * result. */
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

/* True if an axis of a term or of one of its operands is a length. */
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

/* Returns `x` if all its axes that are lengths are cut, else a call that cuts them: limit(x, {seq,
 * 4}). */
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

/* Replaces each operand of a call by its `limited` term. */
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

/* True if a function uses the size of its operand's last axis as a number: that would be the bound,
 * not the length. */
static bool computes_with_width(cr_t x)
{
    return (x->kind == CR_TERM_SCOPE && strcmp(x->name, "nn.embedding") != 0) ||
           strcmp(x->name, "attention.attend") == 0 || strcmp(x->name, "attention.grouped") == 0;
}

/* Sets the cuts of a new term, which the front end infers from the cuts of its operands; returns
 * false if the front end refuses the term.  Cuts the operands first if a reduction would run to the
 * bound. */
static bool cut(struct settling *s, struct cr_onnx_term *x)
{
    struct cr_inferred result;
    struct cr_error error = {""};
    memset(x->cuts, 0, sizeof x->cuts);
    if (!has_length(x) || strcmp(x->name, "rotary.angles") == 0) /* rotary angles are a table up to
                                                                    the bound */
        return true;
    if (computes_with_width(x) && operand(x, 0)->lengths[operand(x, 0)->rank - 1])
        return refuse_term(s, x, "the size of its last axis is a length, expected a number");
    if (!has_cut_operands(x) && cr_onnx_runs_to_bound(s->script->graph, x))
        limit_operands(s, x);
    if (cr_onnx_infer_cut(s->script->graph, x, &result, &error))
        return refuse_term(s, x, error.text);
    for (int a = 0; a < x->rank; a++)
        if (result.lengths[a] && result.lengths[a] != x->lengths[a])
            return refuse_term(s, x,
                               "found an axis that ends at another length than in the file, expected "
                               "the same length");
    memcpy(x->cuts, result.lengths, sizeof x->cuts);
    return true;
}

/* ---- terms that are rewritten ---- */

static cr_t remade(struct settling *s, cr_t x);

/* Refuses a narrow that takes some elements along an axis that is a length, or begins at a length.
 * (For elements that exist for every length, cr_t_narrow has made a gather by an index instead.) */
static void check_narrow(struct settling *s, cr_t x)
{
    int a = atoi(x->arguments[1].text) - 1;
    const char *from = x->arguments[2].text;
    struct cr_onnx_term like = *operand(x, 0);
    bool part = like.lengths[a] && !x->lengths[a];
    if (*from == CR_TERM_LENGTH)
        like.lengths[a] = (signed char)(from[1] - '0' + 1);
    if (part || *from == CR_TERM_LENGTH)
        refuse(s, &like, "it takes elements that do not exist if the size is 1, along", a);
}

/* Returns a copy of a term with rewritten operands, which are cut to their lengths if a reduction
 * needs that. */
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
    if (copy->kind == CR_TERM_CALL && strcmp(copy->name, "narrow") == 0)
        check_narrow(s, copy);
    cut(s, copy);
    return copy;
}

/* Returns a copy of the term that reads a value, with the cuts of that value. */
static cr_t as_cut(const struct settling *s, cr_t x)
{
    struct cr_onnx_term *copy = cr_arena_new(arena_of(s), 1, sizeof *copy);
    *copy = *x;
    memcpy(copy->cuts, s->values[x->value], sizeof copy->cuts);
    return copy;
}

/* Returns the rewritten term of `x`.  Each term is rewritten once, so that shared terms stay
 * shared. */
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

/* Rewrites the terms of the outputs, and cuts all their axes that are lengths. */
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
