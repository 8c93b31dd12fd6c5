/*
 * call_library.c - a program that uses the library: it trains a net on XOR, and writes it as C;
 * see library-example.md.
 *
 *     call_library FOLDER
 */
#include <stdio.h>
#include <string.h>

#include "compiler/crescent.h"

/* A script may be a file or, as here, a text.  It describes one step of a training. */
static const char script[] =
    "local nn, optim = require 'nn', require 'optim'\n"
    "local x, want = input('x', {4, 2}), input('want', {4, 1})\n"
    "local hidden = nn.gelu(scope('hidden', nn.linear, x, 8))\n"
    "local y = scope('output', nn.linear, hidden, 1)\n"
    "local loss = scope('loss', nn.mse_loss, y, want)\n"
    "local params = parameters()\n"
    "local next = optim.adamw(params, optim.gradients(loss, params), {lr = 0.05})\n"
    "next.loss, next.y = loss, y\n"
    "return next\n";

/* Hands in the data: the same four rows for every step. */
static int set_data(crescent_trainer *trainer)
{
    static const float x[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, want[4] = {0, 1, 1, 0};
    const crescent_model *model = crescent_trainer_model(trainer);
    int in_x, in_want;
    return crescent_input_find(model, "x", NULL, &in_x) ||
           crescent_input_find(model, "want", NULL, &in_want) ||
           crescent_trainer_set_input(trainer, in_x, x) ||
           crescent_trainer_set_input(trainer, in_want, want);
}

static int train(crescent_trainer *trainer, int steps)
{
    crescent_training status;
    float y[4];
    int out = crescent_port_find(crescent_trainer_model(trainer), CRESCENT_OUTPUT, "y");
    if (crescent_draw_weights(crescent_trainer_model(trainer), 1) || set_data(trainer) ||
        crescent_trainer_start(trainer))
        return -1;
    for (int i = 0; i < steps; i++)
        if (crescent_trainer_step(trainer))
            return -1;
    if (crescent_trainer_status(trainer, &status) ||
        crescent_trainer_get(trainer, CRESCENT_OUTPUT, out, y))
        return -1;
    printf("after %d steps: loss %.4f\n", steps, status.loss);
    printf("0^0 %.1f  0^1 %.1f  1^0 %.1f  1^1 %.1f\n", y[0], y[1], y[2], y[3]);
    return 0;
}

/* Trains, saves the weights, and writes the step as C that needs no library. */
static int run(crescent_context *context, const char *folder)
{
    char weights[512], source[512];
    crescent_graph *graph = NULL;
    crescent_trainer *trainer = NULL;
    snprintf(weights, sizeof weights, "%s/xor.safetensors", folder);
    snprintf(source, sizeof source, "%s/xor.c", folder);
    int status =
        crescent_graph_open_text(context, "xor.lua", script, strlen(script), NULL, &graph) ||
        crescent_trainer_open(graph, NULL, &trainer) || train(trainer, 300) ||
        crescent_trainer_save_weights(trainer, weights) ||
        crescent_emit(graph, NULL, CRESCENT_EMIT_STEP, source, NULL);
    crescent_trainer_close(trainer);
    crescent_graph_close(graph);
    return status;
}

int main(int argc, char **argv)
{
    crescent_context *context = crescent_context_new();
    int status = !context || run(context, argc > 1 ? argv[1] : ".");
    if (status)
        fprintf(stderr, "%s\n", crescent_error(context));
    crescent_context_free(context);
    return status ? 2 : 0;
}
