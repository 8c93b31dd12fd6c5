/*
 * crescent.h - the public C interface: from a Lua script to numbers, gradients, trained weights
 * and C source.  The command line is a client of it and uses nothing else of the compiler.
 *
 *     crescent_context *context = crescent_context_new();
 *     crescent_model *model = NULL;
 *     if (crescent_open(context, "graphs/gpt2_block.lua", NULL, NULL, &model) ||
 *         crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL) ||
 *         crescent_run(model, inputs, outputs))
 *         puts(crescent_error(context));
 *     crescent_close(model);
 *     crescent_context_free(context);
 *
 * Status.  A function that can fail returns CRESCENT_OK; CRESCENT_FAILED for a mistake of the
 * caller, a script or a file; or CRESCENT_BUG for a mistake of Crescent itself.  After a failure
 * crescent_error returns a message of one line.  A handle that the call should have made is then
 * null, and other results are unchanged.  A null argument is a failure unless the function's
 * comment allows null.  No function ends the process.  None prints anything, except for the
 * function `print` of scripts, which writes to standard error.
 *
 * Memory.  After the error "out of memory", memory of that call may be lost; the handles that
 * were passed to it can only be closed.
 *
 * Handles are made by functions that take a pointer to a handle, and are closed by the caller;
 * closing null does nothing.  They may be closed in any order: each keeps the others that it
 * needs alive.  A returned string is valid as long as the handle that was passed to the
 * function, unless the function's comment says otherwise.
 *
 * Threads.  A context, and all handles that were made with it, may be used by only one thread at
 * a time.  Threads that work at the same time use different contexts, which are independent.
 * Several threads may share a context if the program makes sure that their calls do not overlap.
 * `threads` of crescent_config is about other threads: those that share the work of one run.  A
 * model keeps them until it is closed, asleep between runs.  A process made by fork does not have
 * them, and must neither run nor close a model of its parent.
 *
 * Structures may get new members at their end in later versions: use initialisers, which set
 * members without a value to 0.
 *
 * Units.  Times are nanoseconds, sizes of memory are bytes.  Tensors are row-major; an element is
 * an int32_t for type CRESCENT_I32, else a float, which is 0 or 1 for CRESCENT_BOOL.  Tensors
 * that the caller passes are copied, or only read during the call.
 */
#ifndef CRESCENT_H
#define CRESCENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Only the names of this header are visible outside a shared library. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define CRESCENT_VERSION "0.1.0"

enum {
    CRESCENT_OK = 0,
    CRESCENT_FAILED = -1,
    CRESCENT_BUG = -2,
    CRESCENT_STOPPED = 1, /* from crescent_trainer_validate: the caller requested to stop; from
                           * functions that return the next item: there are no more items */
    CRESCENT_MAX_RANK = 8,
    CRESCENT_NONE = -1 /* instead of an index: there is no such item */
};

/* ---- context -------------------------------------------------------------------------- */

/* A context holds the message of the last error, so threads must not share it without locking.
 * All other handles are made with a context. */
typedef struct crescent_context crescent_context;

/* Returns a new context, or null if memory is insufficient. */
crescent_context *crescent_context_new(void);
/* Frees a context as soon as all handles that were made with it are closed. */
void crescent_context_free(crescent_context *context);

/*
 * Returns the message of the last failure in this context, one line without control characters:
 * "FILE[:LINE]: what was found, what was expected"; "" if nothing has failed.  The text is valid
 * until the next failure.  For a null context, returns the message of the last call on this
 * thread that failed because its handle was null.
 */
const char *crescent_error(const crescent_context *context);

/* Joins this process with the others that mpirun (or srun) started, over MPI.  The processes are
 * called *ranks*.  Models compiled with the context afterwards are split among the ranks, and all
 * ranks must make the same calls in the same order.  Each rank has whole inputs and outputs, and
 * the same bits as a single process. A process that was not started by a launcher is the only
 * rank.  The models of trainers are not split: ranks share the micro-batches of a step.  Fails if
 * the shared object for MPI is missing (`make MPI=1`).  A process can join only once; it leaves
 * when the context is freed. */
int crescent_join(crescent_context *context);

typedef struct {
    int rank, count;
    int64_t sent; /* bytes that this rank has sent to other ranks */
    int differ;   /* 1: a call has failed because files or inputs differ between ranks */
} crescent_ranks;

/* Returns the rank of this process and the number of ranks; rank 0 of 1 before crescent_join. */
crescent_ranks crescent_ranks_of(const crescent_context *context);

/* Copies `bytes` bytes at `data` of rank 0 to `data` of all other ranks; for example, text that
 * rank 0 has read from standard input.  All ranks must call it. */
int crescent_ranks_share(const crescent_context *context, void *data, size_t bytes);

/* Returns 1 if `flag` is true on any rank, else 0; for example, whether a signal asks any rank to
 * stop.  All ranks must call it. */
int crescent_ranks_any(const crescent_context *context, int flag);

/* Returns the first rank whose word differs from the word of rank 0; -1 if all are equal.  All
 * ranks must call it. */
int crescent_ranks_compare(const crescent_context *context, uint64_t word);

/* Compares a file, or the files of the model in a folder, with those of rank 0; fails if they
 * differ.  All ranks must call it, each with its own path.  Reads at most 17 MiB of a file.  The
 * files of a model and of its weights need not be compared: that is done when they are opened. */
int crescent_ranks_compare_files(crescent_context *context, const char *path);

/* Ends all ranks, with an exit status, because this rank has failed.  The caller first calls
 * crescent_ranks_wait, then prints the error, then calls this: of several ranks that fail for the
 * same reason, only the first one prints.  A null context stands for a process that has not
 * joined the others: they end as well, because a signal ends this process. */
void crescent_ranks_abort(const crescent_context *context, int status);
void crescent_ranks_wait(const crescent_context *context);

/* Sets `line` as the message of the context's last failure; for libraries built on this one, such
 * as crescent_explain and crescent_autopsy_open.  Control characters are escaped.  Returns
 * CRESCENT_FAILED, or CRESCENT_BUG if the line begins with "bug: ", which marks a mistake of the
 * program. */
int crescent_fail(crescent_context *context, const char *line);

/* Returns note number `index` about scripts that were run in this context, one line: a key of a
 * config.json that was ignored, or a parameter name that was declared twice in a scope.  Equal
 * notes are kept once, at most eight notes in all.  Returns null past the last note. */
const char *crescent_note_at(const crescent_context *context, int index);

/* Returns CRESCENT_VERSION of the linked library. */
const char *crescent_version(void);

/* Facts about the library's build, and the instruction set that it uses on this machine.  The
 * strings are constants. */
typedef struct {
    const char *version;
    const char *lua; /* "Lua 5.4.4", "LuaJIT 2.1.0-beta3" */
    int tinycc;      /* 927 is TinyCC 0.9.27 */
    const char *isa; /* the best instruction set that both the runtime and the machine support */
} crescent_build;

/* Fills in *build.  The first call takes a millisecond, because it asks TinyCC for its version. */
int crescent_get_build(crescent_context *context, crescent_build *build);

/* ---- graphs --------------------------------------------------------------------------- */

/* The graph that a script builds, before compilation. */
typedef struct crescent_graph crescent_graph;

/* A value for an option that the script declares. */
typedef struct {
    const char *key, *value;
} crescent_setting;

/* Options for running a script.  Zeros are the defaults; a null pointer stands for all zeros. */
typedef struct {
    const crescent_setting *settings; /* values for options, which the script must declare; the
                                       * last setting of a key counts */
    int n_settings;
    const crescent_setting *defaults; /* values for options that the script declares and that
                                       * `settings` does not set */
    int n_defaults;
    int64_t seed; /* not 0: the value of the script's option `seed`, unless a setting or default
                   * gives one */
    const char *entry; /* of a script that returns several entries, the only one to build; "": the
                        * script must have a single entry; null: all entries */
    const char *config; /* a file of values for the script's options: JSON if its name ends in
                         * .json; config.json in it if it is a folder; else Lua.  Settings
                         * override it. Null: no file */
    const char *script; /* for a folder or a GGUF file: path of the script to run instead of the
                         * built-in script for its model_type; or null */
    const crescent_setting *inputs; /* for an ONNX file: .npy files of inputs.  Their shapes give
                                     * symbolic sizes their values; their elements are used where
                                     * a shape depends on them */
    int n_inputs;
    const crescent_setting *lengths; /* for an ONNX file: symbolic sizes that become lengths,
                                      * known when the model runs, with their bounds: {"seq",
                                      * "128"} */
    int n_lengths;
    const char *const *ignored; /* keys of the config file to ignore; the file must have them */
    int n_ignored;
} crescent_script;

/*
 * Runs the script at `path` in its sandbox and returns its graph.  `path` may also be a folder in
 * Hugging Face's layout. Then model_type of its config.json chooses a built-in script, or
 * MODEL_TYPE.lua in the folder or on $CRESCENT_PATH, and the other keys are values for the
 * script's options, unless `how` names another file of values.  `path` may be a GGUF file, whose
 * metadata are used in the same way.  Or it may be an ONNX file, which is translated into a
 * script (docs/onnx.md): settings then give symbolic sizes, and elements of inputs that must be
 * known, "2,3".
 */
int crescent_graph_open(crescent_context *context, const char *path, const crescent_script *how,
                        crescent_graph **graph);

/* Does the same as crescent_graph_open for a script in memory.  Messages show `name` instead of a
 * path, and modules are searched in the folder of `name`. */
int crescent_graph_open_text(crescent_context *context, const char *name, const char *text,
                             size_t length, const crescent_script *how, crescent_graph **graph);

/* Translates an ONNX file: writes the script to the path `script`, and the weights as safetensors
 * to the path `weights`. */
int crescent_import(crescent_context *context, const char *path, const crescent_script *how,
                    const char *script, const char *weights);

/* Makes an independent copy of a graph, with the outputs and gradients added so far. */
int crescent_graph_copy(const crescent_graph *graph, crescent_graph **copy);

void crescent_graph_close(crescent_graph *graph);

/* Returns the context with which a graph was made; null for null. */
crescent_context *crescent_graph_context(const crescent_graph *graph);

/* The first function returns the path of the script, or the name of a script in memory.  The
 * second one returns the folder, GGUF file or ONNX file from which the graph was opened; null if
 * that was a script. */
