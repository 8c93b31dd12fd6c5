/* Names the counters of a kernel's outer loops, for readers of the C. */
#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "compiler/ir/identifiers.h"
#include "compiler/passes/module/kernel_kinds.h"

/* Returns the axis of a node's tensor that has `extent` elements and a stride of `coef`; CR_NONE
 * if there is none. */
static int axis_of(const struct cr_node *node, int64_t coef, int64_t extent)
{
    int64_t stride = 1;
    for (int axis = node->rank - 1; axis >= 0; axis--) {
        if (stride == coef && node->shape[axis] == extent)
            return axis;
        stride *= node->shape[axis];
    }
    return CR_NONE;
}

/* Writes the name of a loop counter whose end is a length: for a length of one letter, such as T,
 * the letter in lower case, else NAME_index.  No other variable of a body has such a name. */
static void name_by_length(char name[24], const char *length)
{
    char plain[17];
    cr_identifier(plain, sizeof plain, length);
    char small = *plain >= 'A' && *plain <= 'Z' ? (char)(*plain - 'A' + 'a') : *plain;
    if (*plain && !plain[1] && !strchr("amnr_", small))
        snprintf(name, 24, "%c", small);
    else
        snprintf(name, 24, "%s_index", *plain ? plain : "length");
}

/* Writes the name of the counter of outer loop i. */
static void name_loop(const struct cr_builder *b, int i, char name[24])
{
    const struct cr_kernel *k = b->k;
    int atom = k->outer[i], length = k->atoms.length[atom];
    const char *role = cr_parts_of(k)->role ? cr_parts_of(k)->role(b->g, k, i) : NULL;
    int axis = axis_of(&b->g->nodes[k->root], k->dest.coef[atom], k->atoms.extent[atom]);
    if (role)
        snprintf(name, 24, "%s", role);
    else if (length)
        name_by_length(name, b->g->lengths[length - 1].name);
    else
        snprintf(name, 24, axis == CR_NONE ? "outer%d" : "axis%d", axis == CR_NONE ? i : axis);
}

void cr_name_loops(struct cr_builder *b)
{
    for (int i = 0; i < b->k->n_outer; i++)
        name_loop(b, i, b->outer_name[i]);
}
