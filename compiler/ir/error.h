/* error.h - the user's mistakes, as one line of text. */
#ifndef CR_ERROR_H
#define CR_ERROR_H

/* "FILE[:LINE]: what was found, what was expected"; the command line prints it
 * behind "crescent: " and exits with status 2. */
struct cr_error {
    char text[1024];
};

/* Sets the text and returns -1, so that a function can `return cr_fail(...)`. */
int cr_fail(struct cr_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
