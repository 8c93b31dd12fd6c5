/* padding.h - fills up the ids of texts to a length, as tokenizer.json prescribes. */
#ifndef CR_PADDING_H
#define CR_PADDING_H

#include "bpe.h"
#include "compiler/json/document.h"

/* The settings in a file; with all zero, nothing is added. */
struct cr_padding {
    int64_t length, multiple; /* ids are filled up to at least `length`, and to a multiple of
                                 `multiple`; 0: no such rule */
    bool longest;             /* texts are filled up to the longest text of the batch, so a single
                                 text is not filled up to a length */
    int32_t id, type;
    bool left; /* padding is put before the ids */
};

/* Reads the member `padding` of a tokenizer.json, which may be missing. */
int cr_read_padding(struct cr_padding *padding, const struct cr_document *document, struct cr_error *error);

/* Fills up the ids of a single text, and the list of their segments. */
void cr_pad(const struct cr_padding *padding, struct cr_ids *ids, struct cr_ids *types);

#endif
