/*
 * jit_cc.c - the system's compiler makes a shared object of the same text that TinyCC
 * gets.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cc.h"

static int write_source(const struct cr_program *program, const char *path, struct cr_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    bool good = fprintf(file, "%s\n", cr_runtime_declarations()) >= 0;
    good &= fwrite(program->text, 1, program->text_length, file) == program->text_length;
    good &= fclose(file) == 0;
    return good ? 0 : cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

static int build(const struct cr_workshop *w, const struct cr_program *program,
                 struct cr_code *code, struct cr_error *error)
{
    const char *const words[] = {"-O2",
                                 "-std=c11",
                                 "-ffp-contract=off",
                                 "-w",
                                 "-shared",
                                 "-fPIC",
                                 "-o",
                                 w->files[CR_WORK_OBJECT],
                                 w->files[CR_WORK_SOURCE],
                                 NULL};
    char symbol[512];
    int length = snprintf(symbol, sizeof symbol, "%s_execute", program->name);
    assert(length > 0 && (size_t)length < sizeof symbol);
    (void)length;
    if (write_source(program, w->files[CR_WORK_SOURCE], error) ||
        cr_workshop_compile(w, words, error))
        return -1;
    return cr_workshop_load(w, symbol, code, error);
}

int cr_compile_cc(const struct cr_program *program, struct cr_code *code, struct cr_error *error)
{
    struct cr_workshop workshop;
    if (cr_workshop_open(&workshop, error))
        return -1;
    int status = build(&workshop, program, code, error);
    cr_workshop_close(&workshop);
    return status;
}

void cr_code_free(struct cr_code *code)
{
    if (code->handle)
        code->release(code->handle);
    *code = (struct cr_code){0};
}
