#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"

enum { FIRST_SIZE = 64 };

/* ---- numbers ---- */

/* Returns the first slot to search for a hash.  Hashes of similar names differ mostly in high
 * bits, and the size is a power of two, so the slot is taken from the middle bits of a product,
 * which depend on all bits of the hash. */
static unsigned start_of(const struct cr_table *table, uint64_t hash)
{
    return (unsigned)(hash * 0x9e3779b97f4a7c15u >> 32) & (unsigned)(table->size - 1);
}

static unsigned next_slot(const struct cr_table *table, unsigned at)
{
    return (at + 1) & (unsigned)(table->size - 1);
}

int cr_table_find(const struct cr_table *table, uint64_t hash,
                  bool (*is_it)(const void *context, int item), const void *context)
{
    if (!table->size)
        return -1;
    for (unsigned at = start_of(table, hash);; at = next_slot(table, at)) {
        const struct cr_hash_slot *slot = &table->slots[at];
        if (slot->item < 0 || (slot->hash == hash && is_it(context, slot->item)))
            return slot->item;
    }
}

static void put(struct cr_table *table, const struct cr_hash_slot *slot)
{
    unsigned at = start_of(table, slot->hash);
    while (table->slots[at].item >= 0)
        at = next_slot(table, at);
    table->slots[at] = *slot;
}

/* Doubles the table.  It copies slots in order, starting at a free slot, so that items with the
 * same hash keep their order. */
static void grow(struct cr_table *table)
{
    const struct cr_table old = *table;
    unsigned at = 0;
    table->size = old.size ? 2 * old.size : FIRST_SIZE;
    table->slots = cr_calloc((size_t)table->size, sizeof *table->slots);
    for (int i = 0; i < table->size; i++)
        table->slots[i].item = -1;
    while (old.size && old.slots[at].item >= 0)
        at = next_slot(&old, at);
    for (int i = 0; i < old.size; i++, at = next_slot(&old, at))
        if (old.slots[at].item >= 0)
            put(table, &old.slots[at]);
    free(old.slots);
}

void cr_table_add(struct cr_table *table, uint64_t hash, int item)
{
    if (2 * (table->n + 1) > table->size)
        grow(table);
    put(table, &(struct cr_hash_slot){hash, item});
    table->n++;
}

void cr_table_free(struct cr_table *table)
{
    free(table->slots);
    *table = (struct cr_table){0};
}

/* ---- names ---- */

/* Hashes a text word by word; the last word is padded with zeros. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0, word;
    size_t left = strlen(text);
    for (; left >= sizeof word; left -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = cr_hash_word(hash, word);
    }
    word = 0;
    memcpy(&word, text, left);
    hash = cr_hash_word(hash, word);
    return hash;
}

void cr_names_add(struct cr_names *names, const char *name)
{
    cr_table_add(&names->table, hash_text(name), names->n);
    *CR_PUSH(names->items, names->n, names->cap) = name;
}

/* The name to find; the context of is_name. */
struct wanted {
    const struct cr_names *names;
    const char *text;
};

static bool is_name(const void *context, int item)
{
    const struct wanted *wanted = context;
    return strcmp(wanted->names->items[item], wanted->text) == 0;
}

int cr_names_find(const struct cr_names *names, const char *name)
{
    return cr_table_find(&names->table, hash_text(name), is_name, &(struct wanted){names, name});
}

void cr_names_free(struct cr_names *names)
{
    free(names->items);
    cr_table_free(&names->table);
    *names = (struct cr_names){0};
}
