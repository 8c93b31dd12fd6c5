/*
 * json.h - a strict reader of JSON text, one token at a time: the caller asks for the token that
 * must come next.  It allocates nothing and does not recurse, whatever the text is.
 *
 * A function that reads a token skips white space first.  It returns 1 if it finds the expected
 * token.  Otherwise it returns 0 and, if the text is not JSON at all, sets `wrong`.
 */
#ifndef CR_JSON_H
#define CR_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "linkage.h" /* only for crescent */

struct cr_json {
    const char *begin, *at, *end;
    const char *wrong; /* text of the error at `at`, or null */
    int zeros;         /* strings may contain the character 0 */
};

/* Reads the character c, one of {}[]:, */
CR_API int cr_json_take(struct cr_json *json, char c);

/* Reads the comma before item i of an object or array (there is none before item 0), or the
 * closing bracket.  Returns 1 before an item, 0 at the end, -1 if it finds neither. */
CR_API int cr_json_next(struct cr_json *json, int i, char end);

/* True if only white space is left. */
CR_API int cr_json_ended(struct cr_json *json);

/* Reads a string and decodes it into `out`, with a NUL at the end.  `out` must have room for as
 * many bytes as are left of the text.  The string is valid UTF-8, and contains no NUL unless
 * `zeros`.  Returns the number of bytes written, with the NUL, or 0. */
CR_API size_t cr_json_string(struct cr_json *json, char *out);

/* Reads an integer.  A number with a fraction or an exponent is not one, nor is -0. */
CR_API int cr_json_integer(struct cr_json *json, int64_t *value);

#endif
