/* pattern.c - fuzz target: any bytes as a regular expression of a tokenizer.json are refused with a
 * line, or give a pattern that splits texts into adjacent pieces. */
#include "compiler/tokenizer/pieces.h"
#include "compiler/tokenizer/unicode.h"

#include "target.h"

static const char *const texts[] = {"a", " ab\r\n\xc3\xa9 1234", "A\xcc\x81\xf0\x9f\x91\x8d'S ss\n"};

/* Splits a text: pieces must be adjacent; a pattern may fail because it takes too many steps. */
static void cut(const struct cr_pattern *pattern, const char *text)
{
    struct cr_pieces pieces = {0};
    struct cr_error error = {""};
    if (cr_cut(&pieces, pattern, CR_ISOLATED, false, text, strlen(text), true, &error) == 0)
        PROMISE(pieces.text.length == strlen(text) &&
                memcmp(pieces.text.data, text, pieces.text.length) == 0);
    else
        PROMISE(*error.text && !strchr(error.text, '\n'));
    cr_free_pieces(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_error error = {""};
    size_t at;
    if (size > 2000 || !cr_is_utf8((const char *)data, size, &at))
        return 0;
    struct cr_pattern *pattern = cr_pattern_regex((const char *)data, size, "x.json", &error);
    if (!pattern) {
        promise_message(error.text);
        return 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cut(pattern, texts[i]);
    cr_pattern_free(pattern);
    return 0;
}
