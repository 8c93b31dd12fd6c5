/*
 * weight_names.h - the names that a parameter may have in files of Hugging Face.  A file of a
 * base model lacks the prefix that the names in a file of a model with a head have.  A table that
 * is also the head may be stored under either name.  Some files contain tensors that are not
 * parameters.
 */
#ifndef CR_WEIGHT_NAMES_H
#define CR_WEIGHT_NAMES_H

#include <stdbool.h>

#include "compiler/ir/hash.h"
#include "weight_files.h"

/* The number of a parameter's names.  Those from CR_WEIGHT_HEADS on are names of the head, for an
 * embedding table that is also the head. */
enum { CR_WEIGHT_HEADS = 9, CR_WEIGHT_NAMES = 18 };

/* Writes name number i of a parameter in files of a `family`, in the order in which names are
 * tried.  Name 0 is the parameter's own.  Returns false if the parameter has no such name. */
bool cr_weight_name(char *other, size_t size, const char *name, const char *family,
                    const struct cr_names *params, int i);

/* Finds the tensor of a parameter: under its own name or, if `family` (the model_type of a
 * config.json) is not null, under the first alternative name that a file contains.  `params` has
 * the names of all parameters.  Returns null if there is none. */
const struct cr_st_tensor *cr_weight_find(const struct cr_weight_files *files, const char *name,
                                          const char *family, const struct cr_names *params,
                                          const struct cr_weight_file **file);

/* Finds the tensor of a separate head, for the embedding table `name` that the model also uses as
 * its head. Returns null if there is none. */
const struct cr_st_tensor *cr_weight_find_head(const struct cr_weight_files *files, const char *name,
                                               const char *family, const struct cr_names *params,
                                               const struct cr_weight_file **file);

/* True if a tensor that no parameter uses is of a kind that such files often contain needlessly:
 * a mask, a table of angles, a head that equals the embedding table. */
bool cr_weight_is_buffer(const char *name);

/* Returns ending i of the names of such tensors; null past the last one. */
const char *cr_weight_buffer(int i);

#endif
