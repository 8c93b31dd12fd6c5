/* runtime_text.h - the source texts of the runtime and of the file readers, which are embedded in
 * the program. */
#ifndef CR_RUNTIME_TEXT_H
#define CR_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/*
 * True if a text needs the op, function, format or instruction set `name`.  Table rows of ops and
 * functions that are not needed are omitted, and so are lines marked "only for NAME, NAME" if
 * none of the names is needed.  A mark on a line of its own applies to the function or macro
 * after it.  Null: everything is needed.
 */
typedef bool cr_needs_op(void *context, const char *name);

/* The path of the runtime's template, which runtime.c includes once for each instruction set. */
#define CR_TEMPLATE_FILE "runtime/runtime.inc"

/*
 * Adds a file of the runtime, given by its path from the top folder, and replaces #include "..."
 * lines by the files that they name.  A file with an include guard is added once; `done`, 0 at
 * first, is the set of files added so far.  An include of the template becomes #include
 * CR_TEMPLATE, a macro for the name of the emitted file, so that the template appears once in the
 * text.  If `needs` is true for CR_TEMPLATE_FILE, the template's text is added instead, each
 * time. With `needs`, rows of the tables of functions contain only the names.
 */
void cr_add_runtime(struct cr_text *text, const char *path, uint64_t *done, cr_needs_op *needs,
                    void *context);

/* Adds the comment that describes a function: that of its row in a table of the runtime, in the
 * header at `path`.  Adds nothing if the row has no comment. */
void cr_put_description(struct cr_text *text, const char *path, const char *name);

/*
 * Adds the declarations that a program's text needs to be compiled without the runtime's source:
 * the runtime's types, and the functions that the program calls, at their offsets in this build's
 * tables.
 */
void cr_put_declarations(struct cr_text *text, const struct cr_program *program);

#endif
