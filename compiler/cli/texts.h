/* texts.h - functions for verbs that work on texts: they open models that continue texts, and
 * read and encode texts. */
#ifndef CR_TEXTS_H
#define CR_TEXTS_H

#include "options.h"

/* Returns "a script" or "an ONNX file" if the path of a model is one, which has no tokenizer;
 * else null. */
const char *cr_without_tokenizer(const char *path);

/* Opens the model that the options name, for continuing texts. */
int cr_generator_load(const struct cr_options *options, const crescent_generation *how,
                      crescent_generator **generator, struct cr_error *error);

/* Parses a list of ids such as "1,2,3"; the caller frees *ids. */
int cr_parse_ids(int32_t **ids, int64_t *n, const char *text, struct cr_error *error);

struct cr_bytes;

/* Reads a file as cr_read_bytes does.  With several ranks, rank 0 reads standard input and sends
 * it to the others. */
int cr_read_file(const struct cr_options *options, const char *path, size_t most, struct cr_bytes *bytes,
                 struct cr_error *error);

/* Reads the text of --text, of the file that is the second argument, or else of standard input;
 * the caller frees it.  The second function returns the name of that source for messages. */
int cr_read_text(const struct cr_options *options, struct cr_bytes *bytes, struct cr_error *error);
const char *cr_text_name(const struct cr_options *options);

/* Reads a text as cr_read_text does, and encodes it; the ids are freed with crescent_free. */
int cr_encode_text(const struct cr_options *options, crescent_tokenizer *tokenizer,
                   crescent_framing framing, int32_t **ids, int64_t *n, struct cr_error *error);

#endif
