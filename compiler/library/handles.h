/*
 * handles.h - the structs behind the handles of crescent.h, and the begin and end of its functions.
 *
 *     int crescent_something(crescent_model *model, const char *path)
 *     {
 *         CR_REQUIRE(model, path);              // refuses null
 *         CR_ENTER(model->context);             // returns here if an allocation fails
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

/* A context.  Its owner and the handles made with it each hold a reference. */
struct crescent_context {
    int references;
    struct cr_error error;
    char *notes[8]; /* the lines that crescent_note_at returns */
    int n_notes;
    struct cr_target host; /* the target of this machine for host_isa and host_threads, which is
                              cached */
    const char *host_isa;  /* null if no target is cached */
    int host_threads;
    struct cr_ranks *ranks; /* null before crescent_join */
    int64_t cache_bytes; /* the most bytes of files of packed weights in the cache; 0: such files
                            are not used */
    bool is_compared; /* the files of the model being opened have been compared between ranks */
};

/* The source of a graph.  Shared by everything that is made from it. */
struct cr_origin {
    int references;
    char *path;
    char *text; /* the script if it is in memory, else null */
    size_t length;
    bool is_function; /* the script is a function of a running Lua state, and can be called only
                         once */
    bool is_again; /* the script ran before: in this run it prints nothing and makes no notes */
    char *folder; /* the folder or GGUF file with the model; its script is built in if `text` is
                     set */
    char *family; /* the model_type of the folder, or null */
    struct cr_imported *imported; /* the imported ONNX file, with the path `folder`, or null */
    struct cr_setting *settings; /* the origin owns keys and values */
    int n_settings;
    int64_t seed;
    char *entry;  /* the chosen entry; null: all entries; "": the only entry */
    char *config; /* a file with values for the script's options, or null */
    char **ignored; /* keys of `config` that are ignored */
    int n_ignored;
    struct cr_script_option *options; /* the options that the script declared, with their values */
    int n_options;
};

struct crescent_graph {
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_graph *graph;
    int n_script_outputs; /* the first outputs; the rest were added at the caller's request */
    bool has_gradients;
    bool has_formats; /* parameters have the formats of the GGUF file that the graph was read
                         from */
    int64_t chunk; /* the tokens that one run of an incremental graph reads; 0 if the graph is as
                      the script built it */
    bool last_only; /* the incremental graph has logits for the last token only */
    int64_t script_ns;
    cr_id *params, *inputs, *states; /* the nodes of each kind, in the graph's order */
    int n_params, n_inputs, n_states;
};

struct crescent_model {
    int references; /* held by the model's owner and by users of its engine */
    bool is_part;   /* owned by a trainer or generator, which closes it */
    crescent_context *context;
    struct cr_origin *origin;
    struct cr_engine engine;
    crescent_report report; /* describes the program as it was compiled; all 0 if there is no
                               program */
    bool *given;            /* by parameter: its values were set */
    struct cr_kept kept;    /* the file in the cache with its packed weights; its path is null if
                               there is none */
    crescent_config config; /* the configuration that it was compiled with; the model owns the
                               strings */
};

/* Frees the C text and the functions of a compiled model's program, which no run reads.  The report
 * is kept. */
void cr_model_drop_code(crescent_model *model);

/* Fails if the graph that another rank compiles differs, or its formats of weights, or its settings
 * of passes. */
int cr_compare_graphs(const crescent_context *context, const struct cr_graph *graph, const crescent_config *config,
                      const char *path, struct cr_error *error);

/* ---- entering and leaving ---- */

/* Returns the error of a context; for null, the error of this thread. */
struct cr_error *cr_error_of(crescent_context *context);

/* Fails because an argument of `function` is null; returns CRESCENT_FAILED. */
int cr_refuse_null(crescent_context *context, const char *function);

/* Fails with the message "FUNCTION: WHY"; returns CRESCENT_FAILED. */
int cr_refuse(crescent_context *context, const char *function, const char *why);

