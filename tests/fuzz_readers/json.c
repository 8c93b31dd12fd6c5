/* json.c - fuzz target: any bytes as JSON text, whose values are read in the order that the bytes
 * choose. */
#include "compiler/files/json.h"
#include "compiler/files/utf8.h"

#include "target.h"

/* Asserts that a decoded string is valid UTF-8 without NUL. */
static void promise_string(const char *string, size_t n)
{
    const char *end = string + n - 1, *at = string;
    PROMISE(n > 0 && *end == '\0');
    while (at < end) {
        size_t bytes = cr_utf8(at, end);
        PROMISE(bytes > 0 && *at);
        at += bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct cr_json json = {text, text, text + size, NULL, 0};
    char *out = malloc(size + 1);
    int64_t value = 0;
    PROMISE(out);
    while (!json.wrong && !cr_json_ended(&json)) {
        const char *before = json.at;
        size_t left = (size_t)(json.end - before), n = cr_json_string(&json, out);
        if (n > 0) {
            promise_string(out, n);
            PROMISE(n <= left);
        } else if (!cr_json_integer(&json, &value) && !json.wrong) {
            PROMISE(cr_json_take(&json, *json.at));
        }
        PROMISE(json.at <= json.end && (json.at > before || json.wrong));
    }
    free(out);
    return 0;
}
