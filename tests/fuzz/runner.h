/*
 * runner.h - compiling a graph and running it, with memory whose borders are watched.
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

/* Sets the text and returns false. */
bool cr_found(struct cr_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef int cr_backend_function(const struct cr_program *, struct cr_code *, struct cr_error *);

/* A graph that went through the passes, and was compiled. */
struct cr_compiled {
    struct cr_program *program;
    struct cr_code code;
    struct cr_ranks *ranks; /* of a program that exchanges with others */
};

/* The features that the modules of this process have used so far (reach.h). */
extern uint64_t cr_reached;

/* The program of a module that went through all passes. */
struct cr_program *cr_emit_reached(struct cr_module *module);

/* The program of a graph, which is used up; null if the passes refuse it. */
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
    const struct cr_port **port; /* of the program, which has to be there yet */
    float **data;
    int64_t *floats;
    int n, n_results; /* those that are no states */
    float *memory;
};

void cr_outputs_free(struct cr_outputs *o);

/* Fills the weights of a program with the case's data: every other parameter is handed in as elements
 * to be read, not as memory. */
void cr_load_case(const struct cr_case *c, const struct cr_program *p, const struct cr_runtime *rt,
                  struct cr_pool *pool, float *weights);

/*
 * Runs all entries with the kernels of an instruction set (null: the best), by so many threads.  Memory that
 * nothing was written to holds NaN.  False if the run fails or writes outside its memory.
 */
bool cr_run(const struct cr_case *c, const struct cr_compiled *code, const char *isa, int threads,
            struct cr_outputs *o, struct cr_report *report);

/* Bit for bit, but for NaN, which may be any. */
bool cr_check_same(const struct cr_outputs *expected, const struct cr_outputs *o, const char *how,
                   struct cr_report *report);

/* Output i within the bounds of node id of the case; `slack` times. */
bool cr_check_bounds(const struct cr_case *c, cr_id id, const struct cr_outputs *o, int i,
                     const char *how, struct cr_report *report);

#endif
