/*
 * place_pieces.h - places of the weights (place.h) cut into pieces, which are read and placed one by one,
 * by several threads at once: no tensor need be in memory as a whole.
 */
#ifndef CR_PLACE_PIECES_H
#define CR_PLACE_PIECES_H

#include <stdint.h>

#include "place.h"

/* Floats that a piece may have, at the least and a good number: they stay in a second-level cache. */
enum { CR_PIECE_LEAST = 1 << 14, CR_PIECE_ROOM = 1 << 17 };

/*
 * A piece, and which elements of its tensor it has: `lines` runs, of which run i is the elements
 * first + i * apart + j * step for j < run.  The place reads them where they stand one run after
 * another.
 */
struct cr_place_piece {
    struct cr_place place;
    long first, lines, apart, run, step;
};

/* Returns how many pieces of at most `room` floats a place has; room is at least CR_PIECE_LEAST. */
CR_API long cr_place_pieces(const struct cr_place *place, long room);

/* Piece i of them.  `block` is what 32 rows of a panel take, in floats: it depends on the format. */
CR_API struct cr_place_piece cr_place_piece_at(const struct cr_place *place, long room, long block, long i);

/* Makes n elements of a tensor from `first` on; 0, or -1 if that fails. */
typedef int cr_place_source(const void *context, int64_t first, int64_t n, float *out);

/* The elements of a piece, for its place to read; runs that touch are one. */
CR_API int cr_place_piece_read(const struct cr_place_piece *piece, cr_place_source *source, const void *context,
                         float *out);

#endif
