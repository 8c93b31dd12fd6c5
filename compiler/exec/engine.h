/*
 * engine.h - a model ready to run: compiled or interpreted, with its weights, its arena and its
 * threads.
 *
 * The ports are the inputs, parameters, states and outputs of the script's graph, in its order,
 * before any pass; so they are the same for every backend.  If a script returns several entries,
 * the engine has the inputs and outputs of all, and each entry uses some of them; weights, arena
 * and threads are shared.
 */
#ifndef CR_ENGINE_H
#define CR_ENGINE_H

#include "compiler/emit/make_program.h"
#include "compiler/passes/plan/stored_nodes.h"
#include "exec.h"
#include "pack_tensors.h"
#include "tensor_memory.h"
#include "write_offsets.h"

enum cr_backend {
    CR_BACKEND_TCC,
    CR_BACKEND_CC,
    CR_BACKEND_REF,
    CR_BACKEND_STANDALONE,
    CR_BACKEND_COUNT
};

/* Returns the name that option --backend uses. */
const char *cr_backend_name(enum cr_backend backend);

struct cr_engine_options {
    struct cr_settings settings;
    enum cr_backend backend;
    int threads;
    const char *isa;  /* null: the best the machine has */
    struct cr_ranks *ranks; /* that run the model together: settings.ranks many; or null */
    bool keep_stored; /* compilers: fill the engine's `stored` */
};

/* An entry point of the graph: its ports, whose strings belong to the engine, and their indices in
 * the engine's lists.  A graph with one unnamed entry has all ports in it. */
struct cr_engine_entry {
    const char *name;
    struct cr_port *inputs, *outputs; /* output names lack the prefix of the entry */
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
        int input; /* the input that holds the length */
        int64_t bound;
        int batch; /* as in cr_length */
    } lengths[CR_MAX_LENGTHS]; /* sizes that are known only at run time */
    int n_lengths;
    struct cr_engine_entry *entries;
    int n_entries;
    struct cr_port *states; /* values kept from one run to the next; no inputs or outputs */
    int n_states;
    struct cr_zeros zeros; /* the memory that holds the states */
    void **memory; /* by state: int32_t for i32, else float; zeros at first */
    signed char (*length_axes)[CR_MAX_RANK]; /* by input and axis: 1 + the index of its length,
                                                or 0 */
    signed char (*output_axes)[CR_MAX_RANK]; /* by output and axis, like length_axes */
    int64_t *id_limits; /* by input: token ids are below this; 0 if the input holds no ids */
    bool *is_operand; /* by parameter: an op other than a gather reads it */
    struct cr_offsets *offsets; /* offsets of writes, which are checked before a run; or null */

    float **tensors; /* by parameter, row-major; with compilers only after cr_engine_keep_params */
    bool *is_shared; /* by parameter: its tensor lies in `weights` */

    /* the interpreter */
    struct cr_graph *graph;
    double **exact;  /* by output: unrounded values; the next values of states come last */
    double **wanted; /* the members of `exact` that the current run computes; null: not computed */
    int *to_state;   /* by output that is the next value of a state: the index of the state */
    struct cr_program *layout; /* a program that packs weights, if a format of one rounds; or null */
    float **rounded;           /* by parameter: values rounded to its format; null: the
                                  values in `tensors` */

    /* the compilers */
    struct cr_program *program;
    struct cr_stored_nodes stored; /* values that kernels store, if keep_stored was set */
    struct cr_code code;
    const struct cr_runtime *rt;
    struct cr_pool *pool;
    struct cr_ranks *ranks;
    bool has_exchanged;          /* the ranks have run the model */
    float *weights, *arena;      /* used by the interpreter if the program has a layout, too */
    bool has_large_pages;        /* the arena has been given large pages */
    float *lanes;                /* an arena for each thread, for runs that are made at the same
                                    time; or null */
    bool lanes_have_large_pages; /* these arenas have been given large pages */
    void *mapping;               /* mapped file of weights, mapping_bytes long; null: none */
    size_t mapping_bytes;
    int *to_param;               /* by parameter: its index in the program or the layout */
    int *to_input, *to_output;   /* by input and output of the program: its index in the engine;
                                  * states follow the inputs */
    const void **program_inputs; /* in the order of the program or the interpreter */
    void **program_outputs;

    int64_t passes_ns, emit_ns, compile_ns; /* time of each stage */
};

