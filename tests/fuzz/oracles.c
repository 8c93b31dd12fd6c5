/* The table of oracles, and the function that applies them to a case. */
#include "oracles.h"

#include <string.h>

#include "leaves.h"

/* The table is in the order in which oracles are tried, so a finding is reported as the first row
 * that fails. */
const struct cr_oracle cr_oracles[] = {
    {"run", cr_oracle_run, 1, "it compiles and runs, and writes to its own memory only"},
    {"isa", cr_oracle_isa, 1, "the same bits with AVX-512, AVX2, NEON and plain C"},
    {"threads", cr_oracle_threads, 1, "the same bits with two and three threads"},
    {"again", cr_oracle_again, 8, "the same bits on another run, over what the first left"},
    {"dump", cr_oracle_dump, 2, "a printed graph reads back, and gives the same bits"},
    {"simplify", cr_oracle_simplify, 4, "simplify leaves nothing to simplify"},
    {"skip", cr_oracle_skip, 2, "without a pass the same bits, or right values"},
    {"arena", cr_oracle_arena, 3, "the same bits within --max-arena"},
    {"over", cr_oracle_over, 2, "the same bits with outputs stored over inputs, where that may be"},
    {"target", cr_oracle_target, 3, "the same bits with loops of other sizes"},
    {"part", cr_oracle_part, 3, "rows or a batch alone give the bits that they have together"},
    {"entries", cr_oracle_entries, 4, "two entries have the bits that each has alone"},
    {"lengths", cr_oracle_lengths, 3, "lengths give the bits of the same sizes as numbers"},
    {"ragged", cr_oracle_ragged, 3, "each row of a batch has the bits of its own size for all"},
    {"ranks", cr_oracle_ranks, 3, "several ranks give the bits of one process"},
    {"joined", cr_oracle_joined, 6, "so do ranks that have one program, as it is emitted"},
    {"micro-batches", cr_oracle_micro_batches, 20, "a mean over micro-batches has the same bits on several ranks"},
    {"cc", cr_oracle_cc, 400, "the same bits by the system's compiler"},
    {"lengths-cc", cr_oracle_lengths_cc, 1600, "the same by the system's compiler"},
    {"standalone", cr_oracle_standalone, 20000, "the same bits by the standalone file"},
    {"plan", cr_oracle_plan, 1, "what kernels read was not written over; the arena's size"},
    {"bounds", cr_oracle_bounds, 1, "values within the graph's own bound"},
    {"interpreter", cr_oracle_interpreter, 1, "the interpreter agrees with the fuzzer's values"},
    {"gradient", cr_oracle_gradient, 8, "gradients agree with differences"},
    {"dead", cr_oracle_dead, 4, "the same bits with nodes that nothing needs"},
    {"search", cr_oracle_search, 3, "a value has its own largest element: one set of bits"},
    {"identity", cr_oracle_identity, 2, "the same with identities put in"},
    {"chunks", cr_oracle_chunks, 1, "a causal model in chunks has the bits of the whole text"},
    {"rank-chunks", cr_oracle_rank_chunks, 2, "several ranks give chunks the bits of one process"},
};

const int cr_n_oracles = sizeof cr_oracles / sizeof *cr_oracles;

enum { VARIANTS = 8, SELDOM = 100 /* oracles that are due less often are slow */ };

int cr_oracle_by_name(const char *name)
{
    for (int i = 0; i < cr_n_oracles; i++)
        if (strcmp(cr_oracles[i].name, name) == 0)
            return i;
    return -1;
}

int64_t cr_pick(struct cr_subject *s, int64_t n)
{
    return (int64_t)(cr_next_number(&s->state) % (uint64_t)n);
}

/* Tries one oracle, in one variant or several.  Its random numbers depend on its name, not on its
 * row, so that a finding can be reproduced after other oracles are added. */
static bool try_oracle(struct cr_subject *s, int oracle, int64_t number, struct cr_report *report)
{
    int variants = number < 0 && cr_oracles[oracle].one_in <= SELDOM ? VARIANTS : 1;
    for (int v = 0; v < variants; v++) {
        s->state = cr_seed_of_text(s->c->graph->name) + cr_seed_of_text(cr_oracles[oracle].name) +
                   (uint64_t)v;
        if (!cr_oracles[oracle].check(s, report))
            return false;
    }
    return true;
}

/* True: `prepare` below has already compiled and run the case. */
bool cr_oracle_run(struct cr_subject *s, struct cr_report *report)
{
    return s->plain.program || cr_found(report, "it was not compiled");
}

static bool is_due(int oracle, int64_t number, int only)
{
    if (only >= 0)
        return oracle == only;
    return number < 0 ? cr_oracles[oracle].one_in <= SELDOM
                      : (number + oracle) % cr_oracles[oracle].one_in == 0;
}

/* Compiles and runs the case. */
static bool prepare(struct cr_subject *s, struct cr_report *report)
{
    struct cr_error error = {""};
    s->module = cr_module_new(cr_graph_copy(s->c->graph));
    if (cr_run_passes(s->module, NULL, &error))
        return cr_found(report, "refused: %.500s", error.text);
    return cr_compile_program(&s->plain, cr_emit_reached(s->module), cr_compile_tcc, report) &&
           cr_run(s->c, &s->plain, NULL, 1, &s->expected, report);
}

int cr_try_oracles(struct cr_case *c, int64_t number, int only, volatile int *at,
                   struct cr_report *report)
{
    struct cr_subject s = {.c = c, .thorough = number < 0};
    *at = 0;
    int found = prepare(&s, report) ? -1 : 0;
    for (int i = 0; i < cr_n_oracles && found < 0; i++) {
        *at = i;
        if (is_due(i, number, only) && !try_oracle(&s, i, number, report))
            found = i;
    }
    cr_outputs_free(&s.expected);
    cr_compiled_free(&s.plain);
    cr_module_free(s.module);
    return found;
}
