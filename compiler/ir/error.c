#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

static const char bug[] = "bug: ";

int cr_fail(struct cr_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[sizeof error->text]; /* a separate buffer, since the arguments may include
                                    * error->text */
    cr_escape_format(text, sizeof text, format, args);
    va_end(args);
    memcpy(error->text, text, sizeof text);
    return -1;
}

int cr_fail_at(struct cr_error *error, const char *place, int number, const char *format, ...)
{
    char what[sizeof error->text];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return cr_fail(error, "%s %d: %s", place, number, what);
}

int cr_bug(struct cr_error *error, const char *format, ...)
{
    size_t at = strlen(strcpy(error->text, bug));
    va_list args;
    va_start(args, format);
    cr_escape_format(error->text + at, sizeof error->text - at, format, args);
    va_end(args);
    return -1;
}

bool cr_is_bug(const struct cr_error *error)
{
    return strncmp(error->text, bug, strlen(bug)) == 0;
}
