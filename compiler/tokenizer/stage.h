/* stage.h - a stage of normalizing, which writes another text; it is also copied into emitted C. */
#ifndef CR_STAGE_H
#define CR_STAGE_H

#include "lookup_tables.h"

/* A text, and memory for the result: the table of stages (stages.c) says how much. */
struct cr_stage_text {
    const char *text;
    size_t n;
    char *out;
    uint32_t *work;
    size_t leading; /* leading bytes of the text, then of the result (leading.inc) */
};

/* Writes the text and returns its bytes.  Each function uses some of the settings. */
struct cr_stage {
    size_t (*make)(const struct cr_stage *stage, struct cr_stage_text *t);
    const char *from, *to;
    size_t n_from, n_to;
    const struct cr_map_tables *map;
    const struct cr_trie_node *kept; /* texts that stay as they are; null: there are none */
    int flags;
};

#endif
