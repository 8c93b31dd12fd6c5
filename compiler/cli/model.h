/* model.h - from options to a graph, a model, its inputs and its weights. */
#ifndef CR_MODEL_H
#define CR_MODEL_H

#include "options.h"

/*
 * Runs the script named by the options.  Names of --output and --expect that are no
 * outputs but taps become outputs, too; --grads adds the gradients as outputs.
 * Of several entries --entry chooses one, and the graph is as if the script had returned that.
 */
int cr_graph_load(const struct cr_options *options, crescent_graph **graph, struct cr_error *error);

/* The same for a verb that can do something with several entries: all of those that the script
 * returns, unless --entry chooses one.  Gradients and a training are of one. */
int cr_graph_load_entries(const struct cr_options *options, crescent_graph **graph,
                          struct cr_error *error);

/* How the options want a graph compiled. */
crescent_config cr_config_of(const struct cr_options *options, crescent_backend backend);

/* A tensor for every port.  cr_arrays_inputs makes those of the inputs and fills them: from a
 * file where --input names one, else at random. */
struct cr_arrays {
    void **data;
    int n;
};

int cr_arrays_new(struct cr_arrays *arrays, const crescent_model *model, crescent_port_kind kind,
                  const struct cr_options *options, struct cr_error *error);
void cr_arrays_free(struct cr_arrays *arrays);
int cr_arrays_inputs(struct cr_arrays *arrays, const crescent_model *model,
                     const struct cr_options *options, struct cr_error *error);

/* A port of a model that has it; cr_sized_port with the sizes of a run that has taken these inputs. */
crescent_port cr_port_of(const crescent_model *model, crescent_port_kind kind, int index);
crescent_port cr_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                            const struct cr_arrays *inputs);

/* What there is of an output of such a run comes to the beginning of `data`, whose elements have `width`
 * bytes. */
void cr_pack_output(const crescent_model *model, int index, const struct cr_arrays *inputs,
                    size_t width, void *data);

/* What was compiled. */
crescent_report cr_report_of_model(const crescent_model *model);

/* Parameters from --weights or --seed; surplus tensors are an error under --strict. */
int cr_fill_params(crescent_model *model, const struct cr_options *options,
                   crescent_surplus *surplus, struct cr_error *error);

/* Keeps packed weights of a model for the next run, if they are many and not kept yet: a process of its own
 * writes them, which goes on when this one has ended.  For a verb that has done its work. */
void cr_cache_params(crescent_model *model);

/* A line on stderr about surplus tensors, if there are any: for a verb that succeeded, since
 * a failure says one line only. */
void cr_note_surplus(const crescent_surplus *surplus);

#endif
