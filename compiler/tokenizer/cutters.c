/* cutters.c - cutting character by character, compiled for the library; see cutters.h. */
#include "cutters.h"

#include "scanner.h"

/* The order matters: each file uses those above it. */
#include "leading.inc"

#include "characters.inc"

#include "class_runs.inc"

#include "bert_classes.inc"

#include "bert_class_of.inc"

#include "script_runs.inc"

static int cr_class(uint32_t character)
{
    return cr_class_of(character);
}

#include "cut_characters.inc"

#define BY_CLASS(function, joined)                                                                 \
    {                                                                                              \
        "cr_piece_by_class", #function, {.piece = cr_piece_by_class, .class_of = function, .joins = joined} \
    }

const struct cr_cut_row cr_cut_rows[CR_CUT_KINDS] = {
    [CR_CUT_SPACE] = BY_CLASS(cr_cut_space, CR_JOINS_11),
    [CR_CUT_BERT] = BY_CLASS(cr_cut_bert, CR_JOINS_11),
    [CR_CUT_PUNCTUATION] = BY_CLASS(cr_cut_punctuation, CR_JOINS_11),
    [CR_CUT_DIGITS] = BY_CLASS(cr_cut_digits, CR_JOINS_11),
    [CR_CUT_WORDS] = BY_CLASS(cr_cut_words, CR_JOINS_11 | CR_JOINS_22),
    [CR_CUT_CHARACTER] = BY_CLASS(cr_cut_character, CR_JOINS_11),
    [CR_CUT_SCRIPTS] = {"cr_piece_by_script", NULL, {.piece = cr_piece_by_script}},
};

/* A character of class 2 is a match of its own; characters of class 1 are the text between matches.
 * With `invert`, that text counts as the match. */
struct cr_cutter cr_cutter_of(enum cr_cut_kind kind, enum cr_behavior behavior, bool invert)
{
    struct cr_cutter cutter = cr_cut_rows[kind].cutter;
    cutter.joins = CR_JOINS_11;
    if (behavior == CR_REMOVED)
        cutter.drops = invert ? 1 : 2;
    else if (behavior == CR_CONTIGUOUS)
        cutter.joins |= CR_JOINS_22;
    else if (behavior != CR_ISOLATED)
        cutter.joins |= (behavior == CR_MERGED_WITH_NEXT) == invert ? CR_JOINS_12 : CR_JOINS_21;
    return cutter;
}

void cr_cut_by(const struct cr_cutter *cutter, struct cr_pieces *out, const char *text, size_t n,
               size_t leading)
{
    size_t begin = 0, end = 0;
    while ((end = cutter->piece(cutter, text, n, end, &begin)) > 0)
        cr_add_piece(out, text + begin, end - begin, cr_leading_from(leading, begin));
}
