/* emission.h - the program of a graph to be emitted; see crescent.h. */
#ifndef CR_EMISSION_H
#define CR_EMISSION_H

#include "handles.h"

/* Returns the program of a graph for the configuration's target, or for the generic one: emitted
 * code does not depend on the machine that writes it.  Null with an error on failure. */
struct cr_program *cr_program_to_emit(const crescent_graph *graph, const crescent_config *config,
                                      struct cr_error *error);

/* Makes a model of the same program, or of a rank's part of it, so that weights can be loaded. */
int cr_model_to_emit(const crescent_graph *graph, const crescent_config *config, int rank,
                     crescent_model **model, struct cr_error *error);

/* Fails unless a path ends in .c. */
int cr_check_emit_path(const char *path, struct cr_error *error);

#endif
