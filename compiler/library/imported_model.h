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

/* Imports a file.  Settings are sizes of its symbols and values of its inputs; any other fails
 * unless it is optional.  Null with an error on failure. */
struct cr_imported *cr_imported_open(const char *path, const struct cr_setting *settings, int n,
                                     const crescent_script *how, struct cr_error *error);
struct cr_imported *cr_imported_refer(struct cr_imported *imported);
void cr_imported_release(struct cr_imported *imported);

/* True if the script was made with constant elements for an input, and no longer has that input. */
bool cr_imported_has_pinned(const struct cr_imported *imported, const char *name);

/* Fills all parameters with the weights of the file.  With `kept`, weights in the cache are mapped
 * and not read; the caller frees it. */
int cr_imported_load(const struct cr_imported *imported, struct cr_engine *engine,
                     struct cr_kept *kept, struct cr_error *error);

#endif
