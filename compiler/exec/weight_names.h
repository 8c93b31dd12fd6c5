/*
 * weight_names.h - the names that a parameter may have in files of Hugging Face.  The names in a
 * checkpoint of a base model lack the prefix that a model with a head has, or vice versa.  A table
 * that is also the head may be stored under either name.  Some files contain tensors that are not
 * parameters.
 */
#ifndef CR_WEIGHT_NAMES_H
#define CR_WEIGHT_NAMES_H

#include <stdbool.h>

#include "compiler/ir/hash.h"
#include "weight_files.h"

/* Alternatives from CR_WEIGHT_HEADS on are names of the head, of a table that is also the head. */
enum { CR_WEIGHT_HEADS = 9, CR_WEIGHT_NAMES = 18 };

/* Writes alternative i of the names that a parameter may have in files of a `family`, in the
 * order of search.  Returns false if there are at most i.  Alternative 0 is the parameter's own
 * name. */
bool cr_weight_name(char *other, size_t size, const char *name, const char *family,
                    const struct cr_names *params, int i);

/* Finds the tensor of a parameter: under its own name or, with a `family` (the model_type of a
 * config.json, or null), under the first alternative name that exists.  `params` has the names
 * of all parameters.  Returns null if there is none. */
const struct cr_st_tensor *cr_weight_find(const struct cr_weight_files *files, const char *name,
                                          const char *family, const struct cr_names *params,
                                          const struct cr_weight_file **file);

/* Finds the tensor of a separate head beside the tensor of `name`, an embedding table that is also the
 * head of the model.  Returns null if there is none. */
const struct cr_st_tensor *cr_weight_find_head(const struct cr_weight_files *files, const char *name,
                                               const char *family, const struct cr_names *params,
                                               const struct cr_weight_file **file);

/* True if a tensor that no parameter uses is one that files of such models contain without need: a
 * mask, a table of angles, a head that equals the embedding table. */
bool cr_weight_is_buffer(const char *name);

/* Returns ending number i of the names of such tensors; null past the last. */
const char *cr_weight_buffer(int i);

#endif
