/* ranking_prompt.c - the prompt of a reranking decoder; see ranking_prompt.h. */
#include "ranking_prompt.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* The state of reading a template: its source and the current position.  `tag` is the start of the
 * current expression. */
struct reader {
    const char *at, *end, *start, *tag, *path, *instruction;
    int line;   /* the line for messages, see cr_read_ranking_prompt */
    bool trims; /* the last expression ended in -}}, which removes the spaces behind it */
    struct cr_error *error;
};

/* Fails with a message that has the line of the current expression and its first characters. */
static int fail(const struct reader *r)
{
    int line = r->line ? r->line : 1, shown = 0;
    for (const char *c = r->start; c < r->tag && !r->line; c++)
        line += *c == '\n';
    while (shown < 40 && r->tag + shown < r->end && r->tag[shown] != '\n')
        shown++;
    return cr_fail(r->error, "%.300s:%d: found %.*s, expected text and {{ messages | selectattr(\"role\", \"eq\", ROLE) "
                             "| map(attribute=\"content\") | first }} alone, ROLE being \"system\", \"query\" or "
                             "\"document\"",
                   r->path, line, shown, r->tag);
}

/* ---- words of an expression ---- */

static void skip_spaces(struct reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

/* Reads a word or a sign if it comes next; returns false otherwise. */
static bool takes(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    skip_spaces(r);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* Reads a word in quotes if it comes next; returns false otherwise. */
static bool take_quoted(struct reader *r, const char *word)
{
    const char *before = r->at;
    const size_t n = strlen(word);
    bool good = (takes(r, "'") || takes(r, "\"")) && takes(r, word) && r->at < r->end && *r->at == r->at[-(int)n - 1];
    r->at = good ? r->at + 1 : before;
    return good;
}

/* Reads the words of a list, which a null ends; returns false if one of them is missing. */
static bool take_all(struct reader *r, const char *const *words)
{
    for (; *words; words++)
        if (!takes(r, *words))
            return false;
    return true;
}

/* Reads a string in ' or ", with the escapes \n, \\, \' and \". Returns false if no string comes
 * next. */
static bool take_string(struct reader *r, struct cr_text *out)
{
    skip_spaces(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\''))
        return false;
    const char quote = *r->at++;
    cr_put_bytes(out, "", 0);
    for (; r->at < r->end && *r->at != quote; r->at++) {
        char c = *r->at;
        if (c == '\\') {
            if (++r->at == r->end || !strchr("n\\'\"", *r->at))
                return false;
            c = *r->at == 'n' ? '\n' : *r->at;
        }
        cr_put_bytes(out, &c, 1);
    }
    return r->at++ < r->end;
}

/* ---- parts ---- */

/* Appends text to the last part if that is a text; otherwise adds a part. */
static void add_text(struct cr_ranking_prompt *t, const char *bytes, size_t n)
{
    struct cr_prompt_part *last = t->n ? &t->parts[t->n - 1] : NULL;
    struct cr_text text = {0};
    if (last && last->kind == CR_PROMPT_TEXT) {
        cr_put(&text, "%s", last->text);
        free(last->text);
    } else {
        last = CR_PUSH(t->parts, t->n, t->cap);
    }
    cr_put_bytes(&text, bytes, n);
    *last = (struct cr_prompt_part){CR_PROMPT_TEXT, text.data};
}

/* Adds the part for the content of a role's message.  For "system" that is the instruction or,
 * without one, the text `otherwise`.  Returns false for an unknown role. */
static bool add_message(struct reader *r, struct cr_ranking_prompt *t, const char *role, const char *otherwise)
{
    bool is_query = strcmp(role, "query") == 0;
    if (strcmp(role, "system") == 0) {
        const char *text = r->instruction ? r->instruction : otherwise;
        add_text(t, text, strlen(text));
        return true;
    }
    if (!is_query && strcmp(role, "document") != 0)
        return false;
    *CR_PUSH(t->parts, t->n, t->cap) =
        (struct cr_prompt_part){is_query ? CR_PROMPT_QUERY : CR_PROMPT_DOCUMENT, NULL};
    return true;
}

/* Reads a filter default(STRING) if it comes next; without it, *otherwise is empty. */
static bool take_default(struct reader *r, struct cr_text *otherwise)
{
    static const char *const words[] = {"default", "(", NULL};
    cr_put_bytes(otherwise, "", 0);
    return !takes(r, "|") || (take_all(r, words) && take_string(r, otherwise) && takes(r, ")"));
}

/* Reads the filters that select the content of the first message of a role. */
static bool read_message(struct reader *r, struct cr_ranking_prompt *t)
{
    static const char *const before[] = {"|", "selectattr", "(", NULL};
    static const char *const between[] = {")", "|", "map", "(", "attribute", "=", NULL};
    static const char *const after[] = {")", "|", "first", NULL};
    struct cr_text role = {0}, otherwise = {0};
    bool good = take_all(r, before) && take_quoted(r, "role") && takes(r, ",") &&
                (take_quoted(r, "eq") || take_quoted(r, "equalto")) && takes(r, ",") && take_string(r, &role) &&
                take_all(r, between) && take_quoted(r, "content") && take_all(r, after) &&
                take_default(r, &otherwise) && add_message(r, t, role.data, otherwise.data);
    free(role.data);
    free(otherwise.data);
    return good;
}

/* Reads an expression, including the braces around it. */
static int read_expression(struct reader *r, struct cr_ranking_prompt *t)
{
    struct cr_text text = {0};
    bool good = takes(r, "{{");
    takes(r, "-"); /* the spaces before it were removed by read_text */
    if (good && takes(r, "messages"))
        good = read_message(r, t);
    else if (good && (good = take_string(r, &text)))
        add_text(t, text.data, text.length);
    free(text.data);
    r->trims = takes(r, "-");
    return good && takes(r, "}}") ? 0 : fail(r);
}

/* Reads text up to the next tag or the end; adds it as a part. */
static void read_text(struct reader *r, struct cr_ranking_prompt *t)
{
    if (r->trims)
        skip_spaces(r);
    const char *start = r->at, *end;
    while (r->at < r->end && !(*r->at == '{' && r->at + 1 < r->end && strchr("{%#", r->at[1])))
        r->at++;
    end = r->at;
    if (r->at + 2 < r->end && r->at[2] == '-')
        while (end > start && isspace((unsigned char)end[-1]))
            end--;
    if (end > start)
        add_text(t, start, (size_t)(end - start));
}

/* Fails unless the template has exactly one placeholder for the question and one for the
 * document. */
static int check(const struct cr_ranking_prompt *t, const struct reader *r)
{
    int found[3] = {0};
    for (int i = 0; i < t->n; i++)
        found[t->parts[i].kind]++;
    return found[CR_PROMPT_QUERY] == 1 && found[CR_PROMPT_DOCUMENT] == 1
               ? 0
               : cr_fail(r->error, "%.300s:%d: found a template with %d places for a query and %d for a document, expected "
                                   "one of each",
                         r->path, r->line ? r->line : 1, found[CR_PROMPT_QUERY], found[CR_PROMPT_DOCUMENT]);
}

/* A newline at the end of the source is dropped, as Jinja does. */
int cr_read_ranking_prompt(struct cr_ranking_prompt *t, const char *source, size_t n, const char *instruction,
                          const char *path, int line, struct cr_error *error)
{
    n -= n > 0 && source[n - 1] == '\n';
    struct reader r = {source, source + n, source, source, path, instruction, line, false, error};
    for (read_text(&r, t); r.at < r.end; read_text(&r, t)) {
        r.tag = r.at;
        if (read_expression(&r, t))
            return -1;
    }
    return check(t, &r);
}

struct cr_text cr_fill_ranking_prompt(const struct cr_ranking_prompt *t, const struct cr_text *query,
                              const struct cr_text *document, size_t *end)
{
    struct cr_text out = {0};
    cr_put_bytes(&out, "", 0);
    for (int i = 0; i < t->n; i++) {
        const struct cr_prompt_part *part = &t->parts[i];
        const struct cr_text *whole = part->kind == CR_PROMPT_QUERY ? query : document;
        if (part->kind == CR_PROMPT_TEXT) {
            cr_put_bytes(&out, part->text, strlen(part->text));
            continue;
        }
        cr_put_bytes(&out, whole->data, whole->length);
        *end = out.length;
    }
    return out;
}

void cr_free_ranking_prompt(struct cr_ranking_prompt *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->parts[i].text);
    free(t->parts);
    *t = (struct cr_ranking_prompt){0};
}
