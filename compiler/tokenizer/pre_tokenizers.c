/* pre_tokenizers.c - the kinds of pre-tokenizers; see tokenizer_part.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_letters.h"
#include "emitted_parts.h"
#include "metaspace.h"
#include "pattern_program.h"
#include "replace.h"

#include "leading.inc"

/* ---- Split and similar ---- */

static int split(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                 struct cr_pieces *out, struct cr_error *error)
{
    return cr_cut(out, part->pattern, part->behavior, part->invert, text, n, leading, error);
}

static const struct {
    const char *name;
    enum cr_behavior behavior;
} behaviors[] = {
    {"Removed", CR_REMOVED},
    {"Isolated", CR_ISOLATED},
    {"MergedWithPrevious", CR_MERGED_WITH_PREVIOUS},
    {"MergedWithNext", CR_MERGED_WITH_NEXT},
    {"Contiguous", CR_CONTIGUOUS},
};

/* Reads the member `behavior`; "Isolated" is the default. */
static int read_behavior(struct cr_text_part *part, const struct cr_document *d, int object,
                         const char *where, struct cr_error *error)
{
    const char *name = "Isolated";
    if (cr_read_string(d, object, where, "behavior", &name, error))
        return -1;
    for (size_t i = 0; i < sizeof behaviors / sizeof *behaviors; i++) {
        if (strcmp(behaviors[i].name, name) != 0)
            continue;
        part->behavior = behaviors[i].behavior;
        return 0;
    }
    return cr_fail(error,
                   "%s: %s: found the behavior %.60s, expected Removed, Isolated, "
                   "MergedWithPrevious, MergedWithNext or Contiguous",
                   d->path, where, name);
}

static int read_split(struct cr_text_part *part, const struct cr_document *d, int object,
                      const char *where, struct cr_error *error)
{
    part->pattern = cr_read_pattern(d, object, where, error);
    return !part->pattern || read_behavior(part, d, object, where, error) ||
                   cr_read_bool(d, object, where, "invert", &part->invert, error)
               ? -1
               : 0;
}

/* Lists for emitted C a cut by a scanner.  A scanner's pieces cover the whole text. */
static int list_scanner(struct cr_shape *s, enum cr_scanner scanner, size_t digits, struct cr_error *error)
{
    static const char *const pieces[] = {[CR_SCAN_GPT2] = "cr_piece_by_gpt2",
                                         [CR_SCAN_LLAMA3] = "cr_piece_by_llama3"};
    return cr_list_cut(s, &(struct cr_listed_cut){.cutter.digits = digits, .piece = pieces[scanner]}, error);
}

/* Lists for emitted C a Split by a pattern without a scanner.  With `invert`, text and matches
 * change roles. */
static int list_pattern(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    struct cr_listed_cut cut = {.piece = "cr_piece_by_pattern", .pattern = part->pattern};
    struct cr_pattern_program program = {0};
    const char *what;
    char found[120];
    bool good = cr_compile_pattern(&program, part->pattern, &what);
    cr_free_pattern_program(&program);
    if (!good) {
        snprintf(found, sizeof found, "Split by a pattern with %s", what);
        return cr_refuse_shape(s, found, "a pattern without it", error);
    }
    if (part->behavior == CR_REMOVED)
        cut.cutter.drops = part->invert ? 1 : 2;
    else if (part->behavior == CR_CONTIGUOUS)
        cut.cutter.joins = CR_MATCHES_TOGETHER;
    else if (part->behavior != CR_ISOLATED)
        cut.cutter.joins = (part->behavior == CR_MERGED_WITH_NEXT) == part->invert ? CR_MATCHES_AFTER_TEXT
                                                                                   : CR_MATCHES_BEFORE_TEXT;
    return cr_list_cut(s, &cut, error);
}

