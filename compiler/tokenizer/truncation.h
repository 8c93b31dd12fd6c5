/* truncation.h - cuts the ids of texts that are too long, as tokenizer.json says. */
#ifndef CR_TRUNCATION_H
#define CR_TRUNCATION_H

#include "bpe.h"
#include "compiler/json/document.h"

/* The settings of a file; all zero cuts the longest text first, at its end. */
struct cr_truncation {
    int64_t most; /* the limit in ids, special ids included; 0: none */
    enum cr_truncation_strategy strategy;
    bool left; /* the beginning is cut off, not the end */
};

/* Reads the member `truncation` of a tokenizer.json, which may be missing. */
int cr_read_truncation(struct cr_truncation *truncation, const struct cr_document *document,
                       struct cr_error *error);

/* Cuts the ids of a text, and of a second one if `pair` is not null, so that both together have at
 * most `most`, and none if that is 0 or less.  Fails if the one text that the strategy allows to
 * cut is too short for that. */
int cr_truncate(const struct cr_truncation *truncation, int64_t most, struct cr_ids *text,
                struct cr_ids *pair, struct cr_error *error);

#endif
