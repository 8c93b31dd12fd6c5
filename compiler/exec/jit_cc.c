/*
 * jit_cc.c - compiles the text that TinyCC would get by the system's compiler, into a shared
 * object.
 */
#include <stdlib.h>

#include "compiler/emit/literals.h"
#include "compiler/emit/runtime_text.h"
#include "system_compiler.h"

int cr_compile_cc(const struct cr_program *program, struct cr_code *code, struct cr_error *error)
{
    static const char *const options[] = {"-O2", "-std=c11", "-ffp-contract=off", "-w", NULL};
    struct cr_text text = {0};
    cr_put_declarations(&text, program);
    cr_put_literals(&text, program, true);
    cr_put_bytes(&text, program->text, program->text_length);
    int status = cr_cc_compile(&text, options, &(struct cr_wanted){program, "execute"}, code, error);
    free(text.data);
    return status;
}

void cr_code_free(struct cr_code *code)
{
    if (code->handle)
        code->release(code->handle);
    *code = (struct cr_code){0};
}
