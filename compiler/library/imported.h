/* imported.h - what an ONNX file became, shared by all that is made of it. */
#ifndef CR_IMPORTED_H
#define CR_IMPORTED_H

#include "compiler/exec/kept_weights.h"
#include "compiler/import/import.h"
#include "handles.h"

struct cr_imported {
    int references;
    struct cr_import import;
};

/* Reads a file; settings are sizes of its symbols and numbers of its inputs, and one that is neither is
 * refused unless it is optional.  Null with an error. */
struct cr_imported *cr_imported_open(const char *path, const struct cr_setting *settings, int n,
                                     const crescent_script *how, struct cr_error *error);
struct cr_imported *cr_imported_refer(struct cr_imported *imported);
void cr_imported_release(struct cr_imported *imported);

/* Whether an input's elements were needed to make the script, which no longer has it. */
bool cr_imported_has_pinned(const struct cr_imported *imported, const char *name);

/* Fills all parameters with the weights of the file.  With `kept`, weights that are kept are mapped
 * and not read; the caller frees it. */
int cr_imported_load(const struct cr_imported *imported, struct cr_engine *engine,
                     struct cr_kept *kept, struct cr_error *error);

#endif
