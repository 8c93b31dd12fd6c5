/* outfiles.h - checks, before a verb begins, the files that it writes at its end. */
#ifndef CR_OUTFILES_H
#define CR_OUTFILES_H

#include "options.h"

/* A file that is read or written, and the option or role that names it. */
struct cr_named_file {
    const char *name; /* "--save", "the model" */
    const char *path; /* or null */
    bool written;
    int group; /* files of the same group may be one file; 0: no group */
};

/* Fails if a file cannot be written, or is the same file as another, under whatever name: a result
 * would replace another result, or a file that was read. */
int cr_check_files(const struct cr_options *options, const struct cr_named_file *files, int n,
                   struct cr_error *error);

#endif
