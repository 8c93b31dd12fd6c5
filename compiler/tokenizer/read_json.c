/* read_json.c - reads a tokenizer.json; see readers.h. */
#include "compiler/ir/mem.h"
#include "readers.h"

/* ---- added tokens ---- */

/* If "normalized" is missing, special tokens are searched for in the raw text, others in the
 * normalized text. */
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
    return cr_add_added(&t->added, &token, &t->vocabulary, d->path, error);
}

/* Adds one token of added_tokens, whose id is a member. */
static int read_listed(struct cr_tokenizer *t, const struct cr_document *d, int object,
                       struct cr_error *error)
{
    if (d->values[object].kind != CR_JSON_OBJECT)
        return cr_fail(error, "%s: added_tokens: found %s, expected an object", d->path,
                       cr_kind_of_value(d, object));
    int id = cr_need_member(d, object, "added_tokens", "id", CR_JSON_INTEGER, error);
    return id < 0 ? -1 : cr_read_added_token(t, d, object, d->values[id].integer, error);
}

/* Adds the tokens of added_tokens, which may be missing. */
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

/* ---- the document ---- */

/* Stores where the document lists tokens and merges; a reader with an image skips them. */
static void find_holes(struct cr_tokenizer *t, const struct cr_document *d)
{
    static const char *const names[CR_TOKENIZER_HOLES] = {"vocab", "merges"};
    int model = cr_member(d, 0, "model");
    for (int i = 0; i < CR_TOKENIZER_HOLES; i++) {
        int list = cr_member(d, model, names[i]);
        if (list >= 0)
            t->holes[i] = (struct cr_json_hole){d->values[list].at, d->values[list].end};
    }
}

/* Reads the model first, since added tokens may not contradict its vocabulary. */
static int read_document(struct cr_tokenizer *t, const struct cr_document *d,
                         struct cr_error *error)
{
    if (d->values[0].kind != CR_JSON_OBJECT)
        return cr_fail(error, "%s: found %s, expected an object", d->path, cr_kind_of_value(d, 0));
    t->has_decoder = cr_member(d, 0, cr_decoders.role) >= 0;
    find_holes(t, d);
    return cr_read_model(t, d, error) || read_added(t, d, error) ||
                   cr_read_truncation(&t->truncation, d, error) || cr_read_padding(&t->padding, d, error) ||
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
    if (cr_document_read_around(&d, path, t->holes, CR_TOKENIZER_HOLES, error))
        return -1;
    *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(&d);
    int status = read_document(t, &d, error);
    cr_document_free(&d);
    return status;
}
