/* strip_unused.c - removes unused parts from the text of a C file; see strip_unused.h. */
#include "strip_unused.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/unwind.h"

/* A name or a number in the text; both can be parts of a name that ## pastes together. */
struct word {
    const char *at;
    size_t length;
    int uses;    /* number of its uses outside of its own definitions */
    int defined; /* number of its definitions that are not removed */
    bool is_prefix; /* ## pastes something after it, and nothing after the pasted word */
};

/* An occurrence of a word. */
struct token {
    int word, line;
};

enum kind { MACRO, FUNCTION, DECLARATION, TYPE, UNDEF };

/* A definition or declaration of a word (TYPE: a typedef), or its #undef, in lines `first` to
 * `last`. */
struct item {
    enum kind kind;
    int word, first, last;
    int comment; /* first line of the comment on its declaration, which is moved to the
                  * definition; or -1 */
};

struct line {
    const char *at;
    int token;      /* index of its first token or, if it has none, of the first token of a later
                     * line */
    int item;       /* index of the item to which it belongs, or -1 */
    bool in_comment; /* the line begins inside a comment */
    bool removed;
};

struct source {
    struct line *lines; /* the lines, and one more after the last line */
    struct word *words;
    struct token *tokens;
    struct item *items;
    int n_lines, n_words, n_tokens, n_items, words_cap, tokens_cap, items_cap;
    struct cr_table table; /* finds words by their text */
};

/* ---- words ---- */