const char *crescent_graph_script(const crescent_graph *graph);
const char *crescent_graph_folder(const crescent_graph *graph);

/* Sets *text to the text of a source file of nodes (crescent_node.file): the script, or a module
 * that it requires, also a built-in one.  Free it with crescent_free.  Sets it to null, without a
 * failure, if the file cannot be read. */
int crescent_graph_source(const crescent_graph *graph, const char *file, char **text);

/* Returns the model's name, which is also its name in generated code; null for null. */
const char *crescent_graph_name(const crescent_graph *graph);

/* Returns the time that the script ran, in nanoseconds. */
int64_t crescent_graph_time(const crescent_graph *graph);

/* Return the number of options that the script declared, and option number `index` with its
 * value; options are sorted by name. */
int crescent_graph_option_count(const crescent_graph *graph);
int crescent_graph_option_at(const crescent_graph *graph, int index, crescent_setting *option);

/* Return the number of entries, and the name of entry number `index`; entries are sorted by name.
 * There are none if the script returned outputs instead of entries, or if one entry was chosen.
 * A run of a model with several entries runs all of them, and the name of an output begins with
 * its entry, "decode.y". crescent_graph_entry_name returns null for an index that is out of
 * range. */
int crescent_graph_entry_count(const crescent_graph *graph);
const char *crescent_graph_entry_name(const crescent_graph *graph, int index);

/* Makes the value that the script tapped under `name` an output; does nothing if it already is
 * one.  Error messages mention `asked`, the caller's request ("--output"), unless it is null. */
int crescent_graph_tap(crescent_graph *graph, const char *name, const char *asked);

/* Returns the name of tapped value number `index`, in the order of the graph; null past the last
 * one. */
const char *crescent_graph_tap_at(const crescent_graph *graph, int index);

/*
 * Adds gradients of L with respect to every parameter and every f32 input, as outputs that follow
 * the existing ones (crescent_port.of names the tensor).  L is the sum of the script's f32
 * outputs, each multiplied by its cotangent.  A cotangent is 1 or, for each output or tapped
 * value named in `cotangents`, a new input (crescent_port.of of that input is the name).
 * `cotangents` may be null if n is 0.  May be called once for a graph.
 */
int crescent_graph_gradients(crescent_graph *graph, const char *const *cotangents, int n);

/* Options for a graph that decodes incrementally: each call takes the next tokens of a text; states
 * keep the keys and values of earlier tokens. */
typedef struct {
    int64_t chunk; /* maximum number of tokens of one call: 1 to the context */
    int last_only; /* 1: compute only the logits of the last token of a call; 0: of all its
                    * tokens */
} crescent_incremental;

/*
 * Converts a model of whole sequences to an incremental one.  The i32 input "ids" [batch,
 * context] becomes the next n tokens, and n becomes an input from 1 to the chunk.  The output
 * "logits", or the only output, becomes [batch, n, ...] or, with last_only, [batch, 1, ...].
 * Values of earlier tokens that later ones read, such as keys and values, become states; so does
 * "at", the number of earlier tokens.  The results have the same bits as a run of the whole
 * sequence.  Fails if a token reads later tokens, or if there are other inputs.  Drops all other
 * outputs.  If batch or context is a length, it becomes 1 or the bound.
 */
int crescent_graph_incremental(crescent_graph *graph, const crescent_incremental *how);

/* ---- models --------------------------------------------------------------------------- */

/* A compiled graph with its weights, arena and threads. */
typedef struct crescent_model crescent_model;

/* The backend that runs a model: TinyCC in memory; the system's compiler ($CC or cc); the
 * interpreter, in double precision; the standalone file, built by the system's compiler. */
typedef enum {
    CRESCENT_TCC,
    CRESCENT_CC,
    CRESCENT_REF,
    CRESCENT_STANDALONE,
    CRESCENT_BACKENDS
} crescent_backend;

/* Returns the name of a backend, such as "tcc"; null if the number is not a backend. */
const char *crescent_backend_name(crescent_backend backend);

/* Options for compiling a graph.  Zeros are the defaults; a null pointer stands for all zeros. */
typedef struct {
    crescent_backend backend;
    int threads;             /* 1 to 256; 0: one */
    const char *isa;         /* "amx", "vnni", "avx512", "avx2", "neon", "plain"; null: the best
                                that the machine has */
    const char *const *skip; /* names of passes to skip */
    int n_skip;
    int64_t max_arena; /* limit of the arena in bytes, for which values may be recomputed instead
                        * of kept; 0: no limit */
    /* the formats of weights: rules separated by commas, NAME for all parameters or GLOB=NAME for
     * parameters whose names match.  The last match counts.  Only weights that are read by
     * nothing but products or gathers of rows can have a format other than f32; other weights
     * stay f32.  A weight without a rule is f32, or has the format of its tensor in a GGUF file,
     * unless there are gradients.  Null: no rules.  Formats other than f32 are an error with
     * gradients and in training */
    const char *format;
    const char *arithmetic; /* the arithmetic of products by weights: rules as in `format`; null:
                             * f32. int8 and bf16 round the rows of the left operand; int8 is for
                             * weights in q8 and q4, bf16 for weights in bf16.  Other products use
                             * f32.  A rule that applies to no weight is an error */
    const char *target; /* the machine for which tile sizes are chosen: a name of
                         * crescent_target_at, or a file of sizes.  Null: "host", but "generic" in
                         * functions that emit or print.  No bit of a result depends on it. */
    int ranks; /* for functions that emit or print: the number of ranks among which the model is
                * split, 0 for one; crescent_dump shows the first of them.  Functions that run a
                * model split it among the ranks of crescent_join. */
} crescent_config;

/* A machine for which loops can be tiled. */
typedef struct {
    const char *name, *about;
} crescent_target;

/* Sets *target to target number `index`, counted from 0; returns CRESCENT_FAILED past the last
 * one. */
int crescent_target_at(int index, crescent_target *target);

/* Sets *text to the sizes of a target as the text of a file for crescent_config.target: `name =
 * value` lines.  Free it with crescent_free. */
int crescent_target_text(crescent_context *context, const char *name, char **text);

/* Compiles a graph.  Does not change the graph, which may be compiled again. */
int crescent_compile(const crescent_graph *graph, const crescent_config *config,
                     crescent_model **model);

/* Does crescent_graph_open and crescent_compile: runs the script at a path, or of a folder, and
 * compiles its graph. */
int crescent_open(crescent_context *context, const char *path, const crescent_script *how,
                  const crescent_config *config, crescent_model **model);

void crescent_close(crescent_model *model);

/* ---- ports ---------------------------------------------------------------------------- */

typedef enum { CRESCENT_F32, CRESCENT_I32, CRESCENT_BOOL } crescent_type;

typedef enum { CRESCENT_PARAM, CRESCENT_INPUT, CRESCENT_OUTPUT, CRESCENT_STATE } crescent_port_kind;

/* A tensor that a graph or a model takes or returns: an input, parameter, state or output. */
typedef struct {
    const char *name;
    const char *of; /* of a gradient: name of the parameter or input by which the loss is
                     * differentiated; of a cotangent: name of the value that it multiplies; else
                     * null */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
    int64_t ids; /* inputs of a model: if not 0, the elements are indices of a table: each is from
                  * 0 to ids - 1 */
    int lengths[CRESCENT_MAX_RANK]; /* inputs and outputs of a model, by axis: 1 + the number of
                                     * the input that holds the axis's length, whose bound is in
                                     * `shape`; 0: a fixed size. If that input has rank 1, it
                                     * holds a length for each row of a batch */
    const char *format; /* parameters of a model: the format in memory; parameters of a graph from
                         * a GGUF file: the format of the tensor there; others: null */
} crescent_port;

/* The functions of counts return the number of ports of a kind; the others set *port to port
 * `index` of a kind.  Ports are numbered in the order in which
 * the script made them; outputs are sorted by name, followed by those that crescent_graph_tap and
 * crescent_graph_gradients added.  A graph and a model compiled from it have the same ports. */
int crescent_graph_port_count(const crescent_graph *graph, crescent_port_kind kind);
int crescent_graph_port_at(const crescent_graph *graph, crescent_port_kind kind, int index,
                           crescent_port *port);
int crescent_port_count(const crescent_model *model, crescent_port_kind kind);
int crescent_port_at(const crescent_model *model, crescent_port_kind kind, int index,
                     crescent_port *port);

/* Returns the number of the port called `name`, or CRESCENT_NONE. */
int crescent_port_find(const crescent_model *model, crescent_port_kind kind, const char *name);

/* Sets *index to the number of the input called `name`; to CRESCENT_NONE if it is an input of an
 * ONNX file whose elements were given when the file was opened (crescent_script.inputs). Fails,
 * and suggests a similar name, if there is no such input, or if it is a cotangent. Error messages
 * mention `asked`, the caller's option ("--input"), unless it is null. */
int crescent_input_find(const crescent_model *model, const char *name, const char *asked,
                        int *index);

/* Returns the number of elements of a port's tensor. */
int64_t crescent_port_elements(const crescent_port *port);

/* Returns the name of a type, such as "f32"; null if the number is not a type. */
const char *crescent_type_name(crescent_type type);

/* Writes a shape or an index as text, such as "[1, 128, 768]", cut to `size` bytes; returns buf. */
char *crescent_shape_text(char *buf, size_t size, int rank, const int64_t *shape);

/* ---- weights -------------------------------------------------------------------------- */

/* States whether files of weights may contain tensors that the model does not use. */
typedef enum { CRESCENT_ANY_TENSORS, CRESCENT_MODEL_TENSORS_ONLY } crescent_surplus_rule;

/* Tensors that files of weights contain and the model does not use. */
typedef struct {
    int count;
    char name[160];   /* name of the first of them, without control characters */
    const char *file; /* the file that contains that tensor: one of the caller's paths */
} crescent_surplus;

/*
 * Reads every parameter by its name from safetensors files, folders of them, and GGUF files.  If
 * several files have a tensor of that name, the last file counts.  Converts F16, BF16 and F64,
 * and in GGUF files blocks of Q8_0, Q4_0 and Q4_1.  `surplus` may be null.  After a failure the
 * model has no weights.
 *
 * A folder has model.safetensors, or shards that model.safetensors.index.json lists.  For a model
 * that was opened from a folder, tensors are also found if their names lack the common prefix of
 * the parameters' names ("transformer."), or if the model_type and a dot precede their names; an
 * output head that is tied to the table of embeddings may be stored in place of the table; and
 * buffers such as masks are not counted as surplus.
 */
