/* child_process.h - runs another program and waits for its end. */
#ifndef CR_CHILD_PROCESS_H
#define CR_CHILD_PROCESS_H

#include <spawn.h>

/*
 * Runs the program argv[0], searched in $PATH, with its files set up by `actions`, which the call
 * destroys, and waits for its end.  Returns its exit status; 128 plus the signal's number if a
 * signal ended it; -1 with errno set if it could not be started.
 */
int cr_child_run(char *const *argv, posix_spawn_file_actions_t *actions);

#endif
