/*
 * handover.h - what of a step becomes the next step's: an output under the name of a parameter
 * or an input is its next value.
 */
#ifndef CR_HANDOVER_H
#define CR_HANDOVER_H

#include "emit.h"

/* The ports of a step; the arrays belong to somebody else. */
struct cr_ports {
    const struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
};

struct cr_handover {
    int *to_param, *to_input; /* by output: whose next value it is, or CR_NONE */
    bool *is_state;           /* by input: some output is its next value */
};

/* Refuses, in the name of the script at `path`, values of another shape or type than what they
 * replace, and a step that leaves all parameters as they are. */
int cr_handover_find(struct cr_handover *handover, const struct cr_ports *ports, const char *path,
                     struct cr_error *error);
void cr_handover_free(struct cr_handover *handover);

#endif
