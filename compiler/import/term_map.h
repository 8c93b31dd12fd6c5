/* term_map.h - from terms to what became of them: a hash table. */
#ifndef CR_ONNX_TERM_MAP_H
#define CR_ONNX_TERM_MAP_H

#include "term.h"

struct cr_term_pair {
    cr_t from, to;
};

struct cr_term_map {
    struct cr_term_pair *items;
    int n, cap;
};

/* Null if there is none. */
cr_t cr_term_map_find(const struct cr_term_map *map, cr_t from);
void cr_term_map_add(struct cr_term_map *map, cr_t from, cr_t to);
void cr_term_map_free(struct cr_term_map *map);

#endif
