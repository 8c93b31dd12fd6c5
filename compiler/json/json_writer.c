/* json_writer.c - writes JSON; see json_writer.h. */
#include "json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/ir/escape.h"

/* Writes the first character of n bytes of text and returns its length in bytes.  Control
 * characters (C0, DEL, C1) are escaped; a byte that is not valid UTF-8 becomes '?'. */
static size_t put_character(FILE *out, const char *text, size_t n)
{
    static const char special[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
    size_t length = cr_printable_size(text, n);
    unsigned char c = (unsigned char)*text, next = n > 1 ? (unsigned char)text[1] : 0;
    bool is_c1 = !length && c == 0xc2 && next >= 0x80 && next < 0xa0;
    const char *at = c ? strchr(special, c) : NULL;
    if (at)
        fprintf(out, "\\%c", letters[at - special]);
    else if (length && c != '<')
        fwrite(text, 1, length, out);
    else if (is_c1 || c < 0x80)
        fprintf(out, "\\u%04x", is_c1 ? next : c);
    else
        fputc('?', out);
    return length ? length : is_c1 ? 2 : 1;
}

static void put_string(FILE *out, const char *text, size_t length)
{
    fputc('"', out);
    for (size_t n; length; text += n, length -= n)
        n = put_character(out, text, length);
    fputc('"', out);
}

/* Begins a new line if the document is indented. */
static void put_indentation(const struct cr_doc *d)
{
    if (d->style == CR_DOC_INDENTED)
        fprintf(d->out, "\n%*s", 2 * d->depth, "");
}

/* Writes a comma if an item precedes, then the key unless it is null. */
static void put_key(struct cr_doc *d, const char *key)
{
    const char *comma = d->style == CR_DOC_LINE ? ", " : d->style == CR_DOC_TIGHT && key ? ",\n" : ",";
    if (d->behind)
        fputs(comma, d->out);
    if (d->depth)
        put_indentation(d);
    d->behind = true;
    if (!key)
        return;
    put_string(d->out, key, strlen(key));
    fputs(d->style == CR_DOC_TIGHT ? ":" : ": ", d->out);
}

void cr_doc_begin(struct cr_doc *d, const char *key, char bracket)
{
    put_key(d, key);
    fputc(bracket, d->out);
    d->behind = false;
    d->depth++;
}

void cr_doc_end(struct cr_doc *d, char bracket)
{
    d->depth--;
    if (d->behind)
        put_indentation(d);
    fputc(bracket, d->out);
    d->behind = true;
}

void cr_doc_text(struct cr_doc *d, const char *key, const char *text)
{
    put_key(d, key);
    if (text)
        put_string(d->out, text, strlen(text));
    else
        fputs("null", d->out);
}

void cr_doc_bytes(struct cr_doc *d, const char *key, const char *text, size_t length)
{
    put_key(d, key);
    put_string(d->out, text, length);
}

void cr_doc_integer(struct cr_doc *d, const char *key, int64_t number)
{
    put_key(d, key);
    fprintf(d->out, "%" PRId64, number);
}

void cr_doc_integers(struct cr_doc *d, const char *key, const int64_t *numbers, int n)
{
    cr_doc_begin(d, key, '[');
    for (int i = 0; i < n; i++)
        cr_doc_integer(d, NULL, numbers[i]);
    cr_doc_end(d, ']');
}

void cr_doc_number(struct cr_doc *d, const char *key, double number)
{
    put_key(d, key);
    if (isfinite(number))
        fprintf(d->out, "%.9g", number);
    else
        fputs("null", d->out);
}

void cr_doc_flag(struct cr_doc *d, const char *key, bool flag)
{
    put_key(d, key);
    fputs(flag ? "true" : "false", d->out);
}
