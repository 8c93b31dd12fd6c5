/*
 * pack_pieces.h - splits the layout of a parameter (pack_weights.h) into pieces.  Several threads read and
 * pack pieces at the same time, so a tensor never has to be in memory as a whole.
 */
#ifndef CR_PACK_PIECES_H
#define CR_PACK_PIECES_H

#include <stdint.h>

#include "pack_weights.h"

/* The smallest bound that may be set on the floats of a piece, and the bound in use; such a piece
 * fits a second-level cache. */
enum { CR_PIECE_LEAST = 1 << 14, CR_PIECE_ROOM = 1 << 17 };

/*
 * A piece, and the elements of its tensor: `lines` runs of `run` elements each.  Element j of run i is element first
 * + i * apart + j * step of the tensor.  Packing reads the runs from a buffer in which they follow one another.
 */
struct cr_weight_piece {
    struct cr_weight_layout layout;
    long first, lines, apart, run, step;
};

/* Returns the number of pieces of at most `room` floats; room is at least CR_PIECE_LEAST. */
CR_API long cr_count_weight_pieces(const struct cr_weight_layout *layout, long room);

/* Returns piece i.  `block` is the size in floats of 32 rows of a panel; it depends on the format of the weights. */
CR_API struct cr_weight_piece cr_get_weight_piece(const struct cr_weight_layout *layout, long room, long block, long i);

/* A function that writes elements first .. first + n - 1 of a tensor to `out`; returns 0, or -1 after a failure. */
typedef int cr_element_source(const void *context, int64_t first, int64_t n, float *out);

/* Reads the elements of a piece into `out`, in the order of its layout.  Reads adjacent runs by one
 * call. Returns 0, or the error of `source`. */
CR_API int cr_read_weight_piece(const struct cr_weight_piece *piece, cr_element_source *source, const void *context,
                         float *out);

#endif
