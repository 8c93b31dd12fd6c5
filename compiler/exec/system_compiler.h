/*
 * system_compiler.h - compiles texts by the system's C compiler and loads the shared objects.
 *
 * No file has a name on disk: the compiler reads the text from a file in memory and writes its
 * output to another one, so a program that is interrupted leaves no files behind.  If a compiler
 * cannot write there, because its linker makes a temporary file beside the output, it gets a
 * folder under $TMPDIR. Folders left by interrupted programs are removed when the next folder is
 * made.
 */
#ifndef CR_SYSTEM_COMPILER_H
#define CR_SYSTEM_COMPILER_H

#include "compiler/ir/text.h"
#include "exec.h"

/* The functions to find in a shared object: for each entry one of type cr_execute, called
 * NAME_function or NAME_ENTRY_function. */
struct cr_wanted {
    const struct cr_program *program;
    const char *function;
};

/*
 * Compiles a text by $CC (which may contain arguments) or cc, with a null-terminated list of
 * options, and loads the functions `wanted` from the shared object.
 */
int cr_cc_compile(const struct cr_text *text, const char *const *options,
                  const struct cr_wanted *wanted, struct cr_code *code, struct cr_error *error);

#endif
