#include "json_value.h"

#include <string.h>

void cr_json_skip(struct cr_json *json)
{
    const char *at = json->at, *end = json->end;
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at += end - at >= 4 && memcmp(at, "    ", 4) == 0 ? 4 : 1;
    json->at = at;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

size_t cr_json_number_size(const char *at, const char *end)
{
    const char *begin = at, *digits;
    at += at < end && *at == '-';
    digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return 0;
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        if (at == digits)
            return 0;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        digits = at + 1;
        digits += digits < end && (*digits == '-' || *digits == '+');
        at = skip_digits(digits, end);
        if (at == digits)
            return 0;
    }
    return (size_t)(at - begin);
}

char cr_json_word(struct cr_json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(json->end - json->at) < size || memcmp(json->at, words[i], size) != 0)
            continue;
        json->at += size;
        return *words[i];
    }
    return 0;
}

int cr_json_line(const struct cr_json *json)
{
    int line = 1;
    for (const char *c = json->begin; c < json->at; c++)
        line += *c == '\n';
    return line;
}
