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
 * Status.  A function that can fail returns CRESCENT_OK, CRESCENT_FAILED for what the caller, a
 * script or a file got wrong, or CRESCENT_BUG for a mistake of Crescent's own.  After a failure
 * crescent_error has one line about it.  A handle that was to be made is null then, and other
 * results are as they were.  A null argument where null is not said to be allowed is refused
 * with CRESCENT_FAILED.  Nothing here ends the process, or prints but what a script's own print
 * says, to standard error.
 *
 * Memory.  After the error "out of memory" the call's own memory may be lost; the handles it was
 * given can be closed, and no more.
 *
 * Handles are made by the functions that take a pointer to one and are closed by the caller;
 * closing null does nothing.  They may be closed in any order: each keeps what it needs.  Strings
 * that are returned live as long as the handle they were asked of, unless another life is said.
 *
 * Threads.  A context, and all handles that were made with it, are used by one thread at a time.
 * Threads that work at the same time have a context each; what belongs to different contexts is
 * independent.  Several threads may share a context if the program sees to it that no two are in
 * a call with it at once.  `threads` of crescent_config is something else: the threads that share
 * the work of one run, which a model keeps until it is closed, asleep between runs.  A process made by
 * fork has none of them, and neither runs nor closes a model of its parent's.
 *
 * Structures may grow at their end with the version: initialise them, and what is not named is 0.
 *
 * Units.  Times are nanoseconds, memory is bytes.  Tensors are row-major; an element is an
 * int32_t of type CRESCENT_I32 and a float of the others, 0 or 1 of CRESCENT_BOOL.  Tensors that
 * the caller hands in are copied or only read during the call.
 */
#ifndef CRESCENT_H
#define CRESCENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* These names alone are seen from outside a shared library. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define CRESCENT_VERSION "0.1.0"

enum {
    CRESCENT_OK = 0,
    CRESCENT_FAILED = -1,
    CRESCENT_BUG = -2,
    CRESCENT_STOPPED = 1, /* from crescent_trainer_validate: the caller asked to stop; from
                             functions that return the next item: there is none */
    CRESCENT_MAX_RANK = 8,
    CRESCENT_NONE = -1 /* in place of an index: no such item */
};

/* ---- context -------------------------------------------------------------------------- */

/* A context holds the last error, which threads must not share.  All other handles are made with
 * a context. */
typedef struct crescent_context crescent_context;

/* Returns a new context, or null if memory is insufficient. */
crescent_context *crescent_context_new(void);
/* Frees a context, once the last handle that was made with it is closed too. */
void crescent_context_free(crescent_context *context);

/*
 * Returns the message of the last failure in this context, one line without control characters:
 * "FILE[:LINE]: what was found, what was expected"; "" before the first.  It is valid until the
 * next failure.  For a null context: the last failure, on this thread, of a call whose handle
 * was null.
 */
const char *crescent_error(const crescent_context *context);

/* Joins the processes that mpirun (or srun) has started with this one, over MPI: models that are
 * compiled with the context from then on are cut for these *ranks*, and all ranks make the same
 * calls, in the same order.  Each has whole inputs and outputs, and the same bits as a single one.
 * A process that no launcher has started is the only rank.  The models of trainers are not cut:
 * ranks share the micro-batches of a step.  Fails where the shared object for MPI is missing (`make
 * MPI=1`).  Joined once a process; the ranks part when the context is freed. */
int crescent_join(crescent_context *context);

typedef struct {
    int rank, count;
    int64_t sent; /* bytes that this rank has sent to others */
    int differ;   /* 1: a call has failed because files or inputs of ranks differ */
} crescent_ranks;

/* Returns the ranks of a context; rank 0 of 1 before crescent_join. */
crescent_ranks crescent_ranks_of(const crescent_context *context);

/* Copies `bytes` bytes at `data` from rank 0 to `data` of all other ranks: for example, text that
 * rank 0 has read from standard input.  All ranks call it. */
int crescent_ranks_share(const crescent_context *context, void *data, size_t bytes);

/* True if `flag` is true on any rank: for example, that a signal asks it to stop.  All ranks call it. */
int crescent_ranks_any(const crescent_context *context, int flag);

/* Returns the first rank whose word differs from that of rank 0, or -1 if all are equal.  All ranks call it. */
int crescent_ranks_compare(const crescent_context *context, uint64_t word);

/* Fails if a file, or the model in a folder, differs from that of rank 0.  All ranks call it, each with its own path.
 * Reads 17 MiB of a file at most.  A model's own files, and those of weights, are compared when they are opened. */
int crescent_ranks_compare_files(crescent_context *context, const char *path);

/* Ends all ranks, with an exit status, because this one has failed.  The caller prints the error
 * before that, and calls crescent_ranks_wait before it prints: of several ranks that fail alike
 * only the first one does.  A null context stands for one that has not joined the others: they end,
 * too, as a signal ends this process. */
void crescent_ranks_abort(const crescent_context *context, int status);
void crescent_ranks_wait(const crescent_context *context);

/* Records `line` as the last failure of the context, for libraries built on this one, such as
 * crescent_explain and crescent_autopsy_open.  Control characters are escaped.  Returns
 * CRESCENT_FAILED, or CRESCENT_BUG if the line begins with "bug: ", which marks a mistake of the
 * program. */
int crescent_fail(crescent_context *context, const char *line);

/* Returns a note of the scripts that were run in this context, one line: a key of a config.json
 * that was ignored, or a parameter name that was declared twice in a scope.  Equal notes are
 * kept once, and at most eight notes.  Returns null for an index past the last note. */
const char *crescent_note_at(const crescent_context *context, int index);

/* Returns CRESCENT_VERSION of the library that is linked. */
const char *crescent_version(void);

/* The library's build, and the instruction set it uses on this machine.  The strings are
 * constants. */
typedef struct {
    const char *version;
    const char *lua; /* "Lua 5.4.4", "LuaJIT 2.1.0-beta3" */
    int tinycc;      /* 927 is TinyCC 0.9.27 */
    const char *isa; /* the best instruction set that the runtime and the machine both have */
} crescent_build;

/* Fills in facts about the build.  The first call takes a millisecond, because it asks TinyCC
 * for its version. */
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
    const crescent_setting *settings; /* the script must declare them; the last setting of a key
                                         counts */
    int n_settings;
    const crescent_setting *defaults; /* for options that the script declares and `settings` does
                                       * not set */
    int n_defaults;
    int64_t seed; /* not 0: the value of the option `seed`, unless a setting or default gives one */
    const char *entry; /* the only entry to build, of a script that returns several; "": the
                          script's single entry; null: all entries */
    const char *config; /* a file of values for the script's options: JSON if its name ends in
                           .json, config.json if it is a folder, else Lua.  Settings override it.
                           Null: none */
    const char *script; /* for a folder or a GGUF file: the script to run in place of the one for
                           its model_type; or null */
    const crescent_setting *inputs; /* for an ONNX file: files of inputs.  Their shapes give the
                                       symbolic sizes; their elements are used where a shape
                                       depends on them */
    int n_inputs;
    const crescent_setting *lengths; /* for an ONNX file: symbolic sizes that stay lengths, known
                                        when the model runs, with their bounds: {"seq", "128"} */
    int n_lengths;
    const char *const *ignored; /* keys of the config file to ignore; the file must have them */
    int n_ignored;
} crescent_script;

/*
 * Runs the script at `path` in its sandbox.  `path` may also be a folder in Hugging Face's layout.
 * Then model_type of its config.json chooses a built-in script, or MODEL_TYPE.lua in the folder or
 * on $CRESCENT_PATH, and the other keys are values for the script's options, unless `how` names
 * another file of values.  `path` may be a GGUF file, whose metadata are used in the same way.  Or
 * it may be an ONNX file, which is translated into a script (docs/onnx.md): settings then give
 * symbolic sizes, and elements of inputs that have to be known, "2,3".
 */
int crescent_graph_open(crescent_context *context, const char *path, const crescent_script *how,
                        crescent_graph **graph);

/* Does the same as crescent_graph_open for a script in memory.  Messages show `name` in place of
 * the path, and modules are searched in the folder of `name`. */
int crescent_graph_open_text(crescent_context *context, const char *name, const char *text,
                             size_t length, const crescent_script *how, crescent_graph **graph);

/* Writes the script that an ONNX file is translated into, and its weights as safetensors. */
int crescent_import(crescent_context *context, const char *path, const crescent_script *how,
                    const char *script, const char *weights);

/* Makes an independent copy of a graph, with the outputs and gradients added so far. */
int crescent_graph_copy(const crescent_graph *graph, crescent_graph **copy);

void crescent_graph_close(crescent_graph *graph);

/* Returns the context that a graph was made with; null for null. */
crescent_context *crescent_graph_context(const crescent_graph *graph);

/* The path of the script, or the name of one in memory; and the folder, or the GGUF or ONNX file,
 * that the graph was opened from, null if that was a script. */
const char *crescent_graph_script(const crescent_graph *graph);
const char *crescent_graph_folder(const crescent_graph *graph);

/* Returns the text of a source file of nodes (crescent_node.file): the script, or a module that
 * it requires, built-in ones included.  Free it with crescent_free.  Sets it to null, without a
 * failure, if the file cannot be read. */
int crescent_graph_source(const crescent_graph *graph, const char *file, char **text);

/* Returns the model's name, which is also its name in generated code; null for null. */
const char *crescent_graph_name(const crescent_graph *graph);

