/* graph_outline.c - records and compares operators and shapes of graphs; see graph_outline.h. */
#include "graph_outline.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { FEW = 64 }; /* the most elements of a value that are compared */

/* A value: its sizes, and a hash of its elements if they are known and few, else 0. */
struct cr_outlined {
    int rank;
    int64_t shape[CR_ONNX_RANK];
    uint64_t known;
    bool varies[CR_ONNX_RANK], is_other;
};

/* FNV-1a over the elements. */
static uint64_t hash_of(const struct cr_onnx_tensor *t)
{
    uint64_t hash = 14695981039346656037u;
    if (!t || !t->data || t->elements > FEW || t->elements < 1)
        return 0;
    for (int64_t i = 0; i < t->elements; i++) {
        double x = cr_onnx_element(t, i);
        unsigned char bytes[sizeof x];
        memcpy(bytes, &x, sizeof x);
        for (size_t k = 0; k < sizeof x; k++)
            hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    return hash;
}

void cr_onnx_outline_take(struct cr_onnx_outline *o, const struct cr_onnx_graph *g)
{
    *o = (struct cr_onnx_outline){.n_nodes = g->n_nodes, .n_values = g->n_values};
    o->ops = cr_calloc((size_t)g->n_nodes, sizeof *o->ops);
    o->values = cr_calloc((size_t)g->n_values, sizeof *o->values);
    for (int i = 0; i < g->n_nodes; i++)
        o->ops[i] = g->nodes[i].op;
    for (int i = 0; i < g->n_values; i++) {
        const struct cr_onnx_value *v = &g->values[i];
        o->values[i].rank = v->rank;
        memcpy(o->values[i].shape, v->shape, sizeof v->shape);
        o->values[i].known = hash_of(v->tensor);
    }
}

void cr_onnx_outline_free(struct cr_onnx_outline *o)
{
    free(o->ops);
    free(o->values);
    *o = (struct cr_onnx_outline){0};
}

bool cr_onnx_outline_same(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b)
{
    if (a->n_nodes != b->n_nodes || a->n_values != b->n_values)
        return false;
    for (int i = 0; i < a->n_nodes; i++)
        if (strcmp(a->ops[i], b->ops[i]) != 0)
            return false;
    for (int i = 0; i < a->n_values; i++)
        if (a->values[i].rank != b->values[i].rank)
            return false;
    return true;
}

/* True if the elements of both are known and differ. */
static bool is_other(const struct cr_outlined *a, const struct cr_outlined *b)
{
    return a->known && b->known && a->known != b->known;
}

void cr_onnx_outline_vary(struct cr_onnx_outline *a, const struct cr_onnx_outline *b)
{
    for (int i = 0; i < a->n_values; i++) {
        struct cr_outlined *v = &a->values[i];
        v->is_other |= is_other(v, &b->values[i]);
        for (int k = 0; k < v->rank; k++)
            v->varies[k] |= v->shape[k] != b->values[i].shape[k];
    }
}

bool cr_onnx_outline_holds(const struct cr_onnx_outline *a, const struct cr_onnx_outline *b)
{
    for (int i = 0; i < a->n_values; i++) {
        const struct cr_outlined *v = &a->values[i];
        if (!v->is_other && is_other(v, &b->values[i]))
            return false;
        for (int k = 0; k < v->rank; k++)
            if (!v->varies[k] && v->shape[k] != b->values[i].shape[k])
                return false;
    }
    return true;
}
