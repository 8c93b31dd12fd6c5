/* profile.c - what each kernel of a compiled model takes; see profile.h. */
#include "profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* In place of the runtime's function.  Generated code does not look into the pool it was
 * given, so that it can be something else: the profile. */
static void timed_parallel(struct cr_pool *pool, long items, cr_body *body, const void *args,
                           float *scratch, long scratch_stride)
{
    struct cr_profile *p = (struct cr_profile *)(void *)pool;
    const struct cr_program *program = p->engine->program;
    assert(p->at < program->n_sequence);
    int64_t start = cr_clock();
    p->engine->rt->parallel(p->engine->pool, items, body, args, scratch, scratch_stride);
    p->sums[program->sequence[p->at++]] += (double)(cr_clock() - start);
}

void cr_profile_open(struct cr_profile *p, const struct cr_subject *s)
{
    size_t n = (size_t)s->engine.program->n_kernels;
    *p = (struct cr_profile){.engine = &s->engine, .rt = *s->engine.rt};
    p->rt.parallel = timed_parallel;
    p->sums = cr_calloc(n, sizeof *p->sums);
    p->times = cr_calloc(n, sizeof *p->times);
}

int cr_profile_run(struct cr_profile *p, const struct cr_subject *s, struct cr_error *error)
{
    struct cr_engine watched = *p->engine;
    int n = p->engine->program->n_kernels;
    watched.rt = &p->rt;
    watched.pool = (struct cr_pool *)(void *)p;
    p->at = 0;
    memset(p->sums, 0, (size_t)n * sizeof *p->sums);
    int64_t start = cr_clock();
    if (cr_engine_run(&watched, (const void *const *)s->inputs.data, s->outputs.data, error))
        return -1;
    double rest = (double)(cr_clock() - start);
    assert(p->at == p->engine->program->n_sequence);
    for (int i = 0; i < n; i++) {
        cr_sample_add(&p->times[i], p->sums[i]);
        rest -= p->sums[i];
    }
    cr_sample_add(&p->between, rest);
    return 0;
}

void cr_profile_close(struct cr_profile *p)
{
    for (int i = 0; p->times && i < p->engine->program->n_kernels; i++)
        cr_sample_free(&p->times[i]);
    cr_sample_free(&p->between);
    free(p->times);
    free(p->sums);
    *p = (struct cr_profile){0};
}
