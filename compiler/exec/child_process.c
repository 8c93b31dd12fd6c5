#include "child_process.h"

#include <errno.h>
#include <sys/wait.h>

extern char **environ;

int cr_child_run(char *const *argv, posix_spawn_file_actions_t *actions)
{
    pid_t child;
    int status = 0;
    errno = posix_spawnp(&child, argv[0], actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(actions);
    if (errno)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
