/* texts.h - what verbs share that work on texts: a model that goes on with them, and their tokens. */
#ifndef CR_TEXTS_H
#define CR_TEXTS_H

#include "options.h"

/* What a model is that, by its name, has no tokenizer of its own: "a script", "an ONNX file"; else null. */
const char *cr_without_tokenizer(const char *path);

/* Opens the model that the options name as one that goes on with texts. */
int cr_generator_load(const struct cr_options *options, const crescent_generation *how,
                      crescent_generator **generator, struct cr_error *error);

/* The ids of "1,2,3", in memory to be freed. */
int cr_parse_ids(int32_t **ids, int64_t *n, const char *text, struct cr_error *error);

/* The ids of --text, of the file that is the second word, or of standard input; to be freed with
 * crescent_free. */
int cr_encode_text(const struct cr_options *options, crescent_tokenizer *tokenizer,
                   crescent_framing framing, int32_t **ids, int64_t *n, struct cr_error *error);

#endif