/* Returns how long the script ran. */
int64_t crescent_graph_time(const crescent_graph *graph);

/* The options that the script declared, with their values, in order of their names. */
int crescent_graph_option_count(const crescent_graph *graph);
int crescent_graph_option_at(const crescent_graph *graph, int index, crescent_setting *option);

/* The entries, in order of their names.  There are none if the script returned outputs, or if
 * one entry was chosen.  A run of a model with several entries runs all of them, and the name of
 * an output begins with its entry, "decode.y". crescent_graph_entry_name returns null for an
 * index that is out of range. */
int crescent_graph_entry_count(const crescent_graph *graph);
const char *crescent_graph_entry_name(const crescent_graph *graph, int index);

/* Makes the value that the script tapped under this name an output.  Has no effect if it already
 * is one.  `asked` is how an error names the caller's request ("--output"), or null. */
int crescent_graph_tap(crescent_graph *graph, const char *name, const char *asked);

/* Returns the name of a tapped value, in the order of the graph; null past the last one. */
const char *crescent_graph_tap_at(const crescent_graph *graph, int index);

/*
 * Adds gradients of L with respect to every parameter and every f32 input, as outputs that follow
 * the existing ones (crescent_port.of names the tensor).  L is the sum of the script's f32 outputs,
 * each multiplied by its cotangent.  A cotangent is 1, or a new input for each output or tapped
 * value named in `cotangents` (crescent_port.of of that input is the name).  `cotangents` may be
 * null if n is 0.  May be called once for a graph.
 */
int crescent_graph_gradients(crescent_graph *graph, const char *const *cotangents, int n);

/* Options for a graph that decodes incrementally: it takes the next tokens of a text and keeps
 * what it needs of earlier tokens in states. */
typedef struct {
    int64_t chunk; /* the most tokens of one call: 1 to the context */
    int last_only; /* 1: compute the logits of the last token of a call only; 0: of all tokens */
} crescent_incremental;

/*
 * Makes a model of whole sequences incremental.  The i32 input "ids" [batch, context] becomes the
 * next n tokens, and n becomes an input from 1 to the chunk.  The output "logits", or the only
 * output, becomes [batch, n, ...] or, with last_only, [batch, 1, ...].  Values of earlier tokens
 * that later ones read, such as keys and values, become states; so does "at", the number of earlier
 * tokens.  The results have the same bits as a run of the whole sequence.  Fails if a token reads
 * later tokens, or if there are other inputs.  Other outputs are dropped.  If batch or context is a
 * length, it becomes 1 or the bound.
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

/* Returns "tcc" and so on; null if the number is not a backend. */
const char *crescent_backend_name(crescent_backend backend);

/* Options for compiling a graph.  Zeros are the defaults; a null pointer stands for all zeros. */
typedef struct {
    crescent_backend backend;
    int threads;             /* 1 to 256; 0: one */
    const char *isa;         /* "amx", "vnni", "avx512", "avx2", "neon", "plain"; null: the best
                                that the machine has */
    const char *const *skip; /* passes to leave out */
    int n_skip;
    int64_t max_arena; /* limit of the arena in bytes: values are recomputed rather than kept;
                        * 0: no limit */
    /* the formats of weights: rules separated by commas, NAME for all parameters or GLOB=NAME
     * for parameters whose names match.  The last match counts.  Only weights that are read by
     * nothing but products or gathers of rows can have a format other than f32; other weights
     * stay f32.  A weight without a rule is f32; of a GGUF file it has the format of its tensor,
     * unless there are gradients.  Null: no rules.  Formats other than f32 are refused with
     * gradients and in training */
    const char *format;
    const char *arithmetic; /* the arithmetic of products by weights: rules as in `format`; null:
                               f32. int8 and bf16 round the rows of the left operand; int8 is for
                               weights in q8 and q4, bf16 for weights in bf16.  Other products
                               use f32.  A rule that no weight can follow is an error */
    const char *target; /* the machine that sizes of tiles are chosen for: a name of
                         * crescent_target_at, or a file of sizes.  Null: "host", but "generic" in
                         * functions that emit or print.  No bit of a result depends on it. */
    int ranks; /* for functions that emit or print: the number of ranks that the model is split for, 0 for one;
                * crescent_dump shows the first of them.  Functions that run a model split it for the ranks of
                * crescent_join. */
} crescent_config;

/* A machine that loops can be tiled for. */
typedef struct {
    const char *name, *about;
} crescent_target;

/* Returns the target with an index, counted from 0; CRESCENT_FAILED past the last one. */
int crescent_target_at(int index, crescent_target *target);

/* Returns the sizes of a target as the text of a file for crescent_config.target: `name = value`
 * lines.  To be freed with crescent_free. */
int crescent_target_text(crescent_context *context, const char *name, char **text);

/* Compiles a graph without changing it; it may be compiled again. */
int crescent_compile(const crescent_graph *graph, const crescent_config *config,
                     crescent_model **model);

/* Runs a script, or the script of a folder, and compiles its graph. */
int crescent_open(crescent_context *context, const char *path, const crescent_script *how,
                  const crescent_config *config, crescent_model **model);

void crescent_close(crescent_model *model);

/* ---- ports ---------------------------------------------------------------------------- */

typedef enum { CRESCENT_F32, CRESCENT_I32, CRESCENT_BOOL } crescent_type;

typedef enum { CRESCENT_PARAM, CRESCENT_INPUT, CRESCENT_OUTPUT, CRESCENT_STATE } crescent_port_kind;

/* A tensor that a graph or a model takes or returns: an input, parameter, state or output. */
typedef struct {
    const char *name;
    const char *of; /* of a gradient: the parameter or input that the loss is differentiated by;
                       of a cotangent: the value that it multiplies; else null */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
    int64_t ids; /* inputs of a model: if not 0, the elements are indices of a table, from 0 to
                    ids - 1 */
    int lengths[CRESCENT_MAX_RANK]; /* inputs and outputs of a model, by axis: 1 + the number of
                                       the input that holds the axis's length, whose bound is in
                                       `shape`; 0: a fixed size. An input of rank 1 holds the
                                       length of each row of a batch */
    const char *format; /* parameters of a model: its format in memory; parameters of a graph
                           from a GGUF file: the format of its tensor; others: null */
} crescent_port;

/* Ports are numbered in the order in which the script made them; outputs are sorted by name, and
 * outputs that crescent_graph_tap and crescent_graph_gradients add follow.  A graph and a model
 * compiled from it have the same ports. */
int crescent_graph_port_count(const crescent_graph *graph, crescent_port_kind kind);
int crescent_graph_port_at(const crescent_graph *graph, crescent_port_kind kind, int index,
                           crescent_port *port);
int crescent_port_count(const crescent_model *model, crescent_port_kind kind);
int crescent_port_at(const crescent_model *model, crescent_port_kind kind, int index,
                     crescent_port *port);

/* Returns the number of the port with a name, or CRESCENT_NONE. */
int crescent_port_find(const crescent_model *model, crescent_port_kind kind, const char *name);

/* Sets *index to the number of the input with a name, or to CRESCENT_NONE if it is an input of
 * an ONNX file whose elements were given when the file was opened (crescent_script.inputs).
 * Fails if no input has the name, and suggests a similar one; also if it is a cotangent.
 * `asked` names the caller's option in the error ("--input"), or is null. */
int crescent_input_find(const crescent_model *model, const char *name, const char *asked,
                        int *index);

/* Returns the number of elements of a port's tensor. */
int64_t crescent_port_elements(const crescent_port *port);

/* Returns "f32" and so on; null if the number is not a type. */
const char *crescent_type_name(crescent_type type);

/* Writes a shape or an index as text, "[1, 128, 768]", cut to `size` bytes; returns buf. */
char *crescent_shape_text(char *buf, size_t size, int rank, const int64_t *shape);

/* ---- weights -------------------------------------------------------------------------- */

/* Says if files of weights may hold tensors that the model does not have. */
typedef enum { CRESCENT_ANY_TENSORS, CRESCENT_MODEL_TENSORS_ONLY } crescent_surplus_rule;

/* Tensors that files of weights contain and the model does not use. */
typedef struct {
    int count;
    char name[160];   /* name of the first one, without control characters */
    const char *file; /* the file that contains it: one of the caller's paths */
} crescent_surplus;

/* Reads every parameter by its name from safetensors files, folders of them, and GGUF files.  If
 * several files have a tensor of that name, the last file counts.  Converts F16, BF16 and F64,
 * and in GGUF files blocks of Q8_0, Q4_0 and Q4_1.  `surplus` may be null.  A failure leaves the
 * model without weights.
 *
 * A folder has model.safetensors, or shards that model.safetensors.index.json lists.  For a model
 * that was opened from a folder, tensors are also found whose names lack the common prefix of
 * the parameters' names ("transformer."), or have the model_type and a dot in front of
 * them; an output head that is tied to the table of embeddings may be stored in its place; and
 * buffers are not counted as surplus. */
int crescent_load_weights(crescent_model *model, const char *const *paths, int n,
                          crescent_surplus_rule rule, crescent_surplus *surplus);

