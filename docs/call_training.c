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

/* Makes steps, each of which stores the next state over the old one. */
static int train(struct train_add_pool *pool, char *state, void *arena, long steps, int rank)
{
    float loss;
    for (long i = 1; i <= steps; i++) {
        if (train_add_step_with(pool, state, state, &loss, arena))
            return 0;
        if (rank == 0 && (i == 1 || i == steps))
            printf("step %ld: loss %.4f\n", i, loss);
    }
    return 1;
}

int main(int argc, char **argv)
{
    char *state = aligned_alloc(64, TRAIN_ADD_STATE_BYTES);
    void *arena = aligned_alloc(64, TRAIN_ADD_ARENA_BYTES);
    float *whole = malloc(TRAIN_ADD_TENSOR_BYTES);
    void *memory = aligned_alloc(64, TRAIN_ADD_POOL_BYTES);
    struct train_add_pool *pool = train_add_pool_start(memory, TRAIN_ADD_THREADS);
    int good = 0;
    int rank = join_ranks();
    if (argc != 4 || !state || !arena || !whole || !pool || !read_state(argv[1], state, whole))
        fputs("expected CHECKPOINT STEPS TENSORS, and memory\n", stderr);
    else
        good = train(pool, state, arena, atol(argv[2]), rank) && write_state(argv[3], state, whole, rank);
    train_add_pool_stop(pool);
    free(memory);
    free(state);
    free(arena);
    free(whole);
    return leave_ranks(good ? 0 : 2);
}
