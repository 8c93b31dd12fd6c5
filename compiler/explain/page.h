/* page.h - the HTML page that shows a document: compiler/explain/page/ with the document
 * embedded. */
#ifndef CR_PAGE_H
#define CR_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* Writes the page with the model's name as title. */
void cr_explain_page(FILE *out, const char *title, const char *document, size_t length);

#endif
