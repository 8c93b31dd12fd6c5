/* unwind.c - returns to the caller after a fatal error; see unwind.h. */
#include "unwind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

#ifdef CR_DEBUG
enum { debug = 1 };
#else
enum { debug = 0 };
#endif

static _Thread_local struct cr_guard *innermost;

void cr_guard_enter(struct cr_guard *guard, struct cr_error *error)
{
    guard->outer = innermost;
    guard->error = error;
    guard->raise = NULL;
    guard->left = false;
    innermost = guard;
}

void cr_guard_leave(struct cr_guard *guard)
{
    if (guard->left)
        return;
    innermost = guard->outer;
    guard->left = true;
}

void cr_throw(const char *format, ...)
{
    struct cr_guard *guard = innermost;
    struct cr_error lost, *error = guard ? guard->error : &lost;
    va_list args;
    va_start(args, format);
    cr_escape_format(error->text, sizeof error->text, format, args);
    va_end(args);
    if (!guard || (debug && cr_is_bug(error))) {
        fprintf(stderr, "crescent: %s\n", error->text);
        abort();
    }
    if (guard->raise)
        guard->raise(guard->raised_with);
    cr_guard_leave(guard);
    longjmp(guard->back, 1);
}
