/* system_compiler.c - runs the system's C compiler and loads its output by dlopen; see
 * system_compiler.h. */
#include "system_compiler.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child_process.h"
#include "compiler/ir/mem.h"

static const char *temporary_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

/* ---- files without a name ---- */

/* Returns an empty file without a name, which the caller closes; -1 with errno set on failure. */
static int nameless_file(void)
{
    int fd = memfd_create("crescent", MFD_CLOEXEC);
    return fd >= 0 ? fd : open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
}

/* Writes a text to a file and seeks back to the start. */
static int fill(int fd, const struct cr_text *text)
{
    size_t at = 0;
    while (at < text->length) {
        ssize_t n = write(fd, text->data + at, text->length - at);
        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? (size_t)n : 0;
    }
    return lseek(fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static bool is_empty(int fd)
{
    struct stat status;
    return fstat(fd, &status) != 0 || status.st_size == 0;
}

/* ---- the compiler ---- */

enum { MAX_WORDS = 64, MAX_OURS = 32 };

/* The files of one call of the compiler. */
struct compilation {
    int source, log;
    int object;       /* the object as a file without a name, or -1 */
    const char *path; /* path of the object for the compiler and for dlopen */
};

/* Fills argv: the words of $CC, then the options.  argv points into `text`.  Fails if $CC has too
 * many words. */
static int command_line(char *text, const char *const *options, const char *object, char **argv)
{
    const char *const ours[] = {"-shared", "-fPIC", "-o", object, "-x", "c", "-", "-lm", NULL};
    int n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (n == MAX_WORDS)
            return -1;
        argv[n++] = word;
    }
    for (; *options && n < MAX_WORDS + MAX_OURS / 2; options++)
        argv[n++] = (char *)*options;
    for (int i = 0; ours[i]; i++)
        argv[n++] = (char *)ours[i];
    argv[n] = NULL;
    return 0;
}

/* Runs the compiler and returns its exit status; -1 with errno set if it could not be started.
 * The compiler inherits the object's descriptor, with the number that job->path contains. */
static int run(char *const *argv, const struct compilation *job)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, job->source, 0);
    posix_spawn_file_actions_adddup2(&actions, job->log, 1);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (job->object >= 0)
        posix_spawn_file_actions_adddup2(&actions, job->object, job->object);
    return cr_child_run(argv, &actions);
}

