/* error.h - errors of the user and bugs of the compiler, as one line of text. */
#ifndef CR_ERROR_H
#define CR_ERROR_H

#include <stdbool.h>

/* An error "FILE[:LINE]: what was found, what was expected".  The command line prints it after
 * "crescent: " and exits with status 2, or for a bug with status 3. */
struct cr_error {
    char text[1024];
};

/* Sets the text, one line without control characters (escape.h), and returns -1, so that a
 * function can `return cr_fail(...)`. */
int cr_fail(struct cr_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the text as cr_fail does, with `place` and `number` in front: "kernel 3: ..." for the
 * place "kernel" and number 3. */
int cr_fail_at(struct cr_error *error, const char *place, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Does the same as cr_fail for a bug of the compiler, with "bug: " before the text. */
int cr_bug(struct cr_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool cr_is_bug(const struct cr_error *error);

#endif
