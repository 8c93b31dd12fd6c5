/* symbols.c - numbers that depend on the lengths of a model; see symbols.h. */
#include "symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* The smallest size of a length in a sample; size 1 would be broadcast. */
enum { SMALLEST = 2, SAMPLES_OF_LENGTH = 3, MOST_SAMPLES = 2 + SAMPLES_OF_LENGTH * CR_ONNX_LENGTHS };

enum { FIRST = 1024, VALUE_BITS = 30, MOST_SYMBOLS = 1 << 20 }; /* FIRST: symbol 0 has this number
                                                                   when it is a size */
#define SYMBOLIC UINT64_C(0x7ff8000000000001)
#define MOST_SIZE (INT64_C(1) << 31) /* the largest size; larger results of computations become this
                                        number */

/* ---- symbols ---- */

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

bool cr_number_is_symbol(double number)
{
    return isnan(number) && (bits_of(number) & SYMBOLIC) == SYMBOLIC;
}

/* Returns the NaN that stands for a symbol: its bits hold the symbol and its value for the bounds.
 * A value that is no possible size is replaced by 0. */
static double boxed(int symbol, double value)
{
    const double half = 1 << (VALUE_BITS - 1);
    uint64_t offset = fabs(value) < half ? (uint64_t)(int64_t)(value + half) : 0;
    uint64_t bits = SYMBOLIC | (uint64_t)symbol << (VALUE_BITS + 1) | offset << 1;
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int symbol_of(double number)
{
    return (int)(bits_of(number) >> (VALUE_BITS + 1) & (MOST_SYMBOLS - 1));
}

int64_t cr_size_of_symbol(double symbol)
{
    uint64_t offset = bits_of(symbol) >> 1 & ((UINT64_C(1) << VALUE_BITS) - 1);
    int64_t value = (int64_t)offset - (INT64_C(1) << (VALUE_BITS - 1));
    return ((int64_t)(FIRST + symbol_of(symbol)) << 32) | (int64_t)(uint32_t)(int32_t)value;
}

double cr_number_of_size(int64_t size)
{
    return size < CR_LEAST_SYMBOL ? (double)size : boxed((int)(size >> 32) - FIRST, (double)cr_size_bound(size));
}

double cr_number_at(const struct cr_symbols *s, double number, int sample)
{
    if (!cr_number_is_symbol(number))
        return number;
    int symbol = symbol_of(number);
    return symbol < s->n ? s->values[symbol * s->n_samples + sample] : NAN;
}

/* ---- the table ---- */

/* The list of values that has_values compares a symbol with. */
struct values {
    const struct cr_symbols *s;
    const double *values;
};

static bool has_values(const void *context, int symbol)
{
    const struct values *wanted = context;
    size_t n = (size_t)wanted->s->n_samples;
    return memcmp(&wanted->s->values[(size_t)symbol * n], wanted->values, n * sizeof *wanted->values) == 0;
}

/* Adds a symbol with the given values in the samples; returns its number. */
static int add_symbol(struct cr_symbols *s, const double *values, uint64_t hash)
{
    size_t n = (size_t)s->n_samples;
    s->values = cr_grow(s->values, s->n, &s->cap, n * sizeof *values);
    memcpy(&s->values[(size_t)s->n * n], values, n * sizeof *values);
    cr_table_add(&s->table, hash, s->n);
    return s->n++;
}

double cr_symbols_number(struct cr_symbols *s, const double *values)
{
    bool varies = false;
    for (int i = 1; i < s->n_samples; i++)
        varies |= bits_of(values[i]) != bits_of(values[0]);
    if (!varies)
        return values[0];
    uint64_t hash = 1;
    for (int i = 0; i < s->n_samples; i++)
        hash = cr_hash_word(hash, bits_of(values[i]));
    int symbol = cr_table_find(&s->table, hash, has_values, &(struct values){s, values});
    if (symbol < 0 && s->n == MOST_SYMBOLS)
        return NAN;
    return boxed(symbol >= 0 ? symbol : add_symbol(s, values, hash), values[0]);
}

/* Makes the samples: all lengths at their bounds; for each length three samples in which it alone
 * has another size; all lengths at the smallest size. */
void cr_symbols_begin(struct cr_symbols *s)
{
    double values[MOST_SAMPLES];
    s->n_samples = s->n_lengths ? 2 + SAMPLES_OF_LENGTH * s->n_lengths : 0;
    for (int i = 0; i < s->n_lengths; i++) {
        int64_t bound = s->lengths[i].bound;
        for (int k = 0; k < s->n_samples; k++)
            values[k] = (double)bound;
        values[1 + SAMPLES_OF_LENGTH * i] = (double)(bound - 1);
        values[2 + SAMPLES_OF_LENGTH * i] = SMALLEST;
        values[3 + SAMPLES_OF_LENGTH * i] = (double)(bound * 2 / 3 > SMALLEST ? bound * 2 / 3 : SMALLEST);
        values[s->n_samples - 1] = SMALLEST;
        cr_symbols_number(s, values);
    }
}

void cr_symbols_free(struct cr_symbols *s)
{
    free(s->values);
    cr_table_free(&s->table);
    s->values = NULL;
    s->n = s->cap = 0;
}

/* ---- arithmetic ---- */

double cr_symbols_map(struct cr_symbols *s, cr_symbol_function *f, const void *context, int n,
                      const double *in)
{
    double values[MOST_SAMPLES], at[4];
    bool symbolic = false;
    for (int i = 0; i < n; i++)
        symbolic |= cr_number_is_symbol(in[i]);
    if (!symbolic)
        return f(context, in);
    for (int k = 0; k < s->n_samples; k++) {
        for (int i = 0; i < n; i++)
            at[i] = cr_number_at(s, in[i], k);
        values[k] = f(context, at);
    }
    return s->n_samples ? cr_symbols_number(s, values) : NAN;
}

double cr_symbols_element(struct cr_symbols *s, int rank, const int64_t *shape, int64_t i, double number)
{
    double values[MOST_SAMPLES];
    if (!cr_number_is_symbol(number) || !s->n_samples)
        return number;
    for (int k = 0; k < s->n_samples; k++)
        values[k] = cr_number_at(s, number, k);
    for (int a = rank - 1; a >= 0; i /= cr_size_bound(shape[a--])) {
        double index = (double)(i % cr_size_bound(shape[a])), size = cr_number_of_size(shape[a]);
        for (int k = 1; k < s->n_samples; k++)
            if (index >= cr_number_at(s, size, k))
                values[k] = values[0];
    }
    return cr_symbols_number(s, values);
}

/* Computes a size's operation in one sample. */
static double operate(const void *context, const double *in)
{
    switch (*(const char *)context) {
    case '+':
        return in[0] + in[1];
    case '-':
        return in[0] - in[1];
    case '*':
        return in[0] * in[1];
    case '/':
        return floor(in[0] / in[1]);
    case '<':
        return in[0] < in[1] ? in[0] : in[1];
    default:
        return in[0] > in[1] ? in[0] : in[1];
    }
}

static int64_t limited(int64_t size)
{
    return size > MOST_SIZE ? MOST_SIZE : size < -MOST_SIZE ? -MOST_SIZE : size;
}

/* Computes with two sizes that are plain numbers, at most MOST_SIZE. */
static int64_t operate_whole(int64_t a, char operation, int64_t b)
{
    switch (operation) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
    case '<':
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

int64_t cr_sizes(struct cr_symbols *s, int64_t a, char operation, int64_t b)
{
    if (!cr_size_is_symbol(a) && !cr_size_is_symbol(b))
        return limited(operate_whole(limited(a), operation, limited(b)));
    double in[2] = {cr_number_of_size(a), cr_number_of_size(b)};
    double y = cr_symbols_map(s, operate, &operation, 2, in);
    return cr_number_is_symbol(y)     ? cr_size_of_symbol(y)
           : fabs(y) < (double)MOST_SIZE ? (int64_t)y
                                         : MOST_SIZE;
}

/* ---- lengths ---- */

int cr_symbols_find(const struct cr_symbols *s, const char *name)
{
    for (int i = 0; i < s->n_lengths; i++)
        if (strcmp(s->lengths[i].name, name) == 0)
            return i;
    return -1;
}

int64_t cr_symbols_length(const struct cr_symbols *s, int length)
{
    return cr_size_of_symbol(boxed(length, (double)s->lengths[length].bound));
}

int cr_symbols_nearest(const struct cr_symbols *s, double symbol, int64_t *more)
{
    for (int i = 0; i < s->n_lengths; i++) {
        double first = cr_number_at(s, symbol, 0) - s->values[i * s->n_samples];
        bool same = first == floor(first) && fabs(first) < 0x1p31;
        for (int k = 1; same && k < s->n_samples; k++)
            same = cr_number_at(s, symbol, k) - s->values[i * s->n_samples + k] == first;
        *more = same ? (int64_t)first : 0;
        if (same)
            return i;
    }
    return -1;
}

int cr_symbols_varied(const struct cr_symbols *s, int sample, int64_t *size)
{
    for (int i = 0; i < s->n_lengths; i++) {
        *size = (int64_t)s->values[i * s->n_samples + sample];
        if (*size != s->lengths[i].bound)
            return i;
    }
    *size = 0;
    return 0;
}
