/*
 * runtime_bits.c - prints a hash of what each function of the runtime computes, so that machines
 * can be compared.
 *
 * Every function is called with every instruction set that this machine has, on the same numbers,
 * special values among them.  Instruction sets that do not agree are an error; else a line for
 * each function goes to stdout, which is the same on every machine (tests/machine_bits.sh compares).
 * What the functions should compute is the matter of test_runtime.c.  An argument names the
 * instruction set that has to be the fastest here.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/random_fill.h"
#include "runtime/philox.h"
#include "runtime/select_runtime.h"
#include "tests/tile_columns.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { FLOATS = 1 << 15, MAX_LINES = 1024 };

/* The hashes of the functions of one instruction set. */
struct lines {
    const struct cr_runtime *k;
    const char *now; /* the group in which values are hashed at the moment */
    const char *group[MAX_LINES], *name[MAX_LINES];
    uint64_t hash[MAX_LINES];
    int n;
};

/* ---- numbers ---- */

static const float special[] = {
    0.0f,      -0.0f,      1.0f,      -1.0f,     INFINITY, -INFINITY, NAN,        0x1p-126f,
    0x1p-149f, -0x1p-149f, 0x1p-130f, 0x1p+127f, 88.7228f, 88.8f,     -87.3365f,  -103.9f,
    -104.1f,   3.95f,      -9.0109f,  0x1p24f,   0.34657f, 0.70710f,  0x1.8p+23f, -0x1p-30f,
};

/* Returns word i of a stream of random words. */
static uint32_t word(uint32_t stream, uint32_t i, int which)
{
    const uint32_t counter[4] = {i, stream, 0, 0}, key[2] = {7, 7};
    uint32_t out[4];
    cr_philox_block(counter, key, out);
    return out[which];
}

/* Returns a float: a special value, random bits, a zero, or, most often, a number of moderate
 * size. */
static float mixed(uint32_t stream, uint32_t i)
{
    uint32_t kind = word(stream, i, 0), bits = word(stream, i, 1);
    float value;
    switch (kind % 6) {
    case 0:
        return special[bits % COUNT(special)];
    case 1:
        memcpy(&value, &bits, sizeof value);
        return value;
    case 2:
        return bits % 2 ? 0.0f : -0.0f;
    default:
        return ((float)(bits >> 8) * 0x1p-24f - 0.5f) * (float)(1 << kind / 6 % 8);
    }
}

static float tame(uint32_t stream, uint32_t i)
{
    return (float)(word(stream, i, 0) >> 8) * 0x1p-24f - 0.5f;
}

/* Returns the bits of an integer: a random one, a small one, or one at the ends of the range. */
static float integer_bits(uint32_t stream, uint32_t i)
{
    uint32_t kind = word(stream, i, 0) % 4, bits = word(stream, i, 1);
    bits = kind > 1 ? bits : bits % 9 - 4 + (kind ? 0x80000000u : 0);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- hashes ---- */

static uint64_t add_word(uint64_t hash, uint32_t bits)
{
    hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* Hashes n values: floats, whose NaNs all count as the same, or integers. */
static uint64_t add(uint64_t hash, const void *p, long n, int floats)
{
    for (long i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)p + 4 * i, 4);
        int nan = floats && (bits & 0x7fffffffu) > 0x7f800000u;
        hash = add_word(hash, nan ? 0x7fc00000u : bits);
    }
    return hash;
}

/* Adds a line.  The first line hashes a buffer that no function has written: a function with the
 * same hash did nothing. */
static void put(struct lines *lines, const char *name, uint64_t hash)
{
    if (lines->n == MAX_LINES || (lines->n > 0 && hash == lines->hash[0])) {
        fprintf(stderr, "%s: %s\n", name, lines->n == MAX_LINES ? "too many" : "does nothing");
        exit(1);
    }
    lines->group[lines->n] = lines->now;
    lines->name[lines->n] = name;
    lines->hash[lines->n++] = hash;
}

/* ---- memory: as many floats for each operand, and more for a result ---- */

static float *a_mixed, *b_mixed, *c_mixed, *a_tame, *b_tame, *c_tame, *a_words, *b_words, *c_words;
static float *result;

