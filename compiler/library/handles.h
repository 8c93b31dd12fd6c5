/*
 * handles.h - the structs behind the handles of crescent.h, and how its functions begin and end.
 *
 *     int crescent_something(crescent_model *model, const char *path)
 *     {
 *         CR_REQUIRE(model, path);              // refuses null
 *         CR_ENTER(model->context);             // returns here if memory is short
 *         return cr_done(&guard, do_something(model, path, guard.error));
 *     }
 */
#ifndef CR_HANDLES_H
#define CR_HANDLES_H

#include "compiler/crescent.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/unwind.h"
#include "compiler/passes/module/target.h"

/* A context is reference-counted: by its owner and by handles. */
struct crescent_context {
    int references;
    struct cr_error error;
    char *notes[8]; /* see crescent_note_at */
    int n_notes;
    struct cr_target host; /* target of this machine, cached for host_isa and host_threads */
    const char *host_isa;  /* null: not cached yet */
    int host_threads;
    struct cr_ranks *ranks; /* null before crescent_join */
    int64_t cache_bytes; /* limit for files of packed weights; 0: they are not used */
};

/* The source of a graph; shared by everything made from it. */
struct cr_origin {
    int references;
    char *path;
    char *text; /* a script in memory, else null */
    size_t length;
    bool is_function; /* the script is a function of a running Lua, which is called once */
    bool is_again; /* the script has run before: it prints nothing and has no notes */
    char *folder; /* Hugging Face folder or GGUF file; has a built-in script if `text` is set */
    char *family; /* model_type of the folder; or null */
    struct cr_imported *imported; /* the ONNX file, whose path `folder` is; or null */
    struct cr_setting *settings; /* it owns keys and values */
    int n_settings;
    int64_t seed;
    char *entry;  /* the chosen one; null: all of them, "": the only one */
    char *config; /* file of values for options, or null */
    char **ignored; /* keys of `config` that are ignored */
    int n_ignored;
    struct cr_script_option *options; /* options that the script declared, with values */
    int n_options;
};

struct crescent_graph {
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_graph *graph;
    int n_script_outputs; /* outputs after these were added on request */
    bool has_gradients;
    bool has_formats; /* its parameters have the formats of the GGUF file that it was read from */
    int64_t chunk; /* the tokens that a run of an incremental graph reads; 0 if the graph is the script's */
    bool last_only; /* an incremental graph has the logits of the last token alone */
    int64_t script_ns;
    cr_id *params, *inputs, *states; /* node ids, in order */
    int n_params, n_inputs, n_states;
};

struct crescent_model {
    int references; /* held by its owner and by users of its engine */
    bool is_part;   /* owned by a trainer or generator, which closes it */
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_engine engine;
    crescent_report report; /* on the program, as it was compiled; all 0 without one */
    bool *given;            /* by parameter: true once its values were set */
    struct cr_kept kept;    /* file of its packed weights; without a path if it has none */
    crescent_config config; /* the configuration that it was compiled with; the model owns its
                               strings */
};

/* Frees the C text and the functions of a compiled model's program, which no run reads.  The report stays. */
void cr_model_drop_code(crescent_model *model);

/* Fails if the graph that another rank compiles differs, or the formats of its weights, or passes. */
int cr_compare_graphs(const crescent_context *context, const struct cr_graph *graph, const crescent_config *config,
                      const char *path, struct cr_error *error);

/* ---- entering and leaving ---- */

/* Returns the error of the context, or for null the error of this thread. */
struct cr_error *cr_error_of(crescent_context *context);

/* Fails for a null argument of a function; returns CRESCENT_FAILED. */
int cr_refuse_null(crescent_context *context, const char *function);

/* Fails in `function` with a reason; returns CRESCENT_FAILED. */
int cr_refuse(crescent_context *context, const char *function, const char *why);

/* Fails unless an index is one of n things, `what` of the model or the file `path`. */
int cr_check_index(const char *path, const char *what, int index, int n, struct cr_error *error);

/* Returns the crescent_status for the status of an internal function that reported its error to the guard. */
int cr_done(struct cr_guard *guard, int status);

/* Returns from a function if the handle is null or the condition on its arguments is false. */
#define CR_REQUIRE(handle, arguments)                                                              \
    do {                                                                                           \
        if (!(handle) || !(arguments))                                                             \
            return cr_refuse_null((handle) ? (handle)->context : NULL, __func__);                  \
    } while (0)

/* Does the same if the handle is the context. */
#define CR_REQUIRE_CONTEXT(context, arguments)                                                     \
    do {                                                                                           \
        if (!(context) || !(arguments))                                                            \
            return cr_refuse_null((context), __func__);                                            \
    } while (0)

/* Enters `guard` until the end of the function.  A failed allocation returns from the function. */
#define CR_ENTER(context)                                                                          \
    struct cr_guard guard __attribute__((cleanup(cr_guard_leave)));                                \
    cr_guard_enter(&guard, &(context)->error);                                                     \
    if (setjmp(guard.back))                                                                        \
    return cr_done(&guard, CRESCENT_FAILED)

/* Keeps a line for crescent_note_at; null is ignored. */
void cr_keep_note(crescent_context *context, const char *note);

/* ---- references ---- */

crescent_context *cr_refer(crescent_context *context);
void cr_release(crescent_context *context);

/* Drops a reference; the last one closes the model. */
void cr_model_release(crescent_model *model);

/* Runs a model of one entry without states several times, on several threads at the same time. */
int cr_run_many(crescent_model *model, const struct cr_tensors *runs, int n, struct cr_error *error);

struct cr_origin *cr_origin_refer(struct cr_origin *origin);
void cr_origin_release(struct cr_origin *origin);

