/* load_tensors.h - reads or draws an engine's parameters and inputs. */
#ifndef CR_LOAD_TENSORS_H
#define CR_LOAD_TENSORS_H

#include "compiler/files/npy.h"
#include "compiler/files/safetensors_read.h"
#include "engine.h"
#include "kept_weights.h"
#include "weight_files.h"

/* Tensors in files of weights that no parameter uses. */
struct cr_surplus {
    int count;
    char name[160]; /* name of the first, quoted */
    const char *file;
};

/* Returns the elements of a tensor in a file as contents of a parameter. */
struct cr_contents cr_contents_of_file(const struct cr_file_tensor *tensor);

/* Loads every parameter from safetensors or GGUF files and folders of them.  If several files
 * have a name, the last one counts.  `family` is the model_type of config.json, for alternative
 * names (weight_names.h); or null. surplus->file is one of the paths.  With `kept`, cached
 * weights are mapped instead of read; the caller frees it. */
int cr_load_params(struct cr_engine *engine, const char *const *paths, int n, const char *family,
                   struct cr_kept *kept, struct cr_surplus *surplus, struct cr_error *error);

/* Does the same with the bytes of a file. */
int cr_load_params_from(struct cr_engine *engine, const struct cr_weight_bytes *bytes, const char *family,
                        struct cr_surplus *surplus, struct cr_error *error);

/* Draws every parameter as its init says.  A tensor's numbers depend only on the seed and its
 * name. */
int cr_draw_params(struct cr_engine *engine, uint64_t seed, struct cr_error *error);

/* Reads the tensor of a port from an open .npy file; fails unless it has the port's shape. */
int cr_take_array(const struct cr_port *port, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Reads input i from an open .npy file, and checks its ids. */
int cr_take_input(const struct cr_engine *engine, int i, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Reads input i from a .npy file. */
int cr_read_input(const struct cr_engine *engine, int i, const char *path, void *data,
                  struct cr_error *error);

/* Fails if ids of input i exceed the rows of the table they index; `path` is for the message.  With
 * the inputs of a run, elements past their lengths are not checked; with null, all are. */
int cr_check_ids(const struct cr_engine *engine, int i, const char *path, const int32_t *ids,
                 const void *const *inputs, struct cr_error *error);

/* True if the script states the initial values of a parameter or an input. */
bool cr_has_init(const struct cr_port *port);

/* Fills input i as its init says, else at random: standard normal, or uniform ids. */
void cr_draw_input(const struct cr_engine *engine, int i, uint64_t seed, void *data);

/* True if a port has this shape. */
bool cr_has_shape(const struct cr_port *port, int rank, const int64_t *shape);

#endif
