/* term_map.c - a hash table that maps terms to rewritten terms; see term_map.h. */
#include "term_map.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

static struct cr_term_pair *slot(const struct cr_term_map *map, cr_t from)
{
    unsigned at = (unsigned)((uintptr_t)from >> 4) & (unsigned)(map->cap - 1);
    while (map->items[at].from && map->items[at].from != from)
        at = (at + 1) & (unsigned)(map->cap - 1);
    return &map->items[at];
}

cr_t cr_term_map_find(const struct cr_term_map *map, cr_t from)
{
    return map->cap ? slot(map, from)->to : NULL;
}

void cr_term_map_add(struct cr_term_map *map, cr_t from, cr_t to)
{
    if (2 * map->n >= map->cap) {
        struct cr_term_map old = *map;
        map->cap = old.cap ? 2 * old.cap : 256;
        map->items = cr_calloc((size_t)map->cap, sizeof *map->items);
        for (int i = 0; i < old.cap; i++)
            if (old.items[i].from)
                *slot(map, old.items[i].from) = old.items[i];
        free(old.items);
    }
    *slot(map, from) = (struct cr_term_pair){from, to};
    map->n++;
}

void cr_term_map_free(struct cr_term_map *map)
{
    free(map->items);
    *map = (struct cr_term_map){0};
}
