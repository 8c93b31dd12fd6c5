/* kernel_all_gather.h - what only an ALL_GATHER has: an exchange between ranks. */
#ifndef CR_KERNEL_ALL_GATHER_H
#define CR_KERNEL_ALL_GATHER_H

#include "compiler/ir/exchange.h"
#include "tile_program.h"

struct cr_kernel_all_gather {
    struct cr_operand a; /* this rank's tensor */
    struct cr_exchanged moved;
};

#endif
