/* names.c - what kernels, and the fields of their arguments, are called; see names.h. */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/gradient.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the part of a dotted name that begins here is a number. */
static bool is_number(const char *part)
{
    size_t digits = strspn(part, "0123456789");
    return digits > 0 && (part[digits] == '.' || part[digits] == 0);
}

/* What a gradient is the gradient of, or null. */
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

void cr_plain_path(char *buffer, size_t size, const char *path)
{
    size_t n = 0;
    for (; *path && n + 1 < size; path++)
        buffer[n++] = is_word(*path) || strchr("./-", *path) ? *path : '_';
    buffer[n] = 0;
    for (char *end = buffer; (end = strstr(end, "*/")) != NULL;)
        *end = '_';
}

bool cr_is_reserved(const char *name)
{
    static const char *const words[] = {
        "auto",   "break",    "case",   "char",     "const",    "continue", "default", "do",
        "double", "else",     "enum",   "extern",   "float",    "for",      "goto",    "if",
        "inline", "int",      "long",   "out",      "register", "restrict", "return",  "rt",
        "short",  "signed",   "sizeof", "static",   "struct",   "switch",   "typedef", "typeof",
        "union",  "unsigned", "void",   "volatile", "w",        "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return name[0] < 'A' || !*name || strncmp(name, "stream", 6) == 0;
}
