#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int cr_fail(struct cr_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return -1;
}
