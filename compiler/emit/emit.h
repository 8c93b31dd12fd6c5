/*
 * emit.h - a program printed as C.
 *
 * The text defines one function for each entry (NAME is program->name, and for an entry with a
 * name that and the entry's name, NAME_ENTRY_execute):
 *
 *   int NAME_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
 *                    const void *const *inputs, void *const *outputs, float *arena);
 *
 * `weights` has weights_bytes, filled as `places` say; `arena` has the entry's arena_bytes +
 * threads * scratch_bytes for a pool of `threads` (1 without a pool); both are aligned to
 * 64 bytes.  Inputs and outputs are numbered as the program's; those that the entry does not use
 * may be null.
 *
 * Nothing is decided here: what is printed stands in the program (compiler/ir/program.h).
 */
#ifndef CR_EMIT_H
#define CR_EMIT_H

#include "body.h"
#include "compiler/ir/error.h"
#include "compiler/ir/program.h"
#include "compiler/ir/text.h"
#include "compiler/passes/module/module.h"

/* Takes the program of a module that went through all passes, and prints it.  The program keeps
 * no pointer into the module. */
struct cr_program *cr_emit_program(struct cr_module *module);

/* Appends the C of a program: its functions and what calls them. */
void cr_emit(struct cr_text *text, const struct cr_program *program);

/* Where the C of a program's parts stands in its text. */
struct cr_spans {
    struct cr_span *functions;   /* by function, with the comment before it */
    struct cr_span *steps;       /* by step; a loop's is its head */
    struct cr_span **statements; /* by function, by statement of its body */
    int n;                       /* functions */
};

/* Finds them, to be freed with cr_spans_free. */
void cr_spans_find(struct cr_spans *spans, const struct cr_program *program);
void cr_spans_free(struct cr_spans *spans);

/* The name of an entry's function in C: NAME_what or NAME_ENTRY_what. */
void cr_entry_function(char *name, size_t size, const struct cr_program *program,
                       const struct cr_entry *entry, const char *what);

/* Writes FILE.c and FILE.h: the runtime's source, the text, a typed interface, a main.
 * `path` ends in ".c".  Both files or neither are left behind. */
int cr_write_standalone(const struct cr_program *program, const char *path, struct cr_error *error);

/* The same for a step of a training (handover.h); `script` is named where it is none. */
int cr_write_standalone_step(const struct cr_program *program, const char *script, const char *path,
                             struct cr_error *error);

/* The same for a model that goes on with a text (generate.h). */
struct cr_generation;
int cr_write_standalone_generator(const struct cr_program *program,
                                  const struct cr_generation *generation, const char *path,
                                  struct cr_error *error);

/* Source and header as texts, of which the first includes `header`; a step if `script` is not
 * null. */
int cr_standalone_texts(const struct cr_program *program, const char *script, const char *header,
                        struct cr_text texts[2], struct cr_error *error);
int cr_standalone_generator_texts(const struct cr_program *program,
                                  const struct cr_generation *generation, const char *header,
                                  struct cr_text texts[2], struct cr_error *error);

/* Appends header and source as one text that includes nothing of its own, for so many threads. */
void cr_put_standalone(struct cr_text *text, const struct cr_program *program, int threads);

#endif
