/* sentencepiece.c - the normalizer of SentencePiece; see sentencepiece.h. */
#include "sentencepiece.h"

#include <string.h>

#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "emitted_parts.h"
#include "precompiled.h"
#include "stage.h"

/* The order matters: each file uses those above it. */
#include "trie.inc"

#include "text_map.inc"

#include "sentencepiece.inc"

static int flags_of(const struct cr_spaces *spaces)
{
    return (spaces->trims ? CR_TRIMS_SPACES : 0) | (spaces->prefix ? CR_SPACE_IN_FRONT : 0) |
           (spaces->visible ? CR_SPACES_VISIBLE : 0);
}

static void put_space(const struct cr_stage *stage, struct cr_text *out)
{
    const char *space = cr_space_of(stage);
    cr_put_bytes(out, space, strlen(space));
}

/* Appends a piece; spaces in it become the space that the stage writes. */
static void put(const struct cr_stage *stage, const char *text, size_t n, struct cr_text *out)
{
    for (size_t at = 0; at < n; at++) {
        const char *space = memchr(text + at, ' ', n - at);
        size_t end = space ? (size_t)(space - text) : n;
        cr_put_bytes(out, text + at, end - at);
        if (space)
            put_space(stage, out);
        at = end;
    }
}

/* The additional space is put before the text after its white space was trimmed.  A text of white
 * space only becomes empty. */
static int normalize(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                     size_t *leading, struct cr_error *error)
{
    const struct cr_map_tables map = cr_map_tables_of(&part->map);
    const struct cr_stage stage = {.map = &map, .kept = part->kept.nodes, .flags = flags_of(&part->spaces)};
    struct cr_normalizing rest = {.stage = &stage, .text = text, .n = n};
    const char *made;
    size_t length, begin = out->length;
    (void)error;
    bool begins = *leading > 0;
    *leading = 0; /* no part behind this one needs it */
    if (!cr_begin_normal(&rest))
        return 0;
    if (part->spaces.prefix && begins)
        put_space(&stage, out);
    while (cr_next_normal(&rest, &made, &length))
        put(&stage, made, length, out);
    if (out->length > begin)
        out->length = begin + cr_trim_normal(&stage, out->data + begin, out->length - begin);
    return 0;
}

/* Lists the normalizer for emitted C.  The map, visible spaces and the space before the text can
 * make a text longer. */
static int list(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    size_t space = part->spaces.visible ? strlen("\342\226\201") : 1;
    struct cr_listed_stage stage = {.kind = CR_SENTENCEPIECE,
                                    .map = &part->map,
                                    .kept = part->kept.n ? &part->kept : NULL,
                                    .flags = flags_of(&part->spaces),
                                    .growth = cr_growth_of_map(&part->map, space, SIZE_MAX),
                                    .more = (double)space};
    if (stage.growth == 0)
        return cr_refuse_shape(s, "a SentencePiece model whose map is too large", "a smaller map", error);
    return cr_list_stage(s, &stage, error);
}

struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers)
{
    static const struct cr_part_kind kind = {.type = "SentencePiece", .normalize = normalize, .shape = list};
    struct cr_text_part *part = CR_PUSH(normalizers->items, normalizers->n, normalizers->cap);
    *part = (struct cr_text_part){.kind = &kind};
    return part;
}

double cr_user_defined_score(size_t length)
{
    return ((double)length - 1) * 0.1;
}
