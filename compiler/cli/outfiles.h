/* outfiles.h - checks, before a verb begins, the files that it will write. */
#ifndef CR_OUTFILES_H
#define CR_OUTFILES_H

#include "options.h"

/* A file that a verb reads or writes. */
struct cr_named_file {
    const char *name; /* how messages call it: "--save", "the model" */
    const char *path; /* null: there is no such file */
    bool written;
    int group; /* files with the same group, if it is not 0, may be the same file */
};

/* Fails if a file that will be written cannot be written, or if it is the same file as another
 * one, also by another path: a result must replace neither another result nor an input. */
int cr_check_files(const struct cr_options *options, const struct cr_named_file *files, int n,
                   struct cr_error *error);

#endif
