/* emitted_parts.c - describes the parts of a tokenizer for emitted C; see emitted_parts.h. */
#include "emitted_parts.h"

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

/* Calls, for each part, the function of its kind that describes it; `expected` names the supported
 * kinds in messages. */
static int read_parts(struct cr_shape *s, const struct cr_text_parts *parts, const char *expected,
                      struct cr_error *error)
{
    s->parts = parts;
    s->expected = expected;
    for (s->at = 0; s->at < parts->n; s->at++) {
        const struct cr_text_part *part = &parts->items[s->at];
        cr_shape_function *read = part->kind->shape;
        int status = read ? read(part, s, error) : cr_refuse_shape(s, part->kind->type, NULL, error);
        if (status)
            return -1;
    }
    return 0;
}

int cr_shape_decoding(struct cr_shape *s, const struct cr_tokenizer *t, struct cr_error *error)
{
    return t->has_decoder
               ? read_parts(s, &t->decoders, "decoders that take token after token", error)
               : cr_refuse_shape(s, "no decoder", "a tokenizer with a decoder", error);
}

/* ---- lists of stages ---- */

int cr_list_stage(struct cr_shape *s, const struct cr_listed_stage *stage, struct cr_error *error)
{
    enum { MOST_GROWTH = 256 };
    struct cr_stage_list *list = s->list;
    const struct cr_stage_row *row = &cr_stage_rows[stage->kind];
    double growth = stage->growth > 0 ? stage->growth : (double)row->up / row->down;
    if (list->n_stages == CR_MOST_STAGES)
        return cr_refuse_shape(s, "more than 32 normalizers", "at most 32", error);
    list->stages[list->n_stages++] = *stage;
    list->work = row->work * list->growth > list->work ? row->work * list->growth : list->work;
    list->growth *= growth;
    list->more = list->more * growth + stage->more;
    return list->growth <= MOST_GROWTH && list->more < 1 << 20
               ? 0
               : cr_refuse_shape(s, "normalizers that make a text more than 256 times as long",
                                 "a smaller growth", error);
}

int cr_list_cut(struct cr_shape *s, const struct cr_listed_cut *cut, struct cr_error *error)
{
    struct cr_stage_list *list = s->list;
    if (list->n_cuts == CR_MOST_STAGES)
        return cr_refuse_shape(s, "more than 32 pre-tokenizers", "at most 32", error);
    list->cuts[list->n_cuts++] = *cut;
    return 0;
}

int cr_list_space(struct cr_shape *s, const char *type, struct cr_error *error)
{
    if (s->list->spaced >= 0 || s->byte_level)
        return cr_refuse_shape(s, type, "one such pre-tokenizer", error);
    s->list->spaced = s->list->n_cuts;
    return 0;
}

int cr_list_encoding(struct cr_shape *s, const struct cr_tokenizer *t, struct cr_error *error)
{
    s->list->spaced = -1;
    s->list->growth = 1;
    return read_parts(s, &t->normalizers, "one that emitted C has (docs/tokenizers.md)", error) ||
                   read_parts(s, &t->pre_tokenizers, "one that emitted C has (docs/tokenizers.md)", error)
               ? -1
               : 0;
}
