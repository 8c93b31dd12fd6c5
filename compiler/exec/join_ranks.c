/* join_ranks.c - finds the launcher that started this process, and loads its MPI; see
 * join_ranks.h. */
#include "join_ranks.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compiler/ir/mem.h"

/* ---- one rank ---- */

static void one_gathers(struct cr_ranks *ranks, void *data, const size_t *first)
{
    (void)ranks, (void)data, (void)first;
}

static void one_gathers_blocks(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    (void)ranks, (void)stride;
    memcpy(to, from, (size_t)bytes);
}

static void one_broadcasts(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    (void)ranks, (void)data, (void)bytes, (void)from;
}

/* Never called, since there is no other rank. */
static void one_sends(struct cr_ranks *ranks, const void *data, size_t bytes, int to)
{
    (void)ranks, (void)data, (void)bytes, (void)to;
    abort();
}

static void one_receives(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    (void)ranks, (void)data, (void)bytes, (void)from;
    abort();
}

/* Called only without messages. */
static void one_exchanges(struct cr_ranks *ranks, const struct cr_message *messages, int n)
{
    (void)ranks, (void)messages;
    if (n)
        abort();
}

static void one_waits(struct cr_ranks *ranks)
{
    (void)ranks;
}

static void one_aborts(struct cr_ranks *ranks, int status)
{
    (void)ranks, (void)status;
}

static void one_closes(struct cr_ranks *ranks)
{
    free(ranks);
}

/* Returns a group of one rank, for a process that runs alone and exchanges nothing. */
static struct cr_ranks *one_rank(void)
{
    struct cr_ranks *ranks = cr_calloc(1, sizeof *ranks);
    *ranks = (struct cr_ranks){.gather_blocks = one_gathers_blocks,
                               .count = 1,
                               .all_gather = one_gathers,
                               .broadcast = one_broadcasts,
                               .send = one_sends,
                               .receive = one_receives,
                               .exchange = one_exchanges,
                               .barrier = one_waits,
                               .abort = one_aborts,
                               .close = one_closes};
    return ranks;
}

/* ---- several ---- */

/* Returns the number in the first of four environment variables that is set, by which launchers
 * state the size of a group or the rank of a process: those of Open MPI's mpirun; of MPICH's
 * mpirun and srun with PMI; of MVAPICH's; of srun --mpi=pmix.  Returns `otherwise` if none is
 * set, or if the number is below `otherwise` or above INT_MAX. */
static int launched(const char *const names[4], int otherwise)
{
    const char *text = NULL;
    for (int i = 0; i < 4 && !text; i++)
        text = getenv(names[i]);
    long number = text ? strtol(text, NULL, 10) : otherwise;
    return number < otherwise || number > INT_MAX ? otherwise : (int)number;
}

