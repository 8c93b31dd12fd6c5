/* outfiles.h - the files that a verb writes at its end, looked at before it begins. */
#ifndef CR_OUTFILES_H
#define CR_OUTFILES_H

#include "options.h"

/* A file that is read or written, and what names it. */
struct cr_named_file {
    const char *name; /* "--save", "the model" */
    const char *path; /* null: not given */
    bool written;
    int group; /* of one group other than 0 two may be one file */
};

/* Refuses a file that cannot be written, and one that is another one, too, under whatever name:
 * a second result would replace the first, and a result what was read. */
int cr_check_files(const struct cr_options *options, const struct cr_named_file *files, int n,
                   struct cr_error *error);

#endif
