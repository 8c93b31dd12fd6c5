/* step_kinds.c - the steps CALL, LOOP and END: prints them in the dump and checks their numbers. */
#include <stdlib.h>

#include "steps.h"

/* Appends the number of shares into which threads split the items; nothing if it is 1. */
void cr_describe_step_call(struct cr_text *text, const struct cr_step *step)
{
    if (step->call.shares > 1)
        cr_put(text, " in %lld shares", (long long)step->call.shares);
}

const char *cr_flaw_of_step_call(const struct cr_step *step)
{
    return step->call.shares < 1 ? "its items are cut into no shares" : NULL;
}

void cr_describe_step_loop(struct cr_text *text, const struct cr_step *step)
{
    const struct cr_layers *loop = &step->loop;
    cr_put(text, "for layer = %d to %d%s: weights go on by %lld bytes, arena by %lld", loop->start,
           loop->start + (loop->count - 1) * loop->direction, loop->direction < 0 ? " down" : "",
           (long long)loop->weights_stride, (long long)loop->arena_stride);
}

const char *cr_flaw_of_step_loop(const struct cr_step *step)
{
    const struct cr_layers *loop = &step->loop;
    int64_t last = loop->start + (int64_t)(loop->count - 1) * loop->direction;
    if (loop->count < 1 || abs(loop->direction) != 1 || loop->start < 0 || last < 0 ||
        last > INT32_MAX)
        return "the layers of its loop are not numbers from 0 on";
    return NULL;
}

/* Appends nothing: indentation shows where a loop ends. */
void cr_describe_step_end(struct cr_text *text, const struct cr_step *step)
{
    (void)text, (void)step;
}

const char *cr_flaw_of_step_end(const struct cr_step *step)
{
    (void)step;
    return NULL;
}
