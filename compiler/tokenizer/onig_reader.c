/* onig_reader.c - reads characters, escapes and named sets of a regular expression; see
 * onig_reader.h. */
#include "onig_reader.h"

#include <stdio.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "scanner.h"
#include "unicode.h"

int cr_onig_enter(struct cr_onig_reader *r)
{
    enum { DEEPEST = 100 };
    return ++r->depth <= DEEPEST
               ? 0
               : cr_fail(r->error, "%s: found more than %d groups inside each other in a pattern, "
                                   "expected fewer",
                         r->where, DEEPEST);
}

bool cr_onig_take(struct cr_onig_reader *r, char byte)
{
    bool found = r->at < r->n && r->text[r->at] == byte;
    r->at += found;
    return found;
}

uint32_t cr_onig_character(struct cr_onig_reader *r)
{
    size_t bytes;
    uint32_t code = cr_character_at(r->text, r->at, &bytes);
    r->at += bytes;
    return code;
}

void cr_onig_put_code(struct cr_text *out, uint32_t code)
{
    bool letter = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                  (code >= 'a' && code <= 'z');
    if (code > ' ' && code < 0x7f)
        cr_put(out, letter ? "%c" : "\\%c", (char)code);
    else
        cr_put(out, "\\x{%x}", (unsigned)code);
}

/* ---- escapes of one character ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Reads at most `most` digits in a base; returns how many there were.  *number stays below 2^64. */
static int take_digits(struct cr_onig_reader *r, unsigned base, int most, uint64_t *number)
{
    int n = 0;
    *number = 0;
    for (; n < most && r->at < r->n && digit_of(r->text[r->at]) < (int)base; n++)
        *number = *number * base + (unsigned)digit_of(r->text[r->at++]);
    return n;
}

static int fail_escape(const struct cr_onig_reader *r, char letter, const char *expected)
{
    return cr_fail(r->error, "%s: found \\%c in a pattern, expected %s", r->where, letter, expected);
}

/* Reads a number in braces: {DIGITS}. */
static int take_braces(struct cr_onig_reader *r, char letter, unsigned base, uint64_t *number)
{
    int n = cr_onig_take(r, '{') ? take_digits(r, base, 11, number) : 0;
    return n > 0 && cr_onig_take(r, '}')
               ? 0
               : fail_escape(r, letter, "digits of one character in braces after it");
}

/* Reads the next byte of a character that is written as several escapes: \x and two digits, or \
 * and three octal digits. */
static bool take_byte(struct cr_onig_reader *r, bool hexadecimal, uint64_t *byte)
{
    size_t begin = r->at;
    if (cr_onig_take(r, '\\') && (!hexadecimal || cr_onig_take(r, 'x')) &&
        take_digits(r, hexadecimal ? 16 : 8, hexadecimal ? 2 : 3, byte) > 0)
        return true;
    r->at = begin;
    return false;
}

/* Reads the remaining bytes of a character whose first byte is `first`; fails unless they are valid
 * UTF-8. */
static int take_bytes(struct cr_onig_reader *r, bool hexadecimal, uint64_t first, uint64_t *code)
{
    char bytes[5] = {(char)first};
    int n = 1, length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint64_t byte;
    size_t at;
    *code = first;
    while (n < length && take_byte(r, hexadecimal, &byte))
        bytes[n++] = (char)byte;
    if (first < 0x80)
        return 0;
    if (n < length || !cr_is_utf8(bytes, (size_t)n, &at))
        return fail_escape(r, hexadecimal ? 'x' : '0', "the bytes of a character in UTF-8");
    *code = cr_character_at(bytes, 0, &at);
    return 0;
}

/* Returns the control character that \n, \t and so on stand for, or 0. */
static char control_of(uint32_t letter, bool in_class)
{
    static const char letters[] = "ntrfaev", meanings[] = "\n\t\r\f\a\033\v";
    const char *at = letter < 0x80 ? memchr(letters, (int)letter, sizeof letters - 1) : NULL;
    return at ? meanings[at - letters] : letter == 'b' && in_class ? '\b' : '\0';
}

/* An escaped letter without a meaning matches itself.  \c, \C- and \M- (keys of a keyboard) are
 * errors. */
