/* manual.h - pages of the manual and completions of shells, made from the tables of verbs and options. */
#ifndef CR_MANUAL_H
#define CR_MANUAL_H

#include <stdio.h>

#include "compiler/ir/error.h"

/* crescent.1, or crescent-VERB.1, in the man macros of roff. */
int cr_put_manual(FILE *out, const char *verb, struct cr_error *error);

/* Completions of "bash", "zsh" or "fish": verbs, their options, and names of files. */
int cr_put_completion(FILE *out, const char *shell, struct cr_error *error);

#endif