static bool begins(const char *at, const char *prefix)
{
    return *at == *prefix && strncmp(at, prefix, strlen(prefix)) == 0; /* decides most calls */
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t length_of(const char *at)
{
    size_t n = 0;
    while (is_letter(at[n]))
        n++;
    return n;
}

/* The word to find; the context of a table search. */
struct wanted {
    const struct source *s;
    const char *at;
    size_t length;
};

static bool is_wanted(const void *context, int item)
{
    const struct wanted *wanted = context;
    const struct word *word = &wanted->s->words[item];
    return word->length == wanted->length && memcmp(word->at, wanted->at, word->length) == 0;
}

static uint64_t hash_of(const char *at, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = cr_hash_word(hash, (unsigned char)at[i]);
    return hash;
}

/* Returns the index of a word, or -1. */
static int find_word(const struct source *s, const char *at, size_t length)
{
    const struct wanted wanted = {s, at, length};
    return cr_table_find(&s->table, hash_of(at, length), is_wanted, &wanted);
}

/* Returns the index of a word; adds the word if it is new. */
static int add_word(struct source *s, const char *at, size_t length)
{
    int word = find_word(s, at, length);
    if (word >= 0)
        return word;
    cr_table_add(&s->table, hash_of(at, length), s->n_words);
    *CR_PUSH(s->words, s->n_words, s->words_cap) = (struct word){.at = at, .length = length};
    return s->n_words - 1;
}

/* ---- lines and tokens ---- */

/* Returns the text after the comment or quoted literal at `at`; null if there is neither. */
static const char *skip_quoted(const char *at)
{
    if (begins(at, "/*"))
        return strstr(at + 2, "*/") + 2;
    if (*at != '"' && *at != '\'')
        return NULL;
    const char quote = *at++;
    while (*at != quote)
        at += *at == '\\' ? 2 : 1;
    return at + 1;
}

/* True if ## pastes something after the word that ends at `at`, and nothing after the pasted
 * word. */
static bool is_pasted_to(const char *at)
{
    return begins(at, "##") && !begins(at + 2 + length_of(at + 2), "##");
}

static void add_token(struct source *s, const char *at, size_t length, int line)
{
    int word = add_word(s, at, length);
    s->words[word].is_prefix |= is_pasted_to(at + length);
    *CR_PUSH(s->tokens, s->n_tokens, s->tokens_cap) = (struct token){word, line};
}

/* Records the beginning of line `n`. */
static void begin_line(struct source *s, int n, const char *at, bool in_comment)
{
    s->lines[n] = (struct line){.at = at, .token = s->n_tokens, .item = -1, .in_comment = in_comment};
}

/* Finds all lines of the text, and all words outside of comments and strings. */
static void read_tokens(struct source *s, const struct cr_text *text)
{
    int line = 0;
    const char *at = text->data, *end = at + text->length, *quoted_end = at;
    for (const char *c = at; c < end; c++)
        s->n_lines += *c == '\n';
    s->lines = cr_calloc((size_t)s->n_lines + 1, sizeof *s->lines);
    begin_line(s, 0, at, false);
    while (at < end) {
        const char *next = at >= quoted_end ? skip_quoted(at) : NULL;
        size_t length = at >= quoted_end && !next ? length_of(at) : 0;
        quoted_end = next ? next : quoted_end;
        if (length)
            add_token(s, at, length, line);
        else if (*at == '\n')
            begin_line(s, ++line, at + 1, at + 1 < quoted_end);
        at += length ? length : 1;
    }
}

/* ---- definitions ---- */

/* Returns the text after the matching ')' of the parenthesis at `at`. */
static const char *skip_parentheses(const char *at)
{
    int depth = 0;
    do {
        depth += (*at == '(') - (*at == ')');
        at++;
    } while (depth > 0);
    return at;
}

/* Sets *name to the name of the function that is defined or declared at `at`, as NAME or
 * CR_NAME(NAME). Returns the text of its parameters, or null if there is no function. */
static const char *find_function(const char *at, const char **name)
{
    for (;;) {
        at += strcspn(at, "(=;{[");
        if (*at != '(')
            return NULL;
        for (*name = at; is_letter((*name)[-1]);)
            --*name;
        if (!begins(*name, "__attribute__("))
            break;
        at = skip_parentheses(at);
    }
    if (!begins(*name, "CR_NAME("))
        return at;
    *name = at + 1;
    at = skip_parentheses(at);
    return *at == '(' ? at : NULL;
}

/* Returns the last line of the macro whose definition begins in a line. */
static int end_of_macro(const struct source *s, int line)
{
    while (s->lines[line + 1].at[-2] == '\\')
        line++;
    return line;
}

/* Returns the last line of the function definition or declaration with the given parameters; -1
 * if it is neither. */
static int end_of_function(const struct source *s, int line, const char *parameters)
{
    const char *at = skip_parentheses(parameters);
    at += strspn(at, " \n");
    if (begins(at, "CR_PRINTF("))
        at = skip_parentheses(at + 9);
    if (*at != ';' && *at != '{')
        return -1;
    for (; line < s->n_lines; line++)
        if (*at == ';' ? s->lines[line + 1].at > at : *s->lines[line].at == '}')
            return line;
    return -1;
}

static void add_item(struct source *s, enum kind kind, const char *name, int first, int last)
{
    int word = find_word(s, name, length_of(name));
    for (int line = first; line <= last; line++)
        s->lines[line].item = s->n_items;
    s->words[word].defined += kind == MACRO;
    *CR_PUSH(s->items, s->n_items, s->items_cap) = (struct item){kind, word, first, last, -1};
}

/* Adds the typedef that begins in a line as an item, and returns its last line.  Ignores a
 * typedef of a struct, whose tag may be used, and of an array, which may serve as a compile-time
 * check. */
static int read_typedef(struct source *s, int line)
{
    const char *at = s->lines[line].at, *name, *end = at + strcspn(at, "{[;");
    int last = line;
    if (*end != ';')
        return line;
    if (!find_function(at, &name))
        for (name = end; is_letter(name[-1]);)
            name--;
    while (s->lines[last + 1].at <= end)
        last++;
    if (is_letter(*name)) /* otherwise it is a pointer to a function */
        add_item(s, TYPE, name, line, last);
    return last;
}

/* Adds the item that begins in a line, if there is one; returns the line after the item, or the
 * next line. */
static int read_item(struct source *s, int line)
{
    static const char *const beginnings[] = {"static ", "CR_INLINE ", "CR_API "};
    const char *at = s->lines[line].at, *name, *parameters;
    int last = line;
    if (s->lines[line].in_comment)
        return line + 1;
    if (begins(at, "#define ")) {
        last = end_of_macro(s, line);
        add_item(s, MACRO, at + 8, line, last);
    } else if (begins(at, "#undef ")) {
        add_item(s, UNDEF, at + 7, line, line);
    } else if (begins(at, "typedef ")) {
        last = read_typedef(s, line);
    }
    if (line > 0 && begins(s->lines[line - 1].at, "#endif"))
        return last + 1; /* functions between these lines are not read: their attributes may be
                          * inside this condition */
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (begins(at, beginnings[i]) && (parameters = find_function(at, &name))) {
            int end = end_of_function(s, line, parameters);
            if (end >= 0)
                add_item(s, *s->lines[end].at == '}' ? FUNCTION : DECLARATION, name, line, end);
            last = end >= 0 ? end : line;
        }
    return last + 1;
}

/* ---- what is used ---- */

/* Adds `one` to the number of uses of each word in an item's lines, except for the item's own
 * word. */
static void count_uses(struct source *s, int first, int last, int one)
{
    for (int i = s->lines[first].token; i < s->lines[last + 1].token; i++) {
        const int item = s->lines[s->tokens[i].line].item;
        if (item < 0 || s->items[item].word != s->tokens[i].word)
            s->words[s->tokens[i].word].uses += one;
    }
}

/* True if ## may paste a word together from two words of the text. */
static bool is_pasted(const struct source *s, const struct word *word)
{
    for (size_t n = 1; n < word->length; n++) {
        int prefix = find_word(s, word->at, n);
        if (prefix >= 0 && s->words[prefix].is_prefix &&
            find_word(s, word->at + n, word->length - n) >= 0)
            return true;
    }
    return false;
}

/* True if a function of the template, CR_NAME(NAME), is called under its name for one instruction
 * set, NAME_plain. */
static bool is_used_for_a_set(const struct source *s, const struct word *word)
{
    static const char *const sets[] = {"plain", "avx2", "avx512", "neon"};
    bool is_used = false;
    for (size_t i = 0; i < sizeof sets / sizeof *sets && !is_used; i++) {
        struct cr_text name = {0};
        cr_put(&name, "%.*s_%s", (int)word->length, word->at, sets[i]);
        const int found = find_word(s, name.data, name.length);
        is_used = found >= 0 && s->words[found].uses;
        free(name.data);
    }
    return is_used;
}

static bool is_unused(const struct source *s, const struct item *item)
{
    const struct word *word = &s->words[item->word];
    if (item->kind == UNDEF)
        return !word->defined;
    bool for_a_set = item->kind != MACRO && item->kind != TYPE && is_used_for_a_set(s, word);
    return !word->uses && !is_pasted(s, word) && !for_a_set;
}

static void remove_lines(struct source *s, int first, int last)
{
    for (int line = first; line <= last; line++)
        s->lines[line].removed = true;
}

/* Removes unused items, again and again, until all remaining items are used. */
static void remove_items(struct source *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < s->n_items; i++) {
            const struct item *item = &s->items[i];
            if (s->lines[item->first].removed || !is_unused(s, item))
                continue;
            remove_lines(s, item->first, item->last);
            count_uses(s, item->first, item->last, -1);
            s->words[item->word].defined -= item->kind == MACRO;
            changed = true;
        }
    }
}

