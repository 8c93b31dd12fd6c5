/* encode.c - encodes text to ids; see tokenizer.h. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "tokenizer.h"

/* Normalizes each piece of `in` that is no token, and cuts it at the added tokens that are searched
 * in normalized text. */
static int normalize_pieces(const struct cr_tokenizer *t, const struct cr_pieces *in,
                            struct cr_pieces *out, struct cr_error *error)
{
    struct cr_text normal = {0};
    int status = 0;
    for (int i = 0; i < in->n && status == 0; i++) {
        const struct cr_piece *piece = &in->items[i];
        bool first = piece->first;
        if (piece->token != CR_NO_TOKEN) {
            cr_add_token(out, piece->token);
            continue;
        }
        normal.length = 0;
        status = cr_normalize(&t->normalizers, in->text.data + piece->at, piece->length, &normal,
                              &first, error);
        cr_cut_added(&t->added, &t->added.normalized, normal.data, normal.length, first, out);
    }
    free(normal.data);
    return status;
}

static void add_frame(struct cr_ids *ids, const int32_t *items, int n)
{
    for (int i = 0; i < n; i++)
        *CR_PUSH(ids->items, ids->n, ids->cap) = items[i];
}

static void encode_pieces(struct cr_tokenizer *t, const struct cr_pieces *pieces,
                          struct cr_ids *ids)
{
    for (int i = 0; i < pieces->n; i++) {
        const struct cr_piece *piece = &pieces->items[i];
        if (piece->token != CR_NO_TOKEN)
            *CR_PUSH(ids->items, ids->n, ids->cap) = piece->token;
        else
            t->model->encode(t, pieces->text.data + piece->at, piece->length, ids);
    }
}

int cr_encode(struct cr_tokenizer *t, const char *text, size_t n, bool framed, struct cr_ids *ids,
              struct cr_error *error)
{
    struct cr_pieces raw = {0}, normal = {0};
    size_t at;
    if (n > CR_LONGEST_TEXT)
        return cr_fail(error, "the text has %zu bytes, expected at most %d", n, CR_LONGEST_TEXT);
    if (!cr_is_utf8(text, n, &at))
        return cr_fail(error, "byte %zu of the text is no UTF-8, expected UTF-8", at);
    cr_cut_added(&t->added, &t->added.raw, text, n, true, &raw);
    int status = normalize_pieces(t, &raw, &normal, error) ||
                         cr_pre_tokenize(&t->pre_tokenizers, &normal, error)
                     ? -1
                     : 0;
    if (status == 0) {
        add_frame(ids, t->frame.before, framed ? t->frame.n_before : 0);
        encode_pieces(t, &normal, ids);
        add_frame(ids, t->frame.after, framed ? t->frame.n_after : 0);
    }
    cr_free_pieces(&raw);
    cr_free_pieces(&normal);
    return status;
}
