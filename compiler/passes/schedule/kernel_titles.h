/* kernel_titles.h - finds titles for kernels and functions. */
#ifndef CR_KERNEL_TITLES_H
#define CR_KERNEL_TITLES_H

#include "compiler/ir/hash.h"
#include "compiler/passes/module/module.h"

/* The names of the values of a graph, found once and used for all its kernels. */
struct cr_titles {
    const struct cr_module *m;
    const struct cr_graph *g;
    const char **name;      /* by node: the node's own name, or the name of its first view; null
                               without either */
    bool *replaces;         /* by node: true if the node is the next value of a state and has the
                               state's name */
    int *kernel;            /* by node: the kernel whose root the node is, or -1 */
    unsigned *parts;        /* by node: the parts that the node's title has besides the name, as
                               bits (title_parts.h) */
    int *calls;             /* by kernel: the number of kernels that share its function */
    const char **role;      /* by node: the role of the node as an operand of an attention, such as
                               "queries"; or null */
    struct cr_names leaves; /* names of inputs and parameters */
};

void cr_titles_find(struct cr_titles *titles, const struct cr_module *m);
void cr_titles_free(struct cr_titles *titles);

/*
 * Writes the title of a node: its name, the name of a view of it, or the scope it was made in.  If
 * several kernels would have that scope as a title, adds parts that distinguish them
 * (title_parts.h).  The title is "next NAME" if the node replaces a state, or if an input or a
 * parameter has the same name.
 */
void cr_node_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id id);

/* Writes the title of a kernel's function: the title of its root node, and the parts that
 * distinguish the function from others, even if the root has a name. */
void cr_function_title(char *buffer, size_t size, const struct cr_titles *titles, cr_id root);

enum { CR_FUNCTION_NAME = 64 };

/* Writes the title of a function as part of a C identifier.  If it would be too long, leaves out
 * outer scopes. */
void cr_function_name(char buffer[CR_FUNCTION_NAME], const struct cr_titles *titles, cr_id root);

#endif
