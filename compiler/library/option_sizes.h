/* option_sizes.h - expresses sizes of a graph as products of the options of its script. */
#ifndef CR_OPTION_SIZES_H
#define CR_OPTION_SIZES_H

#include "compiler/ir/named_sizes.h"
#include "handles.h"

/* Expresses sizes of the script's nodes by its options (compiler/ir/named_sizes.h).  Runs the script once
 * or more for each option that is a number.  Without options, only bounds of lengths have names.  Returns
 * null if there are options and no size depends on them. */
struct cr_named_sizes *cr_find_option_sizes(const crescent_graph *graph);

#endif
