/* kernel_titles.h - titles of kernels. */
#ifndef CR_KERNEL_TITLES_H
#define CR_KERNEL_TITLES_H

#include "compiler/ir/hash.h"
#include "compiler/passes/module/module.h"

/* The names of the values of a graph, found once for all its kernels. */
struct cr_titles {
    const struct cr_module *m;
    const struct cr_graph *g;
    const char **name;     /* by node: its own name, or the name of its first view; or null */
    bool *replaces;         /* by node: it is the next value of a state, and has the state's name */
    bool *shared;           /* by node: kernels of other nodes have its scope as a title, too */
    struct cr_names leaves; /* names of inputs and parameters */
};

void cr_titles_find(struct cr_titles *titles, const struct cr_module *m);
void cr_titles_free(struct cr_titles *titles);

/*
 * Writes the title of a kernel: the name of its result or of a view of the result, else the scope
 * it was made in, and the op of the result if several kernels would have that title.  The title is
 * "next NAME" if the result replaces a state, or if an input or a parameter has the same name.
 */
void cr_kernel_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root);

#endif
