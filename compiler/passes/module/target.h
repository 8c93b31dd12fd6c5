/*
 * target.h - the sizes of the machine for which loops are tiled.
 *
 * They affect speed alone: no bit of a result depends on any of them.  The constants that fix the
 * order of sums are below, and are the same for every target.
 *
 * As text a target has a line `name = value` for each size that is not generic; `#` begins a
 * comment.
 */
#ifndef CR_TARGET_H
#define CR_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"
#include "runtime/runtime.h"

enum { CR_TARGET_NAME = 48 };

/* target.def describes the sizes. */
struct cr_target {
    char name[CR_TARGET_NAME];
#define SIZE(field, generic, least, most, meaning) int64_t field;
#include "target.def"
#undef SIZE
};

/* The target of programs that name no other. */
extern const struct cr_target cr_target_generic;

/* A row of target.def. */
struct cr_target_size {
    const char *name, *meaning;
    size_t offset; /* of the field */
    int64_t generic, least, most;
};
extern const struct cr_target_size cr_target_sizes[];
extern const int cr_n_target_sizes;

static inline int64_t *cr_target_field(struct cr_target *target, int size)
{
    return (int64_t *)((char *)target + cr_target_sizes[size].offset);
}

/* A processor with a name: an x86 family and, in Intel's family 6, models. */
struct cr_processor {
    const char *name, *about;
    const char *vendor; /* the vendor string of cpuid, or null */
    int family, models[4];
    const char *sizes; /* lines of a target file */
};
extern const struct cr_processor cr_processors[];
extern const int cr_n_processors;

/* Reads a target file: the generic target with the sizes of the text.  An error is "PATH:LINE:
 * ...". */
int cr_target_read(struct cr_target *target, const char *name, const char *path, const char *text,
                   size_t length, struct cr_error *error);

/* The target of a processor in the table. */
void cr_target_of(struct cr_target *target, const struct cr_processor *processor);

/* Prints all sizes as a file that cr_target_read reads; generic ones as comments. */
void cr_target_print(struct cr_text *text, const struct cr_target *target);

/* Constants that fix the order of sums, so that no target may change them. */
enum {
    CR_LANES = 16,      /* partial sums of a reduction; down columns: rows of a tile */
    CR_KEY_BLOCK = 128, /* keys of a step of online softmax */
};

#endif
