/* embed_text.h - prints the parts of an encoder's C other than the model: the tokenizer, and the
 * functions that compute the vector of a text. */
#ifndef CR_EMBED_TEXT_H
#define CR_EMBED_TEXT_H

#include "standalone_text.h"

/* Append the public declarations and the functions of a program whose generation (generate.h) has
 * `encoder` set. */
void cr_put_encoder_header(struct cr_text *t, const struct cr_standalone *w);
void cr_put_encoder_source(struct cr_text *t, const struct cr_standalone *w);

#endif
