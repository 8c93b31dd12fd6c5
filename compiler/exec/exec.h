/*
 * exec.h - the functions that run a model: the interpreter, TinyCC in memory, the system's
 * compiler with dlopen.
 */
#ifndef CR_EXEC_H
#define CR_EXEC_H

#include "compiler/emit/emit.h"
#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "runtime/ranks.h"
#include "runtime/runtime.h"

/* The compiled function of an entry; see emit.h. */
typedef int cr_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
                       const void *const *inputs, void *const *outputs, float *arena);

/* The compiled function of an entry in a program whose steps exchange data between ranks. */
typedef int cr_execute_on_ranks(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
                                const void *const *inputs, void *const *outputs, float *arena,
                                struct cr_ranks *ranks);

/* Machine code of a program.  The program must outlive it, since the code may read the program's
 * literals. */
struct cr_code {
    cr_execute *execute[CR_MAX_ENTRIES]; /* by entry */
    void *handle;
    void (*release)(void *handle);
};

/* Compiles by TinyCC in memory, without files. */
int cr_compile_tcc(const struct cr_program *program, struct cr_code *code, struct cr_error *error);

/* Compiles by $CC, or cc, into a temporary shared object, and loads that. */
int cr_compile_cc(const struct cr_program *program, struct cr_code *code, struct cr_error *error);

/* Compiles the standalone C file in the same way.  It has its own runtime, and starts `threads`
 * threads. */
int cr_compile_standalone(const struct cr_program *program, int threads, struct cr_code *code,
                          struct cr_error *error);

void cr_code_free(struct cr_code *code);

/* Returns __TINYC__ of the linked TinyCC, such as 927 for 0.9.27; -1 if it cannot be determined. */
int cr_tinycc_version(struct cr_error *error);

/*
 * Evaluates a graph in double precision, op by op, as the op table defines the ops. `params` are
 * in the order of the graph's param nodes, `inputs` in the order of its input and state nodes
 * (int32_t arrays for i32, else float arrays); `outputs[i]` receives output i as doubles; next
 * values of states come last.  An output whose pointer is null is not computed; inputs that only
 * such outputs need may be null.  States are not written.
 */
int cr_interpret(const struct cr_graph *graph, const float *const *params,
                 const void *const *inputs, double *const *outputs, struct cr_error *error);

#endif
