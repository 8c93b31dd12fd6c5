/* prompt_tokens.h - counts the tokens of a prompt that is put before texts. */
#ifndef CR_PROMPT_TOKENS_H
#define CR_PROMPT_TOKENS_H

#include "tokenizer.h"

/* Sets *n to the number of tokens of `prompt`, counted as sentence-transformers does: it encodes
 * the prompt alone, with the special tokens that the tokenizer puts around a text, truncated to
 * `most` tokens.  A special token at the end is not counted. */
int cr_count_prompt_tokens(struct cr_tokenizer *tokenizer, const char *prompt, int64_t most, int64_t *n,
                           struct cr_error *error);

#endif
