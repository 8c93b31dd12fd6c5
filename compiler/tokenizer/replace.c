/* replace.c - replaces the matches of a pattern; see replace.h. */
#include "replace.h"

#include "compiler/files/utf8.h"
#include "compiler/files/mapping.h"
#include "scanner.h"

#include "leading.inc"

int cr_read_content(struct cr_text_part *part, const struct cr_document *d, int object,
                    const char *where, const char *name, struct cr_error *error)
{
    int member = cr_need_member(d, object, where, name, CR_JSON_STRING, error);
    if (member < 0)
        return -1;
    part->content = d->values[member].text;
    part->length = d->values[member].length;
    return 0;
}

int cr_read_character(struct cr_text_part *part, const struct cr_document *d, int object,
                      const char *where, const char *name, struct cr_error *error)
{
    if (cr_read_content(part, d, object, where, name, error))
        return -1;
    if (part->length > 0 && cr_utf8(part->content, part->content + part->length) == part->length)
        return 0;
    return cr_fail(error, "%s: %s: found %s for \"%s\", expected one character", d->path, where,
                   cr_show(part->content, part->length).text, name);
}

int cr_read_replace(struct cr_text_part *part, const struct cr_document *d, int object,
                    const char *where, struct cr_error *error)
{
    part->pattern = cr_read_pattern(d, object, where, error);
    return part->pattern ? cr_read_content(part, d, object, where, "content", error) : -1;
}

int cr_put_replaced(const struct cr_text_part *part, const char *text, size_t n,
                    struct cr_text *out, size_t *leading, struct cr_error *error)
{
    struct cr_matches matches = {.pattern = part->pattern, .text = text, .n = n};
    struct cr_match match;
    size_t done = 0, leading_before = *leading;
    int found;
    *leading = 0;
    while ((found = cr_pattern_next(&matches, &match, error)) > 0) {
        if (cr_check_growth(out->length + part->length, n, error))
            return -1;
        *leading += cr_leading_of_copy(leading_before, done, match.begin) +
                    cr_leading_of_match(leading_before, match.end, part->length);
        cr_put_bytes(out, text + done, match.begin - done);
        cr_put_bytes(out, part->content, part->length);
        done = match.end;
    }
    *leading += cr_leading_from(leading_before, done);
    cr_put_bytes(out, text + done, n - done);
    return found;
}
