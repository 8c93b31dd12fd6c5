/*
 * evaluate.h - from a node of the graph to a tile program.
 *
 * Evaluation is by demand: the element of a node at an index map becomes a value, which asks for
 * values of its operands.  A movement op changes the map.  Evaluation ends at nodes that are
 * stored in memory.
 */
#ifndef CR_EVALUATE_H
#define CR_EVALUATE_H

#include "compiler/passes/module/module.h"

enum { CR_NO_ATOM = -1, CR_COL_UNKNOWN = -2 };

/* A `where` that a mask narrows down to one operand, 1 or 2. */
struct cr_choice {
    cr_id where;
    int operand;
};

/* The state of lowering one kernel. */
struct cr_evaluate {
    const struct cr_module *module;
    const struct cr_graph *g;
    struct cr_kernel *kernel;
    struct cr_tiles *tiles;            /* the program that is being made */
    int capacity;                      /* values allocated in `tiles` */
    struct cr_map maps[CR_MAX_VALUES]; /* by value: the index map at which its node is evaluated */

    cr_id core; /* the contraction that gives CR_CORE, or CR_NONE */
    struct cr_map core_map;
    bool core_seen;
    cr_id score; /* the product that gives CR_SCORE, or CR_NONE ... */
    const struct cr_map *score_map; /* ... at this map */

    int col; /* the atom over which reductions run, or CR_COL_UNKNOWN */
    bool may_reduce;
    unsigned fixed;                          /* atoms (as bits) that must not be split */
    struct cr_choice visible[CR_MAX_BOUNDS]; /* masks that are assumed to hide nothing */
    int n_visible;

    /* the parts of a row, of which the program computes one, if all are equally long and share the
     * atom `col`: a reduction over whole rows then takes a tile of each part.  Or null */
    const struct cr_row_parts *rows;

    /* the parts into which the columns, over `col`, must be split so that each comes from one
     * operand of a concat or one part of a reshape; n is 0 if that is not the obstacle */
    struct cr_row_parts pieces;        /* `atom` is not set */
    int64_t piece_size[CR_MAX_PARTS];

    /* why evaluation failed: an atom must be split, or a node must be stored */
    bool wants_split;
    struct cr_split split;
    cr_id obstacle;
};

/* Starts a program, and forgets the values of the previous one. */
void cr_evaluate_begin(struct cr_evaluate *ev, struct cr_tiles *tiles, cr_id core, int col,
                       bool may_reduce);

/* The index of a node in the kernel's list of operands; a new node is appended to the list.
 * Returns -1 if the list is full. */
int cr_add_ref(struct cr_kernel *k, cr_id id);

/* The index of a stream of random numbers in the kernel's list of streams; a new stream is appended
 * to the list.  Returns -1 if the list is full. */
int cr_add_stream(struct cr_kernel *k, int64_t stream);

/* Returns the value of a node at a map, or -1. */
int cr_evaluate(struct cr_evaluate *ev, cr_id id, const struct cr_map *map);

/* Appends a constant with the type of a node; returns its value, or -1. */
int cr_evaluate_number(struct cr_evaluate *ev, double number, cr_id like);

/* Appends the reduction of a value over columns or, at the end of a COLUMNS program, over rows; or
 * -1. */
int cr_evaluate_reduction(struct cr_evaluate *ev, cr_id id, int value);

/* Frees the values of a failed program and drops the refs from n_refs on, so that it can start
 * again. */
void cr_evaluate_again(struct cr_evaluate *ev, struct cr_tiles *tiles, int n_refs);

/* Finds the address of a node's element; returns false unless the node is a view of a stored
 * node. */
bool cr_evaluate_operand(struct cr_evaluate *ev, cr_id id, const struct cr_map *map,
                         struct cr_operand *operand);

/* True if the value of the node is in memory when the kernel runs. */
bool cr_is_stored(const struct cr_evaluate *ev, cr_id id);

/* Adds an atom, or sets *atom to CR_NO_ATOM for extent 1; false if there are too many. */
bool cr_new_atom(struct cr_evaluate *ev, int64_t extent, int length, int *atom);

/* True if a tile can hold what a value gathers: one row of the table for each of its rows, with
 * adjacent elements, or, if it is f32, one number for each element.  `step` is the distance of
 * adjacent columns in a row of the table. */
bool cr_can_gather(const struct cr_graph *g, const struct cr_tiles *tiles,
                   const struct cr_value *value, int64_t step);

/* Ends a program once the column atom is known: sets by_row of its values, and trims its memory.
 * False if a gather does not fit. */
bool cr_evaluate_end(struct cr_evaluate *ev, struct cr_tiles *tiles, int col);

/*
 * Removes a constant positive factor c from a program whose result is c times its core, or -inf
 * where a mask hides it, and returns c: the old result is c times the new one.  Returns 1, and
 * changes nothing, for any other program.
 */
double cr_leave_out_factor(struct cr_tiles *tiles);

/* Removes the core from a program that multiplies it by factors: the product of the factors
 * remains. */
void cr_leave_out_core(struct cr_tiles *tiles);

#endif
