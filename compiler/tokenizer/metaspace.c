/* metaspace.c - replaces spaces by a visible character, and back; see metaspace.h. */
#include "metaspace.h"

#include <stdlib.h>
#include <string.h>

#include "emitted_parts.h"
#include "replace.h"

#include "visible_space.inc"

/* Reads `prepend_scheme`, or `add_prefix_space` of older files. */
static int read_scheme(struct cr_text_part *part, const struct cr_document *d, int object,
                       const char *where, struct cr_error *error)
{
    static const struct {
        const char *name;
        enum cr_prepending prepending;
    } schemes[] = {{"always", CR_PREPEND_UNLESS_THERE},
                   {"first", CR_PREPEND_ONCE_UNLESS_THERE},
                   {"never", CR_PREPEND_NEVER}};
    bool prefix = true;
    const char *name = NULL;
    if (cr_read_bool(d, object, where, "add_prefix_space", &prefix, error) ||
        cr_read_string(d, object, where, "prepend_scheme", &name, error))
        return -1;
    part->prepending = prefix ? CR_PREPEND_UNLESS_THERE : CR_PREPEND_NEVER;
    if (!name)
        return 0;
    for (int i = 0; i < 3; i++) {
        if (strcmp(schemes[i].name, name) != 0)
            continue;
        part->prepending = schemes[i].prepending;
        return 0;
    }
    return cr_fail(error, "%s: %s: found the prepend_scheme %.60s, expected always, first or never",
                   d->path, where, name);
}

int cr_read_metaspace(struct cr_text_part *part, const struct cr_document *d, int object,
                      const char *where, struct cr_error *error)
{
    part->split = true;
    if (cr_read_character(part, d, object, where, "replacement", error) ||
        read_scheme(part, d, object, where, error) ||
        cr_read_bool(d, object, where, "split", &part->split, error))
        return -1;
    part->pattern = cr_pattern_literal(part->content, part->length);
    return 0;
}

/* Replaces spaces, and puts the replacement before the text if the scheme demands it; then cuts the
 * text before each replacement. */
int cr_cut_metaspace(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                     struct cr_pieces *out, struct cr_error *error)
{
    struct cr_text replaced = {0};
    bool has =
        text[0] == ' ' || (n >= part->length && memcmp(text, part->content, part->length) == 0);
    size_t led = 0;
    int status = 0;
    if (cr_prepends_space(part->prepending, has, leading > 0))
        cr_put_bytes(&replaced, part->content, part->length);
    for (size_t i = 0; i < n; i++) {
        cr_put_bytes(&replaced, text[i] == ' ' ? part->content : text + i,
                     text[i] == ' ' ? part->length : 1);
        if (i + 1 == leading)
            led = replaced.length;
    }
    if (part->split)
        status = cr_cut(out, part->pattern, CR_MERGED_WITH_NEXT, false, replaced.data,
                        replaced.length, led, error);
    else
        cr_add_piece(out, replaced.data, replaced.length, led);
    free(replaced.data);
    return status;
}

/* Turns replacements back into spaces; removes those of the first token if encoding puts one before
 * a text. */
int cr_decode_metaspace(const struct cr_text_part *part, struct cr_decoding *state,
                        const char *text, size_t n, struct cr_text *out, struct cr_error *error)
{
    bool drop = !state->text.begun && part->prepending != CR_PREPEND_NEVER;
    size_t done = 0;
    struct cr_match match;
    while (cr_pattern_find(part->pattern, text, n, done, &match, error) > 0) {
        cr_put_bytes(out, text + done, match.begin - done);
        if (!drop)
            cr_put_bytes(out, " ", 1);
        done = match.end;
    }
    cr_put_bytes(out, text + done, n - done);
    state->text.begun = !part->fused;
    return 0;
}

/* Adds to the description for emitted C the replacement of spaces, and the cut before each
 * replacement. */
int cr_list_metaspace(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    const struct cr_cut_row *row = &cr_cut_rows[CR_CUT_CHARACTER];
    struct cr_listed_cut cut = {cr_cutter_of(CR_CUT_CHARACTER, CR_MERGED_WITH_NEXT, false), row->piece,
                                row->class_of, NULL};
    size_t bytes;
    if (!cr_shape_space(s, part))
        return cr_refuse_shape(s, "Metaspace of white space", "another character", error);
    if (cr_list_space(s, part->kind->type, error))
        return -1;
    s->prepending = part->prepending;
    cut.cutter.character = cr_character_at(part->content, 0, &bytes);
    return part->split ? cr_list_cut(s, &cut, error) : 0;
}

int cr_shape_decode_metaspace(const struct cr_text_part *part, struct cr_shape *s,
                              struct cr_error *error)
{
    if (part->fused || s->at < s->parts->n - 1)
        return cr_refuse_shape(s, part->kind->type, NULL, error);
    s->strips_first = part->prepending != CR_PREPEND_NEVER;
    return 0;
}
