/*
 * jit_cc.c - the system's compiler and dlopen.
 *
 * $CC (which may hold arguments) or cc makes a shared object of the same text that
 * TinyCC gets.  It lives in a directory of its own under $TMPDIR, which is removed
 * before anybody else can look into it.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "exec.h"

extern char **environ;

/* The files of one compilation. */
struct workshop {
    char *directory, *source, *object, *log;
};

static char *join(const char *directory, const char *file)
{
    size_t size = strlen(directory) + strlen(file) + 1;
    char *path = cr_calloc(1, size);
    snprintf(path, size, "%s%s", directory, file);
    return path;
}

static int workshop_open(struct workshop *w, struct cr_error *error)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp ? tmp : "/tmp";
    w->directory = join(tmp, "/crescent-XXXXXX");
    if (!mkdtemp(w->directory)) {
        cr_fail(error, "%s: no directory for the compiler can be made: %s", tmp, strerror(errno));
        free(w->directory);
        return -1;
    }
    w->source = join(w->directory, "/program.c");
    w->object = join(w->directory, "/program.so");
    w->log = join(w->directory, "/log");
    return 0;
}

static void workshop_close(struct workshop *w)
{
    char **files[] = {&w->source, &w->object, &w->log};
    for (int i = 0; i < 3; i++) {
        unlink(*files[i]);
        free(*files[i]);
    }
    rmdir(w->directory);
    free(w->directory);
}

static int write_source(const struct cr_program *program, const char *path,
                        struct cr_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    bool good = fprintf(file, "%s\n", cr_runtime_declarations()) >= 0;
    good &= fwrite(program->text, 1, program->text_length, file) == program->text_length;
    good &= fclose(file) == 0;
    return good ? 0 : cr_fail(error, "%s: cannot be written: %s", path, strerror(errno));
}

enum { MAX_WORDS = 64 };

/* $CC, split at blanks, and our arguments.  `words` keeps what the pointers point to. */
static int command_line(char *words, const struct workshop *w, char **argv)
{
    static char *const ours[] = {"-O2", "-std=c11", "-ffp-contract=off", "-w", "-shared",
                                 "-fPIC", "-o"};
    int n = 0, n_ours = (int)(sizeof ours / sizeof *ours);
    char *rest = NULL;
    for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (n == MAX_WORDS)
            return -1;
        argv[n++] = word;
    }
    for (int i = 0; i < n_ours; i++)
        argv[n++] = ours[i];
    argv[n++] = w->object;
    argv[n++] = w->source;
    argv[n] = NULL;
    return 0;
}

/* Runs the compiler with its messages going to a file; its exit status, or -1 (and errno)
 * if it could not be started. */
static int run(char *const *argv, const char *log)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    errno = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The first line of a file, "" if there is none. */
static void first_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, size, file))
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
}

static int compile(const struct workshop *w, struct cr_error *error)
{
    const char *cc = getenv("CC");
    char *words = cr_strdup(cc && strspn(cc, " \t") < strlen(cc) ? cc : "cc");
    char *argv[MAX_WORDS + 16], line[256] = "";
    int status = 0;
    if (command_line(words, w, argv)) {
        status = cr_fail(error, "CC: more than %d words", MAX_WORDS);
    } else if ((status = run(argv, w->log)) < 0) {
        cr_fail(error, "%s: no C compiler could be started (%s): set CC, or use --backend tcc",
                argv[0], strerror(errno));
    } else if (status) {
        first_line(w->log, line, sizeof line);
        cr_fail(error, "%s: the C compiler failed with status %d: %s", argv[0], status, line);
    }
    free(words);
    return status ? -1 : 0;
}

/* The address of NAME_execute, copied as dlsym(3) advises. */
static int find_execute(void *handle, const struct cr_program *program, struct cr_code *code,
                        struct cr_error *error)
{
    char name[512];
    int length = snprintf(name, sizeof name, "%s_execute", program->name);
    assert(length > 0 && (size_t)length < sizeof name);
    void *symbol = dlsym(handle, name);
    if (!symbol)
        return cr_fail(error, "%s: not in the shared object the C compiler made", name);
    memcpy(&code->execute, &symbol, sizeof symbol);
    return 0;
}

static void release(void *handle)
{
    dlclose(handle);
}

static int load(const struct workshop *w, const struct cr_program *program, struct cr_code *code,
                struct cr_error *error)
{
    void *handle = dlopen(w->object, RTLD_LOCAL | RTLD_NOW);
    if (!handle)
        return cr_fail(error, "%s", dlerror());
    if (find_execute(handle, program, code, error)) {
        dlclose(handle);
        return -1;
    }
    code->handle = handle;
    code->release = release;
    return 0;
}

int cr_compile_cc(const struct cr_program *program, struct cr_code *code, struct cr_error *error)
{
    struct workshop workshop;
    if (workshop_open(&workshop, error))
        return -1;
    int status = write_source(program, workshop.source, error);
    if (!status)
        status = compile(&workshop, error);
    if (!status)
        status = load(&workshop, program, code, error);
    workshop_close(&workshop);
    return status;
}

void cr_code_free(struct cr_code *code)
{
    if (code->handle)
        code->release(code->handle);
    *code = (struct cr_code){0};
}
