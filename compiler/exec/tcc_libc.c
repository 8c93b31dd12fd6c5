/*
 * tcc_libc.c - replaces functions of the C library that TinyCC calls; in build/obj/libtcc.o the
 * Makefile renames these calls.
 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

extern FILE *cr_tcc_stdout, *cr_tcc_stderr;
extern char **cr_tcc_environ;
FILE *cr_tcc_stdout, *cr_tcc_stderr;
char **cr_tcc_environ;
int cr_tcc_mprotect(void *address, size_t bytes, int protection);

/* Runs at program start, before anything can call TinyCC. */
static void __attribute__((constructor)) take_streams(void)
{
    cr_tcc_stdout = stdout;
    cr_tcc_stderr = stderr;
    cr_tcc_environ = environ;
}

/*
 * TinyCC calls mprotect to make each section of code writable and executable, and ends the
 * process if the system refuses.  This replacement changes nothing: code_memory.c makes the code
 * executable later.
 */
int cr_tcc_mprotect(void *address, size_t bytes, int protection)
{
    (void)address;
    (void)bytes;
    (void)protection;
    return 0;
}
