/* wordpiece_model.c - WordPiece as the model of a tokenizer; see wordpiece.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "emitted_parts.h"
#include "find_word.h"
#include "model_kind.h"
#include "tokenizer.h"

#include "wordpiece.inc"

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

static int put_unknown(const struct cr_tokenizer *t, struct cr_ids *ids, struct cr_error *error)
{
    const char *text = t->wordpiece.unknown;
    int32_t id = cr_find_word(&t->vocabulary, text, strlen(text));
    if (id < 0)
        return cr_fail(error,
                       "the text has a word without a token, and the vocabulary has no token %s "
                       "for those, expected one",
                       cr_show(text, strlen(text)).text);
    *CR_PUSH(ids->items, ids->n, ids->cap) = id;
    return 0;
}

/* Encodes a word. */
static int encode_wordpiece(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                            struct cr_error *error)
{
    const struct cr_wordpiece *w = &t->wordpiece;
    const struct cr_words words = {&t->vocabulary};
    const struct cr_wordpiece_tables tables = {&words, w->prefix, strlen(w->prefix), t->vocabulary.longest,
                                               w->longest};
    int32_t few[64], *parts = n > 64 ? cr_calloc(n, sizeof *parts) : few;
    char little[128], *room = tables.n_prefix + n + 1 > sizeof little ? cr_calloc(tables.n_prefix + n + 1, 1) : little;
    size_t made = cr_cut_word(&tables, text, n, room, parts);
    for (size_t i = 0; i < made; i++)
        *CR_PUSH(ids->items, ids->n, ids->cap) = parts[i];
    if (parts != few)
        free(parts);
    if (room != little)
        free(room);
    return made > 0 ? 0 : put_unknown(t, ids, error);
}

const struct cr_model_kind cr_wordpiece_model = {
    .type = "WordPiece", .read = read_wordpiece, .encode = encode_wordpiece,
    .piece = "cr_piece_of_wordpiece"};
