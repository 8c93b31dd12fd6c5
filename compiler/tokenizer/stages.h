/*
 * stages.h - the table of normalization stages: the result of each, and how long it is.
 *
 * The library runs the stages without settings.  Emitted C gets a list of stages and cuts from the
 * rows of the kinds of parts (tokenizer_part.h).
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
    /* stages with settings, which only emitted C runs */
    CR_STRIPPED,
    CR_PREPENDED,
    CR_REPLACED,
    CR_REPLACED_RUNS,
    CR_MAPPED,
    CR_SENTENCEPIECE,
    CR_STAGE_KINDS
};

/* The result of n bytes has at most n * up / down bytes, and computing it needs `work` * n
 * uint32_t of scratch memory.  For stages with settings, the settings determine the bound
 * instead. */
struct cr_stage_row {
    const char *function; /* in emitted C */
    size_t (*make)(const struct cr_stage *stage, struct cr_stage_text *t);
    int up, down, work;
};

extern const struct cr_stage_row cr_stage_rows[CR_STAGE_KINDS];

/* Appends the result of a stage without settings for n bytes of text; *leading becomes the number of its
 * leading bytes. */
void cr_put_stage(struct cr_text *out, const char *text, size_t n, enum cr_stage_kind kind, size_t *leading);

#endif
