#include "json_value.h"

#include <string.h>

enum { CR_JSON_DEPTH = 256 /* brackets within brackets */ };

static int fail(struct cr_json *json, const char *wrong)
{
    if (!json->wrong)
        json->wrong = wrong;
    return 0;
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

/* Takes a value that is neither an object nor an array. */
static int skip_plain(struct cr_json *json, char *room)
{
    if (json->at < json->end && *json->at == '"')
        return cr_json_string(json, room) != 0;
    if (cr_json_word(json))
        return 1;
    size_t size = cr_json_number_size(json->at, json->end);
    json->at += size;
    return size ? 1 : fail(json, "found no value");
}

/* Takes "key": */
static int skip_key(struct cr_json *json, char *room)
{
    if (!cr_json_string(json, room))
        return fail(json, "expected a key");
    return cr_json_take(json, ':') ? 1 : fail(json, "expected ':'");
}

/* Takes any value.  The brackets that are open are kept on a stack, each with the items it has had. */
static int skip_value(struct cr_json *json, char *room)
{
    struct {
        char end;
        int items;
    } open[CR_JSON_DEPTH];
    int depth = 0;
    do {
        int object = cr_json_take(json, '{');
        if (object || cr_json_take(json, '[')) {
            if (depth == CR_JSON_DEPTH)
                return fail(json, "a text that is nested too deep");
            open[depth].end = object ? '}' : ']';
            open[depth++].items = 0;
        } else if (!skip_plain(json, room)) {
            return 0;
        }
        int more = 0;
        while (depth && !more) {
            more = cr_json_next(json, open[depth - 1].items++, open[depth - 1].end);
            depth -= !more;
        }
        if (more < 0 || (more && open[depth - 1].end == '}' && !skip_key(json, room)))
            return 0;
    } while (depth);
    return 1;
}

int cr_json_member(struct cr_json *json, const char *key, char *room)
{
    int more;
    if (!cr_json_take(json, '{'))
        return fail(json, "expected '{'");
    for (int i = 0; (more = cr_json_next(json, i, '}')) > 0; i++) {
        if (!skip_key(json, room))
            return 0;
        if (strcmp(room, key) == 0)
            return 1;
        if (!skip_value(json, room))
            return 0;
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
