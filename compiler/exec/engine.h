/*
 * engine.h - a model that is ready to run: compiled or interpreted, with its weights, its arena
 * and its threads.
 *
 * The ports are the inputs, parameters, states and outputs of the script's graph, in its order,
 * before any pass; so they are the same for every backend.  If a script returns several entries,
 * the engine has the inputs and outputs of all of them, and each entry uses some; weights, arena
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

/* Returns the name of a backend for option --backend. */
const char *cr_backend_name(enum cr_backend backend);

struct cr_engine_options {
    struct cr_settings settings;
    enum cr_backend backend;
    int threads;
    const char *isa;  /* instruction set of the runtime; null: the best that the machine has */
    struct cr_ranks *ranks; /* the settings.ranks ranks that run the model together; or null */
    bool keep_stored; /* compiling backends: record in the engine's `stored` which values kernels
                       * store */
};

/* An entry of the graph: its ports, whose strings belong to the engine, and their indices in the
 * engine's lists. In a graph with one unnamed entry, that entry has all ports. */
struct cr_engine_entry {
    const char *name;
    struct cr_port *inputs, *outputs; /* output names lack the prefix of the entry, "decode." */
    int n_inputs, n_outputs;
    int *input, *output;
};

struct cr_engine {
    enum cr_backend backend;
    int threads;
    char *path, *name;
    struct cr_port *params, *inputs, *outputs; /* outputs of a named entry have its name as
                                                * prefix: "decode.y" */
    int n_params, n_inputs, n_outputs;
    struct {
        int input; /* index of the input that holds the length */
        int64_t bound;
        int batch; /* 1 + the index of the length that counts the rows; see cr_length */
    } lengths[CR_MAX_LENGTHS]; /* the lengths of the graph: sizes known only at run time */
    int n_lengths;
    struct cr_engine_entry *entries;
    int n_entries;
    struct cr_port *states; /* values kept from run to run; they are neither inputs nor outputs */
    int n_states;
    struct cr_zeros zeros; /* the memory that holds the states */
    void **memory; /* by state: its value, int32_t for i32, else float; zeros at first */
    signed char (*length_axes)[CR_MAX_RANK]; /* by input and axis: 1 + the index of the length
                                              * that is its size, or 0 */
    signed char (*output_axes)[CR_MAX_RANK]; /* by output and axis: the same */
    int64_t *id_limits; /* by input: an upper bound (exclusive) of its token ids; 0 if it holds no
                         * ids */
    bool *is_operand; /* by parameter: true if an op other than a gather reads it */
    struct cr_offsets *offsets; /* the offsets of write ops, which are checked before a run; or
                                 * null */

    float **tensors; /* by parameter: its elements, row-major; with compiling backends only after
                      * cr_engine_keep_params */
    bool *is_shared; /* by parameter: `tensors` points into `weights`, where kernels read it */

    /* members that only the interpreter uses */
    struct cr_graph *graph;
    double **exact;  /* by output: unrounded values; the next values of states come after the
                      * outputs */
    double **wanted; /* by output: its member of `exact`, or null if the current run does not
                      * compute it */
    int *to_state;   /* by output that is the next value of a state: the index of that state */
    struct cr_program *layout; /* a program that packs weights, if the format of one rounds; else
                                * null */
    float **rounded;           /* by parameter: its values rounded to its format; null: `tensors`
                                * is used */

    /* members that only compiling backends use, except as noted */
    struct cr_program *program;
    struct cr_stored_nodes stored; /* which values kernels store, if keep_stored was set */
    struct cr_code code;
    const struct cr_runtime *rt;
    struct cr_pool *pool;
    struct cr_ranks *ranks;
    bool has_exchanged;          /* true once the ranks have run the model */
    float *weights, *arena;      /* `weights` is also used by the interpreter, if it has a
                                  * `layout` */
    bool has_large_pages;        /* the arena has been given large pages */
    float *lanes;                /* the arenas of all threads, for runs at the same time; or null */
    bool lanes_have_large_pages; /* these arenas have been given large pages */
    void *mapping;               /* the mapped file of weights, of mapping_bytes bytes; or null */
    size_t mapping_bytes;
    int *to_param;               /* by parameter: its index in the program or in `layout` */
    int *to_input, *to_output;   /* by input and output of the program: its index in the engine;
                                  * states come after the inputs */
    const void **program_inputs; /* pointers to inputs and states in the order of the program or
                                  * of the interpreter */
    void **program_outputs;

