/*
 * tcc_libc.c - replacements for parts of the C library that TinyCC uses; build/obj/libtcc.o (see
 * the Makefile) takes these names instead.
 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

extern FILE *cr_tcc_stdout, *cr_tcc_stderr;
extern char **cr_tcc_environ;
FILE *cr_tcc_stdout, *cr_tcc_stderr;
char **cr_tcc_environ;
int cr_tcc_mprotect(void *address, size_t bytes, int protection);

/* Runs before anything can call TinyCC. */
static void __attribute__((constructor)) take_streams(void)
{
    cr_tcc_stdout = stdout;
    cr_tcc_stderr = stderr;
    cr_tcc_environ = environ;
}

/*
 * TinyCC calls mprotect for each section of code, to make it writable and executable, and ends the
 * process if that is refused.  This one changes nothing: code_memory.c makes the code executable
 * later.
 */
int cr_tcc_mprotect(void *address, size_t bytes, int protection)
{
    (void)address;
    (void)bytes;
    (void)protection;
    return 0;
}
