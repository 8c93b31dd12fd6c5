/*
 * weight_names.h - what a parameter may be called in files of Hugging Face.  A checkpoint of a base
 * model lacks what stands before its names in one of a model with a head, or the other way round; a
 * table that is also the head may be stored as either; and some files hold what is no parameter.
 */
#ifndef CR_WEIGHT_NAMES_H
#define CR_WEIGHT_NAMES_H

#include <stdbool.h>

#include "compiler/ir/hash.h"
#include "weight_files.h"

enum { CR_WEIGHT_NAMES = 18 };

/* Name number i, from 0 on, under which a parameter may stand in files of a `family`, in the order in
 * which they are looked for; false if it has none of that number.  Number 0 is its own. */
bool cr_weight_name(char *other, size_t size, const char *name, const char *family,
                    const struct cr_names *params, int i);

/* The tensor of a parameter: under its own name or, for a `family` (the model_type of a config.json, or
 * null for none), under the first of the other names that is there.  `params` are the names of all.
 * Null if there is none. */
const struct cr_st_tensor *cr_weight_find(const struct cr_weight_files *files, const char *name,
                                          const char *family, const struct cr_names *params,
                                          const struct cr_weight_file **file);

/* Whether a tensor that was taken for no parameter is one that files of such models hold for nothing:
 * a mask, a table of angles, a head that is the table of the embedding. */
bool cr_weight_is_buffer(const char *name);

/* What the names of such tensors end in, by number; null behind the last. */
const char *cr_weight_buffer(int i);

#endif
