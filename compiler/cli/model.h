/* model.h - makes a graph, a model, its inputs and its weights from options. */
#ifndef CR_MODEL_H
#define CR_MODEL_H

#include "options.h"

/*
 * Runs the script that the options name.  Makes outputs of the taps that --output and --expect
 * name, and of the gradients that --grads asks for.  If the script returns several entries,
 * --entry chooses one, as if the script had returned only that.
 */
int cr_graph_load(const struct cr_options *options, crescent_graph **graph, struct cr_error *error);

/* As cr_graph_load, for a verb that accepts several entries: the graph has all that the script
 * returns, unless --entry chooses one.  Gradients and training need a single one. */
int cr_graph_load_entries(const struct cr_options *options, crescent_graph **graph,
                          struct cr_error *error);

/* Returns the configuration that the options ask for. */
crescent_config cr_config_of(const struct cr_options *options, crescent_backend backend);

/* An array for every port of a kind.  cr_arrays_inputs also fills them: from a file if --input
 * names one, else at random. */
struct cr_arrays {
    void **data;
    int n;
};

int cr_arrays_new(struct cr_arrays *arrays, const crescent_model *model, crescent_port_kind kind,
                  const struct cr_options *options, struct cr_error *error);
void cr_arrays_free(struct cr_arrays *arrays);
int cr_arrays_inputs(struct cr_arrays *arrays, const crescent_model *model,
                     const struct cr_options *options, struct cr_error *error);

/* Returns a port, which must exist.  cr_sized_port gives it the sizes of a run with these
 * inputs. */
crescent_port cr_port_of(const crescent_model *model, crescent_port_kind kind, int index);
crescent_port cr_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                            const struct cr_arrays *inputs);

/* Moves the elements that a run with these inputs wrote to an output to the start of `data`, whose
 * elements have `width` bytes. */
void cr_pack_output(const crescent_model *model, int index, const struct cr_arrays *inputs,
                    size_t width, void *data);

/* Returns the report of a model. */
crescent_report cr_report_of_model(const crescent_model *model);

/* Fills parameters from --weights or --seed.  With --strict, surplus tensors are an error. */
int cr_fill_params(crescent_model *model, const struct cr_options *options,
                   crescent_surplus *surplus, struct cr_error *error);

/* Caches the packed weights of a model for the next run if they are large and not cached yet.  A
 * child process writes them and may outlive this one, so call it when the verb has done its
 * work. */
void cr_cache_params(crescent_model *model);

/* Prints a line on stderr if there are surplus tensors.  Only for a verb that succeeds: a failure
 * prints only its error. */
void cr_note_surplus(const crescent_surplus *surplus);

#endif
