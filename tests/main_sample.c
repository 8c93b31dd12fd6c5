/*
 * main_sample.c - a model small enough to write by hand, around compiler/emit/standalone_main.inc:
 *
 *     y[2, 3] = x[2, 4] w[4, 3] + b[3],  z[2] = 10 id[2] + 1
 *
 * with float parameters w and b.  The test suite includes this file and calls its main.
 */
struct cr_tensor {
    const char *name;
    int rank;
    const long *shape;
    long elements;
    int is_i32;
};

#define CR_MAIN_NAME "sample"
#define CR_MAIN_PARAMS 2
#define CR_MAIN_INPUTS 2
#define CR_MAIN_OUTPUTS 2
#define CR_MAIN_WEIGHTS_BYTES (15 * 4)
#define CR_MAIN_ARENA_BYTES (6 * 4)
#define CR_MAIN_RANKS 1

/* Lines of standalone_main.inc for several ranks are compiled too: this process is the only
 * rank. */
#define MPI_COMM_WORLD 0
#define MPI_THREAD_FUNNELED 0
#define MPI_Init_thread(argc, argv, required, provided)                                             \
    ((void)(argc), (void)(argv), *(provided) = (required))
#define MPI_Comm_size(group, size) (*(size) = 1)
#define MPI_Comm_rank(group, rank) (*(rank) = 0)
#define MPI_BYTE 0
#define MPI_Allgather(from, n, type, to, room, other_type, group) memcpy(to, from, n)
#define MPI_Abort(group, status) ((void)(status))
#define MPI_Finalize() ((void)0)
#define sleep(seconds) ((void)(seconds)) /* to wait for other ranks: there are none */

static const long cr_main_shapes[][2] = {{4, 3}, {3, 0}, {2, 4}, {2, 0}, {2, 3}};

static const struct cr_tensor cr_main_params[] = {
    {"linear.weight", 2, cr_main_shapes[0], 12, 0},
    {"linear.bias", 1, cr_main_shapes[1], 3, 0},
};
static const struct cr_tensor cr_main_inputs[] = {
    {"x", 2, cr_main_shapes[2], 8, 0},
    {"id", 1, cr_main_shapes[3], 2, 1},
};
static const struct cr_tensor cr_main_outputs[] = {
    {"y", 2, cr_main_shapes[4], 6, 0},
    {"z", 1, cr_main_shapes[3], 2, 1},
};

/* Copies a parameter to the weights: w, followed by b. */
static void cr_main_load(void *weights, int index, const float *tensor)
{
    float *to = (float *)weights + (index == 0 ? 0 : 12);
    long i;

    for (i = 0; i < cr_main_params[index].elements; i++)
        to[i] = tensor[i];
}

/* Runs the model; products are summed in the arena.  Returns 7 for a negative id. */
static int cr_main_run(const void *weights, const void *const *inputs, void *const *outputs,
                       void *arena)
{
    const float *w = weights, *b = w + 12, *x = inputs[0];
    const int *id = inputs[1];
    float *y = outputs[0], *sum = arena;
    int *z = outputs[1], r, c, k;

    for (r = 0; r < 2; r++) {
        for (c = 0; c < 3; c++) {
            sum[r * 3 + c] = b[c];
            for (k = 0; k < 4; k++)
                sum[r * 3 + c] += x[r * 4 + k] * w[k * 3 + c];
            y[r * 3 + c] = sum[r * 3 + c];
        }
        if (id[r] < 0)
            return 7;
        z[r] = 10 * id[r] + 1;
    }
    return 0;
}

#define CR_MAIN_SAMPLE /* compiled for one process: without the code by which ranks read parts of files */
#include "compiler/emit/standalone_main.inc"
