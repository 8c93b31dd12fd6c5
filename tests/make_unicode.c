/*
 * make_unicode.c TABLE - writes compiler/tokenizer/TABLE.inc, a table of Unicode made from those of
 * utf8proc, for `make unicode`:
 *
 *     classes        the classes of characters
 *     compositions   what normal forms C and D need
 *     compatible     compatibility decompositions
 *     lower_case     the lower cases of capitals
 *     graphemes      the grapheme break class of each character
 *
 * Characters of one class stand in runs.  A run is a number, its first character * the number of classes +
 * its class, and lasts to the next run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { LETTER = 1, NUMBER = 2, SPACE = 4, WORD = 8, MARK = 16, CHARACTERS = 0x110000, PER_LINE = 8 };

struct range {
    int first, last;
};

/* The property White_Space. */
static const struct range spaces[] = {
    {0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

/* Characters that count as parts of words although they are no letters, marks, digits, letter
 * numbers or connectors: the joiners, and the symbols that are Alphabetic. */
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
        return class | MARK | WORD;
    case UTF8PROC_CATEGORY_PC:
        return class | WORD;
    default:
        return class;
    }
}

/* Returns the space before number n of a list: a new line after every PER_LINE numbers. */
static const char *between(int n)
{
    return n == 0 ? "    " : n % PER_LINE ? " " : "\n    ";
}

/* Writes the runs of characters with equal classes. */
static void write_runs(const char *name, int (*class_of_character)(int), unsigned classes)
{
    int n = 0;
    printf("static const uint32_t %s[] = {\n", name);
    for (int c = 0, last = -1; c < CHARACTERS; c++) {
        int class = class_of_character(c);
        if (class != last)
            printf("%s0x%x,", between(n++), (unsigned)c * classes + (unsigned)class);
        last = class;
    }
    printf("\n};\n");
}

static void write_classes(void)
{
    printf("/* classes.inc - classes of Unicode %s; written by tests/make_unicode.c. */\n",
           utf8proc_unicode_version());
    write_runs("cr_class_runs", class_of, 32);
}

/* ---- compositions ---- */

enum { MOST = 3000, LONGEST = 8 };

/* A character and the two characters of its decomposition, the second of which may be 0.  Some of
 * these pairs are not composed again. */
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

/* Returns the character that n parts compose to, or that decomposes into them; fails if there is
 * none. */
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

/* Adds the decomposition of a character, except for Hangul, which rules compose. */
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

static int combining_class(int c)
{
    return utf8proc_get_property(c)->combining_class;
}

/* Writes the decompositions sorted by character, the indices of compositions sorted by their parts, and
 * runs of combining classes. */
static void write_compositions(void)
{
    int n = 0;
    for (int c = 0; c < CHARACTERS; c++)
        add_row(c);
    printf("/* compositions.inc - canonical decompositions and compositions of Unicode %s; written by\n"
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
    printf("\n};\n\n/* only for nfc, cr_make_nfc, cr_make_nfd, cr_make_nfkc, cr_make_nfkd */\n"
           "static const uint16_t cr_compositions[] = {\n");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].composes)
            printf("%s%d,", between(n++), rows[i].number);
    printf("\n};\n\n");
    write_runs("cr_combining_runs", combining_class, 256);
}

/* ---- compatibility ---- */

enum { MOST_PARTS = 32, PARTS = 20000 };

/* Writes the compatibility decompositions that differ from the canonical ones: rows {character,
 * index of its first part} with an end row, and the parts. */
