/*
 * next_state.h - finds the outputs of a training step that the next step reads: an output with the
 * name of a parameter or an input is its next value.
 */
#ifndef CR_NEXT_STATE_H
#define CR_NEXT_STATE_H

#include "emit.h"

/* The ports of a step; it does not own the arrays. */
struct cr_ports {
    const struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
};

struct cr_next_state {
    int *to_param, *to_input; /* by output: the port whose next value it is, or CR_NONE */
    bool *is_state;           /* by input: an output is its next value */
};

/* Finds the ports that outputs replace.  Fails if an output differs in shape or type from its port,
 * or if no parameter is replaced; the message names the script at `path`. */
int cr_next_state_find(struct cr_next_state *next_state, const struct cr_ports *ports, const char *path,
                     struct cr_error *error);
void cr_next_state_free(struct cr_next_state *next_state);

#endif
