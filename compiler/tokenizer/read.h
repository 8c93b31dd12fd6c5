/* read.h - the parts of files that a tokenizer is read from. */
#ifndef CR_READ_TOKENIZER_H
#define CR_READ_TOKENIZER_H

#include "tokenizer.h"

/* Reads a tokenizer.json. */
int cr_read_tokenizer_json(struct cr_tokenizer *tokenizer, const char *path,
                           struct cr_error *error);

/* Adds the members of an object, each a token and its id. */
int cr_read_vocabulary(struct cr_vocabulary *vocabulary, const struct cr_document *document,
                       int object, struct cr_error *error);

/* Adds a token of added_tokens, or of added_tokens_decoder, where its id stands beside it. */
int cr_read_added_token(struct cr_tokenizer *tokenizer, const struct cr_document *document,
                        int object, int64_t id, struct cr_error *error);

/* Reads GPT-2's layout: a JSON object of tokens and ids, and a text of merges.  `config`, a
 * tokenizer_config.json or null, says how text is cut, and which tokens were added. */
int cr_read_gpt2_files(struct cr_tokenizer *tokenizer, const char *vocabulary, const char *merges,
                       const char *config, struct cr_error *error);

#endif
