/*
 * kernel_kinds.h - the parts of each kind of kernel: one row a kind.
 *
 * Code that copies, compares, hashes, prints or checks kernels loops over their programs, operands
 * and results.  The kind's row lists them, and says where in struct cr_kernel each stands.
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
    CR_LOOP_BUCKET = 32, /* the rows of a scattered table */
    CR_LOOP_PART = 64, /* the columns of a part of a row */
};

/* The place in struct cr_kernel of a part: CR_PART(gemm.prologue), or CR_PART(program). */
#define CR_PART(member) offsetof(struct cr_kernel, member)

/* A tile program. */
struct cr_program_part {
    size_t at;        /* CR_PART */
    const char *name; /* in messages; null behind the last program */
    unsigned loops;
    unsigned across; /* the loop over the columns of its tiles */
    bool needed;     /* false: it may be empty */
    bool core;       /* it reads the contraction's result, once */
    bool score;      /* it may read CR_SCORE */
    bool reduces;    /* it may have reductions over its columns */
    bool ends_down;  /* it ends with a reduction down its rows, the only one */
    bool whole_rows; /* its gathers may read whole rows of a table */
    bool scaled;     /* its result is multiplied by the factor of the remarks */
    bool hidden;     /* the function's comment has the bounds of cr_remarks after this program */
    const char *title; /* printed before its ops, in that comment */
    const char *label; /* printed before its values, in the dump; null: the kind's name */
};

/* An operand that no program loads. */
struct cr_operand_part {
    size_t at;        /* CR_PART */
    const char *name; /* in messages; null behind the last operand */
    unsigned loops;   /* the loops on which its index may depend */
};

/* The most programs and operands of a kind. */
enum { CR_MAX_PROGRAMS = 12, CR_MAX_OPERANDS = 5 };

enum { CR_MAX_NUMBERS = 80 };

/* The facts that the dump and the comment of a function print besides loops and programs. */
struct cr_remarks {
    int64_t summands; /* terms of each sum, if rows and columns do not say it; or 0 */
    int64_t keys;     /* the keys that a query may see, or 0 */
    const struct cr_bound *bounds; /* bounds of the keys that a query sees */
    int n_bounds;
    double factor;                    /* the factor that scores are multiplied by */
    const struct cr_operand *rows_at; /* the index of the first row that it writes; or null */
};

/*
 * The parts of a kind: tile programs, operands and results; flags that other files use; functions
 * that read the kind's own member of struct cr_kernel.  A flag or a function may be left out:
 * "Null:" gives the answer that then holds.
 */
struct cr_kernel_parts {
    struct cr_program_part programs[CR_MAX_PROGRAMS + 1]; /* in the order in which they run */
    struct cr_operand_part operands[CR_MAX_OPERANDS + 1];
    unsigned results[CR_MAX_STORED]; /* by result: the loops that its index depends on; 0: the kind
                                        lacks this result */
    size_t weights; /* CR_PART of its struct cr_packed_weights; 0: reads no packed weights */

    enum cr_step_kind step; /* the kind of step that runs it (compiler/ir/steps.def); 0: a call */

    bool elementwise; /* it consists of its program only, by element or row; may store several
                         nodes */
    bool several;     /* it may store several nodes */
    bool in_place;    /* a result may be stored over an operand with the same index */
    bool starts;      /* cr_set_buffer_offsets (buffer_offsets.h) shifts every index of its refs and
                         its result */
    bool narrow;      /* its result may have no column axis, if the program reduces columns */
    bool writes_rows; /* it stores some rows of its buffer, known only at run time */

    /* Lists the numbers in its own member on which a kernel's code depends, at most CR_MAX_NUMBERS;
     * returns how many.  Null: 0. */
    int (*numbers)(const struct cr_kernel *kernel, int64_t *numbers);

    /* Returns the number of results.  Null: the number of nodes that the kernel stores. */
    int (*n_results)(const struct cr_kernel *kernel);

    /* True if a kernel lacks operand `i`, which others of its kind read from memory.  Null:
     * false. */
    bool (*lacks)(const struct cr_kernel *kernel, int i);

    /* Returns a text to print in place of both the title and the label of program `i` of a kernel;
     * or null.  Null: null. */
    const char *(*title)(const struct cr_kernel *kernel, int i);

    /* Returns the loops of the index of result i, as bits; sets *summed to the atoms along which
     * the kernel sums it, so that its index lacks them.  Null: results[0], and no atoms. */
    unsigned (*result_loops)(const struct cr_kernel *kernel, int i, unsigned *summed);

    /* Returns the atom that the columns of program `i` run along within CR_LOOP_SUM.  Null:
     * kernel->k. */
    int (*sum_atom)(const struct cr_kernel *kernel, int i);

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
    void (*describe)(struct cr_text *text, const struct cr_builder *builder);
};

extern const struct cr_kernel_kind_info cr_kernel_kinds[CR_KERNEL_KINDS];

static inline const struct cr_kernel_parts *cr_parts_of(const struct cr_kernel *kernel)
{
    return kernel->parts;
}

/* Returns tile program `i` of a kernel; null behind the last one of its kind. */
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

/* Returns operand `i` of a kernel; null behind the last one of its kind. */
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

/* Returns the node whose weights it reads packed, or CR_NONE. */
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

/* Frees the tile programs of a kernel, which may be all zero. */
void cr_kernel_free(struct cr_kernel *kernel);

/* Copies a kernel and its tile programs. */
void cr_kernel_copy(struct cr_kernel *copy, const struct cr_kernel *kernel);

/* Lists the numbers on which a kernel's code depends; equal kernels have equal ones. */
static inline int cr_kernel_numbers(const struct cr_kernel *kernel, int64_t *numbers)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return parts->numbers ? parts->numbers(kernel, numbers) : 0;
}

#endif
