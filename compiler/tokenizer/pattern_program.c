/* pattern_program.c - compiles regular expressions for emitted C; see pattern_program.h.
 *
 * It reads the PCRE2 expression that oniguruma.c writes, in which all repetitions are {LOW,HIGH}.
 * An item that is repeated is read and compiled once for each copy. */
#include "pattern_program.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"

/* A set whose characters are known: its expression, and where its ranges are in the program. */
struct known_set {
    char *text;
    int at, n;
};

/* The state of compiling a pattern. */
struct compiling {
    struct cr_pattern_program *program;
    const char *text;
    struct cr_text all; /* all characters of Unicode; empty until the first set is looked up */
    struct known_set *known;
    int n_known, known_cap;
    const char *wrong; /* describes the first part that is not supported, or null */
    int depth;         /* the nesting depth of look-aheads */
};

/* A part of the expression, and the options in effect there, in the form "(?i-s". */
struct part {
    size_t begin, end;
    const char *options;
    size_t n_options;
};

static void compile_choice(struct compiling *c, struct part part);
static void compile_sequence(struct compiling *c, struct part part);

static void refuse(struct compiling *c, const char *what)
{
    if (!c->wrong)
        c->wrong = what;
}

/* ---- reading ---- */

/* Returns the end of the escape whose backslash is at `at`. */
static size_t end_of_escape(const char *text, size_t at)
{
    return text[at + 2] == '{' && strchr("xpPg", text[at + 1])
               ? at + (size_t)(strchr(text + at, '}') - (text + at)) + 1
               : at + 2;
}

/* Returns the end of the class whose [ is at `at`. */
static size_t end_of_class(const char *text, size_t at)
{
    for (at++; text[at] != ']';)
        at = text[at] == '\\' ? end_of_escape(text, at) : at + 1;
    return at + 1;
}

/* Returns the end of the item at `at`, excluding its repetition. */
static size_t end_of_item(const char *text, size_t at)
{
    int depth = 0;
    do {
        depth += (text[at] == '(') - (text[at] == ')');
        at = text[at] == '\\'  ? end_of_escape(text, at)
             : text[at] == '[' ? end_of_class(text, at)
                               : at + 1;
    } while (depth > 0);
    return at;
}

struct repetition {
    int low, high; /* `high` is -1 if there is no upper limit */
    bool lazy, possessive;
};

/* Reads the repetition at `at`, and returns its end.  Without one, sets it to exactly once. */
static size_t read_repetition(const char *text, size_t at, struct repetition *how)
{
    char *end;
    *how = (struct repetition){1, 1, false, false};
    if (text[at] != '{')
        return at;
    how->low = how->high = (int)strtol(text + at + 1, &end, 10);
    if (*end == ',')
        how->high = end[1] == '}' ? (end++, -1) : (int)strtol(end + 1, &end, 10);
    how->lazy = end[1] == '?';
    how->possessive = end[1] == '+';
    return (size_t)(end - text) + 1 + (how->lazy || how->possessive);
}

/* Returns the end of the first alternative of a part. */
static size_t end_of_alternative(const char *text, struct part part)
{
    size_t at = part.begin;
    while (at < part.end && text[at] != '|')
        at = end_of_item(text, at);
    return at;
}

enum group { PLAIN, OPTIONED, AHEAD, NOT_AHEAD, BEHIND, NOT_BEHIND, ATOMIC };

/* Returns the kind of group that an item is, and sets *inside to the part between its
 * parentheses. */
static enum group read_group(const char *text, struct part item, struct part *inside)
{
    static const struct {
        const char *text;
        enum group group;
    } begins[] = {{"(?:", PLAIN},   {"(?=", AHEAD},       {"(?!", NOT_AHEAD},
                  {"(?<=", BEHIND}, {"(?<!", NOT_BEHIND}, {"(?>", ATOMIC}};
    *inside = (struct part){item.begin + 1, item.end - 1, item.options, item.n_options};
    if (text[item.begin + 1] != '?')
        return PLAIN;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(text + item.begin, begins[i].text, strlen(begins[i].text)) == 0) {
            inside->begin = item.begin + strlen(begins[i].text);
            return begins[i].group;
        }
    inside->options = text + item.begin;
    inside->begin = (size_t)(strchr(text + item.begin, ':') - text) + 1;
    inside->n_options = inside->begin - item.begin - 1;
    return OPTIONED;
}

/* ---- items of one character ---- */

static bool is_choice_single(const char *text, struct part part);

