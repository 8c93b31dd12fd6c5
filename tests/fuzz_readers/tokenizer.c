/* tokenizer.c - fuzz target: any bytes as a tokenizer.json, or as a tokenizer.model if they do not
 * begin with {, are refused with a line, or give a tokenizer whose ids are in its vocabulary and
 * decode to a text. */
#include "compiler/emit/standalone_tokenizer.h"
#include "compiler/ir/unwind.h"

#include "target.h"

static const char *const texts[] = {"", " a  the end\r\n", "don't 1234 \xc3\xa9\xe6\xbc\xa2 <s>", "\xff"};

/* Encodes a text, and decodes the ids. */
static void run_text(struct cr_tokenizer *t, const char *text)
{
    struct cr_ids ids = {0};
    struct cr_text out = {0};
    struct cr_error error = {""};
    size_t length;
    if (cr_encode(t, text, strlen(text), true, &ids, &error) == 0) {
        for (int i = 0; i < ids.n; i++)
            PROMISE(cr_token_text(t, ids.items[i], &length));
        if (cr_decode(t, ids.items, (size_t)ids.n, CR_SPECIALS_ALL, &out, &error) != 0)
            promise_message(error.text);
    } else {
        promise_message(error.text);
    }
    free(ids.items);
    free(out.data);
}

/* Emits the tokenizer's tables as C, or asserts an error of one line. */
static void run_emit(const struct cr_tokenizer *t, enum cr_tokenizer_use use)
{
    struct cr_text out = {0};
    struct cr_error error = {""};
    cr_emit_tokenizer_header(&out, t, "fuzzed", use);
    if (cr_emit_tokenizer(&out, t, "fuzzed", use, "fuzzed.json", &error) != 0)
        promise_message(error.text);
    free(out.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char json[] = "/tmp/crescent-tokenizer-XXXXXX", model[] = "/tmp/crescent-tokenizer-XXXXXX.model";
    bool is_json = size == 0 || data[0] == '{';
    char *path = is_json ? json : model;
    struct cr_error error = {""};
    int fd = is_json ? mkstemp(json) : mkstemps(model, (int)strlen(".model"));
    PROMISE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    struct cr_tokenizer *t = cr_tokenizer_open(path, &error);
    unlink(path);
    if (!t) {
        promise_message(error.text);
        return 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        run_text(t, texts[i]);
    run_emit(t, CR_FOR_PROMPTS);
    run_emit(t, CR_FOR_TEXTS);
    cr_tokenizer_free(t);
    return 0;
}
