/* segments.h - finds out whether the model of a folder gets the segments of tokens (token_type_ids)
 * from its tokenizer. */
#ifndef CR_SEGMENTS_H
#define CR_SEGMENTS_H

#include "tokenizer.h"

/* Sets *given in the same way as transformers 5: by model_input_names in the folder's
 * tokenizer_config.json; else by its tokenizer_class; else by the class that belongs to model_type
 * in config.json.  A missing file is skipped.  If *given is false, all tokens have segment 0 for
 * the model. */
int cr_read_segments(bool *given, const char *folder, struct cr_error *error);

/* Makes the tokenizer give all tokens segment 0. */
void cr_leave_out_segments(struct cr_tokenizer *tokenizer);

#endif
