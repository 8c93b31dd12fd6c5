/* verbs.h - the table of verbs of the command line; each verb has its own file. */
#ifndef CR_VERBS_H
#define CR_VERBS_H

#include "options.h"

cr_verb_function cr_verb_run, cr_verb_emit, cr_verb_compare, cr_verb_dump, cr_verb_params,
    cr_verb_bench, cr_verb_ops, cr_verb_targets, cr_verb_train, cr_verb_tune,
    cr_verb_generate, cr_verb_tokenize, cr_verb_evaluate, cr_verb_explain, cr_verb_inspect,
    cr_verb_import, cr_verb_pack, cr_verb_embed,
    cr_verb_rank, cr_verb_classify;

/* Returns the verb called `name`; null with an error that suggests a similar verb. */
const struct cr_verb *cr_verb_find(const char *name, struct cr_error *error);

/* Returns verb number `index`; null if there are fewer. */
const struct cr_verb *cr_verb_at(int index);

/* Prints the usage of the program. */
void cr_help(FILE *out);

#endif
