/*
 * handles.h - what is behind the handles of crescent.h, and how its functions begin and end.
 *
 *     int crescent_something(crescent_model *model, const char *path)
 *     {
 *         CR_REQUIRE(model, path);              // refuses null
 *         CR_ENTER(model->context);             // comes back here if memory is short
 *         return cr_done(&guard, do_something(model, path, guard.error));
 *     }
 */
#ifndef CR_HANDLES_H
#define CR_HANDLES_H

#include "compiler/crescent.h"
#include "compiler/exec/tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/guard.h"
#include "compiler/passes/module/target.h"

/* A context lives as long as it is referred to: by its owner and by handles. */
struct crescent_context {
    int references;
    struct cr_error error;
    char *notes[8]; /* see crescent_note_at */
    int n_notes;
    struct cr_target host; /* this machine as a target for the uses below, once it was asked for */
    const char *host_isa;  /* null before */
    int host_threads;
    int64_t cache_bytes; /* of files of packed weights; 0: none are used */
};

/* Where a graph comes from; shared by all that is made of it. */
struct cr_origin {
    int references;
    char *path;
    char *text; /* of a script in memory, else null */
    size_t length;
    bool is_function; /* of a running Lua, which is called once */
    char *folder; /* in Hugging Face's layout, or a GGUF file; its script is built in if there is a text */
    char *family; /* its model_type; or null */
    struct cr_imported *imported; /* of an ONNX file, which `folder` names; or null */
    struct cr_setting *settings; /* keys and values are its own */
    int n_settings;
    int64_t seed;
    char *entry;  /* that is chosen; null: all of them, "": the only one */
    char *config; /* a file of values for options, or null */
    char **ignored; /* keys of it that are passed over */
    int n_ignored;
    struct cr_script_option *options; /* that the script declared, with their values */
    int n_options;
};

struct crescent_graph {
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_graph *graph;
    int n_script_outputs; /* what is behind them was asked for */
    bool has_gradients;
    bool has_formats; /* its parameters have those of the file that it comes from */
    int64_t script_ns;
    cr_id *params, *inputs, *states; /* the nodes that are, in order */
    int n_params, n_inputs, n_states;
};

struct crescent_model {
    int references; /* by its owner, and by those who work with its engine */
    bool is_part;   /* of a trainer, which closes it */
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_engine engine;
    bool *given;            /* by parameter: it has its values */
    struct cr_kept kept;    /* its packed weights as a file; without a path if there is to be none */
    crescent_config config; /* with which it was compiled; its strings are the model's own */
};

/* ---- entering and leaving ---- */

/* The error of a call: of the context, or of this thread if there is none. */
struct cr_error *cr_error_of(crescent_context *context);

/* Refuses a null argument of a function; CRESCENT_FAILED. */
int cr_refuse_null(crescent_context *context, const char *function);

/* Refuses in `function` with a reason; CRESCENT_FAILED. */
int cr_refuse(crescent_context *context, const char *function, const char *why);

/* The status to return for that of a function of the compiler, whose error is the guard's. */
int cr_done(struct cr_guard *guard, int status);

/* Returns from a function unless the handle and what is said of its arguments are not null. */
#define CR_REQUIRE(handle, arguments)                                                              \
    do {                                                                                           \
        if (!(handle) || !(arguments))                                                             \
            return cr_refuse_null((handle) ? (handle)->context : NULL, __func__);                  \
    } while (0)

/* The same where the handle is the context. */
#define CR_REQUIRE_CONTEXT(context, arguments)                                                     \
    do {                                                                                           \
        if (!(context) || !(arguments))                                                            \
            return cr_refuse_null((context), __func__);                                            \
    } while (0)

/* Enters `guard` for the rest of the function; it is left where the function ends. */
#define CR_ENTER(context)                                                                          \
    struct cr_guard guard __attribute__((cleanup(cr_guard_leave)));                                \
    cr_guard_enter(&guard, &(context)->error);                                                     \
    if (setjmp(guard.back))                                                                        \
    return cr_done(&guard, CRESCENT_FAILED)

/* Keeps a line for crescent_note_at; null is none. */
void cr_keep_note(crescent_context *context, const char *note);

/* ---- lives ---- */

crescent_context *cr_refer(crescent_context *context);
void cr_release(crescent_context *context);

/* A model is closed when nobody refers to it any more. */
void cr_model_release(crescent_model *model);

struct cr_origin *cr_origin_refer(struct cr_origin *origin);
void cr_origin_release(struct cr_origin *origin);

