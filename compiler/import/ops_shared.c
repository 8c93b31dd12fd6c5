/* ops_shared.c - shared by the translations of operators; see ops.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

void cr_set_output(struct cr_translation *t, int output, cr_t term)
{
    if (output < t->node->n_outputs)
        t->out[output] = term;
}

bool cr_has_output(const struct cr_translation *t, int output)
{
    return output < t->node->n_outputs && t->node->outputs[output] != CR_ONNX_NONE;
}

cr_t cr_input(const struct cr_translation *t, int input)
{
    return input < t->node->n_inputs ? t->in[input] : NULL;
}

int cr_axis(struct cr_translation *t, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    cr_onnx_refuse(t, "found axis %lld of a tensor of %d axes, expected one that it has",
                   (long long)axis, rank);
    return 0;
}

int cr_numbers_of(struct cr_translation *t, cr_t x, int64_t *out)
{
    const double *data = cr_t_known_sizes(t, x);
    if (!data)
        return -1;
    int64_t n = cr_t_elements(x);
    if (n > CR_ONNX_MANY) {
        cr_onnx_refuse(t, "%lld numbers, expected at most %d", (long long)n, CR_ONNX_MANY);
        return -1;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = cr_t_whole(data[i]);
    return (int)n;
}

int cr_numbers_named(struct cr_translation *t, const char *attribute, int64_t *out)
{
    const struct cr_onnx_attribute *a = cr_onnx_typed(t->node, attribute, CR_ONNX_A_INTS);
    for (int i = 0; a && i < a->n && i < CR_ONNX_MANY && a->ints; i++)
        out[i] = a->ints[i] > CR_ONNX_FAR    ? CR_ONNX_FAR
                 : a->ints[i] < -CR_ONNX_FAR ? -CR_ONNX_FAR
                                             : a->ints[i];
    return a && (a->ints || !a->n) ? a->n < CR_ONNX_MANY ? a->n : CR_ONNX_MANY : -1;
}

int cr_axes(struct cr_translation *t, int input, int rank, int *axes)
{
    int64_t numbers[CR_ONNX_MANY];
    cr_t x = cr_input(t, input);
    int n = x ? cr_numbers_of(t, x, numbers) : cr_numbers_named(t, "axes", numbers);
    if (n <= 0) {
        bool none = cr_onnx_integer(t->node, "noop_with_empty_axes", 0) != 0;
        for (int i = 0; i < rank; i++)
            axes[i] = i;
        return none ? 0 : rank;
    }
    if (n > CR_ONNX_RANK) {
        cr_onnx_refuse(t, "%d axes, expected at most %d", n, CR_ONNX_RANK);
        return 0;
    }
    for (int i = 0; i < n; i++)
        axes[i] = cr_axis(t, numbers[i], rank);
    return n;
}

const char *cr_string(const struct cr_translation *t, const char *attribute, const char *otherwise)
{
    const struct cr_onnx_attribute *a = cr_onnx_typed(t->node, attribute, CR_ONNX_A_STRING);
    return a && a->s ? a->s : otherwise;
}

/* Prints the fewest digits that read as the same float. */
const char *cr_lua_number(struct cr_arena *arena, double number)
{
    char text[40];
    if (isnan(number))
        return "0 / 0";
    if (isinf(number))
        return number < 0 ? "-math.huge" : "math.huge";
    if (number == floor(number) && fabs(number) < 1e15)
        return cr_arena_print(arena, signbit(number) && number == 0 ? "-0.0" : "%.0f", number);
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtof(text, NULL) == (float)number)
            break;
    }
    char *exponent = strchr(text, 'e'); /* writes 1e-5, not 1e-05 */
    if (exponent && exponent[2] == '0')
        memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
    return cr_arena_text(arena, text, strlen(text));
}

cr_t cr_mean(struct cr_translation *t, cr_t x, int n, const int *axes, bool keep)
{
    int64_t count = 1;
    for (int i = 0; x && i < n; i++)
        count = cr_sizes(t->graph->symbols, count, '*', x->shape[axes[i]]);
    if (x && x->kind != CR_TERM_DATA && n == 1 && keep) {
        int64_t shape[CR_ONNX_RANK];
        memcpy(shape, x->shape, sizeof shape);
        shape[axes[0]] = 1;
        return cr_t_call(t, "nn.mean", x->type, x->rank, shape,
                         (struct cr_onnx_argument[]){
                             {x, NULL}, {NULL, cr_arena_print(t->arena, "%d", axes[0] + 1)}},
                         2);
    }
    return cr_t_with(t, "/", cr_t_reduce(t, "sum", x, n, axes, keep), cr_number_of_size(count));
}
