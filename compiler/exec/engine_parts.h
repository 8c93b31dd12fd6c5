/* engine_parts.h - the functions of the engine that backends call: for its ports and its memory. */
#ifndef CR_ENGINE_PARTS_H
#define CR_ENGINE_PARTS_H

#include "engine.h"

/* ---- ports: engine_ports.c ---- */

/* Fills the engine's ports, entries and lengths from a graph. */
void cr_engine_read_ports(struct cr_engine *engine, const struct cr_graph *graph);
void cr_engine_free_ports(struct cr_engine *engine);

/* Finds the index of each parameter in a program, and copies its format and arithmetic from
 * there. */
void cr_engine_match_params(struct cr_engine *engine, const struct cr_program *program);

/* Finds the index of every port, parameters included, in the engine's program. */
void cr_engine_match_program(struct cr_engine *engine);

/* Fills `program_inputs` with pointers to inputs and states, in the order of the program or the
 * interpreter. */
void cr_engine_gather_inputs(struct cr_engine *engine, const void *const *inputs);

/* Fails if a length of a run is out of bounds. */
int cr_engine_check_lengths(const struct cr_engine *engine, const void *const *inputs,
                            struct cr_error *error);

/* ---- memory: engine_memory.c ---- */

/* Fails if the machine's memory cannot hold weights and arena of these sizes together with the
 * ports. Allocates nothing; the message says how to need less memory. */
int cr_engine_check_memory(const struct cr_engine *engine, int64_t weights, int64_t arena,
                           struct cr_error *error);

/* Allocates the states, and `program_inputs`. */
int cr_engine_make_states(struct cr_engine *engine, struct cr_error *error);

#endif
