/*
 * input_batches.h - batches of inputs.  Each input has a .npy file of the input's shape, possibly
 * with a leading axis that counts batches.
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

/* The files that the caller named. */
struct cr_feed_source {
    const char *option; /* the command line's option for messages: "--input" */
    const crescent_input_file *files;
    int n_files;
    const bool *is_state; /* by input: it is state, whose value comes from the previous step and not
                             from a file */
    uint64_t *hash;       /* the data of all files are mixed into *hash; may be null */
};

/*
 * Opens the files and reads every batch once into data[input], so that errors are found before the
 * first step.  If several files are named for an input, the last one counts.  The caller closes the
 * feeds, also after a failure.
 */
int cr_feeds_open(struct cr_feeds *feeds, const struct cr_engine *engine,
                  const struct cr_feed_source *source, void *const *data, struct cr_error *error);
void cr_feeds_close(struct cr_feeds *feeds);

/* Returns the file of an input, or null. */
const struct cr_feed *cr_feeds_find(const struct cr_feeds *feeds, int input);

/* Returns the largest number of batches in any file, at least 1. */
int64_t cr_feeds_batches(const struct cr_feeds *feeds);

/* Copies a batch of each file to data[input].  Its number is `index` modulo the file's number of
 * batches. */
int cr_feeds_take(const struct cr_feeds *feeds, const struct cr_engine *engine, int64_t index,
                  void *const *data, struct cr_error *error);

/* Fails if the engine has no input of this name; `option` is named in the message, or null. */
int cr_check_input_name(const struct cr_engine *engine, const char *option, const char *name,
                        struct cr_error *error);

#endif