/* Packed weights may be kept in files of $XDG_CACHE_HOME/crescent, or $HOME/.cache/crescent, which
 * take at most `bytes` in all; 0, as a context begins, for none.  From then on
 * crescent_load_weights maps such a file where one fits the model, and the files of weights have
 * the size and the times that they had: they are opened, but their weights are not read.  Processes
 * share the pages of the file.  crescent_tokenizer_open does the same with the tables of a large
 * tokenizer.json, and writes them if they are not kept yet.
 *
 * crescent_uncached_weights returns the bytes of weights that were loaded and are not kept yet, and
 * 0 if they are, or cannot be: then crescent_write_cache does nothing, and *written, which may be
 * null, is 0.  Else it writes them, removes the files that were used longest ago where there is no
 * room, and sets *written to the size of the file.  It is an error if the cache, or a quarter of
 * the disk's free space, is smaller, a file of weights has changed, the folder cannot be written
 * to, or another process is writing to it. */
int crescent_cache_weights(crescent_context *context, int64_t bytes);
int64_t crescent_uncached_weights(const crescent_model *model);
int64_t crescent_cached_weights(const crescent_model *model); /* bytes of weights that a file keeps and the model has mapped */
int crescent_write_cache(crescent_model *model, int64_t *written);

/* Loads weights from one safetensors or GGUF file in memory, which is read only during the call.
 * Messages show `name` in place of a path. */
int crescent_load_weights_bytes(crescent_model *model, const char *name, const void *bytes,
                                size_t length, crescent_surplus_rule rule,
                                crescent_surplus *surplus);

/* Returns the folder, or the GGUF or ONNX file, that the model was opened from, for
 * crescent_load_weights; null if the model was opened from a script.  The weights of an ONNX file
 * can only be loaded from that path; the file must not have changed since. */
const char *crescent_weights_path(const crescent_model *model);

/* Sets every parameter to random numbers, from the distributions with which PyTorch initialises its
 * layers.  The numbers of a tensor depend only on the seed and on its name. */
int crescent_draw_weights(crescent_model *model, int64_t seed);

/* Sets parameter number `index` to a copy of `tensor`. */
int crescent_set_weight(crescent_model *model, int index, const float *tensor);

/* Makes the model keep every parameter that is set from now on in its original layout, so that
 * it can be read back.  Call it before setting parameters.  A trainer's model always does this. */
int crescent_keep_weights(crescent_model *model);

/* Copies a parameter that is kept. */
int crescent_get_weight(const crescent_model *model, int index, float *tensor);

/* Writes all parameters, which are kept, as a safetensors file, whole or not at all. */
int crescent_save_weights(const crescent_model *model, const char *path);

/* ---- runs ----------------------------------------------------------------------------- */

/* An input drawn from the seed: as the script says that it begins, else standard normal, or
 * uniform ids; an i32 that an offset of rows is made of is 0. */
int crescent_draw_input(const crescent_model *model, int index, int64_t seed, void *tensor);

/* An input from a .npy file of its shape. */
int crescent_read_input(const crescent_model *model, int index, const char *path, void *tensor);

/* A .npy file for an input. */
typedef struct {
    const char *name, *path;
} crescent_input_file;

/* Reads inputs from files into tensors in the order of the ports.  Inputs without a file keep
 * their values; if several files name one input, the last one is read.  An array may be shorter
 * than its tensor along an axis that is a length: the function sets the length's input to the
 * size of the array.  It fails if two arrays give one length different sizes. */
int crescent_read_inputs(const crescent_model *model, const crescent_input_file *files, int n,
                         void *const *tensors);

/* A tensor with lengths is laid out for their bounds. crescent_sized_port returns an input or
 * output with its sizes in a run with these inputs; only inputs that are lengths are read. Where
 * rows of a batch have lengths of their own, the size is that of the longest. */
int crescent_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                        const void *const *inputs, crescent_port *port);

/* Copies the elements that `sized` counts from a tensor laid out for the bounds in `port` into a
 * dense array; crescent_unpack copies a dense array into such a tensor.  An element has `width`
 * bytes: 4, or 8 for doubles.  Source and destination may be the same.  Fails if an argument is
 * null, the width is another one, or a size exceeds the shape; the error is this thread's. */
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
 * of the model's ports; tensors of other entries may be null. */
int crescent_run_entry(crescent_model *model, const char *entry, const void *const *inputs,
                       void *const *outputs);

/* Runs the whole model, and writes into kernel_ns the time that each kernel took, the sum over
 * its calls (by kernel, see crescent_kernel_at): for backends CRESCENT_TCC and CRESCENT_CC. */
int crescent_run_timed(crescent_model *model, const void *const *inputs, void *const *outputs,
                       double *kernel_ns);

/* When a call of a kernel began and ended (crescent_clock). */
typedef struct {
    int64_t begin_ns, end_ns;
} crescent_call_time;

/* Runs the whole model, and writes the time of each call of a kernel, in the order of the run:
 * crescent_report.n_calls times. */
int crescent_run_traced(crescent_model *model, const void *const *inputs, void *const *outputs,
                        crescent_call_time *times);

/* Copy state number `index` out and in, as int32_t for i32, else as float.  States are zero
 * before the first run; crescent_reset_states sets all of them to zero. */
int crescent_get_state(const crescent_model *model, int index, void *tensor);
int crescent_set_state(crescent_model *model, int index, const void *tensor);
int crescent_reset_states(crescent_model *model);

/* For the interpreter, returns the elements of an output of the last run before they were
 * rounded, valid until the next run.  Null for other backends. */
const double *crescent_exact_output(const crescent_model *model, int index);

/* ---- gradients ------------------------------------------------------------------------ */

/* A file that is being written; see below. */
typedef struct crescent_file crescent_file;

/* Puts the gradients among outputs that a run filled, as a safetensors file under the names of
 * their parameters and inputs. */
int crescent_put_gradients(const crescent_model *model, void *const *outputs, crescent_file *file);

/* Reads a file of gradients: gradient number i of the outputs into expected[i], as doubles.
 * Where expected[i] is null nothing is read. */
int crescent_read_gradients(const crescent_model *model, const char *path, double *const *expected);

/* ---- reports -------------------------------------------------------------------------- */

/* A report on a compiled model.  Strings live as long as the model. */
typedef struct {
    const char *name; /* the model's */
    crescent_backend backend;
    const char *isa; /* instruction set of the functions that the kernels call */
    int threads;
    int compiled; /* 0: the interpreter runs the graph, and all below is 0 */
    int64_t passes_ns, emit_ns, compile_ns;
    size_t text_bytes;      /* of C, without the runtime */
    int ops;                /* arithmetic ops of the graph: kernels if nothing were fused */
    int n_kernels, n_calls; /* compiled kernels, and calls of kernels in a run */
    int n_products, n_rounded; /* kernels that multiply by packed weights; of those, in another
                                * arithmetic than f32 */
    int64_t weights_bytes, arena_bytes;
    int64_t scratch_bytes;     /* a thread */
    int64_t arena_bytes_least; /* a lower bound of the arena of any plan: the most bytes that are
                                  live at once */
    int64_t activation_bytes;  /* bytes of the arena that are kept for the backward pass; -1:
                                  there is no backward pass */
    int64_t parameter_bytes;   /* bytes of the parameters that a run reads */
    int64_t border_bytes;      /* of inputs and outputs */
    double flops;              /* floating-point operations of a run, each value computed once */
    double flops_again;        /* additional operations of values that are recomputed because of
                                  max_arena */
    int calls_again;           /* additional calls of kernels that recompute */
} crescent_report;

int crescent_report_of(const crescent_model *model, crescent_report *report);

/* A kernel that was compiled; numbers are of one call. */
typedef struct {
    const char *name;  /* its function in C */
    const char *scope; /* the part of the model, "attn.c_attn" */
    const char *where; /* the line of the script, "gpt2_block.lua:12" */
    int calls;         /* in a run */
    double flops, bytes_read, bytes_written;
    double bytes_weights; /* of bytes_read, the bytes of parameters */
    double bytes_to_l1;   /* bytes that its loops bring into the first-level cache, by a model of
                             the target's caches ... */
    double bytes_to_l2;   /* ... of these, from beyond the second-level cache */
} crescent_kernel;

/* Kernels are numbered from 0 to crescent_report.n_kernels - 1. */
int crescent_kernel_at(const crescent_model *model, int index, crescent_kernel *kernel);

/* ---- limits of the machine ------------------------------------------------------------- */

/* Measures the machine's limits on as many threads as a model has. */
typedef struct crescent_machine crescent_machine;

/* Reserves addresses for several times the size of the caches; only memory that
 * crescent_machine_read reads is touched.  Must not run at the same time as the model. */
int crescent_machine_open(crescent_model *model, crescent_machine **machine);
void crescent_machine_close(crescent_machine *machine);

/* Returns floating-point operations per nanosecond (GFLOP/s), with the widest fused
 * multiply-add. */
double crescent_machine_flops(const crescent_machine *machine);

/* Returns the rate of products in an arithmetic, in operations per nanosecond (GOP/s), two for a
 * multiplication and its addition: "int8" by the instruction that the model's instruction set
 * has for it, "bf16" by the instructions for tiles if it has some, else, as "f32", by the widest
 * fused multiply-add.  Returns 0 for another name. */
double crescent_machine_products(const crescent_machine *machine, const char *arithmetic);

/* Returns the bandwidth in bytes per nanosecond (GB/s) of threads that read `bytes` bytes
 * repeatedly, each thread its share: from the cache that holds them, or from memory.  0 stands for
 * a size that no cache holds. */
double crescent_machine_read(crescent_machine *machine, int64_t bytes);

