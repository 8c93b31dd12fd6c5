/*
 * kernel_kinds.h - the table of kernel kinds, with one row for each kind.
 *
 * Code that copies, compares, hashes, prints or checks kernels loops over their programs, operands
 * and results.  The kind's row lists these parts, and says at which offset of struct cr_kernel each
 * part is.
 */
#ifndef CR_KERNEL_KINDS_H
#define CR_KERNEL_KINDS_H

#include <stddef.h>

#include "compiler/ir/program.h"
#include "kernel.h"

struct cr_builder;
struct cr_kernel_check;
struct cr_lowering;
struct cr_text;

/* The roles of a kernel's loops, as bits. */
enum {
    CR_LOOP_OUTER = 1,
    CR_LOOP_ROW = 2,
    CR_LOOP_COL = 4,
    CR_LOOP_SUM = 8, /* the atom k */
    CR_LOOP_KEY = 16,
    CR_LOOP_BUCKET = 32, /* the atom of the rows of a scattered table */
    CR_LOOP_PART = 64, /* the atom of the columns of a part of a row */
};

/* The offset of a part in struct cr_kernel: CR_PART(gemm.prologue), or CR_PART(program). */
#define CR_PART(member) offsetof(struct cr_kernel, member)

/* One tile program of a kind. */
struct cr_program_part {
    size_t at;        /* the offset of the program in struct cr_kernel (CR_PART) */
    const char *name; /* the name of the program in messages; null after the last program */
    unsigned loops;
    unsigned across; /* the loop over the columns of the program's tiles, a bit CR_LOOP_ */
    bool needed;     /* true if the program may not be empty */
    bool core;       /* true if the program reads the contraction's result, exactly once */
    bool score;      /* true if the program may read CR_SCORE */
    bool reduces;    /* true if the program may reduce over columns */
    bool ends_down;  /* true if the program ends with its only reduction, over rows */
    bool whole_rows; /* true if gathers of the program may read whole rows of a table */
    bool scaled;     /* true if the program's result is multiplied by cr_remarks.factor */
    bool hidden;     /* true if the function's comment lists cr_remarks.bounds after this program */
    const char *title; /* title before the program's ops, in the function's comment */
    const char *label; /* title before the program's values, in the dump; null for the kind's
                          name */
};

/* An operand of a kind that is read by a product or the like, not loaded by a program. */
struct cr_operand_part {
    size_t at;        /* the offset of the operand in struct cr_kernel (CR_PART) */
    const char *name; /* the name of the operand in messages; null after the last operand */
    unsigned loops;   /* the loops, as bits, on which the operand's index may depend */
};

/* The most programs and the most operands that a kind has. */
enum { CR_MAX_PROGRAMS = 12, CR_MAX_OPERANDS = 5 };

enum { CR_MAX_NUMBERS = 80 };

/* Facts that the dump and the comment of a kernel's function print besides loops and programs. */
struct cr_remarks {
    int64_t summands; /* number of terms of each sum, if rows and columns do not tell it; or 0 */
    int64_t keys;     /* the number of keys that a query may see, or 0 */
    const struct cr_bound *bounds; /* the bounds of the keys that a query sees, or null */
    int n_bounds;
    double factor;                    /* the factor by which scores are multiplied */
    const struct cr_operand *rows_at; /* the number of the first row that it writes, or null */
};

/*
 * The parts of a kind: its tile programs, operands and results; flags for other files; and
 * functions that read the kind's own member of struct cr_kernel.  A flag or a function may be left
 * out.  "Null:" gives the result for a function that is left out.
 */
struct cr_kernel_parts {
    struct cr_program_part programs[CR_MAX_PROGRAMS + 1]; /* in the order in which they run; ends
                                                             with an empty one */
    struct cr_operand_part operands[CR_MAX_OPERANDS + 1];
    unsigned results[CR_MAX_STORED]; /* by result: the loops, as bits, on which the result's index
                                        depends; 0 if the kind does not have this result */
    size_t weights; /* CR_PART of the kind's struct cr_packed_weights; 0 if the kind reads no packed
                       weights */

    enum cr_step_kind step; /* the kind of step that runs the kernel (compiler/ir/steps.def); 0 for
                               a call */

    bool elementwise; /* true if a kernel only runs its program, element by element or row by row,
                         and may store several nodes */
    bool several;     /* true if a kernel may store several nodes */
    bool in_place;    /* true if a result may be stored over an operand with the same index */
    bool starts;      /* true if cr_set_buffer_offsets (buffer_offsets.h) shifts all indices of a
                         kernel's refs and result */
    bool narrow;      /* true if the result may lack the column axis, because the program reduces
                         columns */
    bool writes_rows; /* true if a kernel stores only some rows of its buffer, which are known only
                         at run time */

    /* Writes the numbers in the kind's own member on which a kernel's code depends to `numbers`, at
     * most CR_MAX_NUMBERS; returns how many.  Null: 0. */
    int (*numbers)(const struct cr_kernel *kernel, int64_t *numbers);

    /* Returns the number of results.  Null: the number of nodes that the kernel stores. */
    int (*n_results)(const struct cr_kernel *kernel);

    /* True if a kernel does not read operand `i` from memory, although other kernels of its kind
     * do.  Null: false. */
    bool (*lacks)(const struct cr_kernel *kernel, int i);

    /* Returns a text to print in place of both the title and the label of program `i` of a kernel;
     * or null.  Null: null. */
    const char *(*title)(const struct cr_kernel *kernel, int i);

