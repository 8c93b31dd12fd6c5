/* runtime_text.h - the source of the runtime and of the readers of files, built into the program. */
#ifndef CR_RUNTIME_TEXT_H
#define CR_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* Which rows of the tables of elementwise ops and reductions a text needs, and which functions that
 * the runtime marks as "only for NAME"; null: all. */
typedef bool cr_needs_op(void *context, const char *name);

/*
 * Adds a file, by its path from the top folder, with its #include "..." lines replaced by the
 * files they name; a file with an include guard goes in once.  `done` is a zeroed set of such
 * files.
 */
void cr_add_runtime(struct cr_text *text, const char *path, uint64_t *done, cr_needs_op *needs,
                    void *context);

/*
 * Adds the declarations that go before a program's text for a compiler that has no runtime source:
 * the types of the runtime, and of its functions those that the program calls, each where it stands
 * in this build's tables.
 */
void cr_put_declarations(struct cr_text *text, const struct cr_program *program);

#endif