int crescent_load_weights(crescent_model *model, const char *const *paths, int n,
                          crescent_surplus_rule rule, crescent_surplus *surplus);

/*
 * Allows this context to keep packed weights in files of $XDG_CACHE_HOME/crescent, or
 * $HOME/.cache/crescent, that take at most `bytes` in total; 0, the initial value, forbids it.
 * From then on crescent_load_weights maps such a file if it fits the model and the files of
 * weights have the same sizes and times as before: they are opened, but their weights are not
 * read.  Processes share the pages of the file.  crescent_tokenizer_open does the same with the
 * tables of a large tokenizer.json, and writes them if they are not kept yet.
 *
 * crescent_uncached_weights returns the bytes of weights that were loaded and are not kept yet; 0
 * if they are kept, or cannot be: then crescent_write_cache does nothing, and sets *written,
 * which may be null, to 0.  Otherwise it writes the weights, first removes the files that were
 * used longest ago if there is too little room, and sets *written to the size of the file.  It
 * fails if the weights exceed the limit or a quarter of the disk's free space, a file of weights
 * has changed, the folder cannot be written to, or another process is writing to it.
 */
int crescent_cache_weights(crescent_context *context, int64_t bytes);
int64_t crescent_uncached_weights(const crescent_model *model);
int64_t crescent_cached_weights(const crescent_model *model); /* Returns the bytes of weights that
                                                               * the model maps from a kept file. */
int crescent_write_cache(crescent_model *model, int64_t *written);

/* Loads weights from one safetensors or GGUF file in memory, which is read only during the call.
 * Messages show `name` instead of a path. */
int crescent_load_weights_bytes(crescent_model *model, const char *name, const void *bytes,
                                size_t length, crescent_surplus_rule rule,
                                crescent_surplus *surplus);

/* Returns the folder, GGUF file or ONNX file from which the model was opened, for
 * crescent_load_weights; null if it was opened from a script.  The weights of an ONNX model can
 * only be loaded from that path; the file must not have changed since. */
const char *crescent_weights_path(const crescent_model *model);

/* Sets every parameter to random numbers, from the distributions with which PyTorch initialises its
 * layers.  The numbers of a tensor depend only on the seed and on its name. */
int crescent_draw_weights(crescent_model *model, int64_t seed);

/* Sets parameter number `index` to a copy of `tensor`. */
int crescent_set_weight(crescent_model *model, int index, const float *tensor);

/* Makes the model keep a copy in row-major layout of every parameter that is set from now on, so
 * that it can be read back.  Call it before setting parameters.  A trainer's model always does
 * this. */
int crescent_keep_weights(crescent_model *model);

/* Copies a parameter to `tensor`.  The model must keep its weights (crescent_keep_weights). */
int crescent_get_weight(const crescent_model *model, int index, float *tensor);

/* Writes all parameters as a safetensors file, either completely or not at all.  The model must
 * keep its weights. */
int crescent_save_weights(const crescent_model *model, const char *path);

/* ---- runs ----------------------------------------------------------------------------- */

/* Fills an input with values drawn from the seed: by the init that the script gives it, else
 * standard normal numbers or uniform ids; an i32 on which an offset of rows depends is 0. */
int crescent_draw_input(const crescent_model *model, int index, int64_t seed, void *tensor);

/* Reads an input from a .npy file, which must have its shape. */
int crescent_read_input(const crescent_model *model, int index, const char *path, void *tensor);

/* A .npy file with the values of an input. */
typedef struct {
    const char *name, *path;
} crescent_input_file;

/* Reads inputs from files into `tensors`, which are in the order of the ports.  Inputs without a
 * file keep their values; if several files name one input, the last one is read.  An array may be
 * shorter than its tensor along an axis that is a length: the function sets the length's input to
 * the size of the array.  It fails if two arrays give one length different sizes. */
int crescent_read_inputs(const crescent_model *model, const crescent_input_file *files, int n,
                         void *const *tensors);

/* Sets *port to an input or output with the sizes that it has in a run with these inputs, of
 * which only those that hold lengths are read.  For a length of each row of a batch, the size is
 * that of the longest row.  The tensor itself is laid out for the bounds of its lengths. */
int crescent_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                        const void *const *inputs, crescent_port *port);

/* Copies the elements inside the sizes of `sized` from a tensor laid out for the bounds in `port`
 * to a dense array; crescent_unpack copies a dense array into such a tensor.  An element has
 * `width` bytes: 4, or 8 for doubles.  Source and destination may be the same.  Fails if an
 * argument is null, `width` is neither 4 nor 8, or a size exceeds the shape; the message is that
 * of the null context on this thread. */
int crescent_pack(const crescent_port *port, const crescent_port *sized, size_t width,
                  const void *tensor, void *packed);
int crescent_unpack(const crescent_port *port, const crescent_port *sized, size_t width,
                    const void *packed, void *tensor);

/* Runs the model once; every parameter must have been set.  Tensors are in the order of the
 * ports.  Outputs must not overlap each other or the inputs.  The model keeps its states from
 * run to run.  A run that fails because an id or an offset is out of range does not change them.
 * Several entries run one after another, and each sees the states that the entries before it
 * wrote. */
int crescent_run(crescent_model *model, const void *const *inputs, void *const *outputs);

/* Runs one entry of a model that was compiled with all of its entries.  Tensors are in the order
 * of the model's ports; tensors that the entry does not use may be null. */
int crescent_run_entry(crescent_model *model, const char *entry, const void *const *inputs,
                       void *const *outputs);

/* Runs the whole model, and sets kernel_ns[i] to the total time of all calls of kernel i
 * (crescent_kernel_at).  Only for the backends CRESCENT_TCC and CRESCENT_CC. */
int crescent_run_timed(crescent_model *model, const void *const *inputs, void *const *outputs,
                       double *kernel_ns);

/* The times at which a call of a kernel began and ended (crescent_clock). */
typedef struct {
    int64_t begin_ns, end_ns;
} crescent_call_time;

/* Runs the whole model, and writes the times of each call of a kernel, in the order of the run,
 * to times[crescent_report.n_calls]. */
int crescent_run_traced(crescent_model *model, const void *const *inputs, void *const *outputs,
                        crescent_call_time *times);

/* Copy the value of state number `index` to or from `tensor`, as int32_t for i32, else as float.
 * States are zero before the first run; crescent_reset_states sets all of them to zero. */
int crescent_get_state(const crescent_model *model, int index, void *tensor);
int crescent_set_state(crescent_model *model, int index, const void *tensor);
int crescent_reset_states(crescent_model *model);

/* For the interpreter, returns the elements of an output of the last run before they were
 * rounded; they are valid until the next run.  Returns null for other backends. */
const double *crescent_exact_output(const crescent_model *model, int index);

/* ---- gradients ------------------------------------------------------------------------ */

/* A file that is being written; see crescent_file_open. */
typedef struct crescent_file crescent_file;

/* Writes the gradients, which are among the outputs of a run, as a safetensors file under the
 * names of their parameters and inputs. */
int crescent_put_gradients(const crescent_model *model, void *const *outputs, crescent_file *file);

/* Reads a file of gradients: the i-th gradient among the outputs into expected[i], as doubles. If
 * expected[i] is null, that gradient is not read. */
int crescent_read_gradients(const crescent_model *model, const char *path, double *const *expected);

/* ---- reports -------------------------------------------------------------------------- */

/* A report on a compiled model.  Strings live as long as the model. */
typedef struct {
    const char *name; /* the model's name */
    crescent_backend backend;
    const char *isa; /* instruction set of the runtime functions that the kernels call */
    int threads;
    int compiled; /* 0: the interpreter runs the graph, and all members below are 0 */
    int64_t passes_ns, emit_ns, compile_ns;
    size_t text_bytes;      /* size of the C, without the runtime */
    int ops;                /* number of arithmetic ops in the graph: of kernels if nothing were
                             * fused */
    int n_kernels, n_calls; /* number of compiled kernels, and of calls of kernels in a run */
    int n_products, n_rounded; /* kernels that multiply by packed weights; how many of those use
                                * another arithmetic than f32 */
    int64_t weights_bytes, arena_bytes;
    int64_t scratch_bytes;     /* scratch memory of one thread */
    int64_t arena_bytes_least; /* lower bound for the arena of any plan: the most bytes that are
                                * live at once */
    int64_t activation_bytes;  /* bytes of the arena that are kept for the backward pass; -1:
                                * there is no backward pass */
    int64_t parameter_bytes;   /* bytes of the parameters that a run reads */
    int64_t border_bytes;      /* bytes of inputs and outputs */
    double flops;              /* floating-point operations of a run, without those that recompute
                                * values */
    double flops_again;        /* additional operations that recompute values because of
                                * max_arena */
    int calls_again;           /* additional calls of kernels that recompute values */
} crescent_report;

int crescent_report_of(const crescent_model *model, crescent_report *report);

/* A compiled kernel; all numbers except `calls` are about one call. */
typedef struct {
    const char *name;  /* the name of its C function */
    const char *scope; /* its scope in the script, such as "attn.c_attn" */
    const char *where; /* its line in the script, such as "gpt2_block.lua:12" */
    int calls;         /* number of its calls in a run */
    double flops, bytes_read, bytes_written;
    double bytes_weights; /* the part of bytes_read that is parameters */
    double bytes_to_l1;   /* bytes that its loops load into the first-level cache, by a model of
                           * the target's caches ... */
    double bytes_to_l2;   /* ... and how many of these come from beyond the second-level cache */
} crescent_kernel;

/* Kernels are numbered from 0 to crescent_report.n_kernels - 1. */
int crescent_kernel_at(const crescent_model *model, int index, crescent_kernel *kernel);

/* ---- limits of the machine ------------------------------------------------------------- */

/* Measures the machine's limits with as many threads as a model has. */
typedef struct crescent_machine crescent_machine;

/* Reserves addresses for several times the size of the caches, but touches only memory that
 * crescent_machine_read reads.  The model must not run during a measurement. */
int crescent_machine_open(crescent_model *model, crescent_machine **machine);
void crescent_machine_close(crescent_machine *machine);

/* Returns the peak rate in floating-point operations per nanosecond (GFLOP/s), by the widest
 * fused multiply-add. */
double crescent_machine_flops(const crescent_machine *machine);

