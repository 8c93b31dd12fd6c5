/*
 * next_state.h - finds the outputs of a training step that the next step reads: an output with
 * the name of a parameter or an input is the next value of that port.  In a step over
 * micro-batches these are outputs of the entry update; outputs of the entry micro_batch are
 * summed to inputs of update.
 */
#ifndef CR_NEXT_STATE_H
#define CR_NEXT_STATE_H

#include "emit.h"

/* The ports of a training step.  The arrays belong to the caller. */
struct cr_ports {
    const struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
};

struct cr_next_state {
    int *to_param, *to_input; /* by output: the parameter or input whose next value it is, or
                               * CR_NONE */
    bool *is_state;           /* by input: true if an output is its next value */
    int micro_batches;        /* number of micro-batches of a step; 0: the step has only one
                               * entry */
    int *to_sum;              /* by output: the input that is its sum over micro-batches, or
                               * CR_NONE */
    bool *is_sum;             /* by input: true if it is the sum of an output over micro-batches */
    int number;               /* index of the input that is the number of the micro-batch, or
                               * CR_NONE */
};

/* Finds the ports that outputs replace.  `micro_batches` is the number of micro-batches, 0 for a
 * step with only one entry. Fails if an output differs in shape or type from its port, or if no
 * parameter is replaced; the message names the script at `path`. */
int cr_next_state_find(struct cr_next_state *next_state, const struct cr_ports *ports,
                       int micro_batches, const char *path, struct cr_error *error);

void cr_next_state_free(struct cr_next_state *next_state);

#endif
