/* term_map.c - a hash table that maps terms to rewritten terms; see term_map.h. */
#include "term_map.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

/* Compares nothing: the address of a term is its hash, so an item with that hash is the term's. */
static bool is_any(const void *context, int item)
{
    (void)context;
    (void)item;
    return true;
}

cr_t cr_term_map_find(const struct cr_term_map *map, cr_t from)
{
    int item = cr_table_find(&map->table, (uintptr_t)from, is_any, NULL);
    return item < 0 ? NULL : map->items[item].to;
}

void cr_term_map_add(struct cr_term_map *map, cr_t from, cr_t to)
{
    cr_table_add(&map->table, (uintptr_t)from, map->n);
    *CR_PUSH(map->items, map->n, map->cap) = (struct cr_term_pair){from, to};
}

void cr_term_map_free(struct cr_term_map *map)
{
    free(map->items);
    cr_table_free(&map->table);
    *map = (struct cr_term_map){0};
}
