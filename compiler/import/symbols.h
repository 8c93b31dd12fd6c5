/*
 * symbols.h - numbers that depend on the lengths of a model.
 *
 * A model with lengths is translated once, for their bounds.  A number that depends on lengths is
 * represented by the list of its values in some *samples*.  A sample gives every length a size;
 * sample 0 gives all of them their bounds.  Numbers with equal lists are one *symbol*.  A size or
 * an index (int64_t) may be a symbol, and so may a known element (double).  The encoding of a
 * symbol includes its value in sample 0.
 *
 * Known elements along an axis whose size is a symbol are listed up to the bound.  An element that
 * is not a symbol is the same in each sample in which it exists.
 */
#ifndef CR_ONNX_SYMBOLS_H
#define CR_ONNX_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/hash.h"

/* A symbolic size of the ONNX file that stays a length of the language. */
struct cr_onnx_length {
    const char *name;
    int64_t bound;
    int value; /* a scalar value of the graph: the length as an integer */
};

enum { CR_ONNX_LENGTHS = 8, CR_ONNX_LEAST_BOUND = 4 };

struct cr_symbols {
    struct cr_onnx_length lengths[CR_ONNX_LENGTHS];
    int n_lengths, n_samples; /* n_samples: the number of samples, or 0 if there are no lengths */
    double *values;           /* by symbol: its value in each sample; the symbols of the lengths
                                 come first */
    struct cr_table table;    /* a hash table of the symbols by their values */
    int n, cap;
};

/* Makes the samples.  Call after the lengths are set.  Without lengths there is nothing to free. */
void cr_symbols_begin(struct cr_symbols *symbols);
void cr_symbols_free(struct cr_symbols *symbols);

/* ---- numbers ---- */

/*
 * How a symbol is encoded.  As a size: its number, counted from 2^10, times 2^32, plus its value
 * for the bounds.  As an element: a NaN whose low bits hold its number, that value, and a bit that
 * is 0 in any NaN converted from a float.
 */
#define CR_LEAST_SYMBOL (INT64_C(1) << 41)

static inline bool cr_size_is_symbol(int64_t size)
{
    return size >= CR_LEAST_SYMBOL;
}

bool cr_number_is_symbol(double number);

/* Returns the value of a size when each length is at its bound. */
static inline int64_t cr_size_bound(int64_t size)
{
    return size >= CR_LEAST_SYMBOL ? (int32_t)(uint32_t)size : size;
}

/* Returns a size as an element.  cr_t_whole of term.h is the inverse function. */
double cr_number_of_size(int64_t size);
int64_t cr_size_of_symbol(double symbol);

/* Returns the value that an element has in a sample; the element may be a symbol. */
double cr_number_at(const struct cr_symbols *symbols, double number, int sample);

/* Returns the element whose value in sample i is values[i]: a symbol, or a plain number if all
 * values are equal. */
double cr_symbols_number(struct cr_symbols *symbols, const double *values);

/* Applies `f` to n elements, of which some may be symbols, in each sample; returns the result as an
 * element. */
typedef double cr_symbol_function(const void *context, const double *in);
double cr_symbols_map(struct cr_symbols *symbols, cr_symbol_function *f, const void *context, int n,
                      const double *in);

/* Returns `number` as element i of a tensor: in samples in which the tensor is too small to have
 * the element, its value is ignored. */
double cr_symbols_element(struct cr_symbols *symbols, int rank, const int64_t *shape, int64_t i,
                          double number);

/* Computes with sizes that may be symbols.  Operations: + - * / (rounded down), < (minimum), >
 * (maximum). */
int64_t cr_sizes(struct cr_symbols *symbols, int64_t a, char operation, int64_t b);

/* ---- lengths ---- */

/* Returns the number of the length with a name, or -1. */
int cr_symbols_find(const struct cr_symbols *symbols, const char *name);

/* Returns a length's symbol as a size. */
int64_t cr_symbols_length(const struct cr_symbols *symbols, int length);

/* Returns the number of a length such that `symbol` is that length plus *more in all samples; -1 if
 * there is none. */
int cr_symbols_nearest(const struct cr_symbols *symbols, double symbol, int64_t *more);

/* Returns the number of the length that differs between a sample and sample 0; sets *size to its
 * size in the sample. */
int cr_symbols_varied(const struct cr_symbols *symbols, int sample, int64_t *size);

#endif
