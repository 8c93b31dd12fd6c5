/* stage.h - a stage of normalizing, which writes a changed text; the file is also copied into
 * emitted C. */
#ifndef CR_STAGE_H
#define CR_STAGE_H

#include "lookup_tables.h"

/* The input of a stage, and memory for its result, of the size that the table in stages.c gives. */
struct cr_stage_text {
    const char *text;
    size_t n;
    char *out;
    uint32_t *work;
    size_t leading; /* the number of leading bytes (leading.inc) of the text; after the stage, of
                       the result */
};

/* A stage and its settings, of which each `make` uses some.  `make` writes the result and returns
 * its length in bytes. */
struct cr_stage {
    size_t (*make)(const struct cr_stage *stage, struct cr_stage_text *t);
    const char *from, *to;
    size_t n_from, n_to;
    const struct cr_map_tables *map;
    const struct cr_trie_node *kept; /* texts that are not changed; null: none */
    int flags;
};

#endif