static float *filled(float (*value)(uint32_t, uint32_t), uint32_t stream)
{
    float *p = malloc(FLOATS * sizeof *p);
    if (!p) {
        exit(1);
    }
    for (uint32_t i = 0; i < FLOATS; i++) {
        p[i] = value(stream, i);
    }
    return p;
}

/* Sets the buffer for results to fixed bits, so that elements that a call does not write are
 * hashed, too. */
static void reset(long floats)
{
    for (long i = 0; i < floats; i++) {
        result[i] = (float)(i % 97);
    }
}

static void make_memory(void)
{
    a_mixed = filled(mixed, 1), b_mixed = filled(mixed, 2), c_mixed = filled(mixed, 3);
    a_tame = filled(tame, 4), b_tame = filled(tame, 5), c_tame = filled(tame, 6);
    a_words = filled(integer_bits, 7), b_words = filled(integer_bits, 8);
    c_words = filled(integer_bits, 9);
    result = filled(tame, 10);
    for (int i = 0; i < FLOATS; i += 7) { /* some operands are equal */
        b_mixed[i] = a_mixed[i];
        b_words[i] = a_words[i];
    }
}

/* ---- elementwise ops and reductions, by their tables ---- */

static const long widths[] = {1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 31, 32, 33, 63, 64, 67, 150};

enum { ROWS = 3, MAX_LD = 160 };

/* The operands of a call, and the strides between their rows. */
struct operands {
    const void *a, *b, *c;
    int floats; /* what the result holds */
    long cols, ld;
};

/* Calls with tiles of all widths, with gaps between rows and without, and hashes the results. */
#define TRY(name, given, ...)                                                                      \
    do {                                                                                           \
        struct operands o = given;                                                                 \
        void *y = result;                                                                          \
        uint64_t hash = 0;                                                                         \
        for (int i = 0; i < 2 * COUNT(widths); i++) {                                              \
            o.cols = widths[i / 2];                                                                \
            o.ld = o.cols + i % 2 * 3;                                                             \
            reset(16 * MAX_LD);                                                                    \
            __VA_ARGS__;                                                                           \
            hash = add(hash, y, 16 * MAX_LD, o.floats);                                            \
        }                                                                                          \
        put(lines, name, hash);                                                                    \
    } while (0)

#define FLOAT_OPERANDS ((struct operands){a_mixed, b_mixed, c_mixed, 1, 0, 0})
#define TAME_OPERANDS ((struct operands){a_tame, b_tame, c_tame, 1, 0, 0})
#define WORD_OPERANDS ((struct operands){a_words, b_words, c_words, 0, 0, 0})
#define COMPARED_OPERANDS ((struct operands){a_words, b_words, c_words, 1, 0, 0})
#define CHOSEN_OPERANDS ((struct operands){a_mixed, b_words, c_words, 0, 0, 0})

