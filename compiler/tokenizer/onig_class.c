/* onig_class.c - translates classes of characters in brackets; see onig_class.h. */
#include "onig_class.h"

#include <stdlib.h>
#include <string.h>

/* A class of characters in PCRE2's syntax. */
struct class {
    struct cr_text inside; /* the part that can stand between brackets */
    struct cr_text others; /* it may contain letters beyond ASCII that have another case */
    bool has_cases;        /* some letters beyond ASCII are in the class and have another case */
};

static void free_class(struct class *c)
{
    free(c->inside.data);
    free(c->others.data);
    *c = (struct class){0};
}

static void put_text(struct cr_text *out, const struct cr_text *text)
{
    cr_put_bytes(out, text->data ? text->data : "", text->length);
}

/* Appends a pattern that matches one character of a class or, if `negated`, one character outside
 * it. */
static void put_class(struct cr_text *out, const struct class *c, bool negated)
{
    bool plain = c->others.length == 0;
    if (!plain)
        cr_put(out, negated ? "(?:(?!" : "(?:");
    if (c->inside.length > 0) {
        cr_put(out, plain && negated ? "[^" : "[");
        put_text(out, &c->inside);
        cr_put(out, "]");
    } else if (plain) {
        cr_put(out, negated ? "\\p{Any}" : "(?!)");
    } else {
        cr_put(out, "(?!)");
    }
    put_text(out, &c->others);
    if (!plain)
        cr_put(out, negated ? ")\\p{Any})" : ")");
}

/* ---- items ---- */

enum kind { CODE, SET, DASH, OPEN, AND, CLOSE };

struct item {
    enum kind kind;
    uint32_t code;
    struct cr_onig_set set;
};

/* Returns the length of NAME in a POSIX bracket [:NAME:] that begins here, including a ^; 0 if none
 * begins here. */
static size_t posix_name(const struct cr_onig_reader *r)
{
    const char *at = r->text + r->at, *end = r->text + r->n;
    if (end - at < 2 || at[0] != '[' || at[1] != ':')
        return 0;
    const char *name = at += 2;
    at += at < end && *at == '^';
    while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
        at++;
    return end - at >= 2 && at[0] == ':' && at[1] == ']' ? (size_t)(at - name) : 0;
}

static int take_posix(struct cr_onig_reader *r, size_t length, struct cr_onig_set *set)
{
    const char *name = r->text + r->at + 2;
    bool negated = *name == '^';
    r->at += length + 4;
    if (!cr_onig_posix_set(set, name + negated, length - negated))
        return cr_fail(r->error, "%s: found [:%.*s:] in a pattern, expected the name of a class",
                       r->where, (int)(length < 30 ? length : 30), name);
    set->negated = negated;
    return 0;
}

/* Reads an item after a backslash. */
static int take_escape(struct cr_onig_reader *r, struct item *item)
{
    char letter = r->at < r->n ? r->text[r->at] : '\0';
    item->kind = SET;
    if (letter == 'p' || letter == 'P') {
        r->at++;
        return cr_onig_property(r, letter == 'P', &item->set);
    }
    if (cr_onig_letter_set(&item->set, letter)) {
        r->at++;
        return 0;
    }
    item->kind = CODE;
    return cr_onig_escape(r, true, &item->code);
}

/* Reads one item of a class; fails at the end of the pattern. */
static int take_item(struct cr_onig_reader *r, struct item *item)
{
    if (r->at == r->n)
        return cr_fail(r->error, "%s: found the end of a pattern in a class, expected ]", r->where);
    size_t length = posix_name(r);
    if (length > 0) {
        item->kind = SET;
        return take_posix(r, length, &item->set);
    }
    if (cr_onig_take(r, '\\'))
        return take_escape(r, item);
    item->code = cr_onig_character(r);
    item->kind = item->code == ']'                           ? CLOSE
                 : item->code == '-'                         ? DASH
                 : item->code == '['                         ? OPEN
                 : item->code == '&' && cr_onig_take(r, '&') ? AND
                                                             : CODE;
    return 0;
}

/* ---- a class ---- */

/* A class that is being read.  The last item is not in `class` yet, since it may be the begin of a
 * range. */
struct filling {
    struct cr_onig_reader *reader;
    struct class class;
    enum { NOTHING, VALUE, PROPERTY, RANGE, WHOLE } last; /* the item read last; WHOLE: a complete
                                                             range, or a class in brackets */
    uint32_t value;
};

static void add_value(struct filling *f)
{
    if (f->last == VALUE)
        cr_onig_put_code(&f->class.inside, f->value);
}

/* Adds one character, which ends a range or may begin one. */
static int add_code(struct filling *f, uint32_t code)
{
    const struct cr_onig_reader *r = f->reader;
    f->class.has_cases |= code >= 0x80;
    if (f->last == RANGE) {
        if (f->value > code)
            return cr_fail(r->error, "%s: found a range of a class that ends before it begins, "
                                     "expected its first character first",
                           r->where);
        cr_onig_put_code(&f->class.inside, f->value);
        cr_put(&f->class.inside, "-");
        cr_onig_put_code(&f->class.inside, code);
        f->last = WHOLE;
        return 0;
    }
    add_value(f);
    f->last = VALUE;
    f->value = code;
    return 0;
}

