/* byte_text.c - formats a number of bytes for people; see byte_text.h. */
#include "byte_text.h"

#include <stdio.h>

struct cr_byte_text cr_byte_text(int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct cr_byte_text out;
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(out.text, sizeof out.text, "%.*f %s", unit ? 1 : 0, value, units[unit]);
    return out;
}
