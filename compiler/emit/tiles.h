/*
 * tiles.h - a tile program as calls of the runtime.
 *
 * The code stands in a loop nest in which i is the first row and m the number of rows of
 * the tile, j the first column and n the number of columns, o0, o1 ... the outer loops.
 */
#ifndef CR_TILES_H
#define CR_TILES_H

#include "compiler/passes/module.h"
#include "text.h"

enum { CR_NAME_SIZE = 64, CR_ADDRESS_SIZE = 192 };

struct cr_function;

/* A kernel being printed. */
struct cr_printer {
    struct cr_text *text;
    const struct cr_module *m;
    const struct cr_function *functions; /* by kernel: those printed so far */
    const struct cr_graph *g;
    const struct cr_kernel *k;
    int number;                            /* of the function */
    char names[CR_MAX_REFS][CR_NAME_SIZE]; /* of the operands, as fields of args */
    struct cr_text declarations;           /* of constants and parts of scratch */
    struct cr_text constants;              /* " name name ": those declared */
    int64_t scratch;                       /* floats of scratch given out so far */
    int n_temps;                           /* t0, t1 ... and r0, r1 ... */
    const char *scope;                     /* the last one told to the reader */
};

/* Where a tile is: a C expression for its first element and the distance of its rows. */
struct cr_tile_at {
    char address[CR_ADDRESS_SIZE];
    int64_t ld;
};

/* How one program is printed. */
struct cr_tile_job {
    const struct cr_tiles *tiles;
    int row, col; /* the atoms of the tile; -1: one row, one column */
    int64_t max_rows, max_cols;
    const char *first_row, *first_col; /* C expressions: "i", "j", or "0" */
    const char *rows, *cols;           /* "m", "n", or a number */
    struct cr_tile_at core;            /* where CR_CORE is */
    struct cr_tile_at dest;            /* where the result goes if dest_strided is not set */
    bool dest_strided;                 /* ... else to the root's place, element by element */
    int indent;
};

/* Prints the calls; takes temporaries from the printer's scratch. */
void cr_print_tiles(struct cr_printer *p, const struct cr_tile_job *job);

/*
 * The address of an operand's (ref >= 0) or the result's (ref < 0) element at the tile's
 * first row and column.  Atoms that are neither a part of the tile nor an outer loop
 * count from 0.
 */
void cr_print_address(const struct cr_printer *p, char *buffer, size_t size, int ref,
                      const struct cr_affine *at, int row, const char *first_row, int col,
                      const char *first_col);

/* Gives a part of scratch a name and tells the reader what it holds: floats, or elements of a
 * type. */
void cr_take_scratch(struct cr_printer *p, const char *name, int64_t floats, const char *what);
void cr_take_typed(struct cr_printer *p, const char *name, enum cr_dtype dtype, int64_t elements,
                   const char *what);

/* What stands before the runtime's functions for a type: "i32." or nothing. */
const char *cr_family(enum cr_dtype dtype);

/* The address of a constant, a float or of a type, which is declared if it is new. */
void cr_print_constant(struct cr_printer *p, char *buffer, size_t size, double value);
void cr_print_typed(struct cr_printer *p, char *buffer, size_t size, enum cr_dtype dtype,
                    double value);

#endif
