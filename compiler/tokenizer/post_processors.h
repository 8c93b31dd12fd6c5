/* post_processors.h - adds special ids before and after the ids of a text. */
#ifndef CR_POST_PROCESSORS_H
#define CR_POST_PROCESSORS_H

#include "tokenizer_part.h"

/* Returns the ids that all parts together put around a text; the first part's ids are innermost.
 * The caller frees the arrays. */
struct cr_frame cr_frame_of(const struct cr_text_parts *post_processors);

/* The layout of special ids around texts.  A single text: CLS A SEP.  A pair: CLS A SEP B SEP or
 * CLS A SEP SEP B SEP. */
struct cr_pair_template {
    int32_t cls, sep; /* -1 if there is no such token */
    int separators;   /* how many SEP are between A and B, 1 or 2; 0: pairs are not supported */
    int32_t first_type, second_type; /* the segment of CLS; the segment of B and of the last SEP */
};

/* Adds a TemplateProcessing with the layout of a template. */
void cr_add_pair_template(struct cr_text_parts *post_processors,
                          const struct cr_pair_template *template);

/* Makes the templates of a single text and of a pair; the caller frees their arrays.  The
 * template of a pair is empty if several parts put ids around texts, or if the file does not
 * define pairs. */
void cr_templates_of(const struct cr_text_parts *post_processors, const struct cr_frame *frame,
                     struct cr_template *single, struct cr_template *pair);

#endif
