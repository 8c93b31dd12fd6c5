/* model.h - makes a graph, a model, its inputs and its weights from options. */
#ifndef CR_MODEL_H
#define CR_MODEL_H

#include "options.h"

/*
 * Runs the script that the options name.  A tapped value named by --output or --expect becomes an
 * output; --grads adds gradients as outputs.  --entry chooses one of several entries; the graph
 * is then as if the script had returned only that entry.
 */
int cr_graph_load(const struct cr_options *options, crescent_graph **graph, struct cr_error *error);

/* Runs the script as cr_graph_load does, for verbs that support several entries: keeps all
 * entries, unless --entry chooses one.  Gradients and training need a single entry. */
int cr_graph_load_entries(const struct cr_options *options, crescent_graph **graph,
                          struct cr_error *error);

/* Returns how the script is to be run by the options; files for its inputs are not part of that. */
crescent_script cr_script_of(const struct cr_options *options);

/* Returns the compiler's configuration by the options. */
crescent_config cr_config_of(const struct cr_options *options, crescent_backend backend);

/* A tensor for each port of a kind.  cr_arrays_inputs allocates the tensors of inputs and fills
 * each from the file of --input or with random numbers. */
struct cr_arrays {
    void **data;
    int n;
};

int cr_arrays_new(struct cr_arrays *arrays, const crescent_model *model, crescent_port_kind kind,
                  const struct cr_options *options, struct cr_error *error);
void cr_arrays_free(struct cr_arrays *arrays);
int cr_arrays_inputs(struct cr_arrays *arrays, const crescent_model *model,
                     const struct cr_options *options, struct cr_error *error);

/* Return port `index`, which must exist.  cr_sized_port returns it with the sizes that it has in
 * a run with these inputs. */
crescent_port cr_port_of(const crescent_model *model, crescent_port_kind kind, int index);
crescent_port cr_sized_port(const crescent_model *model, crescent_port_kind kind, int index,
                            const struct cr_arrays *inputs);

/* Moves the existing elements of an output of a run with these inputs to the beginning of `data`,
 * without gaps; each element has `width` bytes. */
void cr_pack_output(const crescent_model *model, int index, const struct cr_arrays *inputs,
                    size_t width, void *data);

/* Returns the report of a compiled model. */
crescent_report cr_report_of_model(const crescent_model *model);

/* Fills the parameters from --weights or, without that, from --seed.  With --strict, tensors of a
 * file that no parameter uses are an error. */
int cr_fill_params(crescent_model *model, const struct cr_options *options,
                   crescent_surplus *surplus, struct cr_error *error);

/* Caches the packed weights of a model on disk, if they are large and not cached yet.  A child
 * process, which may outlive this one, writes them.  Called when a verb has done its work. */
void cr_cache_params(crescent_model *model);

/* Prints a note on stderr about tensors that no parameter uses.  Only for verbs that succeeded,
 * since a failure prints just one line. */
void cr_note_surplus(const crescent_surplus *surplus);

#endif
