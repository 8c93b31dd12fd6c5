/*
 * json_value.h - helpers to skip values in a JSON text; see json.h.
 */
#ifndef CR_JSON_VALUE_H
#define CR_JSON_VALUE_H

#include "json.h"

/* Moves past white space, four spaces at a time where possible, since indented texts consist
 * mostly of spaces. */
void cr_json_skip(struct cr_json *json);

/* Moves past white space; returns the next character, or 0 at the end of the text. */
static inline char cr_json_peek(struct cr_json *json)
{
    if (json->at < json->end && *json->at <= ' ')
        cr_json_skip(json);
    return json->at < json->end ? *json->at : '\0';
}

/* Returns the length of the number at the start of a text; 0 if there is none. */
size_t cr_json_number_size(const char *at, const char *end);

/* Reads true, false or null if one of them comes next; returns its first letter, else 0. */
char cr_json_word(struct cr_json *json);

/* Returns the number of the reader's current line, counted from 1. */
int cr_json_line(const struct cr_json *json);

#endif
