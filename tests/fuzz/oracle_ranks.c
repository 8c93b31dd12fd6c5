/*
 * Oracle: several ranks together give the bits that one process gives.
 *
 * The ranks are threads of this process, which exchange through its memory.
 */
#include <stdio.h>

#include "oracles.h"
#include "thread_ranks.h"

/* A rank, with its program and the result of its run. */
struct member {
    struct cr_thread_rank *rank;
    const struct cr_case *c;
    struct cr_compiled code;
    struct cr_outputs outputs;
    struct cr_report report;
    bool good;
};

static bool compile(struct member *m, const struct cr_graph *g, int rank, int count, struct cr_report *report)
{
    struct cr_error error = {""};
    const struct cr_pass_options options = {.settings = {.path = "g", .rank = rank, .ranks = count}};
    struct cr_program *program = cr_program_of(cr_graph_copy(g), &options, &error);
    if (!program)
        return cr_found(report, "rank %d of %d: %.400s", rank, count, error.text);
    return cr_compile_program(&m->code, program, cr_compile_tcc, report);
}

static void run(void *context)
{
    struct member *m = context;
    m->code.ranks = &m->rank->ranks;
    m->good = cr_run(m->c, &m->code, NULL, 1, &m->outputs, &m->report);
}

static void run_all(struct member *members, int count)
{
    struct cr_thread_rank ranks[CR_MOST_RANKS];
    void *contexts[CR_MOST_RANKS];
    for (int r = 0; r < count; r++) {
        members[r].rank = &ranks[r];
        contexts[r] = &members[r];
    }
    cr_run_thread_ranks(count, run, contexts, ranks);
}

static bool check_member(const struct cr_subject *s, const struct member *m, int rank, int count,
                         struct cr_report *report)
{
    char how[64];
    snprintf(how, sizeof how, "rank %d of %d", rank, count);
    if (!m->good)
        return cr_found(report, "%s: %.400s", how, m->report.text);
    return cr_check_same(&s->expected, &m->outputs, how, report);
}

/* States are cut, so only graphs without them have the same outputs on each rank. */
bool cr_oracle_ranks(struct cr_subject *s, struct cr_report *report)
{
    struct member members[CR_MOST_RANKS] = {0};
    int count = 2 + (int)cr_pick(s, CR_MOST_RANKS - 1), n = 0;
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
        good = check_member(s, &members[r], r, count, report);
    for (int r = 0; r < n; r++) {
        cr_outputs_free(&members[r].outputs);
        cr_compiled_free(&members[r].code);
    }
    return good;
}