    int64_t passes_ns, emit_ns, compile_ns; /* time taken by each stage, in ns */
};

/* Makes an engine ready to run a graph.  The engine owns the graph from then on, even after a
 * failure.  After a failure the caller has nothing to close. */
int cr_engine_open(struct cr_engine *engine, struct cr_graph *graph,
                   const struct cr_engine_options *options, struct cr_error *error);
void cr_engine_close(struct cr_engine *engine);

/* Sets parameter i from `contents`; the second function sets all parameters, parameter i from
 * contents[i]. The values are copied.  After an error these parameters have undefined values. */
int cr_engine_set_param(struct cr_engine *engine, int i, const struct cr_contents *contents,
                        struct cr_error *error);
int cr_engine_set_params(struct cr_engine *engine, const struct cr_contents *contents,
                         struct cr_error *error);

/* Maps the packed weights of all parameters from an open file, starting at byte `at`, instead of
 * allocating memory for them.  Parameters that are set later do not change the file.  Returns -1
 * and changes nothing if the file cannot be mapped. */
int cr_engine_map_weights(struct cr_engine *engine, int fd, size_t at);

/* Makes the engine also keep an unpacked copy in `tensors` of each parameter that is set from now
 * on.  For parameter i with shared[i], `tensors` points to the memory that kernels read, if they
 * read it unpacked, instead of a copy.  `shared` may be null. */
int cr_engine_keep_params(struct cr_engine *engine, const bool *shared, struct cr_error *error);

/* True if a run may store output i in the memory of the input or parameter of the same name. */
bool cr_engine_may_store_over(const struct cr_engine *engine, int i);

/* Sets each parameter i with changed[i] again from its member of `tensors`.  A run may store an
 * output in that member, unless kernels read it (`is_shared`). */
void cr_engine_take_tensors(struct cr_engine *engine, const bool *changed);

/* Runs all entries in order; each reads the states and leaves their next values.  `inputs` and
 * `outputs` are in the order of the engine's ports: int32_t for i32, float for other types. */
int cr_engine_run(struct cr_engine *engine, const void *const *inputs, void *const *outputs,
                  struct cr_error *error);

/* Runs one entry.  `inputs` and `outputs` are in the order of the engine's ports; pointers that
 * the entry does not use may be null. */
int cr_engine_run_entry(struct cr_engine *engine, int entry, const void *const *inputs,
                        void *const *outputs, struct cr_error *error);

/* The inputs and outputs of one run. */
struct cr_tensors {
    const void *const *inputs;
    void *const *outputs;
};

/* Makes n runs of an engine with one entry.  If the engine is compiled and has no states, the
 * runs are concurrent, one on each thread; results have the same bits as if made one by one. */
int cr_engine_run_many(struct cr_engine *engine, const struct cr_tensors *runs, int n,
                       struct cr_error *error);

/* Copy the value of state i to or from `data`; the third function sets all states to zeros. */
void cr_engine_get_state(const struct cr_engine *engine, int i, void *data);
void cr_engine_set_state(struct cr_engine *engine, int i, const void *data);
void cr_engine_reset_states(struct cr_engine *engine);

int64_t cr_port_elements(const struct cr_port *port);

/* cr_engine_is_length is true if input i holds a length; cr_check_length fails if that length, or
 * the size of a row of a ragged one, is out of bounds.  Lengths that count rows must be checked
 * before. */
bool cr_engine_is_length(const struct cr_engine *engine, int input);
int cr_check_length(const struct cr_engine *engine, int length, const void *const *inputs,
                    struct cr_error *error);

/* Returns the port of input or output i with the shape that this process has: with
 * cr_settings.update, its rank's share. */
const struct cr_port *cr_engine_own_input(const struct cr_engine *engine, int i);
const struct cr_port *cr_engine_own_output(const struct cr_engine *engine, int i);

/* Returns for each parameter whether an op other than a gather, which reads single rows, reads
 * it.  The caller frees the array. */
bool *cr_find_operands(const struct cr_graph *graph);

/* Returns the index of the port of that name, or CR_NONE. */
int cr_port_find(const struct cr_port *ports, int n, const char *name);

#endif