/* Returns the value of an option of the script, or null. */
const char *cr_origin_option(const struct cr_origin *origin, const char *name);

/* ---- shared by the files of this folder ---- */

/* Prefix of the names of cotangents; names in a script have no colon. */
#define CR_COTANGENT "cotangent:"

/* Returns the name of the value that an input is the cotangent of, or null. */
const char *cr_cotangent_of(const char *input);

/* Returns the name of the tensor that an output is the gradient of, or null. */
const char *cr_gradient_of(const char *output);

/* Tensors of ports; freed by cr_buffers_free. */
struct cr_buffers {
    void **data;
    int n;
};

/* Allocates memory for n ports.  Ports marked in `left_out`, which may be null, get a null
 * pointer. */
int cr_buffers_new(struct cr_buffers *buffers, const struct cr_port *ports, const bool *left_out,
                   int n, struct cr_error *error);
void cr_buffers_free(struct cr_buffers *buffers);

/* Returns the node of an output or a tapped value by its name; CR_NONE, with an error that names
 * the option `asked`, if there is none. */
cr_id cr_find_value(const crescent_graph *graph, const char *asked, const char *name,
                    struct cr_error *error);

/* Finds the nodes of parameters and inputs, again after some were added. */
void cr_index_ports(crescent_graph *graph);

/* Removes all entries but the named one; "" stands for the only entry.  Its outputs lose the prefix
 * of its name. */
int cr_choose_entry(struct cr_graph *g, const char *name, const char *path, struct cr_error *error);

/* Fails if a graph has entries and none was chosen. */
int cr_check_chosen(const crescent_graph *graph, struct cr_error *error);

/* Returns the name of an output as callers see it: "decode.y" in a named entry.  The graph owns
 * it. */
const char *cr_public_output(const crescent_graph *graph, int index);

/* Sets the script of an origin to a copy of a text in memory. */
void cr_keep_text(struct cr_origin *o, const char *text, size_t length);

/* Runs a script again, with more settings after the earlier ones. */
int cr_graph_again(crescent_context *context, const struct cr_origin *origin,
                   const struct cr_setting *more, int n, crescent_graph **graph);

/* Replaces the graph of a whole text by its incremental form; see crescent_graph_incremental. */
int cr_graph_make_incremental(crescent_graph *graph, const crescent_incremental *how, struct cr_error *error);

/* Copies the caller's configuration, or the default one for null, and checks it. */
int cr_take_config(const crescent_config *config, const char *path, crescent_config *checked,
                   struct cr_error *error);

/* Returns the settings of a checked configuration, which must outlive them. */
struct cr_settings cr_settings_of(const crescent_config *config, const char *path,
                                  const struct cr_target *target);

/* Sets the configuration's formats and arithmetics on the graph's parameters. */
int cr_want_weights(struct cr_graph *graph, const crescent_config *config, const char *path,
                    struct cr_error *error);

/* Returns a copy of a configuration that owns its strings. */
crescent_config cr_config_copy(const crescent_config *config);
void cr_config_free(crescent_config *config);

/* The purposes for which a graph is compiled. */
enum cr_purpose {
    CR_TO_RUN,
    CR_TO_WATCH, /* the engine records what kernels store */
    CR_TO_TRAIN, /* each rank has the whole model, and a share of the optimiser's states */
    CR_TO_PACK,  /* weights are packed for another program: it is not run */
};

/* Compiles a graph, which is consumed even on failure, for a target with a checked configuration.  To be packed, it
 * is the part of one of config->ranks ranks; `rank` is ignored otherwise. */
int cr_compile_for(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                   const crescent_config *config, const struct cr_target *target, enum cr_purpose purpose, int rank,
                   crescent_model **model, struct cr_error *error);

/* Does the same with the caller's configuration, which names the target. */
int cr_compile_graph(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                     const crescent_config *config, enum cr_purpose purpose, crescent_model **model,
                     struct cr_error *error);

/* Returns the report of a program, without the part that its backend knows. */
crescent_report cr_report_of(const struct cr_program *program);

/* A kernel of a program and a node of a graph in the types of crescent.h, which borrow strings and
 * arrays. */
crescent_kernel cr_public_kernel(const struct cr_program *program, int index);
crescent_node cr_public_node(const struct cr_graph *graph, cr_id id);

/* A call of a kernel in a run: its number in program->sequence, and its arguments: a pointer to the
 * runtime's table, then a word for each bound slot; null for an exchange. */
struct cr_watched_call {
    int number;
    const void *args;
    int64_t begin_ns, end_ns;
};

/* A callback after each call of a kernel. */
struct cr_watch {
    void (*called)(void *context, const struct cr_watched_call *call);
    void *context;
};

/* Runs all entries and calls `watch` after each call of a kernel; only for backends that compile to
 * memory. */
int cr_run_watched(crescent_model *model, const void *const *inputs, void *const *outputs,
                   const struct cr_watch *watch, struct cr_error *error);

/* Fails if a parameter of the model has no values. */
int cr_check_weights(const crescent_model *model, struct cr_error *error);

/* Fails if the model has not kept all parameters. */
int cr_check_kept(const crescent_model *model, struct cr_error *error);

/* Makes a tokenizer read texts in small letters, before its own normalizers. */
void cr_read_in_lower_case(crescent_tokenizer *tokenizer);

/* Makes it give segment 0 to all tokens. */
void cr_read_without_segments(crescent_tokenizer *tokenizer);

/* Counts the tokens of a prompt, as cr_count_prompt_tokens() does. */
int cr_count_prompt(crescent_tokenizer *tokenizer, const char *prompt, int64_t most, int64_t *n,
                    struct cr_error *error);

#endif