/* Returns the bandwidth of reading the first `bytes` bytes of the model's weights in place, without
 * allocating memory; of all weights if `bytes` is 0 or exceeds them.  Returns 0 for a model without
 * weights. */
double crescent_machine_read_weights(const crescent_machine *machine, int64_t bytes);

/* ---- comparing ------------------------------------------------------------------------ */

/* An element passes if it differs from the expected one by at most atol + rtol * |expected| and,
 * where max_ulp is not negative, by at most so many floats.  If max_ulp is given and both
 * tolerances are 0, the ulps alone decide. */
typedef struct {
    double atol, rtol;
    int64_t max_ulp; /* negative: any */
} crescent_tolerance;

/* The errors of results against expected values.  Two NaN agree, two infinities of one sign agree,
 * and a number beyond the range of float agrees with the infinity that it rounds to.  An error
 * between an infinity and a number is infinite; one between a NaN and a number is NaN. */
typedef struct {
    double max_abs, max_rel; /* rel: by the element's own expected value */
    double max_ulp;          /* in units of the last place of the larger of the expected value
                                and the root mean square of the array */
    int64_t max_ulp_each;    /* the number of floats from one value to the other; INT64_MAX if
                                one is not finite */
    int64_t worst;           /* the element that fails the most, else differs the most; or -1 */
    double got, want;        /* there */
    int64_t failures, nans;  /* elements that fail; those where one only is NaN */
} crescent_difference;

/* Compares n elements. */
int crescent_compare(const double *got, const double *want, int64_t n,
                     const crescent_tolerance *tolerance, crescent_difference *difference);

/* 1 if two arrays of floats have the same bits, where all NaN count as one value; else 0. */
int crescent_same_bits(const float *a, const float *b, int64_t n);

/* ---- inspecting ----------------------------------------------------------------------- */

/*
 * What is inside a compilation: the graph after each pass, kernels and their calls, the C of each, the
 * arena.  crescent_explain is a client of these functions, and of those for replaying a run.
 *
 *     status = crescent_inspect(graph, NULL, &inspection);
 *     for (int i = 0; !status && i < crescent_call_count(inspection); i++)
 *         status = crescent_call_at(inspection, i, &call);
 *
 * Passes, nodes, kernels and calls are numbered from 0; a function fails if the number is out of range.
 * Strings and arrays belong to the inspection and are valid until it is closed.  Strings, shapes and indices
 * of the nodes of an inspection are interned: equal ones have the same address.
 */
typedef struct crescent_inspection crescent_inspection;

/* Compiles a copy of a graph as far as C text and keeps the copy after each pass.  `config` has the
 * options of crescent_compile; its backend must be CRESCENT_TCC or CRESCENT_CC. */
int crescent_inspect(const crescent_graph *graph, const crescent_config *config,
                     crescent_inspection **inspection);
void crescent_inspection_close(crescent_inspection *inspection);

/* These return the configuration, with its defaults filled in; the name of the target; and the
 * report, in which times, backend, isa and threads are 0, because nothing has run. */
int crescent_inspection_config(const crescent_inspection *inspection, crescent_config *config);
const char *crescent_inspection_target(const crescent_inspection *inspection);
int crescent_inspection_report(const crescent_inspection *inspection, crescent_report *report);

/* A pass, and the sizes of its result. */
typedef struct {
    const char *name, *doc; /* a pass; or "script", the first item, or "emit", the last one */
    int64_t ns;             /* the time of the pass and of the verification after it */
    int graph;              /* the number of its graph; stages that do not change the graph have the same one */
    int kernels, functions, loops; /* -1: there are none yet */
    int64_t weights_bytes, arena_bytes, arena_bytes_least; /* 0, as the next two: not yet */
    int steps, statements; /* of the program */
} crescent_stage;

int crescent_stage_count(const crescent_inspection *inspection);
int crescent_stage_at(const crescent_inspection *inspection, int index, crescent_stage *stage);

/* A node of a graph: the result of an op. */
typedef struct {
    int op; /* crescent_op_at */
    crescent_type type;
    int rank;
    const int64_t *shape;
    const int64_t *index; /* permute: the axes, slice: the first element; others: zeros */
    int axis;             /* the axis, from 0 on, of an op that works along one; 0 for other ops */
    double value;         /* const */
    const char *name;     /* param, input, state; of a literal the name of its elements; others: null */
    const char *tap;      /* the name that the script gave it by tap, or null */
    const char *scope;    /* "h.3.attn", "" at the top */
    const char *file;     /* the line of the script that it comes from; line 0: none */
    int line;
    const char *library; /* the file of the library code that made it, or null */
    int library_line;
    int backward; /* 1: of the backward pass */
    int n_operands;
    const int *operands; /* numbers of nodes, which are less than its own */
} crescent_node;

/* Graphs are numbered as crescent_stage.graph says.  The last one is what kernels are made of. */
int crescent_node_count(const crescent_inspection *inspection, int graph);
int crescent_node_at(const crescent_inspection *inspection, int graph, int index,
                     crescent_node *node);

/* An output of the last graph. */
typedef struct {
    const char *name; /* as in crescent_port; for a state the name of the state */
    const char *of;   /* of a gradient: the tensor that the loss is differentiated by; else null */
    int node;
    int state; /* 1: the value that the state of this name has after a run */
} crescent_output;

int crescent_output_count(const crescent_inspection *inspection);
int crescent_output_at(const crescent_inspection *inspection, int index, crescent_output *output);

/* Further properties of a kernel. */
typedef struct {
    const char *title; /* the end of its name */
    const char *kind;  /* "gemm", "map" and so on */
    const char *about; /* the comment in C */
    int first_call;
    int64_t scratch_bytes; /* a thread */
} crescent_kernel_detail;

/* Kernels are numbered as in crescent_kernel_at, from 0 to crescent_report.n_kernels - 1. */
int crescent_inspection_kernel_at(const crescent_inspection *inspection, int index,
                                  crescent_kernel *kernel, crescent_kernel_detail *detail);

/* A call of a kernel in a run.  It loads stored nodes, and computes nodes from them. */
typedef struct {
    int kernel;
    int root, main; /* the node that it computes, and the node with most of the work */
    int buffer;     /* the node whose memory it writes: the root, or a concat or write that contains it */
    int n_stores;   /* the number of nodes that it stores: the buffer, then further nodes */
    const int *stores;
    int n_reads; /* the number of stored nodes and parameters that it reads */
    const int *reads;
    int again; /* 1: it recomputes a value (crescent_config.max_arena) */
} crescent_call;

int crescent_call_count(const crescent_inspection *inspection);
int crescent_call_at(const crescent_inspection *inspection, int index, crescent_call *call);

/* A loop over layers: calls first to first + period * count - 1.  Iteration i has `period` calls,
 * for layer start + i * direction. */
typedef struct {
    int first, period, count;
    int start, direction;
} crescent_loop;

int crescent_loop_count(const crescent_inspection *inspection);
int crescent_loop_at(const crescent_inspection *inspection, int index, crescent_loop *loop);

/* Returns the emitted C, without the runtime. crescent_lines_at maps ranges of its lines to
 * kernels, calls and nodes. */
const char *crescent_inspection_c(const crescent_inspection *inspection, size_t *length);

typedef enum {
    CRESCENT_LINES_KERNEL, /* a kernel's function */
    CRESCENT_LINES_CALL,   /* a call of a kernel; a call in a loop stands for all iterations */
    CRESCENT_LINES_NODE    /* a call of the runtime for a node, of the first call of a kernel */
} crescent_lines_kind;

/* Lines `first` to `last`, which count from 1. */
typedef struct {
    crescent_lines_kind kind;
    int first, last;
    int number; /* number of the kernel, or of the node */
} crescent_lines;

/* Sorted by kind, then by their place in the text. */
int crescent_lines_count(const crescent_inspection *inspection);
int crescent_lines_at(const crescent_inspection *inspection, int index, crescent_lines *lines);

/* A value in the arena. */
typedef struct {
    int node;
    int64_t offset, bytes;
    int first_call, last_call; /* which store and read it */
} crescent_live_range;

int crescent_live_range_count(const crescent_inspection *inspection);
int crescent_live_range_at(const crescent_inspection *inspection, int index,
                           crescent_live_range *range);

/* ---- replaying ------------------------------------------------------------------------ */

/*
 * The values inside a run.  The compiled program runs once, with the same bits as any run, and each value is
 * copied when the call that stores it ends.  Then the interpreter computes the nodes of the last graph one by
 * one, in double precision.  The autopsy and crescent_explanation_check are clients of these functions.
 *
 *     status = crescent_replay_open(graph, NULL, &replay) ||
 *              crescent_keep_weights(crescent_replay_model(replay)) ||
 *              crescent_draw_weights(crescent_replay_model(replay), 0) ||
 *              crescent_replay_run(replay, CRESCENT_REPLAY_KERNELS, inputs, outputs);
 *     while (!status && !(status = crescent_replay_next(replay, &value)))
 *         ...
 */
typedef struct crescent_replay crescent_replay;

/* Compiles a graph, without changing it, for CRESCENT_TCC or CRESCENT_CC. */
int crescent_replay_open(const crescent_graph *graph, const crescent_config *config,
                         crescent_replay **replay);
void crescent_replay_close(crescent_replay *replay);

/* The model, which belongs to the replay and is closed with it.  Its weights have to be kept
 * (crescent_keep_weights). */
crescent_model *crescent_replay_model(const crescent_replay *replay);

