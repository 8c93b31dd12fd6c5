/* tile_program.h - the program that a kernel runs on a tile: a list of values, each computed from
 * earlier ones. */
#ifndef CR_TILE_PROGRAM_H
#define CR_TILE_PROGRAM_H

#include "compiler/ir/graph.h"
#include "index_map.h"

enum { CR_MAX_VALUES = 96 };
enum { CR_MAX_PARTS = 4 };  /* the most parts of a row */
enum { CR_MAX_STORED = 6 }; /* the most nodes that a kernel stores */

enum cr_source {
    CR_LOAD,   /* an element of operand `ref`, at index `at` */
    CR_GATHER, /* an element of table `ref`, at index `at` of the row whose number is value
                  arg[0] */
    CR_IOTA,   /* the value of the affine index `at` */
    CR_RANDOM, /* number `at` of the random stream `ref`, with value arg[0] as the seed */
    CR_CONST,  /* the constant `number` */
    CR_CORE,   /* the result of the kernel's contraction */
    CR_SCORE,  /* the product of query and key, in ATTENTION_BACKWARD */
    CR_MAP,    /* an elementwise op on the values arg[..] */
    CR_REDUCE, /* a reduction by `op` over the columns of value arg[0] */
};

/* One value of a tile program. */
struct cr_value {
    enum cr_source source;
    cr_id node;
    enum cr_op op;
    int arg[CR_MAX_PARTS];
    int parts;            /* REDUCE: the number of tiles, side by side, that the reduction runs
                             over */
    int ref;              /* LOAD, GATHER: an index in kernel->refs; RANDOM: an index in
                             kernel->streams */
    struct cr_affine at;  /* LOAD, GATHER, IOTA, RANDOM: an affine index */
    int64_t table_rows;   /* GATHER */
    int table_length;     /* GATHER: 1 + the number of the length that is the table's number of
                             rows, or 0 */
    int64_t table_stride; /* GATHER */
    double number;        /* CONST */
    bool by_row;          /* the value is the same in all columns: one number a row */
};

/* Returns the number of earlier values that a value reads: arg[0], ... */
static inline int cr_value_args(const struct cr_value *value)
{
    switch (value->source) {
    case CR_MAP:
        return cr_ops[value->op].arity;
    case CR_REDUCE:
        return value->parts;
    case CR_GATHER:
    case CR_RANDOM:
        return 1;
    default:
        return 0;
    }
}

struct cr_tiles {
    struct cr_value *values;
    int n;
    union {
        int result;                 /* the number of the value that is stored, or that another
                                       program reads */
        int results[CR_MAX_STORED]; /* TILE: the numbers of the values that are stored, by result,
                                       in the order of `stored` */
    };
    int n_more; /* number of results after the first */
};

/* True if a value is a result of its program. */
static inline bool cr_is_result(const struct cr_tiles *tiles, int value)
{
    for (int i = 0; i <= tiles->n_more; i++)
        if (tiles->results[i] == value)
            return true;
    return false;
}

/* True if a program has a reduction. */
static inline bool cr_tiles_reduce(const struct cr_tiles *tiles)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == CR_REDUCE)
            return true;
    return false;
}

/* An operand that no tile program loads: its elements are at index `at` of the kernel's
 * refs[ref]. */
struct cr_operand {
    int ref;
    struct cr_affine at;
};

#endif
