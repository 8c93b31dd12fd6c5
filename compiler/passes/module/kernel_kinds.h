/*
 * kernel_kinds.h - what the kinds of kernels are made of, a row each.
 *
 * Code that copies, compares, hashes, prints or checks kernels goes through their programs,
 * operands and results by number.  The row of the kind says what each of them is.
 */
#ifndef CR_KERNEL_KINDS_H
#define CR_KERNEL_KINDS_H

#include "kernel.h"

struct cr_builder;
struct cr_lowering;
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
    const char *title; /* before its ops, in the comment of the kernel's function */
};

struct cr_operand_part {
    bool used;
    unsigned loops; /* that may stand in its index */
};

enum { CR_MAX_NUMBERS = 80 };

struct cr_kernel_parts {
    struct cr_program_part programs[CR_PROGRAMS];
    struct cr_operand_part operands[CR_OPERANDS];
    unsigned results[CR_RESULTS]; /* the loops that go through a result; 0: the kind has none */

    /* Lists what the code of a kernel depends on of the kind's own member of struct cr_kernel, at
     * most CR_MAX_NUMBERS; returns how many.  Null: the kind has no member. */
    int (*numbers)(const struct cr_kernel *kernel, int64_t *numbers);
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
    bool gradients = kernel->kind == CR_KERNEL_ATTENTION_BACKWARD;
    return gradients ? 3 + kernel->attention.n_arrays : kernel->n_stored;
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
