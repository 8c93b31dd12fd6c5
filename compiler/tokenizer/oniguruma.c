/* oniguruma.c - translates regular expressions of Oniguruma to those of PCRE2; see oniguruma.h. */
#include "oniguruma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "onig_class.h"
#include "onig_reader.h"
#include "unicode.h"

/* The state of a translation. */
struct translation {
    struct cr_onig_reader reader;
    bool extended;             /* (?x): white space and comments are ignored */
    bool dotall;               /* a dot matches a newline, too */
    int groups;                /* the number of groups without names */
    bool names, references;    /* some groups have names; references such as \1 occur */
    uint32_t previous, before; /* `before`: the last character of the last item; `previous`: the
                                  same for the item before it; 0 if there is none.  With (?i) one
                                  character can match two. */
};

/* The kinds of items of a sequence: one that may be repeated; an anchor; one that matches
 * nothing. */
enum item { REPEATABLE, ANCHOR, NOTHING };

static int read_alternatives(struct translation *t, struct cr_text *out);

static int fail_found(const struct translation *t, const char *found, const char *expected)
{
    return cr_fail(t->reader.error, "%s: found %s in a pattern, expected %s", t->reader.where, found,
                   expected);
}

/* ---- characters ---- */

/* True if two characters may be the other case of a single character, as ss for the sharp s.  True
 * also for some pairs that are not. */
static bool may_fold_together(uint32_t first, uint32_t second)
{
    static const char *const pairs[] = {"ss", "st", "ff", "fi", "fl"};
    uint32_t a = first >= 'A' && first <= 'Z' ? first + 32 : first;
    uint32_t b = second >= 'A' && second <= 'Z' ? second + 32 : second;
    a = a == 0x17f ? 's' : a;
    b = b == 0x17f ? 's' : b;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (a == (unsigned char)pairs[i][0] && b == (unsigned char)pairs[i][1])
            return true;
    bool armenian = a >= 0x531 && a <= 0x587 && b >= 0x531 && b <= 0x587;
    bool greek = b == 0x399 || b == 0x3b9 || b == 0x1fbe;
    return first && (armenian || greek || first == 0x2bc || b == 0x2be || (b >= 0x300 && b < 0x370));
}

/* Appends a literal character; fails if its other case has another number of characters and case is
 * ignored. */
static int put_literal(struct translation *t, uint32_t code, struct cr_text *out)
{
    if (t->reader.ignore_case && (cr_folds_to_many(code) || may_fold_together(t->previous, code)))
        return fail_found(t, "letters whose other case has another count of letters",
                          "none where (?i) is on");
    cr_onig_put_code(out, code);
    t->before = code;
    return 0;
}

/* ---- escapes ---- */

/* The superscripts and fractions of Latin-1.  For Oniguruma they are word characters in \b, and in
 * \w outside a class, but not in \w inside a class. */
#define WORDS_ALONE "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"

static void put_boundary(bool negated, struct cr_text *out)
{
    struct cr_onig_set set;
    cr_onig_letter_set(&set, 'w');
    for (int after = 0; after < 2; after++)
        cr_put(out, "%s(?<%c[%s" WORDS_ALONE "])(?%c[%s" WORDS_ALONE "])%s", after ? "|" : "(?:",
               after ? '!' : '=', set.inside, after == negated ? '!' : '=', set.inside, after ? ")" : "");
}

/* Appends a set that stands outside a class; (?i) does not change it. */
static void put_set(const struct translation *t, const struct cr_onig_set *set, struct cr_text *out)
{
    cr_put(out, "%s[%s%s%s]%s", t->reader.ignore_case ? "(?-i:" : "", set->negated ? "^" : "", set->inside,
           set->is_word ? WORDS_ALONE : "", t->reader.ignore_case ? ")" : "");
}

/* The escapes with a fixed translation. */
static const struct escape {
    char letter;
    const char *pcre2;
    enum item item;
} escapes[] = {
    {'A', "\\A", ANCHOR},
    {'Z', "\\Z", ANCHOR},
    {'z', "\\z", ANCHOR},
    {'G', "\\G", ANCHOR},
    {'K', "\\K", ANCHOR},
    {'N', "[^\\n]", REPEATABLE},
    {'O', "\\p{Any}", REPEATABLE},
    {'R', "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", REPEATABLE},
};

/* True if digits behind a backslash are the octal code of a character and not a reference to a
 * group: they are several digits, and their number is larger than the number of groups. */
