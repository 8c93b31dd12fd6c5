/* constant_values.c - computes a value's elements; see constant_values.h. */
#include "constant_values.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "ops.h"

enum { MOST = 1 << 23, DEPTH = 24 };

/* The state of computing the elements of a value.  `graph` is a copy of the model's graph with an
 * arena of its own. */
struct search {
    struct cr_onnx_graph graph;
    int base; /* the value that gets its elements' indices as elements, or CR_ONNX_NONE */
    int depth;
    cr_t *terms; /* by value: its term, or null if it is not computed */
    struct cr_error error;
};

static cr_t term_of(struct search *s, int value);

bool cr_onnx_moves(const struct cr_onnx_node *n)
{
    static const char *const moves[] = {"Reshape",  "Unsqueeze", "Squeeze", "Flatten",
                                        "Identity", "View",      "Transpose", "Permute",
                                        "Gather",   "Slice",     "Split"};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strcmp(n->op, moves[i]) == 0)
            return true;
    return false;
}

/* Makes a term with known elements: the numbers of the value's tensor or, if the value is s->base,
 * the indices 0, 1, 2, ...  Returns null if there are more than MOST. */
static cr_t known_term(struct search *s, int value, enum cr_onnx_type type)
{
    const struct cr_onnx_value *v = &s->graph.values[value];
    struct cr_onnx_term *x = cr_arena_new(&s->graph.arena, 1, sizeof *x);
    *x = (struct cr_onnx_term){.type = type, .rank = v->rank, .value = value, .name = ""};
    x->kind = CR_TERM_DATA;
    memcpy(x->shape, v->shape, sizeof x->shape);
    int64_t n = v->rank < 0 ? MOST + 1 : cr_t_elements(x);
    if (n <= MOST && value != s->base && (x->data = cr_onnx_computed(v)))
        return x;
    double *data = n > MOST ? NULL : cr_elements_new(&s->graph.elements, &s->graph.arena, (size_t)n);
    for (int64_t i = 0; data && i < n; i++)
        data[i] = value == s->base ? (double)i : cr_onnx_element(v->tensor, i);
    x->data = data;
    return data ? x : NULL;
}

/* Translates a node whose inputs are all known, and stores the terms of its outputs. */
static void translate(struct search *s, const struct cr_onnx_node *n)
{
    struct cr_arena *arena = &s->graph.arena;
    const struct cr_onnx_op *op = cr_onnx_find_op(n->domain, n->op);
    struct cr_translation t = {.graph = &s->graph,
                               .error = &s->error,
                               .arena = arena,
                               .node = n,
                               .in = cr_arena_new(arena, (size_t)n->n_inputs + 1, sizeof(cr_t)),
                               .out = cr_arena_new(arena, (size_t)n->n_outputs, sizeof(cr_t)),
                               .at_bounds = s->base != CR_ONNX_NONE,
                               .most_folded = MOST};
    for (int i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != CR_ONNX_NONE && !(t.in[i] = term_of(s, n->inputs[i])))
            return;
    if (op && n->n_inputs && t.in[0])
        cr_onnx_translate_op(&t, op);
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != CR_ONNX_NONE && !t.failed && t.out[i] && t.out[i]->kind == CR_TERM_DATA)
            s->terms[n->outputs[i]] = t.out[i];
}

/* Returns the term of a value if its elements are known, else null.  If there is a base, looks only
 * through nodes that move elements. */
static cr_t term_of(struct search *s, int value)
{
    const struct cr_onnx_value *v = &s->graph.values[value];
    if (s->terms[value])
        return s->terms[value];
    if (value == s->base)
        return s->terms[value] = known_term(s, value, CR_ONNX_INT64);
    if (v->tensor)
        return s->terms[value] = v->tensor->data ? known_term(s, value, v->type) : NULL;
    if (v->producer == CR_ONNX_NONE || s->depth == DEPTH ||
        (s->base != CR_ONNX_NONE && !cr_onnx_moves(&s->graph.nodes[v->producer])))
        return NULL;
    s->depth++;
    translate(s, &s->graph.nodes[v->producer]);
    s->depth--;
    return s->terms[value];
}

double *cr_onnx_numbers_of(const struct cr_onnx_graph *g, int value, int base)
{
    struct search s = {.graph = *g, .base = base};
    if (value == CR_ONNX_NONE)
        return NULL;
    s.graph.arena = (struct cr_arena){0};
    s.graph.elements = (struct cr_elements){0};
    s.terms = cr_calloc((size_t)g->n_values, sizeof *s.terms);
    cr_t x = term_of(&s, value);
    int64_t n = x ? cr_t_elements(x) : 0;
    if (x && cr_t_has_symbols(g, x))
        x = NULL;
    double *numbers = x ? cr_calloc((size_t)n + 1, sizeof *numbers) : NULL;
    if (x)
        memcpy(numbers, x->data, (size_t)n * sizeof *numbers);
    free(s.terms);
    cr_elements_free(&s.graph.elements);
    cr_arena_free(&s.graph.arena);
    return numbers;
}
