/*
 * jit_standalone.c - compiles the standalone file as a user would.
 *
 * $CC or cc compiles the output of `crescent emit`, header and source as one text, with -O2 and
 * no option for the machine: the code selects an instruction set by cpuid.  It is called through
 * its public functions.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "system_compiler.h"

/* Writes a function of type cr_execute that calls NAME_run or NAME_ENTRY_run with one argument
 * for each port: C cannot make a call with a number of arguments known only at run time. */
static void put_call(struct cr_text *text, const struct cr_program *p, const struct cr_entry *entry)
{
    unsigned bit = 1u << (entry - p->entries);
    char call[128], run[128];
    cr_entry_function(call, sizeof call, p, entry, "call");
    cr_entry_function(run, sizeof run, p, entry, "run");
    cr_put(text,
           "int %s(const struct cr_runtime *rt, struct cr_pool *pool,\n"
           "    const float *weights, const void *const *inputs, void *const *outputs,\n"
           "    float *arena)\n{\n    (void)rt, (void)pool, (void)inputs;\n"
           "    return %s(weights",
           call, run);
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].entries & bit)
            cr_put(text, p->inputs[i].state ? ", (void *)inputs[%d]" : ", inputs[%d]", i);
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].entries & bit)
            cr_put(text, ", outputs[%d]", i);
    cr_put(text, ", arena);\n}\n");
}

int cr_compile_standalone(const struct cr_program *program, int threads, struct cr_code *code,
                          struct cr_error *error)
{
    static const char *const options[] = {"-O2", "-pthread", NULL};
    struct cr_text text = {0};
    cr_put_standalone(&text, program, threads);
    for (int i = 0; i < program->n_entries; i++)
        put_call(&text, program, &program->entries[i]);
    int status = cr_cc_compile(&text, options, &(struct cr_wanted){program, "call"}, code, error);
    free(text.data);
    return status;
}
