/*
 * hash.h - hash tables of integers and of names.
 *
 * A table finds integers by a hash.  Its owner defines what each integer identifies, and when two
 * integers count as equal.  A zeroed struct is an empty table.
 */
#ifndef CR_HASH_H
#define CR_HASH_H

#include <stdbool.h>
#include <stdint.h>

struct cr_hash_slot {
    uint64_t hash;
    int item; /* -1: the slot is free */
};

struct cr_table {
    struct cr_hash_slot *slots;
    int n, size; /* size is a power of two, or 0 */
};

/* Returns the first item added under this hash for which is_it(context, item) holds, or -1. */
int cr_table_find(const struct cr_table *table, uint64_t hash,
                  bool (*is_it)(const void *context, int item), const void *context);

/* Adds an item, which must not be negative.  Several items may have the same hash. */
void cr_table_add(struct cr_table *table, uint64_t hash, int item);
void cr_table_free(struct cr_table *table);

/* Mixes a word into a hash: multiplies and folds the high half in. */
static inline uint64_t cr_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Mixes n words of 32 bits into a hash. */
static inline uint64_t cr_hash_words(uint64_t hash, const void *words, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        hash = cr_hash_word(hash, ((const uint32_t *)words)[i]);
    return hash;
}

/* Names in the order in which they were added.  The texts belong to the caller. */
struct cr_names {
    const char **items;
    int n, cap;
    struct cr_table table;
};

void cr_names_add(struct cr_names *names, const char *name);

/* Returns the index of the first name equal to `name`, or -1. */
int cr_names_find(const struct cr_names *names, const char *name);
void cr_names_free(struct cr_names *names);

#endif
