/* main.c - finds the verb and runs it. */
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/unwind.h"
#include "manual.h"
#include "report.h"
#include "verbs.h"

/* Prints the version: "crescent 0.1.0 (Lua 5.4.4, TinyCC 0.9.27, avx512)". */
static int version(struct cr_error *error)
{
    crescent_build build = {0};
    crescent_context *context = crescent_context_new();
    int status = crescent_get_build(context, &build);
    if (status)
        cr_fail(error, "%s", crescent_error(context));
    else
        printf("crescent %s (%s, TinyCC %d.%d.%d, %s)\n", build.version, build.lua,
               build.tinycc / 10000, build.tinycc / 100 % 100, build.tinycc % 100, build.isa);
    crescent_context_free(context);
    return status ? 2 : 0;
}

/* Prints the help of a verb or of the program; or a manual page (--man), or shell completions
 * (--completion). */
static int help(const char *name, const char *more, struct cr_error *error)
{
    if (name && strcmp(name, "--man") == 0)
        return cr_put_manual(stdout, more, error) ? 2 : 0;
    if (name && strcmp(name, "--completion") == 0)
        return cr_put_completion(stdout, more, error) ? 2 : 0;
    const struct cr_verb *verb = name ? cr_verb_find(name, error) : NULL;
    if (name && !verb)
        return 2;
    if (verb)
        cr_help_verb(stdout, verb);
    else
        cr_help(stdout);
    return 0;
}

/* Prints an error as one line; escapes control characters, since messages may contain text of
 * files. */
static void print_error(const struct cr_error *error)
{
    fputs("crescent: ", stderr);
    cr_escape_to(stderr, error->text, strlen(error->text), "");
    fputc('\n', stderr);
}

/* Prints the notes of scripts if the verb succeeded: after a failure only the error is printed. */
static void print_notes(const crescent_context *context, int status)
{
    const char *note;
    for (int i = 0; status < 2 && (note = crescent_note_at(context, i)); i++) {
        fflush(stdout); /* writes the output before the note; errors of writing are reported by
                         * main */
        cr_note("%s", note);
    }
}

/* ---- standard output ---- */

static int output_errno; /* the errno of the first write that failed, or 0 */

#ifdef __GLIBC__
/* Writes all bytes to standard output; if that fails, keeps errno in output_errno. */
static ssize_t write_output(void *unused, const char *bytes, size_t n)
{
    size_t done = 0;
    (void)unused;
    while (done < n) {
        ssize_t some = write(STDOUT_FILENO, bytes + done, n - done);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0) {
            output_errno = output_errno ? output_errno : errno;
            return 0;
        }
        done += (size_t)some;
    }
    return (ssize_t)n;
}
#endif

/* Replaces stdout by a stream that records errno: a normal stream does not keep it, and a write
 * may fail long before the verb ends. */
static void keep_output_errno(void)
{
#ifdef __GLIBC__
    FILE *kept = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});
    if (!kept)
        return;
    if (isatty(STDOUT_FILENO))
        setvbuf(kept, NULL, _IOLBF, BUFSIZ);
    stdout = kept;
#endif
}

/* Flushes stdout.  Returns an error if writing failed, for example on a full disk; a closed pipe,
 * as in `| head -1`, is no error. */
static int finish_output(int status, struct cr_error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (!output_errno)
        output_errno = errno;
    if (output_errno == EPIPE || status == 2)
        return status;
    cr_fail(error, "standard output: cannot be written: %s", strerror(output_errno));
    return 2;
}

/* ---- verbs ---- */

/* Fails if this rank has another version of the program, another verb or other options than rank
 * 0. */
static int compare_options(const struct cr_options *options, const struct cr_verb *verb, struct cr_error *error)
{
    uint64_t hash = cr_options_hash(options, verb);
    for (const char *c = CRESCENT_VERSION; *c; c++)
        hash = cr_hash_word(hash, (unsigned char)*c);
    int other = crescent_ranks_compare(options->context, hash);
    if (other < 0)
        return 0;
    return cr_fail(error, "rank %d does not have the options of rank 0, expected the same for all ranks, but for "
                   "--threads, --isa, --target and the places of files", other);
}

/* Joins the other processes that a launcher such as mpirun started.  Only the first rank prints
 * output and notes. */
