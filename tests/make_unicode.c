/*
 * make_unicode.c - writes compiler/tokenizer/classes.inc, the classes of Unicode's characters, from
 * utf8proc's tables: `make unicode`.
 *
 * Characters of one class stand in runs.  A run is a number, its first character * 16 + its class,
 * and lasts to the next run.
 */
#include <stdio.h>
#include <utf8proc.h>

enum { LETTER = 1, NUMBER = 2, SPACE = 4, WORD = 8, CHARACTERS = 0x110000, PER_LINE = 10 };

struct range {
    int first, last;
};

/* The property White_Space. */
static const struct range spaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},
                                      {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
                                      {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                      {0x3000, 0x3000}};

/* Characters of words beside letters, marks, digits, letter numbers and connectors: the joiners, and
 * the symbols that are Alphabetic. */
static const struct range words[] = {
    {0x200c, 0x200d}, {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

static int is_in(int c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return 1;
    return 0;
}

static int class_of(int c)
{
    int class = is_in(c, spaces, sizeof spaces / sizeof *spaces) ? SPACE : 0;
    if (is_in(c, words, sizeof words / sizeof *words))
        class |= WORD;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return class | LETTER | WORD;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
        return class | NUMBER | WORD;
    case UTF8PROC_CATEGORY_NO:
        return class | NUMBER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
        return class | WORD;
    default:
        return class;
    }
}

int main(void)
{
    int n = 0;
    printf("/* classes.inc - classes of Unicode %s; written by tests/make_unicode.c. */\n"
           "static const uint32_t cr_class_runs[] = {\n",
           utf8proc_unicode_version());
    for (int c = 0, last = -1; c < CHARACTERS; c++) {
        int class = class_of(c);
        if (class != last)
            printf("%s0x%x,", n++ % PER_LINE ? " " : n > 1 ? "\n    " : "    ", c * 16 + class);
        last = class;
    }
    printf("\n};\n");
    return 0;
}
