/*
 * oracles.h - properties that must hold for every graph: a table with a function for each.
 */
#ifndef CR_FUZZ_ORACLES_H
#define CR_FUZZ_ORACLES_H

#include "runner.h"

/* A case that was compiled and run once; oracles compare other ways to run it with this result. */
struct cr_subject {
    struct cr_case *c;
    struct cr_module *module;   /* after all passes */
    struct cr_compiled plain;   /* the compiled code of the module, by TinyCC */
    struct cr_outputs expected; /* the results of `plain` with one thread */
    uint64_t state;             /* state of the oracle's random generator; differs by variant */
    bool thorough;              /* the case is a script: each oracle is tried in several variants */
};

/* An oracle: returns false, and sets the report's text, if the property does not hold. */
typedef bool cr_oracle_function(struct cr_subject *s, struct cr_report *report);

struct cr_oracle {
    const char *name;
    cr_oracle_function *check;
    int one_in; /* a long run tries it on one graph in so many */
    const char *doc;
};

extern const struct cr_oracle cr_oracles[];
extern const int cr_n_oracles;

/* Returns the index of the oracle with this name, or -1. */
int cr_oracle_by_name(const char *name);

/*
 * Tries oracles on a case: those that are due for graph `number` of a long run or, if number is
 * negative, all but the slowest, in several variants; only oracle `only` unless that is negative.
 * Returns the number of the oracle that finds an error, or -1; *at is the oracle in progress.
 */
int cr_try_oracles(struct cr_case *c, int64_t number, int only, volatile int *at,
                   struct cr_report *report);

/* A number from 0 to n - 1. */
int64_t cr_pick(struct cr_subject *s, int64_t n);

/* oracles.c: the graph compiles and runs */
cr_oracle_function cr_oracle_run;

/* oracle_bits.c: variants of compiling and running that give the same bits */
cr_oracle_function cr_oracle_isa, cr_oracle_threads, cr_oracle_again, cr_oracle_skip,
    cr_oracle_dump, cr_oracle_simplify, cr_oracle_arena, cr_oracle_over, cr_oracle_target,
    cr_oracle_cc, cr_oracle_standalone;

/* oracle_entries.c: an entry gives the same bits alone and beside another entry */
cr_oracle_function cr_oracle_entries;

/* oracle_chunks.c: a causal model gives the same bits for a text in chunks */
cr_oracle_function cr_oracle_chunks;

/* oracle_lengths.c: sizes that are known only when the model runs */
cr_oracle_function cr_oracle_lengths, cr_oracle_lengths_cc;

/* oracle_ragged.c: each row of a batch has a size of its own */
cr_oracle_function cr_oracle_ragged;

/* oracle_ranks.c: several ranks give the bits of one process */
cr_oracle_function cr_oracle_ranks, cr_oracle_joined;

/* Draws a number of ranks, at most `most`. */
int cr_pick_ranks(struct cr_subject *s, int most);

/* oracle_rank_chunks.c: so they do for a text in chunks */
cr_oracle_function cr_oracle_rank_chunks;

/* oracle_micro_batches.c: several processes share the micro-batches of a step */
cr_oracle_function cr_oracle_micro_batches;

/* oracle_plan.c: no kernel reads memory that is unwritten or was overwritten */
cr_oracle_function cr_oracle_plan;

/* oracle_values.c: values agree with the interpreter and its error bounds, gradients with differences */
cr_oracle_function cr_oracle_interpreter, cr_oracle_bounds, cr_oracle_gradient;

/* oracle_rewrite.c: a graph with other nodes of the same meaning gives the same results */
cr_oracle_function cr_oracle_dead, cr_oracle_identity, cr_oracle_search, cr_oracle_part;

#endif
