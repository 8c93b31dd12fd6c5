/* truncation.c - truncates the ids of texts that are too long; see truncation.h. */
#include "truncation.h"

#include <string.h>

#include "truncation.inc"

int cr_read_truncation(struct cr_truncation *out, const struct cr_document *d,
                       struct cr_error *error)
{
    static const char where[] = "truncation";
    static const char *const strategies[] = {
        [CR_LONGEST_FIRST] = "LongestFirst", [CR_ONLY_FIRST] = "OnlyFirst", [CR_ONLY_SECOND] = "OnlySecond"};
    int object = cr_member(d, 0, where);
    const char *strategy = "LongestFirst", *direction = "Right";
    if (object < 0)
        return 0;
    if (cr_read_integer(d, object, where, "max_length", &out->most, error) ||
        cr_read_string(d, object, where, "strategy", &strategy, error) ||
        cr_read_string(d, object, where, "direction", &direction, error))
        return -1;
    out->left = strcmp(direction, "Left") == 0;
    if (out->most < 0 || (!out->left && strcmp(direction, "Right") != 0))
        return cr_fail(error,
                       "%s: truncation: found a max_length of %lld and the direction %.60s, expected a "
                       "length and Left or Right",
                       d->path, (long long)out->most, direction);
    for (int i = 0; i < 3; i++)
        if (strcmp(strategies[i], strategy) == 0) {
            out->strategy = (enum cr_truncation_strategy)i;
            return 0;
        }
    return cr_fail(error,
                   "%s: truncation: found the strategy %.60s, expected LongestFirst, OnlyFirst or "
                   "OnlySecond",
                   d->path, strategy);
}

/* Keeps the first `most` ids or, if `left` is true, the last ones. */
static void keep(struct cr_ids *ids, int64_t most, bool left)
{
    if (ids->n <= most)
        return;
    if (left && most > 0)
        memmove(ids->items, ids->items + ids->n - most, (size_t)most * sizeof *ids->items);
    ids->n = (int)most;
}

/* Fails because the strategy allows to cut only one text, and that is too short. */
static int refuse(const struct cr_truncation *t, int64_t over, const struct cr_ids *text,
                  const struct cr_ids *pair, struct cr_error *error)
{
    if (t->strategy == CR_ONLY_SECOND && !pair)
        return cr_fail(error, "found a text alone where only a second one may be cut, expected a pair");
    return cr_fail(error,
                   "found %lld tokens too many, but the only text that may be cut has %d, expected a longer "
                   "limit or a shorter other text",
                   (long long)over, t->strategy == CR_ONLY_SECOND ? pair->n : text->n);
}

int cr_truncate(const struct cr_truncation *t, int64_t most, struct cr_ids *text,
                struct cr_ids *pair, struct cr_error *error)
{
    int64_t counts[2] = {text->n, pair ? pair->n : 0};
    if (cr_keep_counts(t->strategy, most, pair != NULL, counts))
        return refuse(t, (int64_t)text->n + (pair ? pair->n : 0) - most, text, pair, error);
    keep(text, counts[0], t->left);
    if (pair)
        keep(pair, counts[1], t->left);
    return 0;
}
