/* step_all_gather.c - the step ALL_GATHER: prints it in the dump and checks its numbers. */
#include "steps.h"

void cr_describe_step_all_gather(struct cr_text *text, const struct cr_step *step)
{
    const struct cr_exchanged *x = &step->all_gather;
    cr_put(text, " of %d ranks, %lld x %s%lld x %lld elements each", x->ranks, (long long)x->pieces,
           x->length == CR_NONE ? "" : "up to ", (long long)x->rows, (long long)x->width);
}

const char *cr_flaw_of_step_all_gather(const struct cr_step *step)
{
    const struct cr_exchanged *x = &step->all_gather;
    return x->ranks < 1 || x->pieces < 1 || x->rows < 1 || x->width < 1 ? "it exchanges nothing" : NULL;
}
