/*
 * workers.h - a long run: processes that take graphs by number, and what they found.
 *
 * Each worker is a process, as TinyCC is not for several threads; one that crashes or hangs is a
 * finding, and another takes its place.
 */
#ifndef CR_FUZZ_WORKERS_H
#define CR_FUZZ_WORKERS_H

#include "case.h"

struct cr_fuzz_settings {
    int64_t n, seed, jobs, first;
    int64_t seconds; /* that reducing all findings may take */
    int64_t reach;   /* whether kinds of kernels and loops that no graph has count as findings */
    int64_t models;  /* whether all graphs are models of ids */
    const char *only; /* the oracle that is tried, or null for all that are due */
    const char *out; /* folder for reduced findings, or null: they are printed only */
};

/* Returns the exit status: 1 if anything was found. */
int cr_fuzz(const struct cr_fuzz_settings *settings);

/* The result of checking a graph in a process of its own. */
struct cr_verdict {
    int oracle;     /* that found something, or -1 */
    int signal;     /* by which the process ended, or 0 */
    char text[700]; /* in one line */
};

/* Tries all oracles, or one, in all variants. */
void cr_judge(const struct cr_graph *g, int only, struct cr_verdict *verdict);

#endif
