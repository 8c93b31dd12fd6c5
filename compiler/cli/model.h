/* model.h - a script run for the command line, and the engines made of it. */
#ifndef CR_MODEL_H
#define CR_MODEL_H

#include "compiler/exec/tensors.h"
#include "options.h"

/* A script after it ran: its graph (until an engine takes it), options, and times. */
struct cr_model {
    const struct cr_options *options;
    struct cr_script script;
    int n_script_outputs; /* the outputs after these are gradients, and taps the user asked for */
    int64_t script_ns;
};

/*
 * Runs the script named by the options.  Names of --output and --expect that are no
 * outputs but taps become outputs, too; --grads adds the gradients as outputs (see grads.h).
 */
int cr_model_load(struct cr_model *model, const struct cr_options *options, struct cr_error *error);
void cr_model_free(struct cr_model *model);

/* Makes an engine of the model's graph, which is gone afterwards. */
int cr_model_open(struct cr_model *model, enum cr_backend backend, struct cr_engine *engine,
                  struct cr_error *error);

/* The backend of --backend. */
enum cr_backend cr_model_backend(const struct cr_options *options);

/* The node of an output or of a tapped value; CR_NONE if the name, given with `option`, is of
 * neither. */
cr_id cr_model_find(const struct cr_model *model, const char *option, const char *name,
                    struct cr_error *error);

/* A tensor for every port.  cr_arrays_inputs makes those of the inputs and fills them: from a
 * file where --input names one, else at random. */
struct cr_arrays {
    void **data;
    int n;
};

int cr_arrays_new(struct cr_arrays *arrays, const struct cr_port *ports, int n,
                  struct cr_error *error);
void cr_arrays_free(struct cr_arrays *arrays);
int cr_arrays_inputs(struct cr_arrays *arrays, const struct cr_engine *engine,
                     const struct cr_options *options, struct cr_error *error);

/* Refuses a file, named by an option for an input of the model, that is for none of them. */
int cr_check_input_names(const struct cr_engine *engine, const char *model, const char *option,
                         const struct cr_pairs *files, struct cr_error *error);

/* Parameters from --weights or --seed; surplus tensors are an error under --strict. */
int cr_fill_params(struct cr_engine *engine, const struct cr_options *options,
                   struct cr_surplus *surplus, struct cr_error *error);

/* A line on stderr about surplus tensors, if there are any: for a verb that succeeded, since
 * a failure says one line only. */
void cr_note_surplus(const struct cr_surplus *surplus);

#endif