static int join(const struct cr_options *options, const struct cr_verb *verb, struct cr_error *error)
{
    if (cr_passed(options, crescent_join(options->context), error) || compare_options(options, verb, error) ||
        cr_options_compare_files(options, verb, error))
        return -1;
    if (crescent_ranks_of(options->context).rank == 0)
        return 0;
    cr_mute_notes();
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        return cr_fail(error, "/dev/null: cannot be opened: %s", strerror(errno));
    close(nowhere);
    return 0;
}

/* Ends all processes of the group if this one has failed or cannot write its output. */
static void end_ranks(const crescent_context *context, int status, struct cr_error *error)
{
    if (crescent_ranks_of(context).count == 1)
        return;
    status = finish_output(status, error);
    if (status < 2 && !ferror(stdout))
        return;
    crescent_ranks_wait(context);
    if (status == 2)
        print_error(error);
    fflush(stdout);
    crescent_ranks_abort(context, status == 2 && cr_is_bug(error) ? 3 : status);
}

/* Parses the options and runs a verb; all its library calls share one context. */
static int run_verb(int argc, char **argv, struct cr_error *error)
{
    struct cr_options options = {0};
    const struct cr_verb *verb = cr_verb_find(argv[0], error);
    int status = 2;
    if (!verb)
        return 2;
    if (cr_options_parse(&options, verb, argc, argv, error) == 0) {
        if (!(options.context = crescent_context_new()))
            cr_throw("out of memory");
        if (options.help)
            status = help(verb->name, NULL, error);
        else if (!(verb->bit & CR_VERB_RANKS) || join(&options, verb, error) == 0)
            status = verb->run(&options, error);
        print_notes(options.context, status);
        end_ranks(options.context, status, error);
    }
    crescent_context_free(options.context);
    cr_options_free(&options);
    return status;
}

static int dispatch(int argc, char **argv, struct cr_error *error)
{
    if (argc < 2) {
        cr_fail(error, "no verb given, expected crescent VERB MODEL (crescent --help)");
        return 2;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, error);
    if (!strcmp(argv[1], "--version"))
        return version(error);
    return run_verb(argc - 1, argv + 1, error);
}

/* Runs a verb as `dispatch` does; if memory runs out, returns with an error, and the verb's
 * resources are freed only when the process ends. */
static int dispatch_guarded(int argc, char **argv, struct cr_error *error)
{
    struct cr_guard guard;
    cr_guard_enter(&guard, error);
    if (setjmp(guard.back))
        return 2;
    int status = dispatch(argc, argv, error);
    cr_guard_leave(&guard);
    return status;
}

#ifdef __GLIBC__
/* Reserves 32 MB for the heap and requests large pages there, since page faults of small pages
 * take a fifth of the start-up time in virtual machines.  The heap begins one small page before a
 * large one: the allocator writes to that page before madvise is called, so no large page is
 * lost. */
static void use_large_pages(void)
{
    enum { PAGE = 4096, LARGE_PAGE = 2 << 20, HEAP = 16 * LARGE_PAGE };
    static void *volatile block;
    char *begin = sbrk(0);
    size_t skipped = (size_t)(-(uintptr_t)begin - PAGE) % LARGE_PAGE;
    if (sbrk((intptr_t)skipped) == (void *)-1)
        return;
    mallopt(M_TOP_PAD, HEAP);
    block = malloc(1);
    free(block);
    mallopt(M_TOP_PAD, 128 << 10);
    madvise(begin + skipped + PAGE, HEAP, MADV_HUGEPAGE);
}
#endif

/* Keeps freed memory in the heap for the next compilation, including blocks as large as a graph:
 * touching new pages takes a fifth of a compilation.  All threads share one heap. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    mallopt(M_ARENA_MAX, 1);
    use_large_pages();
#endif
}

/* Ignores SIGXFSZ, so that writing beyond the limit of file sizes (ulimit -f) becomes an error of
 * write. */
int main(int argc, char **argv)
{
    struct cr_error error = {""};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    keep_memory();
    keep_output_errno();
    int status = finish_output(dispatch_guarded(argc, argv, &error), &error);
    if (status == 2) {
        crescent_ranks_wait(NULL);
        print_error(&error);
        crescent_ranks_abort(NULL, status); /* this process has not joined a group, but a launcher
                                             * may have started others */
    }
    return status == 2 && cr_is_bug(&error) ? 3 : status;
}
