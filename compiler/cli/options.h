/* options.h - the options of the command line, which a table defines. */
#ifndef CR_OPTIONS_H
#define CR_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"

/* Values of an option that can be repeated: NAME=FILE or KEY=VALUE; a cr_list has plain values. */
struct cr_pairs {
    crescent_setting *items;
    int n, cap;
};

struct cr_list {
    const char **items;
    int n, cap;
};

/* The parsed options.  `resumed` has the settings (--set) of the run that wrote the checkpoint of
 * --resume. */
struct cr_options {
    crescent_context *context; /* the context that all library calls share */
    const char *model;
    struct cr_pairs set, length, resumed, input, output, expect, cotangent, validation_input;
    struct cr_list weights, skip, vs, ignore_config;
    const char *grads, *expect_grads, *expect_taps, *after, *out, *isa, *target, *backend, *backends, *entry;
    const char *script, *config;
    const char *format, *arithmetic;
    const char *tokenizer, *text, *pair, *decode, *file; /* file: the second argument without a
                                                          * hyphen */
    const char *resume, *checkpoint, *save, *loss_curve;
    bool strict, train, json, kernels, markdown, onnx, help, per_kernel, compile_only, turns, log_scale;
    bool plain, special, segments, taps;
    bool all; /* option of inspect */
    int64_t threads, seed, max_ulp, steps, every, log, max_arena, ranks, cache_weights, validate_every, max_length;
    double atol, rtol, seconds;
    bool seed_given; /* false: `seed` has its default, 0 */
    const char *prompt, *prompt_file, *prompt_ids, *logits;
    bool ids, ignore_eos, stats;
    bool generate, embed_text, embed, embed_array; /* options of emit */
    bool bench, check;                 /* options of explain only */
    const char *against, *trace;
    const char *pack;
    const char *pooling, *query; /* options of verbs that run encoders, with the next two lines */
    bool as_query, document, normalize; /* as_query: --query of embed, which has no argument */
    int64_t batch;
    int64_t tokens, top_k, context_size, chunk; /* tokens: -1 means no limit; the others: 0 means
                                                 * the default value */
    double temperature, top_p;
};

/* Bit sets of verbs. */
enum {
    CR_VERB_RUN = 1 << 0,
    CR_VERB_EMIT = 1 << 1,
    CR_VERB_COMPARE = 1 << 2,
    CR_VERB_DUMP = 1 << 3,
    CR_VERB_PARAMS = 1 << 4,
    CR_VERB_BENCH = 1 << 5,
    CR_VERB_OPS = 1 << 6,
    CR_VERB_VARY = 1 << 7, /* no verb: marks the options that --vs may change */
    CR_VERB_TRAIN = 1 << 8,
    CR_VERB_TARGETS = 1 << 9,
    CR_VERB_TUNE = 1 << 10,
    CR_VERB_GENERATE = 1 << 11,
    CR_VERB_TOKENIZE = 1 << 12,
    CR_VERB_EVALUATE = 1 << 13,
    CR_VERB_EXPLAIN = 1 << 14,
    CR_VERB_INSPECT = 1 << 15,
    CR_VERB_IMPORT = 1 << 16,
    CR_VERB_PACK = 1 << 17,
    CR_VERB_EMBED = 1 << 18,
    CR_VERB_RANK = 1 << 19,
    CR_VERB_CLASSIFY = 1 << 20,
    CR_VERB_ENCODERS = CR_VERB_EMBED | CR_VERB_RANK | CR_VERB_CLASSIFY, /* verbs that run encoders
                                                                         * on texts */
    CR_VERB_TEXTS = CR_VERB_GENERATE | CR_VERB_EVALUATE, /* verbs whose models continue texts */
    CR_VERB_WEIGHTS = CR_VERB_TEXTS | CR_VERB_PACK, /* verbs that load the weights of models that
                                                     * continue texts */
    /* verbs that several ranks, started by mpirun, can run together */
    CR_VERB_RANKS = CR_VERB_RUN | CR_VERB_GENERATE | CR_VERB_TRAIN | CR_VERB_ENCODERS | CR_VERB_EVALUATE |
                    CR_VERB_COMPARE | CR_VERB_BENCH,
    CR_VERB_RUNNING = CR_VERB_RUN | CR_VERB_COMPARE | CR_VERB_BENCH,
    CR_VERB_COMPILING = CR_VERB_RUNNING | CR_VERB_TRAIN | CR_VERB_EXPLAIN,
    CR_VERB_MODELS = CR_VERB_RUN | CR_VERB_EMIT | CR_VERB_COMPARE | CR_VERB_DUMP | CR_VERB_PARAMS |
                     CR_VERB_BENCH | CR_VERB_TRAIN | CR_VERB_TUNE |
                     CR_VERB_EXPLAIN | CR_VERB_WEIGHTS, /* all verbs that take a model */
    CR_VERB_ALL = CR_VERB_MODELS | CR_VERB_OPS | CR_VERB_TARGETS | CR_VERB_TOKENIZE |
                  CR_VERB_INSPECT | CR_VERB_IMPORT | CR_VERB_ENCODERS,
};

