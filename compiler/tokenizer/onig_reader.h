/*
 * onig_reader.h - a regular expression of Oniguruma while it is read: its characters, the escapes that
 * stand for one character, and the sets of characters that have a name.
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
    bool bare_scripts; /* PCRE2 calls scripts \p{Han} and does not know \p{sc:Han} */
    bool ignore_case;  /* of the group that is read */
    int depth;         /* of groups and classes inside each other */
    const char *where; /* what an error begins with */
    struct cr_error *error;
};

/* Counts one more group or class; -1 with an error where PCRE2 allows no more. */
int cr_onig_enter(struct cr_onig_reader *reader);

/* Takes the byte if it is the next one. */
bool cr_onig_take(struct cr_onig_reader *reader, char byte);

/* Takes the next character, of which there is one. */
uint32_t cr_onig_character(struct cr_onig_reader *reader);

/* Takes an escape that stands for one character, behind its backslash. */
int cr_onig_escape(struct cr_onig_reader *reader, bool in_class, uint32_t *code);

/* Writes one character, which means itself in and outside brackets. */
void cr_onig_put_code(struct cr_text *out, uint32_t code);

/* A set of characters by name, as PCRE2 writes it between brackets. */
struct cr_onig_set {
    char inside[160];
    char outside[256]; /* all characters that are not in it, likewise; "" if they have to be written as
                        * [^inside] */
    bool negated;      /* those outside are meant */
    bool is_word;      /* of \w: Oniguruma knows some more of them where it stands alone */
    bool has_cases;    /* capitals and small letters can differ in it */
};

/* The set of \s, \w, \d or \h, or of the capital; false for another letter. */
bool cr_onig_letter_set(struct cr_onig_set *set, char letter);

/* The set of a POSIX bracket by its name; false if there is none. */
bool cr_onig_posix_set(struct cr_onig_set *set, const char *name, size_t length);

/* Takes what is behind \p, or \P if `negated`. */
int cr_onig_property(struct cr_onig_reader *reader, bool negated, struct cr_onig_set *set);

#endif
