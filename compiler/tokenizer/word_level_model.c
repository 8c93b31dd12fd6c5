/* word_level_model.c - a tokenizer whose tokens are whole pieces of text; see model_kind.h. */
#include <string.h>

#include "compiler/ir/mem.h"
#include "emitted_parts.h"
#include "model_kind.h"
#include "tokenizer.h"

static int read_word_level(struct cr_tokenizer *t, const struct cr_document *d, int model,
                           struct cr_error *error)
{
    static const char where[] = "model";
    int vocabulary = cr_need_member(d, model, where, "vocab", CR_JSON_OBJECT, error);
    t->unknown_word = "<unk>";
    return vocabulary < 0 || cr_read_vocabulary(&t->vocabulary, d, vocabulary, error) ||
                   cr_read_string(d, model, where, "unk_token", &t->unknown_word, error)
               ? -1
               : 0;
}

/* Appends the id of a whole piece, or of the unknown token if the piece is not a token. */
static int encode_word_level(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                             struct cr_error *error)
{
    int32_t id = cr_find_word(&t->vocabulary, text, n);
    if (id < 0)
        id = cr_find_word(&t->vocabulary, t->unknown_word, strlen(t->unknown_word));
    if (id < 0)
        return cr_fail(error,
                       "the text has %s, which is no token, and the vocabulary has no token %s for "
                       "those, expected one",
                       cr_show(text, n).text, t->unknown_word);
    *CR_PUSH(ids->items, ids->n, ids->cap) = id;
    return 0;
}

const struct cr_model_kind cr_word_level_model = {
    .type = "WordLevel", .read = read_word_level, .encode = encode_word_level, .piece = "cr_piece_of_word"};