/* Fails unless 0 <= index < n; `what` and `path` name the indexed things in the message. */
int cr_check_index(const char *path, const char *what, int index, int n, struct cr_error *error);

/* Converts the status of an internal function, which has reported its error to the guard, to a
 * crescent_status. */
int cr_done(struct cr_guard *guard, int status);

/* Returns from a function if the handle is null, or if the condition `arguments` on its arguments
 * is false. */
#define CR_REQUIRE(handle, arguments)                                                              \
    do {                                                                                           \
        if (!(handle) || !(arguments))                                                             \
            return cr_refuse_null((handle) ? (handle)->context : NULL, __func__);                  \
    } while (0)

/* Does the same as CR_REQUIRE if the handle is the context. */
#define CR_REQUIRE_CONTEXT(context, arguments)                                                     \
    do {                                                                                           \
        if (!(context) || !(arguments))                                                            \
            return cr_refuse_null((context), __func__);                                            \
    } while (0)

/* Enters a guard until the function returns.  If an allocation fails in between, the function
 * returns an error. */
#define CR_ENTER(context)                                                                          \
    struct cr_guard guard __attribute__((cleanup(cr_guard_leave)));                                \
    cr_guard_enter(&guard, &(context)->error);                                                     \
    if (setjmp(guard.back))                                                                        \
    return cr_done(&guard, CRESCENT_FAILED)

/* Stores a line for crescent_note_at; ignores null. */
void cr_keep_note(crescent_context *context, const char *note);

/* ---- references ---- */

crescent_context *cr_refer(crescent_context *context);
void cr_release(crescent_context *context);

/* Drops a reference to a model; closes the model with the last reference. */
void cr_model_release(crescent_model *model);

/* Runs a model that has one entry and no states n times, on several threads at the same time. */
int cr_run_many(crescent_model *model, const struct cr_tensors *runs, int n, struct cr_error *error);

struct cr_origin *cr_origin_refer(struct cr_origin *origin);
void cr_origin_release(struct cr_origin *origin);

/* Returns the value of a script option, or null. */
const char *cr_origin_option(const struct cr_origin *origin, const char *name);

/* ---- shared by the files of this folder ---- */

/* The prefix of the names of cotangents; names in a script have no colon. */
#define CR_COTANGENT "cotangent:"

/* Returns the name of the value whose cotangent an input is, or null if it is not a cotangent. */
const char *cr_cotangent_of(const char *input);

/* Returns the name of the tensor whose gradient an output is, or null if it is not a gradient. */
const char *cr_gradient_of(const char *output);

/* The memory of the tensors of several ports; cr_buffers_free frees it. */
struct cr_buffers {
    void **data;
    int n;
};

/* Allocates memory for the tensors of n ports.  Ports marked in `left_out`, which may be null, get
 * a null pointer. */
int cr_buffers_new(struct cr_buffers *buffers, const struct cr_port *ports, const bool *left_out,
                   int n, struct cr_error *error);
void cr_buffers_free(struct cr_buffers *buffers);

/* Returns the node of the output or tapped value `name`.  If there is none, returns CR_NONE with an
 * error that names the command line's option `asked`. */
cr_id cr_find_value(const crescent_graph *graph, const char *asked, const char *name,
                    struct cr_error *error);

/* Lists the nodes of parameters, inputs and states anew, after some were added. */
void cr_index_ports(crescent_graph *graph);

/* Removes all entries but one: the named one, or for "" the only one.  Its outputs lose the prefix
 * with the entry's name. */
int cr_choose_entry(struct cr_graph *g, const char *name, const char *path, struct cr_error *error);

/* Fails if a graph has several entries and none of them was chosen. */
int cr_check_chosen(const crescent_graph *graph, struct cr_error *error);

/* Returns the name of an output as callers see it: "decode.y" for output y of the entry decode.
 * The graph owns the text. */
const char *cr_public_output(const crescent_graph *graph, int index);

/* Makes a copy of a text in memory the script of an origin. */
void cr_keep_text(struct cr_origin *o, const char *text, size_t length);

