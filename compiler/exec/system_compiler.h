/*
 * system_compiler.h - the system's C compiler, and the shared objects that it makes of texts.
 *
 * No file has a name on disk: the compiler reads the text from a file in memory and writes into
 * another one, so a program that is interrupted leaves no files.  A compiler that cannot write
 * there, because its linker makes a temporary file beside the output, gets a folder under $TMPDIR.
 * Folders that interrupted programs left are removed when the next one is made.
 */
#ifndef CR_SYSTEM_COMPILER_H
#define CR_SYSTEM_COMPILER_H

#include "compiler/ir/text.h"
#include "exec.h"

/* Names the functions to look for: each entry has one of type cr_execute, called NAME_function or
 * NAME_ENTRY_function. */
struct cr_wanted {
    const struct cr_program *program;
    const char *function;
};

/*
 * Compiles a text by $CC (which may hold arguments) or cc, with a null-terminated list of options,
 * and loads the wanted functions from the shared object.
 */
int cr_cc_compile(const struct cr_text *text, const char *const *options,
                  const struct cr_wanted *wanted, struct cr_code *code, struct cr_error *error);

#endif
