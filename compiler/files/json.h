/*
 * json.h - a strict reader of JSON text, one piece at a time: the caller knows what has to
 * come next.  Nothing is allocated and nothing recurses, whatever the text.
 *
 * A function that takes a piece skips white space first, and returns 1 if the piece came
 * next.  Else it returns 0 and, where the text is not JSON at all, sets `wrong`.
 */
#ifndef CR_JSON_H
#define CR_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "linkage.h" /* only for crescent */

struct cr_json {
    const char *begin, *at, *end;
    const char *wrong; /* what is wrong at `at`, or null */
    int zeros;         /* strings may hold the character 0 */
};

/* Takes one of the characters {}[]:, */
CR_API int cr_json_take(struct cr_json *json, char c);

/* Takes the comma before item i of an object or array, the first of which has none, or its
 * end.  Returns 1 before an item, 0 at the end, -1 where neither is there. */
CR_API int cr_json_next(struct cr_json *json, int i, char end);

/* True if nothing but space is left. */
CR_API int cr_json_ended(struct cr_json *json);

/* Takes a string: decodes it into `out`, with a NUL behind it.  Room for as many bytes as are
 * left of the text is enough.  It is valid UTF-8, and holds no NUL unless `zeros`.  Returns the bytes written
 * with the NUL, or 0. */
CR_API size_t cr_json_string(struct cr_json *json, char *out);

/* Takes an integer.  A number with a fraction or an exponent, and -0, is no integer. */
CR_API int cr_json_integer(struct cr_json *json, int64_t *value);

#endif