/* Lists for emitted C a Split: by a scanner, at a character, or by another pattern. */
static int list_split(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    size_t length, digits, bytes = 0;
    const char *string = cr_pattern_string(part->pattern, &length);
    enum cr_scanner scanner = cr_pattern_scanner(part->pattern, &digits);
    const struct cr_cut_row *row = &cr_cut_rows[CR_CUT_CHARACTER];
    struct cr_listed_cut cut = {cr_cutter_of(CR_CUT_CHARACTER, part->behavior, part->invert), row->piece,
                                row->class_of, NULL};
    if (scanner != CR_SCAN_NONE && (part->behavior != CR_REMOVED || part->invert))
        return list_scanner(s, scanner, digits, error);
    if (string && length > 0)
        cut.cutter.character = cr_character_at(string, 0, &bytes);
    return string && length > 0 && bytes == length ? cr_list_cut(s, &cut, error) : list_pattern(part, s, error);
}

/* ---- kinds that cut character by character ---- */

static int list_cutter(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    const struct cr_cut_row *row = &cr_cut_rows[part->kind->cutter];
    return cr_list_cut(s, &(struct cr_listed_cut){part->cutter, row->piece, row->class_of, NULL}, error);
}

static int by_character(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                        struct cr_pieces *out, struct cr_error *error)
{
    (void)error;
    cr_cut_by(&part->cutter, out, text, n, leading);
    return 0;
}

static int read_digits(struct cr_text_part *part, const struct cr_document *d, int object,
                       const char *where, struct cr_error *error)
{
    bool individual = false;
    if (cr_read_bool(d, object, where, "individual_digits", &individual, error))
        return -1;
    part->cutter = cr_cutter_of(CR_CUT_DIGITS, individual ? CR_ISOLATED : CR_CONTIGUOUS, false);
    return 0;
}

static int read_punctuation(struct cr_text_part *part, const struct cr_document *d, int object,
                            const char *where, struct cr_error *error)
{
    if (read_behavior(part, d, object, where, error))
        return -1;
    part->cutter = cr_cutter_of(CR_CUT_PUNCTUATION, part->behavior, false);
    return 0;
}

static int read_delimiter(struct cr_text_part *part, const struct cr_document *d, int object,
                          const char *where, struct cr_error *error)
{
    size_t bytes;
    if (cr_read_character(part, d, object, where, "delimiter", error))
        return -1;
    part->cutter = cr_cutter_of(CR_CUT_CHARACTER, CR_REMOVED, false);
    part->cutter.character = cr_character_at(part->content, 0, &bytes);
    return 0;
}

/* ---- ByteLevel ---- */

static int read_byte_level(struct cr_text_part *part, const struct cr_document *d, int object,
                           const char *where, struct cr_error *error)
{
    part->prefix_space = part->by_regex = true;
    if (cr_read_bool(d, object, where, "add_prefix_space", &part->prefix_space, error) ||
        cr_read_bool(d, object, where, "use_regex", &part->by_regex, error))
        return -1;
    part->pattern = cr_pattern_gpt2();
    return 0;
}

/* Cuts by GPT-2's pattern and replaces bytes by their letters.  With prefix_space, puts a space
 * before a text that does not begin with one. */
static int byte_level(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                      struct cr_pieces *out, struct cr_error *error)
{
    struct cr_text prefixed = {0}, letters = {0};
    struct cr_pieces cut = {0};
    int status = 0;
    if (part->prefix_space && text[0] != ' ')
        cr_put_bytes(&prefixed, " ", 1);
    if (leading > 0)
        leading += prefixed.length;
    cr_put_bytes(&prefixed, text, n);
    if (part->by_regex)
        status = cr_cut(&cut, part->pattern, CR_ISOLATED, false, prefixed.data, prefixed.length,
                        leading, error);
    else
        cr_add_piece(&cut, prefixed.data, prefixed.length, leading);
    for (int i = 0; i < cut.n && status == 0; i++) {
        letters.length = 0;
        leading = cut.items[i].leading;
        cr_put_led_letters(&letters, cut.text.data + cut.items[i].at, cut.items[i].length, &leading);
        cr_add_piece(out, letters.data, letters.length, leading);
    }
    cr_free_pieces(&cut);
    free(prefixed.data);
    free(letters.data);
    return status;
}

static int list_byte_level(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    if (s->at < s->parts->n - 1)
        return cr_refuse_shape(s, part->kind->type, "it as the last pre-tokenizer", error);
    if (part->prefix_space && cr_list_space(s, part->kind->type, error))
        return -1;
    s->list->prefixed = part->prefix_space;
    s->byte_level = true;
    return part->by_regex ? list_scanner(s, CR_SCAN_GPT2, 0, error) : 0;
}

