/* manual.h - generates manual pages and shell completions from the tables of verbs and options. */
#ifndef CR_MANUAL_H
#define CR_MANUAL_H

#include <stdio.h>

#include "compiler/ir/error.h"

/* Writes a manual page with the man macros of roff: crescent.1 or, if `verb` is not "",
 * crescent-VERB.1. */
int cr_put_manual(FILE *out, const char *verb, struct cr_error *error);

/* Writes completions for "bash", "zsh" or "fish": verbs, their options, and file names. */
int cr_put_completion(FILE *out, const char *shell, struct cr_error *error);

#endif
