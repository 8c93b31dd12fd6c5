#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* Makes room for that many more bytes and a NUL. */
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
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}

void cr_put(struct cr_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
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
    va_end(args);
}
