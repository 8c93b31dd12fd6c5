/*
 * tcc_streams.c - what TinyCC takes of the C library, for a shared library: see build/obj/tinycc.o in the
 * Makefile.  Nothing is in it where TinyCC is linked as it is.
 */
#include <stdio.h>
#include <unistd.h>

extern FILE *cr_tcc_stdout, *cr_tcc_stderr;
extern char **cr_tcc_environ;
FILE *cr_tcc_stdout, *cr_tcc_stderr;
char **cr_tcc_environ;

/* Before anything can call TinyCC. */
static void __attribute__((constructor)) take_streams(void)
{
    cr_tcc_stdout = stdout;
    cr_tcc_stderr = stderr;
    cr_tcc_environ = environ;
}
