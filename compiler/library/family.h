/* family.h - which script makes the model of a folder or of a GGUF file. */
#ifndef CR_FAMILY_H
#define CR_FAMILY_H

#include "handles.h"

/*
 * Sets the script of an origin whose weights are in `folder`, a folder or a GGUF file, by o->family, its
 * model_type (null: it says none): `script`, a path, if that is not null; else the one that is built in
 * under the name; else NAME.lua in the folder, in a folder of $CRESCENT_PATH, or installed.  Fails if there
 * is none.
 */
int cr_take_family(struct cr_origin *o, const char *folder, const char *script,
                   struct cr_error *error);

/* The path of the script that the same finds for a model_type, to be freed; null if there is none. */
char *cr_family_script(const char *folder, const char *family);

#endif
