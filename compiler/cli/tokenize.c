/* tokenize.c - crescent tokenize: converts a text to ids, or ids to a text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "read_bytes.h"
#include "texts.h"
#include "verbs.h"

/* ---- ids to text ---- */

struct ids {
    int32_t *items;
    int n, cap;
};

/* Parses ids separated by commas or white space; each must be the id of a token. */
static int read_ids(struct ids *ids, const char *text, const crescent_tokenizer *tokenizer,
                    struct cr_error *error)
{
    static const char between[] = ", \t\r\n";
    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        size_t word = strcspn(at, between);
        if (end != at + word || errno || id < 0 || id > INT32_MAX)
            return cr_fail(error, "--decode: found '%.*s', expected ids with commas between",
                           word > 60 ? 60 : (int)word, at);
        if (!crescent_token_text(tokenizer, (int)id))
            return cr_fail(error,
                           "--decode: found the id %ld, which no token has, expected ids below %d",
                           id, crescent_tokenizer_size(tokenizer));
        *CR_PUSH(ids->items, ids->n, ids->cap) = (int32_t)id;
        at = end;
    }
    return 0;
}

/* Prints the text of ids, without a newline at the end; the text may contain zero bytes. */
static int decode_ids(const struct cr_options *o, crescent_tokenizer *tokenizer, const char *text,
                      struct cr_error *error)
{
    struct ids ids = {0};
    char *out = NULL;
    size_t length;
    int status = read_ids(&ids, text, tokenizer, error);
    if (status == 0)
        status =
            cr_passed(o,
                      crescent_decode(tokenizer, ids.items, (size_t)ids.n,
                                      o->special ? CRESCENT_SPECIALS_ALL : CRESCENT_SPECIALS_WITHIN,
                                      &out, &length),
                      error);
    if (status == 0)
        fwrite(out, 1, length, stdout);
    crescent_free(out);
    free(ids.items);
    return status;
}

/* Prints the text of the ids of --decode or, without that, of standard input. */
static int decode(const struct cr_options *o, crescent_tokenizer *tokenizer, struct cr_error *error)
{
    struct cr_bytes b = {0};
    int status = 0;
    if (o->text || o->file)
        return cr_fail(error, "--decode: found a text, too, expected one of them");
    if (strcmp(o->decode, "-") == 0)
        status = cr_read_bytes("-", CR_MOST_TEXT, &b, error);
    else
        b = (struct cr_bytes){cr_strdup(o->decode), strlen(o->decode), 0};
    if (status == 0)
        status = decode_ids(o, tokenizer, b.data, error);
    free(b.data);
    return status;
}

/* ---- text to ids ---- */

static void print_numbers(const int32_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%s%d", i ? " " : "", (int)numbers[i]);
    putchar('\n');
}

/* Prints the ids of a text, or of a pair of texts, on one line. */
static int encode(const struct cr_options *o, crescent_tokenizer *tokenizer, struct cr_error *error)
{
    struct cr_bytes bytes = {0};
    crescent_encoding encoding = {0};
    if (cr_read_text(o, &bytes, error)) {
        free(bytes.data);
        return -1;
    }
    const crescent_text text = {.text = bytes.data,
                                .length = bytes.n,
                                .pair = o->pair,
                                .pair_length = o->pair ? strlen(o->pair) : 0,
                                .framing = o->plain ? CRESCENT_PLAIN : CRESCENT_FRAMED,
                                .most = o->max_length,
                                .pads = !o->plain};
    int status = crescent_encode_text(tokenizer, &text, &encoding);
    if (status)
        cr_fail(error, "%.300s: %s", cr_text_name(o), crescent_error(o->context));
    else
        print_numbers(encoding.ids, encoding.n);
    if (status == 0 && o->segments)
        print_numbers(encoding.types, encoding.n);
    crescent_free(encoding.ids);
    free(bytes.data);
    return status ? -1 : 0;
}

/* ---- the verb ---- */

/* Opens the tokenizer of a folder or a file, whichever the path is, and converts. */
int cr_verb_tokenize(const struct cr_options *o, struct cr_error *error)
{
    crescent_tokenizer *tokenizer = NULL;
    const char *kind = cr_without_tokenizer(o->model);
    if (!o->tokenizer && kind) {
        cr_fail(error, "%.300s: found %s, which has no tokenizer, expected --tokenizer FILE",
                o->model, kind);
        return 2;
    }
    const char *path = o->tokenizer ? o->tokenizer : o->model;
    crescent_cache_weights(o->context, o->cache_weights);
    int status = cr_passed(o, crescent_tokenizer_open(o->context, path, &tokenizer), error);
    if (status == 0)
        status = (o->decode ? decode : encode)(o, tokenizer, error);
    crescent_tokenizer_close(tokenizer);
    return status ? 2 : 0;
}
