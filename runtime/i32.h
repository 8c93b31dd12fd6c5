/*
 * i32.h - the functions of the runtime on tiles of i32, like those of runtime.h on floats.
 *
 * Arithmetic wraps modulo 2^32, in two's complement, so the order of a sum does not matter.  A bool
 * is a float here, too: comparisons return floats, and the first operand of where is a float.
 */
#ifndef CR_I32_H
#define CR_I32_H

#include "elementwise.h"
#include "reductions.h"

/* The table of functions other than elementwise ops and reductions; see CR_FUNCTIONS of
 * runtime.h. */
/* clang-format off */
#define CR_FUNCTIONS_I32 \
    CR_FUNCTION(load, void, (long rows, long cols, int *y, long ldy, const int *x, long rs, long cs)) \
    CR_FUNCTION(store, void, (long rows, long cols, int *y, long rs, long cs, const int *x, long ldx)) \
    CR_FUNCTION(iota, void, (long rows, long cols, int *y, long ldy, long base, long rs, long cs)) \
        /* y[r, c] = base + r * rs + c * cs, an index */ \
    CR_FUNCTION(cumsum, void, (long rows, long cols, int *y, long ldy, const int *x, long ldx)) \
    CR_FUNCTION(gather, void, (long rows, long cols, int *y, long ldy, const int *table, long ldt, \
                               long table_rows, const int *index)) \
        /* y[r, :] = table[index[r], :]; an index outside 0 <= i < table_rows yields a row of -2^31 */ \
    CR_FUNCTION(lookup, void, (long rows, long cols, int *y, long ldy, const int *table, long ldt, \
                               long table_rows, const int *index, long ldi))
        /* y[r, c] = table[index[r, c] * ldt]; an index outside 0 <= i < table_rows yields -2^31 */
/* clang-format on */

#define CR_MEMBERS_I32 CR_VARIANTS_I32 CR_FUNCTIONS_I32

#include "members_i32.h" /* only for crescent */

#endif
