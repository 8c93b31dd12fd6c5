/* tokenizer_part.c - reads the parts of a tokenizer by the tables of their kinds; see
 * tokenizer_part.h. */
#include "precompiled.h"
#include "tokenizer_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

enum { MOST_PARTS = 1000 };

static const struct cr_part_kind *find_kind(const struct cr_part_table *table, const char *type)
{
    for (int i = 0; i < table->n; i++)
        if (strcmp(table->kinds[i].type, type) == 0)
            return &table->kinds[i];
    return NULL;
}

/* Fails for a kind that is not in the table. */
static int refuse(const struct cr_part_table *table, const char *type, const char *path,
                  struct cr_error *error)
{
    struct cr_text names = {0};
    for (int i = 0; i < table->n; i++)
        cr_put(&names, "%s, ", table->kinds[i].type);
    cr_fail(error, "%s: found the %s %.80s, expected one of %sSequence", path, table->role, type,
            names.data);
    free(names.data);
    return -1;
}

struct cr_text_part *cr_add_part(struct cr_text_parts *parts, const struct cr_part_table *table,
                                 const char *type)
{
    struct cr_text_part *part = CR_PUSH(parts->items, parts->n, parts->cap);
    const struct cr_part_kind *kind = find_kind(table, type);
    *part = (struct cr_text_part){.kind = kind, .cutter = cr_cut_rows[kind->cutter].cutter};
    return part;
}

static int read_part(struct cr_text_parts *parts, const struct cr_part_table *table,
                     const struct cr_document *d, int object, struct cr_error *error);

static int read_sequence(struct cr_text_parts *parts, const struct cr_part_table *table,
                         const struct cr_document *d, int object, struct cr_error *error)
{
    int list = cr_need_member(d, object, table->role, table->members, CR_JSON_ARRAY, error);
    if (list < 0)
        return -1;
    for (int i = d->values[list].first; i >= 0; i = d->values[i].next)
        if (read_part(parts, table, d, i, error))
            return -1;
    return 0;
}

/* Reads a part by the row of its type; the members of a Sequence are added to the same list. */
static int read_part(struct cr_text_parts *parts, const struct cr_part_table *table,
                     const struct cr_document *d, int object, struct cr_error *error)
{
    if (d->values[object].kind != CR_JSON_OBJECT)
        return cr_fail(error, "%s: found %s for a %s, expected an object", d->path,
                       cr_kind_of_value(d, object), table->role);
    int type = cr_need_member(d, object, table->role, "type", CR_JSON_STRING, error);
    if (type < 0)
        return -1;
    const char *name = d->values[type].text;
    if (strcmp(name, "Sequence") == 0)
        return read_sequence(parts, table, d, object, error);
    if (!find_kind(table, name))
        return refuse(table, name, d->path, error);
    if (parts->n == MOST_PARTS)
        return cr_fail(error, "%s: found more than %d of %s, expected fewer", d->path, MOST_PARTS,
                       table->role);
    struct cr_text_part *part = cr_add_part(parts, table, name);
    return part->kind->read ? part->kind->read(part, d, object, name, error) : 0;
}

int cr_read_parts(struct cr_text_parts *parts, const struct cr_part_table *table,
                  const struct cr_document *d, struct cr_error *error)
{
    int member = cr_member(d, 0, table->role);
    return member < 0 ? 0 : read_part(parts, table, d, member, error);
}

void cr_free_parts(struct cr_text_parts *parts)
{
    for (int i = 0; i < parts->n; i++) {
        cr_pattern_free(parts->items[i].pattern);
        free(parts->items[i].frame.before);
        free(parts->items[i].frame.after);
        free(parts->items[i].single.items);
        free(parts->items[i].pair.items);
        cr_free_text_map(&parts->items[i].map);
        cr_free_trie(&parts->items[i].kept);
    }
    free(parts->items);
    *parts = (struct cr_text_parts){0};
}

int cr_check_growth(size_t made, size_t n, struct cr_error *error)
{
    enum { FREE = 1 << 16, FACTOR = 32, MOST = 1 << 28 };
    size_t most = n < MOST / FACTOR ? FREE + FACTOR * n : MOST;
    return made <= most ? 0
                        : cr_fail(error,
                                  "the tokenizer makes more than %zu bytes of %zu bytes of text, expected "
                                  "fewer",
                                  most, n);
}

struct cr_pattern *cr_read_pattern(const struct cr_document *d, int object, const char *where,
                                   struct cr_error *error)
{
    char place[400];
    int pattern = cr_need_member(d, object, where, "pattern", CR_JSON_OBJECT, error);
    if (pattern < 0)
        return NULL;
    bool literal = cr_member(d, pattern, "String") >= 0;
    int text =
        cr_need_member(d, pattern, where, literal ? "String" : "Regex", CR_JSON_STRING, error);
    if (text < 0)
        return NULL;
    const struct cr_json_value *value = &d->values[text];
    if (literal)
        return cr_pattern_literal(value->text, value->length);
    snprintf(place, sizeof place, "%.300s: %.60s", d->path, where);
    return cr_pattern_regex(value->text, value->length, place, error);
}
