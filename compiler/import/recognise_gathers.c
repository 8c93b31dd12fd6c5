/*
 * recognise_gathers.c - replaces a gather that takes all rows of a table in their order by a view.
 * The exporter optimum flattens masks [B, T] and gathers their elements by the index b T + t.
 */
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

/* True if an index tensor is known to be 0, 1, ..., n - 1 for all lengths, that is, if each element
 * is its own row-major position.  The position depends on the sizes of the index, which may be
 * symbols. */
static bool counts_to(const struct cr_onnx_graph *g, const struct cr_onnx_value *index, int64_t n)
{
    const struct cr_onnx_tensor *t = index->tensor;
    int64_t count = 1;
    for (int a = 0; a < index->rank; a++)
        count = cr_sizes(g->symbols, count, '*', index->shape[a]);
    if (!t || !t->data || count != n)
        return false;
    for (int64_t i = 0; i < cr_size_bound(n); i++) {
        int64_t place = 0, rest = i, stride = 1;
        for (int a = index->rank - 1; a >= 0; rest /= cr_size_bound(index->shape[a--])) {
            int64_t part = cr_sizes(g->symbols, stride, '*', rest % cr_size_bound(index->shape[a]));
            place = cr_sizes(g->symbols, place, '+', part);
            stride = cr_sizes(g->symbols, stride, '*', index->shape[a]);
        }
        double wanted = cr_symbols_element(g->symbols, index->rank, index->shape, i, cr_number_of_size(place)),
               found = cr_onnx_element(t, i);
        if (memcmp(&wanted, &found, sizeof wanted) != 0)
            return false;
    }
    return true;
}

/* True if a node takes all rows of a table in their order. */
static bool takes_all(const struct cr_onnx_graph *g, const struct cr_onnx_node *n)
{
    if (*n->domain || strcmp(n->op, "Gather") != 0 || cr_onnx_integer(n, "axis", 0) != 0 ||
        n->n_inputs != 2 || n->inputs[0] == CR_ONNX_NONE || n->inputs[1] == CR_ONNX_NONE)
        return false;
    const struct cr_onnx_value *table = &g->values[n->inputs[0]];
    return !table->tensor && table->rank > 0 && table->shape[0] > 1 &&
           counts_to(g, &g->values[n->inputs[1]], table->shape[0]);
}

/* Returns the value that a chain of reshapes, which ends in `value`, begins with. */
static int source_of(const struct cr_onnx_graph *g, int value)
{
    int producer = g->values[value].producer;
    while (producer != CR_ONNX_NONE && cr_match_view(&g->nodes[producer]) &&
           !g->values[g->nodes[producer].inputs[0]].tensor) {
        value = g->nodes[producer].inputs[0];
        producer = g->values[value].producer;
    }
    return value;
}

static bool is_made_view(const struct cr_onnx_graph *g, int value)
{
    int producer = g->values[value].producer;
    return producer != CR_ONNX_NONE && strcmp(g->nodes[producer].op, "View") == 0;
}

/* Replaces gathers by views, and a reshape of such a view by one view of the source.  Has to run
 * before other recognisers make views. */
void cr_recognise_gathers(struct cr_onnx_graph *g)
{
    for (int i = 0, n = g->n_nodes; i < n; i++) {
        const struct cr_onnx_node *node = &g->nodes[i];
        bool is_view = takes_all(g, node) ||
                       (cr_match_view(node) && is_made_view(g, node->inputs[0]));
        if (node->dead || !is_view)
            continue;
        int old = node->outputs[0], source = source_of(g, node->inputs[0]);
        cr_match_replace(g, old, i, "View", &source, 1, g->values[old].name);
    }
}
