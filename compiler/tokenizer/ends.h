/* ends.h - the ids that end a text, as the files beside a tokenizer say. */
#ifndef CR_ENDS_H
#define CR_ENDS_H

#include "tokenizer.h"

enum { CR_PATH_SIZE = 4096 };

/* FOLDER/NAME. */
int cr_join_path(char path[CR_PATH_SIZE], const char *folder, const char *name,
                 struct cr_error *error);

/* The path of the folder's special_tokens_map.json, if transformers reads it: where tokenizer_config.json has no
 * added_tokens_decoder.  Returns 1, or 0 if it is not read, or -1. */
int cr_find_special_map(char path[CR_PATH_SIZE], const char *folder, struct cr_error *error);

/*
 * Reads them from the first file in the folder that tells: eos_token_id of generation_config.json
 * or of config.json, eos_token of special_tokens_map.json, if it is read, or of tokenizer_config.json; else
 * <|endoftext|>, if it is a token.  There may be none.
 */
int cr_read_ends(struct cr_tokenizer *tokenizer, const char *folder, struct cr_error *error);

#endif
