/* truncation.h - truncates the ids of texts that are too long, as tokenizer.json prescribes. */
#ifndef CR_TRUNCATION_H
#define CR_TRUNCATION_H

#include "bpe.h"
#include "compiler/json/document.h"

/* The settings in a file; with all zero, the longer text is cut first, at its end. */
struct cr_truncation {
    int64_t most; /* the limit of ids, including special ids; 0: no limit */
    enum cr_truncation_strategy strategy;
    bool left; /* ids are cut off at the begin instead of the end */
};

/* Reads the member `truncation` of a tokenizer.json, which may be missing. */
int cr_read_truncation(struct cr_truncation *truncation, const struct cr_document *document,
                       struct cr_error *error);

/* Truncates the ids of a text, and of a second one if `pair` is not null, to at most `most` ids in
 * total; to none if `most` is 0 or less.  Fails if the strategy allows to cut only one text, and
 * that is too short. */
int cr_truncate(const struct cr_truncation *truncation, int64_t most, struct cr_ids *text,
                struct cr_ids *pair, struct cr_error *error);

#endif
