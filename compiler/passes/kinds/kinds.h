/*
 * kinds.h - declares the functions that the rows of kernel_kinds.def name.
 *
 * Comes in:   a root (cr_fits_, cr_lower_), then its kernel (cr_flops_, cr_schedule_, cr_describe_).
 * Goes out:   the kernel; its operations, the body of its function, and its equation in words.
 * Promise:    only the files of a kind, all in this directory, name the kind.  All other directories use
 *             its row (kernel_kinds.h), and include no header of this directory.
 * Used later: none.
 */
#ifndef CR_KINDS_H
#define CR_KINDS_H

#include "compiler/passes/module/kernel_kinds.h"

#define KIND(NAME, name, title)                                                                    \
    extern const struct cr_kernel_parts cr_parts_##name;                                           \
    bool cr_fits_##name(const struct cr_lowering *lowering);                                       \
    bool cr_lower_##name(struct cr_lowering *lowering);                                            \
    double cr_flops_##name(const struct cr_kernel *kernel, double elements);                       \
    int64_t cr_schedule_##name(struct cr_builder *builder);                                        \
    void cr_describe_##name(struct cr_text *text, const struct cr_builder *builder);
#include "compiler/passes/module/kernel_kinds.def"
#undef KIND

/* Fields of a part that describes the main program: it computes the result's elements, and goes
 * through all columns of a row. */
#define CR_PROGRAM_BY_ROW                                                                          \
    .at = CR_PART(program), .name = "program", .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL, \
    .across = CR_LOOP_COL, .needed = true

/* The part for a main program that is the epilogue of a contraction, whose result it reads. */
#define CR_EPILOGUE {CR_PROGRAM_BY_ROW, .core = true, .title = "then", .label = "epilogue"}

#endif
