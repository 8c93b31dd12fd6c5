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

/* ---- decompositions ---- */

enum { MOST = 6000, LONGEST = 32 };

/* A character and what it decomposes to. */
struct item {
    int character, n, parts[LONGEST];
};

static struct item items[MOST];
static int n_items;

/* What the items decompose to, one behind the other; equal stretches may stand once. */
static int parts[MOST * 2];
static int n_parts;

static _Noreturn void fail(const char *what, int c)
{
    fprintf(stderr, "make_unicode: %s: U+%04X\n", what, (unsigned)c);
    exit(1);
}

static void add_item(int c, const int *its_parts, int n)
{
    if (n_items == MOST)
        fail("too many decompositions", c);
    items[n_items].character = c;
    items[n_items].n = n;
    memcpy(items[n_items++].parts, its_parts, (size_t)n * sizeof *its_parts);
}

/* True if item i + 1 can be in the run of item i. */
static int is_next(int i)
{
    return i + 1 < n_items && items[i + 1].character == items[i].character + 1 && items[i + 1].n == items[i].n;
}

/* Returns how many items from i on stand in `parts` from `at` on. */
static int count_equal(int i, int at)
{
    int n = 0;
    for (;; i++, n++, at += items[i - 1].n)
        if ((n && !is_next(i - 1)) || at + items[i].n > n_parts ||
            memcmp(parts + at, items[i].parts, (size_t)items[i].n * sizeof *parts) != 0)
            return n;
}

/* Returns the length of the longest run from item i on that stands in `parts` already, and its place. */
static int find_equal(int i, int *place)
{
    int longest = 0;
    for (int at = 0; at < n_parts; at++)
        if (count_equal(i, at) > longest)
            longest = count_equal(i, *place = at);
    return longest;
}

/* Adds the parts of a run that begins with item i; returns its length.  With `shares`, the run ends where eight
 * items or more stand in `parts` already, and such items are a run without new parts. */
static int add_run(int i, int shares, int *place)
{
    int n = 0, at = 0, equal = shares ? find_equal(i, place) : 0;
    if (equal >= 8)
        return equal;
    *place = n_parts;
    do {
        if (n_parts + items[i + n].n > (int)(sizeof parts / sizeof *parts))
            fail("too many parts", items[i + n].character);
        memcpy(parts + n_parts, items[i + n].parts, (size_t)items[i + n].n * sizeof *parts);
        n_parts += items[i + n].n;
        n++;
    } while (is_next(i + n - 1) && (!shares || find_equal(i + n, &at) < 8));
    return n;
}

/* Writes rows {first character, characters, parts of each, index of the first's parts}, and the parts. */
static void write_decompositions(const char *name, int shares)
{
    printf("static const uint32_t %ss[][4] = {\n", name);
    for (int i = 0, n = 0, count, at; i < n_items; i += count, n++) {
        count = add_run(i, shares, &at);
        printf("%s{0x%x, %d, %d, %d},", n % 4 ? " " : between(n / 4 * PER_LINE), (unsigned)items[i].character,
               count, items[i].n, at);
    }
    printf("\n};\nstatic const uint32_t %s_parts[] = {\n", name);
    for (int i = 0; i < n_parts; i++)
        printf("%s0x%x,", between(i), (unsigned)parts[i]);
    printf("\n};\n");
}

/* ---- compositions ---- */

/* Parts that are composed again, and where they stand. */
struct pair {
    int first, second, at;
};

static struct pair pairs[MOST];
static int n_pairs;

static int decompose(int c, int *found)
{
    int boundary = 0;
    return (int)utf8proc_decompose_char(c, found, LONGEST, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
                                        &boundary);
}

