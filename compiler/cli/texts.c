/* texts.c - opens models that continue texts, and reads and encodes texts; see texts.h. */
#include "texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "model.h"
#include "read_bytes.h"

const char *cr_without_tokenizer(const char *path)
{
    const char *end = strrchr(path, '.');
    if (!end || end == path)
        return NULL;
    return strcmp(end, ".lua") == 0    ? "a script"
           : strcmp(end, ".onnx") == 0 ? "an ONNX file"
                                       : NULL;
}

int cr_generator_load(const struct cr_options *o, const crescent_generation *how,
                      crescent_generator **generator, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    const crescent_script script = cr_script_of(o);
    int status = crescent_generator_open(o->context, o->model, &script, &config, how, generator);
    return cr_passed(o, status, error);
}

int cr_parse_ids(int32_t **ids, int64_t *n, const char *text, struct cr_error *error)
{
    int cap = 0, count = 0;
    for (const char *at = text; *at;) {
        char *end;
        errno = 0;
        long value = strtol(at, &end, 10);
        bool number = *at == '-' || (*at >= '0' && *at <= '9');
        if (end == at || !number || errno || value < INT32_MIN || value > INT32_MAX ||
            (*end && (*end != ',' || !end[1])))
            return cr_fail(error, "--prompt-ids %.100s: expected ids of tokens with commas between",
                           text);
        *CR_PUSH(*ids, count, cap) = (int32_t)value;
        at = end + (*end == ',');
    }
    *n = count;
    return 0;
}

int cr_read_file(const struct cr_options *o, const char *path, size_t most, struct cr_bytes *bytes,
                 struct cr_error *error)
{
    crescent_ranks ranks = crescent_ranks_of(o->context);
    *bytes = (struct cr_bytes){0};
    if (ranks.count == 1 || strcmp(path, "-") != 0)
        return cr_read_bytes(path, most, bytes, error);
    if (ranks.rank == 0 && cr_read_bytes(path, most, bytes, error))
        return -1;
    crescent_ranks_share(o->context, &bytes->n, sizeof bytes->n);
    if (ranks.rank)
        bytes->data = cr_calloc(bytes->n + 1, 1);
    return bytes->n ? crescent_ranks_share(o->context, bytes->data, bytes->n) : 0;
}

int cr_read_text(const struct cr_options *o, struct cr_bytes *b, struct cr_error *error)
{
    if (o->text && o->file)
        return cr_fail(error, "%.200s: found a file beside --text, expected one of them", o->file);
    if (!o->text)
        return cr_read_file(o, o->file ? o->file : "-", CR_MOST_TEXT, b, error);
    b->data = cr_strdup(o->text);
    b->n = strlen(o->text);
    return 0;
}

const char *cr_text_name(const struct cr_options *o)
{
    return o->text ? "--text" : o->file && strcmp(o->file, "-") != 0 ? o->file : "standard input";
}

int cr_encode_text(const struct cr_options *o, crescent_tokenizer *tokenizer,
                   crescent_framing framing, int32_t **ids, int64_t *n, struct cr_error *error)
{
    struct cr_bytes text = {0};
    size_t count = 0;
    int status = cr_read_text(o, &text, error);
    if (status == 0 && crescent_encode(tokenizer, text.data, text.n, framing, ids, &count))
        status = cr_fail(error, "%.300s: %s", cr_text_name(o), crescent_error(o->context));
    *n = (int64_t)count;
    free(text.data);
    return status;
}
