/* wordpiece_model.c - WordPiece as the model of a tokenizer; see wordpiece.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "model_kind.h"
#include "tokenizer.h"

/* Reads the vocabulary and the settings, whose defaults are BERT's. */
static int read_wordpiece(struct cr_tokenizer *t, const struct cr_document *d, int model,
                          struct cr_error *error)
{
    static const char where[] = "model";
    struct cr_wordpiece *w = &t->wordpiece;
    *w = (struct cr_wordpiece){.unknown = "[UNK]", .prefix = "##", .longest = 100};
    int vocabulary = cr_need_member(d, model, where, "vocab", CR_JSON_OBJECT, error);
    return vocabulary < 0 || cr_read_vocabulary(&t->vocabulary, d, vocabulary, error) ||
                   cr_read_string(d, model, where, "unk_token", &w->unknown, error) ||
                   cr_read_string(d, model, where, "continuing_subword_prefix", &w->prefix, error) ||
                   cr_read_integer(d, model, where, "max_input_chars_per_word", &w->longest, error)
               ? -1
               : 0;
}

static void index_wordpiece(struct cr_tokenizer *t)
{
    for (int id = 0; id < t->vocabulary.n; id++)
        if (t->vocabulary.tokens[id].text && t->vocabulary.tokens[id].length > t->wordpiece.longest_token)
            t->wordpiece.longest_token = t->vocabulary.tokens[id].length;
}

/* Adds the unknown token in place of the tokens of a word from index `first` on. */
static int put_unknown(const struct cr_tokenizer *t, int first, struct cr_ids *ids,
                       struct cr_error *error)
{
    const char *text = t->wordpiece.unknown;
    int32_t id = cr_find_word(&t->vocabulary, text, strlen(text));
    if (id < 0)
        return cr_fail(error,
                       "the text has a word without a token, and the vocabulary has no token %s "
                       "for those, expected one",
                       cr_show(text, strlen(text)).text);
    ids->n = first;
    *CR_PUSH(ids->items, ids->n, ids->cap) = id;
    return 0;
}

static int64_t characters_in(const char *text, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Returns the id of the longest token at the beginning of n bytes behind a prefix of `before` bytes
 * in front of them, or -1; *length is its bytes without the prefix. */
static int32_t find_longest(const struct cr_vocabulary *v, const char *text, size_t before, size_t n,
                            size_t *length)
{
    for (; n > 0; n--) {
        bool ends_character = ((unsigned char)text[before + n] & 0xc0) != 0x80;
        int32_t id = ends_character ? cr_find_word(v, text, before + n) : -1;
        if (id >= 0) {
            *length = n;
            return id;
        }
    }
    return -1;
}

/* Encodes a word, which is copied so that a prefix fits in front of each part of it. */
static int encode_wordpiece(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                            struct cr_error *error)
{
    const struct cr_wordpiece *w = &t->wordpiece;
    size_t before = strlen(w->prefix), length, at;
    int first = ids->n, status = 0;
    if (characters_in(text, n) > w->longest)
        return put_unknown(t, first, ids, error);
    char *word = cr_calloc(before + n + 1, 1);
    memcpy(word + before, text, n);
    for (at = 0; at < n && status == 0; at += length) {
        char *part = word + at + (at ? 0 : before);
        if (at)
            memcpy(part, w->prefix, before);
        size_t most = n - at < w->longest_token ? n - at : w->longest_token;
        int32_t id = find_longest(&t->vocabulary, part, at ? before : 0, most, &length);
        if (id >= 0)
            *CR_PUSH(ids->items, ids->n, ids->cap) = id;
        else
            break;
    }
    if (at < n)
        status = put_unknown(t, first, ids, error);
    free(word);
    return status;
}

const struct cr_model_kind cr_wordpiece_model = {
    .type = "WordPiece", .read = read_wordpiece, .index = index_wordpiece, .encode = encode_wordpiece};
