/*
 * options.h - the options of the command line, from a table.
 */
#ifndef CR_OPTIONS_H
#define CR_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "compiler/crescent.h"
#include "compiler/ir/error.h"

/* Values of a repeatable option: NAME=FILE or KEY=VALUE, and plain ones. */
struct cr_pairs {
    crescent_setting *items;
    int n, cap;
};

struct cr_list {
    const char **items;
    int n, cap;
};

/* What the user asked for.  `resumed` holds the --set options of the run that wrote the checkpoint
 * of --resume. */
struct cr_options {
    crescent_context *context; /* for all calls of the library */
    const char *model;
    struct cr_pairs set, length, resumed, input, output, expect, cotangent, validation_input;
    struct cr_list weights, skip, vs, ignore_config;
    const char *grads, *expect_grads, *expect_taps, *after, *out, *isa, *target, *backend, *backends, *entry;
    const char *script, *config;
    const char *format, *arithmetic;
    const char *tokenizer, *text, *decode, *file; /* file: the word after the model */
    const char *resume, *checkpoint, *save, *loss_curve;
    bool strict, train, json, kernels, markdown, onnx, help, per_kernel, compile_only, turns, log_scale;
    bool plain, special, taps;
    bool all; /* of inspect */
    int64_t threads, seed, max_ulp, steps, every, log, max_arena, cache_weights, validate_every;
    double atol, rtol, seconds;
    bool seed_given; /* else seed is 0 */
    const char *prompt, *prompt_file, *prompt_ids, *logits;
    bool ids, ignore_eos, stats;
    bool generate, embed, embed_array; /* of emit */
    bool bench, check;                 /* of explain */
    const char *against, *trace;
    const char *pack;
    int64_t tokens, top_k, context_size, chunk; /* tokens: -1 is no limit; others: 0 is unset */
    double temperature, top_p;
};

/* The verbs that an option is for, as bits. */
enum {
    CR_VERB_RUN = 1 << 0,
    CR_VERB_EMIT = 1 << 1,
    CR_VERB_COMPARE = 1 << 2,
    CR_VERB_DUMP = 1 << 3,
    CR_VERB_PARAMS = 1 << 4,
    CR_VERB_BENCH = 1 << 5,
    CR_VERB_OPS = 1 << 6,
    CR_VERB_VARY = 1 << 7, /* no verb: options that --vs may change */
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
    CR_VERB_TEXTS = CR_VERB_GENERATE | CR_VERB_EVALUATE, /* that run models of text */
    CR_VERB_WEIGHTS = CR_VERB_TEXTS | CR_VERB_PACK, /* that load a text model's weights */
    CR_VERB_RUNNING = CR_VERB_RUN | CR_VERB_COMPARE | CR_VERB_BENCH,
    CR_VERB_COMPILING = CR_VERB_RUNNING | CR_VERB_TRAIN | CR_VERB_EXPLAIN,
    CR_VERB_MODELS = CR_VERB_RUN | CR_VERB_EMIT | CR_VERB_COMPARE | CR_VERB_DUMP | CR_VERB_PARAMS |
                     CR_VERB_BENCH | CR_VERB_TRAIN | CR_VERB_TUNE |
                     CR_VERB_EXPLAIN | CR_VERB_WEIGHTS, /* that work on a model */
    CR_VERB_ALL = CR_VERB_MODELS | CR_VERB_OPS | CR_VERB_TARGETS | CR_VERB_TOKENIZE |
                  CR_VERB_INSPECT | CR_VERB_IMPORT,
};

/* A verb returns 0, 1 if a comparison failed, 2 with the error set, or 130 if a signal ended it
 * early. */
typedef int cr_verb_function(const struct cr_options *options, struct cr_error *error);

struct cr_verb {
    const char *name;
    unsigned bit; /* selects the options it takes */
    cr_verb_function *run;
    const char *usage;
    const char *summary; /* one line */
    const char *about;   /* the rest of its help */
    const char *examples; /* command lines, each indented by two spaces */
};

/* Parses the words after the verb; ignores argv[0], as getopt does. */
int cr_options_parse(struct cr_options *options, const struct cr_verb *verb, int argc, char **argv,
                     struct cr_error *error);
void cr_options_free(struct cr_options *options);

/* Returns a copy with its own lists, which the caller may change and must free. */
struct cr_options cr_options_copy(const struct cr_options *options);

/* Sets an option that `bench --vs` may change, as if `--name text` had been given.  `asked` is the
 * option that caused it, for the error. */
int cr_options_set(struct cr_options *options, const char *asked, const char *name, const char *text,
                   struct cr_error *error);

/* True if the options ask for gradients. */
bool cr_wants_grads(const struct cr_options *options);

/* Returns the file to write gradients to, or null, as for `--grads none`. */
const char *cr_grads_file(const struct cr_options *options);

/* For verbs that compute nothing: fails if --grads names a file, which would never be written. */
int cr_grads_check_no_file(const struct cr_options *options, const char *verb,
                           struct cr_error *error);

/* Returns the backend of --backend. */
crescent_backend cr_backend_of(const struct cr_options *options);

/* Returns the status of a call of the library.  If it failed, sets the error to the library's
 * message. */
int cr_passed(const struct cr_options *options, int status, struct cr_error *error);

/* What help prints about an option. */
struct cr_option_about {
    const char *name, *value, *help; /* value: "" if it takes none; help may have several lines */
    int letter;                      /* short form, or 0 */
    bool file;                       /* its value is or contains a file name */
};

/* Fills `about` with option number `index` of a verb; false if there is none. */
bool cr_option_of(const struct cr_verb *verb, int index, struct cr_option_about *about);

void cr_help_verb(FILE *out, const struct cr_verb *verb);

/* Returns the backend of that name, or -1 with an error that lists them. */
int cr_backend_by_name(const char *name, struct cr_error *error);

#endif
