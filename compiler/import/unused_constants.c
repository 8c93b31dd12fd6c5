/*
 * unused_constants.c - frees the elements of known values that nothing will read; see
 * unused_constants.h.
 */
#include "unused_constants.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "term_map.h"

struct reading {
    struct cr_onnx_script *script;
    struct cr_onnx_graph *graph;
    bool *is_read;          /* by value: it is an output, or a node that is not translated yet reads
                               it */
    bool *is_kept;          /* by value: a translated node with unknown outputs reads it */
    struct cr_term_map seen; /* the terms that were visited by marking */
};

static void note(const struct reading *r, int value, bool *values)
{
    int standing = cr_onnx_replacement(r->graph, value);
    if (standing != CR_ONNX_NONE)
        values[standing] = true;
}

/* Sets is_read for outer values that a graph in an attribute may read.  Also looks up names that
 * the graph itself defines, so that too many values may be kept. */
static void note_captured(const struct reading *r, const struct cr_onnx_names *names,
                          const struct cr_onnx_body *body)
{
    for (int i = 0; i < body->n_calls; i++) {
        const struct cr_onnx_call *call = &body->calls[i];
        for (int j = 0; j < call->n_inputs; j++)
            note(r, cr_onnx_named(names, call->inputs[j]), r->is_read);
        for (int j = 0; j < call->n_attributes; j++)
            if (call->attributes[j].graph)
                note_captured(r, names, call->attributes[j].graph);
    }
    for (int i = 0; i < body->n_outputs; i++)
        note(r, cr_onnx_named(names, body->outputs[i].name), r->is_read);
}

static bool is_known(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE && !g->values[n->outputs[i]].folded)
            return false;
    return true;
}

/* Sets is_read for values that nodes still to be translated read, and is_kept for values that
 * passes look at. */
static void note_readers(const struct reading *r, const bool *done, int n_done)
{
    const struct cr_onnx_graph *g = r->graph;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct cr_onnx_node *n = &g->nodes[i];
        bool to_come = i >= n_done || !done[i];
        if (n->dead || (!to_come && is_known(g, n)))
            continue;
        for (int j = 0; j < n->n_inputs; j++)
            note(r, n->inputs[j], to_come ? r->is_read : r->is_kept);
        for (int j = 0; to_come && j < n->n_attributes; j++)
            if (n->attributes[j].graph && n->names)
                note_captured(r, n->names, n->attributes[j].graph);
    }
    for (int i = 0; i < g->n_outputs; i++)
        note(r, g->outputs[i], r->is_read);
}

/* Forgets the terms and tensors of values that nothing reads, so that the sweep frees their
 * elements. */
static void forget(const struct reading *r)
{
    struct cr_onnx_graph *g = r->graph;
    for (int i = 0; i < g->n_values; i++) {
        struct cr_onnx_value *v = &g->values[i];
        cr_t *term = i < r->script->n_terms ? &r->script->terms[i] : NULL;
        if (v->is_input || r->is_read[i])
            continue;
        if (term && *term && cr_elements_have(&g->elements, (*term)->data))
            *term = NULL;
        if (!r->is_kept[i] && v->tensor && cr_elements_have(&g->elements, v->tensor->data))
            v->tensor = NULL;
    }
}

static void mark_term(struct reading *r, cr_t x)
{
    if (!x || cr_term_map_find(&r->seen, x))
        return;
    cr_term_map_add(&r->seen, x, x);
    cr_elements_mark(&r->graph->elements, x->data);
    for (int i = 0; i < x->n_arguments; i++)
        mark_term(r, x->arguments[i].term);
}

void cr_onnx_free_unread(struct cr_onnx_script *script, const bool *done, int n_done)
{
    struct cr_onnx_graph *g = script->graph;
    struct reading r = {.script = script,
                        .graph = g,
                        .is_read = cr_calloc((size_t)g->n_values, sizeof *r.is_read),
                        .is_kept = cr_calloc((size_t)g->n_values, sizeof *r.is_kept)};
    note_readers(&r, done, n_done);
    forget(&r);
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].tensor)
            cr_elements_mark(&g->elements, g->values[i].tensor->data);
    for (int i = 0; i < script->n_terms; i++)
        mark_term(&r, script->terms[i]);
    for (int i = 0; i < script->n_statements; i++)
        mark_term(&r, script->statements[i].term);
    cr_elements_sweep(&g->elements);
    cr_term_map_free(&r.seen);
    free(r.is_read);
    free(r.is_kept);
}
