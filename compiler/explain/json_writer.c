/* json_writer.c - writes JSON; see json_writer.h. */
#include "json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/ir/escape.h"

/* Writes a string literal.  Control characters are escaped, and bytes that are not UTF-8 become
 * '?'. */
static void put_string(FILE *out, const char *text, size_t length)
{
    fputc('"', out);
    for (size_t n; length; text += n, length -= n) {
        n = cr_harmless(text, length);
        unsigned char c = (unsigned char)*text;
        if (n == 1 && (c == '"' || c == '\\'))
            fprintf(out, "\\%c", c);
        else if (n && c != '<')
            fwrite(text, 1, n, out);
        else if (c == '<' || c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc('?', out);
        n += !n;
    }
    fputc('"', out);
}

/* Writes a comma if needed, and a key if it is not null. */
static void put_key(struct cr_doc *d, const char *key)
{
    if (d->behind)
        fputs(key ? ",\n" : ",", d->out);
    d->behind = true;
    if (!key)
        return;
    put_string(d->out, key, strlen(key));
    fputc(':', d->out);
}

void cr_doc_begin(struct cr_doc *d, const char *key, char bracket)
{
    put_key(d, key);
    fputc(bracket, d->out);
    d->behind = false;
}

void cr_doc_end(struct cr_doc *d, char bracket)
{
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
