/* padding.c - fills up the ids of texts to a length; see padding.h. */
#include "padding.h"

#include <string.h>

#include "compiler/ir/mem.h"

enum { LONGEST = 1 << 20 };

/* Reads the member `strategy`: {"Fixed": N}, or "BatchLongest".  For the latter, a single text is
 * the longest of its batch. */
static int read_strategy(struct cr_padding *p, const struct cr_document *d, int object, struct cr_error *error)
{
    const char *name = "BatchLongest";
    int strategy = cr_member(d, object, "strategy");
    if (strategy >= 0 && d->values[strategy].kind == CR_JSON_OBJECT)
        return cr_read_integer(d, strategy, "padding", "Fixed", &p->length, error);
    if (cr_read_string(d, object, "padding", "strategy", &name, error))
        return -1;
    p->longest = strcmp(name, "BatchLongest") == 0;
    return p->longest
               ? 0
               : cr_fail(error, "%s: padding: found the strategy %.60s, expected BatchLongest or {\"Fixed\": N}",
                         d->path, name);
}

/* Sets the id and the segment of the padding token. */
static int set_token(struct cr_padding *p, const struct cr_document *d, int64_t id, int64_t type,
                     struct cr_error *error)
{
    if (id < 0 || id > INT32_MAX || type < 0 || type > INT32_MAX)
        return cr_fail(error, "%s: padding: found the pad_id %lld and the pad_type_id %lld, expected ids", d->path,
                       (long long)id, (long long)type);
    p->id = (int32_t)id;
    p->type = (int32_t)type;
    return 0;
}

int cr_read_padding(struct cr_padding *p, const struct cr_document *d, struct cr_error *error)
{
    static const char where[] = "padding";
    int object = cr_member(d, 0, where);
    const char *direction = "Right";
    int64_t id = 0, type = 0;
    if (object < 0)
        return 0;
    if (read_strategy(p, d, object, error) ||
        cr_read_integer(d, object, where, "pad_to_multiple_of", &p->multiple, error) ||
        cr_read_integer(d, object, where, "pad_id", &id, error) ||
        cr_read_integer(d, object, where, "pad_type_id", &type, error) ||
        cr_read_string(d, object, where, "direction", &direction, error) || set_token(p, d, id, type, error))
        return -1;
    p->left = strcmp(direction, "Left") == 0;
    if (p->length < 0 || p->length > LONGEST || p->multiple < 0 || p->multiple > LONGEST ||
        (!p->left && strcmp(direction, "Right") != 0))
        return cr_fail(error,
                       "%s: padding: found the length %lld, a multiple of %lld, and the direction %.60s, expected "
                       "at most %d, and Left or Right",
                       d->path, (long long)p->length, (long long)p->multiple, direction, LONGEST);
    return 0;
}

/* Adds a number n times at one end of a list. */
static void add(struct cr_ids *list, int32_t number, int n, bool left)
{
    int before = list->n;
    for (int i = 0; i < n; i++)
        *CR_PUSH(list->items, list->n, list->cap) = number;
    if (!left || n == 0)
        return;
    memmove(list->items + n, list->items, (size_t)before * sizeof *list->items);
    for (int i = 0; i < n; i++)
        list->items[i] = number;
}

void cr_pad(const struct cr_padding *p, struct cr_ids *ids, struct cr_ids *types)
{
    int64_t length = p->longest ? ids->n : p->length;
    if (p->multiple > 0)
        length = (length + p->multiple - 1) / p->multiple * p->multiple;
    int missing = length > ids->n ? (int)(length - ids->n) : 0;
    add(ids, p->id, missing, p->left);
    add(types, p->type, missing, p->left);
}