/* Runs a graph's script again; the settings `more` follow, and so override, the earlier ones. */
int cr_graph_again(crescent_context *context, const struct cr_origin *origin,
                   const struct cr_setting *more, int n, crescent_graph **graph);

/* Replaces the graph of a whole text by its incremental form; see crescent_graph_incremental. */
int cr_graph_make_incremental(crescent_graph *graph, const crescent_incremental *how, struct cr_error *error);

/* Copies the caller's configuration to *checked, or the default one if it is null, and checks
 * it. */
int cr_take_config(const crescent_config *config, const char *path, crescent_config *checked,
                   struct cr_error *error);

/* Returns the settings of passes for a checked configuration, which must outlive them. */
struct cr_settings cr_settings_of(const crescent_config *config, const char *path,
                                  const struct cr_target *target);

/* Sets the configuration's formats and arithmetics of weights on the graph's parameters. */
int cr_want_weights(struct cr_graph *graph, const crescent_config *config, const char *path,
                    struct cr_error *error);

/* Returns a copy of a configuration that owns its strings. */
crescent_config cr_config_copy(const crescent_config *config);
void cr_config_free(crescent_config *config);

/* The purposes for which a graph is compiled. */
enum cr_purpose {
    CR_TO_RUN,
    CR_TO_WATCH, /* to run it and record all values that kernels store */
    CR_TO_TRAIN, /* to train it: each rank has the whole model, and a share of the optimiser's
                    states */
    CR_TO_PACK,  /* to pack weights for another program; the model is not run */
};

/* Compiles a graph for a target with a checked configuration; the graph is consumed also on
 * failure.  With CR_TO_PACK the model is the part of rank `rank` of config->ranks ranks; otherwise
 * `rank` is ignored. */
int cr_compile_for(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                   const crescent_config *config, const struct cr_target *target, enum cr_purpose purpose, int rank,
                   crescent_model **model, struct cr_error *error);

/* Does the same as cr_compile_for with a configuration that is not checked yet, and with the target
 * that it names. */
int cr_compile_graph(crescent_context *context, struct cr_origin *origin, struct cr_graph *graph,
                     const crescent_config *config, enum cr_purpose purpose, crescent_model **model,
                     struct cr_error *error);

/* Returns the report on a program, without the numbers that only its backend knows. */
crescent_report cr_report_of(const struct cr_program *program);

/* Return a kernel of a program and a node of a graph in the types of crescent.h; their strings and
 * arrays belong to the program or graph. */
crescent_kernel cr_public_kernel(const struct cr_program *program, int index);
crescent_node cr_public_node(const struct cr_graph *graph, cr_id id);

/* A call of a kernel during a run.  `number` is its index in program->sequence.  `args` points to a
 * pointer to the runtime's table, followed by a word for each bound slot; it is null for an
 * exchange between ranks. */
struct cr_watched_call {
    int number;
    const void *args;
    int64_t begin_ns, end_ns;
};

/* A function that is called after each call of a kernel. */
struct cr_watch {
    void (*called)(void *context, const struct cr_watched_call *call);
    void *context;
};

/* Runs all entries, and calls `watch` after each call of a kernel.  Only for backends that compile
 * to memory. */
int cr_run_watched(crescent_model *model, const void *const *inputs, void *const *outputs,
                   const struct cr_watch *watch, struct cr_error *error);

/* Fails if a parameter of the model has no values yet. */
int cr_check_weights(const crescent_model *model, struct cr_error *error);

/* Fails unless the model has kept the values of all parameters. */
int cr_check_kept(const crescent_model *model, struct cr_error *error);

/* Makes a tokenizer convert texts to lower case before its own normalizers. */
void cr_read_in_lower_case(crescent_tokenizer *tokenizer);

/* Makes a tokenizer give all tokens segment 0. */
void cr_read_without_segments(crescent_tokenizer *tokenizer);

/* Counts the tokens of a prompt in the same way as cr_count_prompt_tokens(). */
int cr_count_prompt(crescent_tokenizer *tokenizer, const char *prompt, int64_t most, int64_t *n,
                    struct cr_error *error);

#endif
