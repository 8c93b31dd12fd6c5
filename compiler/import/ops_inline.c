/* ops_inline.c - translates operators into terms that a Lua function or a formula makes. */
#include "ops_inline.h"

#include <string.h>

#include "lua_terms.h"

/* Applies a formula of two operands to the first two inputs, then to the result and each further
 * input. */
static void fold(struct cr_translation *t, const struct cr_onnx_op *op)
{
    cr_t pair[2] = {cr_input(t, 0), NULL};
    struct cr_op_arguments a = {.n = 2, .n_operands = 2};
    for (int i = 0; i < 2; i++)
        a.items[i] = (struct cr_op_argument){.kind = CR_ARGUMENT_TENSOR, .terms = &pair[i], .n = 1};
    for (int i = 1; i < t->node->n_inputs; i++) {
        pair[1] = t->in[i];
        cr_lua_terms_run(t, op, &a, &pair[0], 1);
    }
    cr_set_output(t, 0, pair[0]);
}

void cr_translate_inlined(struct cr_translation *t, const struct cr_onnx_op *op)
{
    struct cr_op_arguments arguments;
    int n = t->node->n_outputs;
    if (op->formula && strstr(op->inputs, "...")) {
        fold(t, op);
        return;
    }
    cr_t *results = cr_arena_new(t->arena, (size_t)n, sizeof *results);
    cr_op_arguments_read(t, op, &arguments);
    cr_lua_terms_run(t, op, &arguments, results, n);
    for (int i = 0; i < n; i++)
        cr_set_output(t, i, results[i]);
}
