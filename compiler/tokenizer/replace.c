/* replace.c - what a pattern matches, replaced; see replace.h. */
#include "replace.h"

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

int cr_read_replace(struct cr_text_part *part, const struct cr_document *d, int object,
                    const char *where, struct cr_error *error)
{
    part->pattern = cr_read_pattern(d, object, where, error);
    return part->pattern ? cr_read_content(part, d, object, where, "content", error) : -1;
}

/* Behind an empty match one character is copied. */
int cr_put_replaced(const struct cr_text_part *part, const char *text, size_t n,
                    struct cr_text *out, struct cr_error *error)
{
    struct cr_match match;
    size_t done = 0, from = 0;
    int found = 0;
    while (from <= n &&
           (found = cr_pattern_find(part->pattern, text, n, from, &match, error)) > 0) {
        cr_put_bytes(out, text + done, match.begin - done);
        cr_put_bytes(out, part->content, part->length);
        done = from = match.end;
        if (match.end > match.begin)
            continue;
        do
            from++;
        while (from < n && ((unsigned char)text[from] & 0xc0) == 0x80);
    }
    cr_put_bytes(out, text + done, n - done);
    return found < 0 ? -1 : 0;
}
