/* emission.h - a graph's program as it is written down; see crescent.h. */
#ifndef CR_EMISSION_H
#define CR_EMISSION_H

#include "handles.h"

/* The program of a graph for the target of the configuration, or the generic one: what is written down
 * does not depend on the machine that writes it.  Null with an error. */
struct cr_program *cr_program_to_emit(const crescent_graph *graph, const crescent_config *config,
                                      struct cr_error *error);

/* The same program in a model, which takes weights. */
int cr_model_to_emit(const crescent_graph *graph, const crescent_config *config,
                     crescent_model **model, struct cr_error *error);

/* Refuses a path that does not end in .c. */
int cr_check_emit_path(const char *path, struct cr_error *error);

#endif
