/* load_tensors.h - fills an engine's parameters and inputs from files or with random numbers. */
#ifndef CR_LOAD_TENSORS_H
#define CR_LOAD_TENSORS_H

#include "compiler/files/npy.h"
#include "compiler/files/safetensors_read.h"
#include "engine.h"
#include "kept_weights.h"
#include "weight_files.h"

/* Tensors in files of weights that no parameter uses: their number, and one file that contains
 * some. */
struct cr_surplus {
    int count;
    char name[160]; /* name of the first tensor, in quotes */
    const char *file;
};

/* Returns contents that read a tensor of a file as elements of a parameter. */
struct cr_contents cr_contents_of_file(const struct cr_file_tensor *tensor);

/* Loads every parameter from safetensors or GGUF files or from folders of them.  If several files
 * contain a name, the last one counts.  `family` is the model_type of config.json, for
 * alternative names (weight_names.h); or null. surplus->file is one of the paths.  If `kept` is
 * not null, kept weights are mapped instead of read; the caller frees *kept. */
int cr_load_params(struct cr_engine *engine, const char *const *paths, int n, const char *family,
                   struct cr_kept *kept, struct cr_surplus *surplus, struct cr_error *error);

/* Loads every parameter, as cr_load_params does, from one file whose bytes are in memory. */
int cr_load_params_from(struct cr_engine *engine, const struct cr_weight_bytes *bytes, const char *family,
                        struct cr_surplus *surplus, struct cr_error *error);

/* Fills every parameter with numbers drawn by its init.  They depend only on the seed and the
 * parameter's name. */
int cr_draw_params(struct cr_engine *engine, uint64_t seed, struct cr_error *error);

/* Reads an open .npy file into `data`; fails unless the array has the port's shape. */
int cr_take_array(const struct cr_port *port, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Reads an open .npy file as input i into `data`; checks that its ids are rows of a table. */
int cr_take_input(const struct cr_engine *engine, int i, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Reads the .npy file at a path as input i into `data`, as cr_take_input does. */
int cr_read_input(const struct cr_engine *engine, int i, const char *path, void *data,
                  struct cr_error *error);

/* Fails if an id of input i is not a row of the table that it indexes; `path` is for the message.
 * `inputs` are the inputs of a run: elements beyond their lengths are not checked.  If it is
 * null, all elements are checked. */
int cr_check_ids(const struct cr_engine *engine, int i, const char *path, const int32_t *ids,
                 const void *const *inputs, struct cr_error *error);

/* True if the script gives a parameter or an input an init. */
bool cr_has_init(const struct cr_port *port);

/* Fills input i by its init; without one, with standard normal numbers or with uniform ids. */
void cr_draw_input(const struct cr_engine *engine, int i, uint64_t seed, void *data);

/* True if a port has this shape. */
bool cr_has_shape(const struct cr_port *port, int rank, const int64_t *shape);

#endif
