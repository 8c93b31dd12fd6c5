/*
 * shape_inference.c - infers shapes, types and lengths of terms with the front end; see
 * shape_inference.h.
 */
#include "shape_inference.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "call_cache.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"

bool cr_onnx_is_lua_op(cr_t x)
{
    return x->kind == CR_TERM_CALL && strncmp(x->name, CR_ONNX_LIBRARY, strlen(CR_ONNX_LIBRARY)) == 0;
}

/* ---- the script of a call ---- */

/* Defines how the script of a call writes the size of an operand's axis that is a length. */
enum ends {
    AT_SAMPLE, /* as the number that the length has in a sample (symbols.h) */
    AT_CUTS,   /* as the length if the operand is cut to it, else as the bound */
    AT_LENGTHS /* as the length */
};

/* A script that is being written. */
struct writing {
    struct cr_text text;
    const struct cr_symbols *symbols;
    enum ends ends;
    int sample;
};

enum { NAME = 40 }; /* the most bytes of a length's name in a message */

/* Writes the name of a length, with "-" for characters that the language forbids; if there are any,
 * also its number. */
static void put_name(struct writing *w, int length)
{
    const char *name = w->symbols->lengths[length].name;
    bool differs = strlen(name) > NAME;
    for (int i = 0; name[i] && i < NAME; i++) {
        bool allowed = isalnum((unsigned char)name[i]) || name[i] == '_';
        cr_put(&w->text, "%c", allowed ? name[i] : '-');
        differs |= !allowed;
    }
    if (differs)
        cr_put(&w->text, ".%d", length);
}

/* Writes a local variable for each length: local l0 = length("seq", 128). */
static void put_locals(struct writing *w)
{
    for (int i = 0; w->ends != AT_SAMPLE && i < w->symbols->n_lengths; i++) {
        cr_put(&w->text, "local l%d = length(\"", i);
        put_name(w, i);
        cr_put(&w->text, "\", %lld) ", (long long)w->symbols->lengths[i].bound);
    }
}

static void put_size(struct writing *w, int64_t size)
{
    cr_put(&w->text, "%lld", (long long)cr_number_at(w->symbols, cr_number_of_size(size), w->sample));
}

static void put_length(struct writing *w, int length)
{
    if (w->ends == AT_SAMPLE)
        put_size(w, cr_symbols_length(w->symbols, length));
    else
        cr_put(&w->text, "l%d", length);
}

#define OPERAND "x." /* the start of the name of an operand's input; its number follows.  No
                        length's name has a dot */

/* Writes an operand as an input with its shape and type. */
static void put_operand(struct writing *w, cr_t x, int number)
{
    enum cr_language_type type = cr_language_type(x->type);
    const signed char none[CR_ONNX_RANK] = {0},
                      *ends = w->ends == AT_CUTS      ? x->cuts
                              : w->ends == AT_LENGTHS ? x->lengths
                                                      : none;
    cr_put(&w->text, "%sinput(\"%s%d\", {", type == CR_LANGUAGE_BOOL ? "ne(" : "", OPERAND,
           number);
    for (int a = 0; a < x->rank; a++) {
        cr_put(&w->text, "%s", a ? ", " : "");
        if (ends[a])
            put_length(w, ends[a] - 1);
        else
            put_size(w, x->shape[a]);
    }
    cr_put(&w->text, "}%s)%s", type == CR_LANGUAGE_F32 ? "" : ", \"i32\"",
           type == CR_LANGUAGE_BOOL ? ", 0)" : "");
}

/* Writes the text of an argument, in which marks of lengths and symbols are replaced by names and
 * sizes. */
static void put_argument(struct writing *w, const char *from)
{
    for (; *from; from++) {
        int plain = (int)strcspn(from, (char[]){CR_TERM_LENGTH, CR_TERM_SYMBOL, 0});
        char *end;
        cr_put_bytes(&w->text, from, (size_t)plain);
        from += plain;
        if (!*from)
            return;
        if (*from == CR_TERM_LENGTH) {
            put_length(w, *++from - '0');
            continue;
        }
        put_size(w, strtoll(from + 1, &end, 10));
        from = end - 1;
    }
}

/* Writes the arguments of a call, separated by commas; `comma`: also before the first one. */
static void put_arguments(struct writing *w, cr_t x, bool comma)
{
    bool has_angles = strcmp(x->name, "rotary.halves") == 0 && x->n_arguments == 2;
    for (int i = 0; i < x->n_arguments; i++) {
        const char *own = x->arguments[i].text;
        cr_put(&w->text, "%s", comma && !(own && strcmp(own, CR_TERM_TABLE_END) == 0) ? ", " : "");
        if (own)
            put_argument(w, own);
        else if (has_angles && i == 1) { /* the function wants a table of cosines and sines */
            cr_put(&w->text, "{cos = ");
            put_operand(w, x->arguments[i].term, i);
            cr_put(&w->text, ", sin = ");
            put_operand(w, x->arguments[i].term, i);
            cr_put(&w->text, "}");
        } else
            put_operand(w, x->arguments[i].term, i);
        comma = !(own && (strcmp(own, CR_TERM_TABLE) == 0 || own[strlen(own) - 1] == ' '));
    }
}

