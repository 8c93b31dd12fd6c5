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
    bool ignore_case;  /* case is ignored in the current group */
    int depth;         /* the nesting depth of groups and classes */
    const char *where; /* the begin of error messages */
    struct cr_error *error;
};

/* Enters a group or class; fails if groups and classes are nested deeper than PCRE2 allows. */
int cr_onig_enter(struct cr_onig_reader *reader);

/* If the next byte is `byte`, skips it and returns true. */
bool cr_onig_take(struct cr_onig_reader *reader, char byte);

/* Reads the next character; there must be one. */
uint32_t cr_onig_character(struct cr_onig_reader *reader);

/* Reads an escape that stands for one character, behind its backslash. */
int cr_onig_escape(struct cr_onig_reader *reader, bool in_class, uint32_t *code);

/* Appends a literal character, escaped so that it may stand in brackets or outside. */
void cr_onig_put_code(struct cr_text *out, uint32_t code);

/* A named set of characters, as PCRE2 writes it between brackets. */
struct cr_onig_set {
    char inside[160];
    char outside[256]; /* the characters outside the set, in the same form; "" if they have to be
                          written as [^inside] */
    bool negated;      /* the complement of the set is meant */
    bool is_word;      /* the set is \w; outside a class, Oniguruma's \w has more characters */
    bool has_cases;    /* some letters in the set have another case */
};

/* Sets *set to the set of \s, \w, \d or \h, or to its complement for a capital letter; returns
 * false for other letters. */
bool cr_onig_letter_set(struct cr_onig_set *set, char letter);

/* Sets *set to the POSIX bracket `name`; returns false if there is none. */
bool cr_onig_posix_set(struct cr_onig_set *set, const char *name, size_t length);

/* Reads the {NAME} behind \p or, if `negated`, behind \P. */
int cr_onig_property(struct cr_onig_reader *reader, bool negated, struct cr_onig_set *set);

#endif
