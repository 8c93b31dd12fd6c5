/* unicode.c - normal forms and cases of text; see unicode.h. */
#include "unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "compiler/files/json.h"
#include "compiler/ir/guard.h"
#include "compiler/ir/mem.h"

bool cr_is_utf8(const char *text, size_t n, size_t *at)
{
    for (*at = 0; *at < n;) {
        size_t bytes = (unsigned char)text[*at] < 0x80 ? 1 : cr_utf8(text + *at, text + n);
        if (bytes == 0)
            return false;
        *at += bytes;
    }
    return true;
}

static void put_character(struct cr_text *out, utf8proc_int32_t character)
{
    utf8proc_uint8_t bytes[4];
    utf8proc_ssize_t n = utf8proc_encode_char(character, bytes);
    cr_put_bytes(out, (const char *)bytes, (size_t)n);
}

/* The character at text[*at], which is left behind. */
static utf8proc_int32_t next_character(const char *text, size_t n, size_t *at)
{
    utf8proc_int32_t character;
    utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + *at,
                                              (utf8proc_ssize_t)(n - *at), &character);
    CR_CHECK(bytes > 0);
    *at += (size_t)bytes;
    return character;
}

/* ---- normal forms ---- */

/* A character of a text that was decomposed, with what orders it among others. */
struct item {
    utf8proc_int32_t character;
    int combining, place;
};

static int by_combining_class(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->combining != y->combining ? x->combining - y->combining : x->place - y->place;
}

/* Decomposes one character behind n others; how many there are then. */
static int decompose(utf8proc_int32_t character, utf8proc_option_t options, struct item **items,
                     int n, int *cap)
{
    enum { LONGEST = 32 };
    utf8proc_int32_t parts[LONGEST];
    int boundary = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(character, parts, LONGEST, options, &boundary);
    CR_CHECK(count >= 0 && count <= LONGEST);
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        int place = n;
        *CR_PUSH(*items, n, *cap) =
            (struct item){parts[i], utf8proc_get_property(parts[i])->combining_class, place};
    }
    return n;
}

/* Puts marks between two starters into canonical order: stable, by their classes. */
static void order_marks(struct item *items, int n)
{
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && items[end].combining != 0; end++)
            continue;
        if (end > i + 1)
            qsort(items + i, (size_t)(end - i), sizeof *items, by_combining_class);
        end += end == i;
    }
}

void cr_put_normal(struct cr_text *out, const char *text, size_t n, enum cr_normal_form form)
{
    int options = UTF8PROC_STABLE, count = 0, cap = 0;
    struct item *items = NULL;
    options |= form == CR_NFC || form == CR_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    options |= form == CR_NFKC || form == CR_NFKD ? UTF8PROC_COMPAT : 0;
    for (size_t at = 0; at < n;)
        count = decompose(next_character(text, n, &at), (utf8proc_option_t)options, &items, count,
                          &cap);
    order_marks(items, count);
    utf8proc_int32_t *characters = cr_calloc((size_t)count, sizeof *characters);
    for (int i = 0; i < count; i++)
        characters[i] = items[i].character;
    utf8proc_ssize_t left = utf8proc_normalize_utf32(characters, count, (utf8proc_option_t)options);
    for (utf8proc_ssize_t i = 0; i < left; i++)
        put_character(out, characters[i]);
    free(characters);
    free(items);
}

/* ---- cases and accents ---- */

bool cr_folds_to_many(uint32_t character)
{
    enum { LONGEST = 32 };
    utf8proc_int32_t parts[LONGEST];
    int boundary = 0;
    return utf8proc_decompose_char((utf8proc_int32_t)character, parts, LONGEST, UTF8PROC_CASEFOLD,
                                   &boundary) > 1;
}

/* One character becomes one, but for the I with a dot. */
void cr_put_lowercase(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        utf8proc_int32_t character = next_character(text, n, &at);
        if (character == 0x130)
            cr_put_bytes(out, "i\xcc\x87", 3);
        else
            put_character(out, utf8proc_tolower(character));
    }
}

void cr_put_without_accents(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        utf8proc_int32_t character = next_character(text, n, &at);
        utf8proc_category_t category = utf8proc_category(character);
        if (category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC &&
            category != UTF8PROC_CATEGORY_ME)
            put_character(out, character);
    }
}
