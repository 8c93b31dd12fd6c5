/* runtime.c - the functions of runtime.h for every instruction set, and their selection; see vector.h. */
#include <stddef.h>
#include <string.h>

#include "bf16_product.h" /* only for gemm_bf16_bf16 */
#include "divide.h" /* only for remainder, floor_divide */
#include "philox.h" /* only for random */
#include "pool.h"
#include "runtime.h"
#include "select_runtime.h"
#include "angle_reduction.h" /* only for sin, cos */
#include "vector.h"

/* Prefetches into all caches.  Hints for the second-level cache have less bandwidth on AMD's Zen 5,
 * most of all when memory is busy. */
/* CR_PREFETCH_FAR prefetches into the second-level cache and beyond. */ /* only for gemm_bf16_bf16, round_int8 */
#if defined(__GNUC__) && !defined(__TINYC__)
#define CR_PREFETCH(p) __builtin_prefetch(p, 0, 3)
#define CR_PREFETCH_FAR(p) __builtin_prefetch(p, 0, 2) /* only for gemm_bf16_bf16, round_int8 */
#else
#define CR_PREFETCH(p) ((void)(p))
#define CR_PREFETCH_FAR(p) ((void)(p)) /* only for gemm_bf16_bf16, round_int8 */
#endif

#define CR_LEAST(a, b) ((a) < (b) ? (a) : (b))
#define CR_MOST(a, b) ((a) > (b) ? (a) : (b))
#define CR_COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum {
    CR_LANES = 16,    /* lanes of a row reduction */
    CR_LINE = 16,     /* floats of a cache line */
    CR_BLOCK = 32,    /* rows of a block of q8 or q4 */ /* only for q8, q4 */
    CR_LONG_K = 1024, /* more k are computed in blocks (cr_has_long_k) */ /* only for long_k */
    CR_ROWS_AHEAD = 8, /* prefetch distance of pack, in rows */
    CR_COLUMNS_AHEAD = 64 /* prefetch distance of pack for columns, in floats */
};

/* The arguments of the gemm functions; see runtime.h.  The sums of row m are added to start + m * lds, then the
 * bias to these; start and bias may be null.  Results are written by non-temporal stores if `stream` is not 0. */
struct cr_product {
    long M, N, K;
    const float *a;
    long rs, cs;
    const float *b;
    long panel_stride;
    float *c;
    long ldc;
    const float *start;
    long lds;
    const float *bias;
    int stream;
    long columns, ahead;
    long next_panel; /* distance in floats from the weights of a panel to those that are read
                        next */
    long begin, end; /* row m of a is 0 outside begin + m <= k < end + m, and is skipped there;
                        begin = -M and end = K: no row is */
    const char *next; /* the address that the first tile of some columns prefetches, advanced by
                         `pace` bytes for each k */
    long next_step, pace; /* the tile below it begins next_step bytes later; see v_pace */
};

/* Computes `count` tiles of a product one below the other, the first at row m and column n. */
typedef void cr_tiles(const struct cr_product *p, long m, long n, long count);

/* The tiles of one width in vectors, by their height in rows. */
struct cr_tile_set {
    int height; /* the greatest height */
    cr_tiles *const *of_height;
};

/* y[r * ry + c * cy] = x[r * rx + c * cx] */
static void cr_copy_strided(long rows, long cols, cr_float *y, long ry, long cy, const cr_float *x,
                            long rx, long cx)
{
    for (long r = 0; r < rows; r++) {
        for (long c = 0; c < cols; c++) {
            y[r * ry + c * cy] = x[r * rx + c * cx];
        }
    }
}

static int cr_has_plain(void)
{
    return 1;
}

/* The template for each instruction set; the order matters. */
/* clang-format off */
#include "vector_plain.h"
#include "runtime.inc"

#if CR_X86 /* only for avx2, avx512 */
/* only for avx2 */
/* Processors with AVX2 have F16C; not every compiler can test for it. */
static int cr_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#include "vector_avx2.h" /* only for avx2 */
#include "runtime.inc" /* only for avx2 */

/* only for avx512 */
static int cr_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma");
}

#include "vector_avx512.h" /* only for avx512 */
#include "runtime.inc" /* only for avx512 */
#endif /* only for avx2, avx512 */

#if CR_NEON /* only for neon */
/* only for neon */
/* Every aarch64 has NEON. */
static int cr_has_neon(void)
{
    return 1;
}

#include "vector_neon.h" /* only for neon */
#include "runtime.inc" /* only for neon */
#endif /* only for neon */
/* clang-format on */

/* A runtime, and a function that returns true if the processor and the operating system support its
 * instruction set. */
struct cr_isa {
    const struct cr_runtime *rt;
    int (*has)(void);
};

CR_API const struct cr_runtime *cr_runtime_select(const char *isa)
{
    static const struct cr_isa best_first[] = {
#if CR_X86 /* only for avx2, avx512 */
#if CR_AMX /* only for gemm_bf16_bf16, gemm_q8_int8, gemm_q4_int8 */ /* only for amx */
        {&cr_runtime_amx, cr_has_amx}, /* only for gemm_bf16_bf16, gemm_q8_int8, gemm_q4_int8 */ /* only for amx */
#endif /* only for gemm_bf16_bf16, gemm_q8_int8, gemm_q4_int8 */ /* only for amx */
        {&cr_runtime_vnni, cr_has_vnni}, /* only for gemm_q8_int8, gemm_q4_int8 */ /* only for vnni */
        {&cr_runtime_avx512, cr_has_avx512}, /* only for avx512 */
        {&cr_runtime_avx2, cr_has_avx2}, /* only for avx2 */
#endif /* only for avx2, avx512 */
#if CR_NEON /* only for neon */
        {&cr_runtime_neon, cr_has_neon}, /* only for neon */
#endif /* only for neon */
        {&cr_runtime_plain, cr_has_plain},
    };
    for (size_t i = 0; i < sizeof best_first / sizeof *best_first; i++) {
        const struct cr_isa *choice = &best_first[i];
        if ((!isa || strcmp(isa, choice->rt->isa) == 0) && choice->has()) {
            return choice->rt;
        }
    }
    return NULL;
}
