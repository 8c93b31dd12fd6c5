/* precompiled.c - the normalizer Precompiled; see precompiled.h. */
#include "precompiled.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "emitted_parts.h"

/* The order matters: each file uses those above it. */
#include "leading.inc"

#include "leading_characters.inc"

#include "characters.inc"

#include "class_runs.inc"

#include "graphemes.inc"

#include "graphemes_of.inc"

#include "text_map.inc"

#include "precompiled.inc"

/* ---- reading ---- */

static uint32_t word_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Copies the trie's units, converted to the machine's byte order, and the results, with an
 * additional NUL at the end. */
int cr_set_text_map(struct cr_text_map *map, const unsigned char *bytes, size_t n, const char *path,
                    struct cr_error *error)
{
    size_t size = n >= 4 ? word_at(bytes) : 0;
    if (n < 4 || size % 4 || size == 0 || size > n - 4)
        return cr_fail(error,
                       "%s: found a precompiled_charsmap of %zu bytes whose trie has %zu, expected a "
                       "size and a trie of whole units of 4 bytes",
                       path, n, size);
    map->n_units = size / 4;
    map->units = cr_calloc(map->n_units, sizeof *map->units);
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = word_at(bytes + 4 + 4 * i);
    map->n_results = n - 4 - size;
    map->results = cr_calloc(map->n_results + 1, 1);
    memcpy(map->results, bytes + 4 + size, map->n_results);
    return 0;
}

/* Returns the 6 bits that a character of base64 stands for, or -1. */
static int base64_bits(char c)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* Decodes base64 to at most n * 3 / 4 bytes; returns their number, or -1 if it is invalid. */
static int64_t decode_base64(const char *text, size_t n, unsigned char *out)
{
    uint32_t bits = 0;
    int held = 0;
    int64_t made = 0;
    while (n > 0 && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        int six = base64_bits(text[i]);
        if (six < 0)
            return -1;
        bits = bits << 6 | (uint32_t)six;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[made++] = (unsigned char)(bits >> held);
        }
    }
    return n % 4 == 1 ? -1 : made;
}

int cr_read_precompiled(struct cr_text_part *part, const struct cr_document *d, int object,
                        const char *where, struct cr_error *error)
{
    int member = cr_need_member(d, object, where, "precompiled_charsmap", CR_JSON_STRING, error);
    if (member < 0)
        return -1;
    size_t length = d->values[member].length;
    unsigned char *bytes = cr_calloc(length + 1, 1);
    int64_t n = decode_base64(d->values[member].text, length, bytes);
    int status = n < 0 ? cr_fail(error, "%s: %s: found a precompiled_charsmap that is no base64, expected base64",
                                 d->path, where)
                       : cr_set_text_map(&part->map, bytes, (size_t)n, d->path, error);
    free(bytes);
    return status;
}

void cr_free_text_map(struct cr_text_map *map)
{
    free(map->units);
    free(map->results);
}

/* ---- normalizing ---- */

struct cr_map_tables cr_map_tables_of(const struct cr_text_map *map)
{
    return (struct cr_map_tables){map->units, map->results, map->n_units, map->n_results};
}

/* Replaces all parts of the text for which the map has a result; copies the others. */
int cr_normalize_precompiled(const struct cr_text_part *part, const char *text, size_t n,
                             struct cr_text *out, size_t *leading, struct cr_error *error)
{
    const struct cr_map_tables tables = cr_map_tables_of(&part->map);
    struct cr_leading l = cr_begin_leading(text, *leading);
    (void)error;
    for (size_t at = 0, grapheme = 0, end; at < n; at = end) {
        const char *result;
        end = cr_next_mapped(&tables, text, n, at, &grapheme, &result);
        cr_put_bytes(out, result ? result : text + at, result ? strlen(result) : end - at);
        cr_lead_mapped(&l, text + at, end - at, result);
    }
    *leading = l.made;
    return 0;
}

/* ---- in emitted C ---- */

/* The state of visiting all nodes of the trie to compute `growth`: the largest ratio of a
 * result's length to the length of the text that it replaces, where a space in a result counts
 * `space` bytes.  Texts have at most `deepest` bytes; after `left` more steps the computation is
 * given up. */
struct walk {
    const struct cr_text_map *map;
    size_t space, deepest;
    double growth;
    int64_t left;
};

static void take_result(struct walk *w, uint32_t value, size_t depth)
{
    size_t made = 0;
    if (value > w->map->n_results)
        return;
    for (const char *c = w->map->results + value; *c; c++)
        made += *c == ' ' ? w->space : 1;
    if ((double)made / (double)depth > w->growth)
        w->growth = (double)made / (double)depth;
}

/* Visits the children of a unit: the one for a byte is at index `at` XOR the byte.  `depth` is the
 * number of bytes up to the unit. */
static void visit(struct walk *w, size_t at, size_t depth)
{
    const struct cr_text_map *map = w->map;
    if (depth == w->deepest)
        return;
    for (unsigned byte = 1; byte < 256 && w->left > 0; byte++, w->left--) {
        size_t child = at ^ byte;
        if (child >= map->n_units || (map->units[child] & 0x800000ff) != byte)
            continue;
        size_t below = child ^ cr_unit_offset(map->units[child]);
        if (map->units[child] & 1u << 8 && below < map->n_units)
            take_result(w, map->units[below] & 0x7fffffff, depth + 1);
        visit(w, below, depth + 1);
    }
}

double cr_growth_of_map(const struct cr_text_map *map, size_t space, size_t deepest)
{
    struct walk walk = {map, space, deepest, (double)space, 100000000};
    if (map->n_units)
        visit(&walk, cr_unit_offset(map->units[0]), 0);
    return walk.left > 0 ? walk.growth : 0;
}

int cr_list_precompiled(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    double growth = cr_growth_of_map(&part->map, 1, CR_SHORT_GRAPHEME);
    if (growth == 0)
        return cr_refuse_shape(s, "a Precompiled whose map is too large", "a smaller map", error);
    return cr_list_stage(s, &(struct cr_listed_stage){.kind = CR_MAPPED, .map = &part->map, .growth = growth},
                         error);
}
