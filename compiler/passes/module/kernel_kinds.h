/*
 * kernel_kinds.h - what the kinds of kernels are made of, a row each.
 *
 * Code that copies, compares, hashes, prints or checks kernels goes through their programs,
 * operands and results by number.  The row of the kind says what each of them is.
 */
#ifndef CR_KERNEL_KINDS_H
#define CR_KERNEL_KINDS_H

#include "compiler/ir/program.h"
#include "kernel.h"

struct cr_builder;
struct cr_kernel_check;
struct cr_lowering;
struct cr_made_part;
struct cr_text;

/* The loops of a kernel by what they are for; as bits, several of them. */
enum {
    CR_LOOP_OUTER = 1,
    CR_LOOP_ROW = 2,
    CR_LOOP_COL = 4,
    CR_LOOP_SUM = 8, /* the atom k */
    CR_LOOP_KEY = 16,
    CR_LOOP_BUCKET = 32, /* the rows of a table */
    CR_LOOP_PART = 64, /* the columns of a part of a row */
};

/* A tile program; the kind has none like it if no loops may stand in its indices. */
struct cr_program_part {
    unsigned loops;
    unsigned across; /* the loop that goes along the columns of its tiles */
    bool needed;     /* else it may be empty */
    bool core;       /* it takes the contraction's result, once */
    bool score;      /* it may take CR_SCORE */
    bool reduces;    /* it may have reductions over its columns */
    bool ends_down;  /* it ends with a reduction down its rows, and has no other */
    bool whole_rows; /* its gathers may take whole rows of a table, along its columns */
    const char *title; /* before its ops, in the comment of the kernel's function */
};

struct cr_operand_part {
    bool used;
    unsigned loops; /* that may stand in its index */
};

enum { CR_MAX_NUMBERS = 80 };

/* What the dump and the comment of a function say of a kernel besides its loops and its programs. */
struct cr_remarks {
    int64_t summands; /* that each of its sums has, which its rows and columns do not say; or 0 */
    int64_t keys;     /* that a query may see; or 0 */
    const struct cr_bound *bounds; /* of the keys that a query sees */
    int n_bounds;
    double factor;                   /* that scores are multiplied by */
    bool chooses;                    /* where dropout is 0 the product is 0, even of NaN */
    const char *array[CR_MAX_ARRAYS]; /* "summed over keys": what is made of each array; or null */
    const struct cr_operand *chosen_by; /* the i32 that says which matrix of a stack it multiplies by; or null */
    const struct cr_operand *rows_at; /* where the rows begin that it writes; or null */
};

/*
 * The parts of a kind: tile programs, operands and results; then flags, which other files rely on; then
 * functions that read the kind's own member of struct cr_kernel.  A flag or a function may be left out:
 * "Null:" says which answer stands for a function that is not there.
 */
struct cr_kernel_parts {
    struct cr_program_part programs[CR_PROGRAMS];
    struct cr_operand_part operands[CR_OPERANDS];
    unsigned results[CR_RESULTS]; /* the loops that go through a result; 0: the kind has none */

    enum cr_step_kind step; /* the kind of step that runs it (compiler/ir/steps.def); 0: a call */

    bool elementwise; /* it is its program and nothing else, done element by element or row by row; it may
                       * store several nodes, a result of the program each */
    bool several;     /* it may store several nodes */
    bool in_place;    /* what the program reads may be in the memory of the result, at the same place */
    bool starts;      /* all that its code takes from a ref or its result lies at an index that
                       * cr_begin_at (starts.h) changes */
    bool packs;       /* operand b may be weights that were packed at load */
    bool narrow;      /* its result may have no columns, if the program reduces them */
    bool writes_rows; /* it stores some rows of its buffer; which ones is known when it runs */

    /* Lists what the code of a kernel depends on of its own member, at most CR_MAX_NUMBERS; returns
     * how many.  Null: 0. */
    int (*numbers)(const struct cr_kernel *kernel, int64_t *numbers);

    /* The number of results of a kernel.  Null: as many as it stores nodes. */
    int (*n_results)(const struct cr_kernel *kernel);

    /* True if a kernel goes without operand `i`, which others of its kind have.  Null: false. */
    bool (*lacks)(const struct cr_kernel *kernel, int i);

    /* The atom of the columns of a program that goes across CR_LOOP_SUM.  Null: kernel->k. */
    int (*sum_atom)(const struct cr_kernel *kernel, int program);

    /* Sets the remarks that this kind has; the others keep their values.  Null: it has none. */
    void (*remark)(const struct cr_kernel *kernel, struct cr_remarks *remarks);

    /* The number of elements that it reads of operand `i`, the first at the operand's index.  Null: 1. */
    int64_t (*elements_read)(const struct cr_kernel *kernel, int i);

    /* Sets the step's numbers, in the member of its kind.  Null: the step is a call, and schedule sets
     * its shares. */
    void (*lay)(const struct cr_kernel *kernel, struct cr_step *step);

    /* The verifier (kernel_check.h) calls the next three.  The first gives the atoms of its member their
     * roles; false if an atom has one already.  Null: there are none. */
    bool (*take_roles)(struct cr_kernel_check *check);

    /* Checks its member; 0 or -1.  Null: there is nothing to check. */
    int (*verify)(const struct cr_kernel_check *check);

    /* Checks that its results cover what it stores; 0 or -1.  Null: verify_kernels.c checks that the loops
     * go through the root's part of the buffer once, and in the same way through each other stored node. */
    int (*verify_results)(struct cr_kernel_check *check, struct cr_made_part *made);
};

struct cr_kernel_kind_info {
    const char *name;
    const struct cr_kernel_parts *parts;

    /* True if the kind fits a root that no kind before it fits (lower.h). */
    bool (*fits)(const struct cr_lowering *lowering);

    /* Makes the kernel; false with lowering->ev.obstacle if it cannot be one. */
    bool (*lower)(struct cr_lowering *lowering);

    /* The work of a kernel whose root has so many elements. */
    double (*flops)(const struct cr_kernel *kernel, double elements);

    /* Appends the body of its function (builder.h); returns the items of its parallel loop, for the
     * bounds of lengths. */
    int64_t (*schedule)(struct cr_builder *builder);

    /* Appends what it computes, behind "out[shape]": " = rows[8, 64] x columns[64, 32]". */
    void (*describe)(struct cr_text *text, const struct cr_kernel *kernel);
};

extern const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS];

/* "prologue", "a" ..., by number. */
extern const char *const cr_program_names[CR_PROGRAMS], *const cr_operand_names[CR_OPERANDS];

static inline const struct cr_kernel_parts *cr_parts_of(const struct cr_kernel *kernel)
{
    return cr_kernel_kinds[kernel->kind].parts;
}

/* How many results it has. */
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

/* The atom that goes along the columns of a program's tiles, or -1. */
int cr_column_atom(const struct cr_kernel *kernel, int program);

/* The numbers of a kernel by its row; of kernels that are alike they are the same. */
static inline int cr_kernel_numbers(const struct cr_kernel *kernel, int64_t *numbers)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return parts->numbers ? parts->numbers(kernel, numbers) : 0;
}

#endif
