/* shape.c - how emitted C replaces parts; see shape.h. */
#include "shape.h"

#include <string.h>

int cr_refuse_shape(const struct cr_shape *s, const char *what, const char *expected,
                    struct cr_error *error)
{
    return cr_fail(error, "%s: found %s, which emitted C does not have, expected %s", s->path, what,
                   expected ? expected : s->expected);
}

bool cr_shape_space(struct cr_shape *s, const struct cr_text_part *part)
{
    size_t bytes = 0, at;
    if (part->length == 0 || !cr_is_utf8(part->content, part->length, &at))
        return false;
    cr_is_space(part->content, 0, &bytes);
    s->space = part->content;
    s->space_bytes = part->length;
    return bytes == part->length;
}

/* Lets each part add its settings by the row of its kind. */
static int read_parts(struct cr_shape *s, const struct cr_text_parts *parts, const char *expected,
                      struct cr_error *error)
{
    s->parts = parts;
    s->expected = expected;
    for (s->at = 0; s->at < parts->n; s->at++) {
        const struct cr_text_part *part = &parts->items[s->at];
        int status = part->kind->shape ? part->kind->shape(part, s, error)
                                       : cr_refuse_shape(s, part->kind->type, NULL, error);
        if (status)
            return -1;
    }
    return 0;
}

/* Accepts a Prepend of the character that replaces spaces. */
static int check_prepend(struct cr_shape *s, struct cr_error *error)
{
    if (!s->prepend)
        return 0;
    if (!s->space || s->prepend->length != s->space_bytes ||
        memcmp(s->prepend->content, s->space, s->space_bytes) != 0)
        return cr_refuse_shape(s, "Prepend", "one of what spaces become", error);
    s->prepending = CR_PREPEND_TO_TEXT;
    return 0;
}

int cr_shape_encoding(struct cr_shape *s, const struct cr_tokenizer *t, struct cr_error *error)
{
    s->normalizers = &t->normalizers;
    if (read_parts(s, &t->normalizers, "NFC, or Prepend and Replace of spaces as normalizers",
                   error) ||
        check_prepend(s, error) ||
        read_parts(s, &t->pre_tokenizers, "Split, ByteLevel or Metaspace", error))
        return -1;
    if (!s->byte_level && s->scanner != CR_SCAN_NONE)
        return cr_refuse_shape(s, "Split without ByteLevel", "both", error);
    return s->byte_level || s->space
               ? 0
               : cr_refuse_shape(s, "text cut otherwise", "ByteLevel or Metaspace", error);
}

int cr_shape_decoding(struct cr_shape *s, const struct cr_tokenizer *t, struct cr_error *error)
{
    return t->has_decoder
               ? read_parts(s, &t->decoders, "decoders that take token after token", error)
               : cr_refuse_shape(s, "no decoder", "one", error);
}
