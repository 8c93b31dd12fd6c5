/* segments.h - whether the model of a folder gets the segments of tokens (token_type_ids) from its tokenizer. */
#ifndef CR_SEGMENTS_H
#define CR_SEGMENTS_H

#include "tokenizer.h"

/* Sets *given as transformers 5 decides it: by model_input_names of the folder's tokenizer_config.json; or else by
 * tokenizer_class; or else by the class that belongs to model_type of config.json.  A file that is missing says
 * nothing.  Without segments all tokens are of segment 0 for the model. */
int cr_read_segments(bool *given, const char *folder, struct cr_error *error);

/* Makes the tokenizer give segment 0 to all tokens. */
void cr_leave_out_segments(struct cr_tokenizer *tokenizer);

#endif
