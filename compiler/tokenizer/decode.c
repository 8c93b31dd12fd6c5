/* decode.c - decodes ids to text; see tokenizer.h. */
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "decoders.h"
#include "tokenizer.h"

#include "hidden_tokens.inc"

struct cr_decoder {
    const struct cr_tokenizer *tokenizer;
    enum cr_specials specials;
    struct cr_decoding *states;
    struct cr_text_state text;
    bool begun; /* a token was shown already */
};

struct cr_decoder *cr_decoder_new(const struct cr_tokenizer *t, enum cr_specials specials)
{
    struct cr_decoder *d = cr_calloc(1, sizeof *d);
    d->tokenizer = t;
    d->specials = specials;
    d->states = cr_new_decodings(&t->decoders);
    return d;
}

void cr_decoder_free(struct cr_decoder *d)
{
    if (!d)
        return;
    cr_free_decodings(&d->tokenizer->decoders, d->states);
    free(d);
}

/* Decodes one token.  An added token that is searched for in normalized text is shown
 * normalized. */
int cr_decoder_add(struct cr_decoder *d, int32_t id, struct cr_text *out, struct cr_error *error)
{
    const struct cr_tokenizer *t = d->tokenizer;
    const struct cr_added_token *added = cr_find_added(&t->added, id);
    size_t length;
    const char *text = cr_token_text(t, id, &length);
    if (added && added->shown) {
        text = added->shown;
        length = added->shown_length;
    }
    if (cr_hides_token(&d->text, t->frame.before, t->frame.n_before, id, d->specials,
                       added && added->hidden) ||
        !text)
        return 0;
    if (!t->has_decoder && d->begun)
        cr_put_bytes(out, " ", 1);
    d->begun = true;
    return cr_decode_token(&t->decoders, d->states, text, length, out, error);
}

int cr_decoder_end(struct cr_decoder *d, struct cr_text *out, struct cr_error *error)
{
    return cr_decode_end(&d->tokenizer->decoders, d->states, out, error);
}

/* Returns n, less the ids that post-processors put after a text if the list ends in them. */
static size_t without_frame(const struct cr_tokenizer *t, const int32_t *ids, size_t n)
{
    size_t after = (size_t)t->frame.n_after;
    if (n < after)
        return n;
    for (size_t i = 0; i < after; i++)
        if (ids[n - after + i] != t->frame.after[i])
            return n;
    return n - after;
}

int cr_decode(const struct cr_tokenizer *t, const int32_t *ids, size_t n, enum cr_specials specials,
              struct cr_text *out, struct cr_error *error)
{
    struct cr_decoder *d = cr_decoder_new(t, specials);
    int status = 0;
    if (specials == CR_SPECIALS_WITHIN)
        n = without_frame(t, ids, n);
    for (size_t i = 0; i < n && status == 0; i++)
        status = cr_decoder_add(d, ids[i], out, error);
    if (status == 0)
        status = cr_decoder_end(d, out, error);
    cr_decoder_free(d);
    return status;
}