/* Reads the first line of the compiler's messages; "" if there are none. */
static void first_line(int log, char *line, size_t size)
{
    ssize_t n = pread(log, line, size - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* Loads a shared object and finds the functions of all entries.  Addresses are copied as dlsym(3)
 * advises. */
static int load(const char *path, const struct cr_wanted *wanted, struct cr_code *code,
                struct cr_error *error)
{
    const struct cr_program *p = wanted->program;
    void *handle = dlopen(path, RTLD_LOCAL | RTLD_NOW);
    if (!handle)
        return cr_fail(error, "the shared object of the C compiler cannot be loaded: %s",
                       dlerror());
    for (int i = 0; i < p->n_entries; i++) {
        char name[128];
        cr_entry_function(name, sizeof name, p, &p->entries[i], wanted->function);
        void *address = dlsym(handle, name);
        if (!address) {
            dlclose(handle);
            return cr_fail(error, "%s: not in the shared object of the C compiler, expected a "
                           "function of that name", name);
        }
        memcpy(&code->execute[i], &address, sizeof address);
    }
    code->handle = handle;
    return 0;
}

/* Compiles and loads.  Returns 0; -1 with an error; or 1 if the compiler failed but may succeed
 * if its output is a file in a folder. */
static int compile(const struct compilation *job, const char *const *options,
                   const struct cr_wanted *wanted, struct cr_code *code, struct cr_error *error)
{
    const char *cc = getenv("CC");
    char *text = cr_strdup(cc && strspn(cc, " \t") < strlen(cc) ? cc : "cc");
    char *argv[MAX_WORDS + MAX_OURS + 1], line[256] = "";
    int status = 0;
    if (command_line(text, options, job->path, argv)) {
        status = cr_fail(error, "CC: too many words, expected at most %d", MAX_WORDS);
    } else if ((status = run(argv, job)) < 0) {
        cr_fail(error, "%s: no C compiler could be started (%s): set CC, or use --backend tcc",
                argv[0], strerror(errno));
    } else if (status) {
        first_line(job->log, line, sizeof line);
        cr_fail(error, "%s: the C compiler failed with status %d%s%s", argv[0], status,
                *line ? ": " : "", line);
    } else if (job->object >= 0 ? is_empty(job->object) : access(job->path, F_OK) != 0) {
        status = 1;
        cr_fail(error, "%s: made no shared object, expected a C compiler: set CC", argv[0]);
    } else {
        status = load(job->path, wanted, code, error) ? 1 : 0;
    }
    free(text);
    return status > 0 ? 1 : status;
}

/* ---- an object without a name ---- */

/* Loaded code and its file.  The file stays open: dlopen identifies objects by path, and a later
 * file must not get the same path. */
struct loaded {
    void *handle;
    int object;
};

static void release(void *handle)
{
    struct loaded *loaded = handle;
    dlclose(loaded->handle);
    if (loaded->object >= 0)
        close(loaded->object);
    free(loaded);
}

static void keep(struct cr_code *code, int object)
{
    struct loaded *loaded = cr_calloc(1, sizeof *loaded);
    *loaded = (struct loaded){code->handle, object};
    code->handle = loaded;
    code->release = release;
}

/* Compiles into a file without a name, so that an interrupted program leaves no file behind.
 * Returns 1 if the system cannot make such a file. */
static int compile_nameless(struct compilation *job, const char *const *options,
                            const struct cr_wanted *wanted, struct cr_code *code,
                            struct cr_error *error)
{
    char path[40];
    job->object = nameless_file();
    if (job->object < 0) {
        cr_fail(error, "cannot create a file for the C compiler: %s", strerror(errno));
        return 1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", job->object);
    job->path = path;
    int status = compile(job, options, wanted, code, error);
    if (status)
        close(job->object);
    else
        keep(code, job->object);
    return status;
}

/* ---- an object in a folder ---- */

#define FOLDER "crescent-cc-"
#define OBJECT "/program.so"

/* Returns the concatenation of three texts; the caller frees it. */
static char *path_of(const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *path = cr_calloc(1, size);
    snprintf(path, size, "%s%s%s", a, b, c);
    return path;
}

/* Opens a folder and locks it, which marks it as in use; returns the descriptor.  Returns -1 if
 * another program has locked it or it belongs to another user. */
static int lock_folder(const char *folder)
{
    struct stat status;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void remove_folder(const char *folder)
{
    char *object = path_of(folder, OBJECT, "");
    unlink(object);
    rmdir(folder);
    free(object);
}

/* Removes the folders that interrupted programs left behind. */
static void sweep_folders(const char *tmp)
{
    DIR *all = opendir(tmp);
    for (struct dirent *one; all && (one = readdir(all));) {
        if (strncmp(one->d_name, FOLDER, sizeof FOLDER - 1) != 0)
            continue;
        char *folder = path_of(tmp, "/", one->d_name);
        int lock = lock_folder(folder);
        if (lock >= 0) {
            remove_folder(folder);
            close(lock);
        }
        free(folder);
    }
    if (all)
        closedir(all);
}

/* Compiles into a file in a temporary folder.  If no folder can be made, keeps the error of the
 * first attempt. */
static int compile_in_folder(struct compilation *job, const char *const *options,
                             const struct cr_wanted *wanted, struct cr_code *code,
                             struct cr_error *error)
{
    const char *tmp = temporary_folder();
    sweep_folders(tmp);
    char *folder = path_of(tmp, "/" FOLDER, "XXXXXX");
    int lock = mkdtemp(folder) ? lock_folder(folder) : -1, status = -1;
    if (lock >= 0) {
        char *object = path_of(folder, OBJECT, "");
        job->object = -1;
        job->path = object;
        status = compile(job, options, wanted, code, error);
        if (!status)
            keep(code, -1);
        remove_folder(folder);
        close(lock);
        free(object);
    }
    free(folder);
    return status;
}

/* ---- both ---- */

int cr_cc_compile(const struct cr_text *text, const char *const *options,
                  const struct cr_wanted *wanted, struct cr_code *code, struct cr_error *error)
{
    struct compilation job = {.source = nameless_file(), .log = nameless_file()};
    int status = -1;
    if (job.source < 0 || job.log < 0 || fill(job.source, text))
        cr_fail(error, "cannot create a file for the C compiler: %s", strerror(errno));
    else
        status = compile_nameless(&job, options, wanted, code, error);
    if (status > 0 && lseek(job.source, 0, SEEK_SET) == 0 && ftruncate(job.log, 0) == 0 &&
        lseek(job.log, 0, SEEK_SET) == 0)
        status = compile_in_folder(&job, options, wanted, code, error);
    if (job.source >= 0)
        close(job.source);
    if (job.log >= 0)
        close(job.log);
    return status ? -1 : 0;
}
