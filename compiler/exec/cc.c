/* cc.c - the system's C compiler and dlopen; see cc.h. */
#include "cc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "compiler/ir/mem.h"

/* ---- the folder ---- */

static char *join(const char *folder, const char *file)
{
    size_t size = strlen(folder) + strlen(file) + 1;
    char *path = cr_calloc(1, size);
    snprintf(path, size, "%s%s", folder, file);
    return path;
}

int cr_workshop_open(struct cr_workshop *w, struct cr_error *error)
{
    static const char *const names[CR_WORKS] = {"/program.c", "/program.h", "/call.c",
                                                "/program.so", "/log"};
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp ? tmp : "/tmp";
    w->folder = join(tmp, "/crescent-XXXXXX");
    if (!mkdtemp(w->folder)) {
        cr_fail(error, "%s: no directory for the compiler can be made: %s", tmp, strerror(errno));
        free(w->folder);
        return -1;
    }
    for (int i = 0; i < CR_WORKS; i++)
        w->files[i] = join(w->folder, names[i]);
    return 0;
}

void cr_workshop_close(struct cr_workshop *w)
{
    for (int i = 0; i < CR_WORKS; i++) {
        unlink(w->files[i]);
        free(w->files[i]);
    }
    rmdir(w->folder);
    free(w->folder);
}

/* ---- the compiler ---- */

enum { MAX_WORDS = 64, MAX_OURS = 32 };

/* $CC, split at blanks, and our words.  `text` keeps what the pointers point to. */
static int command_line(char *text, const char *const *ours, char **argv)
{
    int n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (n == MAX_WORDS)
            return -1;
        argv[n++] = word;
    }
    for (; *ours && n < MAX_WORDS + MAX_OURS; ours++)
        argv[n++] = (char *)*ours;
    argv[n] = NULL;
    return 0;
}

/* Runs the compiler with its messages going to a file; its exit status, or -1 (and errno)
 * if it could not be started. */
static int run(char *const *argv, const char *log)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    return cr_child_run(argv, &actions);
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

int cr_workshop_compile(const struct cr_workshop *w, const char *const *words,
                        struct cr_error *error)
{
    const char *cc = getenv("CC");
    char *text = cr_strdup(cc && strspn(cc, " \t") < strlen(cc) ? cc : "cc");
    char *argv[MAX_WORDS + MAX_OURS + 1], line[256] = "";
    int status = 0;
    if (command_line(text, words, argv)) {
        status = cr_fail(error, "CC: more than %d words", MAX_WORDS);
    } else if ((status = run(argv, w->files[CR_WORK_LOG])) < 0) {
        cr_fail(error, "%s: no C compiler could be started (%s): set CC, or use --backend tcc",
                argv[0], strerror(errno));
    } else if (status) {
        first_line(w->files[CR_WORK_LOG], line, sizeof line);
        cr_fail(error, "%s: the C compiler failed with status %d%s%s", argv[0], status,
                *line ? ": " : "", line);
    } else if (access(w->files[CR_WORK_OBJECT], F_OK)) {
        status =
            cr_fail(error, "%s: made no shared object, expected a C compiler: set CC", argv[0]);
    }
    free(text);
    return status ? -1 : 0;
}

/* ---- the shared object ---- */

static void release(void *handle)
{
    dlclose(handle);
}

/* The address of the symbol is copied as dlsym(3) advises. */
int cr_workshop_load(const struct cr_workshop *w, const char *symbol, struct cr_code *code,
                     struct cr_error *error)
{
    void *handle = dlopen(w->files[CR_WORK_OBJECT], RTLD_LOCAL | RTLD_NOW);
    if (!handle)
        return cr_fail(error, "what the C compiler made cannot be loaded: %s", dlerror());
    void *address = dlsym(handle, symbol);
    if (!address) {
        dlclose(handle);
        return cr_fail(error, "%s: not in the shared object the C compiler made", symbol);
    }
    memcpy(&code->execute, &address, sizeof address);
    code->handle = handle;
    code->release = release;
    return 0;
}
