/*
 * settings.h - the user's settings for a compilation.
 */
#ifndef CR_SETTINGS_H
#define CR_SETTINGS_H

#include <stdint.h>

struct cr_target;

/* The settings of a compilation; zeros are the defaults. */
struct cr_settings {
    const char *path;        /* the script, for messages */
    const char *const *skip; /* names of passes to leave out */
    int n_skip;
    int64_t max_arena; /* the largest arena, in bytes; 0 for no limit */
    int rank, ranks; /* for the pass `shard`: the rank, and the number of ranks; 0 ranks mean one */
    const char *update; /* if ranks train together: the entry of which each rank computes its share
                           (pass `share_states`), while nothing else is cut; null if the ranks run
                           one model together */
    const struct cr_target *target; /* the machine for which loops are tiled; null for the generic
                                       one */
};

#endif
