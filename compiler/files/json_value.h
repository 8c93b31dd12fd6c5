/*
 * json_value.h - one value of a JSON text among others, which are passed over; see json.h.
 */
#ifndef CR_JSON_VALUE_H
#define CR_JSON_VALUE_H

#include "json.h"

/* Bytes of the number that begins at `at`; 0 if none does. */
size_t cr_json_number_size(const char *at, const char *end);

/* Takes true, false or null, if it stands at `at`; its first letter, or 0. */
char cr_json_word(struct cr_json *json);

/* The line, from 1 on, that a text has reached. */
int cr_json_line(const struct cr_json *json);

#endif
