/* post_processors.h - adds ids before and behind the ids of a text. */
#ifndef CR_POST_PROCESSORS_H
#define CR_POST_PROCESSORS_H

#include "part.h"

/* Returns the nested frames of all parts, the first part innermost.  The caller frees its
 * arrays. */
struct cr_frame cr_frame_of(const struct cr_text_parts *post_processors);

/* Adds a TemplateProcessing: CLS A SEP, and CLS A SEP B SEP or CLS A SEP SEP B SEP by the number of
 * `separators`.  The first id is of segment `first_type`, the second text and what is behind it of 1. */
void cr_add_pair_template(struct cr_text_parts *post_processors, int32_t cls, int32_t sep,
                          int separators, int32_t first_type);

/* Makes the templates of a single text and of a pair, whose arrays the caller frees.  That of a pair
 * is empty if it is not known: several parts put ids around texts, or the one that does is of a file
 * without pairs. */
void cr_templates_of(const struct cr_text_parts *post_processors, const struct cr_frame *frame,
                     struct cr_template *single, struct cr_template *pair);

#endif
