/* ops_crescent.c - translates the nodes that recognisers make into calls of graphs/lib. */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "pattern_match.h"
#include "term_parts.h"

/* Returns the node's output, whose shape its recogniser set. */
static const struct cr_onnx_value *output(const struct cr_translation *t)
{
    return &t->graph->values[t->node->outputs[0]];
}

static const char *integer_text(struct cr_translation *t, const char *attribute)
{
    return cr_t_text(t, cr_onnx_integer(t->node, attribute, 0));
}

/* Translates the node to a call of the layer `name` in a scope.  The scope is the name of input
 * number `weight` without its ending ".weight". */
static void give_layer(struct cr_translation *t, int weight, const char *name, const char *text,
                       const char *more)
{
    const char *path =
        cr_match_path(t->arena, t->graph->values[t->node->inputs[weight]].name, ".weight");
    const struct cr_onnx_value *y = output(t);
    if (!path) {
        cr_onnx_refuse(t, "found weights of a layer whose name does not end in .weight, expected that ending");
        return;
    }
    struct cr_onnx_argument arguments[3] = {{t->in[!weight], NULL}, {NULL, text}, {NULL, more}};
    struct cr_onnx_term *x = (struct cr_onnx_term *)cr_t_call(
        t, name, CR_ONNX_FLOAT, y->rank, y->shape, arguments, 1 + (text != NULL) + (more != NULL));
    if (!x)
        return;
    x->kind = CR_TERM_SCOPE;
    x->path = path;
    x->weight = t->node->inputs[weight];
    x->bias = t->node->n_inputs > 2 ? t->node->inputs[2] : CR_ONNX_NONE;
    cr_set_output(t, 0, x);
}

void cr_op_crescent_linear(struct cr_translation *t)
{
    const struct cr_onnx_value *y = output(t);
    bool is_linear = cr_onnx_integer(t->node, "transB", 0) != 0;
    give_layer(t, 1, is_linear ? "nn.linear" : "nn.conv1d", cr_t_text(t, y->shape[y->rank - 1]),
               t->node->n_inputs > 2 ? NULL : "false");
}

void cr_op_crescent_embedding(struct cr_translation *t)
{
    const struct cr_onnx_value *table = &t->graph->values[t->node->inputs[0]];
    give_layer(t, 0, "nn.embedding", cr_t_text(t, table->shape[0]), cr_t_text(t, table->shape[1]));
}

static const char *eps_text(struct cr_translation *t, const char *more)
{
    return cr_arena_print(t->arena, "{eps = %s%s}",
                          cr_lua_number(t->arena, cr_onnx_real(t->node, "epsilon", 0)), more);
}

void cr_op_crescent_layer_norm(struct cr_translation *t)
{
    give_layer(t, 1, "nn.layer_norm", eps_text(t, t->node->n_inputs > 2 ? "" : ", bias = false"),
               NULL);
}

void cr_op_crescent_scoped_rms_norm(struct cr_translation *t)
{
    give_layer(t, 1, "nn.rms_norm", eps_text(t, ""), NULL);
}

/* Gives a call whose result has the output's type and shape. */
static void give_call(struct cr_translation *t, const char *name,
                      const struct cr_onnx_argument *arguments, int n)
{
    const struct cr_onnx_value *y = output(t);
    cr_set_output(t, 0, cr_t_call(t, name, y->type, y->rank, y->shape, arguments, n));
}

/* Rotary angles: a Lua table of cosines and sines, which only Rotary reads. */
void cr_op_crescent_angles(struct cr_translation *t)
{
    const char *w = cr_arena_print(t->arena, "rotary.frequencies(%s, %s)",
                                   cr_t_text(t, 2 * cr_onnx_integer(t->node, "half", 0)),
                                   cr_lua_number(t->arena, cr_onnx_real(t->node, "theta", 0)));
    give_call(t, "rotary.angles",
              (struct cr_onnx_argument[]){{NULL, integer_text(t, "size")}, {NULL, w}}, 2);
}

void cr_op_crescent_rotary(struct cr_translation *t)
{
    give_call(t, "rotary.halves", (struct cr_onnx_argument[]){{t->in[0], NULL}, {t->in[1], NULL}},
              2);
}

/* Rotates by tables of cosines and sines that the model computes. */
void cr_op_crescent_turn(struct cr_translation *t)
{
    give_call(t, "rotary.halves",
              (struct cr_onnx_argument[]){{t->in[0], NULL},
                                          {NULL, CR_TERM_TABLE},
                                          {NULL, "cos = "},
                                          {t->in[1], NULL},
                                          {NULL, "sin = "},
                                          {t->in[2], NULL},
                                          {NULL, CR_TERM_TABLE_END}},
              7);
}

/* attention.attend(q, k, v, mask, nil, {options}), without unused arguments at the end. */
void cr_op_crescent_attend(struct cr_translation *t)
{
    enum { ADDS = 4, FORBIDS = 3 };
    struct cr_onnx_argument a[16] = {{t->in[0], NULL}, {t->in[1], NULL}, {t->in[2], NULL}};
    const struct cr_onnx_value *q = &t->graph->values[t->node->inputs[0]],
                               *k = &t->graph->values[t->node->inputs[1]];
    int64_t kind = cr_onnx_integer(t->node, "mask", 0);
    double scale = cr_onnx_real(t->node, "scale", 1),
           usual = 1 / sqrt((double)cr_size_bound(q->shape[q->rank - 1]));
    bool is_scaled = fabs(scale - usual) > 1e-6 * usual,
         is_safe = cr_onnx_integer(t->node, "safe", 0) != 0;
    int n = 3;
    cr_t mask = kind ? t->in[3] : NULL;
    if (kind && kind != ADDS)
        a[n++].term = kind == FORBIDS ? cr_t_unary(t, "logical_not", mask) : mask;
    if (is_scaled || is_safe || kind == ADDS) {
        for (; n < 5; n++)
            a[n].text = "nil";
        a[n++].text = CR_TERM_TABLE;
        if (is_scaled)
            a[n++].text = cr_arena_print(t->arena, "scale = %s", cr_lua_number(t->arena, scale));
        if (is_safe)
            a[n++].text = "softmax = nn.safe_softmax";
        if (kind == ADDS) {
            a[n++].text = "bias = ";
            a[n++].term = mask;
        }
        a[n++].text = CR_TERM_TABLE_END;
    }
    give_call(t,
              k->shape[1] == q->shape[1] || q->rank < 4 ? "attention.attend" : "attention.grouped",
              a, n);
}
