/* scored_merges.c - derives the merges of SentencePiece's BPE from scores; see scored_merges.h. */
#include "scored_merges.h"

#include <stdlib.h>

#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"

/* Adds a merge for each way to split a token into two tokens. */
static int add_pairs(struct cr_bpe *bpe, int32_t id, const char *path, struct cr_error *error)
{
    const struct cr_vocabulary *v = bpe->vocabulary;
    const char *text = cr_word_text(v, id), *end = text + v->tokens[id].length;
    for (const char *right = text + cr_utf8(text, end); right < end; right += cr_utf8(right, end)) {
        size_t at = (size_t)(right - text), rest = (size_t)(end - right);
        if (cr_find_word(v, text, at) >= 0 && cr_find_word(v, right, rest) >= 0 &&
            cr_add_merge(bpe, text, at, right, rest, path, error))
            return -1;
    }
    return 0;
}

/* A token and its score. */
struct scored {
    double score;
    int32_t id;
};

/* Sorts by descending score. */
static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* Computes the level of each token, its rank by descending score, from 0 on; equal scores have the
 * same level. */
static void find_levels(const double *scores, int n, int32_t *levels)
{
    struct scored *tokens = cr_calloc((size_t)n + 1, sizeof *tokens);
    for (int i = 0; i < n; i++)
        tokens[i] = (struct scored){scores[i], i};
    qsort(tokens, (size_t)n, sizeof *tokens, by_score);
    for (int i = 0, level = 0; i < n; i++) {
        level += i && tokens[i].score != tokens[i - 1].score;
        levels[tokens[i].id] = level;
    }
    free(tokens);
}

int cr_add_scored_merges(struct cr_bpe *bpe, const struct cr_scored_tokens *tokens,
                         const char *path, struct cr_error *error)
{
    int32_t *levels = cr_calloc((size_t)tokens->n + 1, sizeof *levels);
    int status = 0;
    for (int32_t id = 0; id < tokens->n && status == 0; id++)
        if (!tokens->whole[id] && bpe->vocabulary->tokens[id].length > 0)
            status = add_pairs(bpe, id, path, error);
    find_levels(tokens->scores, tokens->n, levels);
    bpe->levels = cr_calloc((size_t)bpe->n_merges + 1, sizeof *bpe->levels);
    for (int i = 0; i < bpe->n_merges; i++)
        bpe->levels[i] = levels[bpe->made[i]];
    free(levels);
    return status;
}
