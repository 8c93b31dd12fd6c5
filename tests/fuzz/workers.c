/* Processes that try graphs in parallel; see workers.h. */
#include "workers.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "generate.h"
#include "oracles.h"
#include "reach.h"
#include "reduce.h"

enum {
    MAX_JOBS = 64,
    MAX_FINDINGS = 1000,
    SHOWN = 12,
    MOST_LINES = 60,
    PATIENCE = 1200 /* seconds for one graph, as a C compiler may run on a busy machine */
};

struct finding {
    int64_t number;
    int oracle, signal;
    char text[600];
    atomic_bool told; /* the other members are set */
};

/* Memory that the workers and the parent process share. */
struct shared {
    atomic_llong next, done;
    atomic_ullong reached;
    atomic_int n_findings;
    int64_t number[MAX_JOBS]; /* by worker: the number of its graph, or -1 */
    volatile int oracle[MAX_JOBS];
    struct finding findings[MAX_FINDINGS];
};

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static void add_finding(struct shared *s, int64_t number, int oracle, int signal, const char *text)
{
    int i = atomic_fetch_add(&s->n_findings, 1);
    if (i >= MAX_FINDINGS)
        return;
    struct finding *f = &s->findings[i];
    f->number = number;
    f->oracle = oracle;
    f->signal = signal;
    snprintf(f->text, sizeof f->text, "%s", text);
    atomic_store(&f->told, true);
}

/* ---- the stderr of a process ---- */

/* Makes a file without a name for stderr. */
static int hide_stderr(void)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

/* Reads the first line of a file made by hide_stderr. */
static void first_line(int fd, char *line, size_t size)
{
    ssize_t n = pread(fd, line, size - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static const char *signal_text(int number)
{
    return number == SIGALRM ? "it hangs" : strsignal(number);
}

/* ---- workers ---- */

static void try_number(struct shared *s, const struct cr_fuzz_settings *o, int worker,
                       int64_t number)
{
    struct cr_report report = {""};
    alarm(PATIENCE);
    s->oracle[worker] = 0;
    s->number[worker] = number;
    struct cr_case *c = cr_generate((uint64_t)o->seed, (uint64_t)number, o->models);
    int only = o->only ? cr_oracle_by_name(o->only) : -1;
    int oracle = cr_try_oracles(c, number, only, &s->oracle[worker], &report);
    if (oracle >= 0)
        add_finding(s, number, oracle, 0, report.text);
    cr_case_free(c);
    s->number[worker] = -1;
    atomic_fetch_or(&s->reached, cr_reached);
    atomic_fetch_add(&s->done, 1);
}

static _Noreturn void work(struct shared *s, const struct cr_fuzz_settings *o, int worker,
                           int complaints)
{
    dup2(complaints, STDERR_FILENO);
    for (;;) {
        int64_t i = atomic_fetch_add(&s->next, 1);
        if (i >= o->n)
            _exit(0);
        if (ftruncate(complaints, 0) || lseek(complaints, 0, SEEK_SET))
            _exit(9);
        try_number(s, o, worker, o->first + i);
    }
}

struct worker {
    pid_t pid;
    int complaints;
};

static void start(struct shared *s, const struct cr_fuzz_settings *o, struct worker *workers, int i)
{
    s->number[i] = -1;
    fflush(NULL);
    workers[i].pid = fork();
    if (workers[i].pid < 0)
        abort();
    if (workers[i].pid == 0)
        work(s, o, i, workers[i].complaints);
}

/* Handles the end of a worker: one that crashed is a finding, and another takes its place. */
static bool handle_end_of_worker(struct shared *s, const struct cr_fuzz_settings *o, struct worker *workers,
                   int i, int status)
{
    char text[300], line[400];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && s->number[i] < 0)
        return false;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    first_line(workers[i].complaints, text, sizeof text);
    snprintf(line, sizeof line, "%s: %s", number ? signal_text(number) : "it exits", text);
    add_finding(s, s->number[i], s->oracle[i], number ? number : SIGABRT, line);
    atomic_fetch_add(&s->done, 1);
    start(s, o, workers, i);
    return true;
}

/* Shows progress: continuously on a terminal, else once a minute. */
static void show_progress(struct shared *s, const struct cr_fuzz_settings *o, time_t started)
{
    static time_t shown;
    bool live = isatty(STDERR_FILENO);
    time_t now = time(NULL);
    if (!shown)
        shown = started;
    if (now - shown < (live ? 1 : 60))
        return;
    shown = now;
    long long done = atomic_load(&s->done);
    fprintf(stderr, "%s%lld of %" PRId64 " graphs, %.0f a second, %d findings%s", live ? "\r" : "",
            done, o->n, (double)done / difftime(now, started), atomic_load(&s->n_findings),
            live ? " " : "\n");
}

/* Prints the findings that were not printed yet. */
static void show_findings(struct shared *s, const struct cr_fuzz_settings *o, int *shown)
{
    for (; *shown < atomic_load(&s->n_findings) && *shown < MAX_FINDINGS; ++*shown) {
        const struct finding *f = &s->findings[*shown];
        while (!atomic_load(&f->told))
            ;
        printf("graph %" PRId64 " of seed %" PRId64 ": %s: %s\n", f->number, o->seed,
               cr_oracles[f->oracle].name, f->text);
    }
}

static void run_workers(struct shared *s, const struct cr_fuzz_settings *o)
{
    struct worker workers[MAX_JOBS];
    int n = (int)(o->jobs < 1          ? 1
                  : o->jobs > MAX_JOBS ? MAX_JOBS
                                       : o->jobs),
        running = n, shown = 0;
    time_t started = time(NULL);
    for (int i = 0; i < n; i++) {
        workers[i].complaints = hide_stderr();
        start(s, o, workers, i);
    }
    while (running > 0) {
        int status;
        show_findings(s, o, &shown);
        pid_t pid = waitpid(-1, &status, WNOHANG);
        for (int i = 0; i < n && pid > 0; i++)
            if (workers[i].pid == pid && !handle_end_of_worker(s, o, workers, i, status))
                running--;
        if (pid == 0) {
            nanosleep(&(struct timespec){0, 20000000}, NULL);
            show_progress(s, o, started);
        }
    }
    show_findings(s, o, &shown);
    for (int i = 0; i < n; i++)
        close(workers[i].complaints);
}

/* ---- one graph in a process of its own ---- */

static _Noreturn void judge_here(const struct cr_graph *g, int only, struct cr_verdict *v,
                                 int complaints)
{
    struct cr_report report = {""};
    volatile int at = 0;
    dup2(complaints, STDERR_FILENO);
    alarm(PATIENCE);
    struct cr_case *c = cr_case_of(cr_graph_copy(g));
    v->oracle = cr_try_oracles(c, -1, only, &at, &report);
    snprintf(v->text, sizeof v->text, "%s", report.text);
    cr_case_free(c);
    _exit(0);
}

void cr_judge(const struct cr_graph *g, int only, struct cr_verdict *verdict)
{
    static struct cr_verdict *shared;
    int status = 0, complaints = hide_stderr();
    char line[300];
    if (!shared)
        shared = share(sizeof *shared);
    *shared = (struct cr_verdict){.oracle = -1};
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        judge_here(g, only, shared, complaints);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *verdict = *shared;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        first_line(complaints, line, sizeof line);
        verdict->signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT;
        verdict->oracle = only >= 0 ? only : 0;
        snprintf(verdict->text, sizeof verdict->text, "%s: %s", signal_text(verdict->signal), line);
    } else if (verdict->oracle >= 0) {
        snprintf(line, sizeof line, "%s: ", cr_oracles[verdict->oracle].name);
        memmove(verdict->text + strlen(line), verdict->text,
                sizeof verdict->text - strlen(line) - 1);
        memcpy(verdict->text, line, strlen(line));
    }
    close(complaints);
}

