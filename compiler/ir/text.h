/* text.h - a growing buffer of C text. */
#ifndef CR_TEXT_H
#define CR_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct cr_text {
    char *data; /* ends in a NUL once anything was added */
    size_t length, size;
};

void cr_put(struct cr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends one line of code; a line of more than 100 columns is broken after commas and
 * operators. */
void cr_put_line(struct cr_text *text, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void cr_put_bytes(struct cr_text *text, const char *data, size_t length);

/* Returns the text in memory of its length, for one that is kept long; the caller frees it.  Null if
 * nothing was added. */
char *cr_take_text(struct cr_text *text);

#endif
