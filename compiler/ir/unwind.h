/*
 * unwind.h - returns to the caller when memory runs out, or when a bug is found.
 *
 * Functions deep inside cannot return such an error: cr_calloc has no status, and a pass expects
 * every node it builds.  They call cr_throw, which jumps to the innermost guard of the thread.
 * Memory allocated since the guard was entered is lost; locks are never held there.
 *
 *     struct cr_guard guard;
 *     cr_guard_enter(&guard, &error);
 *     if (setjmp(guard.back))
 *         return -1;                // cr_throw was called: the error is set, the guard is left
 *     ...
 *     cr_guard_leave(&guard);
 */
#ifndef CR_UNWIND_H
#define CR_UNWIND_H

#include <setjmp.h>

#include "error.h"

struct cr_guard {
    jmp_buf back;
    struct cr_guard *outer;
    struct cr_error *error;
    void (*raise)(void *); /* called instead of the jump; must not return; may be null */
    void *raised_with;     /* its argument */
    bool left;
};

void cr_guard_enter(struct cr_guard *guard, struct cr_error *error);

/* Leaves the innermost guard; does nothing if `guard` was left already. */
void cr_guard_leave(struct cr_guard *guard);

/* Sets the error of the innermost guard and jumps there, or calls the guard's `raise`.  In a
 * debug build a bug aborts the process instead, for a debugger.  Without a guard the process
 * ends, too; so every function of crescent.h that may call cr_throw enters a guard. */
_Noreturn void cr_throw(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a bug if a condition is false: "bug: FILE:LINE: not so: CONDITION". */
#define CR_CHECK(condition)                                                                        \
    ((condition) ? (void)0 : cr_throw("bug: %s:%d: not so: %s", __FILE__, __LINE__, #condition))

#endif
