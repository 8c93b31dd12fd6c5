/* identifiers.c - makes identifiers of emitted C from names of the user; see identifiers.h. */
#include "identifiers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradient.h"
#include "mem.h"

#define MODEL "model_" /* prefix of a model's name that is not a valid identifier */

enum { HASH = 9 /* bytes of '_' and eight digits */ };

/* True for letters of ASCII, independent of the locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* True if the part of a dotted name that begins at `part` is a number. */
static bool is_number(const char *part)
{
    size_t digits = strspn(part, "0123456789");
    return digits > 0 && (part[digits] == '.' || part[digits] == 0);
}

/* Returns the name of the tensor whose gradient has this name; null if the name does not begin
 * with CR_GRADIENT. */
static const char *gradient_of(const char *name)
{
    size_t length = sizeof CR_GRADIENT - 1;
    return strncmp(name, CR_GRADIENT, length) == 0 ? name + length : NULL;
}

void cr_identifier(char *buffer, size_t size, const char *name)
{
    size_t n = 0;
    bool number = false;
    if (gradient_of(name) && size > 2) {
        memcpy(buffer, "d_", 2);
        cr_identifier(buffer + 2, size - 2, gradient_of(name));
        return;
    }
    for (const char *p = name; *p && n + 1 < size; p++) {
        if (p == name || p[-1] == '.')
            number = is_number(p);
        if (!number && (is_word(*p) || n > 0))
            buffer[n++] = is_word(*p) ? *p : '_';
    }
    while (n && buffer[n - 1] == '_')
        n--;
    buffer[n] = 0;
}

void cr_plain_scope(char *buffer, size_t size, const char *scope)
{
    size_t n = 0;
    if (gradient_of(scope)) {
        n = (size_t)snprintf(buffer, size, "gradient of ");
        scope = gradient_of(scope);
    }
    for (const char *p = scope; *p && n + 1 < size; p++) {
        bool start = p == scope || p[-1] == '.';
        if (start && is_number(p)) {
            buffer[n++] = '#';
            p += strspn(p, "0123456789") - 1;
        } else {
            buffer[n++] = is_word(*p) || *p == '.' || *p == ' ' ? *p : '_';
        }
    }
    buffer[n] = 0;
}

void cr_plain_text(char *buffer, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++)
        buffer[n++] = is_word(*text) || strchr("./-", *text) ? *text : '_';
    buffer[n] = 0;
}

/* ---- reserved words ---- */

/* Words in small letters that a compiler may take for something else than a name: keywords of C
 * up to C23, of C++, of GNU C and of older compilers, macros that compilers predefine without an
 * underscore, and macros of the C library.  In alphabetical order. */
static const char *const taken[] = {"alignas",       "alignof",      "alloca",
                                    "and",           "and_eq",       "arm",
                                    "asm",           "assert",       "auto",
                                    "bitand",        "bitor",        "bool",
                                    "break",         "bsd",          "case",
                                    "catch",         "cdecl",        "char",
                                    "char16_t",      "char32_t",     "char8_t",
                                    "class",         "co_await",     "co_return",
                                    "co_yield",      "compl",        "complex",
                                    "concept",       "const",        "const_cast",
                                    "consteval",     "constexpr",    "constinit",
                                    "continue",      "decltype",     "default",
                                    "defined",       "delete",       "do",
                                    "double",        "dynamic_cast", "else",
                                    "enum",          "errno",        "explicit",
                                    "export",        "extern",       "false",
                                    "far",           "float",        "for",
                                    "fortran",       "friend",       "goto",
                                    "huge",          "i386",         "if",
                                    "imaginary",     "inline",       "int",
                                    "interface",     "linux",        "long",
                                    "m68k",          "main",         "mips",
                                    "mutable",       "namespace",    "near",
                                    "new",           "noexcept",     "noreturn",
                                    "not",           "not_eq",       "nullptr",
                                    "offsetof",      "operator",     "or",
                                    "or_eq",         "out",          "pascal",
                                    "pixel",         "private",      "protected",
                                    "public",        "register",     "reinterpret_cast",
                                    "requires",      "restrict",     "return",
                                    "riscv",         "rt",           "setjmp",
                                    "sgi",           "short",        "signed",
                                    "sizeof",        "sparc",        "static",
                                    "static_assert", "static_cast",  "stderr",
                                    "stdin",         "stdout",       "struct",
                                    "sun",           "switch",       "template",
                                    "this",          "thread_local", "throw",
                                    "true",          "try",          "typedef",
                                    "typeid",        "typename",     "typeof",
                                    "typeof_unqual", "union",        "unix",
                                    "unsigned",      "using",        "va_arg",
                                    "va_copy",       "va_end",       "va_start",
                                    "vax",           "vector",       "virtual",
                                    "void",          "volatile",
                                    "wchar_t",       "while",        "xor",
                                    "xor_eq"};

static int by_text(const void *word, const void *item)
{
    return strcmp(word, *(const char *const *)item);
}

static bool is_taken(const char *name)
{
    return bsearch(name, taken, sizeof taken / sizeof *taken, sizeof *taken, by_text) != NULL;
}

/* True if a name is a letter and a number, alone or followed by '_'. */
static bool is_numbered(const char *name, char letter)
{
    size_t digits = *name == letter ? strspn(name + 1, "0123456789") : 0;
    return digits > 0 && (!name[digits + 1] || name[digits + 1] == '_');
}

