/* embed_text.h - prints the parts of an encoder's C besides the model: the tokenizer and the
 * functions that make the vector of a text. */
#ifndef CR_EMBED_TEXT_H
#define CR_EMBED_TEXT_H

#include "standalone_text.h"

/* Append the public part and the functions of a generation (generate.h) whose `encoder` is set. */
void cr_put_encoder_header(struct cr_text *t, const struct cr_standalone *w);
void cr_put_encoder_source(struct cr_text *t, const struct cr_standalone *w);

#endif
