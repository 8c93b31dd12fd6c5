/* call_block.c - a program that uses the C of generated/; see generated-c-call.md. */
#include <stdio.h>
#include <stdlib.h>

#include "generated/gpt2_block.h"

/* Made-up numbers, the same at every run; a real program reads them from a file. */
static void make_up(float *x, long n)
{
    static unsigned state = 1;
    for (long i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / 8388608.0f - 1.0f; /* -1 .. 1 */
    }
}

/* Hands in every parameter, row-major, in the shape it has in a state dict. */
static int load(void *weights)
{
    for (int i = 0; i < GPT2_BLOCK_PARAMS; i++) {
        const struct gpt2_block_param *p = &gpt2_block_params[i];
        float *tensor = malloc((size_t)p->elements * sizeof *tensor);
        if (!tensor)
            return 1;
        make_up(tensor, p->elements);
        gpt2_block_load(weights, i, tensor);
        free(tensor);
    }
    return 0;
}

int main(void)
{
    static float x[GPT2_BLOCK_IN_X_ELEMENTS], y[GPT2_BLOCK_OUT_Y_ELEMENTS];
    void *weights = aligned_alloc(64, GPT2_BLOCK_PARAM_BYTES);
    void *arena = aligned_alloc(64, GPT2_BLOCK_ARENA_BYTES);
    void *memory = aligned_alloc(64, GPT2_BLOCK_POOL_BYTES);
    struct gpt2_block_pool *pool = gpt2_block_pool_start(memory, GPT2_BLOCK_THREADS);
    int status = !weights || !arena || !pool || load(weights);
    if (status)
        fputs("out of memory\n", stderr);
    for (int run = 0; run < 3 && !status; run++) {
        make_up(x, GPT2_BLOCK_IN_X_ELEMENTS);
        status = gpt2_block_run_with(pool, weights, x, y, arena);
        printf("y begins with %.4f %.4f %.4f\n", y[0], y[1], y[2]);
    }
    gpt2_block_pool_stop(pool);
    free(memory);
    free(weights);
    free(arena);
    return status;
}