static bool is_octal(const struct translation *t)
{
    const struct cr_onig_reader *r = &t->reader;
    int number = r->text[r->at - 1] - '0';
    size_t at = r->at;
    for (; at < r->n && r->text[at] >= '0' && r->text[at] <= '9' && number < 1000; at++)
        number = number * 10 + r->text[at] - '0';
    return at > r->at && number > t->groups && r->text[r->at - 1] < '8';
}

/* Reads an escape behind its backslash. */
static int read_escape(struct translation *t, struct cr_text *out, enum item *item)
{
    struct cr_onig_reader *r = &t->reader;
    struct cr_onig_set set;
    char letter = r->at < r->n ? r->text[r->at] : '\0', found[8];
    uint32_t code;
    r->at++;
    *item = REPEATABLE;
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (letter && escapes[i].letter == letter) {
            cr_put(out, "%s", escapes[i].pcre2);
            *item = escapes[i].item;
            return 0;
        }
    if (letter == 'p' || letter == 'P')
        return cr_onig_property(r, letter == 'P', &set) ? -1 : (put_set(t, &set, out), 0);
    if (cr_onig_letter_set(&set, letter))
        return put_set(t, &set, out), 0;
    if (letter == 'b' || letter == 'B') {
        *item = ANCHOR;
        return put_boundary(letter == 'B', out), 0;
    }
    if (letter >= '1' && letter <= '9' && !is_octal(t)) {
        t->references = true;
        snprintf(found, sizeof found, "\\%c", letter);
        return letter > '0' + t->groups ? fail_found(t, found, "a group before it")
                                        : (cr_put(out, "\\g{%c}", letter), 0);
    }
    if (memchr("kgyYX", letter, 5)) {
        snprintf(found, sizeof found, "\\%c", letter);
        return fail_found(t, found, "a pattern without it");
    }
    r->at--;
    return cr_onig_escape(r, false, &code) ? -1 : put_literal(t, code, out);
}

/* ---- groups ---- */

/* Reads the rest of a group, of which the begin has been written to `out`. */
static int read_group(struct translation *t, struct cr_text *out)
{
    struct cr_onig_reader *r = &t->reader;
    int status = cr_onig_enter(r) ? -1 : read_alternatives(t, out);
    r->depth--;
    cr_put(out, ")");
    if (status == 0 && !cr_onig_take(r, ')'))
        return fail_found(t, "a group without its )", "one");
    return status;
}

/* Reads the letters of (?imx-imx: or (?imx-imx), up to : or ). */
static int read_options(struct translation *t, struct cr_text *out)
{
    struct cr_onig_reader *r = &t->reader;
    size_t begin = r->at;
    bool on = true;
    for (; r->at < r->n && memchr("imx-", r->text[r->at], 4); r->at++) {
        char letter = r->text[r->at];
        on = on && letter != '-';
        if (letter != '-')
            *(letter == 'i' ? &r->ignore_case : letter == 'm' ? &t->dotall : &t->extended) = on;
    }
    if (r->at == r->n || !memchr(":)", r->text[r->at], 2)) {
        size_t n = r->n - begin < 10 ? r->n - begin : 10;
        return cr_fail(r->error, "%s: found the group (?%s in a pattern, expected one that is understood, "
                                 "or the options i, m and x",
                       r->where, cr_show(r->text + begin, n).text);
    }
    bool all = r->ignore_case && t->dotall;
    cr_put(out, "(?%s%s%s%s%s:", r->ignore_case ? "i" : "", t->dotall ? "s" : "", all ? "" : "-",
           r->ignore_case ? "" : "i", t->dotall ? "" : "s");
    return 0;
}

/* The part of the state that options change. */
struct options {
    bool ignore_case, dotall, extended;
};

static struct options options_of(const struct translation *t)
{
    return (struct options){t->reader.ignore_case, t->dotall, t->extended};
}

static void set_options(struct translation *t, struct options options)
{
    t->reader.ignore_case = options.ignore_case;
    t->dotall = options.dotall;
    t->extended = options.extended;
}

/* Reads a group with options.  Options without : apply up to the end of the enclosing group, across
 * its alternatives. */
static int read_optioned(struct translation *t, struct cr_text *out, enum item *item)
{
    struct cr_onig_reader *r = &t->reader;
    struct options before = options_of(t);
    int status = read_options(t, out);
    if (status == 0 && cr_onig_take(r, ':')) {
        status = read_group(t, out);
    } else if (status == 0) {
        r->at++;
        *item = NOTHING;
        status = cr_onig_enter(r) ? -1 : read_alternatives(t, out);
        r->depth--;
        cr_put(out, ")");
    }
    set_options(t, before);
    return status;
}

