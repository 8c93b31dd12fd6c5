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
 * A key is null inside a list.  The document has no "<" in it, so that it may stand in HTML.
 */
#ifndef CR_JSON_WRITER_H
#define CR_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cr_doc_style {
    CR_DOC_TIGHT,   /* for programs: no spaces, a line for each key */
    CR_DOC_LINE,    /* all on one line */
    CR_DOC_INDENTED /* for people: a line for each item, indented */
};

struct cr_doc {
    FILE *out;
    enum cr_doc_style style;
    int depth;   /* number of lists and objects that are open */
    bool behind; /* true if an item precedes in the same list or object */
};

/* Begin an object with '{' or a list with '[', and end it with '}' or ']'. */
void cr_doc_begin(struct cr_doc *d, const char *key, char bracket);
void cr_doc_end(struct cr_doc *d, char bracket);

/* Write a text.  Bytes that are not valid UTF-8 become question marks; a null pointer becomes
 * null. */
void cr_doc_text(struct cr_doc *d, const char *key, const char *text);
void cr_doc_bytes(struct cr_doc *d, const char *key, const char *text, size_t length);
void cr_doc_integer(struct cr_doc *d, const char *key, int64_t number);

/* Writes a list of n integers. */
void cr_doc_integers(struct cr_doc *d, const char *key, const int64_t *numbers, int n);

/* Writes a number with nine digits; NaN and infinities, which JSON lacks, become null. */
void cr_doc_number(struct cr_doc *d, const char *key, double number);
void cr_doc_flag(struct cr_doc *d, const char *key, bool flag);

#endif
