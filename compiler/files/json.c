#include "json.h"

#include <string.h>

#include "utf8.h"
#include "utf8_put.h"

static void cr_json_space(struct cr_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\n' || *json->at == '\t' || *json->at == '\r'))
        json->at++;
}

/* Sets the error text unless there is one already; returns 0. */
static int cr_json_wrong(struct cr_json *json, const char *wrong)
{
    if (!json->wrong)
        json->wrong = wrong;
    return 0;
}

CR_API int cr_json_take(struct cr_json *json, char c)
{
    cr_json_space(json);
    if (json->wrong || json->at == json->end || *json->at != c)
        return 0;
    json->at++;
    return 1;
}

CR_API int cr_json_next(struct cr_json *json, int i, char end)
{
    if (cr_json_take(json, end))
        return 0;
    if (i > 0 && !cr_json_take(json, ','))
        cr_json_wrong(json, end == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return json->wrong ? -1 : 1;
}

CR_API int cr_json_ended(struct cr_json *json)
{
    cr_json_space(json);
    return json->at == json->end;
}

/* ---- strings ---- */

/* Returns the value of the four hexadecimal digits after \u, or -1. */
static int32_t cr_json_hex(const char *at, const char *end)
{
    int32_t code = 0;
    int i;
    if (end - at < 4)
        return -1;
    for (i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Decodes \uXXXX, or two of them that are a surrogate pair, to UTF-8; returns the bytes written,
 * or 0. */
static size_t cr_json_unicode(struct cr_json *json, char *out)
{
    int32_t code = cr_json_hex(json->at + 2, json->end), low = -1;
    if (code >= 0xd800 && code < 0xdc00 && json->end - json->at >= 12 && json->at[6] == '\\' &&
        json->at[7] == 'u')
        low = cr_json_hex(json->at + 8, json->end);
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
            return (size_t)cr_json_wrong(json, "half of a surrogate pair");
        code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
        json->at += 6;
    }
    if (code < 0 || (code == 0 && !json->zeros))
        return (size_t)cr_json_wrong(json, code < 0 ? "expected four hexadecimal digits"
                                                    : "\\u0000 in a string");
    json->at += 6;
    return cr_utf8_put(out, (uint32_t)code);
}

/* Decodes an escape sequence; returns the number of bytes written, or 0. */
static size_t cr_json_escape(struct cr_json *json, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = json->end - json->at > 1 ? json->at[1] : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == 'u')
        return cr_json_unicode(json, out);
    if (!letter)
        return (size_t)cr_json_wrong(json, "an unknown escape");
    *out = meant[letter - letters];
    json->at += 2;
    return 1;
}

CR_API size_t cr_json_string(struct cr_json *json, char *out)
{
    size_t n = 0, bytes;
    if (!cr_json_take(json, '"'))
        return 0;
    for (; json->at < json->end && *json->at != '"'; n += bytes) {
        if (*json->at == '\\') {
            bytes = cr_json_escape(json, out + n);
            if (bytes == 0)
                return 0;
            continue;
        }
        bytes = cr_utf8(json->at, json->end);
        if (bytes == 0 || (unsigned char)*json->at < 0x20)
            return (size_t)cr_json_wrong(json, bytes ? "a control character in a string"
                                                     : "bytes that are not UTF-8");
        memcpy(out + n, json->at, bytes);
        json->at += bytes;
    }
    if (json->at == json->end)
        return (size_t)cr_json_wrong(json, "a string without end");
    json->at++;
    out[n] = '\0';
    return n + 1;
}

/* ---- numbers ---- */

/* True if a fraction or an exponent comes next, so that the number is not an integer. */
static int cr_json_goes_on(const struct cr_json *json)
{
    return json->at < json->end && (*json->at == '.' || *json->at == 'e' || *json->at == 'E');
}

CR_API int cr_json_integer(struct cr_json *json, int64_t *value)
{
    const char *begin, *digits;
    uint64_t sum = 0;
    int minus;
    cr_json_space(json);
    begin = json->at;
    minus = cr_json_take(json, '-');
    for (digits = json->at; json->at < json->end && *json->at >= '0' && *json->at <= '9';) {
        unsigned digit = (unsigned)(*json->at++ - '0');
        if (sum > ((uint64_t)INT64_MAX - digit) / 10)
            return cr_json_wrong(json, "an integer past 2^63");
        sum = sum * 10 + digit;
    }
    if (json->at > digits + 1 && *digits == '0')
        return cr_json_wrong(json, "a number that begins with 0");
    if (json->at == digits || cr_json_goes_on(json) || (minus && sum == 0)) {
        json->at = begin;
        return 0;
    }
    *value = minus ? -(int64_t)sum : (int64_t)sum;
    return 1;
}
