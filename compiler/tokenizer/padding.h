/* padding.h - fills up the ids of texts, as tokenizer.json says. */
#ifndef CR_PADDING_H
#define CR_PADDING_H

#include "bpe.h"
#include "compiler/json/document.h"

/* The settings of a file; all zero adds nothing. */
struct cr_padding {
    int64_t length, multiple; /* the least number of ids, and a number that divides it; 0: none */
    bool longest;             /* the least number is the number of the text's own ids instead */
    int32_t id, type;
    bool left; /* in front of the ids */
};

/* Reads the member `padding` of a tokenizer.json, which may be missing. */
int cr_read_padding(struct cr_padding *padding, const struct cr_document *document, struct cr_error *error);

/* Fills up the ids of a text alone and the numbers of their segments. */
void cr_pad(const struct cr_padding *padding, struct cr_ids *ids, struct cr_ids *types);

#endif