typedef enum {
    CRESCENT_REPLAY_KERNELS, /* weights in their formats, products in their arithmetics; all values */
    CRESCENT_REPLAY_MODEL    /* weights as they were given, products in f32; exact values only */
} crescent_replay_kind;

/* Does one run, as crescent_run does.  The inputs must not change until the last node has been
 * read. */
int crescent_replay_run(crescent_replay *replay, crescent_replay_kind kind,
                        const void *const *inputs, void *const *outputs);

/* A tensor of doubles: the element at an index is data[sum of index[i] * stride[i]]. */
typedef struct {
    const double *data; /* null: it is not computed */
    int64_t stride[CRESCENT_MAX_RANK];
} crescent_values;

/* A node of a run, in the sizes that its lengths have. */
typedef struct {
    crescent_node node;
    int number;
    int is_output;      /* 1: an output, or the next value of a state */
    int again;          /* 1: the same node as before it; another call stores it, too */
    int call;           /* the call that completes it, in the order of a run; CRESCENT_NONE: no
                           kernel stores it */
    int result;         /* which of the results of the call: 0: the one in crescent_call.buffer */
    const char *kernel; /* the C function of the call, or null */
    const void *stored; /* row-major elements: int32_t for CRESCENT_I32, else float; null if call
                           is CRESCENT_NONE */
    crescent_values exact; /* all in double precision */
    crescent_values local; /* computed from stored operands, or from the local values of operands that are
                            * not stored; infinite if out of the range of float */
    crescent_values bound; /* a bound on the error of `local` that rounding to f32 causes; NaN:
                              not known */
} crescent_replayed;

/* Returns the next node of the last run, in the order of the graph: operands before results.
 * Skips nodes that neither an output nor a stored value needs.  Returns CRESCENT_STOPPED past
 * the last one.  Strings are valid until the next run, arrays until the next call. */
int crescent_replay_next(crescent_replay *replay, crescent_replayed *value);

/* The local values of operand number `index` of the node that crescent_replay_next gave. */
int crescent_replay_operand(const crescent_replay *replay, int index, crescent_values *local);

/* The number of nodes in the graph of the last run; 0 before the first run. */
int crescent_replay_size(const crescent_replay *replay);

/* ---- autopsy -------------------------------------------------------------------------- */

/*
 * Finds the first node whose values are wrong.  The compiled program is run, with the same bits as in any
 * other run, and each value is copied when the kernel that stores it ends.  The same graph is computed in
 * double precision, once from the inputs and once from the values that kernels stored.  So the error that a
 * kernel adds is separated from the error of its operands, and is compared with a bound for its roundings:
 * for a sum of n terms, n units in the last place of the sum of magnitudes.
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
    CRESCENT_WRONG,   /* further off than roundings explain */
    CRESCENT_NAN,     /* makes NaN of operands that have none, or comes in with NaN */
    CRESCENT_INFINITE /* makes infinities of finite operands, or comes in with them */
} crescent_verdict;

/* A node whose value a kernel stores, or a node inside a kernel that makes a NaN or an infinity.
 * The autopsy owns the strings. */
typedef struct {
    const char *name;  /* its tap, or the name of a parameter or input; else its scope, or its op */
    const char *op, *scope;
    const char *where; /* the line of the script, "FILE:LINE", or "" */
    const char *kernel; /* the C function that stores it; null: none does */
    int backward;      /* 1: of the backward pass */
    crescent_type type;
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
    crescent_verdict verdict;
    int culprit; /* 1: its kernel computed it wrongly, or it made an output infinite or NaN */
    double error, inherited, own; /* each the largest of all elements: the error against double
                                     precision; the part of it that comes from the operands; the
                                     part that the kernel adds */
    double bound;    /* the most that the kernel may add, at the worst element */
    int64_t worst;   /* the element that is nearest to its bound, or beyond it by the most; of NaN and
                      * infinities the first; or CRESCENT_NONE */
    int64_t failing; /* elements beyond their bounds */
    double got, want; /* the stored value of the worst element, and its value by the node's
                         formulas from what the kernel read */
    int n_operands;   /* for an elementwise op that makes NaN or infinity: its operands */
    double operands[4];
} crescent_tapped;

/* Compiles a graph of one entry, for CRESCENT_TCC or CRESCENT_CC. Elements of a tensor past its
 * length are ignored. */
int crescent_autopsy_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_autopsy **autopsy);
void crescent_autopsy_close(crescent_autopsy *autopsy);

/* The model, which belongs to the autopsy and is closed with it: for weights, inputs and reports.
 * Its weights are kept. */
crescent_model *crescent_autopsy_model(crescent_autopsy *autopsy);

/* Runs the model as crescent_run does, and examines the values of the run. */
int crescent_autopsy_run(crescent_autopsy *autopsy, const void *const *inputs,
                         void *const *outputs);

/* The nodes of the last run, in the order of the graph: operands before results. */
int crescent_autopsy_count(const crescent_autopsy *autopsy);
int crescent_autopsy_at(const crescent_autopsy *autopsy, int index, crescent_tapped *node);

/* Returns the index of the first node that is a culprit, or CRESCENT_NONE. */
int crescent_autopsy_culprit(const crescent_autopsy *autopsy);

/* ---- generating ----------------------------------------------------------------------- */

/*
 * A causal model that continues texts: it takes tokens, keeps their keys and values for later ones,
 * and gives the logits of the token that follows.  No bit of them depends on how the tokens are cut into calls.
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
    int64_t context; /* the most positions; 0: the model's maximum */
    int64_t chunk;   /* most tokens that go through the model at a time; 0: a default */
    int all_logits;  /* 1: give logits of every token that is fed, 0: of the last one of a call */
    int64_t least;   /* positions needed, if the script does not fix their number */
} crescent_generation;

/*
 * Opens the model of a folder, a GGUF file or a script.  A script has the input `ids`, i32 [texts,
 * tokens], and the output `logits`, [texts, tokens, vocabulary]; its option T, the tokens, becomes
 * the number of positions.  Or the script has caches of its own: a length `n`, ids of [texts,
 * n], and a state `at`, which counts the past tokens; its options `context` and `chunk` then
 * set the sizes.
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
    int64_t texts, vocabulary; /* sequences of a batch, and logits of a token */
    int64_t context, used;     /* positions of each sequence, and how many of them have a token */
    int64_t chunk;
    int all_logits; /* from crescent_generation */
    int64_t begin; /* the token that a text begins with, of config.json; or CRESCENT_NONE */
    int ends;      /* tokens that end one: eos_token_id of generation_config.json or config.json */
    int can_grow;  /* 1: `context` would be larger for a larger `least` of crescent_generation */
} crescent_generator_status;

int crescent_generator_get_status(const crescent_generator *generator, crescent_generator_status *status);

/* Feeds the next n tokens of each text, ids [texts, n].  `logits` may be null; else it receives the
 * logits of the last token, [texts, vocabulary], or with all_logits of all, [texts, n, vocabulary].
 * Fails, without taking any token, if there are not enough positions or an id is outside the
 * vocabulary. */
int crescent_generator_feed(crescent_generator *generator, const int32_t *ids, int64_t n,
                            float *logits);

/* The logits of the last token, [texts, vocabulary], until the next call; null before the first. */
const float *crescent_generator_logits(const crescent_generator *generator);

/* Options of sampling, in the order of Hugging Face's generation: logits are divided by the
 * temperature; the top_k likeliest tokens are kept, then the smallest set of the likeliest whose
 * mass reaches top_p; one of these is drawn.  Of equal logits the lower id is the likelier.  Every
 * machine draws the same tokens.  All zero: the likeliest token. */
typedef struct {
    double temperature; /* 0: the likeliest token, and the rest has no meaning */
    int64_t top_k;      /* 0: any number */
    double top_p;       /* 0, or 1: all */
    int64_t seed;       /* each draw depends only on the seed, the number of the text and the
                           position */
} crescent_sampling;

/* Chooses the next token of each text; if `how` is null, all its fields are 0.  Fails if a logit
 * is NaN. */
int crescent_generator_choose(crescent_generator *generator, const crescent_sampling *how,
                              int32_t *ids);

/* 1 if a token is one that ends a text, else 0. */
int crescent_generator_is_end(const crescent_generator *generator, int32_t id);

/* Forgets all tokens. */
int crescent_generator_reset(crescent_generator *generator);

/* ---- evaluating ----------------------------------------------------------------------- */

/* Windows of `tokens` tokens that a text is cut into.  Each window begins with the token `begin`,
 * unless that is CRESCENT_NONE.  All tokens of a window but the first are predicted. */
typedef struct {
    int64_t tokens; /* tokens of a window: 2 to the positions that the model has */
    int64_t begin;
} crescent_window;

/* The loss of a model on a text and, with a reference model, the divergence from it.  Logarithms
 * are natural, and sums are in double. */
typedef struct {
    int64_t tokens;   /* that were predicted */
    double loss;      /* the mean of -ln p of each next token; exp(loss) is the perplexity */
    double reference; /* the loss of the reference; NAN without one, as are the next two */
    double divergence; /* the mean of the Kullback-Leibler divergence, sum of q (ln q - ln p), where q
                        * is the reference's probability */
    double agreement;  /* the share of positions where both have the same likeliest token */
} crescent_evaluation;

/* Runs a text of n tokens through a generator of one text that was opened with all_logits, and
 * through a reference with the same vocabulary, which may be null.  Resets both at each window. */