static int compose(int *characters, int n)
{
    return (int)utf8proc_normalize_utf32(characters, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

/* Returns the character that n parts compose to, or that decomposes into them; fails if there is
 * none. */
static int made_of(const int *its_parts, int n)
{
    int found[LONGEST], all[LONGEST];
    memcpy(all, its_parts, sizeof all);
    if (n == 1 || compose(all, n) == 1)
        return n == 1 ? its_parts[0] : all[0];
    for (int c = 0; c < CHARACTERS; c++)
        if (decompose(c, found) == n && memcmp(found, its_parts, (size_t)n * sizeof *its_parts) == 0)
            return c;
    fail("no character for the beginning of", its_parts[n]);
}

/* Adds the decomposition of a character into one or two others, except for Hangul, which rules compose. */
static void add_canonical(int c)
{
    int all[LONGEST], again[LONGEST];
    int n = (c >= 0xac00 && c < 0xd7a4) || (c >= 0xd800 && c < 0xe000) ? 0 : decompose(c, all);
    if (n == 0 || (n == 1 && all[0] == c))
        return;
    memcpy(again, all, sizeof again);
    int pair[] = {n == 1 ? all[0] : made_of(all, n - 1), all[n - 1]};
    int composes = compose(again, n) == 1 && again[0] == c, two = n > 1;
    add_item(c, pair, 1 + two);
    if (composes)
        pairs[n_pairs++] = (struct pair){pair[0], pair[1], n_parts};
    n_parts += 1 + two;
    if (composes && (compose(pair, 2) != 1 || pair[0] != c))
        fail("not composed of two", c);
}

static int by_parts(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->second - y->second;
}

static int combining_class(int c)
{
    return utf8proc_get_property(c)->combining_class;
}

/* Writes the decompositions, the places of parts that are composed again, sorted by these, and runs of
 * combining classes. */
static void write_compositions(void)
{
    for (int c = 0; c < CHARACTERS; c++)
        add_canonical(c);
    n_parts = 0;
    printf("/* compositions.inc - canonical decompositions and compositions of Unicode %s; written by\n"
           " * tests/make_unicode.c. */\n",
           utf8proc_unicode_version());
    write_decompositions("cr_decomposition", 0);
    qsort(pairs, (size_t)n_pairs, sizeof *pairs, by_parts);
    printf("\n/* only for nfc, cr_make_nfc, cr_make_nfd, cr_make_nfkc, cr_make_nfkd */\n"
           "static const uint16_t cr_compositions[] = {\n");
    for (int i = 0; i < n_pairs; i++)
        printf("%s%d,", between(i), pairs[i].at);
    printf("\n};\n\n");
    write_runs("cr_combining_runs", combining_class, 256);
}

/* ---- compatibility ---- */

/* Writes the compatibility decompositions that differ from the canonical ones. */
static void write_compatible(void)
{
    printf("/* compatible.inc - compatibility decompositions of Unicode %s; written by\n"
           " * tests/make_unicode.c. */\n",
           utf8proc_unicode_version());
    for (int c = 0, boundary; c < CHARACTERS; c++) {
        int found[LONGEST], canonical[LONGEST];
        if (c >= 0xd800 && c < 0xe000)
            continue;
        int n = (int)utf8proc_decompose_char(
            c, found, LONGEST, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, &boundary);
        if (n >= 1 && (n != decompose(c, canonical) || memcmp(found, canonical, (size_t)n * sizeof *found) != 0))
            add_item(c, found, n);
    }
    write_decompositions("cr_compatible_form", 1);
}

/* ---- lower case ---- */

static int to_lower(int c)
{
    return utf8proc_tolower(c) - c;
}

/* Returns the last capital of the run that begins with c: every step-th character, as far from its lower case. */
static int last_capital(int c, int step)
{
    int last = c;
    while (to_lower(last + step) == to_lower(c) && (step == 1 || to_lower(last + 1) == 0))
        last += step;
    return last;
}

/* Writes rows {first capital, last one, from one to the next, lower case of the first}. */
static void write_lower_case(void)
{
    int n = 0;
    printf("/* lower_case.inc - capitals of Unicode %s and their lower cases; written by\n"
           " * tests/make_unicode.c. */\n"
           "static const uint32_t cr_capitals[][4] = {\n",
           utf8proc_unicode_version());
    for (int c = 0, last; c < CHARACTERS; c = last + 1) {
        last = c;
        if (to_lower(c) == 0)
            continue;
        int step = last_capital(c, 1) > c ? 1 : 2;
        last = last_capital(c, step);
        printf("%s{0x%x, 0x%x, %d, 0x%x},", n % 4 ? " " : between(n / 4 * PER_LINE), (unsigned)c, (unsigned)last,
               step, (unsigned)utf8proc_tolower(c));
        n++;
    }
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
