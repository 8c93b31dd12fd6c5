/* truncation.c - cuts the ids of texts that are too long; see truncation.h. */
#include "truncation.h"

#include <string.h>

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

/* Keeps `most` ids. */
static void keep(struct cr_ids *ids, int64_t most, bool left)
{
    if (ids->n <= most)
        return;
    if (left && most > 0)
        memmove(ids->items, ids->items + ids->n - most, (size_t)most * sizeof *ids->items);
    ids->n = (int)most;
}

/* Cuts one text, so that `over` ids are gone. */
static int cut_one(struct cr_ids *ids, int64_t over, bool left, struct cr_error *error)
{
    if (ids->n <= over)
        return cr_fail(error,
                       "found %lld tokens too many where only a text of %d may be cut, expected a longer "
                       "one",
                       (long long)over, ids->n);
    keep(ids, ids->n - over, left);
    return 0;
}

/* Cuts the longer text until both are equally long, then both. */
static void cut_longest(int64_t most, struct cr_ids *a, struct cr_ids *b, bool left)
{
    struct cr_ids *shorter = a->n > b->n ? b : a, *longer = a->n > b->n ? a : b;
    int64_t few = shorter->n, many = few > most ? few : most - few > few ? most - few : few;
    if (few + many > most) {
        few = most / 2;
        many = few + most % 2;
    }
    keep(shorter, few, left);
    keep(longer, many, left);
}

int cr_truncate(const struct cr_truncation *t, int64_t most, struct cr_ids *text,
                struct cr_ids *pair, struct cr_error *error)
{
    int64_t over = text->n + (int64_t)(pair ? pair->n : 0) - most;
    if (most <= 0) {
        text->n = 0;
        if (pair)
            pair->n = 0;
        return 0;
    }
    if (over <= 0)
        return 0;
    if (t->strategy == CR_LONGEST_FIRST && pair)
        cut_longest(most, text, pair, t->left);
    else if (t->strategy == CR_ONLY_SECOND && pair)
        return cut_one(pair, over, t->left, error);
    else if (t->strategy == CR_ONLY_SECOND)
        return cr_fail(error, "found a text alone where only a second one may be cut, expected a pair");
    else if (t->strategy == CR_ONLY_FIRST)
        return cut_one(text, over, t->left, error);
    else
        keep(text, text->n - over, t->left);
    return 0;
}