/* ---- what remains around it ---- */

static bool is_blank(const struct line *line)
{
    return *line->at == '\n';
}

static bool is_condition(const struct line *line)
{
    return begins(line->at, "#if") || begins(line->at, "#el") || begins(line->at, "#endif");
}

/* Returns the first line of the comment that ends just before `line`, or -1. */
static int find_comment(const struct source *s, int line)
{
    const char *at = s->lines[line].at;
    if (line == 0 || s->lines[line - 1].removed || !begins(at - 3, "*/\n"))
        return -1;
    while (line > 0 && s->lines[line - 1].in_comment)
        line--;
    return line > 0 && begins(s->lines[line - 1].at, "/*") ? line - 1 : -1;
}

/* True if a line belongs to a declaration. */
static bool is_declaration(const struct source *s, int line)
{
    const int item = s->lines[line].item;
    return item >= 0 && s->items[item].kind == DECLARATION;
}

/* Returns the first line of the comment on a declaration, or -1.  Sets *shared if that comment
 * also applies to other declarations. */
static int comment_on(const struct source *s, const struct item *declaration, bool *shared)
{
    int first = declaration->first, comment;
    while (first > 0 && is_declaration(s, first - 1))
        first--;
    comment = find_comment(s, first);
    *shared = comment >= 0 &&
              (first < declaration->first || is_declaration(s, declaration->last + 1));
    return comment;
}

