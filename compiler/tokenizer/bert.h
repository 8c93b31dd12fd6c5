/* bert.h - the normalizer of BERT; see tokenizer_part.h. */
#ifndef CR_BERT_H
#define CR_BERT_H

#include "tokenizer_part.h"

/* BertNormalizer.  Each step can be switched off: it removes control characters and replaces
 * white space by spaces; puts spaces around Chinese characters; strips accents; converts to
 * lower case. */
int cr_read_bert_normalizer(struct cr_text_part *part, const struct cr_document *document,
                            int object, const char *where, struct cr_error *error);
int cr_normalize_bert(const struct cr_text_part *part, const char *text, size_t n,
                      struct cr_text *out, size_t *leading, struct cr_error *error);

cr_shape_function cr_list_bert;

#endif