/* The value of an option of the script, or null. */
const char *cr_origin_option(const struct cr_origin *origin, const char *name);

/* ---- shared by the files of this folder ---- */

/* What the names of cotangents begin with; names of a script have no colon. */
#define CR_COTANGENT "cotangent:"

/* The name of the value that an input is the cotangent of, or null. */
const char *cr_cotangent_of(const char *input);

/* The name of the tensor that an output is the gradient of, or null. */
const char *cr_gradient_of(const char *output);

/* Whether a port has this shape. */
bool cr_has_shape(const struct cr_port *port, int rank, const int64_t *shape);

/* Memory for the tensors of ports; freed by cr_buffers_free. */
struct cr_buffers {
    void **data;
    int n;
};

/* Allocates memory for n ports.  Ports marked in `left_out`, which may be null, get a null pointer. */
int cr_buffers_new(struct cr_buffers *buffers, const struct cr_port *ports, const bool *left_out,
                   int n, struct cr_error *error);
void cr_buffers_free(struct cr_buffers *buffers);

/* The node of an output or of a tapped value; CR_NONE, with an error that says how the caller
 * `asked`, if the name is of neither. */
cr_id cr_find_value(const crescent_graph *graph, const char *asked, const char *name,
                    struct cr_error *error);

/* Finds the nodes of parameters and inputs, anew after some were added. */
void cr_index_ports(crescent_graph *graph);

/* Leaves the entry of that name, or for "" the only one, and its outputs lose its name. */
int cr_choose_entry(struct cr_graph *g, const char *name, const char *path, struct cr_error *error);

/* Refuses a graph with entries of which none was chosen. */
int cr_check_chosen(const crescent_graph *graph, struct cr_error *error);

/* The name of an output as callers see it: "decode.y" in an entry with a name.  The graph's. */
const char *cr_public_output(const crescent_graph *graph, int index);

/* The script of an origin is a text in memory, of which it keeps a copy. */
void cr_keep_text(struct cr_origin *o, const char *text, size_t length);

/* Runs a script once more, with settings behind those that it had before. */
int cr_graph_again(crescent_context *context, const struct cr_origin *origin,
                   const struct cr_setting *more, int n, crescent_graph **graph);

/* The configuration of the caller, or the plain one for null; checked. */
int cr_take_config(const crescent_config *config, const char *path, crescent_config *checked,
                   struct cr_error *error);

/* The settings of a checked configuration, whose strings they refer to. */
struct cr_settings cr_settings_of(const crescent_config *config, const char *path,
                                  const struct cr_target *target);

/* Marks the formats and arithmetics that a configuration asks for on the graph's parameters. */
int cr_want_weights(struct cr_graph *graph, const crescent_config *config, const char *path,
                    struct cr_error *error);

/* A copy of a configuration whose strings are its own. */
crescent_config cr_config_copy(const crescent_config *config);
void cr_config_free(crescent_config *config);

/* Compiles a graph, which is used up also on failure, for a target, under a checked configuration;
 * or under the caller's, which names the target. */
int cr_compile_for(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                   const crescent_config *config, const struct cr_target *target,
                   crescent_model **model, struct cr_error *error);
int cr_compile_graph(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                     const crescent_config *config, crescent_model **model, struct cr_error *error);

/* The same, and the engine knows what its kernels store. */
int cr_compile_stored(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                      const crescent_config *config, crescent_model **model, struct cr_error *error);

/* The report of a program, without what its backend knows. */
crescent_report cr_report_of(const struct cr_program *program);

/* A kernel of a program, and a node of a graph, as crescent.h has them; strings and arrays are theirs. */
crescent_kernel cr_public_kernel(const struct cr_program *program, int index);
crescent_node cr_public_node(const struct cr_graph *graph, cr_id id);

/* A call of a kernel in a run: its number in program->sequence, and what it was handed: a pointer to the
 * runtime's table, then a word for each slot that is bound. */
struct cr_watched_call {
    int number;
    const void *args;
    int64_t begin_ns, end_ns;
};

/* Who is told of each call when it has ended. */
struct cr_watch {
    void (*called)(void *context, const struct cr_watched_call *call);
    void *context;
};

/* A run of all entries that is watched; backends that compile to memory. */
int cr_run_watched(crescent_model *model, const void *const *inputs, void *const *outputs,
                   const struct cr_watch *watch, struct cr_error *error);

/* Refuses a model that lacks the values of a parameter. */
int cr_check_weights(const crescent_model *model, struct cr_error *error);

/* Refuses one that has not kept them all. */
int cr_check_kept(const crescent_model *model, struct cr_error *error);

#endif
