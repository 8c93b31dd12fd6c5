/*
 * evaluate.h - turns nodes of the graph into a tile program.
 *
 * Evaluation starts at the result: the element of a node at an index map becomes a value, whose
 * arguments are evaluated first.  A movement op changes the map.  Evaluation ends at nodes that are
 * stored in memory.
 */
#ifndef CR_EVALUATE_H
#define CR_EVALUATE_H

#include "compiler/passes/module/module.h"

enum { CR_NO_ATOM = -1, CR_COL_UNKNOWN = -2 };

/* A `where` of which the kernel evaluates only operand 1 or 2, because masks decide its
 * condition. */
struct cr_choice {
    cr_id where;
    int operand;
};

/* The state of lowering one kernel. */
struct cr_evaluate {
    const struct cr_module *module;
    const struct cr_graph *g;
    struct cr_kernel *kernel;
    struct cr_tiles *tiles;            /* the program that is being built */
    int capacity;                      /* number of values allocated in `tiles` */
    struct cr_map maps[CR_MAX_VALUES]; /* by value: the index map at which its node is evaluated */

    cr_id core; /* the contraction that gives CR_CORE, or CR_NONE */
    struct cr_map core_map;
    bool core_seen;
    cr_id score; /* the product that gives CR_SCORE, or CR_NONE */
    const struct cr_map *score_map; /* the index map at which `score` may be read */

    int col; /* the atom over which reductions run, or CR_COL_UNKNOWN */
    bool may_reduce;
    unsigned fixed;                          /* atoms (as bits) that must not be split */
    struct cr_choice visible[CR_MAX_BOUNDS]; /* `where` nodes whose masks are assumed to hide
                                                nothing */
    int n_visible;

    /* the parts of a row, of which the program computes one; null if the program computes whole
     * rows.  All parts have equal size and share the atom `col`, and a reduction over whole rows
     * takes a tile of each part */
    const struct cr_row_parts *rows;

    /* the parts into which the columns (atom `col`) must be split so that each reads a single
     * operand of a concat, or a single part of a reshape; n is 0 if that would not help */
    struct cr_row_parts pieces;        /* without the field `atom` */
    int64_t piece_size[CR_MAX_PARTS];

    /* the reason of a failure: an atom must be split, or a node must be stored */
    bool wants_split;
    struct cr_split split;
    cr_id obstacle;
};

/* Starts a new program; the values of the previous one are no longer known. */
void cr_evaluate_begin(struct cr_evaluate *ev, struct cr_tiles *tiles, cr_id core, int col,
                       bool may_reduce);

/* Returns the index of a node in the kernel's list of operands, after appending the node if it is
 * new.  Returns -1 if the list is full. */
int cr_add_ref(struct cr_kernel *k, cr_id id);

/* Returns the index of a stream of random numbers in the kernel's list of streams, after appending
 * the stream if it is new.  Returns -1 if the list is full. */
int cr_add_stream(struct cr_kernel *k, int64_t stream);

/* Returns the number of the value of node `id` at index map `map`, or -1 if it cannot be
 * evaluated. */
int cr_evaluate(struct cr_evaluate *ev, cr_id id, const struct cr_map *map);

/* Appends a constant with the type of node `like`.  Returns the number of the value, or -1. */
int cr_evaluate_number(struct cr_evaluate *ev, double number, cr_id like);

/* Appends the reduction of a value over columns or, at the end of a COLUMNS program, over rows.
 * Returns the number of the new value, or -1. */
int cr_evaluate_reduction(struct cr_evaluate *ev, cr_id id, int value);

/* Frees the values of a failed program and removes the kernel's refs from number n_refs on, so that
 * the program can be evaluated again. */
void cr_evaluate_again(struct cr_evaluate *ev, struct cr_tiles *tiles, int n_refs);

/* Sets *operand to the address of a node's element.  Returns false unless the node is a stored node
 * or a view of one. */
bool cr_evaluate_operand(struct cr_evaluate *ev, cr_id id, const struct cr_map *map,
                         struct cr_operand *operand);

/* True if the value of the node is in memory when the kernel runs. */
bool cr_is_stored(const struct cr_evaluate *ev, cr_id id);

/* Adds an atom and sets *atom to its number, or to CR_NO_ATOM if the extent is 1.  Returns false if
 * there are too many. */
bool cr_new_atom(struct cr_evaluate *ev, int64_t extent, int length, int *atom);

/* True if a tile can hold the result of a gather: a row of adjacent elements of the table for each
 * row of the tile or, in f32 only, one number for each element.  `step` is the distance between
 * adjacent columns in a row of the table. */
bool cr_can_gather(const struct cr_graph *g, const struct cr_tiles *tiles,
                   const struct cr_value *value, int64_t step);

/* Ends a program after the column atom was chosen: sets by_row of all values and trims the memory.
 * Returns false if the tile cannot hold the result of a gather. */
bool cr_evaluate_end(struct cr_evaluate *ev, struct cr_tiles *tiles, int col);

/*
 * Removes a positive constant factor c from a program that computes c times its core, or -inf where
 * a mask hides it.  Returns c; the old result is c times the new one.  For any other program,
 * returns 1 and changes nothing.
 */
double cr_leave_out_factor(struct cr_tiles *tiles);

/* Removes the core from a program that multiplies it by factors.  The program then computes the
 * product of the factors. */
void cr_leave_out_core(struct cr_tiles *tiles);

#endif
