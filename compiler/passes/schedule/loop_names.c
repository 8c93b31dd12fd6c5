/* loop_names.c - names the counters of a kernel's outer loops, for readers of the C. */
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

/* Writes the name of the counter of a loop that ends at a length: for a length of one letter, such
 * as T, the letter in lower case, else NAME_index.  No other variable of a body has such a name. */
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

/* Returns a word for the things that a loop runs over, "head" or "batch", judged by the name of its
 * extent; or null. */
static const char *word_of_size(const struct cr_builder *b, int atom)
{
    char text[512];
    if (!b->atom_size[atom] || cr_size_text(cr_named_sizes_of(b->g), b->atom_size[atom], text, sizeof text) > 1)
        return NULL;
    size_t length = strlen(text);
    bool heads = (length >= 4 && !strcmp(text + length - 4, "HEAD")) ||
                 (length >= 5 && !strcmp(text + length - 5, "HEADS"));
    return heads ? "head" : !strcmp(text, "B") ? "batch" : NULL;
}

/* True if the counter of an outer loop before loop i has this name. */
static bool is_used(const struct cr_builder *b, int i, const char *name)
{
    for (int before = 0; before < i; before++)
        if (!strcmp(b->outer_name[before], name))
            return true;
    return false;
}

/* Writes the name of the counter of outer loop i.  It differs from the names of the outer loops
 * before it, since the body may read both counters. */
static void name_loop(const struct cr_builder *b, int i, char name[24])
{
    const struct cr_kernel *k = b->k;
    int atom = k->outer[i], length = k->atoms.length[atom];
    const char *word = cr_parts_of(k)->role ? cr_parts_of(k)->role(b->g, k, i) : NULL;
    int axis = axis_of(&b->g->nodes[k->root], k->dest.coef[atom], k->atoms.extent[atom]);
    char other[24];
    if (length)
        name_by_length(other, b->g->lengths[length - 1].name);
    if (!word)
        word = length ? other : word_of_size(b, atom);
    if (word && !is_used(b, i, word)) {
        snprintf(name, 24, "%s", word);
        return;
    }
    snprintf(other, sizeof other, "axis%d", axis);
    if (axis != CR_NONE && !is_used(b, i, other))
        snprintf(name, 24, "%s", other);
    else
        snprintf(name, 24, "outer%d", i);
}

void cr_name_loops(struct cr_builder *b)
{
    for (int i = 0; i < b->k->n_outer; i++)
        name_loop(b, i, b->outer_name[i]);
}
