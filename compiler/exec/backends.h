/*
 * backends.h - the table of backends, which run graphs; the engine calls them only through this
 * table.
 *
 * A backend gets an engine with its ports, threads and runtime.  `open` fills the engine's other
 * members, and `close` frees them, even if `open` failed halfway.
 */
#ifndef CR_BACKENDS_H
#define CR_BACKENDS_H

#include "engine.h"

struct cr_backend_row {
    const char *name; /* the backend's name for option --backend */
    int (*open)(struct cr_engine *engine, struct cr_graph *graph,
                const struct cr_engine_options *options, struct cr_error *error); /* frees graph */
    void (*close)(struct cr_engine *engine);
    /* Stores parameters where runs read them: contents[i] holds parameter i; null leaves it
     * unchanged. */
    int (*take_params)(struct cr_engine *engine, const struct cr_contents *const *contents,
                       struct cr_error *error);
    int (*run)(struct cr_engine *engine, int entry, const void *const *inputs, void *const *outputs,
               struct cr_error *error);
    /* True if a run may use the memory of the input of the same name for an output. */
    bool (*may_store_over)(const struct cr_engine *engine, int output);
    /* Compiles the engine's program, which `open` made, into the engine's `code`.  Null if the
     * backend compiles nothing. */
    int (*compile)(struct cr_engine *engine, struct cr_error *error);
    bool chooses_isa; /* the compiled code selects the instruction set itself, by cpuid */
};

extern const struct cr_backend_row cr_backends[CR_BACKEND_COUNT];

/* The functions of the interpreter. */
int cr_open_ref(struct cr_engine *engine, struct cr_graph *graph,
                const struct cr_engine_options *options, struct cr_error *error);
void cr_close_ref(struct cr_engine *engine);
int cr_take_params_ref(struct cr_engine *engine, const struct cr_contents *const *contents,
                       struct cr_error *error);
int cr_run_ref(struct cr_engine *engine, int entry, const void *const *inputs, void *const *outputs,
               struct cr_error *error);
bool cr_may_store_over_ref(const struct cr_engine *engine, int output);

/* The functions that all compiling backends share. */
int cr_open_compiled(struct cr_engine *engine, struct cr_graph *graph,
                     const struct cr_engine_options *options, struct cr_error *error);
void cr_close_compiled(struct cr_engine *engine);
int cr_take_params_compiled(struct cr_engine *engine, const struct cr_contents *const *contents,
                            struct cr_error *error);
int cr_run_compiled(struct cr_engine *engine, int entry, const void *const *inputs,
                    void *const *outputs, struct cr_error *error);

/* Makes runs at the same time, each on one thread with an arena of its own.  The engine must have
 * no states. */
int cr_run_compiled_beside(struct cr_engine *engine, const struct cr_tensors *runs, int n,
                           struct cr_error *error);
bool cr_may_store_over_compiled(const struct cr_engine *engine, int output);

#endif
