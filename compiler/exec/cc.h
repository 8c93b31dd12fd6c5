/*
 * cc.h - the system's C compiler: a folder of files it works on, and the shared object
 * that comes of them.
 */
#ifndef CR_CC_H
#define CR_CC_H

#include "exec.h"

/* The files of one compilation; those that nobody writes are never there. */
enum cr_work {
    CR_WORK_SOURCE,
    CR_WORK_HEADER,
    CR_WORK_CALL,
    CR_WORK_OBJECT,
    CR_WORK_LOG,
    CR_WORKS
};

/* A folder of its own under $TMPDIR. */
struct cr_workshop {
    char *folder;
    char *files[CR_WORKS]; /* their paths */
};

int cr_workshop_open(struct cr_workshop *workshop, struct cr_error *error);

/* Removes the folder and its files. */
void cr_workshop_close(struct cr_workshop *workshop);

/* Runs $CC (which may hold arguments) or cc with the words behind it, up to a null. */
int cr_workshop_compile(const struct cr_workshop *workshop, const char *const *words,
                        struct cr_error *error);

/* Loads the shared object; `symbol` is its function of the type of cr_code's execute. */
int cr_workshop_load(const struct cr_workshop *workshop, const char *symbol, struct cr_code *code,
                     struct cr_error *error);

#endif
