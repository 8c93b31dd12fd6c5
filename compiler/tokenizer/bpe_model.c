/* bpe_model.c - byte-pair encoding as the model of a tokenizer; see model_kind.h. */
#include <stdlib.h>
#include <string.h>

#include "byte_letters.h"
#include "compiler/files/mapping.h"
#include "emitted_parts.h"
#include "model_kind.h"

/* ---- tokenizer.json ---- */

/* Reads a merge: "LEFT RIGHT" or ["LEFT", "RIGHT"]. */
static int read_merge(struct cr_bpe *bpe, const struct cr_document *d, int merge,
                      struct cr_error *error)
{
    const struct cr_json_value *value = &d->values[merge];
    if (value->kind == CR_JSON_STRING && strncmp(value->text, "#version", strlen("#version")) == 0)
        return 0; /* skips the first line of a merges.txt, which has the version */
    if (value->kind == CR_JSON_STRING) {
        const char *space = strchr(value->text, ' ');
        if (space && !strchr(space + 1, ' '))
            return cr_add_merge(bpe, value->text, (size_t)(space - value->text), space + 1,
                                strlen(space + 1), d->path, error);
    } else if (value->kind == CR_JSON_ARRAY && value->count == 2) {
        const struct cr_json_value *left = &d->values[value->first],
                                   *right = &d->values[left->next];
        if (left->kind == CR_JSON_STRING && right->kind == CR_JSON_STRING)
            return cr_add_merge(bpe, left->text, left->length, right->text, right->length, d->path,
                                error);
    }
    return cr_fail(error,
                   "%s: found %s for merge %d, expected \"LEFT RIGHT\" or [\"LEFT\", \"RIGHT\"]",
                   d->path, cr_kind_of_value(d, merge), bpe->n_merges);
}

enum { MOST_PREFIX = 32 }; /* the most bytes of a prefix with byte_fallback */

/* Reads the prefix and the suffix of tokens.  With byte_fallback each byte of a prefix may become a
 * token, so the prefix is limited to MOST_PREFIX bytes. */
static int read_affixes(struct cr_bpe *bpe, const struct cr_document *d, int model,
                        struct cr_error *error)
{
    if (cr_read_string(d, model, "model", "continuing_subword_prefix", &bpe->prefix, error) ||
        cr_read_string(d, model, "model", "end_of_word_suffix", &bpe->suffix, error))
        return -1;
    bpe->prefix_length = bpe->prefix ? strlen(bpe->prefix) : 0;
    bpe->suffix_length = bpe->suffix ? strlen(bpe->suffix) : 0;
    return bpe->byte_fallback && bpe->prefix_length > MOST_PREFIX
               ? cr_fail(error, "%s: model: found a continuing_subword_prefix of %zu bytes with byte_fallback, expected at "
                         "most %d", d->path, bpe->prefix_length, MOST_PREFIX)
               : 0;
}

/* Refuses the option dropout, which makes ids random. */
static int refuse_dropout(const struct cr_document *d, int model, struct cr_error *error)
{
    int dropout = cr_member(d, model, "dropout");
    return dropout >= 0 && cr_real_of(&d->values[dropout]) != 0
               ? cr_fail(error, "%s: model: found a dropout of %g, expected none", d->path,
                         cr_real_of(&d->values[dropout]))
               : 0;
}

/* Reads the unknown token.  A model may have none, or one that is not in the vocabulary; in the
 * latter case texts that need it are refused. */
static int read_unknown(struct cr_bpe *bpe, const struct cr_document *d, int model,
                        struct cr_error *error)
{
    const char *unknown = NULL;
    bpe->unknown = -1;
    if (cr_read_string(d, model, "model", "unk_token", &unknown, error))
        return -1;
    if (unknown)
        bpe->unknown = cr_find_word(bpe->vocabulary, unknown, strlen(unknown));
    bpe->missing = bpe->unknown < 0 ? unknown : NULL;
    return 0;
}

