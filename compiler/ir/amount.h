/* amount.h - formats a number of bytes for people: "7.6 GiB". */
#ifndef CR_AMOUNT_H
#define CR_AMOUNT_H

#include <stdint.h>

struct cr_amount {
    char text[24];
};

struct cr_amount cr_amount(int64_t bytes);

#endif