/* Skips the name of a group and the character `end` behind it. */
static int skip_name(struct translation *t, char end)
{
    struct cr_onig_reader *r = &t->reader;
    const char *last = memchr(r->text + r->at, end, r->n - r->at);
    if (!last || last == r->text + r->at)
        return fail_found(t, "a group without a name", "one");
    r->at = (size_t)(last - r->text) + 1;
    t->names = true;
    return 0;
}

/* Reads a group behind its (. */
static int read_parenthesis(struct translation *t, struct cr_text *out, enum item *item)
{
    static const char *const looks[] = {"<=", "<!", "=", "!"};
    struct cr_onig_reader *r = &t->reader;
    if (r->at < r->n && r->text[r->at] == '*')
        return fail_found(t, "(*", "a pattern without it");
    if (!cr_onig_take(r, '?')) {
        t->groups++;
        cr_put(out, "(");
        return read_group(t, out);
    }
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        size_t n = strlen(looks[i]);
        if (r->n - r->at < n || memcmp(r->text + r->at, looks[i], n) != 0)
            continue;
        r->at += n;
        *item = ANCHOR;
        cr_put(out, "(?%s", looks[i]);
        return read_group(t, out);
    }
    if (cr_onig_take(r, '>')) {
        cr_put(out, "(?>");
        return read_group(t, out);
    }
    char quote = cr_onig_take(r, '<') ? '>' : cr_onig_take(r, '\'') ? '\'' : '\0';
    if (quote || cr_onig_take(r, ':')) {
        cr_put(out, "(?:");
        return quote && skip_name(t, quote) ? -1 : read_group(t, out);
    }
    return read_optioned(t, out, item);
}

/* ---- repetitions ---- */

enum { ENDLESS = -1, NO_NUMBER = -1, MOST = 100000 };

/* Reads a number; returns at most MOST + 1, or NO_NUMBER if there are no digits. */
static int take_number(struct cr_onig_reader *r)
{
    int number = NO_NUMBER;
    for (; r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
        number = (number < 0 ? 0 : number) * 10 + r->text[r->at] - '0';
        number = number > MOST ? MOST + 1 : number;
    }
    return number;
}

struct repetition {
    int low, high;
    bool interval, fixed, possessive, lazy;
};

/* Reads {2}, {2,}, {,3} or {2,3}; returns false if the characters are to be taken literally. */
static bool take_interval(struct cr_onig_reader *r, struct repetition *how)
{
    size_t begin = r->at;
    if (!cr_onig_take(r, '{'))
        return false;
    how->low = how->high = take_number(r);
    how->fixed = how->interval = true;
    if (cr_onig_take(r, ',')) {
        how->fixed = false;
        how->high = take_number(r);
    }
    if (!cr_onig_take(r, '}') || (how->low == NO_NUMBER && how->high == NO_NUMBER)) {
        r->at = begin;
        return false;
    }
    how->low = how->low == NO_NUMBER ? 0 : how->low;
    return true;
}

/* Reads a repetition; returns false if none follows.  {3,2} means {2,3}, possessive. */
static bool take_repetition(struct cr_onig_reader *r, struct repetition *how)
{
    *how = (struct repetition){.low = 0, .high = ENDLESS};
    if (cr_onig_take(r, '?'))
        how->high = 1;
    else if (cr_onig_take(r, '+'))
        how->low = 1;
    else if (!cr_onig_take(r, '*') && !take_interval(r, how))
        return false;
    if (how->high != ENDLESS && how->low > how->high) {
        int low = how->low;
        how->low = how->high;
        how->high = low;
        how->possessive = true;
    }
    how->lazy = !how->fixed && !how->possessive && cr_onig_take(r, '?');
    if (!how->interval && !how->lazy)
        how->possessive = cr_onig_take(r, '+');
    return true;
}

static int put_repetition(const struct translation *t, const struct repetition *how, struct cr_text *out)
{
    if (how->low > MOST || how->high > MOST)
        return fail_found(t, "a count of repetitions", "one of at most 100000");
    if (how->high == ENDLESS)
        cr_put(out, "{%d,}", how->low);
    else
        cr_put(out, "{%d,%d}", how->low, how->high);
    cr_put(out, how->lazy ? "?" : how->possessive ? "+" : "");
    return 0;
}

