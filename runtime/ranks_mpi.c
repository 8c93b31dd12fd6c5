/*
 * ranks_mpi.c - implements the ranks of ranks.h by MPI.
 *
 * Built by mpicc as a shared object, which the program loads when it is started by mpirun.  An
 * error in MPI ends all ranks, which is MPI's default.
 */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ranks.h"

/* MPI counts in int, so longer data are exchanged in pieces. */
enum { PIECE = 1 << 30 };

static int piece_of(size_t bytes)
{
    return bytes < PIECE ? (int)bytes : PIECE;
}

/* Waits until an exchange is complete.  If there are more ranks than processors, yields the
 * processor meanwhile, as some MPIs would poll all the time. */
static void finish(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        sched_yield();
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static void broadcast(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    if (ranks->rank == from)
        ranks->sent += (long long)bytes * (ranks->count - 1);
    for (size_t at = 0; at < bytes; at += PIECE) {
        MPI_Request request;
        MPI_Ibcast((char *)data + at, piece_of(bytes - at), MPI_BYTE, from, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

/* Gathers at most PIECE bytes; `places` has room for the counts, then the displacements, of all
 * ranks. */
static void gather_small(struct cr_ranks *ranks, void *data, const size_t *first, int *places)
{
    for (int r = 0; r < ranks->count; r++) {
        places[r] = (int)(first[r + 1] - first[r]);
        places[ranks->count + r] = (int)first[r];
    }
    ranks->sent += (long long)places[ranks->rank] * (ranks->count - 1);
    MPI_Request request;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, places, places + ranks->count, MPI_BYTE,
                    MPI_COMM_WORLD, &request);
    finish(&request);
}

/* The memory for gather_small is behind the struct; see cr_ranks_join_mpi. */
static void all_gather(struct cr_ranks *ranks, void *data, const size_t *first)
{
    if (first[ranks->count] <= PIECE) {
        gather_small(ranks, data, first, (int *)(void *)(ranks + 1));
        return;
    }
    for (int r = 0; r < ranks->count; r++)
        broadcast(ranks, (char *)data + first[r], first[r + 1] - first[r], r);
}

/* Gathers blocks whose distances add up to at most PIECE bytes, with the memory for
 * gather_small. */
static void gather_near(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    int *counts = (int *)(void *)(ranks + 1), *places = counts + ranks->count;
    MPI_Request request;
    for (int r = 0; r < ranks->count; r++) {
        counts[r] = (int)bytes;
        places[r] = (int)(r * stride);
    }
    MPI_Iallgatherv(from, (int)bytes, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
    finish(&request);
    ranks->sent += (long long)bytes * (ranks->count - 1);
}

static void gather_blocks(struct cr_ranks *ranks, void *to, const void *from, long bytes, long stride)
{
    if ((long long)stride * ranks->count <= PIECE) {
        gather_near(ranks, to, from, bytes, stride);
        return;
    }
    memcpy((char *)to + ranks->rank * stride, from, (size_t)bytes);
    for (int r = 0; r < ranks->count; r++)
        broadcast(ranks, (char *)to + r * stride, (size_t)bytes, r);
}

static void send_to(struct cr_ranks *ranks, const void *data, size_t bytes, int to)
{
    ranks->sent += (long long)bytes;
    for (size_t at = 0; at < bytes; at += PIECE) {
        MPI_Request request;
        MPI_Isend((const char *)data + at, piece_of(bytes - at), MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

static void receive(struct cr_ranks *ranks, void *data, size_t bytes, int from)
{
    (void)ranks;
    for (size_t at = 0; at < bytes; at += PIECE) {
        MPI_Request request;
        MPI_Irecv((char *)data + at, piece_of(bytes - at), MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

/* The most messages, or pieces of messages, that are under way at the same time. */
enum { MOST_MESSAGES = 32 };

static void finish_all(MPI_Request *requests, int *n)
{
    while (*n > 0)
        finish(&requests[--*n]);
}

/* Waiting for each MOST_MESSAGES messages cannot deadlock: the earliest message under way anywhere
 * is under way on both of its ranks, because their lists have the same order. */
static void exchange(struct cr_ranks *ranks, const struct cr_message *messages, int n)
{
    MPI_Request requests[MOST_MESSAGES];
    int under_way = 0;
    for (const struct cr_message *m = messages; m < messages + n; m++) {
        ranks->sent += m->is_received ? 0 : (long long)m->bytes;
        for (size_t at = 0; at < m->bytes; at += PIECE) {
            MPI_Request *request = &requests[under_way++];
            char *data = (char *)m->data + at;
            if (m->is_received)
                MPI_Irecv(data, piece_of(m->bytes - at), MPI_BYTE, m->other, 0, MPI_COMM_WORLD,
                          request);
            else
                MPI_Isend(data, piece_of(m->bytes - at), MPI_BYTE, m->other, 0, MPI_COMM_WORLD,
                          request);
            if (under_way == MOST_MESSAGES)
                finish_all(requests, &under_way);
        }
    }
    finish_all(requests, &under_way);
}

static void barrier(struct cr_ranks *ranks)
{
    MPI_Request request;
    (void)ranks;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    finish(&request);
}

/* Waits until the launcher has read this rank's output from the pipe, and then 0.3 s until the
 * launcher has passed it on: MPICH's launcher drops output that it has not passed on when ranks
 * end. */
static void wait_for_launcher(void)
{
    const struct timespec pause = {.tv_nsec = 10000000}, moment = {.tv_nsec = 300000000};
    int unread = 0;
    for (int i = 0; i < 500 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; i++)
        nanosleep(&pause, NULL);
    nanosleep(&moment, NULL);
}

static void abort_all(struct cr_ranks *ranks, int status)
{
    (void)ranks;
    wait_for_launcher();
    MPI_Abort(MPI_COMM_WORLD, status);
    abort();
}

static void close_ranks(struct cr_ranks *ranks)
{
    MPI_Finalize();
    free(ranks);
}

/* True if the system can map so many bytes. */
static bool can_map(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, bytes);
    return true;
}

/* Gathers zeros, so that MPI sets up its memory and connections now and not in the first exchange
 * of a model; between two ranks of one machine this takes 0.2 to 0.5 ms.  Returns false if there is
 * too little memory, for which MPI might wait for ever. */
static bool warm_up(struct cr_ranks *ranks)
{
    enum { BYTES = 1 << 21, ROOM = 1 << 22 }; /* BYTES: gathered, of all ranks; ROOM: left for
                                                 MPI */
    const size_t own = BYTES / (size_t)ranks->count;
    char *data = calloc((size_t)ranks->count + 1, own);
    if (!data || !can_map(ROOM)) {
        free(data);
        return false;
    }
    gather_blocks(ranks, data, data + own * (size_t)ranks->count, (long)own, (long)own);
    ranks->sent = 0;
    free(data);
    return true;
}

__attribute__((visibility("default"))) struct cr_ranks *cr_ranks_join_mpi(void);

/* Only one thread may call MPI.  A process can join a group once. */
struct cr_ranks *cr_ranks_join_mpi(void)
{
    int known = 0, given = 0, rank, count;
    MPI_Initialized(&known);
    if (known || MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    struct cr_ranks *ranks = malloc(sizeof *ranks + 2 * sizeof(int) * (size_t)count);
    if (!ranks)
        return NULL;
    *ranks = (struct cr_ranks){.gather_blocks = gather_blocks,
                               .rank = rank,
                               .count = count,
                               .all_gather = all_gather,
                               .broadcast = broadcast,
                               .send = send_to,
                               .receive = receive,
                               .exchange = exchange,
                               .barrier = barrier,
                               .abort = abort_all,
                               .close = close_ranks};
    if (count > 1 && !warm_up(ranks)) {
        free(ranks);
        return NULL;
    }
    return ranks;
}
