/*
 * jit_tcc.c - TinyCC in memory; the only file that knows libtcc.
 *
 * The text is self-contained: it includes nothing and calls nothing but the runtime,
 * through the table of kernels, and the three memory functions to which TinyCC turns
 * assignments of structures.  No file of TinyCC's is read.
 */
#include <assert.h>
#include <libtcc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "exec.h"

/* TinyCC keeps its state in global variables. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What TinyCC objects to is text of ours: a bug. */
static void complain(void *opaque, const char *message)
{
    (void)opaque;
    fprintf(stderr, "crescent: TinyCC: %s\n", message);
}

static _Noreturn void give_up(const struct cr_program *program)
{
    fprintf(stderr, "crescent: bug: the C text of %s does not compile:\n%s\n", program->name,
            program->text);
    abort();
}

/* The declarations and the program's text as one string. */
static char *whole_text(const struct cr_program *program)
{
    const char *head = cr_runtime_declarations();
    size_t head_length = strlen(head);
    char *text = cr_calloc(1, head_length + program->text_length + 2);
    memcpy(text, head, head_length);
    text[head_length] = '\n';
    memcpy(text + head_length + 1, program->text, program->text_length);
    return text;
}

/* Null if there is no memory for the machine code. */
static TCCState *compile(const struct cr_program *program, const char *text)
{
    TCCState *tcc = tcc_new();
    if (!tcc)
        return NULL;
    tcc_set_error_func(tcc, NULL, complain);
    tcc_set_options(tcc, "-nostdlib -nostdinc");
    if (tcc_set_output_type(tcc, TCC_OUTPUT_MEMORY) < 0)
        give_up(program);
    tcc_add_symbol(tcc, "memcpy", (const void *)(uintptr_t)memcpy);
    tcc_add_symbol(tcc, "memmove", (const void *)(uintptr_t)memmove);
    tcc_add_symbol(tcc, "memset", (const void *)(uintptr_t)memset);
    if (tcc_compile_string(tcc, text) < 0 || tcc_relocate(tcc, TCC_RELOCATE_AUTO) < 0)
        give_up(program);
    return tcc;
}

/* The address of NAME_execute.  ISO C has no conversion from object to function pointer;
 * POSIX promises that the bytes are the same. */
static void find_execute(TCCState *tcc, const struct cr_program *program, struct cr_code *code)
{
    char name[512];
    int length = snprintf(name, sizeof name, "%s_execute", program->name);
    assert(length > 0 && (size_t)length < sizeof name);
    void *symbol = tcc_get_symbol(tcc, name);
    if (!symbol)
        give_up(program);
    memcpy(&code->execute, &symbol, sizeof symbol);
}

static void release(void *handle)
{
    pthread_mutex_lock(&lock);
    tcc_delete(handle);
    pthread_mutex_unlock(&lock);
}

int cr_compile_tcc(const struct cr_program *program, struct cr_code *code, struct cr_error *error)
{
    char *text = whole_text(program);
    pthread_mutex_lock(&lock);
    TCCState *tcc = compile(program, text);
    if (tcc)
        find_execute(tcc, program, code);
    pthread_mutex_unlock(&lock);
    free(text);
    if (!tcc)
        return cr_fail(error, "TinyCC: no memory");
    code->handle = tcc;
    code->release = release;
    return 0;
}
