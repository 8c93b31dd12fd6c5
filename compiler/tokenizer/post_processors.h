/* post_processors.h - adds ids before and after the ids of a text. */
#ifndef CR_POST_PROCESSORS_H
#define CR_POST_PROCESSORS_H

#include "tokenizer_part.h"

/* Returns the nested frames of all parts, the first part innermost.  The caller frees its
 * arrays. */
struct cr_frame cr_frame_of(const struct cr_text_parts *post_processors);

/* The layout of special ids around texts: CLS A SEP, and CLS A SEP B SEP or CLS A SEP SEP B SEP. */
struct cr_pair_template {
    int32_t cls, sep; /* or -1: there is none */
    int separators;   /* the number of SEP between A and B, 1 or 2; 0: pairs are not supported */
    int32_t first_type, second_type; /* the segment of the first id; the segment of B and of the last id */
};

/* Adds a TemplateProcessing. */
void cr_add_pair_template(struct cr_text_parts *post_processors,
                          const struct cr_pair_template *template);

/* Makes the templates of a single text and of a pair, whose arrays the caller frees.  That of a
 * pair is empty if several parts put ids around texts, or if the file does not define pairs. */
void cr_templates_of(const struct cr_text_parts *post_processors, const struct cr_frame *frame,
                     struct cr_template *single, struct cr_template *pair);

#endif
