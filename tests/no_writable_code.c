/*
 * no_writable_code.c - starts a program in which no page can be writable and executable, and no
 * page can become executable after it was writable: the policy of systems that forbid machine code
 * made in memory.
 *
 *     no_writable_code PROGRAM ARGUMENTS...
 *
 * Its status is the program's, or 77 where the kernel has no PR_SET_MDWE (Linux 6.3).
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (prctl(PR_SET_MDWE, 1, 0, 0, 0))
        return 77;
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 2;
}