/* Returns the first definition of a declared function.  Returns null if the function may be used
 * before its last definition: in an earlier line, or by the end of the file, which is included
 * before it. */
static struct item *definition_of(const struct source *s, const struct item *declaration)
{
    struct item *definition = NULL;
    bool is_used = false;
    for (int i = s->lines[declaration->last + 1].token; i < s->n_tokens; i++) {
        const struct token *token = &s->tokens[i];
        const int item = s->lines[token->line].item;
        const bool is_own = item >= 0 && s->items[item].word == declaration->word;
        if (begins(s->lines[token->line].at, "#include CR_TEMPLATE"))
            is_used = true;
        if (token->word != declaration->word || s->lines[token->line].removed)
            continue;
        if (is_own && s->items[item].kind == FUNCTION && is_used)
            return NULL;
        if (is_own && s->items[item].kind == FUNCTION && !definition)
            definition = &s->items[item];
        is_used |= !is_own;
    }
    return definition;
}

/* Removes declarations of functions that are not used before their definitions; moves the
 * comments on them to the definitions. */
static void remove_declarations(struct source *s)
{
    for (int i = 0; i < s->n_items; i++) {
        const struct item *item = &s->items[i];
        bool shared = false;
        if (item->kind != DECLARATION || s->lines[item->first].removed)
            continue;
        struct item *definition = definition_of(s, item);
        int comment = comment_on(s, item, &shared);
        if (!definition || shared)
            continue;
        remove_lines(s, item->first, item->last);
        count_uses(s, item->first, item->last, -1);
        definition->comment = comment;
    }
}

/* Removes comments before removed lines, unless they also apply to lines that remain. */
static void remove_comments(struct source *s)
{
    for (int line = s->n_lines - 1; line > 0; line--) {
        int next = line, comment = -1;
        while (next < s->n_lines && s->lines[next].removed)
            next++;
        if (next > line &&
            (next == s->n_lines || is_blank(&s->lines[next]) || is_condition(&s->lines[next])))
            comment = find_comment(s, line);
        if (comment >= 0)
            remove_lines(s, comment, line - 1);
    }
}

/* Returns the line of the #endif of the condition that begins in a line. */
static int end_of_condition(const struct source *s, int line)
{
    int depth = 0;
    do {
        depth += begins(s->lines[line].at, "#if") - begins(s->lines[line].at, "#endif");
    } while (depth > 0 && ++line < s->n_lines);
    return line;
}

/* True if a macro is the include guard of a text that appears once: its name occurs only in an
 * #ifndef and in its definition. */
static bool is_guard(const struct source *s, const struct item *item)
{
    const struct word *word = &s->words[item->word];
    return item->kind == MACRO && item->first > 0 && word->uses == 1 && word->defined == 1 &&
           begins(s->lines[item->first - 1].at, "#ifndef ") && word->length > 2 &&
           begins(word->at + word->length - 2, "_H");
}

static void remove_guards(struct source *s)
{
    for (int i = 0; i < s->n_items; i++) {
        const struct item *item = &s->items[i];
        if (!is_guard(s, item))
            continue;
        int end = end_of_condition(s, item->first - 1);
        remove_lines(s, item->first - 1, item->last + is_blank(&s->lines[item->last + 1]));
        remove_lines(s, end, end);
    }
}

