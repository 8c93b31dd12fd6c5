#include "index_map.h"

#include <string.h>

struct cr_affine cr_affine_atom(int atom)
{
    struct cr_affine affine = {0};
    if (atom >= 0)
        affine.coef[atom] = 1;
    return affine;
}

unsigned cr_affine_atoms(const struct cr_affine *affine)
{
    unsigned atoms = 0;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (affine->coef[a])
            atoms |= 1u << a;
    return atoms;
}

void cr_affine_add(struct cr_affine *sum, const struct cr_affine *term, int64_t factor)
{
    sum->base += factor * term->base;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        sum->coef[a] += factor * term->coef[a];
}

struct cr_affine cr_map_linear(const struct cr_map *map, int rank, const int64_t *shape)
{
    struct cr_affine linear = {0};
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        cr_affine_add(&linear, &map->axis[i], stride);
        stride *= shape[i];
    }
    return linear;
}

/* Returns the largest value of an affine index, whose coefficients are never negative. */
static int64_t affine_max(const struct cr_affine *affine, const struct cr_atoms *atoms)
{
    int64_t max = affine->base;
    for (int a = 0; a < atoms->n; a++)
        max += affine->coef[a] * (atoms->extent[a] - 1);
    return max;
}

bool cr_affine_covers(const struct cr_affine *affine, const struct cr_atoms *atoms, int64_t size)
{
    if (affine->base != 0)
        return false;
    /* in a mixed radix each coefficient is the product of the extents of all lower atoms */
    int64_t reach = 1;
    for (bool found = true; found && reach < size;) {
        found = false;
        for (int a = 0; a < atoms->n && !found; a++) {
            if (affine->coef[a] == reach && atoms->extent[a] > 1) {
                reach *= atoms->extent[a];
                found = true;
            }
        }
    }
    return reach == size && affine_max(affine, atoms) == size - 1;
}

int cr_affine_single(const struct cr_affine *affine)
{
    int single = -1;
    for (int a = 0; a < CR_MAX_ATOMS; a++) {
        if (affine->coef[a] == 0)
            continue;
        if (single >= 0 || affine->coef[a] != 1)
            return -1;
        single = a;
    }
    return affine->base == 0 ? single : -1;
}

/*
 * Adds one term of an offset, coef * atom, to the index of the axis along which it moves.  A term
 * that would cross into the axis above requires a split of the atom at the end of the axis.
 */
static enum cr_map_status place_term(int rank, const int64_t *shape, const int64_t *stride,
                                     int atom, int64_t coef, int64_t extent, struct cr_map *out,
                                     struct cr_split *split)
{
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 1 || stride[i] > coef)
            continue;
        int64_t end = stride[i] * shape[i];
        if (coef % stride[i] != 0)
            return CR_MAP_FAIL;
        if (coef * (extent - 1) < end) {
            out->axis[i].coef[atom] += coef / stride[i];
            return CR_MAP_OK;
        }
        if (end % coef != 0 || extent % (end / coef) != 0)
            return CR_MAP_FAIL;
        *split = (struct cr_split){atom, end / coef};
        return CR_MAP_SPLIT;
    }
    return CR_MAP_FAIL;
}

/* Converts a linear offset to the indices of a shape. */
static enum cr_map_status delinearise(const struct cr_affine *linear, const struct cr_atoms *atoms,
                                      int rank, const int64_t *shape, struct cr_map *out,
                                      struct cr_split *split)
{
    int64_t stride[CR_MAX_RANK], base = linear->base, step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i];
    }
    for (int a = 0; a < atoms->n; a++) {
        if (linear->coef[a] == 0 || atoms->extent[a] == 1)
            continue;
        enum cr_map_status status =
            place_term(rank, shape, stride, a, linear->coef[a], atoms->extent[a], out, split);
        if (status != CR_MAP_OK)
            return status;
    }
    for (int i = 0; i < rank; i++) {
        out->axis[i].base = base / stride[i];
        base %= stride[i];
        if (affine_max(&out->axis[i], atoms) >= shape[i])
            return CR_MAP_FAIL; /* the index overflows into the next axis */
    }
    return CR_MAP_OK;
}

enum cr_map_status cr_map_operand(const struct cr_graph *g, cr_id id, const struct cr_atoms *atoms,
                                  const struct cr_map *map, struct cr_map *operand,
                                  struct cr_split *split)
{
    const struct cr_node *node = &g->nodes[id], *in = &g->nodes[cr_in(g, id, 0)];
    struct cr_affine linear;
    memset(operand->axis, 0, (size_t)in->rank * sizeof *operand->axis);
    switch (node->op) {
    case CR_OP_permute:
        for (int i = 0; i < node->rank; i++)
            operand->axis[node->index[i]] = map->axis[i];
        return CR_MAP_OK;
    case CR_OP_expand:
        for (int i = 0; i < in->rank; i++)
            if (in->shape[i] > 1)
                operand->axis[i] = map->axis[node->rank - in->rank + i];
        return CR_MAP_OK;
    case CR_OP_detach:
    case CR_OP_limit:
        memcpy(operand->axis, map->axis, (size_t)node->rank * sizeof *map->axis);
        return CR_MAP_OK;
    case CR_OP_slice:
        for (int i = 0; i < node->rank; i++) {
            operand->axis[i] = map->axis[i];
            operand->axis[i].base += node->index[i];
        }
        return CR_MAP_OK;
    default: /* a reshape */
        linear = cr_map_linear(map, node->rank, node->shape);
        return delinearise(&linear, atoms, in->rank, in->shape, operand, split);
    }
}

enum cr_map_status cr_map_result(const struct cr_graph *g, cr_id id, const struct cr_atoms *atoms,
                                 const struct cr_map *map, struct cr_map *result)
{
    const struct cr_node *node = &g->nodes[id], *in = &g->nodes[cr_in(g, id, 0)];
    struct cr_split split;
    memset(result, 0, sizeof *result);
    if (node->op == CR_OP_permute) {
        for (int i = 0; i < node->rank; i++)
            result->axis[i] = map->axis[node->index[i]];
        return CR_MAP_OK;
    }
    struct cr_affine linear = cr_map_linear(map, in->rank, in->shape);
    return delinearise(&linear, atoms, node->rank, node->shape, result, &split);
}