/* True if an item matches exactly one character, independent of the text around it. */
static bool is_single(const char *text, struct part item)
{
    struct part inside;
    char c = text[item.begin], next = c == '\\' ? text[item.begin + 1] : '\0';
    if (c == '\\')
        return strchr("xpPnr", next) ||
               !((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z'));
    if (c != '(')
        return c != '^' && c != '$';
    enum group group = read_group(text, item, &inside);
    return (group == PLAIN || group == OPTIONED || group == ATOMIC) &&
           is_choice_single(text, inside);
}

/* True if a sequence is one item that matches exactly one character, possibly behind look-aheads at
 * that character. */
static bool is_sequence_single(const char *text, struct part part)
{
    struct part inside;
    struct repetition how;
    for (size_t at = part.begin, end; at < part.end; at = end) {
        end = end_of_item(text, at);
        struct part item = {at, end, NULL, 0};
        enum group group = text[at] == '(' ? read_group(text, item, &inside) : PLAIN;
        if (group == AHEAD || group == NOT_AHEAD) {
            if (inside.begin < inside.end && !is_choice_single(text, inside))
                return false;
            if (end == part.end)
                return inside.begin == inside.end && group == NOT_AHEAD; /* (?!) never matches */
            continue;
        }
        return read_repetition(text, end, &how) == end && end == part.end && is_single(text, item);
    }
    return false;
}

static bool is_choice_single(const char *text, struct part part)
{
    for (;;) {
        size_t end = end_of_alternative(text, part);
        if (!is_sequence_single(text, (struct part){part.begin, end, NULL, 0}))
            return false;
        if (end == part.end)
            return true;
        part.begin = end + 1;
    }
}

/* ---- operations ---- */

/* Appends an operation to the program and returns its index. */
static int put(struct compiling *c, enum cr_pattern_code code, int a, int b)
{
    struct cr_pattern_program *p = c->program;
    if (p->n == CR_MOST_OPS) {
        refuse(c, "too many items");
        return 0;
    }
    *CR_PUSH(p->ops, p->n, p->cap) = (struct cr_pattern_op){code, a, b};
    return p->n - 1;
}

/* Appends the ranges of a set to the program unless it contains them already; returns their
 * index. */
static int put_ranges(struct compiling *c, const uint32_t *ranges, int n)
{
    struct cr_pattern_program *p = c->program;
    if (n == 0)
        return 0;
    for (int at = 0; at + 2 * n <= p->n_sets; at += 2)
        if (memcmp(p->sets + at, ranges, 2 * (size_t)n * sizeof *ranges) == 0)
            return at;
    for (int i = 0; i < 2 * n; i++)
        *CR_PUSH(p->sets, p->n_sets, p->sets_cap) = ranges[i];
    return p->n_sets - 2 * n;
}

/* Returns the set of characters that an expression for one character matches, or null if PCRE2
 * refuses it.  Appends the set's ranges to the program.  Looking a set up takes milliseconds, since
 * PCRE2 reads all characters, so the result is kept for items with the same expression, such as
 * copies of a repeated item. */
static const struct known_set *find_set(struct compiling *c, const struct cr_text *text)
{
    int n = 0;
    for (int i = 0; i < c->n_known; i++)
        if (strcmp(c->known[i].text, text->data) == 0)
            return &c->known[i];
    if (c->all.length == 0)
        cr_put_all_characters(&c->all);
    uint32_t *ranges = cr_characters_of(&c->all, text->data, text->length, &n);
    if (!ranges)
        return NULL;
    *CR_PUSH(c->known, c->n_known, c->known_cap) =
        (struct known_set){cr_strdup(text->data), put_ranges(c, ranges, n), n};
    free(ranges);
    return &c->known[c->n_known - 1];
}

/* Appends an operation `code` for the set of characters that a part, an item or alternatives,
 * matches. */
static void put_set(struct compiling *c, struct part part, enum cr_pattern_code code)
{
    struct cr_text text = {0};
    bool is_item = part.begin < part.end && end_of_item(c->text, part.begin) == part.end;
    if (part.n_options)
        cr_put(&text, "%.*s)", (int)part.n_options, part.options);
    cr_put(&text, is_item ? "%.*s" : "(?:%.*s)", (int)(part.end - part.begin), c->text + part.begin);
    const struct known_set *set = find_set(c, &text);
    if (set)
        put(c, code, set->at, set->n);
    else
        refuse(c, "a class of characters that PCRE2 cannot list");
    free(text.data);
}

/* ---- compiling ---- */

/* Completes a split operation, whose one target is the operation behind it: `other` is the second
 * target.  A lazy split gives the second target priority. */
static void set_choice(struct compiling *c, int split, int other, bool lazy)
{
    if (!c->wrong)
        c->program->ops[split] =
            (struct cr_pattern_op){CR_OP_SPLIT, lazy ? other : split + 1, lazy ? split + 1 : other};
}

/* Compiles a look-ahead for the pattern `inside`. */
static void compile_look(struct compiling *c, struct part inside, bool negated)
{
    enum { DEEPEST = 8 };
    if (++c->depth > DEEPEST)
        refuse(c, "lookarounds nested more than 8 deep");
    int look = put(c, CR_OP_LOOK, 0, negated);
    compile_choice(c, inside);
    put(c, CR_OP_MATCH, 0, 0);
    if (!c->wrong)
        c->program->ops[look].a = c->program->n;
    c->depth--;
}

/* Compiles \R, the atomic group (?>A|B) in which A is a newline of two characters: matches A or,
 * where A does not match, B. */
static void compile_newline(struct compiling *c, struct part inside)
{
    struct part first = inside, rest = inside;
    first.end = end_of_alternative(c->text, inside);
    rest.begin = first.end + 1;
    int split = put(c, CR_OP_SPLIT, 0, 0);
    compile_sequence(c, first);
    int jump = put(c, CR_OP_JUMP, 0, 0);
    set_choice(c, split, c->program->n, false);
    compile_look(c, first, true);
    compile_sequence(c, rest);
    if (!c->wrong)
        c->program->ops[jump].a = c->program->n;
}

/* Compiles a group: alternatives, a look-ahead, a look-behind, or \R. */
static void compile_group(struct compiling *c, struct part item)
{
    static const char newline[] = "(?>\\r\\n|";
    struct part inside;
    switch (read_group(c->text, item, &inside)) {
    case PLAIN:
    case OPTIONED:
        compile_choice(c, inside);
        break;
    case AHEAD:
    case NOT_AHEAD:
        compile_look(c, inside, c->text[item.begin + 2] == '!');
        break;
    case BEHIND:
    case NOT_BEHIND:
        if (!is_choice_single(c->text, inside))
            refuse(c, "a lookbehind of more than one character");
        else
            put_set(c, inside, c->text[item.begin + 3] == '!' ? CR_OP_NOT_BEHIND : CR_OP_BEHIND);
        break;
    default:
        if (strncmp(c->text + item.begin, newline, sizeof newline - 1) == 0)
            compile_newline(c, inside);
        else
            refuse(c, "an atomic group");
    }
}

/* Compiles an item once, without its repetition. */
static void compile_item(struct compiling *c, struct part item)
{
    static const struct {
        const char *text;
        enum cr_pattern_code code;
    } places[] = {{"^", CR_OP_LINE_BEGIN},
                  {"$", CR_OP_LINE_END},
                  {"\\A", CR_OP_BEGIN},
                  {"\\z", CR_OP_END},
                  {"\\Z", CR_OP_LAST_END}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strlen(places[i].text) == item.end - item.begin &&
            memcmp(c->text + item.begin, places[i].text, item.end - item.begin) == 0) {
            put(c, places[i].code, 0, 0);
            return;
        }
    if (is_single(c->text, item))
        put_set(c, item, CR_OP_SET);
    else if (c->text[item.begin] == '(')
        compile_group(c, item);
    else
        refuse(c, "a reference, \\K or \\G");
}

/* Ends a possessive repetition: adds a look-ahead that fails if the item matches once more. */
static void put_not_followed(struct compiling *c, struct part item)
{
    int look = put(c, CR_OP_LOOK, 0, 1);
    compile_item(c, item);
    put(c, CR_OP_MATCH, 0, 0);
    if (!c->wrong)
        c->program->ops[look].a = c->program->n;
}

/* True if the end of the program can be reached from operation `begin` without consuming a
 * character. */
static bool may_be_empty(const struct compiling *c, int begin)
{
    const struct cr_pattern_program *p = c->program;
    bool reached[CR_MOST_OPS + 1] = {false};
    reached[begin] = true;
    for (int round = begin; round < p->n; round++) /* repeated, since splits may lead back */
        for (int i = begin; i < p->n; i++) {
            const struct cr_pattern_op *op = &p->ops[i];
            if (!reached[i] || op->code == CR_OP_SET || op->code == CR_OP_MATCH)
                continue;
            if (op->code == CR_OP_SPLIT || op->code == CR_OP_JUMP || op->code == CR_OP_LOOK)
                reached[op->a] = true;
            if (op->code == CR_OP_SPLIT)
                reached[op->b] = true;
            if (op->code != CR_OP_SPLIT && op->code != CR_OP_JUMP && op->code != CR_OP_LOOK)
                reached[i + 1] = true;
        }
    return reached[p->n];
}

/* Compiles the unlimited optional repetitions of an item, which follow the required ones. */
static void compile_loop(struct compiling *c, struct part item, const struct repetition *how)
{
    int split = put(c, CR_OP_SPLIT, 0, 0), begin = c->program->n;
    compile_item(c, item);
    if (!c->wrong && may_be_empty(c, begin))
        refuse(c, "a repetition of a part that may match nothing");
    put(c, CR_OP_JUMP, split, 0);
    set_choice(c, split, c->program->n, how->lazy);
    if (how->possessive)
        put_not_followed(c, item);
}

/* Compiles up to `n` optional repetitions in the form X(?:X(?:X)?)?.  A possessive repetition ends
 * only where the item does not match again, or after n. */
static void compile_some(struct compiling *c, struct part item, const struct repetition *how, int n)
{
    int splits[CR_MOST_OPS];
    if (n > CR_MOST_OPS / 2) {
        refuse(c, "too many items");
        return;
    }
    for (int i = 0; i < n; i++) {
        splits[i] = put(c, CR_OP_SPLIT, 0, 0);
        compile_item(c, item);
    }
    int jump = how->possessive && n > 0 ? put(c, CR_OP_JUMP, 0, 0) : -1;
    for (int i = 0; i < n; i++)
        set_choice(c, splits[i], c->program->n, how->lazy);
    if (jump < 0)
        return;
    put_not_followed(c, item);
    if (!c->wrong)
        c->program->ops[jump].a = c->program->n;
}

/* Compiles an item with its repetition. */
static void compile_repeated(struct compiling *c, struct part item, const struct repetition *how)
{
    if (how->possessive && !is_single(c->text, item))
        refuse(c, "a possessive repetition of more than a character");
    for (int i = 0; i < how->low && !c->wrong; i++)
        compile_item(c, item);
    if (c->wrong)
        return;
    if (how->high < 0)
        compile_loop(c, item, how);
    else
        compile_some(c, item, how, how->high - how->low);
}

static void compile_sequence(struct compiling *c, struct part part)
{
    struct repetition how;
    for (size_t at = part.begin, end; at < part.end && !c->wrong; at = end) {
        size_t item = end_of_item(c->text, at);
        end = read_repetition(c->text, item, &how);
        compile_repeated(c, (struct part){at, item, part.options, part.n_options}, &how);
    }
}

/* Compiles alternatives; an earlier one has priority. */
static void compile_choice(struct compiling *c, struct part part)
{
    size_t end = end_of_alternative(c->text, part);
    struct part first = part, rest = part;
    first.end = end;
    rest.begin = end + 1;
    if (end == part.end) {
        compile_sequence(c, part);
        return;
    }
    int split = put(c, CR_OP_SPLIT, 0, 0);
    compile_sequence(c, first);
    int jump = put(c, CR_OP_JUMP, 0, 0);
    set_choice(c, split, c->program->n, false);
    if (!c->wrong)
        compile_choice(c, rest);
    if (!c->wrong)
        c->program->ops[jump].a = c->program->n;
}

bool cr_compile_pattern(struct cr_pattern_program *program, const struct cr_pattern *pattern,
                        const char **what)
{
    struct cr_text text = {0};
    struct compiling c = {.program = program};
    cr_put_bytes(&text, "", 0);
    if (cr_put_pcre2(&text, pattern)) {
        c.text = text.data;
        compile_choice(&c, (struct part){0, text.length, NULL, 0});
        put(&c, CR_OP_MATCH, 0, 0);
    } else {
        refuse(&c, "a scanner");
    }
    for (int i = 0; i < c.n_known; i++)
        free(c.known[i].text);
    free(c.known);
    free(c.all.data);
    free(text.data);
    *what = c.wrong;
    return !c.wrong;
}

void cr_free_pattern_program(struct cr_pattern_program *program)
{
    free(program->ops);
    free(program->sets);
    *program = (struct cr_pattern_program){0};
}
