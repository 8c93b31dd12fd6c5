/* precompiled.c - SentencePiece's normalizer; see precompiled.h. */
#include "precompiled.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "scanner.h"

/* ---- reading ---- */

static uint32_t word_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Copies the units in the machine's byte order, and the results with a zero behind them. */
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

/* Returns the 6 bits of a character of base64, or -1. */
static int base64_bits(char c)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* Decodes base64 to at most n * 3 / 4 bytes; returns their number, or -1. */
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

/* ---- the trie ---- */

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Returns the offset of the result for the shortest beginning of a text that the trie has, or for the
 * longest; SIZE_MAX if there is none.  *length is the bytes of the beginning. */
static size_t find(const struct cr_text_map *map, const char *text, size_t n, bool longest,
                   size_t *length)
{
    enum { LEAF = 1 << 8 };
    const uint32_t label_bits = 0x800000ffu, value_bits = 0x7fffffffu;
    size_t at = map->n_units ? offset_of(map->units[0]) : 0, found = SIZE_MAX;
    for (size_t i = 0; i < n && text[i] && (longest || found == SIZE_MAX); i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= map->n_units || (map->units[at] & label_bits) != byte)
            break;
        uint32_t unit = map->units[at];
        at ^= offset_of(unit);
        if (unit & LEAF && at < map->n_units && (map->units[at] & value_bits) <= map->n_results) {
            found = map->units[at] & value_bits;
            *length = i + 1;
        }
    }
    return found;
}

const char *cr_find_longest(const struct cr_text_map *map, const char *text, size_t n,
                            size_t *length)
{
    size_t result = find(map, text, n, true, length);
    return result == SIZE_MAX ? NULL : map->results + result;
}

void cr_free_text_map(struct cr_text_map *map)
{
    free(map->units);
    free(map->results);
}

/* Appends the result for a text; false if there is none. */
static bool put_result(const struct cr_text_map *map, const char *text, size_t n,
                       struct cr_text *out)
{
    size_t length, result = find(map, text, n, false, &length);
    if (result == SIZE_MAX)
        return false;
    cr_put_bytes(out, map->results + result, strlen(map->results + result));
    return true;
}

/* ---- normalizing ---- */

/* Maps a grapheme: as a whole if it is short and the map has a beginning of it, else character by
 * character.  That the rest of such a grapheme is lost is what Hugging Face's library does. */
static void put_grapheme(const struct cr_text_map *map, const char *text, size_t n,
                         struct cr_text *out)
{
    enum { SHORT = 6 };
    if (n < SHORT && put_result(map, text, n, out))
        return;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        cr_character_at(text, at, &bytes);
        if (!put_result(map, text + at, bytes, out))
            cr_put_bytes(out, text + at, bytes);
    }
}

int cr_normalize_precompiled(const struct cr_text_part *part, const char *text, size_t n,
                             struct cr_text *out, bool *first, struct cr_error *error)
{
    (void)first, (void)error;
    for (size_t at = 0, end; at < n; at = end) {
        end = cr_grapheme_end(text, at, n);
        put_grapheme(&part->map, text + at, end - at, out);
    }
    return 0;
}