int cr_launched_ranks(void)
{
    const char *tasks = getenv("PMIX_RANK") ? "SLURM_STEP_NUM_TASKS" : "PMI_SIZE"; /* without
                                                                                    * PMIX_RANK,
                                                                                    * SLURM's
                                                                                    * variable
                                                                                    * is not
                                                                                    * about
                                                                                    * this
                                                                                    * process */
    return launched((const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", tasks}, 1);
}

/* Returns the name of the MPI library that can communicate with the launcher. */
static const char *family(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") ? "openmpi" : "mpich";
}

/* Searches for the MPI's shared object beside the program, and in the folder where `make install`
 * puts it. */
static int find_object(char *path, size_t size)
{
    static const char *const folders[] = {"", "/../lib/crescent", "/.."};
    const char *given = getenv("CRESCENT_MPI");
    char program[PATH_MAX] = "";
    if (given)
        return snprintf(path, size, "%s", given) < (int)size && access(path, R_OK) == 0;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return 0;
    const char *folder = dirname(program);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (snprintf(path, size, "%s%s/crescent_%s.so", folder, folders[i], family()) < (int)size &&
            access(path, R_OK) == 0)
            return 1;
    return 0;
}

/* Loads the MPI's shared object.  RTLD_GLOBAL is needed because libraries of MPI load parts that
 * use their symbols.  The address is copied as dlsym(3) advises. */
static cr_ranks_join *load_object(int count, struct cr_error *error)
{
    char path[PATH_MAX] = "";
    if (!find_object(path, sizeof path)) {
        cr_fail(error,
                "started as %d ranks, but found no crescent_%s.so, expected it beside the program or in "
                "$CRESCENT_MPI (make MPI=1 builds it)",
                count, family());
        return NULL;
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!object) {
        cr_fail(error, "%s: cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    cr_ranks_join *join = NULL;
    void *address = dlsym(object, CR_RANKS_JOIN);
    if (!address)
        cr_fail(error, "%s: has no function " CR_RANKS_JOIN ", expected an object of make MPI=1", path);
    memcpy(&join, &address, sizeof join);
    return join;
}

/* Fails if the limit of file sizes is below 4.4 MiB, the file by which MPICH's ranks on one
 * machine share memory.  MPICH would end the process without a message of this program. */
static int check_file_limit(int count, struct cr_error *error)
{
    enum { LEAST = 5 << 20 };
    struct rlimit limit;
    if (strcmp(family(), "mpich") != 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= LEAST)
        return 0;
    return cr_fail(error, "started as %d ranks, but found a limit of %lld bytes for files (ulimit -f), expected at least %d "
                   "for the memory that ranks share in MPICH", count, (long long)limit.rlim_cur, LEAST);
}

int cr_ranks_open(struct cr_ranks **ranks, struct cr_error *error)
{
    int count = cr_launched_ranks();
    if (count == 1) {
        *ranks = one_rank();
        return 0;
    }
    if (check_file_limit(count, error))
        return -1;
    cr_ranks_join *join = load_object(count, error);
    *ranks = join ? join() : NULL;
    if (join && !*ranks)
        return cr_fail(error, "cannot join the %d ranks: this process has joined before, or has too little memory for MPI",
                       count);
    if (*ranks && (*ranks)->count != count)
        return cr_fail(error,
                       "MPI counts %d ranks, but the launcher has started %d, expected a program of the "
                       "same MPI as mpirun's",
                       (*ranks)->count, count);
    return *ranks ? 0 : -1;
}

/* The word compared by a rank that leaves the group; other words are hashes. */
static const uint64_t leaves = UINT64_MAX;

static void wait_tenths(int tenths)
{
    struct timespec time = {.tv_sec = tenths / 10, .tv_nsec = tenths % 10 * 100000000L};
    nanosleep(&time, NULL);
}

/* Compares a word of all ranks.  If words differ, the first rank that is not leaving has to fail
 * and end the other ranks, so the others wait; thus only one error is printed.  The words are not
 * added to ranks->sent. */
int cr_ranks_compare(struct cr_ranks *ranks, uint64_t word)
{
    uint64_t *words = cr_calloc((size_t)ranks->count, sizeof *words);
    long long sent = ranks->sent;
    int other = 1, stays = 0;
    ranks->gather_blocks(ranks, words, &word, sizeof word, sizeof word);
    ranks->sent = sent;
    while (other < ranks->count && words[other] == words[0])
        other++;
    while (stays < ranks->count && words[stays] == leaves)
        stays++;
    bool differ = other < ranks->count;
    ranks->differ |= differ;
    if (differ && ranks->rank > stays && word != leaves)
        wait_tenths(100);
    free(words);
    return differ ? other : -1;
}

bool cr_ranks_any(struct cr_ranks *ranks, bool flag)
{
    uint64_t *flags = cr_calloc((size_t)ranks->count, sizeof *flags), own = flag;
    long long sent = ranks->sent;
    bool any = false;
    ranks->gather_blocks(ranks, flags, &own, sizeof own, sizeof own);
    ranks->sent = sent;
    for (int r = 0; r < ranks->count; r++)
        any |= flags[r] != 0;
    free(flags);
    return any;
}

/* Compares the word `leaves` first: ranks that compare their inputs at that time fail instead of
 * waiting forever. */
void cr_ranks_close(struct cr_ranks *ranks)
{
    if (!ranks)
        return;
    cr_ranks_compare(ranks, leaves);
    ranks->close(ranks);
}

int cr_ranks_check_memory(const struct cr_ranks *ranks, const char *path, struct cr_error *error)
{
    enum { ROOM = 4 << 20 };
    if (!ranks || ranks->count == 1)
        return 0;
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return cr_fail(error,
                       "%.400s: less than %d MiB of memory are left for the exchange between ranks, expected more",
                       path, ROOM >> 20);
    munmap(room, ROOM);
    return 0;
}

static int launched_rank(void)
{
    return launched(
        (const char *const[]){"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK"}, 0);
}

/* Waits three seconds on rank 1 and 1.5 more on each further rank, at most nine.  Open MPI's
 * launcher takes one second to end the others. */
void cr_ranks_wait_to_fail(const struct cr_ranks *ranks)
{
    int rank = ranks ? ranks->rank : launched_rank();
    if (rank > 0 && (ranks || cr_launched_ranks() > 1))
        wait_tenths(rank < 5 ? 15 + 15 * rank : 90);
}

/* Asks MPICH's launcher, by its protocol PMI-1, to end all processes with this status, and waits
 * until it has done so.  Does nothing under other launchers. */
static void ask_hydra(int status)
{
    const char *pipe = getenv("PMI_FD");
    if (pipe && getenv("HYDI_CONTROL_FD") && dprintf((int)strtol(pipe, NULL, 10), "cmd=abort exitcode=%d\n", status) > 0)
        wait_tenths(30);
}

/* Open MPI's launcher ends the other processes if one ends with an error status before it has
 * joined.  MPICH's would wait for the others, but every launcher ends them if a process is killed
 * by a signal.  Waits a moment first, so that the launcher passes on the printed error. */
void cr_ranks_end_launched(int status)
{
    if (cr_launched_ranks() == 1)
        return;
    wait_tenths(3);
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return;
    ask_hydra(status);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
}
