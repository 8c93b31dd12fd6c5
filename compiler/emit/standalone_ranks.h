/*
 * standalone_ranks.h - prints what a standalone model for several processes of MPI has beyond that of one: what
 * they exchange, and where a process finds its part of the parameters.  For a model of one process nothing is
 * printed.
 */
#ifndef CR_STANDALONE_RANKS_H
#define CR_STANDALONE_RANKS_H

#include "standalone_text.h"

/* Appends the macro NAME_RANKS and its comment, for the header. */
void cr_put_ranks_macro(struct cr_text *t, const struct cr_standalone *w);

/* Appends struct cr_ranks, which the steps call. */
void cr_put_ranks_type(struct cr_text *t, const struct cr_standalone *w);

/* Appends the functions that call MPI. */
void cr_put_ranks_source(struct cr_text *t, const struct cr_standalone *w);

#endif
