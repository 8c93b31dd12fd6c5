/* read_gpt2.c - reads a vocabulary and merges from two files, as GPT-2 has them; see readers.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "readers.h"

/* Reads the vocabulary; its strings live as long as the tokenizer. */
static int read_vocabulary(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_document d;
    if (cr_document_read_zeros(&d, path, error))
        return -1;
    *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(&d);
    int status = d.values[0].kind == CR_JSON_OBJECT
                     ? cr_read_vocabulary(&t->vocabulary, &d, 0, error)
                     : cr_fail(error, "%s: found %s, expected an object of tokens and ids", path,
                               cr_kind_of_value(&d, 0));
    cr_document_free(&d);
    return status;
}

/* Reads merges, a line "LEFT RIGHT" for each; skips a line that begins with #version. */
static int read_merges(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_mapping mapping;
    int status = 0, number = 1;
    if (cr_map_file(&mapping, path, error->text, sizeof error->text))
        return -1;
    const char *line = (const char *)mapping.bytes, *end = line + mapping.size, *next;
    for (; line < end && status == 0; line = next, number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        next = newline ? newline + 1 : end;
        stop -= stop > line && stop[-1] == '\r';
        const char *space = memchr(line, ' ', (size_t)(stop - line));
        if (stop == line || (stop - line >= 8 && memcmp(line, "#version", 8) == 0))
            continue;
        if (!space || memchr(space + 1, ' ', (size_t)(stop - space - 1)))
            status = cr_fail(error, "%s:%d: found %s, expected LEFT RIGHT", path, number,
                             cr_show(line, (size_t)(stop - line)).text);
        else
            status = cr_add_merge(&t->bpe, line, (size_t)(space - line), space + 1,
                                  (size_t)(stop - space - 1), path, error);
    }
    cr_unmap_file(&mapping);
    return status;
}

/* Adds <|endoftext|>, GPT-2's only special token, if the vocabulary has it. */
static int add_end(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    static const char text[] = "<|endoftext|>";
    struct cr_added_token end = {.text = text, .length = sizeof text - 1, .special = true};
    end.id = cr_find_word(&t->vocabulary, end.text, end.length);
    if (end.id < 0 || cr_find_word(&t->added.words, end.text, end.length) >= 0)
        return 0;
    return cr_add_added(&t->added, &end, &t->vocabulary, path, error);
}

/* ---- the classes of tokenizer_config.json ---- */

/* A tokenizer_class with such files: the pattern that cuts text before ByteLevel does (null:
 * GPT-2's), whether text is normalized to NFC, and a function that adds other parts and tokens
 * instead, or null. */
static const struct class
{
    const char *name;
    struct cr_pattern *(*pattern)(void);
    bool nfc;
    int (*add)(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error);
} classes[] = {
    {"GPT2Tokenizer", NULL, false, NULL},
    {"GPTNeoXTokenizer", NULL, true, NULL},
    {"Qwen2Tokenizer", cr_pattern_qwen2, true, NULL},
    {"CLIPTokenizer", NULL, true, cr_add_clip_parts},
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

void cr_add_byte_level_parts(struct cr_tokenizer *t, struct cr_pattern *pattern, bool nfc,
                             bool prefix_space)
{
    if (nfc)
        cr_add_part(&t->normalizers, &cr_normalizers, "NFC");
    if (pattern) {
        struct cr_text_part *split = cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "Split");
        split->behavior = CR_ISOLATED;
        split->pattern = pattern;
    }
    struct cr_text_part *cut = cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "ByteLevel");
    cut->pattern = cr_pattern_gpt2();
    cut->by_regex = !pattern;
    cut->prefix_space = prefix_space;
    cr_add_part(&t->decoders, &cr_decoders, "ByteLevel");
    t->has_decoder = true;
}

/* Adds the parts that a tokenizer.json of a class lists. */
static void add_parts(struct cr_tokenizer *t, const struct class *class, bool prefix_space)
{
    cr_add_byte_level_parts(t, class->pattern ? class->pattern() : NULL, class->nfc, prefix_space);
}

static int read_added(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    struct cr_listed *listed = NULL;
    int n = cr_read_listed(&listed, d, error), status = n < 0 ? -1 : 0;
    for (int i = 0; i < n && status == 0; i++)
        status = cr_read_added_token(t, d, listed[i].value, listed[i].id, error);
    free(listed);
    return status;
}

/* Adds the special tokens and parts of a class, with the settings of the configuration. */
static int add_class(struct cr_tokenizer *t, const struct class *class, const struct cr_document *d,
                     struct cr_error *error)
{
    bool prefix_space = false;
    if (class->add)
        return class->add(t, d, error);
    if (cr_read_bool(d, 0, "tokenizer", "add_prefix_space", &prefix_space, error) || read_added(t, d, error))
        return -1;
    add_parts(t, class, prefix_space);
    return 0;
}

/* Reads tokenizer_config.json; without it, uses GPT-2's defaults. */
static int read_config(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_document d;
    const char *name = classes[0].name;
    if (!path) {
        add_parts(t, &classes[0], false);
        return 0;
    }
    if (cr_document_read_zeros(&d, path, error))
        return -1;
    int status = cr_read_string(&d, 0, "tokenizer", "tokenizer_class", &name, error);
    const struct class *class =
        status ? NULL : cr_find_class(name, classes, N_CLASSES, sizeof *classes);
    if (status == 0 && !class)
        status = cr_fail(error,
                         "%s: found the tokenizer_class %.60s without tokenizer.json, "
                         "expected GPT2Tokenizer, GPTNeoXTokenizer, Qwen2Tokenizer or CLIPTokenizer",
                         path, name);
    if (status == 0)
        status = add_class(t, class, &d, error);
    *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(&d);
    cr_document_free(&d);
    return status;
}

int cr_read_gpt2_files(struct cr_tokenizer *t, const char *vocabulary, const char *merges,
                       const char *config, struct cr_error *error)
{
    t->bpe.unknown = -1;
    return read_vocabulary(t, vocabulary, error) || read_merges(t, merges, error) ||
                   read_config(t, config, error) || add_end(t, vocabulary, error)
               ? -1
               : 0;
}
