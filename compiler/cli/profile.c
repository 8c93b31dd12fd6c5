/* profile.c - times each kernel of a compiled model; see profile.h. */
#include "profile.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

void cr_profile_open(struct cr_profile *p, const struct cr_bench_case *s)
{
    size_t n = (size_t)s->report.n_kernels;
    *p = (struct cr_profile){.n = s->report.n_kernels};
    p->run = cr_calloc(n, sizeof *p->run);
    p->times = cr_calloc(n, sizeof *p->times);
}

int cr_profile_run(struct cr_profile *p, const struct cr_bench_case *s, struct cr_error *error)
{
    const void *const *inputs = (const void *const *)s->inputs.data;
    int64_t start = crescent_clock();
    int status = crescent_run_timed(s->model, inputs, s->outputs.data, p->run);
    if (status && cr_bench_case_reset(s)) {
        start = crescent_clock();
        status = crescent_run_timed(s->model, inputs, s->outputs.data, p->run);
    }
    double rest = (double)(crescent_clock() - start);
    if (cr_passed(&s->options, status, error))
        return -1;
    for (int i = 0; i < p->n; i++) {
        cr_sample_add(&p->times[i], p->run[i]);
        rest -= p->run[i];
    }
    cr_sample_add(&p->between, rest);
    return 0;
}

void cr_profile_close(struct cr_profile *p)
{
    for (int i = 0; p->times && i < p->n; i++)
        cr_sample_free(&p->times[i]);
    cr_sample_free(&p->between);
    free(p->times);
    free(p->run);
    *p = (struct cr_profile){0};
}
