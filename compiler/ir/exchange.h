/* exchange.h - the tensor that ranks exchange, as kernels and steps describe it. */
#ifndef CR_EXCHANGE_H
#define CR_EXCHANGE_H

#include <stdint.h>

/*
 * The tensor that each rank gives to an exchange: `pieces` pieces, each of up to `rows` rows of
 * `width` elements. The result holds the tensors of all ranks, in their order.
 */
struct cr_exchanged {
    int ranks;
    int64_t pieces, rows, width;
    int length; /* the number of rows is this length; or CR_NONE: it is `rows` */
};

#endif
