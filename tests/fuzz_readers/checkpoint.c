/* checkpoint.c - any bytes as the file of `crescent train --resume`: refused with a line, or
 * taken over whole. */
#include "compiler/cli/training.h"

#include "target.h"

static struct cr_options options;
static struct cr_model model;
static struct cr_training training;

/* The training that all inputs are resumed for; made once. */
static void open_training(void)
{
    static char *arguments[] = {"train",     "tests/scripts/train_one.lua",
                                "--backend", "ref",
                                "--input",   NULL,
                                "--input",   NULL,
                                NULL};
    struct cr_error error = {""};
    arguments[5] = getenv("FUZZ_IDS");
    arguments[7] = getenv("FUZZ_TARGETS");
    PROMISE(arguments[5] && arguments[7]);
    int status = cr_options_parse(&options, cr_verb_find("train", &error), 8, arguments, &error) ||
                 cr_model_load(&model, &options, &error) ||
                 cr_training_open(&training, &model, &error);
    if (status)
        fprintf(stderr, "%s\n", error.text);
    PROMISE(!status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_error error = {""};
    char path[32];
    if (!training.options)
        open_training();
    int fd = memory_file(data, size, path);
    struct cr_options own = cr_options_copy(&options);
    if (cr_checkpoint_settings(&own, path, &error) != 0)
        promise_message(error.text);
    cr_options_free(&own);
    error.text[0] = '\0';
    if (cr_checkpoint_read(&training, path, &error) != 0)
        promise_message(error.text);
    PROMISE(training.step >= 0);
    close(fd);
    return 0;
}