/* Returns the peak rate of products in an arithmetic, in operations per nanosecond (GOP/s), two
 * for a multiplication and its addition: of "int8" by the instruction that the model's
 * instruction set has for it, of "bf16" by tile instructions if it has them, else, as of "f32",
 * by the widest fused multiply-add.  Returns 0 for another name. */
double crescent_machine_products(const crescent_machine *machine, const char *arithmetic);

/* Returns the bandwidth in bytes per nanosecond (GB/s) at which the threads, each its share,
 * repeatedly read `bytes` bytes: from the cache that holds them, or from memory.  0 stands for a
 * size that no cache holds. */
double crescent_machine_read(crescent_machine *machine, int64_t bytes);

/* Returns the bandwidth of reading the first `bytes` bytes of the model's weights in place,
 * without allocating memory; of all weights if `bytes` is 0 or larger.  Returns 0 for a model
 * without weights. */
double crescent_machine_read_weights(const crescent_machine *machine, int64_t bytes);

/* ---- comparing ------------------------------------------------------------------------ */

/* An element passes if it differs from the expected one by at most atol + rtol * |expected| and,
 * if max_ulp is not negative, by at most max_ulp floats.  If max_ulp is given and both other
 * tolerances are 0, only the ulps count. */
typedef struct {
    double atol, rtol;
    int64_t max_ulp; /* negative: no limit */
    int by_size;     /* not 0: atol is multiplied by the root mean square of the expected array, if
                      * that is above 1; rounding errors of sums that cancel are proportional to it */
} crescent_tolerance;

/* The differences between an array and the expected values.  Two NaN count as equal, as do two
 * infinities of one sign, and a number beyond the range of float and the infinity to which it
 * rounds.  The difference between an infinity and a number is infinite; that between a NaN and a
 * number is NaN. */
typedef struct {
    double max_abs, max_rel; /* rel: divided by the element's own expected value */
    double max_ulp;          /* in units in the last place of the larger of the expected value and
                              * the root mean square of the array */
    int64_t max_ulp_each;    /* in floats between the two values; INT64_MAX if one is not finite */
    int64_t worst;           /* index of the element that fails the most, or if none fails,
                              * differs the most; or -1 */
    double got, want;        /* the two values of that element */
    int64_t failures, nans;  /* number of elements that fail; number of those where only one value
                              * is NaN */
} crescent_difference;

/* Compares n elements and fills in *difference. */
int crescent_compare(const double *got, const double *want, int64_t n,
                     const crescent_tolerance *tolerance, crescent_difference *difference);

/* Returns 1 if two arrays of floats have the same bits, where all NaN count as one value; else
 * 0. */
int crescent_same_bits(const float *a, const float *b, int64_t n);

/* ---- inspecting ----------------------------------------------------------------------- */

/*
 * The results of compiling a graph: the graph after each pass, kernels and their calls, the C of
 * each, the arena.  crescent_explain uses these functions, and those for replaying a run.
 *
 *     status = crescent_inspect(graph, NULL, &inspection);
 *     for (int i = 0; !status && i < crescent_call_count(inspection); i++)
 *         status = crescent_call_at(inspection, i, &call);
 *
 * Passes, nodes, kernels and calls are numbered from 0; a function fails if a number is out of
 * range.  Strings and arrays belong to the inspection and are valid until it is closed.  Strings,
 * shapes and indices of nodes are interned: equal ones have the same address.
 */
typedef struct crescent_inspection crescent_inspection;

/* Compiles a copy of a graph up to C text, and keeps the graph after each pass.  `config` has the
 * options of crescent_compile; its backend must be CRESCENT_TCC or CRESCENT_CC. */
int crescent_inspect(const crescent_graph *graph, const crescent_config *config,
                     crescent_inspection **inspection);
void crescent_inspection_close(crescent_inspection *inspection);

/* Return the configuration, with its defaults filled in; the name of the target; and the report,
 * in which times, backend, isa and threads are 0, because nothing has run. */
int crescent_inspection_config(const crescent_inspection *inspection, crescent_config *config);
const char *crescent_inspection_target(const crescent_inspection *inspection);
int crescent_inspection_report(const crescent_inspection *inspection, crescent_report *report);

/* A stage of the compilation, mostly a pass, and the sizes of its result. */
typedef struct {
    const char *name, *doc; /* the name of a pass; "script" for the first stage, "emit" for the
                             * last one */
    int64_t ns;             /* time of the pass and of the verification after it */
    int graph;              /* number of the graph after the stage; stages that do not change the
                             * graph have the same number */
    int kernels, functions, loops; /* -1: there are none at this stage */
    int64_t weights_bytes, arena_bytes, arena_bytes_least; /* 0, as the next two members: unknown
                                                            * at this stage */
    int steps, statements; /* of the program: number of steps and of statements */
} crescent_stage;

int crescent_stage_count(const crescent_inspection *inspection);
int crescent_stage_at(const crescent_inspection *inspection, int index, crescent_stage *stage);

/* A node of a graph: an op and its result. */
typedef struct {
    int op; /* number of the op; see crescent_op_at */
    crescent_type type;
    int rank;
    const int64_t *shape;
    const int64_t *index; /* permute: the axes; slice: the first element; others: zeros */
    int axis;             /* the axis, counted from 0, of an op that works along one; 0 for other
                           * ops */
    double value;         /* const: the value */
    const char *name;     /* param, input, state: the name; literal: a name for its elements;
                           * others: null */
    const char *tap;      /* the name that the script gave it by tap, or null */
    const char *scope;    /* the scope, such as "h.3.attn"; "" outside of scopes */
    const char *file;     /* the file and line of the script that made it; line 0: unknown */
    int line;
    const char *library; /* the file of the library code that made it, or null */
    int library_line;
    int backward; /* 1: part of the backward pass */
    int n_operands;
    const int *operands; /* numbers of nodes, which are smaller than the node's own */
} crescent_node;

/* Return the number of nodes of a graph, and one node.  `graph` is a value of
 * crescent_stage.graph.  The last graph is the one whose nodes kernels compute. */
int crescent_node_count(const crescent_inspection *inspection, int graph);
int crescent_node_at(const crescent_inspection *inspection, int graph, int index,
                     crescent_node *node);

/* An output of the last graph. */
typedef struct {
    const char *name; /* as in crescent_port; if `state` is 1, the name of the state */
    const char *of;   /* of a gradient: name of the tensor by which the loss is differentiated;
                       * else null */
    int node;
    int state; /* 1: the output is the next value of a state */
} crescent_output;

int crescent_output_count(const crescent_inspection *inspection);
int crescent_output_at(const crescent_inspection *inspection, int index, crescent_output *output);

/* Further properties of a kernel. */
typedef struct {
    const char *title; /* the end of the kernel's name, after its number */
    const char *kind;  /* the kind of kernel: "gemm", "map" and so on */
    const char *about; /* the comment before its function in the C */
    int first_call;
    int64_t scratch_bytes; /* scratch memory of one thread */
} crescent_kernel_detail;

/* Sets *kernel and *detail for kernel number `index`, as in crescent_kernel_at: from 0 to
 * crescent_report.n_kernels - 1. */
int crescent_inspection_kernel_at(const crescent_inspection *inspection, int index,
                                  crescent_kernel *kernel, crescent_kernel_detail *detail);

/* A call of a kernel in a run.  It reads stored values of nodes, and computes and stores others. */
typedef struct {
    int kernel;
    int root, main; /* the node whose value it computes, and the node that takes most of the work */
    int buffer;     /* the node to whose memory it writes: the root, or a concat or write that
                     * contains the root */
    int n_stores;   /* the number of nodes that it stores: `buffer` first, then others */
    const int *stores;
    int n_reads; /* the number of stored nodes and parameters that it reads */
    const int *reads;
    int again; /* 1: it recomputes a value (crescent_config.max_arena) */
} crescent_call;

int crescent_call_count(const crescent_inspection *inspection);
int crescent_call_at(const crescent_inspection *inspection, int index, crescent_call *call);

/* A loop over layers: it makes the calls first to first + period * count - 1.  Iteration i makes
 * `period` calls, for layer start + i * direction. */
typedef struct {
    int first, period, count;
    int start, direction;
} crescent_loop;

int crescent_loop_count(const crescent_inspection *inspection);
int crescent_loop_at(const crescent_inspection *inspection, int index, crescent_loop *loop);

/* Returns the emitted C, without the runtime, and sets *length. crescent_lines_at gives the
 * kernels, calls and nodes of its lines. */
const char *crescent_inspection_c(const crescent_inspection *inspection, size_t *length);

typedef enum {
    CRESCENT_LINES_KERNEL, /* the function of a kernel */
    CRESCENT_LINES_CALL,   /* a call of a kernel; one in a loop stands for all iterations */
    CRESCENT_LINES_NODE    /* a call of the runtime that computes a node, in the function of a
                            * kernel; `number` is the node of the kernel's first call */
} crescent_lines_kind;

/* Lines `first` to `last`, counted from 1. */
typedef struct {
    crescent_lines_kind kind;
    int first, last;
    int number; /* number of the kernel, of the call, or of the node */
} crescent_lines;

/* Return the number of ranges, and one range.  Ranges are sorted by kind, then by position in the
 * text. */
int crescent_lines_count(const crescent_inspection *inspection);
int crescent_lines_at(const crescent_inspection *inspection, int index, crescent_lines *lines);

/* A value that is stored in the arena. */
typedef struct {
    int node;
    int64_t offset, bytes;
    int first_call, last_call; /* numbers of the first and last call that store or read it */
} crescent_live_range;

int crescent_live_range_count(const crescent_inspection *inspection);
int crescent_live_range_at(const crescent_inspection *inspection, int index,
                           crescent_live_range *range);

/* ---- replaying ------------------------------------------------------------------------ */

/*
 * Gives access to the values inside a run.  The compiled program runs once, with the same bits as
 * in any run, and each value is copied when the call that stores it ends.  Then the interpreter
 * computes the nodes of the last graph one by one, in double precision.  The autopsy and
 * crescent_explanation_check use these functions.
 *
 *     status = crescent_replay_open(graph, NULL, &replay) ||
 *              crescent_keep_weights(crescent_replay_model(replay)) ||
 *              crescent_draw_weights(crescent_replay_model(replay), 0) ||
 *              crescent_replay_run(replay, CRESCENT_REPLAY_KERNELS, inputs, outputs);
 *     while (!status && !(status = crescent_replay_next(replay, &value)))
 *         ...
 */
