/*
 * onig_reader.h - the reader of a regular expression of Oniguruma: its characters, the escapes that
 * match one character, and the named sets of characters.
 */
#ifndef CR_ONIG_READER_H
#define CR_ONIG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

struct cr_onig_reader {
    const char *text; /* valid UTF-8 */
    size_t n, at;
    bool bare_scripts; /* PCRE2 spells scripts \p{Han} and does not know \p{sc:Han} */
    bool ignore_case;  /* in the current group */
    int depth;         /* nesting depth of groups and classes */
    const char *where; /* prefix of error messages */
    struct cr_error *error;
};

/* Enters a group or class; fails if the nesting is deeper than PCRE2 allows. */
int cr_onig_enter(struct cr_onig_reader *reader);

/* Skips the next byte and returns true if it is `byte`. */
bool cr_onig_take(struct cr_onig_reader *reader, char byte);

/* Reads the next character, which must exist. */
uint32_t cr_onig_character(struct cr_onig_reader *reader);

/* Reads the rest of an escape for one character, after its backslash. */
int cr_onig_escape(struct cr_onig_reader *reader, bool in_class, uint32_t *code);

/* Appends a literal character, escaped so that it is valid in and outside brackets. */
void cr_onig_put_code(struct cr_text *out, uint32_t code);

/* A set of characters by name, as PCRE2 writes it between brackets. */
struct cr_onig_set {
    char inside[160];
    char outside[256]; /* the characters outside the set, likewise; "" if they must be written as
                        * [^inside] */
    bool negated;      /* the complement is meant */
    bool is_word;      /* the set is \w; outside a class Oniguruma's has more characters */
    bool has_cases;    /* upper and lower case of some letters differ in the set */
};

/* Sets *set to the set of \s, \w, \d or \h, or to its complement for a capital letter; returns
 * false for other letters. */
bool cr_onig_letter_set(struct cr_onig_set *set, char letter);

/* Sets *set to the POSIX bracket of that name; returns false if there is none. */
bool cr_onig_posix_set(struct cr_onig_set *set, const char *name, size_t length);

/* Reads the {NAME} after \p, or after \P if `negated`. */
int cr_onig_property(struct cr_onig_reader *reader, bool negated, struct cr_onig_set *set);

#endif
