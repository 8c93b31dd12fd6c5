/* texts.h - what verbs that work on texts share: opening a model, and reading tokens. */
#ifndef CR_TEXTS_H
#define CR_TEXTS_H

#include "options.h"

/* Returns what a model is if its name implies that it has no tokenizer: "a script", "an ONNX file";
 * else null. */
const char *cr_without_tokenizer(const char *path);

/* Opens the model that the options name for generating text. */
int cr_generator_load(const struct cr_options *options, const crescent_generation *how,
                      crescent_generator **generator, struct cr_error *error);

/* Parses ids such as "1,2,3"; the caller frees them. */
int cr_parse_ids(int32_t **ids, int64_t *n, const char *text, struct cr_error *error);

/* Encodes --text, the file that follows the model, or standard input.  The caller frees the ids
 * with crescent_free. */
int cr_encode_text(const struct cr_options *options, crescent_tokenizer *tokenizer,
                   crescent_framing framing, int32_t **ids, int64_t *n, struct cr_error *error);

#endif
