/*
 * symbols.h - numbers that depend on the lengths of a model.
 *
 * A model with lengths is translated once, for their bounds.  A number that depends on them is the
 * list of its values in some *samples*, each of which gives every length a size; the first one
 * gives all of them their bounds.  Equal lists are one *symbol*.  A size or an index (int64_t) may
 * be a symbol, and so may a known element (double): the number in the list of the first sample goes
 * with it.
 *
 * Known elements along an axis whose size is a symbol are listed up to the bound.  An element that
 * is no symbol is the same in each sample whose sizes are larger than its indices.
 */
#ifndef CR_ONNX_SYMBOLS_H
#define CR_ONNX_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/hash.h"

/* A symbol of the file that stays a length of the language. */
struct cr_onnx_length {
    const char *name;
    int64_t bound;
    int value; /* a scalar value of the graph: the length as an integer */
};

enum { CR_ONNX_LENGTHS = 8, CR_ONNX_LEAST_BOUND = 4 };

struct cr_symbols {
    struct cr_onnx_length lengths[CR_ONNX_LENGTHS];
    int n_lengths, n_samples; /* n_samples: sets of values for the lengths; 0: there are no lengths */
    double *values;           /* by symbol: its value in each sample; the lengths come first */
    struct cr_table table;    /* a hash table of the symbols by their values */
    int n, cap;
};

/* Call after the lengths are set.  Without lengths there is nothing to free. */
void cr_symbols_begin(struct cr_symbols *symbols);
void cr_symbols_free(struct cr_symbols *symbols);

/* ---- numbers ---- */

/*
 * How a symbol is encoded.  In a size: its number, from 2^10 on, times 2^32, plus its value.  In an
 * element: a NaN whose low bits hold its number, its value, and a bit that is 0 in any NaN that
 * comes from a float.
 */
#define CR_LEAST_SYMBOL (INT64_C(1) << 41)

static inline bool cr_size_is_symbol(int64_t size)
{
    return size >= CR_LEAST_SYMBOL;
}

bool cr_number_is_symbol(double number);

/* Returns the value that a size has if each length is at its bound. */
static inline int64_t cr_size_bound(int64_t size)
{
    return size >= CR_LEAST_SYMBOL ? (int32_t)(uint32_t)size : size;
}

/* Returns a size as a number.  The reverse is cr_t_whole of term.h. */
double cr_number_of_size(int64_t size);
int64_t cr_size_of_symbol(double symbol);

/* Returns the value of a number in a sample. */
double cr_number_at(const struct cr_symbols *symbols, double number, int sample);

/* Returns a number, a symbol if needed, whose value in sample i is values[i]. */
double cr_symbols_number(struct cr_symbols *symbols, const double *values);

/* Returns f of n numbers, of which some may be symbols. */
typedef double cr_symbol_function(const void *context, const double *in);
double cr_symbols_map(struct cr_symbols *symbols, cr_symbol_function *f, const void *context, int n,
                      const double *in);

/* Returns a number that is element i of a tensor; its values in samples without the element do not
 * count. */
double cr_symbols_element(struct cr_symbols *symbols, int rank, const int64_t *shape, int64_t i,
                          double number);

/* Computes with sizes: + - * / (rounded down), < (the smaller one), > (the larger one). */
int64_t cr_sizes(struct cr_symbols *symbols, int64_t a, char operation, int64_t b);

/* ---- lengths ---- */

/* Returns the length of a name, or -1. */
int cr_symbols_find(const struct cr_symbols *symbols, const char *name);

/* Returns a length as a size. */
int64_t cr_symbols_length(const struct cr_symbols *symbols, int length);

/* Returns the length from which a symbol differs by *more in all samples, or -1. */
int cr_symbols_nearest(const struct cr_symbols *symbols, double symbol, int64_t *more);

/* Returns the length that differs between a sample and the first one; sets its size there. */
int cr_symbols_varied(const struct cr_symbols *symbols, int sample, int64_t *size);

#endif