typedef struct crescent_replay crescent_replay;

/* Compiles a graph, without changing it.  The backend must be CRESCENT_TCC or CRESCENT_CC. */
int crescent_replay_open(const crescent_graph *graph, const crescent_config *config,
                         crescent_replay **replay);
void crescent_replay_close(crescent_replay *replay);

/* Returns the model, which belongs to the replay and is closed with it.  It must keep its weights
 * (crescent_keep_weights). */
crescent_model *crescent_replay_model(const crescent_replay *replay);

typedef enum {
    CRESCENT_REPLAY_KERNELS, /* the interpreter uses weights as rounded to their formats, and
                              * products in their arithmetics; gives all values */
    CRESCENT_REPLAY_MODEL    /* the interpreter uses weights as given, and products in f32; gives
                              * only exact values */
} crescent_replay_kind;

/* Makes one run, as crescent_run does.  The inputs must not change until the last node has been
 * read. */
int crescent_replay_run(crescent_replay *replay, crescent_replay_kind kind,
                        const void *const *inputs, void *const *outputs);

/* A tensor of doubles: the element at an index is data[sum of index[i] * stride[i]]. */
typedef struct {
    const double *data; /* null: the values are not computed */
    int64_t stride[CRESCENT_MAX_RANK];
} crescent_values;

/* A node of a run, with the sizes that its lengths have in this run. */
typedef struct {
    crescent_node node;
    int number;
    int is_output;      /* 1: an output, or the next value of a state */
    int again;          /* 1: the same node as the one before, stored by another call */
    int call;           /* number of the call that completes its value, in the order of a run;
                         * CRESCENT_NONE: no kernel stores it */
    int result;         /* index among the results of the call; 0: the one in
                         * crescent_call.buffer */
    const char *kernel; /* name of the C function of the call, or null */
    const void *stored; /* the stored elements, row-major: int32_t for CRESCENT_I32, else float;
                         * null if `call` is CRESCENT_NONE */
    crescent_values exact; /* computed from exact values of the operands, in double precision */
    crescent_values local; /* computed from the stored operands, or from the local values of
                            * operands that are not stored; infinite if beyond the range of float */
    crescent_values bound; /* a bound for the error of `local` caused by rounding to f32; NaN:
                            * unknown */
} crescent_replayed;

/* Sets *value to the next node of the last run, in the order of the graph: operands before
 * results. Skips nodes on which neither an output nor a stored value depends.  Returns
 * CRESCENT_STOPPED after the last one.  Strings are valid until the next run, arrays until the
 * next call. */
int crescent_replay_next(crescent_replay *replay, crescent_replayed *value);

/* Sets *local to the local values of operand number `index` of the node that crescent_replay_next
 * returned last. */
int crescent_replay_operand(const crescent_replay *replay, int index, crescent_values *local);

/* Returns the number of nodes in the graph of the last run; 0 before the first run. */
int crescent_replay_size(const crescent_replay *replay);

/* ---- autopsy -------------------------------------------------------------------------- */

/*
 * Finds the first node whose values are wrong.  The compiled program runs once, with the same
 * bits as in any run, and each value is copied when the kernel that stores it ends.  The same
 * graph is computed in double precision, once from the inputs and once from the values that
 * kernels stored.  So the error that a kernel adds is separated from the error of its operands,
 * and is compared with a bound for the kernel's roundings: for a sum of n terms, n units in the
 * last place of the sum of magnitudes.
 *
 *     if (crescent_autopsy_open(graph, NULL, &autopsy) ||
 *         crescent_draw_weights(crescent_autopsy_model(autopsy), 0) ||
 *         crescent_autopsy_run(autopsy, inputs, outputs))
 *         puts(crescent_error(context));
 *     else if ((i = crescent_autopsy_culprit(autopsy)) != CRESCENT_NONE)
 *         crescent_autopsy_at(autopsy, i, &node);
 */
typedef struct crescent_autopsy crescent_autopsy;

typedef enum {
    CRESCENT_SOUND,
    CRESCENT_WRONG,   /* differs by more than roundings explain */
    CRESCENT_NAN,     /* makes NaN from operands without NaN, or is an input or parameter that has
                       * NaN */
    CRESCENT_INFINITE /* makes infinities from finite operands, or is an input or parameter that
                       * has infinities */
} crescent_verdict;

/* A node whose value a kernel stores; or a node inside a kernel that makes NaN or infinities. The
 * strings belong to the autopsy. */
typedef struct {
    const char *name;  /* its tap, or the name of a parameter or input; else its scope; else its
                        * op */
    const char *op, *scope;
    const char *where; /* its line in the script, "FILE:LINE", or "" */
    const char *kernel; /* name of the C function that stores it; null if none does */
    int backward;      /* 1: part of the backward pass */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
    crescent_verdict verdict;
    int culprit; /* 1: its kernel computed it wrongly, or it made an output infinite or NaN */
    double error, inherited, own; /* each is the largest over all elements: the error against
                                   * double precision; the part of it that comes from the
                                   * operands; the part that the kernel adds */
    double bound;    /* the most that the kernel may add, at the worst element */
    int64_t worst;   /* index of the worst element: the largest ratio of error to bound; the first
                      * NaN or infinity; or CRESCENT_NONE */
    int64_t failing; /* number of elements whose error exceeds their bound */
    double got, want; /* the stored value of the worst element, and the value by the op's formula
                       * from the operands that the kernel read */
    int n_operands;   /* for an elementwise op that makes NaN or infinities: number of its
                       * operands */
    double operands[4];
} crescent_tapped;

/* Compiles a graph with one entry.  The backend must be CRESCENT_TCC or CRESCENT_CC. Elements of
 * a tensor past its length are ignored. */
int crescent_autopsy_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_autopsy **autopsy);
void crescent_autopsy_close(crescent_autopsy *autopsy);

/* Returns the model, which belongs to the autopsy and is closed with it; use it to set weights
 * and inputs, and for reports.  It keeps its weights. */
crescent_model *crescent_autopsy_model(crescent_autopsy *autopsy);

/* Runs the model as crescent_run does, and examines the values of the run. */
int crescent_autopsy_run(crescent_autopsy *autopsy, const void *const *inputs,
                         void *const *outputs);

/* Return the number of findings of the last run, and one finding.  They are in the order of the
 * graph: operands before results. */
int crescent_autopsy_count(const crescent_autopsy *autopsy);
int crescent_autopsy_at(const crescent_autopsy *autopsy, int index, crescent_tapped *node);

/* Returns the index of the first finding that is a culprit, or CRESCENT_NONE. */
int crescent_autopsy_culprit(const crescent_autopsy *autopsy);

/* ---- generating ----------------------------------------------------------------------- */

/*
 * A causal model that continues texts: it takes tokens, keeps their keys and values for later
 * tokens, and computes the logits of the next token.  The bits of the logits do not depend on how
 * the tokens are distributed over calls.
 *
 *     status = crescent_generator_open(context, folder, NULL, NULL, NULL, &g) ||
 *              crescent_load_weights(crescent_generator_model(g), &folder, 1, 0, NULL) ||
 *              crescent_generator_feed(g, prompt, n_prompt, NULL);
 *     while (!status && !crescent_generator_choose(g, NULL, &id) && !crescent_generator_is_end(g, id))
 *         status = crescent_generator_feed(g, &id, 1, NULL);
 */
typedef struct crescent_generator crescent_generator;

/* Options for generating.  Zeros are the defaults; a null pointer stands for all zeros. */
typedef struct {
    int64_t context; /* maximum number of positions; 0: the model's maximum */
    int64_t chunk;   /* maximum number of tokens that go through the model at once; 0: a default */
    int all_logits;  /* 1: return the logits of every token that is fed; 0: only of the last token
                      * of a call */
    int64_t least;   /* minimum number of positions, if the script does not fix their number */
} crescent_generation;

/*
 * Opens the model of a folder, a GGUF file or a script.  A script has the input `ids`, i32
 * [texts, tokens], and the output `logits`, [texts, tokens, vocabulary]; its option T, the number
 * of tokens, is set to the number of positions.  Or the script has caches of its own: a length
 * `n`, ids of [texts, n], and a state `at`, which counts the earlier tokens; then its options
 * `context` and `chunk` set the sizes.
 */
int crescent_generator_open(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            crescent_generator **generator);

/* Does the same as crescent_generator_open for a script in memory; see crescent_graph_open_text. */
int crescent_generator_open_text(crescent_context *context, const char *name, const char *text,
                                 size_t length, const crescent_script *how,
                                 const crescent_config *config,
                                 const crescent_generation *generation,
                                 crescent_generator **generator);
void crescent_generator_close(crescent_generator *generator);

/* Returns the model of a generator, for functions that load weights or report.  The generator owns
 * it and closes it. */
crescent_model *crescent_generator_model(crescent_generator *generator);

typedef struct {
    int64_t texts, vocabulary; /* number of texts that are continued at once; number of logits of
                                * a token */
    int64_t context, used;     /* number of positions of each text; how many of them have a token */
    int64_t chunk;
    int all_logits; /* from crescent_generation */
    int64_t begin; /* the id with which a text begins, bos_token_id of config.json; or
                    * CRESCENT_NONE */
    int ends;      /* number of ids that end a text: eos_token_id of generation_config.json or
                    * config.json */
    int can_grow;  /* 1: `context` would be larger for a larger `least` of crescent_generation */
} crescent_generator_status;

int crescent_generator_get_status(const crescent_generator *generator, crescent_generator_status *status);

/* Feeds the next n tokens of each text, ids [texts, n].  `logits` may be null; else it receives
 * the logits of the last token, [texts, vocabulary] or, with all_logits, of all n tokens, [texts,
 * n, vocabulary]. Fails, without taking any token, if there are not enough positions or an id is
 * outside the vocabulary. */
int crescent_generator_feed(crescent_generator *generator, const int32_t *ids, int64_t n,
                            float *logits);

/* Returns the logits of the last token, [texts, vocabulary], valid until the next call; null
 * before the first token. */
const float *crescent_generator_logits(const crescent_generator *generator);

/* Options of sampling, applied in the order of Hugging Face's generation: logits are divided by
 * the temperature; the top_k likeliest tokens are kept, then the smallest set of the likeliest
 * tokens whose total probability reaches top_p; one of these is drawn.  Of equal logits the lower
 * id is the likelier.  Every machine draws the same tokens.  All zero: the likeliest token. */
