/* runtime_text.h - the source of the runtime and of the readers of files, built into the program. */
#ifndef CR_RUNTIME_TEXT_H
#define CR_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/*
 * True if a text needs the op, the function, the format or the instruction set `name`.  Rows of the tables
 * of ops and functions are left out otherwise, and so are lines marked "only for NAME, NAME" if no name is
 * needed; a mark in a line of its own is about the function or the macro behind it.  Null: all are needed.
 */
typedef bool cr_needs_op(void *context, const char *name);

/* The template of the runtime, which runtime.c includes once for each instruction set. */
#define CR_TEMPLATE_FILE "runtime/runtime.inc"

/*
 * Adds a file, by its path from the top folder, with its #include "..." lines replaced by the files
 * they name; a file with an include guard is added once.  `done` is the set of such files that were
 * added; it begins as 0.  An include of the template becomes #include CR_TEMPLATE, so that the
 * template can stand once in the text: the macro is the name of the file that has it.  If `needs` is true
 * of CR_TEMPLATE_FILE, the template's text stands there each time.
 */
void cr_add_runtime(struct cr_text *text, const char *path, uint64_t *done, cr_needs_op *needs,
                    void *context);

/*
 * Adds the declarations that a program's text needs if it is compiled without the runtime's source:
 * the types of the runtime, and the functions that the program calls, at their offsets in this
 * build's tables.
 */
void cr_put_declarations(struct cr_text *text, const struct cr_program *program);

#endif