#define TRY_MAP1(k, f, given) TRY(#f, given, k->f(ROWS, o.cols, y, o.ld, o.a, o.ld))
#define TRY_MAP2(k, f, given) TRY(#f, given, k->f(ROWS, o.cols, y, o.ld, o.a, o.ld, o.b, o.ld))
#define TRY_MAP3(k, f, given)                                                                      \
    TRY(#f, given, k->f(ROWS, o.cols, y, o.ld, o.a, o.ld, o.b, o.ld, o.c, o.ld))
#define TRY_1(k, name, given) TRY_MAP1(k, name##_v, given);
#define TRY_2(k, name, given)                                                                      \
    TRY_MAP2(k, name##_vv, given);                                                                 \
    TRY_MAP2(k, name##_vs, given);                                                                 \
    TRY_MAP2(k, name##_sv, given);
#define TRY_3(k, name, given)                                                                      \
    TRY_MAP3(k, name##_vvv, given);                                                                \
    TRY_MAP3(k, name##_vvs, given);                                                                \
    TRY_MAP3(k, name##_vsv, given);                                                                \
    TRY_MAP3(k, name##_vss, given);                                                                \
    TRY_MAP3(k, name##_svv, given);                                                                \
    TRY_MAP3(k, name##_svs, given);                                                                \
    TRY_MAP3(k, name##_ssv, given);
#define TRY_OP(name, arity, rule, expression, description) TRY_##arity(k, name, FLOAT_OPERANDS)

static void try_elementwise(const struct cr_runtime *k, struct lines *lines)
{
    CR_ELEMENTWISE(TRY_OP)
}

#define TRY_REDUCE(k, name, given)                                                                 \
    TRY(#name, given, k->name(ROWS, o.cols, y, o.a, o.ld));                                        \
    TRY(#name "_down", given, k->name##_down(ROWS * 6, o.cols, y, o.a, o.ld));                     \
    TRY(#name "_lanes", given, k->name##_lanes(o.cols, y));
#define TRY_REDUCTION(name, rule, identity, combine, description) TRY_REDUCE(k, name, operands)

static void try_reductions(const struct cr_runtime *k, struct lines *lines,
                           struct operands operands)
{
    CR_REDUCTIONS(TRY_REDUCTION)
}

#define TRY_I32_ARITH(arity, name) TRY_##arity(k, name, WORD_OPERANDS)
#define TRY_I32_COMPARE(arity, name) TRY_##arity(k, name, COMPARED_OPERANDS)
#define TRY_I32_SELECT(arity, name) TRY_##arity(k, name, CHOSEN_OPERANDS)
#define TRY_I32_CONVERT(arity, name) TRY_##arity(k, name, COMPARED_OPERANDS)
#define TRY_I32_TRUNCATE(arity, name) TRY_##arity(k, name, FLOAT_OPERANDS)
#define TRY_I32_FLOAT(arity, name)
#define TRY_I32_LOGIC(arity, name)
#define TRY_I32(name, arity, rule, expression, description) TRY_I32_##rule(arity, name)
#define TRY_I32_REDUCE_ARITH(name) TRY_REDUCE(k, name, WORD_OPERANDS)
#define TRY_I32_REDUCE_FLOAT(name)
#define TRY_I32_REDUCTION(name, rule, identity, combine, description) TRY_I32_REDUCE_##rule(name)

static void try_i32(const struct cr_runtime_i32 *k, struct lines *lines)
{
    CR_ELEMENTWISE(TRY_I32)
    CR_REDUCTIONS(TRY_I32_REDUCTION)
    TRY("load", WORD_OPERANDS, k->load(ROWS, o.cols, y, o.ld, o.a, 1, 170));
    TRY("store", WORD_OPERANDS, k->store(ROWS, o.cols, y, 1, 5, o.a, o.ld));
    TRY("iota", WORD_OPERANDS, k->iota(ROWS, o.cols, y, o.ld, -70, 1L << 30, 12345));
    const int index[] = {5, -1, 1000000, 0, 9};
    TRY("gather", WORD_OPERANDS, k->gather(5, o.cols, y, o.ld, o.a, o.ld, 10, index));
}

/* ---- moves, random numbers ---- */

static void try_moves(const struct cr_runtime *k, struct lines *lines)
{
    const int index[] = {5, -1, 1000000, 2, 2, 0, 9}, seed = 17;
    TRY("load, rows", WORD_OPERANDS, k->load(9, o.cols, y, o.ld, o.a, 170, 1));
    TRY("load, columns", WORD_OPERANDS, k->load(9, o.cols, y, o.ld, o.a, 1, 170));
    TRY("load, one a row", WORD_OPERANDS, k->load(9, o.cols, y, o.ld, o.a, 3, 0));
    TRY("load, strides", WORD_OPERANDS, k->load(9, o.cols, y, o.ld, o.a, 3, 7));
    TRY("store, rows", WORD_OPERANDS, k->store(9, o.cols, y, o.ld, 1, o.a, o.ld));
    TRY("store, columns", WORD_OPERANDS, k->store(9, o.cols, y, 1, 11, o.a, o.ld));
    k->fetch(9, 100, a_words, 170);
    TRY("mul_sigmoid", FLOAT_OPERANDS,
        k->mul_sigmoid(9, o.cols, y, o.ld, o.a, o.ld, a_tame, o.ld));
    TRY("odd_cubic", FLOAT_OPERANDS, k->odd_cubic(9, o.cols, y, o.ld, o.a, o.ld, 0.07f, -1.5f));
    TRY("hide", FLOAT_OPERANDS, k->hide(9, o.cols, y, o.ld, -3, 12, -INFINITY));
    TRY("hide_rows", FLOAT_OPERANDS, k->hide_rows(9, o.cols, y, o.ld, 2, 7, -3, 12, -INFINITY));
    TRY("gather", FLOAT_OPERANDS, k->gather(7, o.cols, y, o.ld, o.a, o.ld, 10, index));
    TRY("gather_panels", FLOAT_OPERANDS,
        k->gather_panels(7, 5, y, o.ld, o.a, 160, 10, index));
    const int places[] = {2, 7, -1, 0, 3, 9, 1000000};
    TRY("lookup", FLOAT_OPERANDS, k->lookup(5, 3, y, o.ld, o.a, 3, 8, places, 1));
    TRY("scatter_add", FLOAT_OPERANDS,
        k->scatter_add(4, o.cols, y, o.ld, 0, 7, a_tame, o.ld, index));
    TRY("scatter_tile", FLOAT_OPERANDS,
        k->scatter_tile(2, 7, y, o.cols, a_tame, o.ld, index, 0));
    TRY("cumsum", FLOAT_OPERANDS, k->cumsum(9, o.cols, y, o.ld, a_tame, o.ld));
    TRY("random, rows", FLOAT_OPERANDS, k->random(9, o.cols, y, o.ld, &seed, 3, 100, 200, 1));
    TRY("random, columns", FLOAT_OPERANDS, k->random(9, o.cols, y, o.ld, &seed, 3, 9, 1, 200));
    TRY("random, strides", FLOAT_OPERANDS, k->random(9, o.cols, y, o.ld, &seed, 3, 0, 3, 7));
    TRY("least, greatest", FLOAT_OPERANDS, result[0] = (float)k->least(7, index, 1),
        result[1] = (float)k->greatest(7, index, 1), result[2] = (float)k->least(3, index, 2));
    TRY("finite", FLOAT_OPERANDS,
        result[0] = (float)k->finite(ROWS, o.cols, a_mixed + o.ld, o.ld, 1),
        result[1] = (float)k->finite(ROWS, o.cols, a_tame, o.ld, 1),
        result[2] = (float)k->finite(ROWS, o.cols, a_mixed, 1, 2));
}

static void try_draw(const struct cr_runtime *k, struct lines *lines)
{
    const struct cr_sequence sequences[] = {{1, 2, CR_UNIFORM, 3.0f, -1.0f},
                                            {5, 1, CR_NORMAL, 0.02f, 0.5f}};
    const char *const names[] = {"draw, uniform", "draw, normal"};
    for (int i = 0; i < COUNT(sequences); i++) {
        cr_random_fill(k, &sequences[i], 77, FLOATS, result);
        put(lines, names[i], add(0, result, FLOATS, 1));
    }
}

/* ---- products and softmax ---- */

/* The operands of a product, its sizes, and the layout of a: by rows or by columns. */
struct product {
    const float *a, *b, *start;
    long M, N, K;
    int by_columns;
};

enum { MAX_M = 41, MAX_N = 300, MAX_K = 100, MAX_C = MAX_M * 320 };

/* Hashes a product for each way to start its sums, in tiles of all widths. */
static uint64_t add_product(const struct cr_runtime *k, uint64_t hash, const struct product *p)
{
    static _Alignas(64) float panels[10 * MAX_K * CR_PANEL + 320];
    const long ldc = (p->N + 15) / 16 * 16, panel_stride = p->K * CR_PANEL + 16;
    const long rs = p->by_columns ? 1 : p->K + 3, cs = p->by_columns ? p->M + 2 : 1;
    memset(panels, 0, sizeof panels);
    k->pack(p->K, p->N, panels, panel_stride, p->b, p->N, 1);
    hash = add(hash, panels, COUNT(panels), 1);
    for (int way = 0; way < 5; way++) {
        const float *a = p->a;
        long columns = tile_columns(k->isa, 2 + (p->M + way) % 3);
        reset(MAX_C);
        if (way == 0) {
            k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, result, ldc, NULL, 0, NULL,
                    columns, 64);
        } else if (way == 1) {
            k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, result, ldc, NULL, 0,
                    p->start, columns, 64);
        } else if (way == 2) {
            k->gemm(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, result, ldc, result, ldc,
                    p->start, columns, 64);
        } else if (way == 3) {
            k->gemm_scaled(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, result, ldc,
                           p->start, -p->M, p->K, columns, 0);
        } else {
            k->gemm_stream(p->M, p->N, p->K, a, rs, cs, panels, panel_stride, result, ldc,
                           columns, 64);
            k->stream_end();
        }
        hash = add(hash, result, MAX_C, 1);
    }
    return hash;
}

static void try_products(const struct cr_runtime *k, struct lines *lines)
{
    static const long depths[] = {0, 1, 5, 33, MAX_K}, wide[] = {65, 128, 257, MAX_N};
    uint64_t small = 0, large = 0;
    for (long M = 1; M <= 27; M++) {
        for (long N = 1; N <= 70; N += 3 + (M + N) % 5) {
            struct product p = {a_tame, b_tame, c_tame, M, N, depths[(M + N) % 4], N % 2};
            small = add_product(k, small, &p);
            p.a = a_mixed;
            small = add_product(k, small, &p);
        }
    }
    for (int i = 0; i < 5 * COUNT(wide); i++) {
        static const long heights[] = {1, 2, 3, 12, MAX_M};
        struct product p = {a_tame, b_tame, c_tame, heights[i % 5], wide[i / 5], MAX_K, i % 3 == 0};
        large = add_product(k, large, &p);
    }
    put(lines, "gemm, small", small);
    put(lines, "gemm, large", large);
}

/* Hashes int8 products of rows of whole blocks and of rows that end in a block, by panels of random
 * bytes whose scales are below 1. */
static void try_int8(const struct cr_runtime *k, struct lines *lines)
{
    enum { K = 100, BLOCKS = 4, ROW = 11 * BLOCKS, N = 75, PANEL = 1088 * BLOCKS };
    static unsigned char panels[3 * PANEL];
    static int rows[MAX_M * ROW];
    uint64_t rounded = 0, q8 = 0, q4 = 0;
    for (uint32_t i = 0; i < sizeof panels; i++) {
        panels[i] = (unsigned char)(word(3, i, 0) & (i % 2 ? 0xbb : 0xff));
    }
    for (long depth = K; depth > 64; depth -= 9) {
        for (int mixed = 0; mixed < 2; mixed++) {
            memset(rows, 0, sizeof rows);
            k->round_int8(MAX_M, depth, rows, ROW, mixed ? a_mixed : a_tame, depth, 1);
            rounded = add(rounded, rows, COUNT(rows), 1);
        }
        for (long M = 1; M <= MAX_M; M++) {
            k->round_int8(M, depth, rows, ROW, a_tame, 1, M);
            reset(MAX_C);
            k->gemm_q8_int8(M, N, depth, rows, ROW, panels, PANEL, result, N, 0);
            q8 = add(q8, result, MAX_C, 1);
            k->gemm_q4_int8(M, N, depth, rows, ROW, panels, PANEL, result, N, 0);
            q4 = add(q4, result, MAX_C, 1);
        }
    }
    put(lines, "round_int8", rounded);
    put(lines, "gemm_q8_int8", q8);
    put(lines, "gemm_q4_int8", q4);
}

static void try_softmax(const struct cr_runtime *k, struct lines *lines)
{
    enum { KEYS = 40, LD = 43 };
    uint64_t hash = 0;
    for (long keys = 0; keys <= KEYS; keys++) {
        for (long queries = 1; queries <= LD; queries += 1 + keys % 4) {
            float m[LD], l[LD], scale[LD];
            for (uint32_t c = 0; c < LD; c++) {
                m[c] = c % 3 ? c % 3 == 1 ? -INFINITY : -0.0f : a_tame[c];
                l[c] = c % 3 ? 0.0f : 3.0f;
                scale[c] = 7.0f;
            }
            for (long i = 0; i < KEYS * LD; i++) {
                float value = i % 5 ? 10.0f * a_tame[i] : a_mixed[i];
                result[i] = i % LD % 4 ? i % LD % 4 == 1 ? 0.0f : value : -INFINITY;
            }
            k->softmax_block(keys, queries, result, LD, keys % 3 ? 0.125f : 1.0f, m, l, scale);
            hash = add(hash, result, KEYS * LD, 1);
            hash = add(add(add(hash, m, LD, 1), l, LD, 1), scale, LD, 1);
        }
    }
    put(lines, "softmax_block", hash);
}

/* Hashes products of bf16: of ordinary numbers, and of numbers whose products are near the smallest
 * normal float. */
static void try_bf16_product(const struct cr_runtime *k, struct lines *lines)
{
    enum { K = 75, N = 45, MOST = 13, ROW = 96, PANEL = (K + 1) * CR_PANEL };
    static float x[MOST * K], w[K * N], c[MOST * N];
    static unsigned short rows[MOST * ROW], panels[2 * PANEL];
    for (int small = 0; small < 2; small++) {
        uint64_t hash = 1;
        for (uint32_t i = 0; i < MOST * K; i++) {
            x[i] = small ? ldexpf(1, -60 - (int)(word(60, i, 0) % 20)) : a_mixed[i];
        }
        for (uint32_t i = 0; i < K * N; i++) {
            w[i] = small ? ldexpf(word(61, i, 1) % 2 ? -1 : 1, -52 - (int)(word(61, i, 0) % 20))
                         : b_mixed[i];
        }
        k->round_bf16(MOST, K, rows, ROW, x, K, 1);
        k->pack_bf16(K, N, panels, PANEL, 0, 1, w, N, 1);
        for (int m = 1; m <= MOST; m += m % 2 + 1) {
            k->gemm_bf16_bf16(m, N, K, rows, ROW, panels, PANEL, c, N, 4096);
            hash = add(hash, c, m * N, 1);
        }
        put(lines, small ? "gemm_bf16_bf16, small" : "gemm_bf16_bf16", hash);
    }
}

static void try_all(const struct cr_runtime *k, struct lines *lines)
{
    lines->k = k;
    lines->now = "";
    lines->n = 0;
    TRY("nothing", FLOAT_OPERANDS, (void)o);
    try_elementwise(k, lines);
    try_reductions(k, lines, FLOAT_OPERANDS);
    try_moves(k, lines);
    try_draw(k, lines);
    try_products(k, lines);
    try_int8(k, lines);
    try_bf16_product(k, lines);
    try_softmax(k, lines);
    lines->now = "tame ";
    try_reductions(k, lines, TAME_OPERANDS);
    lines->now = "i32 ";
    try_i32(k->i32, lines);
}

/* Prints the functions whose bits differ from plain C's; returns their number. */
static int compare(const struct lines *got, const struct lines *want)
{
    int wrong = 0;
    for (int i = 0; i < got->n; i++) {
        if (got->hash[i] != want->hash[i]) {
            fprintf(stderr, "%s: %s%s has other bits than plain C\n", got->k->isa, got->group[i],
                    got->name[i]);
            wrong++;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static const char *const isas[] = {"avx2", "avx512", "vnni", "amx", "neon"};
    static struct lines lines, other;
    int wrong = 0;
    if (argc > 1 && strcmp(cr_runtime_select(NULL)->isa, argv[1]) != 0) {
        fprintf(stderr, "the fastest is %s, not %s\n", cr_runtime_select(NULL)->isa, argv[1]);
        return 1;
    }
    make_memory();
    const struct cr_runtime *first = cr_runtime_select("plain");
    if (!first)
        first = cr_runtime_select(NULL); /* machine_bits.sh builds one without plain C */
    try_all(first, &lines);
    for (int i = 0; i < COUNT(isas); i++) {
        const struct cr_runtime *rt = cr_runtime_select(isas[i]);
        if (rt && rt != first) {
            try_all(rt, &other);
            wrong += compare(&other, &lines);
        }
    }
    for (int i = 0; i < lines.n; i++) {
        printf("%s%s %016llx\n", lines.group[i], lines.name[i], (unsigned long long)lines.hash[i]);
    }
    return wrong > 0;
}