typedef struct {
    double temperature; /* 0: the likeliest token; the other members are then ignored */
    int64_t top_k;      /* 0: no limit */
    double top_p;       /* 0 or 1: no limit */
    int64_t seed;       /* each draw depends only on the seed, the number of the text, and the
                         * position */
} crescent_sampling;

/* Chooses the next token of each text.  A null `how` stands for all zeros.  Fails if a logit is
 * NaN. */
int crescent_generator_choose(crescent_generator *generator, const crescent_sampling *how,
                              int32_t *ids);

/* Returns 1 if a token ends a text, else 0. */
int crescent_generator_is_end(const crescent_generator *generator, int32_t id);

/* Forgets all tokens, so that new texts begin. */
int crescent_generator_reset(crescent_generator *generator);

/* ---- evaluating ----------------------------------------------------------------------- */

/* States how a text is cut into windows of `tokens` tokens.  Each window begins with the token `begin`,
 * unless that is CRESCENT_NONE.  All tokens of a window except the first are predicted. */
typedef struct {
    int64_t tokens; /* tokens of a window: from 2 to the model's number of positions */
    int64_t begin;
} crescent_window;

/* The loss of a model on a text and, if there is a reference model, the divergence from that
 * model.  Logarithms are natural; sums are in double. */
typedef struct {
    int64_t tokens;   /* number of tokens that were predicted */
    double loss;      /* mean of -ln p over the predicted tokens; exp(loss) is the perplexity */
    double reference; /* the loss of the reference; NAN without one, as the next two members */
    double divergence; /* mean of the Kullback-Leibler divergence, sum of q (ln q - ln p), where q
                        * is the reference's probability */
    double agreement;  /* the share of positions where both models have the same likeliest token */
} crescent_evaluation;

/* Evaluates a text of n tokens with a generator of one text that was opened with all_logits, and
 * with a reference of the same vocabulary, which may be null.  Resets both before each window. */
int crescent_evaluate(crescent_generator *generator, crescent_generator *reference,
                      const crescent_window *how, const int32_t *ids, int64_t n,
                      crescent_evaluation *evaluation);

/* ---- training ------------------------------------------------------------------------- */

/*
 * A model whose graph is one step of a training, with its state.  An output with the name of a
 * parameter or an input is its value for the next step; the other inputs are data.  The output
 * `loss` must be one f32.  The outputs `lr` and `tokens`, one number each, are reported if they
 * exist.  The order of calls: open; load weights into crescent_trainer_model; set data; start;
 * steps.
 */
typedef struct crescent_trainer crescent_trainer;

int crescent_trainer_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_trainer **trainer);
void crescent_trainer_close(crescent_trainer *trainer);

/* Returns the model, which belongs to the trainer and is closed with it; use it for ports,
 * weights and reports. It keeps its weights (crescent_keep_weights). */
crescent_model *crescent_trainer_model(crescent_trainer *trainer);

/* Sets inputs from files.  An array has the shape of its input, or one more axis in front that
 * counts batches; step s uses batch s modulo their number.  All batches are read once, so that
 * errors are found here.  May be called once for a trainer, before its first step. */
int crescent_trainer_feed(crescent_trainer *trainer, const crescent_input_file *files, int n);

/* Sets input number `index` from memory for all later steps, until it is set again. */
int crescent_trainer_set_input(crescent_trainer *trainer, int index, const void *tensor);

/* Returns the number of micro-batches of a step; 1 if the script sets none.  If there are
 * several, the tensor of crescent_trainer_set_input holds the data of all micro-batches, one
 * after another; each micro-batch uses one batch of the files of crescent_trainer_feed; and the
 * name of an output begins with its entry, as in update.loss. */
int crescent_trainer_micro_batches(const crescent_trainer *trainer);

/* Gives every input without data its init in the script.  Fails for an input that has neither
 * data nor an init, and that no output replaces. */
int crescent_trainer_start(crescent_trainer *trainer);

/* Makes one step.  Fails if the loss is not finite; the state may then be damaged and must not be
 * saved. */
int crescent_trainer_step(crescent_trainer *trainer);

/* The progress of a training. */
typedef struct {
    int64_t step;            /* number of steps made, including those before it was resumed */
    double loss, lr, tokens; /* outputs of the last step; NAN before the first step */
    int has_lr, has_tokens;  /* 1: the model has this output */
    int64_t validated;       /* number of steps made at the last validation; -1: none yet */
    double validation;       /* loss of the last validation, or NAN */
} crescent_training;

int crescent_trainer_status(const crescent_trainer *trainer, crescent_training *status);

/* Copies the current value of a port: of a parameter, of an input for the next step, or of an
 * output of the last step.  If the port is a state, all ranks (crescent_join) must call it. */
int crescent_trainer_get(const crescent_trainer *trainer, crescent_port_kind kind, int index,
                         void *tensor);

/* ---- losses --------------------------------------------------------------------------- */

/* The losses of a training from its first step on, in bounded memory: beyond 1024 points,
 * neighbouring points are replaced by their mean. */
typedef enum { CRESCENT_STEP_LOSSES, CRESCENT_VALIDATION_LOSSES } crescent_loss_kind;

typedef struct {
    double step, loss; /* the mean number of some consecutive steps, and the mean of their losses */
} crescent_loss;

int crescent_loss_count(const crescent_trainer *trainer, crescent_loss_kind kind);
int crescent_loss_at(const crescent_trainer *trainer, crescent_loss_kind kind, int index,
                     crescent_loss *loss);

/* Sets the range of steps whose losses are known: from the one after *first to *last. */
int crescent_loss_range(const crescent_trainer *trainer, int64_t *first, int64_t *last);

/* ---- validation ----------------------------------------------------------------------- */

/*
 * Prepares the loss on validation data.  Runs the script again, with its option `validation` set
 * to true if it declares one, and compiles its output `loss`; parameters and state are the
 * trainer's. Files are as in crescent_trainer_feed; an input that training reads from a file or
 * from memory needs a file of its own here.  Fails if the loss depends on random numbers and the
 * script does not declare the option.  May be called once for a trainer, after
 * crescent_trainer_start.
 */
int crescent_trainer_validation(crescent_trainer *trainer, const crescent_input_file *files, int n);

/*
 * Computes the mean of the losses of all batches, and records it (crescent_loss_at).  Calls
 * `stop` before each batch, and returns CRESCENT_STOPPED if that returns true. `stop` and `loss`
 * may be null.
 */
int crescent_trainer_validate(crescent_trainer *trainer, int (*stop)(void *), void *argument,
                              double *loss);

/* ---- checkpoints ---------------------------------------------------------------------- */

/* A safetensors file with the state of a training: parameters and state under their names; in the
 * metadata the number of steps, the seed, the losses and the script's options. */
typedef struct crescent_checkpoint crescent_checkpoint;

/* Reads the settings in a checkpoint that are needed before the training is opened. */
int crescent_checkpoint_open(crescent_context *context, const char *path,
                             crescent_checkpoint **checkpoint);
void crescent_checkpoint_close(crescent_checkpoint *checkpoint);
int64_t crescent_checkpoint_step(const crescent_checkpoint *checkpoint);
int64_t crescent_checkpoint_seed(const crescent_checkpoint *checkpoint);
/* Return the number of the script's options in the checkpoint, and one option: use them as
 * `defaults` of the crescent_script that continues the training. */
int crescent_checkpoint_option_count(const crescent_checkpoint *checkpoint);
int crescent_checkpoint_option_at(const crescent_checkpoint *checkpoint, int index,
                                  crescent_setting *option);

/* Takes the whole state of a checkpoint, bit for bit; called after crescent_trainer_start.  The
 * checkpoint must be one of the same seed, and of a script with the same parameters and state. */
int crescent_trainer_resume(crescent_trainer *trainer, const char *path);

/* Write the whole state, or only the parameters.  Fail if training could not continue with the
 * values: if a parameter that a step replaces is not finite, or a state is NaN.  A file appears
 * either completely or not at all.  All ranks (crescent_join) must call these functions, since
 * they share states; rank 0 writes. */
int crescent_trainer_save(const crescent_trainer *trainer, const char *path);
int crescent_trainer_save_weights(const crescent_trainer *trainer, const char *path);

/* Fails if another rank (crescent_join) has other parameters, another state or other input files
 * than rank 0. All ranks must call it; the first step does the same. */
int crescent_trainer_compare_ranks(crescent_trainer *trainer);

/* Does everything that saving does, except for renaming the files to their final names, so that
 * errors are found before the training.  Either path may be null. */
int crescent_trainer_check_save(const crescent_trainer *trainer, const char *checkpoint,
                                const char *weights);

/* ---- tuning --------------------------------------------------------------------------- */

/*
 * Finds the best tile sizes of a target by measuring a model on this machine.  It changes one
 * size after another, and keeps a change if the runs are clearly faster.  The outputs of each
 * candidate's first run are compared with those of the first candidate: a function returns
 * CRESCENT_BUG if any bit differs.
 *
 *     crescent_trial trial;
 *     while (crescent_tuner_next(tuner, &trial) == CRESCENT_OK)
 *         ...
 *     crescent_tuner_finish(tuner, NULL, &tuning);
 */
typedef struct crescent_tuner crescent_tuner;

/* One trial: a size of the target, its best value so far, and the value that is tried. */
typedef struct {
    const char *size;
    int64_t was, value;
    double ratio; /* time of a run with the tried value divided by that with the best; 1 if it was
                   * not measured */
    int measured; /* 0 if both values give the same program */
    int kept;
} crescent_trial;

/* The result of tuning. */
typedef struct {
    double before_ns, after_ns; /* time of a run, with the first target and with the best one */
    const char *path;           /* the file with the best target; the string belongs to the tuner */
} crescent_tuning;

/* Begins with the target of the configuration.  The whole search takes about `seconds`. */
int crescent_tuner_open(const crescent_graph *graph, const crescent_config *config, double seconds,
                        crescent_tuner **tuner);
void crescent_tuner_close(crescent_tuner *tuner);

/* Measures the next candidate; returns CRESCENT_STOPPED if there is none, or if the time is
 * over. */
int crescent_tuner_next(crescent_tuner *tuner, crescent_trial *trial);

/* Compares the best target with the first one, and writes the faster one to a file.  If `path` is
 * null, writes this machine's file, which the target "host" reads from then on. */
