/*
 * workers.h - a long run: processes that take graphs by their numbers, and the findings.
 *
 * Each worker is a process, as TinyCC is not for several threads; one that crashes or hangs is a
 * finding, and another takes its place.
 */
#ifndef CR_FUZZ_WORKERS_H
#define CR_FUZZ_WORKERS_H

#include "case.h"

struct cr_fuzz_settings {
    int64_t n, seed, jobs, first;
    int64_t seconds; /* seconds for reducing all findings */
    int64_t reach;   /* whether a kind of kernel or loop that no graph has counts as a finding */
    int64_t models;  /* whether all graphs are models of token ids */
    const char *only; /* the only oracle to try, or null: all that are due */
    const char *out; /* the folder for reduced findings, or null: they are only printed */
};

/* Makes a long run; returns its exit status: 1 if there are findings. */
int cr_fuzz(const struct cr_fuzz_settings *settings);

/* The result of checking a graph in a process of its own. */
struct cr_verdict {
    int oracle;     /* the oracle that found an error, or -1 */
    int signal;     /* the signal that ended the process, or 0 */
    char text[700]; /* in one line */
};

/* Tries all oracles, or one, in all variants, in a process of its own. */
void cr_judge(const struct cr_graph *g, int only, struct cr_verdict *verdict);

#endif
