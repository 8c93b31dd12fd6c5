/* compare_inputs.h - checks that ranks which run a model together have the same inputs. */
#ifndef CR_COMPARE_INPUTS_H
#define CR_COMPARE_INPUTS_H

#include "compiler/ir/error.h"
#include "engine.h"

/* Fails, before a run, if the given inputs differ between ranks, or if another rank is about to
 * end instead of running. Compares inputs number[0] .. number[n - 1], or the first n inputs if
 * `number` is null.  Does nothing if there is only one rank. */
int cr_compare_inputs(const struct cr_engine *engine, const int *number, int n, const void *const *inputs,
                      struct cr_error *error);

#endif