bool cr_is_reserved(const char *name)
{
    bool macro = strlen(name) > 2 && !strpbrk(name, "abcdefghijklmnopqrstuvwxyz");
    return !is_letter(*name) || macro || is_numbered(name, 'v') || is_taken(name) ||
           strncmp(name, "stream", 6) == 0;
}

/* ---- names that callers see ---- */

/* FNV-1a: gives the eight digits that distinguish otherwise equal names. */
static uint32_t hash(const char *name, uint32_t seed)
{
    uint32_t sum = 2166136261u ^ seed;
    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * 16777619u;
    return sum;
}

/* Copies the letters and digits of a name; any characters between them become one '_'. */
static void plain_name(char *buffer, const char *name)
{
    size_t n = 0;
    for (; *name; name++) {
        if (is_word(*name) && *name != '_')
            buffer[n++] = *name;
        else if (n > 0 && buffer[n - 1] != '_')
            buffer[n++] = '_';
    }
    while (n > 0 && buffer[n - 1] == '_')
        n--;
    buffer[n] = 0;
    if (!n)
        memcpy(buffer, "unnamed", sizeof "unnamed");
}

/* Appends the hash of a name to its plain name, which is first cut so that both have at most
 * `most` bytes. */
static void put_hash(char *plain, size_t most, const char *name, uint32_t seed)
{
    size_t n = strlen(plain), room = most - HASH;
    if (n > room)
        n = room;
    while (n > 0 && plain[n - 1] == '_')
        n--;
    snprintf(plain + n, HASH + 1, "_%08x", (unsigned)hash(name, seed));
}

/* Returns the identifier that plain_name makes of a name, or if it has more than `most` bytes its
 * beginning and a hash.  The caller frees it; its memory has room for put_hash. */
static char *short_name(const char *name, size_t most)
{
    char *plain = cr_calloc(strlen(name) + sizeof "unnamed" + HASH, 1);
    plain_name(plain, name);
    if (strlen(plain) > most)
        put_hash(plain, most, name, 0);
    return plain;
}

static bool is_of_identifier(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

bool cr_has_identifier(const char *text, const char *identifier)
{
    size_t length = strlen(identifier);
    for (const char *at = text; (at = strstr(at, identifier)); at += length)
        if ((at == text || !is_of_identifier(at[-1])) && !is_of_identifier(at[length]))
            return true;
    return false;
}

char cr_upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* True if a name's first word is `word`, in capitals or small letters; `word` is in capitals. */
static bool begins_with(const char *name, const char *word)
{
    for (; *word && cr_upper(*name) == *word; word++)
        name++;
    return !*word && (!*name || *name == '_');
}

/* True if a model of this name would have functions, types or macros named like the runtime's
 * (cr_run), a kernel's (k1_run), ports' (in_execute) or POSIX's (struct sched_param). */
static bool is_reserved_model(const char *name)
{
    return !is_letter(*name) || begins_with(name, "CR") || is_numbered(name, 'k') ||
           begins_with(name, "IN") || begins_with(name, "OUT") || begins_with(name, "STATE") ||
           begins_with(name, "SCHED");
}

char *cr_model_name(const char *name)
{
    char *plain = short_name(name, CR_MODEL_NAME);
    if (!is_reserved_model(plain))
        return plain;
    size_t size = sizeof MODEL + strlen(plain);
    char *safe = cr_calloc(size, 1);
    snprintf(safe, size, MODEL "%s", plain);
    free(plain);
    return safe;
}

/* A set of names that ignores case: open addressing, a power of two of slots. */
struct names {
    const char **places;
    size_t n;
};

static bool same_in_capitals(const char *a, const char *b)
{
    for (; *a && cr_upper(*a) == cr_upper(*b); a++, b++)
        ;
    return !*a && !*b;
}

/* Adds a name; returns false if it was added before. */
static bool add_name(struct names *names, const char *name)
{
    uint32_t at = 0;
    for (const char *c = name; *c; c++)
        at = at * 31 + (unsigned char)cr_upper(*c);
    for (at *= 2654435769u, at ^= at >> 16;; at++) {
        const char **place = &names->places[at & (names->n - 1)];
        if (!*place) {
            *place = name;
            return true;
        }
        if (same_in_capitals(*place, name))
            return false;
    }
}

/* Gives a name its identifier if `plain` says whether the name is a valid identifier.  The caller
 * handles valid ones first, so that each of them is its own identifier. */
static void identify(struct names *names, const char *name, size_t most, bool plain,
                     const char **identifier)
{
    char *safe = short_name(name, most);
    if ((strcmp(safe, name) == 0) != plain) {
        free(safe);
        return;
    }
    for (uint32_t seed = 0; !add_name(names, safe); seed++) {
        plain_name(safe, name);
        put_hash(safe, most, name, seed);
    }
    *identifier = safe;
}

void cr_identify_ports(struct cr_port *ports, int n, const char *model)
{
    size_t most = CR_C_NAME - strlen(model) - (sizeof "_OUT__ELEMENTS" - 1);
    struct names names = {.n = 16};
    while (names.n < 2 * (size_t)n)
        names.n *= 2;
    names.places = cr_calloc(names.n, sizeof *names.places);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++)
            identify(&names, ports[i].name, most, pass == 0, &ports[i].identifier);
    free(names.places);
}
