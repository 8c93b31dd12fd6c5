/* page.h - writes the HTML page that shows a document: the files of compiler/explain/page/ with
 * the document inside. */
#ifndef CR_PAGE_H
#define CR_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* Writes the page of a document; the title is the model's name. */
void cr_explain_page(FILE *out, const char *title, const char *document, size_t length);

#endif