/* Removes preprocessor conditions of whose lines none remains. */
static void remove_conditions(struct source *s)
{
    enum { DEPTH = 32 };
    int begin[DEPTH], depth = 0;
    bool is_empty[DEPTH] = {0};
    for (int i = 0; i < s->n_lines; i++) {
        const char *at = s->lines[i].at;
        if (s->lines[i].removed || is_blank(&s->lines[i]))
            continue;
        if (!is_condition(&s->lines[i])) {
            memset(is_empty, 0, sizeof is_empty);
        } else if (begins(at, "#if")) {
            CR_CHECK(depth < DEPTH);
            begin[depth] = i;
            is_empty[depth++] = true;
        } else if (begins(at, "#endif") && is_empty[--depth]) {
            remove_lines(s, begin[depth], i);
        }
    }
}

/* An #include <...>, with the branch of a condition in which it is. */
struct included {
    const char *at;
    int depth;
};

/* True if the same header was included before. */
static bool is_included(const struct included *headers, int n, const char *at)
{
    for (int i = 0; i < n; i++)
        if (strncmp(headers[i].at, at, strcspn(at, "\n") + 1) == 0)
            return true;
    return false;
}

/* Removes an #include <...> of a header that is included earlier in the same branch or outside of
 * it. */
static void remove_includes(struct source *s)
{
    struct included headers[64];
    int n = 0, depth = 0;
    for (int i = 0; i < s->n_lines; i++) {
        const char *at = s->lines[i].at;
        if (begins(at, "#else") || begins(at, "#elif") || begins(at, "#endif"))
            while (n > 0 && headers[n - 1].depth >= depth)
                n--;
        depth += begins(at, "#if") - begins(at, "#endif");
        if (!begins(at, "#include <"))
            continue;
        s->lines[i].removed = is_included(headers, n, at);
        CR_CHECK(n < 64);
        if (!s->lines[i].removed)
            headers[n++] = (struct included){at, depth};
    }
}

/* Appends the comment that begins in a line. */
static void put_comment(const struct source *s, int line, struct cr_text *text)
{
    do {
        cr_put_bytes(text, s->lines[line].at, (size_t)(s->lines[line + 1].at - s->lines[line].at));
    } while (s->lines[++line].in_comment);
}

/* Appends the remaining lines; of several empty lines in a row, only the first. */
static void put_lines(const struct source *s, struct cr_text *text)
{
    bool was_blank = true; /* true, so that the text does not begin with an empty line */
    for (int i = 0; i < s->n_lines; i++) {
        const struct line *line = &s->lines[i];
        const struct item *item = line->item >= 0 ? &s->items[line->item] : NULL;
        if (item && item->first == i && item->comment >= 0 && !line->removed)
            put_comment(s, item->comment, text);
        if (line->removed || (was_blank && is_blank(line)))
            continue;
        cr_put_bytes(text, line->at, (size_t)(line[1].at - line->at));
        was_blank = is_blank(line);
    }
}

void cr_strip_unused(struct cr_text *text)
{
    struct source s = {0};
    struct cr_text left = {0};
    read_tokens(&s, text);
    s.lines[s.n_lines].token = s.n_tokens;
    for (int line = 0; line < s.n_lines;)
        line = read_item(&s, line);
    count_uses(&s, 0, s.n_lines - 1, 1);
    remove_items(&s);
    remove_declarations(&s);
    remove_items(&s); /* a second time, since removed declarations may have been the only uses */
    remove_comments(&s);
    remove_conditions(&s);
    remove_comments(&s); /* of comments before removed conditions */
    remove_guards(&s);   /* last, since the comments before include guards describe files */
    remove_includes(&s);
    put_lines(&s, &left);
    free(text->data);
    *text = left;
    free(s.lines);
    free(s.words);
    free(s.tokens);
    free(s.items);
    cr_table_free(&s.table);
}
