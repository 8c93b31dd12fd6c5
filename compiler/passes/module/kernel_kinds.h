/*
 * kernel_kinds.h - the parts of each kind of kernel: one row a kind.
 *
 * Code that copies, compares, hashes, prints or checks kernels loops over their programs, operands
 * and results by number.  The kind's row describes each of them.
 */
#ifndef CR_KERNEL_KINDS_H
#define CR_KERNEL_KINDS_H

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
    CR_LOOP_BUCKET = 32, /* the rows of a scattered table */
    CR_LOOP_PART = 64, /* the columns of a part of a row */
};

/* A tile program; the kind lacks it if `loops` is 0. */
struct cr_program_part {
    unsigned loops;
    unsigned across; /* the loop over the columns of its tiles */
    bool needed;     /* false: it may be empty */
    bool core;       /* it reads the contraction's result, once */
    bool score;      /* it may read CR_SCORE */
    bool reduces;    /* it may have reductions over its columns */
    bool ends_down;  /* it ends with a reduction down its rows, the only one */
    bool whole_rows; /* gathers of its programs may read whole rows of a table */
    const char *title; /* printed before its ops, in the comment of the kernel's function */
};

struct cr_operand_part {
    bool used;
    unsigned loops; /* the loops on which its index may depend */
};

enum { CR_MAX_NUMBERS = 80 };

/* The facts that the dump and the comment of a function print besides loops and programs. */
struct cr_remarks {
    int64_t summands; /* terms of each sum, if rows and columns do not say it; or 0 */
    int64_t keys;     /* the keys that a query may see, or 0 */
    const struct cr_bound *bounds; /* bounds of the keys that a query sees */
    int n_bounds;
    double factor;                   /* the factor that scores are multiplied by */
    bool chooses;                    /* where the factor of dropout is 0, the product is 0, even
                                        if the other factor is NaN */
    const char *array[CR_MAX_ARRAYS]; /* the use of each array, such as "summed over keys"; or null */
    const struct cr_operand *chosen_by; /* the i32 that says which matrix of a stack it multiplies by; or null */
    const struct cr_operand *rows_at; /* the index of the first row that it writes; or null */
};

/*
 * The parts of a kind: tile programs, operands and results; flags that other files use; functions
 * that read the kind's own member of struct cr_kernel.  A flag or a function may be left out:
 * "Null:" gives the answer that then holds.
 */
struct cr_kernel_parts {
    struct cr_program_part programs[CR_PROGRAMS];
    struct cr_operand_part operands[CR_OPERANDS];
    unsigned results[CR_RESULTS]; /* by result: the loops that its index depends on; 0: the kind
                                     lacks this result */

    enum cr_step_kind step; /* the kind of step that runs it (compiler/ir/steps.def); 0: a call */

    bool elementwise; /* it consists of its program only, by element or row; may store several
                         nodes */
    bool several;     /* it may store several nodes */
    bool in_place;    /* a result may be stored over an operand with the same index */
    bool starts;      /* cr_set_buffer_offsets (buffer_offsets.h) shifts every index of its refs and its result */
    bool packs;       /* operand b may be weights that are packed at load */
    bool narrow;      /* its result may have no column axis, if the program reduces columns */
    bool writes_rows; /* it stores some rows of its buffer, known only at run time */

    /* Lists the numbers in its own member on which a kernel's code depends, at most CR_MAX_NUMBERS;
     * returns how many.  Null: 0. */
    int (*numbers)(const struct cr_kernel *kernel, int64_t *numbers);

    /* Returns the number of results.  Null: the number of nodes that the kernel stores. */
    int (*n_results)(const struct cr_kernel *kernel);

    /* True if a kernel lacks operand `i`, which others of its kind have.  Null: false. */
    bool (*lacks)(const struct cr_kernel *kernel, int i);

    /* Returns the loops of the index of result i, as bits; sets *summed to the atoms along which the
     * kernel sums it, so that its index lacks them.  Null: results[0], and no atoms. */
    unsigned (*result_loops)(const struct cr_kernel *kernel, int i, unsigned *summed);

    /* Returns the atom of the columns of a program across CR_LOOP_SUM.  Null: kernel->k. */
    int (*sum_atom)(const struct cr_kernel *kernel, int program);

    /* Sets the remarks that the kind has; others do not change.  Null: the kind has no remarks. */
    void (*remark)(const struct cr_kernel *kernel, struct cr_remarks *remarks);

    /* Returns how many elements of operand `i` are read from its index on.  Null: 1. */
    int64_t (*elements_read)(const struct cr_kernel *kernel, int i);

    /* Returns what outer loop `i` runs over, a word that can name its counter; or null.  Null: the
     * loops have no meaning of the kind's own. */
    const char *(*role)(const struct cr_graph *g, const struct cr_kernel *kernel, int i);

    /* Sets the numbers of the step, in the member of its kind.  Null: the step is a call, and
     * schedule sets its shares. */
    void (*lay)(const struct cr_kernel *kernel, struct cr_step *step);

    /* The verifier (kernel_check.h) calls the next two functions.  take_roles gives roles to the
     * atoms in the kind's own member; false if an atom gets two.  Null: the member has no atoms. */
    bool (*take_roles)(struct cr_kernel_check *check);

    /* Checks the member of the kernel that only this kind has; returns 0 or -1.  Null: there is
     * none to check. */
    int (*verify)(const struct cr_kernel_check *check);
};

struct cr_kernel_kind_info {
    const char *name;
    const struct cr_kernel_parts *parts;

    /* True if the kind fits a root; asked only if no earlier kind fits (lower.h). */
    bool (*fits)(const struct cr_lowering *lowering);

    /* Makes the kernel; false with lowering->ev.obstacle if that is impossible. */
    bool (*lower)(struct cr_lowering *lowering);

    /* Returns the operations of a kernel whose root has `elements` elements. */
    double (*flops)(const struct cr_kernel *kernel, double elements);

    /* Appends the body of its function (builder.h); returns the number of items of its parallel
     * loop, for the bounds of lengths. */
    int64_t (*schedule)(struct cr_builder *builder);

    /* Appends the formula after "out[shape]", as in " = rows[8, 64] x columns[64, 32]". */
    void (*describe)(struct cr_text *text, const struct cr_kernel *kernel);
};

extern const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS];

/* The names by number: "prologue", "a" ... */
extern const char *const cr_program_names[CR_PROGRAMS], *const cr_operand_names[CR_OPERANDS];

static inline const struct cr_kernel_parts *cr_parts_of(const struct cr_kernel *kernel)
{
    return cr_kernel_kinds[kernel->kind].parts;
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

/* Returns the atom of the columns of a program's tiles, or -1. */
int cr_column_atom(const struct cr_kernel *kernel, int program);

/* Lists the numbers on which a kernel's code depends; equal kernels have equal ones. */
static inline int cr_kernel_numbers(const struct cr_kernel *kernel, int64_t *numbers)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return parts->numbers ? parts->numbers(kernel, numbers) : 0;
}

#endif
