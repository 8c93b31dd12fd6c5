/* tensors.h - what goes into an engine: parameters and inputs, from files or at random. */
#ifndef CR_TENSORS_H
#define CR_TENSORS_H

#include "compiler/files/npy.h"
#include "compiler/files/safetensors_read.h"
#include "engine.h"
#include "kept_weights.h"
#include "weight_files.h"

/* Tensors in files of weights that the model does not have. */
struct cr_surplus {
    int count;
    char name[160]; /* of the first, quoted */
    const char *file;
};

/* The elements of a parameter that a file has. */
struct cr_contents cr_contents_of_file(const struct cr_file_tensor *tensor);

/* Every parameter from safetensors files and folders of them; where several have a name the last one
 * counts.  `family`: the model_type of config.json, whose names may differ (weight_names.h); or null.
 * surplus->file is one of the paths.  With `kept`, weights that are kept are mapped and not read; the caller
 * frees it. */
int cr_load_params(struct cr_engine *engine, const char *const *paths, int n, const char *family,
                   struct cr_kept *kept, struct cr_surplus *surplus, struct cr_error *error);

/* The same from the bytes of a file. */
int cr_load_params_from(struct cr_engine *engine, const struct cr_weight_bytes *bytes, const char *family,
                        struct cr_surplus *surplus, struct cr_error *error);

/* Every parameter as its init says.  A tensor's numbers depend on the seed and its name
 * only. */
int cr_draw_params(struct cr_engine *engine, uint64_t seed, struct cr_error *error);

/* The tensor of a port from a .npy file that is open and has its shape. */
int cr_take_array(const struct cr_port *port, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Input i from such a file; ids are looked at. */
int cr_take_input(const struct cr_engine *engine, int i, const struct cr_npy *file, void *data,
                  struct cr_error *error);

/* Input i from a .npy file. */
int cr_read_input(const struct cr_engine *engine, int i, const char *path, void *data,
                  struct cr_error *error);

/* Refuses, in the name of `path`, ids of input i that are no rows of the table they look up.  With the
 * inputs of a run, what lies past their lengths is not looked at; without, all is: null. */
int cr_check_ids(const struct cr_engine *engine, int i, const char *path, const int32_t *ids,
                 const void *const *inputs, struct cr_error *error);

/* True if the script says with what a parameter or an input starts. */
bool cr_has_init(const struct cr_port *port);

/* Input i as its init says, else at random: standard normal, or uniform ids. */
void cr_draw_input(const struct cr_engine *engine, int i, uint64_t seed, void *data);

#endif
