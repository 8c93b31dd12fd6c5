/*
 * make_unicode.c classes|compositions - writes tables of Unicode from those of utf8proc, `make
 * unicode`: compiler/tokenizer/classes.inc, the classes of characters, and
 * compiler/tokenizer/compositions.inc, what normal form C needs.
 *
 * Characters of one class stand in runs.  A run is a number, its first character * 16 + its class,
 * and lasts to the next run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { LETTER = 1, NUMBER = 2, SPACE = 4, WORD = 8, CHARACTERS = 0x110000, PER_LINE = 8 };

struct range {
    int first, last;
};

/* The property White_Space. */
static const struct range spaces[] = {
    {0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

/* Characters of words beside letters, marks, digits, letter numbers and connectors: the joiners,
 * and the symbols that are Alphabetic. */
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

/* Separates numbers, and begins a line now and then. */
static const char *between(int n)
{
    return n == 0 ? "    " : n % PER_LINE ? " " : "\n    ";
}

static void write_classes(void)
{
    int n = 0;
    printf("/* classes.inc - classes of Unicode %s; written by tests/make_unicode.c. */\n"
           "static const uint32_t cr_class_runs[] = {\n",
           utf8proc_unicode_version());
    for (int c = 0, last = -1; c < CHARACTERS; c++) {
        int class = class_of(c);
        if (class != last)
            printf("%s0x%x,", between(n++), (unsigned)(c * 16 + class));
        last = class;
    }
    printf("\n};\n");
}

/* ---- compositions ---- */

enum { MOST = 3000, LONGEST = 8 };

/* A character and the two that it consists of; the second may be 0.  Of some, the two are not put
 * together again. */
struct row {
    int character, first, second, composes, number;
};

static struct row rows[MOST];
static int n_rows;

static int decompose(int c, int *parts)
{
    int boundary = 0;
    return (int)utf8proc_decompose_char(c, parts, LONGEST, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
                                        &boundary);
}

static int compose(int *parts, int n)
{
    return (int)utf8proc_normalize_utf32(parts, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

static _Noreturn void fail(const char *what, int c)
{
    fprintf(stderr, "make_unicode: %s: U+%04X\n", what, (unsigned)c);
    exit(1);
}

/* The character that decomposes into these; it is one of the rows before, or later ones. */
static int made_of(const int *parts, int n)
{
    int found[LONGEST], all[LONGEST];
    memcpy(all, parts, sizeof all);
    if (n == 1 || compose(all, n) == 1)
        return n == 1 ? parts[0] : all[0];
    for (int c = 0; c < CHARACTERS; c++)
        if (decompose(c, found) == n && memcmp(found, parts, (size_t)n * sizeof *parts) == 0)
            return c;
    fail("no character for the beginning of", parts[n]);
}

/* Hangul is composed by rule. */
static void add_row(int c)
{
    int parts[LONGEST], again[LONGEST];
    int n = (c >= 0xac00 && c < 0xd7a4) || (c >= 0xd800 && c < 0xe000) ? 0 : decompose(c, parts);
    if (n == 0 || (n == 1 && parts[0] == c))
        return;
    struct row *row = &rows[n_rows];
    memcpy(again, parts, sizeof again);
    *row = (struct row){.character = c, .number = n_rows++};
    row->composes = compose(again, n) == 1 && again[0] == c;
    row->first = n == 1 ? parts[0] : made_of(parts, n - 1);
    row->second = n == 1 ? 0 : parts[n - 1];
    int pair[LONGEST] = {row->first, row->second};
    if (row->composes && (compose(pair, 2) != 1 || pair[0] != c))
        fail("not composed of two", c);
}

static int by_parts(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->second - y->second;
}

/* Rows in order of their characters, the numbers of those that compose in order of their parts, and
 * runs of combining classes. */
static void write_compositions(void)
{
    int n = 0;
    for (int c = 0; c < CHARACTERS; c++)
        add_row(c);
    printf("/* compositions.inc - what characters of Unicode %s consist of; written by\n"
           " * tests/make_unicode.c. */\n"
           "static const uint32_t cr_decompositions[][3] = {\n",
           utf8proc_unicode_version());
    for (int i = 0; i < n_rows; i++)
        printf("%s{0x%x, 0x%x, 0x%x},",
               i % 3 ? " "
               : i   ? "\n    "
                     : "    ",
               (unsigned)rows[i].character, (unsigned)rows[i].first, (unsigned)rows[i].second);
    qsort(rows, (size_t)n_rows, sizeof *rows, by_parts);
    printf("\n};\nstatic const uint16_t cr_compositions[] = {\n");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].composes)
            printf("%s%d,", between(n++), rows[i].number);
    printf("\n};\nstatic const uint32_t cr_combining_runs[] = {\n");
    for (int c = n = 0, last = -1; c < CHARACTERS; c++) {
        int combining = utf8proc_get_property(c)->combining_class;
        if (combining != last)
            printf("%s0x%x,", between(n++), (unsigned)c * 256u + (unsigned)combining);
        last = combining;
    }
    printf("\n};\n");
}

int main(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "classes") != 0 && strcmp(argv[1], "compositions") != 0)) {
        fprintf(stderr, "make_unicode: expected classes or compositions\n");
        return 2;
    }
    if (strcmp(argv[1], "classes") == 0)
        write_classes();
    else
        write_compositions();
    return 0;
}