/* ---- the report ---- */

static int by_oracle(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->signal != y->signal)
        return x->signal > y->signal ? -1 : 1;
    if (x->oracle != y->oracle)
        return x->oracle - y->oracle;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Reduces a finding, prints it, and saves it in the folder. */
static void show(const struct cr_fuzz_settings *o, const struct finding *f, int64_t seconds)
{
    char path[4096];
    struct cr_verdict verdict;
    struct cr_case *c = cr_generate((uint64_t)o->seed, (uint64_t)f->number, o->models);
    struct cr_graph *g =
        cr_reduce_graph(c->graph, f->oracle, seconds < 20 ? seconds : 20, &verdict);
    char *text = cr_graph_text(g);
    printf("-- reduced: %s\n", verdict.oracle < 0 ? "no more, alone" : verdict.text);
    printf("%s\n", g->n_nodes <= MOST_LINES ? text : "(a long script)\n");
    if (o->out) {
        snprintf(path, sizeof path, "%s/%" PRId64 "_%" PRId64 ".lua", o->out, o->seed, f->number);
        FILE *file = fopen(path, "we");
        if (file) {
            fprintf(file, "-- %s: %s\n%s", cr_oracles[f->oracle].name, verdict.text, text);
            fclose(file);
        }
    }
    free(text);
    cr_graph_free(g);
    cr_case_free(c);
}

static void report(struct shared *s, const struct cr_fuzz_settings *o)
{
    int n = atomic_load(&s->n_findings), shown = 0, of_kind = 0;
    n = n < MAX_FINDINGS ? n : MAX_FINDINGS;
    qsort(s->findings, (size_t)n, sizeof *s->findings, by_oracle);
    time_t started = time(NULL);
    for (int i = 0; i < n; i++) {
        const struct finding *f = &s->findings[i];
        bool first = i == 0 || f->oracle != f[-1].oracle || f->signal != f[-1].signal;
        of_kind = first ? 0 : of_kind + 1;
        int64_t left = o->seconds - (int64_t)difftime(time(NULL), started);
        if (of_kind < 3 && shown < SHOWN && left > 0) {
            printf("\n-- graph %" PRId64 " of seed %" PRId64 "\n", f->number, o->seed);
            show(o, f, left);
            shown++;
        }
    }
}

int cr_fuzz(const struct cr_fuzz_settings *o)
{
    struct shared *s = share(sizeof *s);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (o->out && mkdir(o->out, 0777) && errno != EEXIST) {
        fprintf(stderr, "crescent-fuzz: %s: %s\n", o->out, strerror(errno));
        return 2;
    }
    run_workers(s, o);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    report(s, o);
    int found = atomic_load(&s->n_findings);
    if (o->reach)
        found += cr_print_missing(atomic_load(&s->reached));
    printf("%" PRId64 " graphs in %.1f s, %.0f a second\n", o->n, seconds, (double)o->n / seconds);
    printf("%" PRId64 " passed, %d failed\n", o->n - found, found);
    munmap(s, sizeof *s);
    return found > 0;
}
