/* read_json.c - tokenizer.json; see read.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "read.h"

/* ---- the model ---- */

/* Keys of one text are caught, too, however they are spelled. */
int cr_read_vocabulary(struct cr_vocabulary *v, const struct cr_document *d, int object,
                       struct cr_error *error)
{
    cr_reserve_words(v, d->values[object].count);
    for (int i = d->values[object].first; i >= 0; i = d->values[i].next) {
        const struct cr_json_value *value = &d->values[i];
        if (value->kind != CR_JSON_INTEGER)
            return cr_fail(error, "%s: found %s for token %s, expected its id", d->path,
                           cr_kind_of_value(d, i), cr_show(value->key, value->key_length).text);
        if (cr_add_word(v, value->key, value->key_length, value->integer, d->path, error))
            return -1;
    }
    return 0;
}

/* A merge is "LEFT RIGHT" or ["LEFT", "RIGHT"]. */
static int read_merge(struct cr_bpe *bpe, const struct cr_document *d, int merge,
                      struct cr_error *error)
{
    const struct cr_json_value *value = &d->values[merge];
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

/* What would change ids if it were left out. */
static int refuse_options(const struct cr_document *d, int model, struct cr_error *error)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    int dropout = cr_member(d, model, "dropout");
    if (dropout >= 0 && cr_real_of(&d->values[dropout]) != 0)
        return cr_fail(error, "%s: model: found a dropout of %g, expected none", d->path,
                       cr_real_of(&d->values[dropout]));
    for (int i = 0; i < 2; i++) {
        const char *text = "";
        if (cr_read_string(d, model, "model", affixes[i], &text, error))
            return -1;
        if (*text)
            return cr_fail(error, "%s: model: found the %s %.60s, expected none", d->path,
                           affixes[i], text);
    }
    return 0;
}

/* The token that stands for what is none; a model may be without. */
static int read_unknown(struct cr_bpe *bpe, const struct cr_document *d, int model,
                        struct cr_error *error)
{
    const char *unknown = NULL;
    bpe->unknown = -1;
    if (cr_read_string(d, model, "model", "unk_token", &unknown, error))
        return -1;
    if (!unknown)
        return 0;
    bpe->unknown = cr_find_word(&bpe->vocabulary, unknown, strlen(unknown));
    return bpe->unknown >= 0
               ? 0
               : cr_fail(error, "%s: found the unk_token %s, expected a token of the vocabulary",
                         d->path, cr_show(unknown, strlen(unknown)).text);
}

/* The only model is BPE; files that are older do not say so. */
static int check_type(const struct cr_document *d, int model, struct cr_error *error)
{
    const char *type = cr_member(d, model, "merges") >= 0 ? "BPE" : "without a type";
    if (cr_read_string(d, model, "model", "type", &type, error))
        return -1;
    return strcmp(type, "BPE") == 0
               ? 0
               : cr_fail(error, "%s: found the model %.80s, expected BPE", d->path, type);
}

/* Merges are read last, since they speak of the vocabulary. */
static int read_model(struct cr_bpe *bpe, const struct cr_document *d, struct cr_error *error)
{
    static const char where[] = "model";
    int model = cr_need_member(d, 0, "tokenizer", "model", CR_JSON_OBJECT, error);
    if (model < 0 || check_type(d, model, error))
        return -1;
    int vocabulary = cr_need_member(d, model, where, "vocab", CR_JSON_OBJECT, error);
    int merges = vocabulary < 0 ? CR_NO_VALUE
                                : cr_need_member(d, model, where, "merges", CR_JSON_ARRAY, error);
    if (merges < 0 || cr_read_vocabulary(&bpe->vocabulary, d, vocabulary, error) ||
        refuse_options(d, model, error) || read_unknown(bpe, d, model, error) ||
        cr_read_bool(d, model, where, "fuse_unk", &bpe->fuse_unknown, error) ||
        cr_read_bool(d, model, where, "byte_fallback", &bpe->byte_fallback, error) ||
        cr_read_bool(d, model, where, "ignore_merges", &bpe->ignore_merges, error))
        return -1;
    for (int i = d->values[merges].first; i >= 0; i = d->values[i].next)
        if (read_merge(bpe, d, i, error))
            return -1;
    return 0;
}

