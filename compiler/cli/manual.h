/* manual.h - manual pages and shell completions, made from the tables of verbs and options. */
#ifndef CR_MANUAL_H
#define CR_MANUAL_H

#include <stdio.h>

#include "compiler/ir/error.h"

/* Prints crescent.1, or crescent-VERB.1, with roff's man macros. */
int cr_put_manual(FILE *out, const char *verb, struct cr_error *error);

/* Prints the completions for "bash", "zsh" or "fish": verbs, their options and file names. */
int cr_put_completion(FILE *out, const char *shell, struct cr_error *error);

#endif
