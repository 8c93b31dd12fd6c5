#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { WIDTH = 100 };

/* Reserves memory for `more` more bytes and a NUL. */
static void reserve(struct cr_text *text, size_t more)
{
    if (text->length + more + 1 <= text->size)
        return;
    size_t size = 2 * (text->length + more) + 1024;
    char *data = cr_calloc(size, 1);
    if (text->length)
        memcpy(data, text->data, text->length);
    free(text->data);
    text->data = data;
    text->size = size;
}

void cr_put_bytes(struct cr_text *text, const char *data, size_t length)
{
    reserve(text, length);
    if (length)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}

char *cr_take_text(struct cr_text *text)
{
    char *data = text->data ? cr_trim(text->data, (int)text->length + 1, 1) : NULL;
    *text = (struct cr_text){0};
    return data;
}

/* Appends a formatted text; formats a second time if the first did not fit in the reserved
 * memory. */
static void put(struct cr_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    reserve(text, 256);
    size_t room = text->size - text->length;
    int n = vsnprintf(text->data + text->length, room, format, args);
    if ((size_t)n >= room) {
        reserve(text, (size_t)n);
        vsnprintf(text->data + text->length, (size_t)n + 1, format, again);
    }
    text->length += (size_t)n;
    va_end(again);
}

void cr_put(struct cr_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(text, format, args);
    va_end(args);
}

/* Returns the index of the last space in `room` that follows one of the characters `behind`; if
 * none fits, of the first such space; 0 if there is none. */
static size_t last_space(const char *line, size_t room, const char *behind)
{
    size_t at = 0;
    for (size_t i = 0; line[i] && (i <= room || !at); i++)
        if (line[i] == ' ' && i > 0 && strchr(behind, line[i - 1]))
            at = i;
    return at;
}

/* Returns the number of characters before a line break: after a comma or an operator; if none
 * fits, after an equals sign; else after a plus sign. */
static size_t break_at(const char *line, size_t room)
{
    static const char *const behind[] = {",?:&|;", "=", "+"};
    if (strlen(line) <= room)
        return strlen(line);
    size_t shortest = strlen(line);
    for (int i = 0; i < 3; i++) {
        size_t at = last_space(line, room, behind[i]);
        if (at && at <= room)
            return at;
        if (at && at < shortest && i < 2)
            shortest = at;
    }
    return shortest;
}

void cr_put_line(struct cr_text *text, int indent, const char *format, ...)
{
    struct cr_text line = {0};
    va_list args;
    va_start(args, format);
    put(&line, format, args);
    va_end(args);
    const char *rest = line.data;
    for (int more = 0; *rest; more = 4) {
        size_t n = break_at(rest, (size_t)(WIDTH - indent - more));
        cr_put(text, "%*s%.*s\n", indent + more, "", (int)n, rest);
        rest += n;
        rest += *rest == ' ';
    }
    free(line.data);
}
