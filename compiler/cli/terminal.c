/* terminal.c - finds the width of the terminal, and wraps text; see terminal.h. */
#include "terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST = 20, USUAL = 80, MOST = 10000 };

int cr_columns(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    return n <= 0 ? USUAL : n < LEAST ? LEAST : n > MOST ? MOST : n;
}

/* Returns the number of columns of n bytes of UTF-8, one for each character. */
static int columns_of(const char *text, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += (text[i] & 0xc0) != 0x80;
    return columns;
}

void cr_put_wrapped(FILE *out, const char *text, int column, int indent, int width)
{
    bool begins = true; /* true before the line's first word, ignoring text that the caller
                         * printed */
    while (*text) {
        size_t space = strspn(text, " \n");
        int ends = 0;
        for (size_t i = 0; i < space; i++)
            ends += text[i] == '\n';
        text += space;
        size_t n = strcspn(text, " \n");
        if (!n)
            break;
        bool paragraph = ends > 1;
        if (paragraph || (!begins && column + 1 + columns_of(text, n) > width)) {
            fprintf(out, "%s%*s", paragraph ? "\n\n" : "\n", indent, "");
            column = indent;
        } else if (!begins) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, n, out);
        column += columns_of(text, n);
        begins = false;
        text += n;
    }
    fputc('\n', out);
}
