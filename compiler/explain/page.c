#include "page.h"

#include <string.h>

#define EMBED(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global cr_text_page_" #name "\n"                                                          \
            ".hidden cr_text_page_" #name "\n"                                                          \
            "cr_text_page_" #name ":\n"                                                                 \
            ".incbin \"compiler/explain/page/page." #name "\"\n"                                   \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char cr_text_page_##name[];
EMBED(html)
EMBED(css)
EMBED(js)

/* Writes a model's name as HTML text; omits the characters < > and &. */
static void put_title(FILE *out, const char *title)
{
    for (; *title; title++)
        if (!strchr("<>&", *title))
            fputc(*title, out);
}

/* Writes the page's skeleton, with each "@NAME@" in it replaced by the part of that name. */
void cr_explain_page(FILE *out, const char *title, const char *document, size_t length)
{
    for (const char *at = cr_text_page_html, *mark; *at; at = mark + strcspn(mark + 1, "@") + 2) {
        if (!(mark = strchr(at, '@'))) {
            fputs(at, out);
            return;
        }
        fwrite(at, 1, (size_t)(mark - at), out);
        if (strncmp(mark, "@STYLE@", 7) == 0)
            fputs(cr_text_page_css, out);
        else if (strncmp(mark, "@SCRIPT@", 8) == 0)
            fputs(cr_text_page_js, out);
        else if (strncmp(mark, "@TITLE@", 7) == 0)
            put_title(out, title);
        else
            fwrite(document, 1, length, out);
    }
}
