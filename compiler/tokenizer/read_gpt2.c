/* read_gpt2.c - a vocabulary and merges in two files, as GPT-2's; see read.h. */
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "read.h"

/* The strings live as long as the tokenizer. */
static int read_vocabulary(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_document d;
    if (cr_document_read(&d, path, error))
        return -1;
    *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(&d);
    int status = d.values[0].kind == CR_JSON_OBJECT
                     ? cr_read_vocabulary(&t->bpe.vocabulary, &d, 0, error)
                     : cr_fail(error, "%s: found %s, expected an object of tokens and ids", path,
                               cr_kind_of_value(&d, 0));
    cr_document_free(&d);
    return status;
}

/* A line is "LEFT RIGHT"; the first one may tell the version. */
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

/* The end of text is GPT-2's only special token. */
static int add_end(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    static const char text[] = "<|endoftext|>";
    struct cr_added_token end = {.text = text, .length = sizeof text - 1, .special = true};
    end.id = cr_find_word(&t->bpe.vocabulary, end.text, end.length);
    return end.id < 0 ? 0 : cr_add_added(&t->added, &end, &t->bpe.vocabulary, path, error);
}

int cr_read_gpt2_files(struct cr_tokenizer *t, const char *vocabulary, const char *merges,
                       struct cr_error *error)
{
    if (read_vocabulary(t, vocabulary, error) || read_merges(t, merges, error) ||
        add_end(t, vocabulary, error))
        return -1;
    t->bpe.unknown = -1;
    struct cr_text_part *cut = cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "ByteLevel");
    cut->pattern = cr_pattern_gpt2();
    cut->by_regex = true;
    cr_add_part(&t->decoders, &cr_decoders, "ByteLevel");
    t->has_decoder = true;
    return 0;
}