int crescent_evaluate(crescent_generator *generator, crescent_generator *reference,
                      const crescent_window *how, const int32_t *ids, int64_t n,
                      crescent_evaluation *evaluation);

/* ---- training ------------------------------------------------------------------------- */

/*
 * A model whose graph is one step of a training, and its state.  An output with the name of a
 * parameter or an input is its value for the next step; the other inputs are data.  The output
 * `loss` must be one f32.  The outputs `lr` and `tokens`, one number each, are reported if they
 * exist.  The order of calls: open; load weights into crescent_trainer_model; set data; start;
 * steps.
 */
typedef struct crescent_trainer crescent_trainer;

int crescent_trainer_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_trainer **trainer);
void crescent_trainer_close(crescent_trainer *trainer);

/* The model, which belongs to the trainer and is closed with it: for ports, weights and reports.
 * Its weights are kept (crescent_keep_weights). */
crescent_model *crescent_trainer_model(crescent_trainer *trainer);

/* Feeds data from files.  An array has the shape of its input, or one more axis in front that
 * counts batches; step s takes batch s modulo their number.  All batches are read once, so that
 * errors are found here.  To be called once a trainer, before its first step. */
int crescent_trainer_feed(crescent_trainer *trainer, const crescent_input_file *files, int n);

/* Uses data from memory for input number `index` in all following steps, until it is set again. */
int crescent_trainer_set_input(crescent_trainer *trainer, int index, const void *tensor);

/* Returns the number of micro-batches of a step; 1 if the script sets none.  If there are several,
 * the tensor of crescent_trainer_set_input holds the data of all micro-batches, one after another;
 * each micro-batch takes one batch of the files of crescent_trainer_feed; and the name of an output
 * begins with its entry, as in update.loss. */
int crescent_trainer_micro_batches(const crescent_trainer *trainer);

/* Gives every input that has no data the value that the script says; data that nobody gives, and
 * that no output replaces, is refused. */
int crescent_trainer_start(crescent_trainer *trainer);

/* Does one step.  Fails if the loss is not finite; the state may then be damaged and must not be
 * saved. */
int crescent_trainer_step(crescent_trainer *trainer);

/* The progress of a training. */
typedef struct {
    int64_t step;            /* steps made, also before it was resumed */
    double loss, lr, tokens; /* outputs of the last step; NAN before the first */
    int has_lr, has_tokens;  /* 1: the model has this output */
    int64_t validated;       /* the number of steps at the last validation; -1: none yet */
    double validation;       /* the loss of the last validation, or NAN */
} crescent_training;

int crescent_trainer_status(const crescent_trainer *trainer, crescent_training *status);

/* Copies the current value of a port: a parameter, an input for the next step, or an output of
 * the last step.  Of a state, all ranks (crescent_join) call it. */
int crescent_trainer_get(const crescent_trainer *trainer, crescent_port_kind kind, int index,
                         void *tensor);

/* ---- losses --------------------------------------------------------------------------- */

/* A training's losses from its first step on, in bounded memory: if there would be more than 1024
 * points, neighbouring points are replaced by their mean. */
typedef enum { CRESCENT_STEP_LOSSES, CRESCENT_VALIDATION_LOSSES } crescent_loss_kind;

typedef struct {
    double step, loss; /* the mean number of some consecutive steps, and the mean of their losses */
} crescent_loss;

int crescent_loss_count(const crescent_trainer *trainer, crescent_loss_kind kind);
int crescent_loss_at(const crescent_trainer *trainer, crescent_loss_kind kind, int index,
                     crescent_loss *loss);

/* The steps whose losses are known: from the one after *first to *last. */
int crescent_loss_range(const crescent_trainer *trainer, int64_t *first, int64_t *last);

/* ---- validation ----------------------------------------------------------------------- */

/*
 * Prepares a loss on validation data.  Runs the script again, with its option `validation` set to
 * true if it declares one, and compiles its output `loss`; parameters and state are the trainer's.
 * Files are as in crescent_trainer_feed; an input that training reads from a file or from memory
 * needs a file of its own here.  Fails if the loss depends on random numbers and the script does
 * not declare the option.  May be called once for a trainer, after crescent_trainer_start.
 */
int crescent_trainer_validation(crescent_trainer *trainer, const crescent_input_file *files, int n);

/*
 * Computes the mean of the losses of all batches, and records it (crescent_loss_at).  `stop` is
 * called before each batch; if it returns true, the function returns CRESCENT_STOPPED. `stop` and
 * `loss` may be null.
 */
int crescent_trainer_validate(crescent_trainer *trainer, int (*stop)(void *), void *argument,
                              double *loss);

/* ---- checkpoints ---------------------------------------------------------------------- */

/* The state of a training as a safetensors file: parameters and state under their names; in the
 * metadata the number of steps, the seed, the losses and the script's options. */
typedef struct crescent_checkpoint crescent_checkpoint;

/* Reads the settings of a checkpoint that are needed before the training is opened. */
int crescent_checkpoint_open(crescent_context *context, const char *path,
                             crescent_checkpoint **checkpoint);
void crescent_checkpoint_close(crescent_checkpoint *checkpoint);
int64_t crescent_checkpoint_step(const crescent_checkpoint *checkpoint);
int64_t crescent_checkpoint_seed(const crescent_checkpoint *checkpoint);
/* The options of the script of the training: use them as `defaults` of the crescent_script that
 * continues it. */
int crescent_checkpoint_option_count(const crescent_checkpoint *checkpoint);
int crescent_checkpoint_option_at(const crescent_checkpoint *checkpoint, int index,
                                  crescent_setting *option);

/* Takes over the whole state of a checkpoint, bit for bit: after crescent_trainer_start.  It must
 * be one of the same seed, and of a script with the same parameters and state. */
int crescent_trainer_resume(crescent_trainer *trainer, const char *path);

/* Writes the whole state, or the parameters alone.  Refused are values that no training can go on
 * with: a parameter that a step replaces and that is not finite, or a state that is NaN.  A file
 * appears whole or not at all.  All ranks (crescent_join) call these functions, as they share states, and rank 0
 * writes. */
int crescent_trainer_save(const crescent_trainer *trainer, const char *path);
int crescent_trainer_save_weights(const crescent_trainer *trainer, const char *path);

/* Fails if another rank (crescent_join) has other parameters, state or files of inputs than rank 0.
 * All ranks call it; the first step does the same. */
int crescent_trainer_compare_ranks(crescent_trainer *trainer);

/* Does everything that saving does, except for renaming the files to their final names, so that
 * errors show before the training.  Either path may be null. */
int crescent_trainer_check_save(const crescent_trainer *trainer, const char *checkpoint,
                                const char *weights);

/* ---- tuning --------------------------------------------------------------------------- */

/*
 * Finds the sizes of a target by measuring a model on this machine.  It changes one
 * size after another, and keeps a change if the runs are clearly faster.  The outputs of each
 * candidate's first run are compared with those of the first candidate: a bit that differs is
 * CRESCENT_BUG.
 *
 *     crescent_trial trial;
 *     while (crescent_tuner_next(tuner, &trial) == CRESCENT_OK)
 *         ...
 *     crescent_tuner_finish(tuner, NULL, &tuning);
 */
typedef struct crescent_tuner crescent_tuner;

/* One trial: a size of the target, its best value so far, and the value being tried. */
typedef struct {
    const char *size;
    int64_t was, value;
    double ratio; /* the time with it over that without it; 1 if it was not measured */
    int measured; /* 0 if the program is the same with both */
    int kept;
} crescent_trial;

/* What came of it. */
typedef struct {
    double before_ns, after_ns; /* the time of a run, with the first target and with the best one */
    const char *path;           /* the file that has the best; the tuner's */
} crescent_tuning;

/* Begins with the target of the configuration.  `seconds` is about how long the whole search
 * takes. */
int crescent_tuner_open(const crescent_graph *graph, const crescent_config *config, double seconds,
                        crescent_tuner **tuner);
void crescent_tuner_close(crescent_tuner *tuner);

/* Measures the next candidate; returns CRESCENT_STOPPED if there is none, or if the time is
 * over. */
int crescent_tuner_next(crescent_tuner *tuner, crescent_trial *trial);

/* Compares the best target with the first one, and writes the faster one to a file.  If `path`
 * is null, it writes this machine's file, which the target "host" reads from then on. */
int crescent_tuner_finish(crescent_tuner *tuner, const char *path, crescent_tuning *tuning);

/* Fails if crescent_tuner_finish could not write this file, so that the error shows before the search. */
int crescent_tuner_check_finish(crescent_tuner *tuner, const char *path);

/* ---- tokenizers ----------------------------------------------------------------------- */

/*
 * Encodes texts to ids of tokens, and decodes ids: BPE, WordPiece, Unigram or WordLevel as a
 * tokenizer.json describes it, with the same ids as Hugging Face's tokenizers.  docs/tokenizers.md lists
 * the files and settings that are read.
 *
 *     crescent_tokenizer *tokenizer;
 *     int32_t *ids;
 *     size_t n;
 *     if (crescent_tokenizer_open(context, "folder", &tokenizer) ||
 *         crescent_encode(tokenizer, text, strlen(text), CRESCENT_FRAMED, &ids, &n))
 *         puts(crescent_error(context));
 *
 * Text is UTF-8 of fewer than 2^28 bytes, and may hold zeros; what is no UTF-8 is refused.
 */
