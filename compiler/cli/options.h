/*
 * options.h - the verbs and options of the command line, each from a table.
 */
#ifndef CR_OPTIONS_H
#define CR_OPTIONS_H

#include <stdio.h>

#include "compiler/exec/engine.h"
#include "compiler/frontend/script.h"

/* Values of a repeatable option: NAME=FILE or KEY=VALUE, and plain ones. */
struct cr_pairs {
    struct cr_setting *items;
    int n, cap;
};

struct cr_list {
    const char **items;
    int n, cap;
};

/* What the user asked for. */
struct cr_options {
    const char *model;
    struct cr_pairs set, input, output, expect, cotangent, validation_input;
    struct cr_list weights, skip, vs;
    const char *grads, *expect_grads, *after, *out, *isa, *backend, *backends;
    const char *resume, *checkpoint, *save, *loss_curve;
    bool strict, train, json, kernels, markdown, help, per_kernel, compile_only, turns,
        log_scale;
    int64_t threads, seed, max_ulp, steps, every, log, max_arena, validate_every;
    double atol, rtol, seconds;
    bool seed_given; /* else it is 0 */
};

/* A verb returns 0, 1 if a comparison failed, 2 with the error set, or 130 if a signal ended it
 * early. */
typedef int cr_verb_function(const struct cr_options *options, struct cr_error *error);

struct cr_verb {
    const char *name;
    unsigned bit; /* which options it takes */
    cr_verb_function *run;
    const char *usage;
    const char *summary; /* one line */
    const char *about;   /* the rest of its help */
};

extern const struct cr_verb cr_verbs[];
extern const int cr_n_verbs;

cr_verb_function cr_verb_run, cr_verb_emit, cr_verb_compare, cr_verb_dump, cr_verb_params,
    cr_verb_bench, cr_verb_ops, cr_verb_train;

/* The verb of that name, or null with an error that suggests one. */
const struct cr_verb *cr_verb_find(const char *name, struct cr_error *error);

/* Reads what follows the verb: argv[0] is ignored, as getopt does. */
int cr_options_parse(struct cr_options *options, const struct cr_verb *verb, int argc, char **argv,
                     struct cr_error *error);
void cr_options_free(struct cr_options *options);

/* A copy whose lists are its own, to be changed and freed. */
struct cr_options cr_options_copy(const struct cr_options *options);

/* As if `--name text` had been given, too, for the options that `bench --vs` may change. */
int cr_options_set(struct cr_options *options, const char *name, const char *text,
                   struct cr_error *error);

void cr_help(FILE *out);
void cr_help_verb(FILE *out, const struct cr_verb *verb);

/* The backend of that name, or -1 with an error that lists them. */
int cr_backend_by_name(const char *name, struct cr_error *error);

#endif
