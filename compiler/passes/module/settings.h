/*
 * settings.h - what a user chooses for a compilation, in one struct that is handed down.
 */
#ifndef CR_SETTINGS_H
#define CR_SETTINGS_H

#include <stdint.h>

struct cr_target;

/* All zero is the plain choice. */
struct cr_settings {
    const char *path;        /* the script, for messages */
    const char *const *skip; /* names of passes to leave out */
    int n_skip;
    int64_t max_arena; /* bytes that the arena may have, or 0 for any number */
    const struct cr_target *target; /* that loops are cut for; null: the generic one */
};

#endif
