/* option_sizes.h - expresses sizes in a graph as products of the script's options. */
#ifndef CR_OPTION_SIZES_H
#define CR_OPTION_SIZES_H

#include "compiler/ir/named_sizes.h"
#include "handles.h"

/* Expresses the sizes of the script's nodes by its options (compiler/ir/named_sizes.h).  Runs the
 * script several times for each option that is a number.  If there are no options, only bounds of
 * lengths have names.  Returns null if there are options but no size depends on them. */
struct cr_named_sizes *cr_find_option_sizes(const crescent_graph *graph);

#endif