/* ---- added tokens ---- */

/* A token that is special is looked for in the text as it is, unless it says otherwise. */
int cr_read_added_flags(struct cr_added_token *out, const struct cr_document *d, int object,
                        struct cr_error *error)
{
    static const char where[] = "added_tokens";
    int content = cr_need_member(d, object, where, "content", CR_JSON_STRING, error);
    if (content < 0)
        return -1;
    struct cr_added_token token = {
        .text = d->values[content].text,
        .length = d->values[content].length,
    };
    if (cr_read_bool(d, object, where, "special", &token.special, error) ||
        cr_read_bool(d, object, where, "single_word", &token.single_word, error) ||
        cr_read_bool(d, object, where, "lstrip", &token.lstrip, error) ||
        cr_read_bool(d, object, where, "rstrip", &token.rstrip, error))
        return -1;
    token.normalized = !token.special;
    *out = token;
    return cr_read_bool(d, object, where, "normalized", &out->normalized, error);
}

int cr_read_added_token(struct cr_tokenizer *t, const struct cr_document *d, int object, int64_t id,
                        struct cr_error *error)
{
    struct cr_added_token token;
    if (cr_read_added_flags(&token, d, object, error))
        return -1;
    token.id = (int32_t)(id < 0 || id > INT32_MAX ? -1 : id);
    return cr_add_added(&t->added, &token, &t->bpe.vocabulary, d->path, error);
}

/* One of the list, which has its id. */
static int read_listed(struct cr_tokenizer *t, const struct cr_document *d, int object,
                       struct cr_error *error)
{
    if (d->values[object].kind != CR_JSON_OBJECT)
        return cr_fail(error, "%s: added_tokens: found %s, expected an object", d->path,
                       cr_kind_of_value(d, object));
    int id = cr_need_member(d, object, "added_tokens", "id", CR_JSON_INTEGER, error);
    return id < 0 ? -1 : cr_read_added_token(t, d, object, d->values[id].integer, error);
}

/* The list may be missing. */
static int read_added(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    int list = cr_member(d, 0, "added_tokens");
    if (list < 0)
        return 0;
    if (d->values[list].kind != CR_JSON_ARRAY)
        return cr_fail(error, "%s: found %s for \"added_tokens\", expected an array", d->path,
                       cr_kind_of_value(d, list));
    for (int i = d->values[list].first; i >= 0; i = d->values[i].next)
        if (read_listed(t, d, i, error))
            return -1;
    return 0;
}

/* ---- the whole ---- */

/* Added tokens come behind the vocabulary, which they may not contradict. */
static int read_document(struct cr_tokenizer *t, const struct cr_document *d,
                         struct cr_error *error)
{
    if (d->values[0].kind != CR_JSON_OBJECT)
        return cr_fail(error, "%s: found %s, expected an object", d->path, cr_kind_of_value(d, 0));
    t->has_decoder = cr_member(d, 0, cr_decoders.role) >= 0;
    return read_model(&t->bpe, d, error) || read_added(t, d, error) ||
                   cr_read_parts(&t->normalizers, &cr_normalizers, d, error) ||
                   cr_read_parts(&t->pre_tokenizers, &cr_pre_tokenizers, d, error) ||
                   cr_read_parts(&t->decoders, &cr_decoders, d, error) ||
                   cr_read_parts(&t->post_processors, &cr_post_processors, d, error)
               ? -1
               : 0;
}

int cr_read_tokenizer_json(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_document d;
    if (cr_document_read(&d, path, error))
        return -1;
    *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(&d);
    int status = read_document(t, &d, error);
    cr_document_free(&d);
    return status;
}
