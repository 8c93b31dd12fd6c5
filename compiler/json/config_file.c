/* config_file.c - reads config.json; see config_file.h. */
#include "config_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/mem.h"

enum { MOST_BYTES = 1 << 20 };

static int by_key(const void *a, const void *b)
{
    const struct cr_json_value *x = *(struct cr_json_value *const *)a,
                               *y = *(struct cr_json_value *const *)b;
    int order = strcmp(x->key, y->key);
    return order ? order : (x > y) - (x < y);
}

/* Fails if an object, or an object inside it, has a key twice.  `members` is memory for pointers
 * to all members. */
static int check_keys(const struct cr_document *d, int object, const struct cr_json_value **members,
                      struct cr_error *error)
{
    char what[400];
    size_t n = 0;
    for (int i = d->values[object].first; i >= 0; i = d->values[i].next)
        members[n++] = &d->values[i];
    if (n)
        qsort(members, n, sizeof(*members), by_key);
    for (size_t i = 1; i < n; i++) {
        const char *key = members[i]->key;
        if (strcmp(key, members[i - 1]->key) != 0)
            continue;
        snprintf(what, sizeof what, "found the key %s twice, expected it once",
                 cr_show(key, strlen(key)).text);
        return cr_fail_value(d, (int)(members[i] - d->values), what, error);
    }
    return 0;
}

int cr_config_read(struct cr_document *d, const char *path, struct cr_error *error)
{
    if (cr_document_read_small(d, path, MOST_BYTES, error))
        return -1;
    const struct cr_json_value **members = cr_calloc((size_t)d->n, sizeof(*members));
    bool object = d->values[0].kind == CR_JSON_OBJECT;
    int status = object ? 0 : cr_fail(error, "%.400s:%d: found %s, expected an object", d->path, cr_value_line(d, 0),
                                      cr_kind_of_value(d, 0));
    for (int i = 0; i < d->n && !status; i++)
        if (d->values[i].kind == CR_JSON_OBJECT)
            status = check_keys(d, i, members, error);
    free(members);
    if (status)
        cr_document_free(d);
    return status;
}

int cr_config_text(const struct cr_document *d, const char *key, const char *what,
                   const char **text, struct cr_error *error)
{
    char message[200];
    int member = cr_member(d, 0, key);
    *text = NULL;
    if (member >= 0 && d->values[member].kind != CR_JSON_STRING) {
        snprintf(message, sizeof message, "%s is not a string, expected %s", key, what);
        return cr_fail_value(d, member, message, error);
    }
    if (member >= 0)
        *text = d->values[member].text;
    return 0;
}

/* ---- numbers ---- */

/* Sets *whole to a number that is whole, also if written as 2048.0; returns false for other
 * values. */
static bool take_whole(const struct cr_json_value *value, int64_t *whole)
{
    double real = cr_real_of(value);
    if (value->kind == CR_JSON_INTEGER)
        *whole = value->integer;
    else if (value->kind == CR_JSON_REAL && fabs(real) <= 0x1p53 && real == floor(real))
        *whole = (int64_t)real;
    else
        return false;
    return true;
}

/* Reads a whole number, or a list of at most `most` whole numbers, into `values`. */
static int read_integers(const struct cr_document *d, const char *key, int64_t *values, int most,
                         int *n, struct cr_error *error)
{
    int member = cr_member(d, 0, key);
    if (member < 0)
        return 0;
    if (take_whole(&d->values[member], &values[0])) {
        *n = 1;
        return 0;
    }
    if (d->values[member].kind != CR_JSON_ARRAY)
        return cr_fail_value(d, member, "expected a whole number, or a list of some", error);
    if (d->values[member].count > most)
        return cr_fail(error, "%.400s: %s: too many numbers, expected at most %d", d->path, key,
                       most);
    for (int i = d->values[member].first; i >= 0; i = d->values[i].next)
        if (!take_whole(&d->values[i], &values[(*n)++]))
            return cr_fail_value(d, i, "expected a whole number", error);
    return 0;
}

int cr_config_integers(const char *path, const char *key, int64_t *values, int most, int *n,
                       struct cr_error *error)
{
    struct cr_document d;
    *n = 0;
    if (access(path, F_OK) != 0)
        return 0;
    if (cr_config_read(&d, path, error))
        return -1;
    int status = read_integers(&d, key, values, most, n, error);
    cr_document_free(&d);
    return status;
}
