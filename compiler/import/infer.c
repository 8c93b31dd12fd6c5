/* infer.c - infers shapes and types of calls by the front end; see infer.h. */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"
#include "calls.h"

bool cr_onnx_is_lua_op(cr_t x)
{
    return x->kind == CR_TERM_CALL && strncmp(x->name, CR_ONNX_LIBRARY, strlen(CR_ONNX_LIBRARY)) == 0;
}

/* ---- the script of a call ---- */

/* A script that is being written.  A length of `script` is written as a length, or as its size in
 * the translation if `as_numbers`. */
struct writing {
    struct cr_text text;
    const struct cr_onnx_script *script;
    bool as_numbers;
};

/* length("l0", 128) */
static void put_length(struct writing *w, int length)
{
    const struct cr_onnx_length *l = &w->script->lengths[length];
    if (w->as_numbers)
        cr_put(&w->text, "%lld", (long long)l->size);
    else
        cr_put(&w->text, "length(\"l%d\", %lld)", length, (long long)l->bound);
}

/* Writes an operand as an input of its shape and type. */
static void put_operand(struct writing *w, cr_t x, int number, const signed char *cuts)
{
    enum cr_language_type type = cr_language_type(x->type);
    cr_put(&w->text, "%sinput(\"x%d\", {", type == CR_LANGUAGE_BOOL ? "ne(" : "", number);
    for (int a = 0; a < x->rank; a++) {
        cr_put(&w->text, "%s", a ? ", " : "");
        if (cuts[a])
            put_length(w, cuts[a] - 1);
        else
            cr_put(&w->text, "%lld", (long long)x->shape[a]);
    }
    cr_put(&w->text, "}%s)%s", type == CR_LANGUAGE_F32 ? "" : ", \"i32\"",
           type == CR_LANGUAGE_BOOL ? ", 0)" : "");
}

static void put_argument(struct writing *w, const char *from)
{
    for (; *from; from++) {
        int plain = (int)strcspn(from, (char[]){CR_TERM_LENGTH, 0});
        cr_put_bytes(&w->text, from, (size_t)plain);
        from += plain;
        if (!*from)
            return;
        put_length(w, *++from - '0');
    }
}

/* Writes the script of a call.  `cuts_of` (see infer.h) may be null. */
static void put_script(struct writing *w, const char *name, const struct cr_onnx_argument *arguments,
                       int n, cr_onnx_cuts_of *cuts_of, const void *context)
{
    bool comma = false;
    int module = (int)strcspn(name, ".");
    cr_put(&w->text, "local %.*s = require \"%.*s\" return {y = %s(", module, name, module, name,
           name);
    for (int i = 0; i < n; i++) {
        const char *own = arguments[i].text;
        signed char cuts[CR_ONNX_RANK] = {0};
        cr_put(&w->text, "%s", comma && !(own && strcmp(own, CR_TERM_TABLE_END) == 0) ? ", " : "");
        if (!own && cuts_of)
            cuts_of(context, arguments[i].term, cuts);
        if (own)
            put_argument(w, own);
        else
            put_operand(w, arguments[i].term, i, cuts);
        comma = !(own && strcmp(own, CR_TERM_TABLE) == 0);
    }
    cr_put(&w->text, ")}");
}

/* ---- running it ---- */

/* Reads shape, type and lengths of the only output. */
static void read_result(const struct cr_graph *g, struct cr_inferred *result)
{
    const struct cr_node *node = &g->nodes[g->outputs[0].id];
    *result = (struct cr_inferred){.rank = node->rank,
                                   .type = node->dtype == CR_F32   ? CR_LANGUAGE_F32
                                           : node->dtype == CR_I32 ? CR_LANGUAGE_I32
                                                                   : CR_LANGUAGE_BOOL};
    for (int a = 0; a < node->rank; a++) {
        int at = node->lengths[a];
        result->shape[a] = node->shape[a];
        result->lengths[a] = (signed char)(at ? g->lengths[at - 1].name[1] - '0' + 1 : 0);
    }
}

int cr_onnx_infer(const struct cr_onnx_graph *graph, const char *name,
                  const struct cr_onnx_argument *arguments, int n,
                  const struct cr_onnx_script *script, cr_onnx_cuts_of *cuts_of,
                  const void *context, struct cr_inferred *result, struct cr_error *error)
{
    struct writing w = {.script = script};
    put_script(&w, name, arguments, n, cuts_of, context);
    const struct cr_graph *g = cr_onnx_calls_run(graph->model->calls, w.text.data, error);
    free(w.text.data);
    if (!g)
        return -1;
    read_result(g, result);
    return 0;
}

/* ---- calls for several sizes ---- */

/* True if two sizes are equal, or are one length's sizes in the two translations. */
static bool same_size(const struct cr_onnx_script *script, const struct cr_onnx_script *other,
                      int64_t a, int64_t b)
{
    bool same = a == b;
    for (int i = 0; i < script->n_lengths && !same; i++)
        same = a == script->lengths[i].size && b == other->lengths[i].size;
    return same;
}

/* True if two nodes are equal except for their shapes. */
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

static bool same_graph(const struct cr_onnx_script *script, const struct cr_onnx_script *other,
                       const struct cr_graph *g, const struct cr_graph *h)
{
    bool same = g->n_nodes == h->n_nodes && g->outputs[0].id == h->outputs[0].id;
    for (cr_id id = 0; same && id < g->n_nodes; id++) {
        same = same_node(g, h, id);
        for (int a = 0; same && a < g->nodes[id].rank; a++)
            same = same_size(script, other, g->nodes[id].shape[a], h->nodes[id].shape[a]);
    }
    return same;
}

/* Returns the graph of a call with numbers for lengths, or null. */
static const struct cr_graph *graph_with_numbers(const struct cr_onnx_script *script, cr_t call)
{
    struct cr_error error = {""};
    struct writing w = {.script = script, .as_numbers = true};
    put_script(&w, call->name, call->arguments, call->n_arguments, NULL, NULL);
    const struct cr_graph *g =
        cr_onnx_calls_run(script->graph->model->calls, w.text.data, &error);
    free(w.text.data);
    return g;
}

bool cr_onnx_calls_alike(const struct cr_onnx_script *script, cr_t call,
                         const struct cr_onnx_script *other, cr_t other_call)
{
    const struct cr_graph *a = graph_with_numbers(script, call),
                          *b = graph_with_numbers(other, other_call);
    return a && b && same_graph(script, other, a, b);
}
