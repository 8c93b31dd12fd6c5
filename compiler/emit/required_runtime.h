/*
 * required_runtime.h - the parts of the runtime that a standalone file needs: the functions that
 * its program calls, the formats of its weights, and the instruction sets that were chosen.
 */
#ifndef CR_REQUIRED_RUNTIME_H
#define CR_REQUIRED_RUNTIME_H

#include <stdbool.h>

#include "compiler/ir/error.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* Bits of a set of instruction sets. */
enum {
    CR_ISA_PLAIN = 1,
    CR_ISA_NEON = 2,
    CR_ISA_AVX2 = 4,
    CR_ISA_AVX512 = 8,
    CR_ISA_VNNI = 16,
    CR_ISA_AMX = 32,
    CR_ISA_ALL = 63
};

/* Reads a list of names, "avx2,plain"; null stands for all.  Fails if a name is unknown, if
 * plain is missing, or if a level of AVX-512 is listed without the levels that it builds on. */
int cr_read_isas(const char *list, unsigned *isas, struct cr_error *error);

struct cr_needs {
    const struct cr_program *program;
    unsigned isas;
    bool few_rows;         /* some product by weights may have so few rows that one wide tile has them all */
    bool long_k;           /* some product has more than CR_LONG_K (runtime.c) k, or a number that is not known */
    bool uneven_columns;   /* the columns of some product need tiles of one or of three vectors */
    bool repeats_template; /* the template is repeated, because the text cannot include itself */
    struct cr_names callees; /* the callees of the program, each once: "gemm", "i32->add_vv" */
    char *names;             /* the memory of their names */
};

/* Finds the parts that a program needs; with `loads`, also the parts that pack its weights.
 * Free the result with cr_needs_free. */
void cr_needs_find(struct cr_needs *needs, const struct cr_program *program, unsigned isas,
                   bool loads);
void cr_needs_free(struct cr_needs *needs);

/* A function of type cr_needs_op (runtime_text.h); `needs` is a struct cr_needs. */
bool cr_is_needed(void *needs, const char *name);

/* Print the structures cr_runtime and cr_runtime_i32 with only the needed members, and the
 * macros CR_VARIANTS and CR_VARIANTS_I32 of runtime/members.h for their instances. */
void cr_put_needed_structures(struct cr_text *text, const struct cr_needs *needs);
void cr_put_needed_members(struct cr_text *text, const struct cr_needs *needs);

#endif