static void write_compatible(void)
{
    static int parts[PARTS];
    int n = 0, n_parts = 0;
    printf("/* compatible.inc - compatibility decompositions of Unicode %s; written by\n"
           " * tests/make_unicode.c. */\n"
           "static const uint32_t cr_compatible[][2] = {\n",
           utf8proc_unicode_version());
    for (int c = 0, boundary; c < CHARACTERS; c++) {
        int found[MOST_PARTS], canonical[MOST_PARTS];
        if (c >= 0xd800 && c < 0xe000)
            continue;
        int count = (int)utf8proc_decompose_char(
            c, found, MOST_PARTS, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, &boundary);
        int other = (int)utf8proc_decompose_char(c, canonical, MOST_PARTS,
                                                 UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
        if (count < 1 || (count == other && memcmp(found, canonical, (size_t)count * sizeof *found) == 0))
            continue;
        if (n_parts + count > PARTS)
            fail("too many parts", c);
        printf("%s{0x%x, %d},", n % 6 ? " " : n ? "\n    " : "    ", (unsigned)c, n_parts);
        memcpy(parts + n_parts, found, (size_t)count * sizeof *found);
        n_parts += count;
        n++;
    }
    printf(" {0x%x, %d},\n};\nstatic const uint32_t cr_compatible_parts[] = {\n", CHARACTERS, n_parts);
    for (int i = 0; i < n_parts; i++)
        printf("%s0x%x,", between(i), (unsigned)parts[i]);
    printf("\n};\n");
}

/* ---- lower case ---- */

static void write_lower_case(void)
{
    int n = 0;
    printf("/* lower_case.inc - capitals of Unicode %s and their lower cases; written by\n"
           " * tests/make_unicode.c. */\n"
           "static const uint32_t cr_capitals[][2] = {\n",
           utf8proc_unicode_version());
    for (int c = 0; c < CHARACTERS; c++)
        if (utf8proc_tolower(c) != c)
            printf("%s{0x%x, 0x%x},", n++ % 4 ? " " : n > 1 ? "\n    " : "    ", (unsigned)c,
                   (unsigned)utf8proc_tolower(c));
    printf("\n};\n");
}

/* ---- graphemes ---- */

/* Returns the class by which graphemes are found, as a number of enum cr_grapheme_class. */
static int grapheme_class(int c)
{
    static const int classes[] = {
        [UTF8PROC_BOUNDCLASS_OTHER] = 0,
        [UTF8PROC_BOUNDCLASS_CR] = 1,
        [UTF8PROC_BOUNDCLASS_LF] = 2,
        [UTF8PROC_BOUNDCLASS_CONTROL] = 3,
        [UTF8PROC_BOUNDCLASS_EXTEND] = 4,
        [UTF8PROC_BOUNDCLASS_L] = 5,
        [UTF8PROC_BOUNDCLASS_V] = 6,
        [UTF8PROC_BOUNDCLASS_T] = 7,
        [UTF8PROC_BOUNDCLASS_LV] = 8,
        [UTF8PROC_BOUNDCLASS_LVT] = 9,
        [UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR] = 10,
        [UTF8PROC_BOUNDCLASS_SPACINGMARK] = 11,
        [UTF8PROC_BOUNDCLASS_PREPEND] = 12,
        [UTF8PROC_BOUNDCLASS_ZWJ] = 13,
        [UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC] = 14,
    };
    int class = (int)utf8proc_get_property(c)->boundclass;
    if (class >= (int)(sizeof classes / sizeof *classes))
        fail("a class of graphemes that is not known", c);
    return classes[class];
}

static void write_graphemes(void)
{
    printf("/* graphemes.inc - the grapheme break classes of the characters of Unicode %s;\n"
           " * written by tests/make_unicode.c. */\n",
           utf8proc_unicode_version());
    write_runs("cr_grapheme_runs", grapheme_class, 16);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } tables[] = {{"classes", write_classes},       {"compositions", write_compositions},
                  {"compatible", write_compatible}, {"lower_case", write_lower_case},
                  {"graphemes", write_graphemes}};
    for (size_t i = 0; argc == 2 && i < sizeof tables / sizeof *tables; i++)
        if (strcmp(argv[1], tables[i].name) == 0) {
            tables[i].write();
            return 0;
        }
    fprintf(stderr, "make_unicode: expected classes, compositions, compatible, lower_case or graphemes\n");
    return 2;
}
