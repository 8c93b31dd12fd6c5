/*
 * session.h - causal models of a case, and sessions, which run one on tokens that follow those of the run
 * before.
 */
#ifndef CR_FUZZ_SESSION_H
#define CR_FUZZ_SESSION_H

#include "keeping.h"
#include "runtime/ranks.h"

/* A model, and its memory, which persists between runs. */
struct cr_session {
    struct cr_compiled code;
    const struct cr_runtime *rt;
    float *weights, *arena, *logits;
    const void **inputs;
    void **outputs;           /* by output; the one of the logits is `logits` */
    int64_t batch, room, row; /* number of texts, greatest number of tokens of a run, floats of one
                                 token's logits */
    int32_t *ids, n;
    int64_t floats; /* number of floats of `logits` */
};

struct cr_session_options {
    struct cr_keeping keep;
    const char *isa;        /* null: the best */
    struct cr_ranks *ranks; /* null: one process */
};

/* Returns the graph's only input, which has to be ids, or CR_NONE. */
cr_id cr_find_ids(const struct cr_graph *g);

/* Returns the index of the logits: of the only output, or of the output with that name; -1 if there
 * is none, or it does not have a row for each token. */
int cr_find_logits(const struct cr_graph *g, cr_id ids);

/* Returns the model for `batch` texts of `tokens` tokens; null if sizes in the graph do not tell
 * how to change it. */
struct cr_graph *cr_causal_model(const struct cr_graph *g, cr_id ids, int output, int64_t batch, int64_t tokens);

/* Returns the incremental model of a graph, which the call frees: it takes up to `chunk` tokens that follow those
 * before, and has the logits of all of them, or of the last one; null if it is refused. */
struct cr_graph *cr_in_chunks(struct cr_graph *g, int64_t chunk, bool last_only, struct cr_error *error);

/* Compiles a graph, which the call frees. */
bool cr_open_session(struct cr_session *s, const struct cr_case *c, struct cr_graph *g,
                     const struct cr_session_options *how, struct cr_report *report);

void cr_close_session(struct cr_session *s);

/* Runs the model on n tokens from `at` on, of the case's texts from number `text` on, which have
 * `context` tokens each. */
bool cr_run_tokens(struct cr_session *s, const int32_t *all, int64_t context, int64_t text, int64_t at, int64_t n,
                   struct cr_report *report);

#endif
