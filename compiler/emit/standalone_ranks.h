/*
 * standalone_ranks.h - prints the parts of a standalone file for a model that runs as several
 * processes of MPI: the functions that exchange values, and the tables of each process's part of
 * the parameters.  Prints nothing for a model of one process.
 */
#ifndef CR_STANDALONE_RANKS_H
#define CR_STANDALONE_RANKS_H

#include "standalone_text.h"

/* Appends the macro NAME_RANKS and its comment, for the header. */
void cr_put_ranks_macro(struct cr_text *t, const struct cr_standalone *w);

/* Appends struct cr_ranks, which contains the functions that steps call. */
void cr_put_ranks_type(struct cr_text *t, const struct cr_standalone *w);

/* Appends the functions that call MPI. */
void cr_put_ranks_source(struct cr_text *t, const struct cr_standalone *w);

#endif
