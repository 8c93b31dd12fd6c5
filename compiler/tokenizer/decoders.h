/*
 * decoders.h - from the texts of tokens to text, token by token.
 *
 * Each token goes through all decoders at once, so that text can be shown as it is made; what is
 * given is the same as for all tokens together.
 */
#ifndef CR_DECODERS_H
#define CR_DECODERS_H

#include "part.h"

/* Finds out which parts see one token only, behind a Fuse: once, when all were read. */
void cr_link_decoders(struct cr_text_parts *decoders);

/* The state of each part; null if there is none.  Freed by cr_free_decodings. */
struct cr_decoding *cr_new_decodings(const struct cr_text_parts *decoders);
void cr_free_decodings(const struct cr_text_parts *decoders, struct cr_decoding *states);

/* Adds what becomes of a token to `out`, or of the end of the tokens: text that parts held back. */
int cr_decode_token(const struct cr_text_parts *decoders, struct cr_decoding *states,
                    const char *text, size_t n, struct cr_text *out, struct cr_error *error);
int cr_decode_end(const struct cr_text_parts *decoders, struct cr_decoding *states,
                  struct cr_text *out, struct cr_error *error);

#endif
