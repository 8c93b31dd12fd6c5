/* bert.c - the normalizer and the pre-tokenizer of BERT; see bert.h. */
#include "bert.h"

#include <stdlib.h>

#include "scanner.h"

#include "bert_classes.inc"

/* Returns the classes of a character.  Runs are sorted, and the last one that begins at or before the
 * character has it. */
static int class_of(uint32_t character)
{
    size_t low = 0, high = sizeof cr_bert_runs / sizeof *cr_bert_runs;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (cr_bert_runs[middle] / 16 <= character)
            low = middle;
        else
            high = middle;
    }
    return (int)(cr_bert_runs[low] & 15);
}

/* ---- BertNormalizer ---- */

/* Accents are stripped where text is lower-cased, unless the file says something else. */
int cr_read_bert_normalizer(struct cr_text_part *part, const struct cr_document *d, int object,
                            const char *where, struct cr_error *error)
{
    struct cr_bert *bert = &part->bert;
    *bert = (struct cr_bert){.clean = true, .chinese = true, .lowercase = true};
    if (cr_read_bool(d, object, where, "clean_text", &bert->clean, error) ||
        cr_read_bool(d, object, where, "handle_chinese_chars", &bert->chinese, error) ||
        cr_read_bool(d, object, where, "lowercase", &bert->lowercase, error))
        return -1;
    bert->strips_accents = bert->lowercase;
    return cr_read_bool(d, object, where, "strip_accents", &bert->strips_accents, error);
}

/* True for ideographs of the blocks that BERT's tokenizer names.  It leaves out 2B820 to 2B91F. */
static bool is_chinese(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b81f) ||
           (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x2f800 && c <= 0x2fa1f);
}

/* Removes control characters; each character of white space becomes a space. */
static void clean(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t character = cr_character_at(text, at, &bytes);
        size_t space;
        if (class_of(character) & CR_BERT_CONTROL)
            continue;
        if (cr_is_space(text, at, &space))
            cr_put_bytes(out, " ", 1);
        else
            cr_put_bytes(out, text + at, bytes);
    }
}

static void isolate_chinese(struct cr_text *out, const char *text, size_t n)
{
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bool chinese = is_chinese(cr_character_at(text, at, &bytes));
        cr_put_bytes(out, " ", chinese);
        cr_put_bytes(out, text + at, bytes);
        cr_put_bytes(out, " ", chinese);
    }
}

static void strip_accents(struct cr_text *out, const char *text, size_t n)
{
    struct cr_text apart = {0};
    cr_put_normal(&apart, text, n, CR_NFD);
    for (size_t at = 0, bytes; at < apart.length; at += bytes) {
        uint32_t character = cr_character_at(apart.data, at, &bytes);
        if (!(class_of(character) & CR_BERT_MARK))
            cr_put_bytes(out, apart.data + at, bytes);
    }
    free(apart.data);
}

/* Replaces `text` by what a step makes of it. */
static void apply(struct cr_text *text, void (*step)(struct cr_text *, const char *, size_t))
{
    struct cr_text out = {0};
    cr_put_bytes(&out, "", 0);
    step(&out, text->data, text->length);
    free(text->data);
    *text = out;
}

int cr_normalize_bert(const struct cr_text_part *part, const char *text, size_t n,
                      struct cr_text *out, bool *first, struct cr_error *error)
{
    struct cr_text made = {0};
    (void)first, (void)error;
    cr_put_bytes(&made, text, n);
    if (part->bert.clean)
        apply(&made, clean);
    if (part->bert.chinese)
        apply(&made, isolate_chinese);
    if (part->bert.strips_accents)
        apply(&made, strip_accents);
    if (part->bert.lowercase)
        apply(&made, cr_put_lowercase);
    cr_put_bytes(out, made.data, made.length);
    free(made.data);
    return 0;
}

/* ---- BertPreTokenizer ---- */

int cr_cut_bert(const struct cr_text_part *part, const char *text, size_t n, bool first,
                struct cr_pieces *out, struct cr_error *error)
{
    size_t begin = 0;
    (void)part, (void)error;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bool punctuation = class_of(cr_character_at(text, at, &bytes)) & CR_BERT_PUNCTUATION;
        size_t space;
        if (!punctuation && !cr_is_space(text, at, &space))
            continue;
        cr_add_piece(out, text + begin, at - begin, first && begin == 0);
        if (punctuation)
            cr_add_piece(out, text + at, bytes, first && at == 0);
        begin = at + bytes;
    }
    cr_add_piece(out, text + begin, n - begin, first && begin == 0);
    return 0;
}
