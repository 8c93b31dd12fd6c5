/* unicode.c - normal forms and cases of text; see unicode.h. */
#include "unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "compiler/files/utf8.h"
#include "compiler/ir/guard.h"
#include "compiler/ir/mem.h"

/* The order matters: each file uses those above it. */
#include "characters.inc"

#include "compositions.inc"

#include "normal_forms.inc"

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

static void put_character(struct cr_text *out, uint32_t character)
{
    char bytes[4];
    cr_put_bytes(out, bytes, cr_utf8_put(bytes, character));
}

/* ---- normal forms ---- */

/* The most characters per byte of text in a compatibility decomposition: U+FDFA becomes 18. */
enum { MOST_COMPATIBLE = 6 };

/* Writes the compatibility decomposition of a text, characters with their combining classes;
 * returns its length. */
static size_t take_compatibly_apart(const char *text, size_t n, uint32_t *items)
{
    enum { LONGEST = 32 };
    size_t count = 0;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        utf8proc_int32_t parts[LONGEST], character = (utf8proc_int32_t)cr_character(text, at, &bytes);
        int boundary = 0;
        utf8proc_ssize_t made = utf8proc_decompose_char(
            character, parts, LONGEST,
            (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &boundary);
        CR_CHECK(made >= 0 && made <= LONGEST && count + (size_t)made <= MOST_COMPATIBLE * n);
        for (utf8proc_ssize_t i = 0; i < made; i++)
            items[count++] = cr_with_class((uint32_t)parts[i]);
    }
    return count;
}

static bool is_ascii(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n && (unsigned char)text[at] < 0x80)
        at++;
    return at == n;
}

void cr_put_normal(struct cr_text *out, const char *text, size_t n, enum cr_normal_form form)
{
    bool compatible = form == CR_NFKC || form == CR_NFKD;
    size_t most = compatible ? MOST_COMPATIBLE * n : CR_NFC_CHARACTERS(n);
    if (is_ascii(text, n)) {
        cr_put_bytes(out, text, n);
        return;
    }
    uint32_t *items = cr_calloc(2 * most, sizeof *items);
    size_t count = compatible ? take_compatibly_apart(text, n, items)
                              : cr_take_text_apart(text, n, items);
    cr_order_all_marks(items, count, items + most);
    if (form == CR_NFC || form == CR_NFKC)
        count = cr_compose(items, count);
    for (size_t i = 0; i < count; i++)
        put_character(out, items[i] & 0xffffff);
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

/* Lower-cases each character; only the I with a dot becomes two characters. */
void cr_put_lowercase(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t character = cr_character(text, at, &bytes);
        if (character == 0x130)
            cr_put_bytes(out, "i\xcc\x87", 3);
        else
            put_character(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)character));
    }
}

void cr_put_without_accents(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t character = cr_character(text, at, &bytes);
        utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)character);
        if (category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC &&
            category != UTF8PROC_CATEGORY_ME)
            put_character(out, character);
    }
}

/* ---- graphemes ---- */

size_t cr_grapheme_end(const char *text, size_t at, size_t n)
{
    utf8proc_int32_t state = 0;
    size_t bytes;
    uint32_t character = cr_character(text, at, &bytes);
    for (at += bytes; at < n; at += bytes) {
        uint32_t next = cr_character(text, at, &bytes);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)character, (utf8proc_int32_t)next, &state))
            break;
        character = next;
    }
    return at;
}
