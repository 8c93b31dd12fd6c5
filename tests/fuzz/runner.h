/*
 * runner.h - compiles and runs graphs in memory with guard words.
 *
 * A check that fails says why in struct cr_report and returns false; the functions here do, too.
 */
#ifndef CR_FUZZ_RUNNER_H
#define CR_FUZZ_RUNNER_H

#include "case.h"
#include "compiler/exec/exec.h"
#include "compiler/passes/passes.h"

/* Why a case fails. */
struct cr_report {
    char text[600];
};

/* Sets the report's text and returns false. */
bool cr_found(struct cr_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef int cr_backend_function(const struct cr_program *, struct cr_code *, struct cr_error *);

/* A graph after all passes, and its compiled code. */
struct cr_compiled {
    struct cr_program *program;
    struct cr_code code;
    struct cr_ranks *ranks; /* of a program that exchanges data with other ranks */
};

/* The features that modules of this process have used so far (reach.h). */
extern uint64_t cr_reached;

/* Returns the program of a module after all passes, and adds its features to cr_reached. */
struct cr_program *cr_emit_reached(struct cr_module *module);

/* Returns the program of a graph, which the call frees; null if a pass refuses it. */
struct cr_program *cr_program_of(struct cr_graph *g, const struct cr_pass_options *options,
                                 struct cr_error *error);

bool cr_compile_program(struct cr_compiled *c, struct cr_program *program,
                        cr_backend_function *backend, struct cr_report *report);
void cr_compiled_free(struct cr_compiled *c);

/* True if two programs have the same code and the same memory: then they give the same bits. */
bool cr_same_program(const struct cr_program *a, const struct cr_program *b);

/* The results of a run: the outputs of the program, then the states after it, in the order of
 * the graph's outputs. */
struct cr_outputs {
    const struct cr_port **port; /* belongs to the program, which must not be freed before */
    float **data;
    int64_t *floats;
    int n, n_results; /* number of outputs and states; number of outputs alone */
    float *memory;
};

void cr_outputs_free(struct cr_outputs *o);

/* Fills a program's weights with the case's data: every other parameter by a function that reads
 * elements, the others from memory. */
void cr_load_case(const struct cr_case *c, const struct cr_program *p, const struct cr_runtime *rt,
                  struct cr_pool *pool, float *weights);

/*
 * Runs all entries with the functions of an instruction set (null: the best) and a number of
 * threads.  Memory that was not written holds NaN.  Returns false if the run fails or writes outside
 * its memory.
 */
bool cr_run(const struct cr_case *c, const struct cr_compiled *code, const char *isa, int threads,
            struct cr_outputs *o, struct cr_report *report);

/* Calls an entry of compiled code, whose steps that exchange data use code->ranks.  Returns 0, or the status of a
 * failed run. */
int cr_run_entry(const struct cr_compiled *code, int entry, const struct cr_runtime *rt, struct cr_pool *pool,
                 const float *weights, const void **in, void *const *out, float *arena);

/* Compares results bit by bit; any NaN equals any other. */
bool cr_check_same(const struct cr_outputs *expected, const struct cr_outputs *o, const char *how,
                   struct cr_report *report);

/* Checks output i against `slack` times the bounds of node id of the case. */
bool cr_check_bounds(const struct cr_case *c, cr_id id, const struct cr_outputs *o, int i,
                     const char *how, struct cr_report *report);

#endif
