/*
 * evaluate.h - from a node of the graph to a tile program.
 *
 * Evaluation is by demand: the element of a node at an index map becomes a value, which
 * asks for values of its operands, through movement ops by changing the map, down to
 * what is stored in memory.
 */
#ifndef CR_EVALUATE_H
#define CR_EVALUATE_H

#include "compiler/passes/module/module.h"

enum { CR_NO_ATOM = -1, CR_COL_UNKNOWN = -2 };

/* A `where` of which only one operand, 1 or 2, is wanted. */
struct cr_choice {
    cr_id where;
    int operand;
};

/* The state of lowering one kernel. */
struct cr_evaluate {
    const struct cr_module *module;
    const struct cr_graph *g;
    struct cr_kernel *kernel;
    struct cr_tiles *tiles;            /* the program being made */
    int capacity;                      /* of its values */
    struct cr_map maps[CR_MAX_VALUES]; /* by value: where its node is evaluated */

    cr_id core; /* the contraction that gives CR_CORE, or CR_NONE */
    struct cr_map core_map;
    bool core_seen;
    cr_id score; /* the product that gives CR_SCORE, or CR_NONE ... */
    const struct cr_map *score_map; /* ... at this map */

    int col; /* the atom that reductions run over, or CR_COL_UNKNOWN */
    bool may_reduce;
    unsigned fixed;                          /* atoms (as bits) that must not be cut */
    struct cr_choice visible[CR_MAX_BOUNDS]; /* masks taken to hide nothing */
    int n_visible;

    /* the parts of whose rows a program makes one, if they are as long and share the atom `col`; a
     * reduction over whole rows is then one of those over each part; else null */
    const struct cr_row_parts *rows;

    /* where a program's columns, over `col`, must be cut so that each part comes from one operand of a
     * concat; none if that is not what stands in the way */
    struct cr_row_parts pieces;        /* without atoms */
    int64_t piece_size[CR_MAX_PARTS];

    /* why evaluation failed: an atom has to be cut, or a node has to be stored */
    bool wants_split;
    struct cr_split split;
    cr_id obstacle;
};

/* Starts a program.  What was evaluated for another program is forgotten. */
void cr_evaluate_begin(struct cr_evaluate *ev, struct cr_tiles *tiles, cr_id core, int col,
                       bool may_reduce);

/* The index of a node in the kernel's list of operands; a new node is appended to the list.  Returns -1 if the
 * list is full. */
int cr_add_ref(struct cr_kernel *k, cr_id id);

/* The index of a stream of random numbers in the kernel's list of streams; a new stream is appended to the list.
 * Returns -1 if the list is full. */
int cr_add_stream(struct cr_kernel *k, int64_t stream);

/* The value of a node at a map, or -1. */
int cr_evaluate(struct cr_evaluate *ev, cr_id id, const struct cr_map *map);

/* A number, of the type of a node; or -1. */
int cr_evaluate_number(struct cr_evaluate *ev, double number, cr_id like);

/* The reduction of a value, over columns or, at the end of a COLUMNS program, over rows; or -1. */
int cr_evaluate_reduction(struct cr_evaluate *ev, cr_id id, int value);

/* Gives back the values of a program that failed, and the operands that were met since there were
 * n_refs, so that it can be begun anew. */
void cr_evaluate_again(struct cr_evaluate *ev, struct cr_tiles *tiles, int n_refs);

/* Finds where the element of a node lies; false if the node is no view of a stored one. */
bool cr_evaluate_operand(struct cr_evaluate *ev, cr_id id, const struct cr_map *map,
                         struct cr_operand *operand);

/* True if the value of the node is in memory when the kernel runs. */
bool cr_is_stored(const struct cr_evaluate *ev, cr_id id);

/* A new atom, or CR_NO_ATOM for extent 1; false if there are too many. */
bool cr_new_atom(struct cr_evaluate *ev, int64_t extent, int length, int *atom);

/* True if a tile of a program can have what a value gathers: one row of the table for each of its rows,
 * side by side, or of f32 one number for each element; `step` is how far apart columns lie in a row
 * of the table. */
bool cr_can_gather(const struct cr_graph *g, const struct cr_tiles *tiles,
                   const struct cr_value *value, int64_t step);

/* Ends a program once the column atom is known: gives values their by_row, and no more memory than
 * they need; false if a value does not fit. */
bool cr_evaluate_end(struct cr_evaluate *ev, struct cr_tiles *tiles, int col);

/*
 * Removes a constant positive factor c from a program whose result is c times its core or, where a
 * mask hides it, -inf.  Returns c: the result of the old program is c times that of the new one.
 * Returns 1, and changes nothing, if the program has another form.
 */
double cr_leave_out_factor(struct cr_tiles *tiles);

/* Turns a program that multiplies its core by factors into the program of these factors alone. */
void cr_leave_out_core(struct cr_tiles *tiles);

#endif
