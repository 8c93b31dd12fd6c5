/*
 * pieces.h - a text that was split into pieces, some of which are tokens already.
 */
#ifndef CR_PIECES_H
#define CR_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/text.h"
#include "pattern.h"

enum { CR_NO_TOKEN = -1 };

struct cr_piece {
    size_t at, length; /* in `text` below; unused for a token */
    int32_t token;     /* or CR_NO_TOKEN */
    size_t leading;    /* how many of its leading bytes stand for the first character of the input (leading.inc) */
};

/* All zero is empty. */
struct cr_pieces {
    struct cr_text text;
    struct cr_piece *items;
    int n, cap;
};

/* The treatment of a match, named as in the tokenizers library. */
enum cr_behavior {
    CR_REMOVED,
    CR_ISOLATED,
    CR_MERGED_WITH_PREVIOUS,
    CR_MERGED_WITH_NEXT,
    CR_CONTIGUOUS
};

/* Adds a piece of text, unless it is empty; or adds a token. */
void cr_add_piece(struct cr_pieces *pieces, const char *text, size_t length, size_t leading);
void cr_add_token(struct cr_pieces *pieces, int32_t token);

/* Removes all pieces and keeps the memory. */
void cr_empty_pieces(struct cr_pieces *pieces);
void cr_free_pieces(struct cr_pieces *pieces);

/* Cuts a text by a pattern and appends the pieces.  With `invert` the text between matches counts
 * as a match. */
int cr_cut(struct cr_pieces *pieces, const struct cr_pattern *pattern, enum cr_behavior behavior,
           bool invert, const char *text, size_t n, size_t leading, struct cr_error *error);

#endif
