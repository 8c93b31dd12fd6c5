/*
 * decoders.h - converts the texts of tokens to text, token by token.
 *
 * Each token passes all decoders at once, so that text can be shown while it is generated. The
 * bytes are the same as if all tokens were decoded together.
 */
#ifndef CR_DECODERS_H
#define CR_DECODERS_H

#include "tokenizer_part.h"

/* Marks the parts behind a Fuse, which get all tokens as one text.  Call it once, after all parts
 * were read. */
void cr_link_decoders(struct cr_text_parts *decoders);

/* Returns the initial state of each part, or null if there are no parts.  Free it with
 * cr_free_decodings. */
struct cr_decoding *cr_new_decodings(const struct cr_text_parts *decoders);
void cr_free_decodings(const struct cr_text_parts *decoders, struct cr_decoding *states);

/* Append to `out` the decoded text of a token; the second function, the text that parts hold back
 * until the end. */
int cr_decode_token(const struct cr_text_parts *decoders, struct cr_decoding *states,
                    const char *text, size_t n, struct cr_text *out, struct cr_error *error);
int cr_decode_end(const struct cr_text_parts *decoders, struct cr_decoding *states,
                  struct cr_text *out, struct cr_error *error);

#endif
