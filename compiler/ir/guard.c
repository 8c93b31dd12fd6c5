/* guard.c - the way back to the caller; see guard.h. */
#include "guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

static _Thread_local struct cr_guard *innermost;

void cr_guard_enter(struct cr_guard *guard, struct cr_error *error)
{
    guard->outer = innermost;
    guard->error = error;
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

void cr_give_up(const char *format, ...)
{
    struct cr_guard *guard = innermost;
    struct cr_error lost;
    va_list args;
    va_start(args, format);
    cr_escape_format(guard ? guard->error->text : lost.text, sizeof lost.text, format, args);
    va_end(args);
    if (!guard) {
        fprintf(stderr, "crescent: %s\n", lost.text);
        abort();
    }
    cr_guard_leave(guard);
    longjmp(guard->back, 1);
}
