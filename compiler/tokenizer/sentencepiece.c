/* sentencepiece.c - the normalizer of SentencePiece; see sentencepiece.h. */
#include "sentencepiece.h"

#include <string.h>

#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "precompiled.h"

#define VISIBLE "\xe2\x96\x81" /* U+2581 */


/* Returns the bytes of the longest kept text at the beginning of `text`, or 0. */
static size_t kept_bytes(const struct cr_vocabulary *kept, const char *text, size_t n)
{
    size_t longest = 0;
    for (int id = 0; id < kept->n; id++) {
        const struct cr_token *token = &kept->tokens[id];
        if (token->length > longest && token->length <= n && memcmp(token->text, text, token->length) == 0)
            longest = token->length;
    }
    return longest;
}

/* A piece of normalized text, and how many bytes of the text it was made of. */
struct made {
    const char *text;
    size_t length, bytes;
};

/* Normalizes the beginning of a text. */
static struct made make(const struct cr_text_part *part, const char *text, size_t n)
{
    size_t bytes = part->kept.n ? kept_bytes(&part->kept, text, n) : 0;
    const char *result = bytes ? NULL : cr_find_longest(&part->map, text, n, &bytes);
    if (result)
        return (struct made){result, strlen(result), bytes};
    if (bytes == 0)
        bytes = cr_utf8(text, text + n);
    return (struct made){text, bytes, bytes};
}

static void put_space(const struct cr_text_part *part, struct cr_text *out)
{
    cr_put_bytes(out, part->spaces.visible ? VISIBLE : " ", part->spaces.visible ? strlen(VISIBLE) : 1);
}

/* Appends a piece; its spaces become visible. */
static void put(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ')
            put_space(part, out);
        else
            cr_put_bytes(out, text + i, 1);
}

/* Removes spaces at the end of `out`, but none before offset `begin`. */
static void trim_end(const struct cr_text_part *part, struct cr_text *out, size_t begin)
{
    const char *space = part->spaces.visible ? VISIBLE : " ";
    size_t bytes = strlen(space);
    while (out->length >= begin + bytes && memcmp(out->data + out->length - bytes, space, bytes) == 0)
        out->length -= bytes;
}

/* Puts the space in front behind white space that is trimmed; a text of nothing else becomes empty. */
static int normalize(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                     bool *first, struct cr_error *error)
{
    size_t at = 0, begin = out->length;
    bool trims = part->spaces.trims, after_space = trims;
    struct made made;
    (void)error;
    for (; trims && at < n; at += made.bytes) {
        made = make(part, text + at, n - at);
        if (made.length != 1 || *made.text != ' ')
            break;
    }
    if (at == n)
        return 0;
    if (part->spaces.prefix && *first)
        put_space(part, out);
    for (; at < n; at += made.bytes) {
        made = make(part, text + at, n - at);
        size_t skipped = 0;
        while (after_space && skipped < made.length && made.text[skipped] == ' ')
            skipped++;
        put(part, made.text + skipped, made.length - skipped, out);
        if (skipped < made.length)
            after_space = trims && made.text[made.length - 1] == ' ';
    }
    if (trims)
        trim_end(part, out, begin);
    return 0;
}

struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers)
{
    static const struct cr_part_kind kind = {.type = "SentencePiece", .normalize = normalize};
    struct cr_text_part *part = CR_PUSH(normalizers->items, normalizers->n, normalizers->cap);
    *part = (struct cr_text_part){.kind = &kind};
    return part;
}
