/* texts.h - functions for verbs that work on texts: models that continue them, and tokens. */
#ifndef CR_TEXTS_H
#define CR_TEXTS_H

#include "options.h"

/* Returns "a script" or "an ONNX file" for the path of a model that has no tokenizer; else null. */
const char *cr_without_tokenizer(const char *path);

/* Opens the model of the options for continuing texts. */
int cr_generator_load(const struct cr_options *options, const crescent_generation *how,
                      crescent_generator **generator, struct cr_error *error);

/* Parses "1,2,3"; the caller frees the ids. */
int cr_parse_ids(int32_t **ids, int64_t *n, const char *text, struct cr_error *error);

struct cr_bytes;

/* Reads a file, see cr_read_bytes.  Of several ranks, rank 0 reads standard input and sends it to the others. */
int cr_read_file(const struct cr_options *options, const char *path, size_t most, struct cr_bytes *bytes,
                 struct cr_error *error);

/* Read the text of --text, or of the file that is the second argument, or of standard input,
 * which the caller frees; and return the name of that source for messages. */
int cr_read_text(const struct cr_options *options, struct cr_bytes *bytes, struct cr_error *error);
const char *cr_text_name(const struct cr_options *options);

/* Encodes --text, or the file that is the second argument, or standard input; the ids are freed
 * with crescent_free. */
int cr_encode_text(const struct cr_options *options, crescent_tokenizer *tokenizer,
                   crescent_framing framing, int32_t **ids, int64_t *n, struct cr_error *error);

#endif
