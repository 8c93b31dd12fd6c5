/*
 * index_map.h - describes how a kernel's loops index the elements of a tensor.
 *
 * The loop variables of a kernel are its *atoms*: each runs from 0 to its extent.  An index map
 * gives, for every axis of a node, the index along it as an affine function of the atoms.  The map
 * of a reshape, permute, expand or slice is turned into the map of its operand, so these ops cost
 * nothing at run time.
 *
 * A reshape may need an atom split in two (768 columns into 12 heads of 64); the kernel is then
 * lowered anew with the finer atoms.
 */
#ifndef CR_INDEX_MAP_H
#define CR_INDEX_MAP_H

#include "compiler/ir/graph.h"

enum { CR_MAX_ATOMS = 12 };

/* The affine index base + the sum of coef[a] * (atom a). */
struct cr_affine {
    int64_t base;
    int64_t coef[CR_MAX_ATOMS];
};

struct cr_map {
    struct cr_affine axis[CR_MAX_RANK];
};

struct cr_atoms {
    int n;
    int64_t extent[CR_MAX_ATOMS];
    int length[CR_MAX_ATOMS]; /* 1 + the number of the length that ends the loop, or 0 */
};

enum cr_map_status {
    CR_MAP_OK,
    CR_MAP_SPLIT, /* an atom must be split first */
    CR_MAP_FAIL,  /* the index is not affine */
};

/* A split of an atom: `atom` becomes (extent / low) x low. */
struct cr_split {
    int atom;
    int64_t low;
};

/* Computes the map of a movement op's operand from the map of its result. */
enum cr_map_status cr_map_operand(const struct cr_graph *g, cr_id id, const struct cr_atoms *atoms,
                                  const struct cr_map *map, struct cr_map *operand,
                                  struct cr_split *split);

/* The inverse: computes the map of the result of a reshape or permute from the map of its
 * operand. */
enum cr_map_status cr_map_result(const struct cr_graph *g, cr_id id, const struct cr_atoms *atoms,
                                 const struct cr_map *map, struct cr_map *result);

/* Returns the affine offset of an element in a row-major tensor of this shape. */
struct cr_affine cr_map_linear(const struct cr_map *map, int rank, const int64_t *shape);

struct cr_affine cr_affine_atom(int atom);

/* Returns the atoms on which an affine index depends, as bits. */
unsigned cr_affine_atoms(const struct cr_affine *affine);
void cr_affine_add(struct cr_affine *sum, const struct cr_affine *term, int64_t factor);

/* True if an affine index takes each value 0 .. size-1 exactly once, over the atoms on which it
 * depends. */
bool cr_affine_covers(const struct cr_affine *affine, const struct cr_atoms *atoms, int64_t size);

/* If an affine index is a single atom, with coefficient 1 and base 0, returns the atom; else -1. */
int cr_affine_single(const struct cr_affine *affine);

#endif
