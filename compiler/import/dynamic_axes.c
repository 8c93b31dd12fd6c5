/* dynamic_axes.c - finds the lengths in the terms of a script; see dynamic_axes.h. */
#include "dynamic_axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "shape_inference.h"
#include "term_map.h"
#include "term_parts.h"

struct finding {
    struct cr_onnx_script *script;
    struct cr_symbols *symbols;
    int node; /* the node that the current term is translated from */
    struct cr_term_map checked, done;
    struct cr_error *error;
};

/* ---- errors ---- */

static struct cr_arena *arena_of(const struct finding *f)
{
    return &f->script->graph->arena;
}

/* Reports that a term depends on a length in another way than a script can express; returns false.
 * `sample` is a sample (symbols.h) in which the term differs from the first sample; `what`
 * describes the difference. */
static bool refuse(const struct finding *f, int sample, const char *what)
{
    char text[256];
    int64_t size;
    const struct cr_onnx_graph *g = f->script->graph;
    const char *name = f->symbols->lengths[cr_symbols_varied(f->symbols, sample, &size)].name;
    if (!f->error->text[0])
        cr_fail(f->error,
                "%.300s: %s: found %s, expected one number or the length itself, or --set %.60s=N",
                g->path,
                f->node == CR_ONNX_NONE ? "an input or output"
                                        : cr_onnx_node_text(&g->nodes[f->node], text, sizeof text),
                what, name);
    return false;
}

/* Formats the name of the length that a sample changes, its size in that sample, and its bound: "n
 * = 11 than with 16". */
static const char *in_samples(const struct finding *f, int sample, const char *format)
{
    int64_t size;
    const struct cr_onnx_length *length = &f->symbols->lengths[cr_symbols_varied(f->symbols, sample, &size)];
    return cr_arena_print(arena_of(f), format, length->name, size, length->bound);
}

/* Returns the first sample in which a symbol has another value than in sample 0. */
static int differing(const struct finding *f, double symbol)
{
    int sample = 1;
    while (sample < f->symbols->n_samples - 1 &&
           cr_number_at(f->symbols, symbol, sample) == cr_number_at(f->symbols, symbol, 0))
        sample++;
    return sample;
}

static bool refuse_number(const struct finding *f, const char *what, double symbol)
{
    int64_t size;
    int sample = differing(f, symbol);
    const struct cr_onnx_length *length = &f->symbols->lengths[cr_symbols_varied(f->symbols, sample, &size)];
    return refuse(f, sample,
                  cr_arena_print(arena_of(f), "%s %.9g with %.60s = %" PRId64 ", %.9g with %" PRId64, what,
                                 cr_number_at(f->symbols, symbol, 0), length->name, length->bound,
                                 cr_number_at(f->symbols, symbol, sample), size));
}

/* ---- terms ---- */

/* Replaces each size of a term that is a length by its bound, with a mark in `lengths`.  Refuses
 * other symbols. */
static bool find_in_shape(struct finding *f, struct cr_onnx_term *x)
{
    for (int a = 0; a < x->rank; a++) {
        int64_t more, size = x->shape[a];
        if (!cr_size_is_symbol(size))
            continue;
        int length = cr_symbols_nearest(f->symbols, cr_number_of_size(size), &more);
        if (length < 0 || more)
            return refuse_number(f, "a size of", cr_number_of_size(size));
        x->lengths[a] = (signed char)(length + 1);
        x->shape[a] = cr_size_bound(size);
    }
    return true;
}

/* Makes a term that computes length + `more` in the type and shape of `like`: seq, float(seq - 1),
 * expand(seq, {1, 1}). */
static cr_t count_term(const struct finding *f, cr_t like, int length, int64_t more)
{
    struct cr_translation t = {.graph = f->script->graph, .error = f->error, .arena = arena_of(f)};
    struct cr_onnx_term *x = cr_arena_new(t.arena, 1, sizeof *x);
    *x = (struct cr_onnx_term){.kind = CR_TERM_VALUE,
                               .type = CR_ONNX_INT64,
                               .value = f->symbols->lengths[length].value,
                               .name = ""};
    cr_t y = more ? cr_t_with(&t, more > 0 ? "+" : "-", x, fabs((double)more)) : x;
    if (y && cr_language_type(like->type) == CR_LANGUAGE_F32)
        y = cr_t_call(&t, "float", like->type, 0, NULL, (struct cr_onnx_argument[]){{y, NULL}}, 1);
    if (y && like->rank)
        y = cr_t_call(&t, "expand", like->type, like->rank, like->shape,
                      (struct cr_onnx_argument[]){{y, NULL},
                                                  {NULL, cr_t_list(&t, like->rank, like->shape)}},
                      2);
    return y;
}

/* If all known elements of a term are one symbol, replaces the term by one that computes the number
 * from a length. Refuses a term of which only some elements are symbols, and a symbol that is not a
 * length plus a number. */
