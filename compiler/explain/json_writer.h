/*
 * json_writer.h - writes JSON.
 *
 *     cr_doc_begin(d, NULL, '{');
 *     cr_doc_text(d, "name", "gpt2");
 *     cr_doc_begin(d, "sizes", '[');
 *     cr_doc_integer(d, NULL, 3);
 *     cr_doc_end(d, ']');
 *     cr_doc_end(d, '}');
 *
 * A key is null inside a list.  No text has a "<" in it, so that a document may stand in HTML.
 */
#ifndef CR_JSON_WRITER_H
#define CR_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cr_doc {
    FILE *out;
    bool behind; /* something of the same list or object came before */
};

/* Opens and closes an object, '{' and '}', or a list, '[' and ']'. */
void cr_doc_begin(struct cr_doc *d, const char *key, char bracket);
void cr_doc_end(struct cr_doc *d, char bracket);

/* Control characters are escaped, what is no UTF-8 becomes a question mark; null for null. */
void cr_doc_text(struct cr_doc *d, const char *key, const char *text);
void cr_doc_bytes(struct cr_doc *d, const char *key, const char *text, size_t length);
void cr_doc_integer(struct cr_doc *d, const char *key, int64_t number);

/* Nine digits; null where JSON has none for it (NaN, infinity). */
void cr_doc_number(struct cr_doc *d, const char *key, double number);
void cr_doc_flag(struct cr_doc *d, const char *key, bool flag);

#endif