int cr_onig_escape(struct cr_onig_reader *r, bool in_class, uint32_t *out)
{
    if (r->at == r->n)
        return fail_escape(r, ' ', "a character after the backslash");
    uint32_t letter = cr_onig_character(r);
    uint64_t code = letter, first;
    char braced = r->at < r->n && r->text[r->at] == '{';
    int status = 0;
    if (letter == 'c' || letter == 'C' || letter == 'M')
        status = fail_escape(r, (char)letter, "another way to write the character");
    else if ((letter == 'x' || letter == 'o') && braced)
        status = take_braces(r, (char)letter, letter == 'x' ? 16 : 8, &code);
    else if (letter == 'x')
        status = take_digits(r, 16, 2, &first) ? take_bytes(r, true, first, &code)
                                               : fail_escape(r, 'x', "digits after it");
    else if (letter == 'u')
        status = take_digits(r, 16, 4, &code) == 4 ? 0 : fail_escape(r, 'u', "four digits after it");
    else if (letter >= '0' && letter <= '7') {
        r->at--;
        take_digits(r, 8, 3, &first);
        status = take_bytes(r, false, first & 0xff, &code);
    } else if (control_of(letter, in_class))
        code = (uint64_t)control_of(letter, in_class);
    if (status == 0 && (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
        status = fail_escape(r, (char)letter, "the number of a character");
    *out = (uint32_t)code;
    return status;
}

/* ---- named sets ---- */

#define SPACES                                                                                     \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
    "\\x{205f}\\x{3000}"
#define NO_SPACES                                                                                  \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-"         \
    "\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"        \
    "\\x{3001}-\\x{10ffff}"
#define WORDS                                                                                      \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"                    \
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define SEEN "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"

static const struct named {
    const char *name, *inside, *outside;
    bool has_cases;
} sets[] = {
    {"space", SPACES, NO_SPACES, false},
    {"word", WORDS, "", true},
    {"digit", "\\p{Nd}", "\\P{Nd}", false},
    {"xdigit", "0-9a-fA-F", "", false},
    {"alnum", "\\p{Alphabetic}\\p{Nd}", "", true},
    {"alpha", "\\p{Alphabetic}", "\\P{Alphabetic}", true},
    {"blank", "\\x{9}\\p{Zs}", "", false},
    {"cntrl", "\\p{Cc}", "\\P{Cc}", false},
    {"graph", SEEN, "", true},
    {"lower", "\\p{Lowercase}", "\\P{Lowercase}", true},
    {"print", SEEN "\\p{Zs}", "", true},
    {"punct", "\\p{P}\\p{S}", "", true},
    {"upper", "\\p{Uppercase}", "\\P{Uppercase}", true},
    {"ascii", "\\x{0}-\\x{7f}", "\\x{80}-\\x{10ffff}", true},
};
enum { N_SETS = sizeof sets / sizeof *sets };

static void fill(struct cr_onig_set *set, const struct named *named, bool negated)
{
    *set = (struct cr_onig_set){.negated = negated,
                                .is_word = strcmp(named->name, "word") == 0,
                                .has_cases = named->has_cases};
    snprintf(set->inside, sizeof set->inside, "%s", named->inside);
    snprintf(set->outside, sizeof set->outside, "%s", named->outside);
}

bool cr_onig_posix_set(struct cr_onig_set *set, const char *name, size_t length)
{
    for (int i = 0; i < N_SETS; i++)
        if (strlen(sets[i].name) == length && memcmp(sets[i].name, name, length) == 0)
            return fill(set, &sets[i], false), true;
    return false;
}

bool cr_onig_letter_set(struct cr_onig_set *set, char letter)
{
    static const char *const names[][2] = {
        {"sS", "space"}, {"wW", "word"}, {"dD", "digit"}, {"hH", "xdigit"}};
    for (int i = 0; i < 4; i++)
        if (letter == names[i][0][0] || letter == names[i][0][1]) {
            cr_onig_posix_set(set, names[i][1], strlen(names[i][1]));
            set->negated = letter == names[i][0][1];
            return true;
        }
    return false;
}

/* ---- properties ---- */

/* The general categories; PCRE2 has only the short names. */
static const struct category {
    const char *name, *of;
} categories[] = {
    {"l", "L"},
    {"letter", "L"},
    {"lu", "Lu"},
    {"uppercaseletter", "Lu"},
    {"ll", "Ll"},
    {"lowercaseletter", "Ll"},
    {"lt", "Lt"},
    {"titlecaseletter", "Lt"},
    {"lc", "L&"},
    {"casedletter", "L&"},
    {"lm", "Lm"},
    {"modifierletter", "Lm"},
    {"lo", "Lo"},
    {"otherletter", "Lo"},
    {"m", "M"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"mn", "Mn"},
    {"nonspacingmark", "Mn"},
    {"mc", "Mc"},
    {"spacingmark", "Mc"},
    {"me", "Me"},
    {"enclosingmark", "Me"},
    {"n", "N"},
    {"number", "N"},
    {"nd", "Nd"},
    {"decimalnumber", "Nd"},
    {"nl", "Nl"},
    {"letternumber", "Nl"},
    {"no", "No"},
    {"othernumber", "No"},
    {"p", "P"},
    {"punct", "P"},
    {"punctuation", "P"},
    {"pc", "Pc"},
    {"connectorpunctuation", "Pc"},
    {"pd", "Pd"},
    {"dashpunctuation", "Pd"},
    {"ps", "Ps"},
    {"openpunctuation", "Ps"},
    {"pe", "Pe"},
    {"closepunctuation", "Pe"},
    {"pi", "Pi"},
    {"initialpunctuation", "Pi"},
    {"pf", "Pf"},
    {"finalpunctuation", "Pf"},
    {"po", "Po"},
    {"otherpunctuation", "Po"},
    {"s", "S"},
    {"symbol", "S"},
    {"sm", "Sm"},
    {"mathsymbol", "Sm"},
    {"sc", "Sc"},
    {"currencysymbol", "Sc"},
    {"sk", "Sk"},
    {"modifiersymbol", "Sk"},
    {"so", "So"},
    {"othersymbol", "So"},
    {"z", "Z"},
    {"separator", "Z"},
    {"zs", "Zs"},
    {"spaceseparator", "Zs"},
    {"zl", "Zl"},
    {"lineseparator", "Zl"},
    {"zp", "Zp"},
    {"paragraphseparator", "Zp"},
    {"c", "C"},
    {"other", "C"},
    {"cc", "Cc"},
    {"control", "Cc"},
    {"cf", "Cf"},
    {"format", "Cf"},
    {"co", "Co"},
    {"privateuse", "Co"},
    {"cs", "Cs"},
    {"surrogate", "Cs"},
    {"cn", "Cn"},
    {"unassigned", "Cn"},
    {"any", "Any"},
};

/* Other properties, which have the same names in PCRE2.  A name that is in neither list is taken
 * for a script. */
static const char *const properties[] = {
    "alphabetic", "asciihexdigit", "cased", "caseignorable", "dash", "defaultignorablecodepoint",
    "diacritic", "emoji", "emojicomponent", "emojimodifier", "emojimodifierbase",
    "emojipresentation", "extendedpictographic", "extender", "graphemebase", "graphemeextend",
    "hexdigit", "idcontinue", "idstart", "ideographic", "joincontrol", "lowercase", "math",
    "noncharactercodepoint", "patternsyntax", "patternwhitespace", "quotationmark", "radical",
    "regionalindicator", "sentenceterminal", "softdotted", "terminalpunctuation",
    "unifiedideograph", "uppercase", "variationselector", "whitespace", "xidcontinue", "xidstart",
};

static const char *category_of(const char *name)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcmp(categories[i].name, name) == 0)
            return categories[i].of;
    return NULL;
}

