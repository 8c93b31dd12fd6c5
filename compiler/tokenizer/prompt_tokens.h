/* prompt_tokens.h - the tokens of a prompt in front of texts. */
#ifndef CR_PROMPT_TOKENS_H
#define CR_PROMPT_TOKENS_H

#include "tokenizer.h"

/* Sets *n to the tokens that sentence-transformers takes for those of the prompt: the ids of the prompt alone, at most
 * `most` with those around it, without a special one at the end. */
int cr_count_prompt_tokens(struct cr_tokenizer *tokenizer, const char *prompt, int64_t most, int64_t *n,
                           struct cr_error *error);

#endif
