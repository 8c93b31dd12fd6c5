/* page.h - the page that shows a document: compiler/explain/page/ with the document in it. */
#ifndef CR_PAGE_H
#define CR_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* Writes the page under the title, the name of a model. */
void cr_explain_page(FILE *out, const char *title, const char *document, size_t length);

#endif
