/* Random data for leaves; see leaves.h. */
#include "leaves.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

uint64_t cr_next_number(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t cr_seed_of_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return cr_next_number(&hash);
}

/* ---- one element, from the state of a random generator ---- */

/* Returns a number of a roughly normal distribution, without outliers. */
static double bell(uint64_t *state)
{
    uint64_t bits = cr_next_number(state);
    double sum = 0;
    for (int i = 0; i < 4; i++, bits >>= 16)
        sum += (double)(bits & 0xffff) * 0x1p-16 - 0.5;
    return 1.7 * sum;
}

static int64_t below(uint64_t *state, int64_t n)
{
    return (int64_t)(cr_next_number(state) % (uint64_t)n);
}

static float make_ties(uint64_t *state)
{
    return (float)(below(state, 5) - 2);
}

static float make_mask(uint64_t *state)
{
    return below(state, 4) ? (float)bell(state) : -INFINITY;
}

static float make_nan(uint64_t *state)
{
    return below(state, 16) ? (float)bell(state) : NAN;
}

static float make_odd(uint64_t *state)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN,      0,      -0.0f,      1,
                                -1,       FLT_MAX,   -FLT_MAX, 1e-40f, -0x1p-149f, FLT_MIN,
                                1e30f,    -1e-30f,   0x1p24f,  0.5f,   -0x1p31f,   88.8f};
    return below(state, 4) ? (float)bell(state)
                           : odd[below(state, (int64_t)(sizeof odd / sizeof *odd))];
}

static float make_wide(uint64_t *state)
{
    return (float)ldexp(bell(state), (int)below(state, 41) - 20);
}

static float make_huge(uint64_t *state)
{
    return (float)ldexp(bell(state), 90 + (int)below(state, 37));
}

static float make_tiny(uint64_t *state)
{
    return (float)ldexp(bell(state), -149 + (int)below(state, 40));
}

static const struct {
    const char *name;
    float (*make)(uint64_t *state);
} kinds[] = {{"ties", make_ties}, {"mask", make_mask}, {"nan", make_nan},  {"odd", make_odd},
             {"wide", make_wide}, {"huge", make_huge}, {"tiny", make_tiny}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

const char *cr_leaf_kind(int i)
{
    return i < N_KINDS ? kinds[i].name : NULL;
}

static int32_t make_edge(uint64_t *state)
{
    static const int32_t edges[] = {0, 1 << 24, -(1 << 24), INT32_MAX - 2, INT32_MIN + 2};
    int64_t edge = edges[below(state, 5)];
    return (int32_t)(edge + below(state, 5) - 2);
}

/* ---- a whole leaf ---- */

/* Reads a number, in which an m in front is a minus sign; *text moves to its end. */
static int32_t read_number(const char **text)
{
    bool minus = **text == 'm';
    char *end;
    long number = strtol(*text + minus, &end, 10);
    *text = end;
    return (int32_t)(minus ? -number : number);
}

static void fill_integers(int32_t *data, int64_t n, const char *kind, uint64_t *state)
{
    int32_t low = 0, high = 3;
    bool edge = strcmp(kind, "edge") == 0;
    if (!edge && strstr(kind, "to")) {
        low = read_number(&kind);
        kind += 2;
        high = read_number(&kind);
    }
    for (int64_t i = 0; i < n; i++)
        data[i] = edge ? make_edge(state) : low + (int32_t)below(state, (int64_t)high - low + 1);
}

static void fill_floats(float *data, int64_t n, const char *kind, uint64_t *state)
{
    double scale = 1;
    int number = 0;
    if (*kind == 's')
        scale = pow(2, -atof(kind + 1) / 2);
    while (number < N_KINDS && strcmp(kind, kinds[number].name) != 0)
        number++;
    for (int64_t i = 0; i < n; i++)
        data[i] = number < N_KINDS ? kinds[number].make(state) : (float)(scale * bell(state));
}

void *cr_leaf_data(const struct cr_graph *g, const struct cr_node *leaf)
{
    int64_t n = cr_elements(leaf->rank, leaf->shape);
    if (leaf->op == CR_OP_literal) {
        void *words = cr_calloc((size_t)n, sizeof(uint32_t));
        return memcpy(words, cr_literal_of(g, leaf)->words, (size_t)n * sizeof(uint32_t));
    }
    uint64_t state = cr_seed_of_text(g->name) ^ 3 * cr_seed_of_text(leaf->name);
    const char *bar = strrchr(leaf->name, '_'), *kind = bar ? bar + 1 : "";
    void *data = cr_calloc((size_t)n, sizeof(float));
    if (leaf->dtype == CR_I32)
        fill_integers(data, n, kind, &state);
    else if (leaf->dtype == CR_F32)
        fill_floats(data, n, kind, &state);
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)data)[i] = (float)below(&state, 2);
    return data;
}
