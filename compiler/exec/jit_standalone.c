/*
 * jit_standalone.c - the standalone file, built as anybody would build it.
 *
 * What `crescent emit` writes is compiled by $CC or cc with -O2 and no word about the
 * machine, so that it finds its kernels by cpuid, and is called through its public
 * interface.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cc.h"

/* A function of execute's type that calls NAME_run: C cannot call a function whose number
 * of arguments is known at run time only. */
static int write_call(const struct cr_program *p, const char *path, struct cr_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    fprintf(file,
            "#include \"program.h\"\nstruct cr_kernels;\nstruct cr_pool;\n"
            "int cr_call(const struct cr_kernels *rt, struct cr_pool *pool,\n"
            "    const float *weights, const void *const *inputs, void *const *outputs,\n"
            "    float *arena)\n{\n    (void)rt, (void)pool, (void)inputs;\n"
            "    return %s_run(weights",
            p->name);
    for (int i = 0; i < p->n_inputs; i++)
        fprintf(file, ", inputs[%d]", i);
    for (int i = 0; i < p->n_outputs; i++)
        fprintf(file, ", outputs[%d]", i);
    fprintf(file, ", arena);\n}\n");
    bool good = !ferror(file);
    good &= fclose(file) == 0;
    return good ? 0 : cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

/* "-DNAME_THREADS=2" */
static void threads_macro(char *text, size_t size, const struct cr_program *p, int threads)
{
    int length = snprintf(text, size, "-D%s_THREADS=%d", p->name, threads);
    assert(length > 0 && (size_t)length < size);
    for (char *c = text + 2; *c != '=' && length-- > 0; c++)
        *c = (char)toupper((unsigned char)*c);
}

static int build(const struct cr_workshop *w, const struct cr_program *program, int threads,
                 struct cr_code *code, struct cr_error *error)
{
    char macro[512];
    const char *const words[] = {"-O2",
                                 "-shared",
                                 "-fPIC",
                                 "-pthread",
                                 macro,
                                 "-o",
                                 w->files[CR_WORK_OBJECT],
                                 w->files[CR_WORK_SOURCE],
                                 w->files[CR_WORK_CALL],
                                 "-lm",
                                 NULL};
    threads_macro(macro, sizeof macro, program, threads);
    if (cr_write_standalone(program, w->files[CR_WORK_SOURCE], error) ||
        write_call(program, w->files[CR_WORK_CALL], error) || cr_workshop_compile(w, words, error))
        return -1;
    return cr_workshop_load(w, "cr_call", code, error);
}

int cr_compile_standalone(const struct cr_program *program, int threads, struct cr_code *code,
                          struct cr_error *error)
{
    struct cr_workshop workshop;
    if (cr_workshop_open(&workshop, error))
        return -1;
    int status = build(&workshop, program, threads, code, error);
    cr_workshop_close(&workshop);
    return status;
}