static int fail_range(const struct filling *f)
{
    return cr_fail(f->reader->error, "%s: found a range of a class from or to more than one character, "
                                     "expected one at each end",
                   f->reader->where);
}

/* Adds a named set; if it cannot be written between brackets, adds it as a separate alternative. */
static int add_set(struct filling *f, const struct cr_onig_set *set)
{
    if (f->last == RANGE)
        return fail_range(f);
    add_value(f);
    f->last = PROPERTY;
    f->class.has_cases |= set->has_cases;
    if (!set->negated || *set->outside) {
        cr_put(&f->class.inside, "%s", set->negated ? set->outside : set->inside);
        return 0;
    }
    cr_put(&f->class.others, "|[^%s]", set->inside);
    return 0;
}

/* Adds a hyphen, which means a range or itself, depending on the items around it; `next` is the
 * item behind it. */
static int add_dash(struct filling *f, const struct item *next)
{
    bool ends = next->kind == CLOSE || next->kind == AND;
    if (f->last == PROPERTY && !ends)
        return fail_range(f);
    if (f->last != VALUE || ends)
        return add_code(f, '-');
    f->last = RANGE;
    return next->kind == OPEN ? fail_range(f) : 0;
}

static int read_class(struct cr_onig_reader *r, struct class *class, bool *negated);

/* Reads a nested class and adds its characters to the class. */
static int add_class(struct filling *f)
{
    struct class inner = {0};
    bool negated;
    add_value(f);
    f->last = WHOLE;
    int status = read_class(f->reader, &inner, &negated);
    if (negated) {
        cr_put(&f->class.others, "|");
        put_class(&f->class.others, &inner, true);
    } else {
        put_text(&f->class.inside, &inner.inside);
        put_text(&f->class.others, &inner.others);
    }
    f->class.has_cases |= inner.has_cases;
    free_class(&inner);
    return status;
}

/* Ends one operand of &&.  `all` is the intersection of the operands so far; empty at first. */
static int end_side(struct filling *f, struct cr_text *all)
{
    struct cr_text both = {0};
    if (cr_onig_enter(f->reader))
        return -1;
    add_value(f);
    f->last = NOTHING;
    if (all->length > 0) {
        cr_put(&both, "(?:(?=");
        put_text(&both, all);
        cr_put(&both, ")");
    }
    put_class(&both, &f->class, false);
    if (all->length > 0)
        cr_put(&both, ")");
    bool has_cases = f->class.has_cases;
    free_class(&f->class);
    f->class.has_cases = has_cases;
    free(all->data);
    *all = both;
    return 0;
}

/* Adds an item that is not a hyphen. */
static int add_item(struct filling *f, const struct item *item, struct cr_text *all)
{
    switch (item->kind) {
    case CODE:
        return add_code(f, item->code);
    case SET:
        return add_set(f, &item->set);
    case OPEN:
        return add_class(f);
    default:
        return end_side(f, all);
    }
}

/* Reads the class up to its ]; a ] at the very begin means itself. */
static int fill_class(struct filling *f, struct cr_text *all)
{
    struct cr_onig_reader *r = f->reader;
    struct item item;
    if (take_item(r, &item))
        return -1;
    if (item.kind == CLOSE && memchr(r->text + r->at, ']', r->n - r->at))
        item.kind = CODE;
    else if (item.kind == CLOSE)
        return cr_fail(r->error, "%s: found an empty class in a pattern, expected characters", r->where);
    while (item.kind != CLOSE) {
        struct item next;
        if (item.kind != DASH && add_item(f, &item, all))
            return -1;
        if (take_item(r, &next))
            return -1;
        if (item.kind == DASH && (f->last == RANGE ? add_code(f, '-') : add_dash(f, &next)))
            return -1;
        item = next;
    }
    add_value(f);
    return 0;
}

/* Fails if PCRE2 would ignore case in another way than Oniguruma.  Oniguruma adds the other case to
 * the class as a whole; PCRE2 does so only for ASCII, and otherwise for each part of the class. */
static int check_cases(const struct cr_onig_reader *r, const struct class *class)
{
    if (!r->ignore_case || (!class->has_cases && class->others.length == 0))
        return 0;
    return cr_fail(r->error, "%s: found a class beyond ASCII in a pattern where (?i) is on, expected none",
                   r->where);
}

/* Reads a class behind its [; sets *negated if it begins with ^. */
static int read_class(struct cr_onig_reader *r, struct class *class, bool *negated)
{
    struct filling f = {.reader = r};
    struct cr_text all = {0};
    int depth = r->depth;
    *negated = cr_onig_take(r, '^');
    int status = cr_onig_enter(r) ? -1 : fill_class(&f, &all);
    if (status == 0 && all.length > 0) {
        status = end_side(&f, &all);
        cr_put(&f.class.others, "|");
        put_text(&f.class.others, &all);
    }
    free(all.data);
    r->depth = depth;
    *class = f.class;
    return status ? -1 : check_cases(r, class);
}

int cr_onig_class(struct cr_onig_reader *r, struct cr_text *out)
{
    struct class class;
    bool negated;
    int status = read_class(r, &class, &negated);
    if (status == 0)
        put_class(out, &class, negated);
    free_class(&class);
    return status;
}
