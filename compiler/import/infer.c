/* infer.c - shapes and types of calls, by the front end; see infer.h. */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/text.h"

/* The name of a call's script, and the beginning of the front end's messages about it. */
#define CHUNK "call"
#define CHUNK_LINE CHUNK ":1: "

/* Results that are known, by the script of the call: the same call is translated again after a graph was
 * rewritten, and equal layers call alike. */
struct cr_onnx_known_call {
    const char *text;
    struct cr_inferred result;
    const struct cr_onnx_known_call *next;
};

bool cr_onnx_is_lua_op(cr_t x)
{
    return x->kind == CR_TERM_CALL && strncmp(x->name, CR_ONNX_LIBRARY, strlen(CR_ONNX_LIBRARY)) == 0;
}

/* ---- the script of a call ---- */

/* A script on its way.  A length of `script` is written as a length, or as the size that it has in the
 * translation. */
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

/* An operand stands for any of its shape and type: it is an input. */
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
    for (; *from; from++)
        if (*from == CR_TERM_LENGTH)
            put_length(w, *++from - '0');
        else
            cr_put(&w->text, "%c", *from);
}

/* The whole of it; `cuts_of`: see infer.h, none if it is null. */
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
static void read_result(const struct cr_graph *g, const struct cr_lengths *lengths,
                        struct cr_inferred *result)
{
    const cr_id id = g->outputs[0].id;
    const struct cr_node *node = &g->nodes[id];
    *result = (struct cr_inferred){.rank = node->rank,
                                   .type = node->dtype == CR_F32   ? CR_LANGUAGE_F32
                                           : node->dtype == CR_I32 ? CR_LANGUAGE_I32
                                                                   : CR_LANGUAGE_BOOL};
    for (int a = 0; a < node->rank; a++) {
        int at = cr_length_at(lengths, id, a);
        result->shape[a] = node->shape[a];
        result->lengths[a] = (signed char)(at ? g->lengths[at - 1].name[1] - '0' + 1 : 0);
    }
}

/* The front end says where a mistake is; here it is in the call. */
static int fail(const struct cr_error *found, struct cr_error *error)
{
    const char *text = found->text;
    if (strncmp(text, CHUNK_LINE, strlen(CHUNK_LINE)) == 0)
        text += strlen(CHUNK_LINE);
    const char *library = strstr(text, " (in graphs/lib/");
    return cr_fail(error, "%.*s", library ? (int)(library - text) : (int)strlen(text), text);
}

static int run(struct cr_onnx_graph *graph, const char *text, struct cr_script *script,
               struct cr_error *error)
{
    struct cr_error own = {""};
    if (!graph->session)
        graph->session = cr_script_session_new(CHUNK);
    return cr_script_session_run(graph->session, text, strlen(text), script, &own) ? fail(&own, error)
                                                                                   : 0;
}

/* The result of a script. */
static int infer(struct cr_onnx_graph *graph, const char *text, struct cr_inferred *result,
                 struct cr_error *error)
{
    struct cr_script script;
    struct cr_lengths lengths;
    if (run(graph, text, &script, error))
        return -1;
    int status = cr_lengths_find(&lengths, script.graph, CHUNK, error);
    if (status == 0) {
        read_result(script.graph, &lengths, result);
        cr_lengths_free(&lengths);
    }
    cr_script_free(&script);
    return status;
}

/* Once a text. */
static int infer_once(struct cr_onnx_graph *graph, const char *text, struct cr_inferred *result,
                      struct cr_error *error)
{
    for (const struct cr_onnx_known_call *k = graph->known_calls; k; k = k->next)
        if (strcmp(k->text, text) == 0) {
            *result = k->result;
            return 0;
        }
    if (infer(graph, text, result, error))
        return -1;
    struct cr_onnx_known_call *known = cr_arena_new(&graph->arena, 1, sizeof *known);
    *known = (struct cr_onnx_known_call){cr_arena_text(&graph->arena, text, strlen(text)), *result,
                                         graph->known_calls};
    graph->known_calls = known;
    return 0;
}

int cr_onnx_infer(struct cr_onnx_graph *graph, const char *name,
                  const struct cr_onnx_argument *arguments, int n,
                  const struct cr_onnx_script *script, cr_onnx_cuts_of *cuts_of,
                  const void *context, struct cr_inferred *result, struct cr_error *error)
{
    struct writing w = {.script = script};
    put_script(&w, name, arguments, n, cuts_of, context);
    int status = infer_once(graph, w.text.data, result, error);
    free(w.text.data);
    return status;
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

/* True if two nodes are equal but for their shapes. */
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

/* The graph of a call with numbers for lengths. */
static bool run_with_numbers(const struct cr_onnx_script *script, cr_t call,
                             struct cr_script *result)
{
    struct cr_error error = {""};
    struct writing w = {.script = script, .as_numbers = true};
    put_script(&w, call->name, call->arguments, call->n_arguments, NULL, NULL);
    int status = run(script->graph, w.text.data, result, &error);
    free(w.text.data);
    return status == 0;
}

bool cr_onnx_calls_alike(const struct cr_onnx_script *script, cr_t call,
                         const struct cr_onnx_script *other, cr_t other_call)
{
    struct cr_script a, b;
    if (!run_with_numbers(script, call, &a))
        return false;
    bool alike = run_with_numbers(other, other_call, &b);
    if (alike) {
        alike = same_graph(script, other, a.graph, b.graph);
        cr_script_free(&b);
    }
    cr_script_free(&a);
    return alike;
}
