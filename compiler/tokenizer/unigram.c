/* unigram.c - the most likely tokens of a text; see unigram.h. */
#include "unigram.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "find_word.h"

#include "unigram.inc"

/* ---- building ---- */

int cr_add_unigram(struct cr_unigram *u, struct cr_vocabulary *v, const char *text, size_t length,
                   double score, const char *path, struct cr_error *error)
{
    if (isnan(score))
        return cr_fail(error, "%s: found no number for the score of token %s, expected one", path,
                       cr_show(text, length).text);
    if (cr_add_word(v, text, length, u->n_scores, path, error))
        return -1;
    if (!v->is_complete)
        *CR_PUSH(u->scores, u->n_scores, u->scores_cap) = score;
    return 0;
}

/* Builds the table of the longest tokens, and sets the score of an unknown character. */
static void make_tables(struct cr_unigram *u)
{
    double least = INFINITY;
    u->longest = cr_calloc(CR_UNIGRAM_HEADS, sizeof *u->longest);
    for (int id = 0; id < u->n_scores; id++) {
        const struct cr_token *token = &u->vocabulary->tokens[id];
        if (!(u->scores[id] > -DBL_MAX))
            continue;
        least = u->scores[id] < least ? u->scores[id] : least;
        if (token->length < CR_UNIGRAM_HEAD)
            continue;
        uint32_t *longest = &u->longest[cr_unigram_head(cr_word_text(u->vocabulary, id))];
        *longest = token->length > *longest ? token->length : *longest;
    }
    if (u->unknown_score == 0)
        u->unknown_score = least - 10;
}

void cr_index_unigram(struct cr_unigram *u)
{
    if (!u->vocabulary->is_complete)
        make_tables(u);
    cr_find_bytes(u->vocabulary, u->byte_fallback, u->bytes);
}

void cr_free_unigram(struct cr_unigram *u)
{
    free(u->scores);
    free(u->longest);
    *u = (struct cr_unigram){0};
}

/* ---- encoding ---- */

/* Appends the ids of one part of the path, a token or unknown text; `parts` has room for an id for
 * each byte. */
static int put_part(const struct cr_unigram_tables *t, const char *text, size_t n, int32_t *parts,
                    struct cr_ids *ids, struct cr_error *error)
{
    size_t made = cr_part_ids(t, text, n, parts);
    for (size_t i = 0; i < made; i++)
        *CR_PUSH(ids->items, ids->n, ids->cap) = parts[i];
    if (made > 0)
        return 0;
    return cr_fail(error,
                   "the text has %s, which no tokens make up, and the vocabulary has no unknown "
                   "token, expected one",
                   cr_show(text, n).text);
}

int cr_unigram_encode(const struct cr_unigram *u, const char *text, size_t n, struct cr_ids *ids,
                      struct cr_error *error)
{
    const struct cr_words words = {u->vocabulary};
    const struct cr_unigram_tables tables = {&words, u->scores, u->unknown_score, u->unknown,
                                             u->byte_fallback ? u->bytes : NULL, u->single, u->longest};
    struct cr_ending *endings = cr_calloc(n + 1, sizeof *endings);
    int32_t *parts = cr_calloc(n, sizeof *parts);
    int status = 0;
    cr_find_path(&tables, text, n, endings);
    for (size_t at = 0, end; at < n && status == 0; at = end) {
        end = cr_next_part(&tables, endings, n, at);
        status = put_part(&tables, text + at, end - at, parts, ids, error);
    }
    free(endings);
    free(parts);
    return status;
}
