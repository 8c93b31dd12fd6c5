/* pieces.c - pieces of text, and cutting text by a pattern; see pieces.h. */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

#include "leading.inc"

void cr_add_piece(struct cr_pieces *p, const char *text, size_t length, size_t leading)
{
    if (length == 0)
        return;
    *CR_PUSH(p->items, p->n, p->cap) =
        (struct cr_piece){p->text.length, length, CR_NO_TOKEN, leading < length ? leading : length};
    cr_put_bytes(&p->text, text, length);
}

void cr_add_token(struct cr_pieces *p, int32_t token)
{
    *CR_PUSH(p->items, p->n, p->cap) = (struct cr_piece){p->text.length, 0, token, 0};
}

void cr_empty_pieces(struct cr_pieces *p)
{
    p->n = 0;
    p->text.length = 0;
}

void cr_free_pieces(struct cr_pieces *p)
{
    free(p->text.data);
    free(p->items);
    *p = (struct cr_pieces){0};
}

/* ---- cutting ---- */

/* A match, or the text between two matches.  Spans cover the whole text, including matches that are
 * removed. */
struct span {
    size_t begin, end;
    bool is_match;
};

struct spans {
    struct span *items;
    int n, cap;
};

static void add_span(struct spans *s, size_t begin, size_t end, bool is_match)
{
    *CR_PUSH(s->items, s->n, s->cap) = (struct span){begin, end, is_match};
}

/* Finds all matches and the texts between them; `invert` makes matches of the texts and vice
 * versa. */
static int find_spans(struct spans *s, const struct cr_pattern *pattern, bool invert,
                      const char *text, size_t n, struct cr_error *error)
{
    struct cr_matches matches = {.pattern = pattern, .text = text, .n = n};
    struct cr_match match;
    size_t done = 0;
    int found;
    while ((found = cr_pattern_next(&matches, &match, error)) > 0) {
        if (match.begin > done)
            add_span(s, done, match.begin, invert);
        add_span(s, match.begin, match.end, !invert);
        done = match.end;
    }
    if (found >= 0 && done < n)
        add_span(s, done, n, invert);
    return found;
}

/* Joins each match with the text before it, unless another match is before it.  With `alike`, joins
 * adjacent spans instead that are both matches or both text. */
static void join_forward(struct spans *s, bool alike)
{
    int kept = 0;
    bool previous = false;
    for (int i = 0; i < s->n; i++) {
        struct span span = s->items[i];
        bool join = alike ? span.is_match == previous : span.is_match && !previous;
        if (join && kept > 0)
            s->items[kept - 1].end = span.end;
        else
            s->items[kept++] = span;
        previous = span.is_match;
    }
    s->n = kept;
}

/* Joins each match with the text behind it, unless another match is behind it. */
static void join_backward(struct spans *s)
{
    int kept = s->n;
    bool next = false;
    for (int i = s->n - 1; i >= 0; i--) {
        struct span span = s->items[i];
        if (span.is_match && !next && kept < s->n)
            s->items[kept].begin = span.begin;
        else
            s->items[--kept] = span;
        next = span.is_match;
    }
    memmove(s->items, s->items + kept, (size_t)(s->n - kept) * sizeof *s->items);
    s->n -= kept;
}

int cr_cut(struct cr_pieces *pieces, const struct cr_pattern *pattern, enum cr_behavior behavior,
           bool invert, const char *text, size_t n, size_t leading, struct cr_error *error)
{
    struct spans s = {0};
    int status = find_spans(&s, pattern, invert, text, n, error);
    if (status == 0 && s.n > 0) {
        if (behavior == CR_MERGED_WITH_PREVIOUS || behavior == CR_CONTIGUOUS)
            join_forward(&s, behavior == CR_CONTIGUOUS);
        else if (behavior == CR_MERGED_WITH_NEXT)
            join_backward(&s);
    }
    for (int i = 0; status == 0 && i < s.n; i++)
        if (behavior != CR_REMOVED || !s.items[i].is_match)
            cr_add_piece(pieces, text + s.items[i].begin, s.items[i].end - s.items[i].begin,
                         cr_leading_from(leading, s.items[i].begin));
    free(s.items);
    return status;
}
