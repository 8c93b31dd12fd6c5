/* natural_order.c - compares names that contain numbers; see natural_order.h. */
#include "natural_order.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Moves *text past the leading zeros of a number; returns the number of digits that follow. */
static size_t take_number(const char **text)
{
    size_t n = 0;
    while (**text == '0' && is_digit((*text)[1]))
        ++*text;
    while (is_digit((*text)[n]))
        n++;
    return n;
}

int cr_compare_names(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (is_digit(*x) && is_digit(*y)) {
            size_t m = take_number(&x), n = take_number(&y);
            int order = m != n ? (m < n ? -1 : 1) : strncmp(x, y, n);
            if (order)
                return order;
            x += n, y += n;
        } else if (*x++ != *y++) {
            return (unsigned char)x[-1] < (unsigned char)y[-1] ? -1 : 1;
        }
    }
    return *x ? 1 : *y ? -1 : strcmp(a, b);
}
