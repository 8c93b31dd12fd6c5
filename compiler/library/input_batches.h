/*
 * input_batches.h - batches of inputs: each input has a .npy file with the input's shape, or with
 * one more leading axis that counts batches.
 */
#ifndef CR_INPUT_BATCHES_H
#define CR_INPUT_BATCHES_H

#include "compiler/crescent.h"
#include "compiler/exec/load_tensors.h"

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

/* The files as the caller named them. */
struct cr_feed_source {
    const char *option; /* the option for messages: "--input" */
    const crescent_input_file *files;
    int n_files;
    const bool *is_state; /* by input: its value comes from the previous step, not from a file */
    uint64_t *hash;       /* all data of the files is mixed into it; or null */
};

/*
 * Opens the files and reads every batch once into data[input], so that errors are found before any
 * step.  The last of several files for an input counts.  The caller closes the feeds even after a
 * failure.
 */
int cr_feeds_open(struct cr_feeds *feeds, const struct cr_engine *engine,
                  const struct cr_feed_source *source, void *const *data, struct cr_error *error);
void cr_feeds_close(struct cr_feeds *feeds);

/* Returns the feed of an input, or null. */
const struct cr_feed *cr_feeds_find(const struct cr_feeds *feeds, int input);

/* Returns the largest number of batches in a file, at least 1. */
int64_t cr_feeds_batches(const struct cr_feeds *feeds);

/* Copies a batch of each file to data[input]: the batch of this index, modulo their number. */
int cr_feeds_take(const struct cr_feeds *feeds, const struct cr_engine *engine, int64_t index,
                  void *const *data, struct cr_error *error);

/* Fails if no input has this name; `option` is for the message, or null. */
int cr_check_input_name(const struct cr_engine *engine, const char *option, const char *name,
                        struct cr_error *error);

#endif
