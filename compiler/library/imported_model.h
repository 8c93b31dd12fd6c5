/* imported_model.h - an imported ONNX file, shared by everything made from it. */
#ifndef CR_IMPORTED_MODEL_H
#define CR_IMPORTED_MODEL_H

#include "compiler/exec/kept_weights.h"
#include "compiler/import/import.h"
#include "handles.h"

struct cr_imported {
    int references;
    struct cr_import import;
};

/* Imports a file.  Settings are sizes for its symbols and values of its inputs; another setting is
 * an error unless it is optional.  Returns null with an error on failure. */
struct cr_imported *cr_imported_open(const char *path, const struct cr_setting *settings, int n,
                                     const crescent_script *how, struct cr_error *error);
struct cr_imported *cr_imported_refer(struct cr_imported *imported);
void cr_imported_release(struct cr_imported *imported);

/* True if an input of the ONNX file became a constant of the script, so that the script does not
 * have it. */
bool cr_imported_has_pinned(const struct cr_imported *imported, const char *name);

/* Sets all parameters to the weights of the file.  If `kept` is not null, packed weights in the
 * cache are mapped instead; the caller frees `kept`. */
int cr_imported_load(const struct cr_imported *imported, struct cr_engine *engine,
                     struct cr_kept *kept, struct cr_error *error);

#endif
