/* kernel_all_gather.h - the member of struct cr_kernel of ALL_GATHER: an exchange between ranks. */
#ifndef CR_KERNEL_ALL_GATHER_H
#define CR_KERNEL_ALL_GATHER_H

#include "compiler/ir/exchange.h"
#include "tile_program.h"

struct cr_kernel_all_gather {
    struct cr_operand a; /* the tensor that this rank sends */
    struct cr_exchanged moved;
};

#endif
