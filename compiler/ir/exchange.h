/* exchange.h - what ranks exchange, as kernels and steps describe it. */
#ifndef CR_EXCHANGE_H
#define CR_EXCHANGE_H

#include <stdint.h>

/*
 * What an exchange moves: `pieces` pieces, each of up to `rows` rows of `width` elements.  In the result a
 * rank's tensor follows that of the rank before it.
 */
struct cr_exchanged {
    int ranks;
    int64_t pieces, rows, width;
    int length; /* the number of rows is this length; or CR_NONE: it is `rows` */
};

#endif
