/*
 * engine.h - a model ready to run: compiled or interpreted, with its weights, its arena
 * and its threads.
 *
 * The ports are those of the script's graph, in its order, whatever the passes made of
 * it; so they are the same for every backend.  Of a script that returns several entries, the
 * engine has the inputs and outputs of all, and each entry those that it needs; weights, arena
 * and threads are shared.
 */
#ifndef CR_ENGINE_H
#define CR_ENGINE_H

#include "compiler/emit/pipeline.h"
#include "compiler/passes/plan/stored.h"
#include "exec.h"
#include "fill.h"
#include "offsets.h"
#include "tensor_memory.h"

enum cr_backend {
    CR_BACKEND_TCC,
    CR_BACKEND_CC,
    CR_BACKEND_REF,
    CR_BACKEND_STANDALONE,
    CR_BACKEND_COUNT
};

/* As --backend has it. */
const char *cr_backend_name(enum cr_backend backend);

struct cr_engine_options {
    struct cr_settings settings;
    enum cr_backend backend;
    int threads;
    const char *isa;  /* null: the best the machine has */
    bool keep_stored; /* compilers: the engine's `stored` is wanted */
};

/* What can be asked for by itself: ports whose strings are the engine's, and the engine's numbers
 * of them.  Where there is but one entry, without a name, it has all the engine's ports. */
struct cr_engine_entry {
    const char *name;
    struct cr_port *inputs, *outputs; /* outputs without the entry's name */
    int n_inputs, n_outputs;
    int *input, *output;
};

struct cr_engine {
    enum cr_backend backend;
    int threads;
    char *path, *name;
    struct cr_port *params, *inputs, *outputs; /* an output of an entry with a name: "decode.y" */
    int n_params, n_inputs, n_outputs;
    struct {
        int input; /* that holds it */
        int64_t bound;
    } lengths[CR_MAX_LENGTHS]; /* sizes known at run time */
    int n_lengths;
    struct cr_engine_entry *entries;
    int n_entries;
    struct cr_port *states; /* what a run leaves for the next one; no inputs, no outputs */
    int n_states;
    struct cr_zeros zeros; /* that hold the states */
    void **memory; /* by state: int32_t for i32, float for the rest; zeros at first */
    signed char (*length_axes)[CR_MAX_RANK]; /* by input and axis: 1 + the number of its length, or 0 */
    signed char (*output_axes)[CR_MAX_RANK]; /* by output and axis, in the same way */
    int64_t *id_limits; /* by input: a token id is less than this; 0 for what is no id */
    struct cr_offsets *offsets; /* of writes, or null */

    float **tensors; /* parameters, row-major; compilers: if cr_engine_keep_params was called */

    /* the interpreter */
    struct cr_graph *graph;
    double **exact;  /* its outputs, before they were rounded; then those that replace states */
    double **wanted; /* of those, what a run computes */
    int *to_state;   /* by output that replaces a state: the state */
    struct cr_program *layout; /* where compilers have the weights, if formats round any; or null */
    float **rounded;           /* by parameter: as products read it; null: as in `tensors` */

    /* the compilers */
    struct cr_program *program;
    struct cr_stored_list stored; /* what its kernels store, if that was wanted */
    struct cr_code code;
    const struct cr_runtime *rt;
    struct cr_pool *pool;
    float *weights, *arena;      /* the interpreter with a layout has weights, too */
    void *mapping;               /* the file that has the weights, of mapping_bytes; null: memory */
    size_t mapping_bytes;
    int *to_param;               /* by parameter: its number in the program, or in the layout */
    int *to_input, *to_output;   /* by input and output of the program: its number here; states
                                    are counted behind the inputs */
    const void **program_inputs; /* as the program, or the interpreter, orders them */
    void **program_outputs;

    int64_t passes_ns, emit_ns, compile_ns; /* what each stage took */
};

/* Makes a graph ready to run.  The graph is the engine's from then on, also on failure,
 * which leaves nothing to close. */
int cr_engine_open(struct cr_engine *engine, struct cr_graph *graph,
                   const struct cr_engine_options *options, struct cr_error *error);
void cr_engine_close(struct cr_engine *engine);

/* Hands in parameter i, or all of them, contents[i] for each; they are copied.  After an error those
 * parameters have no values. */
int cr_engine_set_param(struct cr_engine *engine, int i, const struct cr_contents *contents,
                        struct cr_error *error);
int cr_engine_set_params(struct cr_engine *engine, const struct cr_contents *contents,
                         struct cr_error *error);

/* Takes the weights of all parameters from byte `at` of an open file on, as the kernels read them, in place
 * of memory.  Parameters that are handed in later change no byte of the file.  -1 if it cannot be mapped, and
 * nothing has changed then. */
int cr_engine_map_weights(struct cr_engine *engine, int fd, size_t at);

/* From now on a parameter that is handed in is also kept as it is, in `tensors`. */
int cr_engine_keep_params(struct cr_engine *engine, struct cr_error *error);

/* True if a run may be given the memory of the input of the same name for output i. */
bool cr_engine_may_store_over(const struct cr_engine *engine, int i);

/* Hands in what `tensors` holds now of the parameters that have changed.  A run may be given a kept tensor
 * as the memory of an output: no kernel reads it. */
void cr_engine_take_tensors(struct cr_engine *engine, const bool *changed);

/* One run, of all entries in turns; each reads the states and leaves their next values.  Inputs and
 * outputs follow the engine's ports: int32_t for i32, float for the rest. */
int cr_engine_run(struct cr_engine *engine, const void *const *inputs, void *const *outputs,
                  struct cr_error *error);

/* One run of an entry.  Inputs and outputs follow the engine's ports; those that the entry does not
 * have may be null. */
int cr_engine_run_entry(struct cr_engine *engine, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error);

/* Copies what state i holds now, or gives it another value; all states back to zeros. */
void cr_engine_get_state(const struct cr_engine *engine, int i, void *data);
void cr_engine_set_state(struct cr_engine *engine, int i, const void *data);
void cr_engine_reset_states(struct cr_engine *engine);

int64_t cr_port_elements(const struct cr_port *port);

/* Whether an input is a length, and whether a length is in its bounds. */
bool cr_engine_is_length(const struct cr_engine *engine, int input);
int cr_check_length(const struct cr_engine *engine, int length, int32_t value,
                    struct cr_error *error);

/* Index of the port of that name, or CR_NONE. */
int cr_port_find(const struct cr_port *ports, int n, const char *name);

#endif