/* Writes the script of a term that is a call, a layer or an infix operation. */
static void put_script(struct writing *w, cr_t x)
{
    int module = (int)strcspn(x->name, ".");
    if (x->name[module])
        cr_put(&w->text, "local %.*s = require \"%.*s\" ", module, x->name, module, x->name);
    if (strncmp(x->name, "attention.", 10) == 0)
        cr_put(&w->text, "local nn = require \"nn\" "); /* an argument of attend may be
                                                           nn.safe_softmax */
    put_locals(w);
    cr_put(&w->text, "return {y = ");
    if (x->kind == CR_TERM_INFIX) {
        put_operand(w, x->arguments[0].term, 0);
        cr_put(&w->text, " %s ", x->name);
        put_operand(w, x->arguments[1].term, 1);
        cr_put(&w->text, "}");
        return;
    }
    cr_put(&w->text, x->kind == CR_TERM_SCOPE ? "scope(\"layer\", %s" : "%s(", x->name);
    put_arguments(w, x, x->kind == CR_TERM_SCOPE);
    cr_put(&w->text, ")}");
}

/* ---- running it ---- */

/* Returns the graph that the front end makes of a term.  If it refuses, returns null; `error` is
 * then its message without file and line. */
static const struct cr_graph *graph_of(const struct cr_onnx_graph *graph, cr_t x, enum ends ends,
                                       int sample, struct cr_error *error)
{
    struct writing w = {.symbols = graph->symbols, .ends = ends, .sample = sample};
    put_script(&w, x);
    const struct cr_graph *g = cr_onnx_calls_run(graph->model->calls, w.text.data, error);
    free(w.text.data);
    return g;
}

const struct cr_graph *cr_onnx_call_graph(const struct cr_onnx_graph *graph, cr_t call,
                                          struct cr_error *error)
{
    return graph_of(graph, call, AT_SAMPLE, 0, error);
}

int cr_onnx_operand_number(const char *input)
{
    return atoi(input + strlen(OPERAND));
}

static void take_result(const struct cr_graph *g, struct cr_inferred *result)
{
    const struct cr_node *node = &g->nodes[g->outputs[0].id];
    *result = (struct cr_inferred){.rank = node->rank,
                                   .type = node->dtype == CR_F32   ? CR_LANGUAGE_F32
                                           : node->dtype == CR_I32 ? CR_LANGUAGE_I32
                                                                   : CR_LANGUAGE_BOOL};
    memcpy(result->shape, node->shape, (size_t)node->rank * sizeof *node->shape);
    memcpy(result->lengths, node->lengths, (size_t)node->rank * sizeof *node->lengths);
}

int cr_onnx_infer_cut(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                      struct cr_error *error)
{
    const struct cr_graph *g = graph_of(graph, x, AT_CUTS, 0, error);
    if (g)
        take_result(g, result);
    return g ? 0 : -1;
}

/* True if a call depends on lengths: a size of an operand, or a number in an option, is a
 * symbol. */
static bool depends_on_lengths(cr_t x)
{
    for (int i = 0; i < x->n_arguments; i++) {
        const char *text = x->arguments[i].text;
        if (text && text[strcspn(text, (char[]){CR_TERM_LENGTH, CR_TERM_SYMBOL, 0})])
            return true;
        for (int a = 0; !text && a < x->arguments[i].term->rank; a++)
            if (cr_size_is_symbol(x->arguments[i].term->shape[a]))
                return true;
    }
    return false;
}

/* Infers the result's shape in every sample; a size that differs between samples becomes a
 * symbol. */
static int infer_samples(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                         struct cr_error *error)
{
    int n = graph->symbols->n_samples;
    double *sizes = cr_calloc((size_t)n * CR_ONNX_RANK, sizeof *sizes);
    int status = 0;
    for (int k = n - 1; !status && k >= 0; k--) {
        const struct cr_graph *g = graph_of(graph, x, AT_SAMPLE, k, error);
        int rank = result->rank;
        if (g)
            take_result(g, result);
        if (!g || (k < n - 1 && result->rank != rank))
            status = g ? cr_fail(error, "a result of %d and of %d axes for different lengths, expected one number",
                                 result->rank, rank) : -1;
        for (int a = 0; !status && a < result->rank; a++)
            sizes[a * n + k] = (double)result->shape[a];
    }
    for (int a = 0; !status && a < result->rank; a++) {
        double size = cr_symbols_number(graph->symbols, &sizes[a * n]);
        result->shape[a] = cr_number_is_symbol(size) ? cr_size_of_symbol(size) : (int64_t)size;
    }
    free(sizes);
    return status;
}

