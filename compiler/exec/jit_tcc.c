/*
 * jit_tcc.c - compiles by TinyCC in memory; the only file that uses libtcc.
 *
 * The text is self-contained: it includes nothing and calls only the runtime, through a table of
 * its functions, and the three memory functions to which TinyCC turns assignments of structures.
 * No file of TinyCC's is read.
 */
#include <errno.h>
#include <libtcc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code_memory.h"
#include "compiler/emit/literals.h"
#include "compiler/emit/runtime_text.h"
#include "exec.h"

/* Serialises calls of TinyCC, which keeps its state in global variables. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* TinyCC's first message, an error or a warning, about a text. */
struct complaint {
    char text[200];
    int refused; /* errno if the system forbids to run code that was compiled in memory */
};

static void complain(void *opaque, const char *message)
{
    struct complaint *complaint = opaque;
    if (!*complaint->text)
        snprintf(complaint->text, sizeof complaint->text, "%s", message);
}

/* ---- what TinyCC objects to ---- */

/* Writes a text to a new file that only this user can read, and the file's name to `path`. */
static bool keep_text(const char *text, char *path, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    int length = snprintf(path, size, "%s/crescent-bug-XXXXXX.c", tmp && *tmp ? tmp : "/tmp");
    int fd = (size_t)length < size ? mkstemps(path, 2) : -1;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return false;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Sets the error: code may not run, TinyCC lacks memory, or it rejected the text.  The last is a
 * bug of this compiler, so the text is saved in a file. */
static int report(const char *text, const struct complaint *complaint, struct cr_error *error)
{
    char path[256];
    if (complaint->refused)
        return cr_fail(error, "this system forbids code that is compiled in memory: %s, expected "
                       "the backend cc, which needs none", strerror(complaint->refused));
    if (strstr(complaint->text, "memory full"))
        return cr_fail(error, "out of memory for TinyCC to compile the C");
    bool kept = keep_text(text, path, sizeof path);
    return cr_fail(error,
                   "bug: TinyCC does not accept the C of the model: %s (the C is %s%s); please report it",
                   complaint->text, kept ? "in " : "lost", kept ? path : "");
}

/* ---- memory ---- */

/*
 * TinyCC reports a lack of memory only while it compiles; before and after, it ends the process.
 * So memory for these times is reserved first: for TinyCC's state, and for the machine code,
 * which is shorter than its text.
 */
enum { STATE_BYTES = 4 << 20 };

/* Reserves memory that is released just before TinyCC allocates as much; null if memory is
 * insufficient. */
static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- compiling ---- */

/* Returns a new TinyCC state, or null if memory is insufficient. */
static TCCState *new_state(struct complaint *complaint)
{
    void *reserved = reserve(STATE_BYTES);
    if (!reserved)
        return NULL;
    munmap(reserved, STATE_BYTES);
    TCCState *tcc = tcc_new();
    if (!tcc)
        return NULL;
    tcc_set_error_func(tcc, complaint, complain);
    tcc_set_options(tcc, "-nostdlib -nostdinc -Wall -Wunsupported");
    tcc_set_output_type(tcc, TCC_OUTPUT_MEMORY);
    tcc_add_symbol(tcc, "memcpy", (const void *)(uintptr_t)memcpy);
    tcc_add_symbol(tcc, "memmove", (const void *)(uintptr_t)memmove);
    tcc_add_symbol(tcc, "memset", (const void *)(uintptr_t)memset);
    return tcc;
}

/* Gives TinyCC the addresses of the program's literals.  The text only declares these arrays, so
 * that TinyCC need not parse their numbers. */
static void add_literals(TCCState *tcc, const struct cr_program *program)
{
    for (int i = 0; i < program->n_literals; i++) {
        char name[32];
        cr_literal_name(name, sizeof name, i);
        tcc_add_symbol(tcc, name, program->literals[i].words);
    }
}

/* Finds the compiled functions of the entries.  ISO C cannot convert a pointer to an object to
 * one to a function; POSIX promises that their bytes are the same. */
static bool find_execute(TCCState *tcc, const struct cr_program *program, struct cr_code *code)
{
    for (int i = 0; i < program->n_entries; i++) {
        char name[128];
        cr_entry_function(name, sizeof name, program, &program->entries[i], "execute");
        void *symbol = tcc_get_symbol(tcc, name);
        memcpy(&code->execute[i], &symbol, sizeof symbol);
        if (!symbol)
            return false;
    }
    return true;
}

/*
 * Copies code and constants into memory that then becomes executable.  Symbols get their final
 * addresses here. TinyCC does not put code and data on separate pages, but the emitted C has no
 * writable globals.
 */
static bool place(TCCState *tcc, struct cr_code_memory *memory, struct complaint *complaint)
{
    int bytes = tcc_relocate(tcc, NULL);
    if (bytes < 0)
        return false;
    if (!cr_code_memory_new(memory, (size_t)bytes)) {
        complain(complaint, "memory full");
        return false;
    }
    bool good = tcc_relocate(tcc, memory->start) == 0;
    if (good && !cr_code_memory_protect(memory)) {
        complaint->refused = errno;
        good = false;
    }
    return good;
}

/* Compiles a text into `memory` and finds the functions of the entries.  A warning counts as a
 * failure. */
static bool compile(const struct cr_program *program, const char *text, struct cr_code *code,
                    struct cr_code_memory *memory, struct complaint *complaint)
{
    size_t bytes = STATE_BYTES + strlen(text);
    TCCState *tcc = new_state(complaint);
    void *reserved = tcc ? reserve(bytes) : NULL;
    if (tcc)
        add_literals(tcc, program);
    bool good = reserved && tcc_compile_string(tcc, text) == 0 && !*complaint->text;
    if (reserved)
        munmap(reserved, bytes);
    else
        complain(complaint, "memory full");
    good = good && place(tcc, memory, complaint) && find_execute(tcc, program, code) &&
           !*complaint->text;
    if (!good)
        complain(complaint, "its function is not in the compiled code");
    if (tcc)
        tcc_delete(tcc);
    return good;
}

/* Compiles and calls a function that returns __TINYC__: libtcc has no function that returns its
 * version. */
int cr_tinycc_version(struct cr_error *error)
{
    struct complaint complaint = {0};
    struct cr_code_memory memory = {0};
    int (*version)(void) = NULL;
    pthread_mutex_lock(&lock);
    TCCState *tcc = new_state(&complaint);
    if (tcc && tcc_compile_string(tcc, "int version(void) { return __TINYC__; }") == 0 &&
        place(tcc, &memory, &complaint)) {
        void *symbol = tcc_get_symbol(tcc, "version");
        memcpy(&version, &symbol, sizeof symbol);
    }
    int found = version ? version() : -1;
    if (tcc)
        tcc_delete(tcc);
    cr_code_memory_free(&memory);
    pthread_mutex_unlock(&lock);
    return found > 0 ? found : cr_fail(error, "TinyCC cannot compile a function of one line, "
                                       "expected it to work on this system");
}

static void release(void *handle)
{
    cr_code_memory_free(handle);
    free(handle);
}

int cr_compile_tcc(const struct cr_program *program, struct cr_code *code, struct cr_error *error)
{
    struct complaint complaint = {0};
    struct cr_text text = {0};
    struct cr_code_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return cr_fail(error, "out of memory for TinyCC to compile the C");
    cr_put_declarations(&text, program);
    cr_put_literals(&text, program, false);
    cr_put_bytes(&text, program->text, program->text_length);
    pthread_mutex_lock(&lock);
    bool compiled = compile(program, text.data, code, memory, &complaint);
    pthread_mutex_unlock(&lock);
    int status = compiled ? 0 : report(text.data, &complaint, error);
    free(text.data);
    if (status) {
        release(memory);
        return status;
    }
    code->handle = memory;
    code->release = release;
    return 0;
}
