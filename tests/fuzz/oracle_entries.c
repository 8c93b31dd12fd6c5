/* Oracle: entries share weights and functions, and an entry gives the bits that it gives alone. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "oracles.h"

enum { ENTRIES = 2 };

static const char *const names[ENTRIES] = {"first", "second"};

/* Returns a graph with the case's nodes and the outputs in the entries whose bits are set: of one
 * entry, which gets no name, or of both.  The last entry replaces the states, so that each entry's
 * run starts with the case's data. */
static struct cr_graph *graph_with(const struct cr_graph *g, const unsigned *sets, unsigned bits)
{
    struct cr_graph *copy = cr_graph_copy_nodes(g);
    for (int e = 0; e < ENTRIES; e++) {
        if (bits == (1u << ENTRIES) - 1)
            cr_add_entry(copy, names[e]);
        for (int i = 0; i < cr_n_results(g); i++)
            if (bits & sets[i] & 1u << e)
                cr_add_output(copy, g->outputs[i].name, g->outputs[i].id);
    }
    for (int i = cr_n_results(g); i < g->n_outputs && bits >> (ENTRIES - 1); i++)
        cr_add_replacement(copy, copy->n_entries - 1, g->outputs[i].state, g->outputs[i].id);
    return copy;
}

/* Compiles and runs a graph, which the call frees. */
static bool run_graph(struct cr_subject *s, struct cr_graph *g, struct cr_compiled *compiled,
                      struct cr_outputs *o, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = cr_program_of(g, NULL, &error);
    if (!program)
        return cr_found(report, "entries: refused: %.400s", error.text);
    if (!cr_compile_program(compiled, program, cr_compile_tcc, report))
        return false;
    bool good = cr_run(s->c, compiled, NULL, 1, o, report);
    if (!good)
        cr_compiled_free(compiled);
    return good;
}

/* Returns n outputs and states of a run, from `first` on. */
static struct cr_outputs part_of(const struct cr_outputs *all, int first, int n)
{
    return (struct cr_outputs){.port = all->port + first,
                               .data = all->data + first,
                               .floats = all->floats + first,
                               .n = n};
}

/* Compares an entry's outputs, and the states after it, with a run of all outputs together. */
static bool check_entry(struct cr_subject *s, const unsigned *sets, int number,
                        const struct cr_entry *entry, const struct cr_outputs *all,
                        struct cr_report *report)
{
    struct cr_compiled alone;
    struct cr_outputs expected;
    const struct cr_outputs o = part_of(all, entry->first_output, entry->n_outputs);
    if (!run_graph(s, graph_with(s->c->graph, sets, 1u << number), &alone, &expected, report))
        return false;
    const struct cr_outputs left = part_of(all, all->n_results, all->n - all->n_results);
    int n_left = expected.n - expected.n_results;
    const struct cr_outputs expected_left = part_of(&expected, expected.n_results, n_left);
    bool good = (expected.n_results == o.n && n_left == left.n) ||
                cr_found(report, "entries: outputs are missing");
    good = good && cr_check_same(&expected, &o, "as an entry", report);
    if (good && number == ENTRIES - 1)
        good = cr_check_same(&expected_left, &left, "left by an entry", report);
    cr_outputs_free(&expected);
    cr_compiled_free(&alone);
    return good;
}

/* Distributes outputs to two entries: each output to one or both, and at least one to each
 * entry. */
bool cr_oracle_entries(struct cr_subject *s, struct cr_report *report)
{
    const struct cr_graph *g = s->c->graph;
    unsigned *sets = cr_calloc((size_t)g->n_outputs + 1, sizeof *sets);
    struct cr_compiled both;
    struct cr_outputs all;
    for (int i = 0; i < cr_n_results(g); i++)
        sets[i] = 1 + (unsigned)cr_pick(s, (1 << ENTRIES) - 1);
    sets[0] |= 1;
    sets[cr_n_results(g) - 1] |= 2;
    bool good = run_graph(s, graph_with(g, sets, (1u << ENTRIES) - 1), &both, &all, report);
    if (good) {
        for (int e = 0; e < ENTRIES && good; e++)
            good = check_entry(s, sets, e, &both.program->entries[e], &all, report);
        cr_outputs_free(&all);
        cr_compiled_free(&both);
    }
    free(sets);
    return good;
}
