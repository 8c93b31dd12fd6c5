/* end_tokens.h - reads the ids of the tokens that end a text from the files beside a tokenizer. */
#ifndef CR_END_TOKENS_H
#define CR_END_TOKENS_H

#include "tokenizer.h"

enum { CR_PATH_SIZE = 4096 };

/* Writes FOLDER/NAME to `path`; fails if it is too long. */
int cr_join_path(char path[CR_PATH_SIZE], const char *folder, const char *name,
                 struct cr_error *error);

/* Writes the path of the folder's special_tokens_map.json.  Returns 1 if transformers reads that
 * file, which it does if tokenizer_config.json has no added_tokens_decoder; returns 0 if not, -1 on
 * an error. */
int cr_find_special_map(char path[CR_PATH_SIZE], const char *folder, struct cr_error *error);

/*
 * Reads the ids that end a text from the first file in the folder that has them: eos_token_id of
 * generation_config.json or config.json, eos_token of special_tokens_map.json (if transformers
 * reads it) or tokenizer_config.json.  If none has, takes the token <|endoftext|> if it exists;
 * otherwise there are no such ids.
 */
int cr_read_ends(struct cr_tokenizer *tokenizer, const char *folder, struct cr_error *error);

#endif