/* ---- FixedLength ---- */

static int read_fixed_length(struct cr_text_part *part, const struct cr_document *d, int object,
                             const char *where, struct cr_error *error)
{
    part->start = 5;
    if (cr_read_integer(d, object, where, "length", &part->start, error))
        return -1;
    return part->start > 0 ? 0
                           : cr_fail(error, "%s: %s: found the length %lld, expected at least 1",
                                     d->path, where, (long long)part->start);
}

/* Cuts a text into pieces of `start` characters; the last one may be shorter. */
static int fixed_length(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                        struct cr_pieces *out, struct cr_error *error)
{
    size_t begin = 0;
    int64_t characters = 0;
    (void)error;
    for (size_t at = 0, bytes; at < n; at += bytes, characters++) {
        cr_character_at(text, at, &bytes);
        if (characters > 0 && characters % part->start == 0) {
            cr_add_piece(out, text + begin, at - begin, cr_leading_from(leading, begin));
            begin = at;
        }
    }
    cr_add_piece(out, text + begin, n - begin, cr_leading_from(leading, begin));
    return 0;
}

/* ---- the table ---- */

static const struct cr_part_kind kinds[] = {
    {.type = "ByteLevel",
     .read = read_byte_level,
     .cut = byte_level,
     .shape = list_byte_level},
    {.type = "Split", .read = read_split, .cut = split, .shape = list_split},
    {.type = "Metaspace",
     .read = cr_read_metaspace,
     .cut = cr_cut_metaspace,
     .shape = cr_list_metaspace},
    {.type = "Digits",
     .read = read_digits,
     .cut = by_character,
     .cutter = CR_CUT_DIGITS,
     .shape = list_cutter},
    {.type = "Punctuation",
     .read = read_punctuation,
     .cut = by_character,
     .cutter = CR_CUT_PUNCTUATION,
     .shape = list_cutter},
    {.type = "Whitespace", .cut = by_character, .cutter = CR_CUT_WORDS, .shape = list_cutter},
    {.type = "WhitespaceSplit", .cut = by_character, .cutter = CR_CUT_SPACE, .shape = list_cutter},
    {.type = "BertPreTokenizer", .cut = by_character, .cutter = CR_CUT_BERT, .shape = list_cutter},
    {.type = "UnicodeScripts", .cut = by_character, .cutter = CR_CUT_SCRIPTS, .shape = list_cutter},
    {.type = "CharDelimiterSplit",
     .read = read_delimiter,
     .cut = by_character,
     .cutter = CR_CUT_CHARACTER,
     .shape = list_cutter},
    {.type = "FixedLength", .read = read_fixed_length, .cut = fixed_length},
};

const struct cr_part_table cr_pre_tokenizers = {"pre_tokenizer", "pretokenizers", kinds,
                                                sizeof kinds / sizeof *kinds};

/* Cuts all pieces that are not tokens by a part. */
static int apply(const struct cr_text_part *part, const struct cr_pieces *in, struct cr_pieces *out,
                 struct cr_error *error)
{
    for (int i = 0; i < in->n; i++) {
        const struct cr_piece *piece = &in->items[i];
        if (piece->token != CR_NO_TOKEN)
            cr_add_token(out, piece->token);
        else if (part->kind->cut(part, in->text.data + piece->at, piece->length, piece->leading, out,
                                 error))
            return -1;
    }
    return 0;
}

int cr_pre_tokenize(const struct cr_text_parts *pre_tokenizers, struct cr_pieces *pieces,
                    struct cr_error *error)
{
    struct cr_pieces out = {0};
    size_t n = pieces->text.length;
    int status = 0;
    for (int i = 0; i < pre_tokenizers->n && status == 0; i++) {
        cr_empty_pieces(&out);
        status = apply(&pre_tokenizers->items[i], pieces, &out, error) ||
                         cr_check_growth(out.text.length, n, error)
                     ? -1
                     : 0;
        struct cr_pieces old = *pieces;
        *pieces = out;
        out = old;
    }
    cr_free_pieces(&out);
    return status;
}