/* ---- sequences ---- */

/* Skips comments and, with (?x), white space. */
static int skip_comments(struct translation *t)
{
    struct cr_onig_reader *r = &t->reader;
    while (r->at < r->n) {
        char c = r->text[r->at];
        if (t->extended && memchr(" \t\n\r\f", c, 5)) {
            r->at++;
        } else if (t->extended && c == '#') {
            while (r->at < r->n && r->text[r->at] != '\n')
                r->at++;
        } else if (r->n - r->at >= 3 && memcmp(r->text + r->at, "(?#", 3) == 0) {
            while (r->at < r->n && r->text[r->at] != ')')
                r->at += r->text[r->at] == '\\' ? 2 : 1;
            if (r->at >= r->n)
                return fail_found(t, "a comment without its )", "one");
            r->at++;
        } else {
            return 0;
        }
    }
    return 0;
}

/* Reads one item; there must be one. */
static int read_item(struct translation *t, struct cr_text *out, enum item *item)
{
    struct cr_onig_reader *r = &t->reader;
    struct repetition how;
    *item = REPEATABLE;
    if (take_repetition(r, &how))
        return fail_found(t, "a repetition of nothing", "something before it");
    uint32_t code = cr_onig_character(r);
    if (code == '(')
        return read_parenthesis(t, out, item);
    t->previous = t->before;
    t->before = 0;
    switch (code) {
    case '[':
        return cr_onig_class(r, out);
    case '.':
        return cr_put(out, "."), 0;
    case '^':
    case '$':
        *item = ANCHOR;
        return cr_put(out, "%c", (char)code), 0;
    case '\\':
        return read_escape(t, out, item);
    default:
        return put_literal(t, code, out);
    }
}

/* Reads the repetitions behind an item; each repeats the result of the one before. */
static int read_repetitions(struct translation *t, struct cr_text *text, enum item item)
{
    struct repetition how;
    for (int n = 0;; n++) {
        struct cr_text inner = *text;
        if (item == NOTHING)
            return 0;
        if (skip_comments(t))
            return -1;
        if (!take_repetition(&t->reader, &how))
            return 0;
        if (item == ANCHOR)
            return fail_found(t, "a repetition of what matches no characters", "none");
        t->before = 0;
        if (n > 0) {
            if (cr_onig_enter(&t->reader))
                return -1;
            *text = (struct cr_text){0};
            cr_put(text, "(?:%s)", inner.data);
            free(inner.data);
        }
        if (put_repetition(t, &how, text))
            return -1;
    }
}

/* Reads one alternative: a sequence of items. */
static int read_sequence(struct translation *t, struct cr_text *out)
{
    struct cr_onig_reader *r = &t->reader;
    int status = 0;
    while ((status = skip_comments(t)) == 0 && r->at < r->n && !memchr("|)", r->text[r->at], 2)) {
        struct cr_text text = {0};
        enum item item;
        int depth = r->depth;
        status = read_item(t, &text, &item) || read_repetitions(t, &text, item) ? -1 : 0;
        r->depth = depth;
        cr_put_bytes(out, text.data ? text.data : "", text.length);
        free(text.data);
        if (status)
            break;
    }
    return status;
}

/* Reads alternatives up to a ) or the end of the pattern, which is not consumed. */
static int read_alternatives(struct translation *t, struct cr_text *out)
{
    uint32_t before = t->before;
    int status = read_sequence(t, out);
    while (status == 0 && cr_onig_take(&t->reader, '|')) {
        cr_put(out, "|");
        t->before = before;
        status = read_sequence(t, out);
    }
    return status;
}

int cr_oniguruma_to_pcre2(struct cr_text *out, const char *text, size_t length, bool bare_scripts,
                          const char *where, struct cr_error *error)
{
    enum { LONGEST = 1 << 16 };
    struct translation t = {.reader = {.text = text,
                                       .n = length,
                                       .bare_scripts = bare_scripts,
                                       .where = where,
                                       .error = error}};
    if (length > LONGEST)
        return cr_fail(error, "%s: found a pattern of %zu bytes, expected at most %d", where, length,
                       LONGEST);
    if (read_alternatives(&t, out))
        return -1;
    if (t.reader.at < length)
        return fail_found(&t, "a ) without its (", "one");
    if (t.names && t.references)
        return fail_found(&t, "groups with names beside \\1", "no names");
    return 0;
}