/* Reads the model.  Merges are read last, as they refer to tokens of the vocabulary. */
static int read_bpe(struct cr_tokenizer *t, const struct cr_document *d, int model,
                    struct cr_error *error)
{
    static const char where[] = "model";
    struct cr_bpe *bpe = &t->bpe;
    int vocabulary = cr_need_member(d, model, where, "vocab", CR_JSON_OBJECT, error);
    int merges = vocabulary < 0 ? CR_NO_VALUE
                                : cr_need_member(d, model, where, "merges", CR_JSON_ARRAY, error);
    if (merges < 0 || cr_read_vocabulary(&t->vocabulary, d, vocabulary, error) ||
        refuse_dropout(d, model, error) || read_unknown(bpe, d, model, error) ||
        cr_read_bool(d, model, where, "fuse_unk", &bpe->fuse_unknown, error) ||
        cr_read_bool(d, model, where, "byte_fallback", &bpe->byte_fallback, error) ||
        cr_read_bool(d, model, where, "ignore_merges", &bpe->ignore_merges, error) ||
        read_affixes(bpe, d, model, error))
        return -1;
    for (int i = d->values[merges].first; i >= 0; i = d->values[i].next)
        if (read_merge(bpe, d, i, error))
            return -1;
    return 0;
}

/* ---- encoding ---- */

static void index_bpe(struct cr_tokenizer *t)
{
    cr_index_bpe(&t->bpe);
}

/* Encodes a piece of text.  Frees the working memory if the piece was long. */
static int encode_bpe(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                      struct cr_error *error)
{
    enum { KEPT = 1 << 16 };
    bool encoded = cr_bpe_encode(&t->bpe, text, n, ids, &t->work);
    if (t->work.room > KEPT)
        cr_free_bpe_work(&t->work);
    return encoded ? 0
                   : cr_fail(error, "the text has a character without a token, and the vocabulary has no token %s for those, "
                             "expected one", cr_show(t->bpe.missing, strlen(t->bpe.missing)).text);
}

static void release_bpe(struct cr_tokenizer *t)
{
    cr_free_bpe(&t->bpe);
    cr_free_bpe_work(&t->work);
}

/* ---- in emitted C ---- */

/* True if each byte has a token, so that no character can be unknown. */
static bool has_all_bytes(const struct cr_vocabulary *v)
{
    bool all = true;
    for (int i = 0; i < 256; i++) {
        const char byte = (char)i;
        struct cr_text letter = {0};
        cr_put_byte_letters(&letter, &byte, 1);
        all = all && cr_find_word(v, letter.data, letter.length) >= 0;
        free(letter.data);
    }
    return all;
}

/* True if decoding turns a token's letters back into bytes, so that emitted C can compare the token
 * with a piece of text. */
static bool decodes_letters(const struct cr_text_parts *decoders)
{
    return decoders->n == 1 && strcmp(decoders->items[0].kind->type, "ByteLevel") == 0;
}

/* Chooses the function that encodes a piece in emitted C: by bytes or by characters.  If the model
 * ignores merges for tokens, it looks for the whole piece first. */
static int list_bpe(const struct cr_tokenizer *t, struct cr_shape *s, struct cr_error *error)
{
    if (t->bpe.missing && !(s->byte_level && has_all_bytes(&t->vocabulary)))
        return cr_refuse_shape(s, "an unk_token that is no token", "one of the vocabulary", error);
    if (t->bpe.prefix_length > 0)
        return cr_refuse_shape(s, "BPE with a continuing_subword_prefix", "none", error);
    if (t->bpe.suffix_length > 0 && (!s->byte_level || t->bpe.ignore_merges))
        return cr_refuse_shape(s, "BPE with an end_of_word_suffix", "one with ByteLevel and without ignore_merges", error);
    if (s->byte_level && t->bpe.byte_fallback)
        return cr_refuse_shape(s, "ByteLevel with byte_fallback", "one of them", error);
    if (!s->byte_level && t->bpe.ignore_merges)
        return cr_refuse_shape(s, "ignore_merges without ByteLevel", "both", error);
    if (t->bpe.ignore_merges && !decodes_letters(&t->decoders))
        return cr_refuse_shape(s, "ignore_merges with another decoder than ByteLevel", "ByteLevel alone", error);
    s->list->piece = t->bpe.ignore_merges       ? "cr_piece_of_known_bytes"
                     : t->bpe.suffix_length > 0 ? "cr_piece_of_ended_bytes"
                     : s->byte_level      ? "cr_piece_of_bytes"
                                          : "cr_piece_of_letters";
    return 0;
}

const struct cr_model_kind cr_bpe_model = {
    .type = "BPE",
    .read = read_bpe,
    .index = index_bpe,
    .encode = encode_bpe,
    .release = release_bpe,
    .list = list_bpe};
