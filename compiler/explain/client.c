#include "client.h"

#include <stdarg.h>
#include <stdio.h>

int cr_client_fail(crescent_context *context, const char *format, ...)
{
    char line[sizeof(struct cr_error)];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return crescent_fail(context, line);
}
