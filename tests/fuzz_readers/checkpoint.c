/* checkpoint.c - fuzz target: any bytes as the file of `crescent train --resume` are refused with a
 * line, or resume the training completely. */
#include "compiler/crescent.h"

#include "target.h"

static crescent_context *context;
static crescent_trainer *trainer;

/* Returns the path in an environment variable of the form NAME=PATH. */
static const char *path_in(const char *variable)
{
    const char *text = getenv(variable), *equals = text ? strchr(text, '=') : NULL;
    PROMISE(equals);
    return equals + 1;
}

/* Opens the training that every input resumes; called once. */
static void open_training(void)
{
    const crescent_input_file files[] = {{"ids", path_in("FUZZ_IDS")},
                                         {"target", path_in("FUZZ_TARGETS")}};
    const crescent_config config = {.backend = CRESCENT_REF};
    crescent_graph *graph;
    context = crescent_context_new();
    int status = crescent_graph_open(context, "tests/scripts/train_one.lua", NULL, &graph) ||
                 crescent_trainer_open(graph, &config, &trainer) ||
                 crescent_trainer_feed(trainer, files, 2) || crescent_trainer_start(trainer) ||
                 crescent_draw_weights(crescent_trainer_model(trainer), 0);
    if (status)
        fprintf(stderr, "%s\n", crescent_error(context));
    PROMISE(!status);
    crescent_graph_close(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crescent_checkpoint *checkpoint;
    crescent_training status;
    char path[32];
    if (!trainer)
        open_training();
    int fd = memory_file(data, size, path);
    if (crescent_checkpoint_open(context, path, &checkpoint) != CRESCENT_OK)
        promise_message(crescent_error(context));
    crescent_checkpoint_close(checkpoint);
    if (crescent_trainer_resume(trainer, path) != CRESCENT_OK)
        promise_message(crescent_error(context));
    PROMISE(crescent_trainer_status(trainer, &status) == CRESCENT_OK && status.step >= 0);
    close(fd);
    return 0;
}
