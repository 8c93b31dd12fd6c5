/* wordpiece_decoder.c - the decoder WordPiece: joins the tokens of words; see tokenizer_part.h. */
#include <stdlib.h>
#include <string.h>

#include "replace.h"
#include "wordpiece.h"

int cr_read_wordpiece_decoder(struct cr_text_part *part, const struct cr_document *d, int object,
                              const char *where, struct cr_error *error)
{
    part->cleanup = true;
    return cr_read_content(part, d, object, where, "prefix", error) ||
                   cr_read_bool(d, object, where, "cleanup", &part->cleanup, error)
               ? -1
               : 0;
}

/* The replacements that `cleanup` makes, in this order. */
static const char *const cleanups[][2] = {
    {" .", "."},     {" ?", "?"},     {" !", "!"},           {" ,", ","},   {" ' ", "'"},    {" n't", "n't"},
    {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

/* Replaces each occurrence of `from` in a text by `to`, which is not longer, in place. */
static void replace_all(struct cr_text *text, const char *from, const char *to)
{
    size_t length = strlen(from), made = 0;
    for (size_t at = 0; at < text->length;) {
        if (text->length - at >= length && memcmp(text->data + at, from, length) == 0) {
            memcpy(text->data + made, to, strlen(to));
            made += strlen(to);
            at += length;
        } else {
            text->data[made++] = text->data[at++];
        }
    }
    text->length = made;
}

/* Puts a space before each token except the first, or removes the prefix if it has one.  With
 * `cleanup`, tidies up the result. */
int cr_decode_wordpiece(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                        size_t n, struct cr_text *out, struct cr_error *error)
{
    struct cr_text token = {0};
    bool continues = n >= part->length && memcmp(text, part->content, part->length) == 0;
    (void)error;
    if (state->text.begun && !continues)
        cr_put_bytes(&token, " ", 1);
    if (state->text.begun && continues)
        cr_put_bytes(&token, text + part->length, n - part->length);
    else
        cr_put_bytes(&token, text, n);
    state->text.begun = true;
    for (size_t i = 0; part->cleanup && i < sizeof cleanups / sizeof *cleanups; i++)
        replace_all(&token, cleanups[i][0], cleanups[i][1]);
    cr_put_bytes(out, token.data, token.length);
    free(token.data);
    return 0;
}
