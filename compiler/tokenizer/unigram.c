/* unigram.c - the most likely tokens of a text; see unigram.h. */
#include "unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/files/utf8.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

/* ---- making ---- */

int cr_add_unigram(struct cr_unigram *u, struct cr_vocabulary *v, const char *text, size_t length,
                   double score, const char *path, struct cr_error *error)
{
    if (isnan(score))
        return cr_fail(error, "%s: found no number for the score of token %s, expected one", path,
                       cr_show(text, length).text);
    if (cr_add_word(v, text, length, u->n_scores, path, error))
        return -1;
    *CR_PUSH(u->scores, u->n_scores, u->scores_cap) = score;
    return 0;
}

static bool is_sought(const struct cr_unigram *u, int32_t id)
{
    return u->scores[id] > -INFINITY;
}

/* Returns the id of a text that is looked for, or -1. */
static int32_t find(const struct cr_unigram *u, const char *text, size_t n)
{
    int32_t id = cr_find_word(u->vocabulary, text, n);
    return id >= 0 && is_sought(u, id) ? id : -1;
}

static uint32_t head_of(const char *text)
{
    uint32_t word;
    memcpy(&word, text, CR_UNIGRAM_HEAD);
    return (uint32_t)(cr_hash_word(0, word) >> 16) & (CR_UNIGRAM_HEADS - 1);
}

/* Finds the longest token of each beginning, and the score of an unknown character. */
void cr_index_unigram(struct cr_unigram *u)
{
    double least = INFINITY;
    u->longest = cr_calloc(CR_UNIGRAM_HEADS, sizeof *u->longest);
    for (int id = 0; id < u->n_scores; id++) {
        const struct cr_token *token = &u->vocabulary->tokens[id];
        if (!is_sought(u, id))
            continue;
        least = u->scores[id] < least ? u->scores[id] : least;
        if (token->length < CR_UNIGRAM_HEAD)
            continue;
        uint32_t *longest = &u->longest[head_of(token->text)];
        *longest = token->length > *longest ? token->length : *longest;
    }
    if (u->unknown_score == 0)
        u->unknown_score = least - 10;
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        u->bytes[i] = u->byte_fallback ? cr_find_word(u->vocabulary, name, 6) : -1;
    }
}

void cr_free_unigram(struct cr_unigram *u)
{
    free(u->scores);
    free(u->longest);
    *u = (struct cr_unigram){0};
}

/* ---- the best path ---- */

/* The best way to cut the text up to a position: its last token, and where that begins. */
struct ending {
    double score;
    uint32_t begin;
    int32_t id; /* CR_NOT_REACHED: no way was found yet */
};

enum { CR_NOT_REACHED = -2 };

/* Replaces the path to a position if the new one has a greater score. */
static void take(struct ending *ending, double score, size_t begin, int32_t id)
{
    if (ending->id == CR_NOT_REACHED || score > ending->score)
        *ending = (struct ending){score, (uint32_t)begin, id};
}

/* Returns the score of a path with one more token. */
static double longer(const struct cr_unigram *u, double path, double token)
{
    return u->single ? (double)((float)path + (float)token) : path + token;
}

/* Takes all tokens that begin at a character of `bytes` bytes. */
static void take_tokens(const struct cr_unigram *u, const char *text, size_t n, size_t at,
                        size_t bytes, struct ending *endings)
{
    size_t longest = CR_UNIGRAM_HEAD - 1;
    bool is_single = false;
    if (n - at >= CR_UNIGRAM_HEAD && u->longest[head_of(text + at)] > longest)
        longest = u->longest[head_of(text + at)];
    if (longest > n - at)
        longest = n - at;
    for (size_t length = 1; length <= longest || length <= bytes; length++) {
        if (length < n - at && ((unsigned char)text[at + length] & 0xc0) == 0x80)
            continue;
        int32_t id = find(u, text + at, length);
        if (id < 0)
            continue;
        take(&endings[at + length], longer(u, endings[at].score, u->scores[id]), at, id);
        is_single |= length == bytes;
    }
    if (!is_single)
        take(&endings[at + bytes], longer(u, endings[at].score, u->unknown_score), at, u->unknown);
}

/* ---- ids ---- */

/* Appends the ids of a part of the text that is one token, or unknown: the tokens of its bytes if all
 * of them have one, or else the unknown token. */
static int put_part(const struct cr_unigram *u, const char *text, size_t n, struct cr_ids *ids,
                    struct cr_error *error)
{
    int32_t id = find(u, text, n);
    bool by_bytes = id < 0 && u->byte_fallback;
    for (size_t i = 0; i < n && by_bytes; i++)
        by_bytes = u->bytes[(unsigned char)text[i]] >= 0;
    for (size_t i = 0; i < n && by_bytes; i++)
        *CR_PUSH(ids->items, ids->n, ids->cap) = u->bytes[(unsigned char)text[i]];
    if (by_bytes)
        return 0;
    id = id < 0 ? u->unknown : id;
    if (id < 0)
        return cr_fail(error,
                       "the text has %s, which no tokens make up, and the vocabulary has no unknown "
                       "token, expected one",
                       cr_show(text, n).text);
    *CR_PUSH(ids->items, ids->n, ids->cap) = id;
    return 0;
}

/* Reverses the path: `begin` of each position on it becomes the end of the token that begins there. */
static void reverse(struct ending *endings, size_t n)
{
    size_t end = n, next = n;
    while (end > 0) {
        size_t begin = endings[end].begin;
        endings[end].begin = (uint32_t)next;
        next = end;
        end = begin;
    }
    endings[0].begin = (uint32_t)next;
}

/* Appends the ids of the best path; unknown parts beside each other are one. */
static int put_path(const struct cr_unigram *u, const char *text, size_t n,
                    const struct ending *endings, struct cr_ids *ids, struct cr_error *error)
{
    int status = 0;
    for (size_t at = 0, end; at < n && status == 0; at = end) {
        end = endings[at].begin;
        bool is_unknown = u->unknown >= 0 && endings[end].id == u->unknown;
        while (is_unknown && end < n && endings[endings[end].begin].id == u->unknown)
            end = endings[end].begin;
        status = put_part(u, text + at, end - at, ids, error);
    }
    return status;
}

int cr_unigram_encode(const struct cr_unigram *u, const char *text, size_t n, struct cr_ids *ids,
                      struct cr_error *error)
{
    struct ending *endings = cr_calloc(n + 1, sizeof *endings);
    for (size_t i = 0; i <= n; i++)
        endings[i].id = CR_NOT_REACHED;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bytes = cr_utf8(text + at, text + n);
        take_tokens(u, text, n, at, bytes, endings);
    }
    reverse(endings, n);
    int status = put_path(u, text, n, endings, ids, error);
    free(endings);
    return status;
}
