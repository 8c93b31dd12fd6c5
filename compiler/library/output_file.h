/* output_file.h - the handle of a file that a caller of crescent.h writes. */
#ifndef CR_LIBRARY_FILES_H
#define CR_LIBRARY_FILES_H

#include "handles.h"
#include "compiler/files/writer.h"

struct crescent_file {
    crescent_context *context;
    char *path;
    struct cr_writer writer;
    bool closed; /* committed or failed, so that nothing can be written any more */
};

/* Fails if a file is closed already. */
int cr_file_check(const crescent_file *file, struct cr_error *error);

#endif