int cr_onnx_infer(const struct cr_onnx_graph *graph, cr_t x, struct cr_inferred *result,
                  struct cr_error *error)
{
    if (graph->symbols->n_samples && depends_on_lengths(x))
        return infer_samples(graph, x, result, error);
    const struct cr_graph *g = graph_of(graph, x, AT_SAMPLE, 0, error);
    if (g)
        take_result(g, result);
    return g ? 0 : -1;
}

/* ---- reductions that run to the bound ---- */

/* Returns 1 + the number of the length that a node reduces, scans or multiplies along, or 0. */
static int length_run_over(const struct cr_graph *g, const struct cr_node *node)
{
    const struct cr_node *a = node->n_in ? &g->nodes[g->operands[node->first_in]] : NULL;
    const struct cr_node *b = node->n_in > 1 ? &g->nodes[g->operands[node->first_in + 1]] : NULL;
    switch (cr_ops[node->op].kind) {
    case CR_KIND_REDUCE:
    case CR_KIND_SCAN:
        return a->lengths[node->axis];
    case CR_KIND_CONTRACT:
        return a->lengths[a->rank - 1] ? a->lengths[a->rank - 1] : b->lengths[b->rank - 2];
    default:
        return 0;
    }
}

bool cr_onnx_runs_to_bound(const struct cr_onnx_graph *graph, cr_t x)
{
    struct cr_error error = {""};
    const struct cr_graph *cut = graph_of(graph, x, AT_CUTS, 0, &error),
                          *whole = graph_of(graph, x, AT_LENGTHS, 0, &error);
    if (!cut || !whole || cut->n_nodes != whole->n_nodes)
        return true;
    for (cr_id id = 0; id < cut->n_nodes; id++)
        if (length_run_over(cut, &cut->nodes[id]) != length_run_over(whole, &whole->nodes[id]))
            return true;
    return false;
}

/* ---- calls for several sizes ---- */

/* True if two sizes are equal, or if they are the sizes of one length in sample 0 and in
 * `sample`. */
static bool same_size(const struct cr_symbols *symbols, int sample, int64_t a, int64_t b)
{
    bool same = a == b;
    for (int i = 0; i < symbols->n_lengths && !same; i++) {
        double size = cr_number_at(symbols, cr_number_of_size(cr_symbols_length(symbols, i)), sample);
        same = a == symbols->lengths[i].bound && (double)b == size;
    }
    return same;
}

/* True if node `id` is the same in two graphs except for its shape. */
static bool same_node(const struct cr_graph *g, const struct cr_graph *h, cr_id id)
{
    const struct cr_node *a = &g->nodes[id], *b = &h->nodes[id];
    bool same = a->op == b->op && a->dtype == b->dtype && a->rank == b->rank &&
                a->axis == b->axis && a->n_in == b->n_in &&
                memcmp(a->index, b->index, sizeof(int64_t[CR_MAX_RANK])) == 0;
    for (int i = 0; same && i < a->n_in; i++)
        same = g->operands[a->first_in + i] == h->operands[b->first_in + i];
    if (!same || a->op != CR_OP_literal)
        return same && memcmp(&a->value, &b->value, sizeof a->value) == 0;
    const struct cr_literal *x = cr_literal_of(g, a), *y = cr_literal_of(h, b);
    return x->n == y->n && memcmp(x->words, y->words, (size_t)x->n * sizeof *x->words) == 0;
}

static bool same_graph(const struct cr_symbols *symbols, int sample, const struct cr_graph *g,
                       const struct cr_graph *h)
{
    bool same = g->n_nodes == h->n_nodes && g->outputs[0].id == h->outputs[0].id;
    for (cr_id id = 0; same && id < g->n_nodes; id++) {
        same = same_node(g, h, id);
        for (int a = 0; same && a < g->nodes[id].rank; a++)
            same = same_size(symbols, sample, g->nodes[id].shape[a], h->nodes[id].shape[a]);
    }
    return same;
}

int cr_onnx_call_differs(const struct cr_onnx_graph *graph, cr_t call)
{
    struct cr_error error = {""};
    const struct cr_graph *first = depends_on_lengths(call) ? graph_of(graph, call, AT_SAMPLE, 0, &error) : NULL;
    for (int k = 1; first && k < graph->symbols->n_samples; k++) {
        const struct cr_graph *g = graph_of(graph, call, AT_SAMPLE, k, &error);
        if (!g || (g != first && !same_graph(graph->symbols, k, first, g)))
            return k;
    }
    return 0;
}