    /* Returns the loops on which the index of result i depends, as bits; sets *summed to the atoms
     * along which the kernel sums the result, on which the index does not depend.  Null:
     * results[0], and no atoms. */
    unsigned (*result_loops)(const struct cr_kernel *kernel, int i, unsigned *summed);

    /* Returns the atom of the columns of program `i`, if these are in CR_LOOP_SUM.  Null:
     * kernel->k. */
    int (*sum_atom)(const struct cr_kernel *kernel, int i);

    /* Sets those remarks that the kind has, and leaves the others unchanged.  Null: the kind has
     * none. */
    void (*remark)(const struct cr_kernel *kernel, struct cr_remarks *remarks);

    /* Returns the number of elements of operand `i` that are read, beginning at its index.  Null:
     * 1. */
    int64_t (*elements_read)(const struct cr_kernel *kernel, int i);

    /* Returns a word for outer loop `i`, such as "head", that can name its counter; or null.  Null:
     * the kind has no such words. */
    const char *(*role)(const struct cr_graph *g, const struct cr_kernel *kernel, int i);

    /* Sets the numbers of the step in the member of the step's kind.  Null: the step is a call, and
     * the pass `schedule` sets its shares. */
    void (*lay)(const struct cr_kernel *kernel, struct cr_step *step);

    /* The verifier (kernel_check.h) calls the next two functions.  take_roles assigns roles to the
     * atoms in the kind's own member; returns false if an atom would have two roles.  Null: the
     * member has no atoms. */
    bool (*take_roles)(struct cr_kernel_check *check);

    /* Checks the kind's own member of the kernel; returns 0 or -1.  Null: there is nothing to
     * check. */
    int (*verify)(const struct cr_kernel_check *check);
};

struct cr_kernel_kind_info {
    const char *name;
    const struct cr_kernel_parts *parts;

    /* True if this kind can compute a root; called only if no earlier kind of the table can
     * (lower.h). */
    bool (*fits)(const struct cr_lowering *lowering);

    /* Makes the kernel.  If that is impossible, returns false and sets lowering->ev.obstacle. */
    bool (*lower)(struct cr_lowering *lowering);

    /* Returns the number of operations of a kernel whose root has `elements` elements. */
    double (*flops)(const struct cr_kernel *kernel, double elements);

    /* Appends the body of the kernel's function (builder.h).  Returns the most items that its
     * parallel loop has, when all lengths are at their bounds. */
    int64_t (*schedule)(struct cr_builder *builder);

    /* Appends the formula that the function's comment has after "out[shape]", such as " = rows[8,
     * 64] x columns[64, 32]". */
    void (*describe)(struct cr_text *text, const struct cr_builder *builder);
};

extern const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS];

static inline const struct cr_kernel_parts *cr_parts_of(const struct cr_kernel *kernel)
{
    return kernel->parts;
}

/* Returns tile program `i` of a kernel, or null if its kind has no more programs. */
static inline struct cr_tiles *cr_program_of(const struct cr_kernel *kernel, int i)
{
    const struct cr_program_part *part = &cr_parts_of(kernel)->programs[i];
    return part->name ? (struct cr_tiles *)((char *)kernel + part->at) : NULL;
}

/* Returns the text to print in place of both the title and the label of program `i`, or null. */
static inline const char *cr_title_of(const struct cr_kernel *kernel, int i)
{
    return cr_parts_of(kernel)->title ? cr_parts_of(kernel)->title(kernel, i) : NULL;
}

/* Returns operand `i` of a kernel, or null if its kind has no more operands. */
static inline struct cr_operand *cr_operand_of(const struct cr_kernel *kernel, int i)
{
    const struct cr_operand_part *part = &cr_parts_of(kernel)->operands[i];
    return part->name ? (struct cr_operand *)((char *)kernel + part->at) : NULL;
}

/* Returns the packed weights that a kernel reads, or null. */
static inline const struct cr_packed_weights *cr_weights_of(const struct cr_kernel *kernel)
{
    size_t at = cr_parts_of(kernel)->weights;
    const struct cr_packed_weights *weights = (const void *)((const char *)kernel + at);
    return at && weights->node != CR_NONE ? weights : NULL;
}

/* Returns the node whose weights the kernel reads packed, or CR_NONE. */
static inline cr_id cr_packed(const struct cr_kernel *kernel)
{
    const struct cr_packed_weights *weights = cr_weights_of(kernel);
    return weights ? weights->node : CR_NONE;
}

/* Returns the number of results of a kernel. */
static inline int cr_n_results_of(const struct cr_kernel *kernel)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return parts->n_results ? parts->n_results(kernel) : kernel->n_stored;
}

static inline struct cr_remarks cr_remarks_of(const struct cr_kernel *kernel)
{
    struct cr_remarks remarks = {.factor = 1};
    if (cr_parts_of(kernel)->remark)
        cr_parts_of(kernel)->remark(kernel, &remarks);
    return remarks;
}

/* Returns the atom of the columns of the tiles of program `i`, or -1. */
int cr_column_atom(const struct cr_kernel *kernel, int i);

/* Frees the tile programs of a kernel; the kernel may be all zeros. */
void cr_kernel_free(struct cr_kernel *kernel);

/* Copies a kernel and its tile programs. */
void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel);

/* Writes the numbers on which a kernel's code depends to `numbers`, and returns how many.  Kernels
 * with equal code have equal numbers. */
static inline int cr_kernel_numbers(const struct cr_kernel *kernel, int64_t *numbers)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return parts->numbers ? parts->numbers(kernel, numbers) : 0;
}

#endif
