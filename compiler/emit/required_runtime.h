/*
 * required_runtime.h - finds the parts of the runtime that a standalone file needs: the functions
 * that its program calls, the formats of its weights, and the chosen instruction sets.
 */
#ifndef CR_REQUIRED_RUNTIME_H
#define CR_REQUIRED_RUNTIME_H

#include <stdbool.h>

#include "compiler/ir/error.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/program.h"
#include "compiler/ir/text.h"

/* Instruction sets, as bits of a set. */
enum {
    CR_ISA_PLAIN = 1,
    CR_ISA_NEON = 2,
    CR_ISA_AVX2 = 4,
    CR_ISA_AVX512 = 8,
    CR_ISA_VNNI = 16,
    CR_ISA_AMX = 32,
    CR_ISA_ALL = 63
};

/* Parses a list of names such as "avx2,plain" into a set; null stands for all.  Fails if a name
 * is unknown, if plain is missing, or if a level of AVX-512 is listed without the levels on which
 * it builds. */
int cr_read_isas(const char *list, unsigned *isas, struct cr_error *error);

struct cr_needs {
    const struct cr_program *program;
    unsigned isas;
    bool few_rows;         /* some product by weights may have so few rows that one wide tile
                            * covers all of them */
    bool long_k;           /* some product sums over more than CR_LONG_K (runtime.c) elements, or
                            * over an unknown number */
    bool uneven_columns;   /* some product has a number of columns that needs tiles of one or of
                            * three vectors */
    bool repeats_template; /* the template is repeated for each instruction set, because the text
                            * cannot include itself */
    struct cr_names callees; /* the runtime functions that the program calls, each once: "gemm",
                              * "i32->add_vv" */
    char *names;             /* the memory of these names */
};

/* Finds the parts that a program needs; if `loads`, also those that pack its weights. Free the
 * result with cr_needs_free. */
void cr_needs_find(struct cr_needs *needs, const struct cr_program *program, unsigned isas,
                   bool loads);
void cr_needs_free(struct cr_needs *needs);

/* A function of type cr_needs_op (runtime_text.h): true if `needs`, a struct cr_needs, contains
 * `name`. */
bool cr_is_needed(void *needs, const char *name);

/* Prints the structures cr_runtime and cr_runtime_i32 with only the needed members, and the
 * macros CR_VARIANTS and CR_VARIANTS_I32 of runtime/members.h, which fill their instances. */
void cr_put_needed_structures(struct cr_text *text, const struct cr_needs *needs);
void cr_put_needed_members(struct cr_text *text, const struct cr_needs *needs);

#endif
