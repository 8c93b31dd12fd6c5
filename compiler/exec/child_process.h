/* child_process.h - running another program to its end. */
#ifndef CR_CHILD_PROCESS_H
#define CR_CHILD_PROCESS_H

#include <spawn.h>

/*
 * Runs argv[0], which is looked for in $PATH, with its files arranged by `actions`, which are
 * destroyed, and waits for it.  Returns its exit status, 128 and the signal's number if one ended
 * it, or -1 with errno set if it could not be started.
 */
int cr_child_run(char *const *argv, posix_spawn_file_actions_t *actions);

#endif
