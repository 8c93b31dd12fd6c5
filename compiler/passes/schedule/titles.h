/* titles.h - what kernels are called after. */
#ifndef CR_TITLES_H
#define CR_TITLES_H

#include "compiler/ir/hash.h"
#include "compiler/passes/module/module.h"

/* The names that values of a graph have, found once for all its kernels. */
struct cr_titles {
    const struct cr_graph *g;
    const char **name;     /* by node: its own, or that of the first view that has one; or null */
    bool *replaces;         /* by node: the name is that of a state, whose next value it is */
    struct cr_names leaves; /* of inputs and parameters */
};

void cr_titles_find(struct cr_titles *titles, const struct cr_graph *g);
void cr_titles_free(struct cr_titles *titles);

/*
 * What a kernel is called after: the name of its result, or of what is a view of it, else the
 * scope it was made in.  Of what replaces a state, or a parameter or an input of its name,
 * "next NAME".
 */
void cr_kernel_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root);

#endif