static bool is_property(const char *name)
{
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(properties[i], name) == 0)
            return true;
    return false;
}

/* Reads NAME} and converts NAME to lower case without spaces, _ and -. */
static int take_name(struct cr_onig_reader *r, char name[40])
{
    size_t begin = r->at, n = 0;
    for (; r->at < r->n && r->text[r->at] != '}'; r->at++) {
        char c = r->text[r->at];
        bool capital = c >= 'A' && c <= 'Z';
        if (c == ' ' || c == '_' || c == '-')
            continue;
        if ((!capital && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) || n == 39)
            break;
        name[n++] = (char)(capital ? c - 'A' + 'a' : c);
    }
    name[n] = '\0';
    if (n > 0 && cr_onig_take(r, '}'))
        return 0;
    n = r->n - begin < 30 ? r->n - begin : 30;
    return cr_fail(r->error, "%s: found \\p{%s in a pattern, expected the name of a property", r->where,
                   cr_show(r->text + begin, n).text);
}

/* Names of POSIX sets are accepted as properties, too, but "punct" is the category. */
int cr_onig_property(struct cr_onig_reader *r, bool negated, struct cr_onig_set *set)
{
    char name[40], spelled[48];
    if (!cr_onig_take(r, '{'))
        return cr_fail(r->error, "%s: found \\p in a pattern, expected {NAME} after it", r->where);
    negated ^= cr_onig_take(r, '^');
    if (take_name(r, name))
        return -1;
    const char *category = category_of(name);
    const char *posix = strcmp(name, "posixpunct") == 0 ? "punct" : name;
    if (!category && cr_onig_posix_set(set, posix, strlen(posix))) {
        set->negated = negated;
        return 0;
    }
    snprintf(spelled, sizeof spelled, "%s%s",
             category || is_property(name) || r->bare_scripts ? "" : "sc:", category ? category : name);
    *set = (struct cr_onig_set){.negated = negated, .has_cases = true};
    snprintf(set->inside, sizeof set->inside, "\\p{%s}", spelled);
    snprintf(set->outside, sizeof set->outside, "\\P{%s}", spelled);
    return 0;
}
