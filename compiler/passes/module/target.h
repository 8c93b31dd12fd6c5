/*
 * target.h - the machine that loops are cut for.
 *
 * Its sizes steer speed alone: no bit of a result depends on any of them.  What does fix the
 * order of sums stands apart, below, and is the same for every target.
 *
 * As text a target is a line `name = value` for each size that is not generic; `#` begins a
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

/* What the sizes mean is in target.def. */
struct cr_target {
    char name[CR_TARGET_NAME];
#define SIZE(field, generic, least, most, meaning) int64_t field;
#include "target.def"
#undef SIZE
};

/* The one that programs are made for where no other is named. */
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

/* A machine that has a name: an x86 family and, of Intel's family 6, models. */
struct cr_processor {
    const char *name, *about;
    const char *vendor; /* as cpuid says it, or null */
    int family, models[4];
    const char *sizes; /* as a target file has them */
};
extern const struct cr_processor cr_processors[];
extern const int cr_n_processors;

/* The generic target with the sizes of a text.  A mistake is "PATH:LINE: ...". */
int cr_target_read(struct cr_target *target, const char *name, const char *path, const char *text,
                   size_t length, struct cr_error *error);

/* The target of a processor in the table. */
void cr_target_of(struct cr_target *target, const struct cr_processor *processor);

/* Prints all sizes as a file that cr_target_read takes; those that are generic as comments. */
void cr_target_print(struct cr_text *text, const struct cr_target *target);

/* What the order of sums depends on, so that no target may choose it. */
enum {
    CR_LANES = 16,      /* partial sums of a reduction: rows of a tile down columns */
    CR_KEY_BLOCK = 128, /* keys of an online softmax step */
};

#endif
