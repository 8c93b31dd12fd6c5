/* normalizers.c - the kinds of normalizers; see tokenizer_part.h. */
#include <stdlib.h>
#include <string.h>

#include "bert.h"
#include "byte_letters.h"
#include "emitted_parts.h"
#include "precompiled.h"
#include "replace.h"
#include "tokenizer_part.h"

#include "leading.inc"

/* ---- kinds without members ---- */

static int by_stage(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                    size_t *leading, struct cr_error *error)
{
    (void)error;
    cr_put_stage(out, text, n, part->kind->stage, leading);
    return 0;
}

static int list_stage(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    return cr_list_stage(s, &(struct cr_listed_stage){.kind = part->kind->stage}, error);
}

static int byte_level(const struct cr_text_part *part, const char *text, size_t n,
                      struct cr_text *out, size_t *leading, struct cr_error *error)
{
    (void)part, (void)error;
    cr_put_led_letters(out, text, n, leading);
    return 0;
}

/* ---- Replace ---- */

static int replace(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                   size_t *leading, struct cr_error *error)
{
    return cr_put_replaced(part, text, n, out, leading, error);
}

/* True if a pattern is a character, or \\s for white space, repeated a minimum number of times,
 * such as " {2,}" or "\\s+".  Sets *character to the character, whose length *bytes is 0 for white
 * space, and *least to the minimum. */
static bool is_run(const char *source, size_t n, const char **character, size_t *bytes, int *least)
{
    static const char meta[] = ".[]()*?+{}|^$";
    size_t at = 0;
    *character = source;
    if (n >= 2 && source[0] == '\\' && source[1] == 's') {
        *bytes = 0;
        at = 2;
    } else if (n >= 1 && source[0] != '\\' && !memchr(meta, source[0], sizeof meta - 1)) {
        cr_character_at(source, 0, bytes);
        at = *bytes;
    } else {
        return false;
    }
    *least = 1;
    if (n == at + 1 && source[at] == '+')
        return true;
    if (n != at + 4 || source[at] != '{' || memcmp(source + at + 2, ",}", 2) != 0)
        return false;
    *least = source[at + 1] - '0';
    return *least >= 1 && *least <= 9;
}

/* Lists for emitted C a Replace of a string, or of runs of a character. */
static int list_replace(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    struct cr_listed_stage stage = {.kind = CR_REPLACED, .to = part->content, .n_to = part->length};
    size_t n, shortest;
    stage.from = cr_pattern_string(part->pattern, &stage.n_from);
    shortest = stage.n_from;
    if (!stage.from) {
        const char *source = cr_pattern_source(part->pattern, &n);
        stage.kind = CR_REPLACED_RUNS;
        if (!source || !is_run(source, n, &stage.from, &stage.n_from, &stage.flags))
            return cr_refuse_shape(s, "Replace by a pattern", "Replace of a string, or of runs of a character",
                                   error);
        shortest = (stage.n_from ? stage.n_from : 1) * (size_t)stage.flags;
    }
    if (shortest == 0)
        return cr_refuse_shape(s, "Replace of an empty string", "Replace of some text", error);
    stage.growth = stage.n_to > shortest ? (double)stage.n_to / (double)shortest : 1;
    return cr_list_stage(s, &stage, error);
}

/* ---- Prepend ---- */

static int read_prepend(struct cr_text_part *part, const struct cr_document *d, int object,
                        const char *where, struct cr_error *error)
{
    return cr_read_content(part, d, object, where, "prepend", error);
}

static int prepend(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                   size_t *leading, struct cr_error *error)
{
    (void)error;
    if (n > 0)
        cr_put_bytes(out, part->content, part->length);
    if (*leading > 0)
        *leading += part->length;
    cr_put_bytes(out, text, n);
    return 0;
}

static int list_prepend(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    return cr_list_stage(s, &(struct cr_listed_stage){.kind = CR_PREPENDED, .to = part->content,
                                                      .n_to = part->length, .more = (double)part->length}, error);
}

/* ---- Strip ---- */

