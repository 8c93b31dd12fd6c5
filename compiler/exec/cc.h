/*
 * cc.h - the system's C compiler, and the shared object that comes of a text.
 *
 * Nothing has a name on disk: the compiler reads the text from a file in memory and writes into
 * another one, so a program that is interrupted leaves nothing.  A compiler that cannot write
 * there, as its linker makes a file beside the one it is told, gets a folder under $TMPDIR; what
 * was left of one is removed when the next is made.
 */
#ifndef CR_CC_H
#define CR_CC_H

#include "compiler/ir/text.h"
#include "exec.h"

/* The functions that a text has of each entry, of the type cr_execute: NAME_function or
 * NAME_ENTRY_function. */
struct cr_wanted {
    const struct cr_program *program;
    const char *function;
};

/*
 * Compiles a text by $CC (which may hold arguments) or cc, with `options` up to a null, and loads
 * the wanted functions of what comes of it.
 */
int cr_cc_compile(const struct cr_text *text, const char *const *options,
                  const struct cr_wanted *wanted, struct cr_code *code, struct cr_error *error);

#endif
