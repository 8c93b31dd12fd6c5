/*
 * Oracle: several ranks together give the bits that one process gives.
 *
 * The ranks are threads of this process, which exchange through its memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracles.h"
#include "runtime/ranks.h"

enum { MOST_RANKS = 5 };

/* Ranks that meet at a barrier, and what each of them gives. */
struct group {
    pthread_barrier_t barrier;
    const void *given[MOST_RANKS];
};

/* A rank, with its program and the result of its run. */
struct member {
    struct cr_ranks ranks;
    struct group *group;
    const struct cr_case *c;
    struct cr_compiled code;
    struct cr_outputs outputs;
    struct cr_report report;
    bool good;
};

static void gather_blocks(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    struct group *group = ((struct member *)(void *)ranks)->group;
    group->given[ranks->rank] = from;
    pthread_barrier_wait(&group->barrier);
    for (int r = 0; r < ranks->count; r++)
        memcpy((char *)to + r * stride, group->given[r], (size_t)bytes);
    pthread_barrier_wait(&group->barrier); /* the others may still read what this rank gives */
}

static bool compile(struct member *m, const struct cr_graph *g, int rank, int count, struct cr_report *report)
{
    struct cr_error error = {""};
    const struct cr_pass_options options = {.settings = {.path = "g", .rank = rank, .ranks = count}};
    struct cr_program *program = cr_program_of(cr_graph_copy(g), &options, &error);
    if (!program)
        return cr_found(report, "rank %d of %d: %.400s", rank, count, error.text);
    m->ranks = (struct cr_ranks){.gather_blocks = gather_blocks, .rank = rank, .count = count};
    return cr_compile_program(&m->code, program, cr_compile_tcc, report);
}

static void *run(void *argument)
{
    struct member *m = argument;
    m->code.ranks = &m->ranks;
    m->good = cr_run(m->c, &m->code, NULL, 1, &m->outputs, &m->report);
    return NULL;
}

static void run_all(struct member *members, int count)
{
    pthread_t threads[MOST_RANKS];
    struct group group;
    pthread_barrier_init(&group.barrier, NULL, (unsigned)count);
    for (int r = 0; r < count; r++) {
        members[r].group = &group;
        if (pthread_create(&threads[r], NULL, run, &members[r]))
            abort();
    }
    for (int r = 0; r < count; r++)
        pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&group.barrier);
}

static bool check_member(const struct cr_subject *s, const struct member *m, struct cr_report *report)
{
    char how[64];
    snprintf(how, sizeof how, "rank %d of %d", m->ranks.rank, m->ranks.count);
    if (!m->good)
        return cr_found(report, "%s: %.400s", how, m->report.text);
    return cr_check_same(&s->expected, &m->outputs, how, report);
}

/* States are cut, so only graphs without them have the same outputs on each rank. */
bool cr_oracle_ranks(struct cr_subject *s, struct cr_report *report)
{
    struct member members[MOST_RANKS] = {0};
    int count = 2 + (int)cr_pick(s, MOST_RANKS - 1), n = 0;
    bool good = true;
    if (s->c->graph->n_replaced)
        return true;
    for (; n < count && good; n++) {
        members[n].c = s->c;
        good = compile(&members[n], s->c->graph, n, count, report);
    }
    if (good)
        run_all(members, count);
    for (int r = 0; r < n && good; r++)
        good = check_member(s, &members[r], report);
    for (int r = 0; r < n; r++) {
        cr_outputs_free(&members[r].outputs);
        cr_compiled_free(&members[r].code);
    }
    return good;
}