int crescent_tuner_finish(crescent_tuner *tuner, const char *path, crescent_tuning *tuning);

/* Fails if crescent_tuner_finish could not write the file at `path`, so that the error is found
 * before the search. */
int crescent_tuner_check_finish(crescent_tuner *tuner, const char *path);

/* ---- tokenizers ----------------------------------------------------------------------- */

/*
 * Encodes texts to ids of tokens, and decodes ids: BPE, WordPiece, Unigram or WordLevel as a
 * tokenizer.json describes it, with the same ids as Hugging Face's tokenizers.
 * docs/tokenizers.md lists the files and settings that are supported.
 *
 *     crescent_tokenizer *tokenizer;
 *     int32_t *ids;
 *     size_t n;
 *     if (crescent_tokenizer_open(context, "folder", &tokenizer) ||
 *         crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, &n))
 *         puts(crescent_error(context));
 *
 * Text must be valid UTF-8 of fewer than 2^28 bytes; it may contain zero bytes.
 */
typedef struct crescent_tokenizer crescent_tokenizer;

/* Opens a tokenizer: a tokenizer.json, a folder with one, with vocab.json and merges.txt or with
 * encoder.json and vocab.bpe, with a vocab.txt or with a tokenizer.model, or a GGUF file. */
int crescent_tokenizer_open(crescent_context *context, const char *path,
                            crescent_tokenizer **tokenizer);
void crescent_tokenizer_close(crescent_tokenizer *tokenizer);

/* Returns the largest id + 1; 0 for a null tokenizer. */
int crescent_tokenizer_size(const crescent_tokenizer *tokenizer);

/* crescent_token_id returns the id of a token, given its text in the tokenizer's file, such as
 * "<|endoftext|>"; or CRESCENT_NONE. crescent_token_text returns the text of an id, which belongs
 * to the tokenizer; or null. */
int crescent_token_id(const crescent_tokenizer *tokenizer, const char *token);
const char *crescent_token_text(const crescent_tokenizer *tokenizer, int id);

/* Return the number of ids that end a text, and one of them: eos_token_id of
 * generation_config.json or config.json beside the tokenizer, or eos_token of
 * tokenizer_config.json, or <|endoftext|>. crescent_end_at returns CRESCENT_NONE for an index
 * that is out of range. */
int crescent_end_count(const crescent_tokenizer *tokenizer);
int crescent_end_at(const crescent_tokenizer *tokenizer, int index);

/* States whether encoding adds the tokens that the tokenizer puts before and after a text, such as
 * <s>. */
typedef enum { CRESCENT_PLAIN, CRESCENT_FRAMED } crescent_framing;

/* Encodes a text to ids; free *ids with crescent_free. */
int crescent_encode(crescent_tokenizer *tokenizer, const char *text, size_t length,
                    crescent_framing framing, int32_t **ids, size_t *n);

/* A text, or a pair of texts such as a question and a document, to be encoded. */
typedef struct {
    const char *text, *pair; /* pair: null for a single text */
    size_t length, pair_length;
    crescent_framing framing;
    int64_t most; /* maximum number of ids, including special tokens.  Longer texts are truncated
                   * as the tokenizer's file says; if it does not, the longer text loses its end.
                   * 0: no limit */
    int pads; /* 1: pad the ids as the tokenizer's file says */
} crescent_text;

/* The ids of a text or pair, and for each id the number of its segment, which BERT calls
 * token_type_ids.  Both arrays are one block of memory, which crescent_free(ids) frees. */
typedef struct {
    int32_t *ids, *types;
    size_t n;
    int truncated; /* 1 if a text was cut, else 0 */
} crescent_encoding;

/* Encodes a text or a pair.  Fails for a pair if the tokenizer does not define how pairs are
 * encoded. */
int crescent_encode_text(crescent_tokenizer *tokenizer, const crescent_text *text,
                         crescent_encoding *encoding);

/* Returns the maximum number of ids of a text by the tokenizer's file, including special tokens;
 * 0 if the file sets no limit. */
int64_t crescent_tokenizer_limit(const crescent_tokenizer *tokenizer);

/* States which special tokens are part of a decoded text. */
typedef enum {
    CRESCENT_SPECIALS_WITHIN, /* special tokens inside the text, but not those before and after
                               * it */
    CRESCENT_SPECIALS_ALL,
    CRESCENT_SPECIALS_NONE
} crescent_specials;

/* Decodes ids to a zero-terminated text; free *text with crescent_free.  The bytes are returned
 * unchanged, even if they are not UTF-8.  An id without a token adds nothing. */
int crescent_decode(crescent_tokenizer *tokenizer, const int32_t *ids, size_t n,
                    crescent_specials specials, char **text, size_t *length);

/* Decodes one token after another.  The pieces together are the text of crescent_decode, except
 * that with CRESCENT_SPECIALS_WITHIN the special tokens after a text are shown. */
typedef struct crescent_text_stream crescent_text_stream;

int crescent_text_stream_open(crescent_tokenizer *tokenizer, crescent_specials specials,
                              crescent_text_stream **stream);
void crescent_text_stream_close(crescent_text_stream *stream);

/* Sets *text to the text that is complete after this id, which may be empty: a character is never
 * returned in part.  The text belongs to the stream and is valid until the next call. */
int crescent_text_stream_add(crescent_text_stream *stream, int id, const char **text,
                             size_t *length);

/* Ends a stream; sets *text to the remaining bytes, such as a part of a character. */
int crescent_text_stream_end(crescent_text_stream *stream, const char **text, size_t *length);

/* ---- vectors of texts ----------------------------------------------------------------- */

/*
 * An encoder with its tokenizer, which computes one vector for a text.  The vector's bits depend
 * only on the text, not on earlier texts or the number of threads.
 *
 *     crescent_embedder *embedder;
 *     crescent_embedder_facts facts;
 *     if (crescent_embedder_open(context, "folder", NULL, NULL, NULL, &embedder))
 *         puts(crescent_error(context));
 *     crescent_embedder_get_facts(embedder, &facts);
 *     float *vector = malloc(facts.dimensions * sizeof *vector);
 *     crescent_embed(embedder, text, strlen(text), vector, NULL);
 */
typedef struct crescent_embedder crescent_embedder;

/* The result of crescent_embed for a classifier: the embedding (CRESCENT_NO_CLASSES), the logit
 * of each label, or the probability of each label.  Probabilities are the softmax of the logits,
 * or the sigmoid of each logit if there is one label or if config.json allows several labels.  A
 * reranker whose config.json has an Identity as its activation returns logits as probabilities. */
typedef enum { CRESCENT_NO_CLASSES, CRESCENT_LOGITS, CRESCENT_PROBABILITIES } crescent_classification;

/* Options; zeros are the defaults, and a null pointer stands for all zeros. */
typedef struct {
    const char *pooling; /* "cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean" or
                          * "lasttoken"; null: as the folder's modules.json says, else "mean" */
    int normalize;       /* 1: normalise vectors to length 1; 0: as modules.json says */
    int64_t most;        /* maximum number of tokens of a text, including special tokens; longer
                          * texts are truncated. 0: the limit of sentence_bert_config.json or of
                          * the tokenizer, or 512 */
    const char *role;    /* the name of a prompt in config_sentence_transformers.json, such as
                          * "query" or "document", which is put before each text; or null */
    crescent_classification classify;
} crescent_embedder_options;

/* Opens the folder of an encoder, whose script must have the option `pooling`, as
 * graphs/bert.lua does.  Cached packed weights are mapped (crescent_cache_weights).  `how` and
 * `config` may be null. */
int crescent_embedder_open(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           crescent_embedder **embedder);

/* Returns the embedder's model, for example for crescent_write_cache.  It belongs to the
 * embedder. */
crescent_model *crescent_embedder_model(crescent_embedder *embedder);
void crescent_embedder_close(crescent_embedder *embedder);

/* The properties of an embedder.  The strings belong to the embedder. */
typedef struct {
    int64_t dimensions, most; /* number of elements of a vector; maximum number of tokens of a
                               * text */
    const char *pooling;
    int normalized;
    const char *prompt; /* the prompt that is put before each text, or null */
    int labels;         /* number of labels of a classifier; 0 for other models */
    int pairs; /* 1: each text needs a second one, as a reranking decoder needs a question and a
                * document */
} crescent_embedder_facts;

int crescent_embedder_get_facts(const crescent_embedder *embedder, crescent_embedder_facts *facts);

/* Returns the name of label number `index` of a classifier; null if it is out of range. */
const char *crescent_embedder_label(const crescent_embedder *embedder, int index);

/* The number of tokens of a text, and whether the text was changed. */
typedef struct {
    size_t tokens;
    int truncated; /* 1: tokens were cut off */
    int repaired;  /* 1: bytes that are not UTF-8 became U+FFFD */
} crescent_embedded;

/* Writes the vector of a text: facts.dimensions floats.  `what` may be null. */
int crescent_embed(crescent_embedder *embedder, const char *text, size_t length, float *vector,
                   crescent_embedded *what);

/* Writes the vector of a pair of texts, such as a question and a document for a reranker. */
int crescent_embed_pair(crescent_embedder *embedder, const char *text, size_t length, const char *pair,
                        size_t pair_length, float *vector, crescent_embedded *what);

/* One of several texts to embed.  `pair` is a second text, or null. */
typedef struct {
    const char *text, *pair;
    size_t length, pair_length;
} crescent_embed_text;

/* Writes the vectors of n texts, one after another, and n items of `what` if that is not null.
 * Each thread computes one text at a time; the bits are the same as from crescent_embed. */
int crescent_embed_texts(crescent_embedder *embedder, const crescent_embed_text *texts, int n,
                         float *vectors, crescent_embedded *what);

/* ---- C source ------------------------------------------------------------------------- */

/* The kind of program: a function from inputs to outputs, or a training step from state to
 * state. */
typedef enum { CRESCENT_EMIT_RUN, CRESCENT_EMIT_STEP } crescent_emit_kind;

/* Writes standalone C: `path`, which must end in ".c", and its header; both files or neither.  Of
 * the configuration, `skip`, `max_arena`, `format`, `arithmetic`, `target` and `isa` are used.
 * `isa` is a list of the instruction sets that the C supports, "avx2,plain", which must contain
 * plain; null: all.  `report` may be null; its isa, threads and time of compiling are 0. */
int crescent_emit(const crescent_graph *graph, const crescent_config *config,
                  crescent_emit_kind kind, const char *path, crescent_report *report);

