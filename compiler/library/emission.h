/* emission.h - makes the program of a graph that is going to be emitted; see crescent.h. */
#ifndef CR_EMISSION_H
#define CR_EMISSION_H

#include "handles.h"

/* Returns the program of a graph for the configuration's target, by default the generic one, so
 * that emitted code does not depend on the machine that emits it.  Returns null with an error on
 * failure. */
struct cr_program *cr_program_to_emit(const crescent_graph *graph, const crescent_config *config,
                                      struct cr_error *error);

/* Makes a model of the same program, or of one rank's part of it, into which weights can be
 * loaded. */
int cr_model_to_emit(const crescent_graph *graph, const crescent_config *config, int rank,
                     crescent_model **model, struct cr_error *error);

/* Fails unless a path ends in .c. */
int cr_check_emit_path(const char *path, struct cr_error *error);

#endif