static int read_strip(struct cr_text_part *part, const struct cr_document *d, int object,
                      const char *where, struct cr_error *error)
{
    bool left = false, right = false;
    if (cr_read_bool(d, object, where, "strip_left", &left, error) ||
        cr_read_bool(d, object, where, "strip_right", &right, error))
        return -1;
    part->start = left;
    part->stop = right;
    return 0;
}

/* Removes white space at the begin, the end, or both. */
static int strip(const struct cr_text_part *part, const char *text, size_t n, struct cr_text *out,
                 size_t *leading, struct cr_error *error)
{
    size_t begin = 0, bytes;
    (void)error;
    while (part->start && begin < n && cr_is_space(text, begin, &bytes))
        begin += bytes;
    while (part->stop && n > begin && cr_is_space(text, cr_character_before(text, n), &bytes))
        n -= bytes;
    *leading = cr_leading_of_copy(*leading, begin, n);
    cr_put_bytes(out, text + begin, n - begin);
    return 0;
}

static int list_strip(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    return cr_list_stage(s, &(struct cr_listed_stage){.kind = CR_STRIPPED,
                                                      .flags = (int)(part->start + 2 * part->stop)}, error);
}

/* ---- the table ---- */

static const struct cr_part_kind kinds[] = {
    {.type = "NFC", .normalize = by_stage, .stage = CR_NFC, .shape = list_stage},
    {.type = "NFD", .normalize = by_stage, .stage = CR_NFD, .shape = list_stage},
    {.type = "NFKC", .normalize = by_stage, .stage = CR_NFKC, .shape = list_stage},
    {.type = "NFKD", .normalize = by_stage, .stage = CR_NFKD, .shape = list_stage},
    {.type = "Lowercase", .normalize = by_stage, .stage = CR_LOWER, .shape = list_stage},
    {.type = "StripAccents", .normalize = by_stage, .stage = CR_UNACCENTED, .shape = list_stage},
    {.type = "Strip", .read = read_strip, .normalize = strip, .shape = list_strip},
    {.type = "Replace",
     .read = cr_read_replace,
     .normalize = replace,
     .shape = list_replace},
    {.type = "Prepend",
     .read = read_prepend,
     .normalize = prepend,
     .shape = list_prepend},
    {.type = "ByteLevel", .normalize = byte_level},
    {.type = "BertNormalizer",
     .read = cr_read_bert_normalizer,
     .normalize = cr_normalize_bert,
     .shape = cr_list_bert},
    {.type = "Precompiled",
     .read = cr_read_precompiled,
     .normalize = cr_normalize_precompiled,
     .shape = cr_list_precompiled},
    {.type = "Nmt", .normalize = by_stage, .stage = CR_NMT, .shape = list_stage},
};

const struct cr_part_table cr_normalizers = {"normalizer", "normalizers", kinds,
                                             sizeof kinds / sizeof *kinds};

void cr_put_lowercase_first(struct cr_text_parts *normalizers)
{
    for (int i = 0; i < normalizers->n; i++)
        if (strcmp(normalizers->items[i].kind->type, "Lowercase") == 0)
            return;
    struct cr_text_part lowercase = *cr_add_part(normalizers, &cr_normalizers, "Lowercase");
    memmove(normalizers->items + 1, normalizers->items, (size_t)(normalizers->n - 1) * sizeof lowercase);
    normalizers->items[0] = lowercase;
}

int cr_normalize(const struct cr_text_parts *normalizers, const char *text, size_t n,
                 struct cr_text *out, size_t *leading, struct cr_error *error)
{
    struct cr_text from = {0}, to = {0};
    int status = 0;
    cr_put_bytes(&from, text, n);
    for (int i = 0; i < normalizers->n && status == 0; i++) {
        const struct cr_text_part *part = &normalizers->items[i];
        to.length = 0;
        status = part->kind->normalize(part, from.data, from.length, &to, leading, error) ||
                         cr_check_growth(to.length, n, error)
                     ? -1
                     : 0;
        struct cr_text old = from;
        from = to;
        to = old;
    }
    cr_put_bytes(out, from.data, from.length);
    free(from.data);
    free(to.data);
    return status;
}
