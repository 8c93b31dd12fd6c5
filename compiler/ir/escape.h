/*
 * escape.h - replaces control characters in text of users and scripts.
 *
 * A terminal obeys control characters: they move the cursor, change colours and titles, and some
 * make the terminal send text back as if it were typed.  All text that the program prints but did
 * not write itself is escaped here.
 */
#ifndef CR_ESCAPE_H
#define CR_ESCAPE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Returns the size in bytes of the first character of a text of n > 0 bytes; 0 if it is a control
 * character or not UTF-8. */
size_t cr_printable_size(const char *text, size_t n);

/*
 * Copies n bytes of text into `to`, which has `room` bytes, and terminates them by a zero.  Control
 * characters (C0, DEL, C1) and bytes that are not UTF-8 become \n, \t, \r or \x1b; other
 * characters do not change.  Stops before the first character that does not fit.  Returns the
 * length.
 */
size_t cr_escape(char *to, size_t room, const char *text, size_t n);

/* Writes n bytes of text to `out`, escaped as by cr_escape, but for the control characters in
 * `keep`. */
void cr_escape_to(FILE *out, const char *text, size_t n, const char *keep);

/* Formats a text, then escapes it as cr_escape does.  Returns the length. */
size_t cr_escape_format(char *to, size_t room, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Does printf; its arguments may hold text of users: all control characters but "\n" are
 * escaped. */
void cr_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
