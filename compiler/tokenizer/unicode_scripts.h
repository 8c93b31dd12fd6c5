/* unicode_scripts.h - the pre-tokenizer UnicodeScripts; see part.h. */
#ifndef CR_UNICODE_SCRIPTS_H
#define CR_UNICODE_SCRIPTS_H

#include "part.h"

/* Sets the pattern by which text is cut. */
int cr_read_unicode_scripts(struct cr_text_part *part, const struct cr_document *document,
                            int object, const char *where, struct cr_error *error);

#endif
