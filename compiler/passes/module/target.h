/*
 * target.h - the sizes of the machine for which loops are tiled.
 *
 * They affect only speed: no bit of a result depends on any of them.  Constants that fix the order
 * of sums are defined at the end of this file, and are the same for every target.
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

/* The sizes of a machine, one field for each row of target.def. */
struct cr_target {
    char name[CR_TARGET_NAME];
#define SIZE(field, generic, least, most, meaning) int64_t field;
#include "target.def"
#undef SIZE
};

/* The target that is used if the user names none. */
extern const struct cr_target cr_target_generic;

/* A row of target.def. */
struct cr_target_size {
    const char *name, *meaning;
    size_t offset; /* the field's offset in struct cr_target */
    int64_t generic, least, most;
};
extern const struct cr_target_size cr_target_sizes[];
extern const int cr_n_target_sizes;

static inline int64_t *cr_target_field(struct cr_target *target, int size)
{
    return (int64_t *)((char *)target + cr_target_sizes[size].offset);
}

/* A processor with a name, identified by its x86 family and, in Intel's family 6, by its models. */
struct cr_processor {
    const char *name, *about;
    const char *vendor; /* the vendor string of cpuid; null for a processor that cpuid does not
                           identify */
    int family, models[4];
    const char *sizes; /* lines of a target file */
};
extern const struct cr_processor cr_processors[];
extern const int cr_n_processors;

/* Reads the text of a target file: sets *target to the generic target with the sizes of the text.
 * Returns -1 with an error "PATH:LINE: ..." if the text is wrong. */
int cr_target_read(struct cr_target *target, const char *name, const char *path, const char *text,
                   size_t length, struct cr_error *error);

/* Sets *target to the sizes of a processor of the table. */
void cr_target_of(struct cr_target *target, const struct cr_processor *processor);

/* Prints all sizes as a file that cr_target_read can read; generic sizes are printed as
 * comments. */
void cr_target_print(struct cr_text *text, const struct cr_target *target);

/* Constants that fix the order of sums, so that no target may change them. */
enum {
    CR_LANES = 16,      /* lanes: partial sums of a reduction; down columns: the rows of a tile */
    CR_KEY_BLOCK = 128, /* the keys in a block of online softmax */
};

#endif
