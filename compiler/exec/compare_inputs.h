/* compare_inputs.h - ranks that run a model together run it with the same inputs. */
#ifndef CR_COMPARE_INPUTS_H
#define CR_COMPARE_INPUTS_H

#include "compiler/ir/error.h"
#include "engine.h"

/* Fails, before a run, if those inputs of ranks differ, or if one of them does not run but has
 * ended: inputs number[0] .. number[n - 1], or the first n if `number` is null.  One rank alone has
 * nothing to compare. */
int cr_compare_inputs(const struct cr_engine *engine, const int *number, int n, const void *const *inputs,
                      struct cr_error *error);

#endif
