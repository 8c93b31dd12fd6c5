/*
 * verify_attention.c - checks the kernels of attention and of its gradients: parts of rows, bounds
 * of the mask, and arrays.
 */
#include <stdlib.h>

#include "attention_parts.h"
#include "compiler/ir/mem.h"
#include "kinds.h"

/* ---- loops ---- */

/* Gives roles to the atoms of the parts of rows.  Parts may share an atom.  A whole row has the
 * atom over which the product of queries and keys sums. */
static bool take_part_roles(struct cr_kernel_check *c, const struct cr_row_parts *parts)
{
    bool fine = parts->n >= 0 && parts->n <= CR_MAX_PARTS;
    for (int i = 0; fine && i < parts->n; i++) {
        int atom = parts->items[i].atom;
        bool known =
            atom == -1 || (atom >= 0 && atom < c->k->atoms.n && c->roles[atom] == CR_LOOP_PART);
        fine = known || (parts->n == 1 && atom == c->k->k) || cr_take_role(c, atom, CR_LOOP_PART);
    }
    return fine;
}

bool cr_take_attention_roles(struct cr_kernel_check *c)
{
    return take_part_roles(c, &c->k->attention_rows.query_parts) &&
           take_part_roles(c, &c->k->attention_rows.key_parts);
}

bool cr_take_gradient_roles(struct cr_kernel_check *c)
{
    return cr_take_role(c, c->k->attention_backward.bucket, CR_LOOP_BUCKET);
}

/* ---- sizes, masks and arrays ---- */

/* Fails unless each bound has at least one edge, and at most one edge that moves with the query:
 * the loops cannot hide a gap between two moving edges. */
static int verify_bounds(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->attention.n_bounds < 0 || k->attention.n_bounds > CR_MAX_BOUNDS)
        return cr_kernel_fault(c, "it has %d bounds", k->attention.n_bounds);
    if (k->attention.n_shifts < 0 || k->attention.n_shifts > CR_MAX_SHIFTS)
        return cr_kernel_fault(c, "its queries stand at %d numbers", k->attention.n_shifts);
    for (int i = 0; i < k->attention.n_shifts; i++) {
        int ref = k->attention.shift[i];
        if (ref < 0 || ref >= k->n_refs || c->g->nodes[k->refs[ref]].dtype != CR_I32 ||
            cr_check_elements(c, k->refs[ref]) != 1)
            return cr_kernel_fault(c, "operand %d is no position", ref);
    }
    for (int i = 0; i < k->attention.n_bounds; i++) {
        const struct cr_bound *bound = &k->attention.bounds[i];
        bool first = cr_has_edge(&bound->first), last = cr_has_edge(&bound->last);
        if (!(first || last) || (bound->first.moves && bound->last.moves))
            return cr_kernel_fault(c, "bound %d has no edge, or two that move", i);
    }
    return 0;
}

/* Fails unless each array of queries by keys has a program (except a sink's), at most one array is
 * scattered and has an index, and `serial` is the set of loops along which whole arrays are
 * summed. */
static int verify_arrays(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    const struct cr_kernel_attention_backward *own = &k->attention_backward;
    int n = own->n_arrays, scattered = 0;
    unsigned serial = 0;
    if (n < 0 || n > CR_MAX_ARRAYS)
        return cr_kernel_fault(c, "it has %d arrays", n);
    for (int i = 0; i < CR_MAX_ARRAYS; i++) {
        bool sink = i < n && own->arrays[i] == CR_OF_SINK;
        if ((own->array[i].n > 0) != (i < n && !sink) || (sink && !k->attention.sink.n) ||
            (i < n && own->arrays[i] > CR_SCATTERED))
            return cr_kernel_fault(c, "array %d is not there, or nothing is made of it", i);
        scattered += i < n && own->arrays[i] == CR_SCATTERED;
        for (int o = 0; i < n && o < k->n_outer; o++)
            if (own->arrays[i] == CR_WHOLE_ARRAY && !k->results[CR_OF_ARRAY + i].coef[k->outer[o]])
                serial |= 1u << k->outer[o];
    }
    if (own->serial != serial)
        return cr_kernel_fault(c, "its loops are not those that its arrays are summed along");
    if (scattered > 1 || (own->index.n > 0) != scattered || (own->bucket >= 0 && !scattered))
        return cr_kernel_fault(c, "it has an index for no table, or a table without");
    const struct cr_value *index = &own->index.values[own->index.result];
    if (scattered && c->g->nodes[index->node].dtype != CR_I32)
        return cr_kernel_fault(c, "its index is no whole number");
    return 0;
}

/* Fails unless each column of the rows is computed by exactly one part, and each part has a
 * program. */
static int verify_row_parts(const struct cr_kernel_check *c, const struct cr_row_parts *parts,
                            const struct cr_tiles *programs)
{
    const struct cr_kernel *k = c->k;
    int64_t K = k->attention.K, made = 0;
    bool *there = cr_calloc((size_t)K, sizeof *there), fine = true;
    for (int p = 0; p < parts->n; p++) {
        const struct cr_row_part *part = &parts->items[p];
        for (int64_t col = 0; fine && col < cr_extent(k, part->atom); col++) {
            int64_t at = part->start + col * part->step;
            fine = at >= 0 && at < K && !there[at];
            if (fine)
                there[at] = true;
            made++;
        }
        fine &= programs[p].n > 0;
    }
    free(there);
    return fine && (made == K || !parts->n)
               ? 0
               : cr_kernel_fault(c, "the parts of its rows are no rows");
}

/* Checks the members that attention and its gradients share. */
static int verify_both(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->attention.K != cr_extent(k, k->k) || k->attention.N != cr_extent(k, k->col))
        return cr_kernel_fault(c, "K or N is not the extent of its loop");
    if (k->attention.keys != cr_extent(k, k->key))
        return cr_kernel_fault(c, "there are not as many keys as its loop has");
    return verify_bounds(c);
}

int cr_verify_attention(const struct cr_kernel_check *c)
{
    const struct cr_kernel_attention_rows *rows = &c->k->attention_rows;
    if (verify_both(c) || verify_row_parts(c, &rows->query_parts, rows->queries) ||
        verify_row_parts(c, &rows->key_parts, rows->keys))
        return -1;
    return cr_verify_core(c, c->k->attention.N, c->k->attention.keys);
}

/* Checks the kernel of an attention's gradients.  It does not end in a matmul of the graph, so
 * cr_verify_core is not called. */
int cr_verify_attention_backward(const struct cr_kernel_check *c)
{
    return verify_both(c) ? -1 : verify_arrays(c);
}
