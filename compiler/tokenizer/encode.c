/* encode.c - converts text to ids; see tokenizer.h. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "tokenizer.h"

#include "leading.inc"

/* Normalizes each piece of `in` that is not a token, and cuts it at those added tokens that are
 * searched for in normalized text. */
static int normalize_pieces(const struct cr_tokenizer *t, const struct cr_pieces *in,
                            struct cr_pieces *out, struct cr_error *error)
{
    struct cr_text normal = {0};
    int status = 0;
    for (int i = 0; i < in->n && status == 0; i++) {
        const struct cr_piece *piece = &in->items[i];
        size_t leading = piece->leading;
        if (piece->token != CR_NO_TOKEN) {
            cr_add_token(out, piece->token);
            continue;
        }
        normal.length = 0;
        status = cr_normalize(&t->normalizers, in->text.data + piece->at, piece->length, &normal,
                              &leading, error);
        cr_cut_added(&t->added, &t->added.normalized, normal.data, normal.length, leading, out);
    }
    free(normal.data);
    return status;
}

/* Appends the ids of all pieces.  Pieces that are tokens have one already; the model encodes the
 * others. */
static int encode_pieces(struct cr_tokenizer *t, const struct cr_pieces *pieces,
                         struct cr_ids *ids, struct cr_error *error)
{
    int status = 0;
    for (int i = 0; i < pieces->n && status == 0; i++) {
        const struct cr_piece *piece = &pieces->items[i];
        if (piece->token != CR_NO_TOKEN)
            *CR_PUSH(ids->items, ids->n, ids->cap) = piece->token;
        else
            status = t->model->encode(t, pieces->text.data + piece->at, piece->length, ids, error);
    }
    return status;
}

/* Encodes a text, without special ids around it. */
static int encode_text(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                       struct cr_error *error)
{
    struct cr_pieces raw = {0}, normal = {0};
    size_t at;
    if (n > CR_LONGEST_TEXT)
        return cr_fail(error, "the text has %zu bytes, expected at most %d", n, CR_LONGEST_TEXT);
    if (!cr_is_utf8(text, n, &at))
        return cr_fail(error, "byte %zu of the text is not valid UTF-8, expected UTF-8", at);
    cr_cut_added(&t->added, &t->added.raw, text, n, cr_leading_at_first(text, n), &raw);
    int status = normalize_pieces(t, &raw, &normal, error) ||
                         cr_pre_tokenize(&t->pre_tokenizers, &normal, error) ||
                         encode_pieces(t, &normal, ids, error)
                     ? -1
                     : 0;
    cr_free_pieces(&raw);
    cr_free_pieces(&normal);
    return status;
}

/* ---- one text, or a pair ---- */

static void put(struct cr_encoding *e, int32_t id, int32_t type)
{
    *CR_PUSH(e->ids.items, e->ids.n, e->ids.cap) = id;
    *CR_PUSH(e->types.items, e->types.n, e->types.cap) = type;
}

/* Puts the ids of both texts into the order that a template prescribes.  Special ids are added only
 * if `framed` is true. */
static void lay(const struct cr_template *template, bool framed, const struct cr_ids texts[2],
                struct cr_encoding *e)
{
    for (int i = 0; i < template->n; i++) {
        const struct cr_template_item *item = &template->items[i];
        if (item->id >= 0 && framed)
            put(e, item->id, item->type);
        for (int k = 0; item->id < 0 && k < texts[CR_FIRST_TEXT - item->id].n; k++)
            put(e, texts[CR_FIRST_TEXT - item->id].items[k], item->type);
    }
}

/* Truncates the texts so that their ids and the special ids together are within the limit. */
static int cut(const struct cr_encoding_request *r, const struct cr_template *template,
               struct cr_ids texts[2], struct cr_encoding *e, struct cr_error *error)
{
    int special = 0;
    int64_t before = (int64_t)texts[0].n + texts[1].n;
    if (r->most <= 0)
        return 0;
    for (int i = 0; i < template->n && r->framed; i++)
        special += template->items[i].id >= 0;
    if (r->most < special)
        return cr_fail(error, "found a limit of %lld tokens, expected at least the %d that are put around the text",
                       (long long)r->most, special);
    if (cr_truncate(r->truncation, r->most - special, &texts[0], r->pair ? &texts[1] : NULL, error))
        return -1;
    e->truncated = (int64_t)texts[0].n + texts[1].n < before;
    return 0;
}

int cr_encode_request(struct cr_tokenizer *t, const struct cr_encoding_request *r,
                      struct cr_encoding *e, struct cr_error *error)
{
    struct cr_template_item both[] = {{CR_FIRST_TEXT, 0}, {CR_SECOND_TEXT, 1}};
    const struct cr_template plain = {both, 2, 2};
    const struct cr_template *template = !r->pair                    ? &t->single
                                         : t->pair.n > 0 || r->framed ? &t->pair
                                                                      : &plain;
    struct cr_ids texts[2] = {{0}};
    if (template->n == 0)
        return cr_fail(error, "found a pair of texts, expected one text: the tokenizer says nothing of pairs");
    int status = encode_text(t, r->text, r->length, &texts[0], error);
    if (status == 0 && r->pair)
        status = encode_text(t, r->pair, r->pair_length, &texts[1], error);
    if (status == 0)
        status = cut(r, template, texts, e, error);
    if (status == 0)
        lay(template, r->framed, texts, e);
    if (status == 0 && r->padding)
        cr_pad(r->padding, &e->ids, &e->types);
    free(texts[0].items);
    free(texts[1].items);
    return status;
}

int cr_encode(struct cr_tokenizer *t, const char *text, size_t n, bool framed, struct cr_ids *ids,
              struct cr_error *error)
{
    const struct cr_encoding_request request = {.text = text, .length = n, .framed = framed};
    struct cr_encoding encoding = {0};
    int status = cr_encode_request(t, &request, &encoding, error);
    for (int i = 0; i < encoding.ids.n && status == 0; i++)
        *CR_PUSH(ids->items, ids->n, ids->cap) = encoding.ids.items[i];
    free(encoding.ids.items);
    free(encoding.types.items);
    return status;
}
