/*
 * stages.h - the table of normalization stages: the function of each, and a bound of its result's
 * length.
 *
 * The library runs only stages without settings.  Emitted C has a list of stages and cuts, which
 * the rows of the kinds of parts make (tokenizer_part.h).
 */
#ifndef CR_STAGES_H
#define CR_STAGES_H

#include <stdbool.h>

#include "compiler/ir/text.h"
#include "stage.h"

enum cr_stage_kind {
    CR_NFC,
    CR_NFD,
    CR_NFKC,
    CR_NFKD,
    CR_LOWER,
    CR_UNACCENTED,
    CR_BERT_CLEAN,
    CR_BERT_APART,
    CR_BERT_UNMARKED,
    CR_NMT,
    /* the following stages have settings; only emitted C runs them */
    CR_STRIPPED,
    CR_PREPENDED,
    CR_REPLACED,
    CR_REPLACED_RUNS,
    CR_MAPPED,
    CR_SENTENCEPIECE,
    CR_STAGE_KINDS
};

/* The result for n bytes has at most n * up / down bytes; computing it needs n * `work` uint32_t of
 * scratch memory.  For stages with settings, the bound follows from the settings instead. */
struct cr_stage_row {
    const char *function; /* its name in emitted C */
    size_t (*make)(const struct cr_stage *stage, struct cr_stage_text *t);
    int up, down, work;
};

extern const struct cr_stage_row cr_stage_rows[CR_STAGE_KINDS];

/* Appends the result of a stage without settings for n bytes of text.  Converts *leading to the
 * number of leading bytes of the result. */
void cr_put_stage(struct cr_text *out, const char *text, size_t n, enum cr_stage_kind kind, size_t *leading);

#endif
