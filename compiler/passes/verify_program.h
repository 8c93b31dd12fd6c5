/*
 * verify_program.h - the parts of the check of a program; verify_program.c puts them together.
 *
 * Each takes what the parts before it found to be fine for granted, and nothing else.  All return
 * 0, or -1 and in *error the first thing that is wrong: "function 3, statement 12: ...".  Their
 * time is near linear in the size of the program.
 */
#ifndef CR_VERIFY_PROGRAM_H
#define CR_VERIFY_PROGRAM_H

#include "compiler/ir/error.h"
#include "compiler/ir/signature.h"

/* Elements of an argument that a function touches, from where it begins: all of those that it
 * reads or writes lie in lowest .. highest, all that it writes in first .. last. */
struct cr_reach {
    bool touched, written;
    int64_t lowest, highest;
    int64_t first, last;
};

enum { CR_MAP_SIGNATURES = 3 * 8 * 6 };

/* A program that is looked at, and one function of it. */
struct cr_program_check {
    const struct cr_program *p;
    struct cr_error *error;
    const struct cr_function *f;
    int function, statement;  /* where we are; statement: or CR_NONE */
    struct cr_reach *reaches; /* by bound slot of all functions */
    int *first_reach;         /* by function */
    bool *kept; /* by statement: it begins a block that runs for a call's first item, and makes for
                 * it what later items find there */
    struct cr_signature *signatures[CR_CALLEE_COUNT + CR_MAP_SIGNATURES]; /* null: not yet parsed */
};

/* A check of the program, for its parts one by one. */
struct cr_program_check *cr_check_begin(const struct cr_program *program, struct cr_error *error);
void cr_check_end(struct cr_program_check *c);

/* All of a function: the three parts that are of one. */
int cr_check_function(struct cr_program_check *c, int function);

/* Fails where the check is. */
int cr_program_fault(const struct cr_program_check *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const struct cr_signature *cr_signature_of(struct cr_program_check *c, const struct cr_call *call);

/* A call's argument. */
static inline const struct cr_argument *cr_argument_of(const struct cr_function *f,
                                                       const struct cr_call *call, int i)
{
    return &f->arguments[call->first_argument + i];
}

/*
 * A function by itself: all it names is there, operands of expressions come before them, bodies
 * nest, variables are declared before they are used and set only if they may change; calls are of
 * the number, the kinds and the formats of arguments that functions.def asks for; nothing is
 * written but scratch and arguments that are for it.
 */
int cr_verify_function(struct cr_program_check *c);

/*
 * How far its addresses reach: inside scratch and constants whatever a call is given, and for
 * arguments into the function's reaches.  Counts are not negative, and neither is what is divided.
 */
int cr_verify_body(struct cr_program_check *c);

/* Scratch: its parts lie apart and inside; each is written before it is read, and what is kept from
 * item to item is the same for those items. */
int cr_verify_scratch(struct cr_program_check *c);

/* Steps: what calls bind is what the forms of bindings say, is large enough for the functions, and
 * holds what it is read for.  All outputs are written. */
int cr_verify_calls(struct cr_program_check *c);

#endif