/* The function of a verb.  Returns 0; 1 if a comparison failed; 2 with the error set; 130 if a
 * signal ended it early. */
typedef int cr_verb_function(const struct cr_options *options, struct cr_error *error);

struct cr_verb {
    const char *name;
    unsigned bit; /* its bit in sets of verbs */
    cr_verb_function *run;
    const char *usage;
    const char *summary; /* its help in one line */
    const char *about;   /* the rest of its help */
    const char *examples; /* command lines, each indented by two spaces */
};

/* Parses the arguments after the verb into *options; argv[0] is ignored, as getopt does. */
int cr_options_parse(struct cr_options *options, const struct cr_verb *verb, int argc, char **argv,
                     struct cr_error *error);
void cr_options_free(struct cr_options *options);

/* Returns a copy of the options with lists of its own; the caller may change and must free it. */
struct cr_options cr_options_copy(const struct cr_options *options);

/* Returns a hash of the verb and its options that must be equal on all ranks.  Omits paths, and
 * options that describe a machine, such as --threads. */
uint64_t cr_options_hash(const struct cr_options *options, const struct cr_verb *verb);

/* Fails if a file that an option names, such as --input, has other contents than on rank 0. */
int cr_options_compare_files(const struct cr_options *options, const struct cr_verb *verb, struct cr_error *error);

/* Sets an option that `bench --vs` may change, like `--name text`.  Error messages name `asked`,
 * the option with the request. */
int cr_options_set(struct cr_options *options, const char *asked, const char *name, const char *text,
                   struct cr_error *error);

/* True if the options ask for gradients. */
bool cr_wants_grads(const struct cr_options *options);

/* Returns the file for gradients, or null; `--grads none` has no file. */
const char *cr_grads_file(const struct cr_options *options);

/* Fails if --grads names a file: for verbs that do not run the model and would never write it. */
int cr_grads_check_no_file(const struct cr_options *options, const char *verb,
                           struct cr_error *error);

/* Returns the backend of --backend. */
crescent_backend cr_backend_of(const struct cr_options *options);

/* Returns the status of a library call; if it failed, copies the library's message to the error. */
int cr_passed(const struct cr_options *options, int status, struct cr_error *error);

/* A description of an option for help texts. */
struct cr_option_about {
    const char *name, *value, *help; /* value: a placeholder for its value, "" if it has none;
                                      * help may contain newlines */
    int letter;                      /* letter of the short form, or 0 */
    bool file;                       /* its value is the name of a file, or contains one */
};

/* Fills *about with option number `index` of a verb; returns false if the verb has no such
 * option. */
bool cr_option_of(const struct cr_verb *verb, int index, struct cr_option_about *about);

void cr_help_verb(FILE *out, const struct cr_verb *verb);

/* Returns the backend called `name`; -1 with an error that lists all names if there is none. */
int cr_backend_by_name(const char *name, struct cr_error *error);

#endif