typedef struct crescent_tokenizer crescent_tokenizer;

/* Opens a tokenizer: a tokenizer.json, a folder with one, with vocab.json and merges.txt or with
 * encoder.json and vocab.bpe, with a vocab.txt or with a tokenizer.model, or a GGUF file. */
int crescent_tokenizer_open(crescent_context *context, const char *path,
                            crescent_tokenizer **tokenizer);
void crescent_tokenizer_close(crescent_tokenizer *tokenizer);

/* Returns the greatest id + 1; 0 for null. */
int crescent_tokenizer_size(const crescent_tokenizer *tokenizer);

/* crescent_token_id returns the id of a token, given its text in the tokenizer's file,
 * "<|endoftext|>", or CRESCENT_NONE. crescent_token_text returns the text of an id, owned by the
 * tokenizer, or null. */
int crescent_token_id(const crescent_tokenizer *tokenizer, const char *token);
const char *crescent_token_text(const crescent_tokenizer *tokenizer, int id);

/* The ids that end a text: eos_token_id of generation_config.json or config.json beside the
 * tokenizer, or eos_token of tokenizer_config.json, or <|endoftext|>. crescent_end_at returns
 * CRESCENT_NONE for an index that is out of range. */
int crescent_end_count(const crescent_tokenizer *tokenizer);
int crescent_end_at(const crescent_tokenizer *tokenizer, int index);

/* Says if encoding adds the tokens that the tokenizer puts around a text, such as <s>. */
typedef enum { CRESCENT_PLAIN, CRESCENT_FRAMED } crescent_framing;

/* Encodes a text to ids, to be freed with crescent_free. */
int crescent_encode(crescent_tokenizer *tokenizer, const char *text, size_t length,
                    crescent_framing framing, int32_t **ids, size_t *n);

/* A text, or a pair of texts such as a question and a document, and the most ids of both
 * together. */
typedef struct {
    const char *text, *pair; /* pair: null for a single text */
    size_t length, pair_length;
    crescent_framing framing;
    int64_t most; /* limit of the ids, those around the texts included.  Longer texts are
                     truncated as the tokenizer's file says; if it does not, the longer text
                     loses its end. 0: no limit */
    int pads; /* 1: fewer ids are filled up as the tokenizer's file says */
} crescent_text;

/* The ids, and for each id the number of its segment, which BERT calls token_type_ids.  Both are
 * one block of memory; crescent_free(ids) frees it. */
typedef struct {
    int32_t *ids, *types;
    size_t n;
    int truncated; /* 1 if a text was cut, else 0 */
} crescent_encoding;

/* Encodes a text or a pair.  Fails for a pair if the tokenizer does not define how pairs are
 * encoded. */
int crescent_encode_text(crescent_tokenizer *tokenizer, const crescent_text *text,
                         crescent_encoding *encoding);

/* Returns the most ids of a text that the tokenizer's file allows, those around it included; 0
 * if the file sets no limit. */
int64_t crescent_tokenizer_limit(const crescent_tokenizer *tokenizer);

/* The special tokens that decoding shows. */
typedef enum {
    CRESCENT_SPECIALS_WITHIN, /* special tokens inside the text, not around it */
    CRESCENT_SPECIALS_ALL,
    CRESCENT_SPECIALS_NONE
} crescent_specials;

/* Decodes ids to a zero-terminated text, to be freed with crescent_free.  The bytes are returned
 * as they are, also if they are not UTF-8.  An id without a token adds nothing. */
int crescent_decode(crescent_tokenizer *tokenizer, const int32_t *ids, size_t n,
                    crescent_specials specials, char **text, size_t *length);

/* Decodes one token after another.  The pieces together are the text of crescent_decode, except
 * that with CRESCENT_SPECIALS_WITHIN tokens that encoding adds after a text are shown. */
typedef struct crescent_text_stream crescent_text_stream;

int crescent_text_stream_open(crescent_tokenizer *tokenizer, crescent_specials specials,
                              crescent_text_stream **stream);
void crescent_text_stream_close(crescent_text_stream *stream);

/* Returns the text that is certain after this id, which may be empty: a character is never
 * returned in part.  The stream owns the text until the next call. */
int crescent_text_stream_add(crescent_text_stream *stream, int id, const char **text,
                             size_t *length);

/* Ends a stream; returns the remaining bytes, such as a part of a character. */
int crescent_text_stream_end(crescent_text_stream *stream, const char **text, size_t *length);

/* ---- vectors of texts ----------------------------------------------------------------- */

/*
 * An encoder with its tokenizer, which makes one vector of a text.  The vector's bits depend on the text
 * alone, not on texts before it nor on the number of threads.
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

/* Selects the output of crescent_embed for the folder of a classifier: the embedding
 * (CRESCENT_NO_CLASSES), the logit of each label, or the probability of each label.  Probabilities
 * are the softmax of the logits, or the sigmoid of each logit if there is one label or if
 * config.json allows several labels.  A reranker whose config.json has an Identity as its
 * activation returns logits as probabilities. */
typedef enum { CRESCENT_NO_CLASSES, CRESCENT_LOGITS, CRESCENT_PROBABILITIES } crescent_classification;

/* Options; zeros are the defaults, and a null pointer stands for all zeros. */
typedef struct {
    const char *pooling; /* "cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean" or
                            "lasttoken"; null: as the folder's modules.json says, or else "mean" */
    int normalize;       /* 1: vectors have the length 1; 0: as modules.json says */
    int64_t most;        /* the most tokens of a text, special ones included; longer texts are
                            truncated. 0: the limit of sentence_bert_config.json or of the
                            tokenizer, or 512 */
    const char *role;    /* the name of a prompt in config_sentence_transformers.json, such as
                            "query" or "document", that is put before each text; or null */
    crescent_classification classify;
} crescent_embedder_options;

/* Opens the folder of an encoder, whose script must have the option `pooling`, as
 * graphs/bert.lua does.  Cached packed weights are mapped (crescent_cache_weights).  `how` and
 * `config` may be null. */
int crescent_embedder_open(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           crescent_embedder **embedder);

/* Returns the embedder's model, whose weights crescent_write_cache can cache.  The embedder owns
 * the model. */
crescent_model *crescent_embedder_model(crescent_embedder *embedder);
void crescent_embedder_close(crescent_embedder *embedder);

/* The settings of an embedder.  It owns the strings. */
typedef struct {
    int64_t dimensions, most; /* the size of a vector; the most tokens of a text */
    const char *pooling;
    int normalized;
    const char *prompt; /* or null */
    int labels;         /* the number of labels of a classifier, else 0 */
    int pairs; /* 1: each text needs a pair, as a reranking decoder needs a question and a document */
} crescent_embedder_facts;

int crescent_embedder_get_facts(const crescent_embedder *embedder, crescent_embedder_facts *facts);

/* Returns the name of a classifier's label; null for an index that is out of range. */
const char *crescent_embedder_label(const crescent_embedder *embedder, int index);

/* The number of tokens of a text, and whether the text was changed. */
typedef struct {
    size_t tokens;
    int truncated; /* 1: tokens were cut off */
    int repaired;  /* 1: bytes that are not UTF-8 became U+FFFD */
} crescent_embedded;

/* Writes the vector of a text, facts.dimensions floats.  `what` may be null. */
int crescent_embed(crescent_embedder *embedder, const char *text, size_t length, float *vector,
                   crescent_embedded *what);

/* Writes the vector of a pair of texts, such as a question and a document for a reranker. */
int crescent_embed_pair(crescent_embedder *embedder, const char *text, size_t length, const char *pair,
                        size_t pair_length, float *vector, crescent_embedded *what);

/* One text of several.  `pair` is a second text, or null. */
typedef struct {
    const char *text, *pair;
    size_t length, pair_length;
} crescent_embed_text;

/* Writes the vectors of n texts, one after another, and n items of `what` if it is not null.  Each
 * thread computes one text at a time; the bits are the same as from crescent_embed. */
int crescent_embed_texts(crescent_embedder *embedder, const crescent_embed_text *texts, int n,
                         float *vectors, crescent_embedded *what);

/* ---- C source ------------------------------------------------------------------------- */

/* The kind of program: a function from inputs to outputs, or a step of a training, from state to
 * state. */
typedef enum { CRESCENT_EMIT_RUN, CRESCENT_EMIT_STEP } crescent_emit_kind;

/* Writes standalone C: `path`, which ends in ".c", and its header; both or neither.  Of the
 * configuration, `skip`, `max_arena`, `format`, `arithmetic`, `target` and `isa` are used.
 * `isa` is a list of the instruction sets that the C supports, "avx2,plain", which must contain
 * plain; null: all.  `report` may be null; its times of compiling, isa and threads are 0. */
int crescent_emit(const crescent_graph *graph, const crescent_config *config,
                  crescent_emit_kind kind, const char *path, crescent_report *report);

/* Where an emitted program keeps its weights: in a separate file, in its object code (the
 * assembler includes the packed file), or in its C as an array. */
typedef enum { CRESCENT_EMBED_NOT, CRESCENT_EMBED_FILE, CRESCENT_EMBED_ARRAY } crescent_embedding;

/* Options for a program that generates.  Zeros are the defaults; a null pointer stands for all
 * zeros. */
