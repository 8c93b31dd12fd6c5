/* stages.c - the stages of normalizing, compiled for the library; see stages.h. */
#include "stages.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/files/utf8_put.h"
#include "compiler/ir/mem.h"
#include "scanner.h"

/* The order matters: each file uses those above it. */
#include "leading.inc"

#include "leading_characters.inc"

#include "characters.inc"

#include "class_runs.inc"

#include "compositions.inc"

#include "normal_forms.inc"

#include "compatible.inc"

#include "lower_case.inc"

#include "bert_classes.inc"

#include "bert_class_of.inc"

static int cr_class(uint32_t character)
{
    return cr_class_of(character);
}

#include "text_stages.inc"

const struct cr_stage_row cr_stage_rows[CR_STAGE_KINDS] = {
    [CR_NFC] = {"cr_make_nfc", cr_make_nfc, 3, 1, 4},
    [CR_NFD] = {"cr_make_nfd", cr_make_nfd, 3, 1, 4},
    [CR_NFKC] = {"cr_make_nfkc", cr_make_nfkc, 11, 1, 12},
    [CR_NFKD] = {"cr_make_nfkd", cr_make_nfkd, 11, 1, 12},
    [CR_LOWER] = {"cr_make_lower", cr_make_lower, 3, 2, 0},
    [CR_UNACCENTED] = {"cr_make_unaccented", cr_make_unaccented, 1, 1, 0},
    [CR_BERT_CLEAN] = {"cr_make_bert_clean", cr_make_bert_clean, 1, 1, 0},
    [CR_BERT_APART] = {"cr_make_bert_apart", cr_make_bert_apart, 5, 3, 0},
    [CR_BERT_UNMARKED] = {"cr_make_bert_unmarked", cr_make_bert_unmarked, 3, 1, 4},
    [CR_NMT] = {"cr_make_nmt", cr_make_nmt, 1, 1, 0},
    [CR_STRIPPED] = {"cr_make_stripped", NULL, 1, 1, 0},
    [CR_PREPENDED] = {"cr_make_prepended", NULL, 1, 1, 0},
    [CR_REPLACED] = {"cr_make_replaced", NULL, 1, 1, 0},
    [CR_REPLACED_RUNS] = {"cr_make_replaced_runs", NULL, 1, 1, 0},
    [CR_MAPPED] = {"cr_make_mapped", NULL, 1, 1, 0},
    [CR_SENTENCEPIECE] = {"cr_make_sentencepiece", NULL, 1, 1, 0},
};

static bool is_ascii(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n && (unsigned char)text[at] < 0x80)
        at++;
    return at == n;
}

/* Copies text that is ASCII only, as it is in every normal form. */
void cr_put_stage(struct cr_text *out, const char *text, size_t n, enum cr_stage_kind kind, size_t *leading)
{
    const struct cr_stage_row *row = &cr_stage_rows[kind];
    if (kind <= CR_NFKD && is_ascii(text, n)) {
        cr_put_bytes(out, text, n);
        return;
    }
    uint32_t *work = cr_calloc((size_t)row->work * n, sizeof *work);
    char *made = cr_calloc(n * (size_t)row->up / (size_t)row->down + 1, 1);
    struct cr_stage_text t = {.text = text, .n = n, .out = made, .work = work, .leading = *leading};
    cr_put_bytes(out, made, row->make(NULL, &t));
    *leading = t.leading;
    free(made);
    free(work);
}
