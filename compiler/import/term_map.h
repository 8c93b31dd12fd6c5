/* term_map.h - a hash table that maps terms to rewritten terms. */
#ifndef CR_ONNX_TERM_MAP_H
#define CR_ONNX_TERM_MAP_H

#include "compiler/ir/hash.h"
#include "term.h"

struct cr_term_pair {
    cr_t from, to;
};

struct cr_term_map {
    struct cr_term_pair *items;
    int n, cap;
    struct cr_table table; /* a hash table of the items, by the addresses of their terms `from` */
};

/* Returns the term that `from` maps to, or null. */
cr_t cr_term_map_find(const struct cr_term_map *map, cr_t from);
void cr_term_map_add(struct cr_term_map *map, cr_t from, cr_t to);
void cr_term_map_free(struct cr_term_map *map);

#endif