typedef struct {
    const char *tokenizer; /* a tokenizer.json, a folder with one, or a GGUF file; null: the
                              tokenizer of the model */
    int ids_only;          /* 1: the program has no tokenizer: it reads and prints ids */
    const char *pack;      /* the file to write packed weights to; the program reads it in place
                              of safetensors files.  Null: none is written */
    crescent_embedding embed; /* CRESCENT_EMBED_FILE embeds the file `pack` */
    const char *const *weights; /* safetensors files or folders to pack or embed; null: those of
                                   the model's folder, or for a script, random weights drawn from
                                   its seed */
    int n_weights;
} crescent_generator_source;

/*
 * Writes a generator of text as standalone C: the model, sessions, the sampler, the tokenizer, and
 * a main that generates the same text as crescent_generator.  `path`, `how` and `generation` are
 * the arguments of crescent_generator_open, for one text; the others are as in crescent_emit,
 * except that the report has no name.  Fails if the tokenizer has a part that emitted C does not
 * support, and names the part.
 */
int crescent_emit_generator(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            const crescent_generator_source *what, const char *out,
                            crescent_report *report);

/* Writes an encoder of texts as standalone C: the model, its tokenizer, pooling, and a main that
 * prints the same vectors as crescent_embed, bit by bit; or the scores of labels, if `options` ask
 * for them, or if the folder is one of a classifier or a reranking decoder and no pooling is asked for.  `path`, `how`
 * and `options` are the arguments of crescent_embedder_open; `what` gives only the weights; the others are as in
 * crescent_emit_generator. */
int crescent_emit_embedder(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           const crescent_generator_source *what, const char *out,
                           crescent_report *report);

/* Emits C as crescent_emit does, but returns two texts, to be freed with crescent_free.  The source
 * includes `header_name`. */
int crescent_emit_text(const crescent_graph *graph, const crescent_config *config,
                       crescent_emit_kind kind, const char *header_name, char **source,
                       char **header);

/* Emits C as crescent_emit_generator does, but returns two texts; packed weights are still written
 * to a file. */
int crescent_emit_generator_text(crescent_context *context, const char *path,
                                 const crescent_script *how, const crescent_config *config,
                                 const crescent_generation *generation,
                                 const crescent_generator_source *what, const char *header_name,
                                 char **source, char **header);

/* Returns the state of a compilation after a pass as text, to be freed with crescent_free: the
 * graph, the kernels, the plan.  `pass` may also be "script", for the graph as it was built, or
 * "emit", for the C without the runtime. */
int crescent_dump(const crescent_graph *graph, const crescent_config *config, const char *pass,
                  char **text);

void crescent_free(void *text);

/* ---- explaining ----------------------------------------------------------------------- */

/*
 * Explains a compilation: the graph after each pass, the kernels, the C of each, the arena, and
 * measurements.  docs/explain.md describes the document.
 *
 *     status = crescent_explain(graph, NULL, &e) ||
 *              crescent_explanation_text(e, NULL, CRESCENT_EXPLAIN_HTML, &text, &length);
 */
typedef struct crescent_explanation crescent_explanation;

/* Compiles a copy of a graph and keeps the copy after each pass.  `config` has the options of
 * crescent_compile; its backend must be CRESCENT_TCC or CRESCENT_CC. */
int crescent_explain(const crescent_graph *graph, const crescent_config *config,
                     crescent_explanation **explanation);
void crescent_explanation_close(crescent_explanation *explanation);

/* Returns the model, which is compiled at the first call.  Load its weights.  The explanation
 * owns it and closes it. */
int crescent_explanation_model(crescent_explanation *explanation, crescent_model **model);

/* Runs the model for about this many seconds.  Measures the time of each kernel, the limits of
 * the machine, and when each call of one run began and ended. */
int crescent_explanation_measure(crescent_explanation *explanation, const void *const *inputs,
                                 void *const *outputs, double seconds);

/* Runs the model once, and compares what each call of a kernel stores with the interpreter in
 * double precision; elements past a length are ignored.  The model keeps its weights
 * (crescent_keep_weights). */
int crescent_explanation_check(crescent_explanation *explanation, const void *const *inputs,
                               void *const *outputs);

/* The form of the text: the document as JSON; a self-contained page that shows it; or a trace of
 * one run for Perfetto and chrome://tracing, if the explanation was measured. */
typedef enum {
    CRESCENT_EXPLAIN_JSON,
    CRESCENT_EXPLAIN_HTML,
    CRESCENT_EXPLAIN_TRACE,
    CRESCENT_EXPLAIN_FORMATS
} crescent_explanation_format;

/* Returns the explanation as text, to be freed with crescent_free.  `against`, which may be
 * null, is a second explanation to compare with. */
int crescent_explanation_text(const crescent_explanation *explanation,
                              const crescent_explanation *against,
                              crescent_explanation_format format, char **text, size_t *length);

/* ---- passes, ops and operators of ONNX -------------------------------------------------- */

typedef struct {
    const char *name, *doc;
} crescent_pass;

/* The passes in their order.  The strings are constants. */
int crescent_pass_count(void);
int crescent_pass_at(int index, crescent_pass *pass);

/* An op of the graph language.  The strings are constants. */
typedef struct {
    const char *name;
    int elementwise, reduction; /* 0 or 1 */
    int arity;                  /* operands; -1: any number */
    const char *types;          /* elementwise ops and reductions: the types of operands and
                                 * result */
    const char *equation; /* elementwise: the C expression; others: how a script calls it */
    const char *gradient; /* elementwise ops and reductions: the gradient for each operand, as in
                             compiler/ir/gradients.def */
    const char *doc;
} crescent_op;

int crescent_op_count(void);
int crescent_op_at(int index, crescent_op *op);

/* An operator of ONNX files that has a translation.  The strings are constants. */
typedef struct {
    const char *domain, *name; /* "" for ai.onnx */
    int since;                 /* the first version of the domain that this translation holds for */
    const char *meaning;       /* the formula in the graph language */
} crescent_onnx_op;

int crescent_onnx_op_count(void);
int crescent_onnx_op_at(int index, crescent_onnx_op *op);

/* ---- files and memory ----------------------------------------------------------------- */

/* A file that appears under its name only when it is complete. */
int crescent_file_open(crescent_context *context, const char *path, crescent_file **file);

/* Append bytes, or a whole .npy file.  If the tensor is null, only the header of the .npy file
 * is written, and its elements have to follow. */
int crescent_file_put(crescent_file *file, const void *bytes, size_t n);
int crescent_file_put_npy(crescent_file *file, const crescent_port *port, const void *tensor);

/* Writes all data of a file to the disk, under a temporary name.  Finish all files of a group
 * before committing the first. */
int crescent_file_finish(crescent_file *file);

/* Renames the file to its final name.  This replaces an older file of that name. */
int crescent_file_commit(crescent_file *file);

/* Closes a file; a file that was not committed is deleted. */
void crescent_file_close(crescent_file *file);

/* Reads a .npy file of the port's shape as doubles. */
int crescent_read_npy(crescent_context *context, const char *path, const crescent_port *port,
                      double *tensor);

/* ---- contents of a file --------------------------------------------------------------- */

/* The contents of a file of tensors, or of a folder of such files. */
typedef struct crescent_contents crescent_contents;

/* A tensor under its name in the file.  Strings and shape live as long as the contents. */
typedef struct {
    const char *name; /* "" in a .npy file, which has one tensor */
    const char *type; /* the file's name for it: "F32", "<f4", "Q8_0", "float16", ... */
    const char *file; /* the file that contains it; of a model in shards, the shard */
    int rank;
    const int64_t *shape;
    int64_t elements, bytes;
} crescent_tensor;

/* Opens a .safetensors file, the index.json of its shards, a GGUF or .npy file, a folder in Hugging
 * Face's layout, or an ONNX file, whose tensors are its initializers.  The kind of a file is found
 * from its contents, except that the name of an ONNX file ends in .onnx.  No tensor is read. */
int crescent_contents_open(crescent_context *context, const char *path,
                           crescent_contents **contents);
void crescent_contents_close(crescent_contents *contents);

/* Returns "safetensors", "GGUF", ... */
const char *crescent_contents_kind(const crescent_contents *contents);

/* The tensors, in order of their names with numbers by value. */
int crescent_contents_count(const crescent_contents *contents);
int crescent_contents_at(const crescent_contents *contents, int index, crescent_tensor *tensor);

/* Other facts in a file, as text: its metadata; for a folder, its model_type. */
int crescent_fact_count(const crescent_contents *contents);
int crescent_fact_at(const crescent_contents *contents, int index, crescent_setting *fact);

/* Statistics of a tensor's elements, all 0 if it has no elements. min, max, mean and deviation
 * are taken over the finite elements. */
typedef struct {
    int64_t nans, infinities;
    double min, max, mean, deviation; /* the deviation divides by the number of elements */
} crescent_statistics;

/* Both read a whole tensor; crescent_contents_read writes all of its elements to `elements`.
 * They fail for a type that weights cannot have. */
int crescent_contents_read(const crescent_contents *contents, int index, double *elements);
int crescent_contents_measure(const crescent_contents *contents, int index,
                              crescent_statistics *statistics);

/* Allocates memory for a tensor, aligned to 64 bytes, to be freed with crescent_free.  Fails if
 * the size exceeds the machine's memory, before touching any of it.  `what` names the tensor in
 * the error. */
int crescent_memory(crescent_context *context, int64_t bytes, const char *what, void **memory);

/* Returns the time in nanoseconds of the monotonic clock that all times here are measured by. */
int64_t crescent_clock(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
