/*
 * call_training.c - a program that trains: generated/train_add.c, without Crescent; see
 * training.md.
 *
 *     call_training CHECKPOINT STEPS TENSORS [DATA.npy...]
 *
 * starts from a checkpoint of `crescent train` (one of --steps 0 will do), makes steps, and writes
 * the tensors of the state as they stand in a checkpoint behind its header.
 *
 * Macros let it call the step of another script:
 *
 *     MODEL, MODEL_CAPITALS  the name in functions and in macros: train_sort, TRAIN_SORT
 *     OUTPUTS                the outputs in the order of their names, `other` for all but the loss
 *     INPUTS                 the inputs, with a comma behind each: DATA.npy number k is data[k - 1],
 *                            and the step has the number i, counted from 0
 *     TWO_STATES             a step stores the next state beside the old one, not over it
 *     TRAIN_ADD_MPI          compiled by mpicc, it is a program for mpirun: the ranks share the
 *                            micro-batches of a step, if it has any; rank 0 prints and writes.
 *                            It ends if ranks were given different steps, states or data
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MODEL
#define MODEL train_add
#define MODEL_CAPITALS TRAIN_ADD
#endif
#ifndef OUTPUTS
#define OUTPUTS &loss
#endif
#ifndef INPUTS
#define INPUTS
#endif

/* NAME(_step_with) is train_add_step_with, SIZE(_TENSORS) is TRAIN_ADD_TENSORS. */
#define NAME(end) JOINED(MODEL, end)
#define SIZE(end) JOINED(MODEL_CAPITALS, end)
#define JOINED(a, b) JOIN(a, b)
#define JOIN(a, b) a##b
#define QUOTED(text) QUOTE(text)
#define QUOTE(text) #text

#include QUOTED(MODEL.h)

#if SIZE(_MPI)
#include <mpi.h>
#endif

enum { MOST_DATA = 8 };

static int *data[MOST_DATA]; /* the elements of each file, of 4 bytes: the inputs of all steps */

/* Joins the other ranks, if there may be any; returns the number of this one. */
static int join_ranks(void)
{
    int rank = 0;
#if SIZE(_MPI)
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    return rank;
}

/* Leaves them; a failure ends all. */
static int leave_ranks(int status)
{
#if SIZE(_MPI)
    if (status)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
#endif
    return status;
}

static unsigned long long given; /* a hash of the steps, the state and the data */

/* Mixes n bytes into the hash. */
static void mix(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        given = (given ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
}

/* Returns 1 if all ranks were given the same. */
static int is_alike(void)
{
    unsigned long long range[2] = {given, ~given}; /* the least of ~x is that of the largest x */
#if SIZE(_MPI)
    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
#endif
    return range[0] == given && ~range[1] == given;
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
    for (int i = 0; good && i < SIZE(_TENSORS); i++) {
        const size_t n = (size_t)NAME(_tensors)[i].elements;
        good = fread(whole, 4, n, file) == n && NAME(_set_tensor)(state, i, whole) == 0;
        mix(whole, 4 * n);
    }
    if (file)
        fclose(file);
    return good;
}

/* Reads the elements of a .npy file, which are ints or floats, behind its header: ten bytes, the
 * last two of which are the length of what follows. */
static int read_data(const char *path, int **elements)
{
    unsigned char start[10];
    FILE *file = fopen(path, "rb");
    int good = file && fread(start, 1, 10, file) == 10 && fseek(file, 0, SEEK_END) == 0;
    long header = good ? 10 + start[8] + 256L * start[9] : 0, size = good ? ftell(file) - header : 0;
    good = good && size > 0 && (*elements = malloc((size_t)size)) && fseek(file, header, SEEK_SET) == 0 &&
           fread(*elements, 1, (size_t)size, file) == (size_t)size;
    if (good)
        mix(*elements, (size_t)size);
    if (file)
        fclose(file);
    return good;
}

/* Of several ranks the first one writes; a tensor may have parts on all of them. */
static int write_state(const char *path, const char *state, float *whole, int rank)
{
    FILE *file = rank == 0 ? fopen(path, "wb") : NULL;
    int good = rank > 0 || file;
    for (int i = 0; good && i < SIZE(_TENSORS); i++) {
        const size_t n = (size_t)NAME(_tensors)[i].elements;
        good = NAME(_get_tensor)(state, i, whole) == 0 && (!file || fwrite(whole, 4, n, file) == n);
    }
    return (!file || fclose(file) == 0) && good;
}

/* Makes steps, each of which stores the next state in the other of two memories, or over the old
 * one if they are the same.  Returns the last state, or null after a failure. */
static char *train(struct NAME(_pool) *pool, char *state, char *next, void *arena, long steps, int rank)
{
    float loss, unread[4];
    void *other = unread;
    for (long i = 0; i < steps; i++) {
        if (NAME(_step_with)(pool, state, next, INPUTS OUTPUTS, arena))
            return NULL;
        if (rank == 0 && (i == 0 || i == steps - 1))
            printf("step %ld: loss %.4f\n", i + 1, loss);
        char *old = state;
        state = next;
        next = old;
    }
    (void)other;
    return state;
}

int main(int argc, char **argv)
{
    char *state = aligned_alloc(64, SIZE(_STATE_BYTES)), *next = state;
    void *arena = aligned_alloc(64, SIZE(_ARENA_BYTES));
    float *whole = malloc(SIZE(_TENSOR_BYTES));
    void *memory = aligned_alloc(64, SIZE(_POOL_BYTES));
    struct NAME(_pool) *pool = NAME(_pool_start)(memory, SIZE(_THREADS));
    int rank = join_ranks();
    int good = argc >= 4 && argc <= 4 + MOST_DATA && state && arena && whole && pool;
#ifdef TWO_STATES
    next = aligned_alloc(64, SIZE(_STATE_BYTES));
#endif
    for (int i = 4; good && i < argc; i++)
        good = read_data(argv[i], &data[i - 4]);
    if (!good || !next || !read_state(argv[1], state, whole)) {
        fputs("expected CHECKPOINT STEPS TENSORS, and memory\n", stderr);
        good = 0;
    } else if (mix(argv[2], strlen(argv[2])), !is_alike()) {
        fputs("ranks have different steps, states or data, expected the same for all\n", stderr);
        good = 0;
    } else {
        const char *last = train(pool, state, next, arena, atol(argv[2]), rank);
        good = last && write_state(argv[3], last, whole, rank);
    }
    NAME(_pool_stop)(pool);
    for (int i = 0; i < MOST_DATA; i++)
        free(data[i]);
    free(memory);
    free(next == state ? NULL : next);
    free(state);
    free(arena);
    free(whole);
    return leave_ranks(good ? 0 : 2);
}
