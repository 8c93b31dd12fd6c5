/* prompt_tokens.h - the tokens of a prompt in front of texts. */
#ifndef CR_PROMPT_TOKENS_H
#define CR_PROMPT_TOKENS_H

#include "tokenizer.h"

/* Sets *n to the number of tokens of `prompt`, counted as sentence-transformers does: it encodes the prompt alone, with
 * the tokens that the tokenizer adds around a text, cut to `most` tokens.  A special token at the end does not count. */
int cr_count_prompt_tokens(struct cr_tokenizer *tokenizer, const char *prompt, int64_t most, int64_t *n,
                           struct cr_error *error);

#endif
