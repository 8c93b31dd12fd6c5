/*
 * engine_parts.h - what backends use of an engine: its ports and its memory.
 */
#ifndef CR_ENGINE_PARTS_H
#define CR_ENGINE_PARTS_H

#include "engine.h"

/* ---- ports: engine_ports.c ---- */

/* Reads the ports, entries and lengths of a graph. */
void cr_engine_read_ports(struct cr_engine *engine, const struct cr_graph *graph);
void cr_engine_free_ports(struct cr_engine *engine);

/* Finds where a program has the parameters, and in which formats and arithmetics. */
void cr_engine_match_params(struct cr_engine *engine, const struct cr_program *program);

/* Finds where the engine's program has all ports, parameters included. */
void cr_engine_match_program(struct cr_engine *engine);

/* Fills `program_inputs`: inputs and states in the order of the program or the interpreter. */
void cr_engine_gather_inputs(struct cr_engine *engine, const void *const *inputs);

/* Refuses a length of a run that is out of its bounds. */
int cr_engine_check_lengths(const struct cr_engine *engine, const void *const *inputs,
                            struct cr_error *error);

/* ---- memory: engine_memory.c ---- */

/* Fails if the machine cannot hold weights and arena of so many bytes together with the ports.  The function
 * allocates nothing; the message says how to need less. */
int cr_engine_check_memory(const struct cr_engine *engine, int64_t weights, int64_t arena,
                           struct cr_error *error);

/* Makes room for the states, and for the list of what comes in. */
int cr_engine_make_states(struct cr_engine *engine, struct cr_error *error);

#endif
