/*
 * keeping.h - how weights of a case are kept, and products by them summed.
 */
#ifndef CR_FUZZ_KEEPING_H
#define CR_FUZZ_KEEPING_H

#include "oracles.h"

/* The rules of formats and of arithmetics, as of --format and --arithmetic; "" and null mean f32. */
struct cr_keeping {
    char format[48];
    const char *arithmetic;
};

/* Draws formats of weights: f32, one format for all, or one for some names and another for others. */
struct cr_keeping cr_choose_keeping(struct cr_subject *s);

/* Marks the parameters of a graph with their formats and arithmetics.  Fails if a rule is refused. */
int cr_keep_weights(struct cr_graph *g, const struct cr_keeping *keep, struct cr_error *error);

/* True if the report is a correct refusal: of a rule whose pattern matches no parameter, or of an
 * arithmetic that no format has. */
bool cr_is_refused_rule(const struct cr_report *report);

#endif