static bool find_in_data(struct finding *f, struct cr_onnx_term *x)
{
    int64_t n = cr_t_elements(x), more;
    double symbol = 0;
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        if (!cr_number_is_symbol(symbol) && cr_number_is_symbol(x->data[i]))
            symbol = x->data[i];
        all &= memcmp(&x->data[i], &x->data[0], sizeof symbol) == 0;
    }
    if (!cr_number_is_symbol(symbol))
        return true;
    for (int a = 0; a < x->rank; a++)
        all &= !x->lengths[a];
    int length = all && x->type != CR_ONNX_BOOL ? cr_symbols_nearest(f->symbols, symbol, &more) : -1;
    if (length < 0)
        return all ? refuse_number(f, "the number", symbol)
                   : refuse(f, differing(f, symbol),
                            in_samples(f, differing(f, symbol),
                                       "other numbers with %.60s = %" PRId64 " than with %" PRId64));
    cr_t count = count_term(f, x, length, more);
    if (count)
        *x = *count;
    return count != NULL;
}

static bool find_in_text(struct finding *f, cr_t x, const char *text)
{
    const char *symbol = strchr(text, CR_TERM_SYMBOL);
    return !symbol || refuse_number(f, x->name, cr_number_of_size(strtoll(symbol + 1, NULL, 10)));
}

/* Checks that each call of a Lua function builds the same nodes for all lengths. */
static bool check_calls(struct finding *f, cr_t x)
{
    if (cr_term_map_find(&f->checked, x))
        return true;
    cr_term_map_add(&f->checked, x, x);
    int sample = cr_onnx_is_lua_op(x) ? cr_onnx_call_differs(f->script->graph, x) : 0;
    if (sample)
        return refuse(f, sample,
                      cr_arena_print(arena_of(f), "other values of %s %s", x->name,
                                     in_samples(f, sample,
                                                "for %.60s = %" PRId64 " than for %" PRId64)));
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term && !check_calls(f, x->arguments[i].term))
            return false;
    return true;
}

/* Replaces the symbols in a term and its operands, each visited once.  Changes terms in place,
 * since no later pass needs the symbols. */
static bool find_in(struct finding *f, cr_t term)
{
    struct cr_onnx_term *x = (struct cr_onnx_term *)term;
    if (cr_term_map_find(&f->done, x))
        return true;
    cr_term_map_add(&f->done, x, x);
    if (!find_in_shape(f, x))
        return false;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term ? !find_in(f, x->arguments[i].term) : !find_in_text(f, x, x->arguments[i].text))
            return false;
    return x->kind != CR_TERM_DATA || find_in_data(f, x);
}

/* ---- the whole ---- */

void cr_onnx_input_lengths(const struct cr_symbols *symbols, const struct cr_onnx_value *v,
                           signed char *lengths)
{
    for (int a = 0; a < v->rank; a++)
        if (v->info->sizes[a].name)
            lengths[a] = (signed char)(cr_symbols_find(symbols, v->info->sizes[a].name) + 1);
}

/* Adds for each length a scalar value to the graph: the length as an integer. */
static void add_values(struct finding *f)
{
    struct cr_onnx_graph *g = f->script->graph;
    for (int i = 0; i < f->symbols->n_lengths; i++) {
        int value = cr_onnx_new_value(g, f->symbols->lengths[i].name);
        g->values[value].type = CR_ONNX_INT64;
        g->values[value].rank = 0;
        f->symbols->lengths[i].value = value;
    }
}

/* Calls `function` for the terms of all statements and outputs; stops and returns false when it
 * returns false. */
static bool visit(struct finding *f, bool (*function)(struct finding *f, cr_t x))
{
    const struct cr_onnx_graph *g = f->script->graph;
    for (int i = 0; i < f->script->n_statements; i++) {
        f->node = f->script->statements[i].node;
        if (!function(f, f->script->statements[i].term))
            return false;
    }
    f->node = CR_ONNX_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        if (!function(f, f->script->terms[g->outputs[i]]))
            return false;
    return true;
}

int cr_onnx_find_lengths(struct cr_onnx_script *script, struct cr_error *error)
{
    struct cr_onnx_graph *g = script->graph;
    struct finding f = {.script = script, .symbols = g->symbols, .node = CR_ONNX_NONE, .error = error};
    error->text[0] = '\0';
    add_values(&f);
    bool found = visit(&f, check_calls) && visit(&f, find_in);
    for (int i = 0; i < g->n_values; i++)
        for (int a = 0; a < g->values[i].rank; a++)
            g->values[i].shape[a] = cr_size_bound(g->values[i].shape[a]);
    cr_term_map_free(&f.done);
    cr_term_map_free(&f.checked);
    return found ? 0 : -1;
}
