#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4, MAX_LINE = 4096 };

/* Returns the number of continuation bytes that follow the first byte of a UTF-8 character, and
 * sets *bits to the bits of the character in that byte; returns -1 if `first` cannot begin a
 * character. */
static int bytes_behind(unsigned char first, uint32_t *bits)
{
    if (first >= 0xC2 && first < 0xE0)
        return *bits = first & 0x1F, 1;
    if (first >= 0xE0 && first < 0xF0)
        return *bits = first & 0x0F, 2;
    if (first >= 0xF0 && first < 0xF5)
        return *bits = first & 0x07, 3;
    return *bits = first, first < 0x80 ? 0 : -1;
}

/* Decodes the character at the start of n bytes of text into *character and returns its size in
 * bytes; 0 if the bytes are not valid UTF-8. */
static size_t read_character(const char *text, size_t n, uint32_t *character)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    int behind = bytes_behind((unsigned char)*text, character);
    if (behind < 0 || (size_t)behind >= n)
        return 0;
    for (int i = 1; i <= behind; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return 0;
        *character = *character << 6 | ((unsigned char)text[i] & 0x3F);
    }
    bool surrogate = *character >= 0xD800 && *character < 0xE000;
    return *character < least[behind] || surrogate || *character > 0x10FFFF ? 0
                                                                            : (size_t)behind + 1;
}

static bool is_control(uint32_t character)
{
    return character < ' ' || (character >= 0x7F && character < 0xA0);
}

size_t cr_printable_size(const char *text, size_t n)
{
    uint32_t character;
    size_t length = read_character(text, n, &character);
    return is_control(character) ? 0 : length;
}

/* Writes the escape sequence of one byte, such as "\n" or "\x1b", and a final NUL. */
static void escape_byte(char *to, unsigned char byte)
{
    static const char marked[] = "\n\t\r", letters[] = "ntr";
    const char *mark = byte ? strchr(marked, byte) : NULL;
    if (mark)
        snprintf(to, 3, "\\%c", letters[mark - marked]);
    else
        snprintf(to, 5, "\\x%02x", byte);
}

/* Writes the first character of `text` into `to`, escaped unless it is printable or in `keep`;
 * returns its size in `text`. */
static size_t escape_character(char *to, const char *text, size_t n, const char *keep)
{
    size_t length = *text && strchr(keep, *text) ? 1 : cr_printable_size(text, n);
    if (length == 0) {
        escape_byte(to, (unsigned char)*text);
        return 1;
    }
    memcpy(to, text, length);
    to[length] = '\0';
    return length;
}

size_t cr_escape(char *to, size_t room, const char *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        char one[LONGEST + 1];
        i += escape_character(one, text + i, n - i, "");
        size_t length = strlen(one);
        if (at + length >= room)
            break;
        memcpy(to + at, one, length);
        at += length;
    }
    to[at] = '\0';
    return at;
}

/* Escapes in large pieces: standard error is unbuffered, so each write is a system call. */
void cr_escape_to(FILE *out, const char *text, size_t n, const char *keep)
{
    char piece[512];
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        i += escape_character(piece + at, text + i, n - i, keep);
        at += strlen(piece + at);
        if (at + LONGEST >= sizeof piece || i >= n) {
            fwrite(piece, 1, at, out);
            at = 0;
        }
    }
}

/* Returns the length of a text without the bytes of an incomplete UTF-8 character at its end. */
static size_t whole_characters(const char *text, size_t n)
{
    uint32_t bits;
    size_t back = 1;
    while (back < LONGEST && back < n && ((unsigned char)text[n - back] & 0xC0) == 0x80)
        back++;
    bool cut = n > 0 && bytes_behind((unsigned char)text[n - back], &bits) >= (int)back;
    return cut ? n - back : n;
}

/* Formats a text, cut to at most room - 1 bytes; returns its length. */
__attribute__((format(printf, 3, 0))) static size_t format_text(char *text, size_t room,
                                                                const char *format, va_list args)
{
    int n = vsnprintf(text, room, format, args);
    if (n < 0)
        return 0;
    return (size_t)n < room ? (size_t)n : whole_characters(text, room - 1);
}

size_t cr_escape_format(char *to, size_t room, const char *format, va_list args)
{
    char text[MAX_LINE];
    size_t n = format_text(text, room < sizeof text ? room : sizeof text, format, args);
    return cr_escape(to, room, text, n);
}

void cr_print(FILE *out, const char *format, ...)
{
    char text[2 * MAX_LINE];
    va_list args;
    va_start(args, format);
    size_t n = format_text(text, sizeof text, format, args);
    va_end(args);
    cr_escape_to(out, text, n, "\n");
}
