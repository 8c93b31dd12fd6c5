/*
 * guard.h - returns to the caller when memory runs out, or when a bug is found.
 */
#ifndef CR_GUARD_H
#define CR_GUARD_H

#include <setjmp.h>

#include "error.h"

struct cr_guard {
    jmp_buf back;
    struct cr_guard *outer;
    struct cr_error *error;
    void (*raise)(void *); /* called instead of the jump, must not return; or null */
    void *raised_with;     /* its argument */
    bool left;
};

void cr_guard_enter(struct cr_guard *guard, struct cr_error *error);

/* Leaves the innermost guard; does nothing if this one was left already. */
void cr_guard_leave(struct cr_guard *guard);

/* Sets the error of the innermost guard and jumps there, or calls its `raise`.  In a debug build a
 * bug aborts the process instead, for a debugger.  Without a guard the process ends, too; so every
 * function of crescent.h that can get here enters one. */
_Noreturn void cr_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a bug if a condition does not hold: "bug: FILE:LINE: not so: CONDITION". */
#define CR_CHECK(condition)                                                                        \
    ((condition) ? (void)0 : cr_give_up("bug: %s:%d: not so: %s", __FILE__, __LINE__, #condition))

#endif
