/* exchange.h - describes the tensor that ranks exchange, in kernels and in steps. */
#ifndef CR_EXCHANGE_H
#define CR_EXCHANGE_H

#include <stdint.h>

/*
 * The tensor that each rank contributes to an exchange: `pieces` pieces, each of up to `rows`
 * rows of `width` elements.  The result holds the tensors of all ranks, in order of rank.
 */
struct cr_exchanged {
    int ranks;
    int64_t pieces, rows, width;
    int length; /* index of the length that is the number of rows; CR_NONE: the number is `rows` */
};

#endif
