/*
 * verify_program.h - the parts of the check of a program; verify_program.c calls them.
 *
 * Each part relies only on what the parts before it have checked.  All return 0, or -1 with the
 * first fault in *error: "function 3, statement 12: ...".  They take time nearly linear in the size
 * of the program.
 */
#ifndef CR_VERIFY_PROGRAM_H
#define CR_VERIFY_PROGRAM_H

#include "compiler/ir/error.h"
#include "compiler/ir/signature.h"

/* The elements of an argument that a function may access, relative to its start: it reads and
 * writes only lowest .. highest, and writes only first .. last. */
struct cr_reach {
    bool touched, written;
    int64_t lowest, highest;
    int64_t first, last;
};

enum { CR_MAP_SIGNATURES = 3 * 8 * 6 };

/* The program that is checked, and the function and statement that are checked at present. */
struct cr_program_check {
    const struct cr_program *p;
    struct cr_error *error;
    const struct cr_function *f;
    int function, statement;  /* the current function and statement; the statement may be CR_NONE */
    struct cr_reach *reaches; /* the reaches of the slots of all functions, one after the other */
    int *first_reach;         /* by function: the index in `reaches` of the function's first slot */
    bool *kept; /* by statement: true if the statement begins a block that runs for the first item
                   of a call, and whose results later items reuse */
    struct cr_signature *signatures[CR_CALLEE_COUNT + CR_MAP_SIGNATURES]; /* null if not parsed
                                                                             yet */
};

/* Begin and end a check, whose parts the caller calls one by one. */
struct cr_program_check *cr_check_begin(const struct cr_program *program, struct cr_error *error);
void cr_check_end(struct cr_program_check *c);

/* Checks a function completely: calls the three parts below that concern one function. */
int cr_check_function(struct cr_program_check *c, int function);

/* Reports a fault at the current function and statement; returns -1. */
int cr_program_fault(const struct cr_program_check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const struct cr_signature *cr_signature_of(struct cr_program_check *c, const struct cr_call *call);

/* Returns argument i of a call. */
static inline const struct cr_argument *cr_argument_of(const struct cr_function *f,
                                                       const struct cr_call *call, int i)
{
    return &f->arguments[call->first_argument + i];
}

/*
 * Checks a function by itself.  Everything to which it refers exists.  Operands of expressions have
 * smaller indices than the expressions; blocks nest.  Variables are declared before they are used,
 * and set only if they may change.  Arguments of calls have the number, the kinds and the formats
 * given in functions.def.  Only scratch and writable arguments are written.
 */
int cr_verify_function(struct cr_program_check *c);

/*
 * Bounds the addresses of a function.  Addresses in scratch and constants must be inside their
 * slots for any arguments; addresses in arguments determine the reaches of the function.  Counts
 * and dividends may not be negative.
 */
int cr_verify_body(struct cr_program_check *c);

/* Checks scratch: its slots do not overlap, and are inside.  Each is written before it is read.
 * Scratch whose contents later items reuse is not overwritten. */
int cr_verify_scratch(struct cr_program_check *c);

/* Checks the steps.  The formulas of bindings give the buffers of calls; these are large enough for
 * the functions, and are written before they are read.  All outputs are written. */
int cr_verify_calls(struct cr_program_check *c);

#endif