/* Where an emitted program keeps its weights: in a separate file, in its object code (the
 * assembler includes the packed file), or in its C as an array. */
typedef enum { CRESCENT_EMBED_NOT, CRESCENT_EMBED_FILE, CRESCENT_EMBED_ARRAY } crescent_embedding;

/* Options for emitting a program with a tokenizer.  Zeros are the defaults; a null pointer stands
 * for all zeros. */
typedef struct {
    const char *tokenizer; /* path of a tokenizer.json, of a folder with one, or of a GGUF file;
                            * null: the model's tokenizer */
    int ids_only;          /* 1: the program has no tokenizer: it reads and prints ids */
    const char *pack;      /* path of the file for packed weights; the program reads it instead of
                            * safetensors files.  Null: no such file */
    crescent_embedding embed; /* CRESCENT_EMBED_FILE embeds the file `pack` */
    const char *const *weights; /* safetensors files or folders to pack or embed; null: those of
                                 * the model's folder, or for a script, random weights drawn from
                                 * its seed */
    int n_weights;
} crescent_generator_source;

/*
 * Writes a standalone C program that generates text: the model, sessions, the sampler, the
 * tokenizer, and a main that generates the same text as crescent_generator.  `path`, `how` and
 * `generation` are the arguments of crescent_generator_open, for one text; the others are as in
 * crescent_emit, except that the report has no name.  Fails if the tokenizer has a part that
 * emitted C does not support; the error names the part.
 */
int crescent_emit_generator(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            const crescent_generator_source *what, const char *out,
                            crescent_report *report);

/* Writes a standalone C program that encodes texts: the model, its tokenizer, pooling, and a main
 * that prints the same vectors as crescent_embed, bit by bit; or the scores of labels, if
 * `options` request them, or if the folder has a classifier or a reranking decoder and `options`
 * request no pooling.  `path`, `how` and `options` are the arguments of crescent_embedder_open;
 * `what` gives only the weights; the others are as in crescent_emit_generator. */
int crescent_emit_embedder(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           const crescent_generator_source *what, const char *out,
                           crescent_report *report);

/* Does the same as crescent_emit, but returns two texts, to be freed with crescent_free.  The
 * source includes `header_name`. */
int crescent_emit_text(const crescent_graph *graph, const crescent_config *config,
                       crescent_emit_kind kind, const char *header_name, char **source,
                       char **header);

/* Does the same as crescent_emit_generator, but returns two texts; packed weights are still
 * written to a file. */
int crescent_emit_generator_text(crescent_context *context, const char *path,
                                 const crescent_script *how, const crescent_config *config,
                                 const crescent_generation *generation,
                                 const crescent_generator_source *what, const char *header_name,
                                 char **source, char **header);

/* Sets *text to the state of a compilation after a pass: the graph, the kernels, the plan; free
 * it with crescent_free.  `pass` may also be "script", for the graph as it was built, or "emit",
 * for the C without the runtime. */
int crescent_dump(const crescent_graph *graph, const crescent_config *config, const char *pass,
                  char **text);

void crescent_free(void *text);

/* ---- explaining ----------------------------------------------------------------------- */

/*
 * Explains how a graph is compiled: the graph after each pass, the kernels, the C of each, the
 * arena, and measurements.  docs/explain.md describes the document.
 *
 *     status = crescent_explain(graph, NULL, &e) ||
 *              crescent_explanation_text(e, NULL, CRESCENT_EXPLAIN_HTML, &text, &length);
 */
typedef struct crescent_explanation crescent_explanation;

/* Compiles a copy of a graph, and keeps the graph after each pass.  `config` has the options of
 * crescent_compile; its backend must be CRESCENT_TCC or CRESCENT_CC. */
int crescent_explain(const crescent_graph *graph, const crescent_config *config,
                     crescent_explanation **explanation);
void crescent_explanation_close(crescent_explanation *explanation);

/* Sets *model to the explanation's model, which is compiled at the first call.  Load its weights
 * before a measurement.  It belongs to the explanation. */
int crescent_explanation_model(crescent_explanation *explanation, crescent_model **model);

/* Runs the model for about `seconds`.  Measures the time of each kernel, the limits of the
 * machine, and the beginning and end of each call in one run. */
int crescent_explanation_measure(crescent_explanation *explanation, const void *const *inputs,
                                 void *const *outputs, double seconds);

/* Runs the model once, and compares what each call of a kernel stores with the interpreter in
 * double precision; elements past a length are ignored.  The model must keep its weights
 * (crescent_keep_weights). */
int crescent_explanation_check(crescent_explanation *explanation, const void *const *inputs,
                               void *const *outputs);

/* The format of the text: the document as JSON; a self-contained page that shows it; or a trace
 * of one run for Perfetto and chrome://tracing, which requires a measurement. */
typedef enum {
    CRESCENT_EXPLAIN_JSON,
    CRESCENT_EXPLAIN_HTML,
    CRESCENT_EXPLAIN_TRACE,
    CRESCENT_EXPLAIN_FORMATS
} crescent_explanation_format;

/* Sets *text to the explanation in a format; free it with crescent_free.  `against`, which may be
 * null, is a second explanation to compare with. */
int crescent_explanation_text(const crescent_explanation *explanation,
                              const crescent_explanation *against,
                              crescent_explanation_format format, char **text, size_t *length);

/* ---- passes, ops and operators of ONNX -------------------------------------------------- */

typedef struct {
    const char *name, *doc;
} crescent_pass;

/* Return the number of passes, and one pass; they are in the order in which they run.  The
 * strings are constants. */
int crescent_pass_count(void);
int crescent_pass_at(int index, crescent_pass *pass);

/* An op of the graph language.  The strings are constants. */
typedef struct {
    const char *name;
    int elementwise, reduction; /* 0 or 1: the kind of op */
    int arity;                  /* number of operands; -1: any number */
    const char *types;          /* elementwise ops and reductions: the types of operands and
                                 * result */
    const char *equation; /* elementwise ops: the C expression; others: a call in a script */
    const char *gradient; /* elementwise ops and reductions: the gradient of each operand, as in
                           * compiler/ir/gradients.def */
    const char *doc;
} crescent_op;

int crescent_op_count(void);
int crescent_op_at(int index, crescent_op *op);

/* An operator of ONNX that import can translate.  The strings are constants. */
typedef struct {
    const char *domain, *name; /* domain: "" for ai.onnx */
    int since;                 /* the first version of the domain for which this translation is
                                * valid */
    const char *meaning;       /* the translation as a formula in the script language */
} crescent_onnx_op;

int crescent_onnx_op_count(void);
int crescent_onnx_op_at(int index, crescent_onnx_op *op);

/* ---- files and memory ----------------------------------------------------------------- */

/* Opens a file for writing; it appears under its name only when it is complete. */
int crescent_file_open(crescent_context *context, const char *path, crescent_file **file);

/* Append bytes, or a whole .npy file.  If `tensor` is null, only the header of the .npy file is
 * written, and the caller must append its elements. */
int crescent_file_put(crescent_file *file, const void *bytes, size_t n);
int crescent_file_put_npy(crescent_file *file, const crescent_port *port, const void *tensor);

/* Writes all data to the disk, under a temporary name.  For a group of files, finish all of them
 * before committing the first. */
int crescent_file_finish(crescent_file *file);

/* Renames the file to its final name, which replaces an older file. */
int crescent_file_commit(crescent_file *file);

/* Closes a file, and deletes it if it was not committed. */
void crescent_file_close(crescent_file *file);

/* Reads a .npy file, which must have the port's shape, as doubles. */
int crescent_read_npy(crescent_context *context, const char *path, const crescent_port *port,
                      double *tensor);

/* ---- contents of a file --------------------------------------------------------------- */

/* The contents of a file of tensors, or of a folder of such files. */
typedef struct crescent_contents crescent_contents;

/* A tensor of a file.  Strings and shape are valid as long as the contents are open. */
typedef struct {
    const char *name; /* its name in the file; "" in a .npy file, which has only one tensor */
    const char *type; /* its type as the file calls it: "F32", "<f4", "Q8_0", "float16", ... */
    const char *file; /* the file that contains it; for a model in shards, the shard */
    int rank;
    const int64_t *shape;
    int64_t elements, bytes;
} crescent_tensor;

/* Opens a .safetensors file, the index.json of its shards, a GGUF or .npy file, a folder in
 * Hugging Face's layout, or an ONNX file, whose tensors are its initializers.  The kind of a file
 * is determined from its contents; only an ONNX file is recognised by its name, which ends in
 * .onnx.  Reads no tensors. */
int crescent_contents_open(crescent_context *context, const char *path,
                           crescent_contents **contents);
void crescent_contents_close(crescent_contents *contents);

/* Returns the kind of the file: "safetensors", "GGUF", ... */
const char *crescent_contents_kind(const crescent_contents *contents);

/* Return the number of tensors, and one tensor.  They are sorted by name, with numbers in names
 * by value. */
int crescent_contents_count(const crescent_contents *contents);
int crescent_contents_at(const crescent_contents *contents, int index, crescent_tensor *tensor);

/* Return the number of other facts in a file, and one fact as text: its metadata; for a folder,
 * its model_type. */
int crescent_fact_count(const crescent_contents *contents);
int crescent_fact_at(const crescent_contents *contents, int index, crescent_setting *fact);

/* Statistics of a tensor's elements, all 0 if it has no elements. min, max, mean and deviation
 * are taken over the finite elements. */
typedef struct {
    int64_t nans, infinities;
    double min, max, mean, deviation; /* `deviation` is the standard deviation, divided by the
                                       * number of elements */
} crescent_statistics;

/* Read a whole tensor: crescent_contents_read writes its elements to `elements`, the other
 * function computes their statistics.  They fail for a type that weights cannot have. */
int crescent_contents_read(const crescent_contents *contents, int index, double *elements);
int crescent_contents_measure(const crescent_contents *contents, int index,
                              crescent_statistics *statistics);

/* Allocates memory for a tensor, aligned to 64 bytes; free it with crescent_free.  Fails if the
 * size exceeds the machine's memory, before touching any of it.  Error messages call the memory
 * `what`. */
int crescent_memory(crescent_context *context, int64_t bytes, const char *what, void **memory);

/* Returns the time of the monotonic clock in nanoseconds, by which all times here are measured. */
int64_t crescent_clock(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
