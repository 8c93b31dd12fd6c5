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