/* Makes a graph ready to run.  The engine owns the graph from then on, even after a failure.  A
 * failure leaves nothing to close. */
int cr_engine_open(struct cr_engine *engine, struct cr_graph *graph,
                   const struct cr_engine_options *options, struct cr_error *error);
void cr_engine_close(struct cr_engine *engine);

/* Sets parameter i, or all of them from contents[i]; the values are copied.  After an error those
 * parameters have undefined values. */
int cr_engine_set_param(struct cr_engine *engine, int i, const struct cr_contents *contents,
                        struct cr_error *error);
int cr_engine_set_params(struct cr_engine *engine, const struct cr_contents *contents,
                         struct cr_error *error);

/* Maps the packed weights of all parameters from an open file, from byte `at` on, instead of
 * allocating memory.  Parameters that are set later do not change the file.  Returns -1 and
 * changes nothing if the file cannot be mapped. */
int cr_engine_map_weights(struct cr_engine *engine, int fd, size_t at);

/* Makes the engine also keep each parameter that is set from now on, unpacked, in `tensors`.  A
 * parameter in `shared`, which may be null, is not copied if kernels read it unpacked: `tensors`
 * then has their copy. */
int cr_engine_keep_params(struct cr_engine *engine, const bool *shared, struct cr_error *error);

/* True if a run may use the memory of the input or parameter of the same name for output i. */
bool cr_engine_may_store_over(const struct cr_engine *engine, int i);

/* Sets those parameters again whose member of `tensors` has changed.  A run may be given a kept
 * tensor as the memory of an output: kernels read only shared ones. */
void cr_engine_take_tensors(struct cr_engine *engine, const bool *changed);

/* Runs all entries in order; each reads the states and leaves their next values.  Inputs and
 * outputs follow the engine's ports: int32_t for i32, float for the rest. */
int cr_engine_run(struct cr_engine *engine, const void *const *inputs, void *const *outputs,
                  struct cr_error *error);

/* Runs one entry.  Inputs and outputs follow the engine's ports; pointers that the entry does
 * not use may be null. */
int cr_engine_run_entry(struct cr_engine *engine, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error);

/* The tensors of a run. */
struct cr_tensors {
    const void *const *inputs;
    void *const *outputs;
};

/* Makes n runs of an engine with one entry.  If it is compiled and has no states, runs are
 * concurrent, one on each thread; the bits are the same. */
int cr_engine_run_many(struct cr_engine *engine, const struct cr_tensors *runs, int n,
                       struct cr_error *error);

/* Copy the value of state i out or in; set all states back to zeros. */
void cr_engine_get_state(const struct cr_engine *engine, int i, void *data);
void cr_engine_set_state(struct cr_engine *engine, int i, const void *data);
void cr_engine_reset_states(struct cr_engine *engine);

int64_t cr_port_elements(const struct cr_port *port);

/* cr_engine_is_length returns true if an input holds a length; cr_check_length fails if a length,
 * or the size of a row, is out of bounds.  Lengths of batches are checked before. */
bool cr_engine_is_length(const struct cr_engine *engine, int input);
int cr_check_length(const struct cr_engine *engine, int length, const void *const *inputs,
                    struct cr_error *error);

/* Returns input or output i as this process has it: with cr_settings.update, only the share of its rank. */
const struct cr_port *cr_engine_own_input(const struct cr_engine *engine, int i);
const struct cr_port *cr_engine_own_output(const struct cr_engine *engine, int i);

/* Returns by parameter whether an op reads it other than row by row, as a gather does.  The caller frees the
 * list. */
bool *cr_find_operands(const struct cr_graph *graph);

/* Returns the index of the port of that name, or CR_NONE. */
int cr_port_find(const struct cr_port *ports, int n, const char *name);

#endif
