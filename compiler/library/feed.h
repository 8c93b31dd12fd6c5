/*
 * feed.h - data that comes batch by batch: each input from a .npy file of its own shape, or with
 * one more axis in front that counts batches.
 */
#ifndef CR_FEED_H
#define CR_FEED_H

#include "compiler/crescent.h"
#include "compiler/exec/tensors.h"

struct cr_feed {
    int input;
    char *path;
    struct cr_npy file;
    int64_t batches;
};

/* The files of an engine's inputs. */
struct cr_feeds {
    struct cr_feed *items;
    int n;
};

/* Where the files were named: by an option, for a script. */
struct cr_feed_source {
    const char *option; /* "--input" */
    const crescent_input_file *files;
    int n_files;
    const bool *is_state; /* by input: it has its value from the step before, and no file */
};

/*
 * Opens the files and reads every batch once into data[input], so that what is wrong with one is
 * known before any step is made.  Of several files for an input the last one counts.  A failure
 * leaves the feeds to be closed.
 */
int cr_feeds_open(struct cr_feeds *feeds, const struct cr_engine *engine,
                  const struct cr_feed_source *source, void *const *data, struct cr_error *error);
void cr_feeds_close(struct cr_feeds *feeds);

/* The feed of an input, or null. */
const struct cr_feed *cr_feeds_find(const struct cr_feeds *feeds, int input);

/* The largest number of batches that a file has, at least 1. */
int64_t cr_feeds_batches(const struct cr_feeds *feeds);

/* Puts a batch of each file into data[input]: the one of this index, modulo their number. */
int cr_feeds_take(const struct cr_feeds *feeds, const struct cr_engine *engine, int64_t index,
                  void *const *data, struct cr_error *error);

/* Refuses a name, given with an option (or null), that is of no input. */
int cr_check_input_name(const struct cr_engine *engine, const char *option, const char *name,
                        struct cr_error *error);

#endif
