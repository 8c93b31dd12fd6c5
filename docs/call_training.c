/*
 * call_training.c - a program that trains: generated/train_add.c, without Crescent; see
 * training.md.
 *
 *     call_training CHECKPOINT STEPS TENSORS
 *
 * begins with a checkpoint of `crescent train` (one of --steps 0 will do), makes steps, and
 * writes the tensors of the state as they stand in a checkpoint behind its header.  With
 * -DTRAIN_ADD_MPI, compiled by mpicc, it is a program for mpirun: the ranks share the micro-batches
 * of a step, if it has any, and rank 0 prints and writes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "train_add.h"

#ifdef TRAIN_ADD_MPI
#include <mpi.h>
#endif

/* Joins the other ranks, if there may be any; returns the number of this one. */
static int join_ranks(void)
{
    int rank = 0;
#ifdef TRAIN_ADD_MPI
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    return rank;
}

/* Leaves them; a failure ends all. */
static int leave_ranks(int status)
{
#ifdef TRAIN_ADD_MPI
    if (status)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
#endif
    return status;
}

/* A checkpoint is the length of a header, the header, and the tensors without gaps, in the order
 * of the table; so that the header need not be read by somebody who knows what he saved. */
static int read_state(const char *path, char *state, float *whole)
{
    unsigned char length[8];
    long header = 0;
    FILE *file = fopen(path, "rb");
    int good = file && fread(length, 1, 8, file) == 8;
    for (int i = 3; good && i >= 0; i--) /* the other four bytes are 0 */
        header = header * 256 + length[i];
    good = good && fseek(file, header, SEEK_CUR) == 0;
    for (int i = 0; good && i < TRAIN_ADD_TENSORS; i++) {
        const size_t n = (size_t)train_add_tensors[i].elements;
        good = fread(whole, 4, n, file) == n && train_add_set_tensor(state, i, whole) == 0;
    }
    if (file)
        fclose(file);
    return good;
}

/* Of several ranks the first one writes; a tensor may have parts on all of them. */
static int write_state(const char *path, const char *state, float *whole, int rank)
{
    FILE *file = rank == 0 ? fopen(path, "wb") : NULL;
    int good = rank > 0 || file;
    for (int i = 0; good && i < TRAIN_ADD_TENSORS; i++) {
        const size_t n = (size_t)train_add_tensors[i].elements;
        good = train_add_get_tensor(state, i, whole) == 0 && (!file || fwrite(whole, 4, n, file) == n);
    }
    return (!file || fclose(file) == 0) && good;
}

/* Makes steps, the state going to and fro between two pieces of memory; returns the last one. */
static char *train(struct train_add_pool *pool, char *state, char *next, void *arena, long steps,
                   int rank)
{
    float loss;
    for (long i = 1; i <= steps; i++) {
        char *old = state;
        if (train_add_step_with(pool, state, next, &loss, arena))
            return NULL;
        state = next;
        next = old;
        if (rank == 0 && (i == 1 || i == steps))
            printf("step %ld: loss %.4f\n", i, loss);
    }
    return state;
}

int main(int argc, char **argv)
{
    char *states[2] = {aligned_alloc(64, TRAIN_ADD_STATE_BYTES),
                       aligned_alloc(64, TRAIN_ADD_STATE_BYTES)};
    void *arena = aligned_alloc(64, TRAIN_ADD_ARENA_BYTES);
    float *whole = malloc(TRAIN_ADD_TENSOR_BYTES);
    void *memory = aligned_alloc(64, TRAIN_ADD_POOL_BYTES);
    struct train_add_pool *pool = train_add_pool_start(memory, TRAIN_ADD_THREADS);
    char *last = NULL;
    int rank = join_ranks();
    if (argc != 4 || !states[0] || !states[1] || !arena || !whole || !pool || !read_state(argv[1], states[0], whole))
        fputs("expected CHECKPOINT STEPS TENSORS, and memory\n", stderr);
    else
        last = train(pool, states[0], states[1], arena, atol(argv[2]), rank);
    if (last && !write_state(argv[3], last, whole, rank))
        last = NULL;
    train_add_pool_stop(pool);
    free(memory);
    free(states[0]);
    free(states[1]);
    free(arena);
    free(whole);
    return leave_ranks(last ? 0 : 2);
}
