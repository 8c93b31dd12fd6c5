/* replace.h - the part Replace: replaces the matches of a pattern. */
#ifndef CR_REPLACE_H
#define CR_REPLACE_H

#include "tokenizer_part.h"

/* Reads the members `pattern` and `content` of a Replace. */
int cr_read_replace(struct cr_text_part *part, const struct cr_document *document, int object,
                    const char *where, struct cr_error *error);

/* Appends n bytes of text to `out`, with the part's content in place of each match.  Fails if the
 * result is longer than cr_check_growth allows.  Converts *leading to the number of leading bytes
 * of the result. */
int cr_put_replaced(const struct cr_text_part *part, const char *text, size_t n,
                    struct cr_text *out, size_t *leading, struct cr_error *error);

/* Read a string member as the part's content; the second function requires exactly one
 * character. */
int cr_read_content(struct cr_text_part *part, const struct cr_document *document, int object,
                    const char *where, const char *name, struct cr_error *error);
int cr_read_character(struct cr_text_part *part, const struct cr_document *document, int object,
                      const char *where, const char *name, struct cr_error *error);

#endif
