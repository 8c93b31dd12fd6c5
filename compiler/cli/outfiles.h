/* outfiles.h - checks, before a verb begins, the files that it will write. */
#ifndef CR_OUTFILES_H
#define CR_OUTFILES_H

#include "options.h"

/* A file that is read or written, and the option that names it. */
struct cr_named_file {
    const char *name; /* "--save", "the model" */
    const char *path; /* or null */
    bool written;
    int group; /* not 0: names of this group may be the same file */
};

/* Fails if a file cannot be written, or is the same file as another one under any name: a result
 * must replace neither another result nor an input. */
int cr_check_files(const struct cr_options *options, const struct cr_named_file *files, int n,
                   struct cr_error *error);

#endif
