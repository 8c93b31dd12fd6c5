/*
 * verify_program.h - the parts of the check of a program; verify_program.c puts them together.
 *
 * Each part relies on what the parts before it have checked, and on nothing else.  All return 0, or
 * -1 with the first fault in *error: "function 3, statement 12: ...".  Their time is nearly linear
 * in the size of the program.
 */
#ifndef CR_VERIFY_PROGRAM_H
#define CR_VERIFY_PROGRAM_H

#include "compiler/ir/error.h"
#include "compiler/ir/signature.h"

/* The elements of an argument that a function touches, relative to its start: it reads and writes
 * only lowest .. highest, and writes only first .. last. */
struct cr_reach {
    bool touched, written;
    int64_t lowest, highest;
    int64_t first, last;
};

enum { CR_MAP_SIGNATURES = 3 * 8 * 6 };

/* The program that is checked, and the current function. */
struct cr_program_check {
    const struct cr_program *p;
    struct cr_error *error;
    const struct cr_function *f;
    int function, statement;  /* the current ones; statement may be CR_NONE */
    struct cr_reach *reaches; /* of the slots of all functions */
    int *first_reach;         /* by function: the reach of its first slot */
    bool *kept; /* by statement: it begins a block that runs for the first item of a call, and whose
                 * results later items reuse */
    struct cr_signature *signatures[CR_CALLEE_COUNT + CR_MAP_SIGNATURES]; /* null: not yet parsed */
};

/* Begin and end a check whose parts are called one by one. */
struct cr_program_check *cr_check_begin(const struct cr_program *program, struct cr_error *error);
void cr_check_end(struct cr_program_check *c);

/* Checks all of a function: the three parts below that concern one function. */
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
 * Checks a function by itself.  All that it refers to exists.  Operands of expressions come before
 * the expressions; blocks nest.  Variables are declared before they are used, and set only if they
 * may change.  Arguments of calls have the number, the kinds and the formats of functions.def.
 * Only scratch and writable arguments are written.
 */
int cr_verify_function(struct cr_program_check *c);

/*
 * Bounds the addresses of a function.  Addresses in scratch and constants must lie inside for any
 * arguments; addresses in arguments become the reaches of the function.  Counts and dividends may
 * not be negative.
 */
int cr_verify_body(struct cr_program_check *c);

/* Checks scratch: its parts do not overlap and lie inside.  Each is written before it is read.
 * Scratch that is kept from item to item is not overwritten. */
int cr_verify_scratch(struct cr_program_check *c);

/* Checks the steps.  The closed forms of bindings give the buffers of calls; these are large enough
 * for the functions, and are written before they are read.  All outputs are written. */
int cr_verify_calls(struct cr_program_check *c);

#endif
