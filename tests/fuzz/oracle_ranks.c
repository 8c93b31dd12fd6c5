/*
 * Oracles: several ranks give the bits of one process, in whatever format weights are kept: each with its
 * own program, or all with the one program for all ranks that is emitted.
 *
 * The ranks are threads of this process, which exchange through its memory.
 */
#include <stdio.h>
#include <string.h>

#include "compiler/emit/join_programs.h"
#include "keeping.h"
#include "thread_ranks.h"

/* A rank with its program and the results of its run. */
struct member {
    struct cr_thread_rank *rank;
    const struct cr_case *c;
    struct cr_compiled code;
    struct cr_outputs outputs;
    struct cr_report report;
    bool good;
};

static struct cr_program *program_of(const struct cr_graph *g, int rank, int count, struct cr_report *report)
{
    struct cr_error error = {""};
    const struct cr_pass_options options = {.settings = {.path = "g", .rank = rank, .ranks = count}};
    struct cr_program *program = cr_program_of(cr_graph_copy(g), &options, &error);
    if (!program)
        cr_found(report, "rank %d of %d: %.400s", rank, count, error.text);
    return program;
}

/* Returns the program for all ranks, with this rank's layouts of weights; null if the programs of
 * the ranks cannot be joined, or, with a report, on an error. */
static struct cr_program *joined_for(const struct cr_graph *g, int rank, int count, struct cr_report *report)
{
    struct cr_program *of[CR_MOST_RANKS], *p;
    struct cr_error error;
    for (int r = 0; r < count; r++)
        if (!(of[r] = program_of(g, r, count, report))) {
            while (r-- > 0)
                cr_program_free(of[r]);
            return NULL;
        }
    p = cr_join_programs(of, count, false, "g", &error);
    if (p) {
        p->n_layouts = p->first_layout[rank + 1] - p->first_layout[rank];
        memmove(p->layouts, p->layouts + p->first_layout[rank], (size_t)p->n_layouts * sizeof *p->layouts);
    }
    return p;
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
    void *contexts[CR_MOST_RANKS] = {0};
    for (int r = 0; r < count; r++) {
        members[r].rank = &ranks[r];
        contexts[r] = &members[r];
    }
    cr_run_thread_ranks(count, run, contexts, ranks);
}

static bool check_member(const struct cr_outputs *expected, const struct member *m, const char *how,
                         struct cr_report *report)
{
    if (!m->good)
        return cr_found(report, "%s: %.400s", how, m->report.text);
    return cr_check_same(expected, &m->outputs, how, report);
}

typedef struct cr_program *program_of_rank(const struct cr_graph *g, int rank, int count, struct cr_report *report);

/* Runs the programs of a graph that a function makes, one for each rank. */
static bool run_ranks(struct cr_subject *s, const struct cr_graph *g, const struct cr_outputs *expected, int count,
                      program_of_rank *make, struct cr_report *report)
{
    struct member members[CR_MOST_RANKS] = {0};
    int n = 0;
    bool good = true, made = true;
    for (; n < count && good && made; n++) {
        struct cr_program *program = make(g, n, count, report);
        members[n].c = s->c;
        made = program != NULL;
        good = made ? cr_compile_program(&members[n].code, program, cr_compile_tcc, report) : !*report->text;
    }
    if (good && made)
        run_all(members, count);
    for (int r = 0; r < n; r++) {
        char how[64];
        snprintf(how, sizeof how, "rank %d of %d", r, count);
        good = good && (!made || check_member(expected, &members[r], how, report));
        cr_outputs_free(&members[r].outputs);
        cr_compiled_free(&members[r].code);
    }
    return good;
}

/* Compares ranks with one process, whose weights are kept as is drawn. */
static bool check_kept(struct cr_subject *s, struct cr_graph *g, const struct cr_keeping *keep, int count,
                       program_of_rank *make, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_compiled one = {0};
    struct cr_outputs expected = {0};
    if (cr_keep_weights(g, keep, &error))
        return true; /* a rule that matches nothing */
    struct cr_program *program = program_of(g, 0, 1, report);
    bool good = program && cr_compile_program(&one, program, cr_compile_tcc, report) &&
                cr_run(s->c, &one, NULL, 1, &expected, report) &&
                run_ranks(s, g, &expected, count, make, report);
    if (!good) {
        struct cr_report why = *report;
        cr_found(report, "format %s %s: %.400s", keep->format, keep->arithmetic ? keep->arithmetic : "", why.text);
    }
    cr_outputs_free(&expected);
    cr_compiled_free(&one);
    return good;
}

/* States are distributed, so all ranks have the same outputs only in graphs without states. */
static bool check_ranks(struct cr_subject *s, int count, program_of_rank *make, struct cr_report *report)
{
    if (s->c->graph->n_replaced)
        return true;
    struct cr_keeping keep = cr_choose_keeping(s);
    if (!*keep.format)
        return run_ranks(s, s->c->graph, &s->expected, count, make, report);
    struct cr_graph *g = cr_graph_copy(s->c->graph);
    bool good = check_kept(s, g, &keep, count, make, report);
    cr_graph_free(g);
    return good;
}

int cr_pick_ranks(struct cr_subject *s, int most)
{
    static const int counts[] = {2, 3, 2, 3, 4, 5, 7, 8};
    int count = counts[cr_pick(s, sizeof counts / sizeof *counts)];
    return count < most ? count : most;
}

bool cr_oracle_ranks(struct cr_subject *s, struct cr_report *report)
{
    return check_ranks(s, cr_pick_ranks(s, CR_MOST_RANKS), program_of, report);
}

/* Uses fewer ranks, as each one makes the programs of all ranks and joins them. */
bool cr_oracle_joined(struct cr_subject *s, struct cr_report *report)
{
    return check_ranks(s, 2 + (int)cr_pick(s, 2), joined_for, report);
}
