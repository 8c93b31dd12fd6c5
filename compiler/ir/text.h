/* text.h - a growing buffer of C text. */
#ifndef CR_TEXT_H
#define CR_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct cr_text {
    char *data; /* ends with a NUL once text was appended */
    size_t length, size;
};

void cr_put(struct cr_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends one line of code, indented by `indent` levels; breaks it after commas and operators if
 * it exceeds 100 columns. */
void cr_put_line(struct cr_text *text, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void cr_put_bytes(struct cr_text *text, const char *data, size_t length);

/* Returns the text in memory of exactly its length, for callers that keep it long; the caller
 * frees it.  Returns null if nothing was appended. */
char *cr_take_text(struct cr_text *text);

#endif
