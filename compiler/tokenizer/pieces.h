/*
 * pieces.h - a text that is cut into pieces, some of which are added tokens.
 */
#ifndef CR_PIECES_H
#define CR_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/text.h"
#include "pattern.h"

enum { CR_NO_TOKEN = -1 };

struct cr_piece {
    size_t at, length; /* its position in `text`; not set for a token */
    int32_t token;     /* the id of an added token, or CR_NO_TOKEN for text */
    size_t leading;    /* the number of its leading bytes: they stand for the first character of the
                          input (leading.inc) */
};

/* Pieces of a text; all zero if there are none. */
struct cr_pieces {
    struct cr_text text;
    struct cr_piece *items;
    int n, cap;
};

/* Defines how a match is treated when text is cut; the names are taken from the tokenizers
 * library. */
enum cr_behavior {
    CR_REMOVED,
    CR_ISOLATED,
    CR_MERGED_WITH_PREVIOUS,
    CR_MERGED_WITH_NEXT,
    CR_CONTIGUOUS
};

/* Appends a piece of text, unless it is empty; the second function appends a token. */
void cr_add_piece(struct cr_pieces *pieces, const char *text, size_t length, size_t leading);
void cr_add_token(struct cr_pieces *pieces, int32_t token);

/* Removes all pieces, but keeps the memory. */
void cr_empty_pieces(struct cr_pieces *pieces);
void cr_free_pieces(struct cr_pieces *pieces);

/* Cuts a text by a pattern and appends the pieces.  With `invert`, the text between matches is
 * treated as a match, and matches as text. */
int cr_cut(struct cr_pieces *pieces, const struct cr_pattern *pattern, enum cr_behavior behavior,
           bool invert, const char *text, size_t n, size_t leading, struct cr_error *error);

#endif
