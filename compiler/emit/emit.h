/*
 * emit.h - prints a program as C.
 *
 * The text defines one function for each entry (NAME is program->name; for an entry with a name,
 * the function is NAME_ENTRY_execute):
 *
 *   int NAME_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,
 *                    const void *const *inputs, void *const *outputs, float *arena);
 *
 * `weights` has weights_bytes, filled according to `places`; `arena` has the entry's arena_bytes +
 * threads * scratch_bytes for a pool of `threads` (1 without a pool); both are aligned to 64 bytes.
 * Inputs and outputs have the numbers of the program's ports; ports that the entry does not use may
 * be null.  A program with steps that exchange (cr_exchanges) has one argument more, `ranks`
 * (runtime/ranks.h).
 *
 * No decisions are made here: the program (compiler/ir/program.h) determines all that is printed.
 */
#ifndef CR_EMIT_H
#define CR_EMIT_H

#include "body.h"
#include "compiler/ir/error.h"
#include "compiler/ir/program.h"
#include "compiler/ir/text.h"
#include "compiler/passes/module/module.h"

/* Makes a program of a module that went through all passes, and prints it to program->text.  The
 * program takes what it needs from the module, and keeps no pointer to it. */
struct cr_program *cr_emit_program(struct cr_module *module);

/* Appends the C of a program: its kernels' functions, and the functions of its entries. */
void cr_emit(struct cr_text *text, const struct cr_program *program);

/* The positions of the parts of a program in its text. */
struct cr_spans {
    struct cr_span *functions;   /* by function: its text, with the comment before it */
    struct cr_span *steps;       /* by step: its text; for a loop, its first lines */
    struct cr_span **statements; /* by function, then by statement of its body */
    int n;                       /* number of functions */
};

/* Finds the positions of a program's parts; free them with cr_spans_free. */
void cr_spans_find(struct cr_spans *spans, const struct cr_program *program);
void cr_spans_free(struct cr_spans *spans);

/* Writes the name of a C function of an entry: NAME_what, or NAME_ENTRY_what for an entry with a
 * name. */
void cr_entry_function(char *name, size_t size, const struct cr_program *program,
                       const struct cr_entry *entry, const char *what);

/* Writes FILE.c and FILE.h: the program, a typed interface, the runtime's source for the
 * instruction sets `isas` (required_runtime.h), and a main.  `path` ends in ".c".  After a
 * failure neither file exists. */
int cr_write_standalone(const struct cr_program *program, unsigned isas, const char *path,
                        struct cr_error *error);

/* Does the same as cr_write_standalone for a training step (next_state.h).  Fails if the program
 * is not a training step; the message names `script`. */
int cr_write_standalone_step(const struct cr_program *program, unsigned isas, const char *script,
                             const char *path, struct cr_error *error);

/* Does the same as cr_write_standalone for a model that generates text (generate.h). */
struct cr_generation;
int cr_write_standalone_generator(const struct cr_program *program, unsigned isas,
                                  const struct cr_generation *generation, const char *path,
                                  struct cr_error *error);

/* Print the source (texts[0], which includes `header`) and the header (texts[1]) of a standalone
 * program; of a training step if `script` is not null. */
int cr_standalone_texts(const struct cr_program *program, unsigned isas, const char *script,
                        const char *header, struct cr_text texts[2], struct cr_error *error);
int cr_standalone_generator_texts(const struct cr_program *program, unsigned isas,
                                  const struct cr_generation *generation, const char *header,
                                  struct cr_text texts[2], struct cr_error *error);

/* Appends header and source as one text that includes no other emitted file, with NAME_THREADS
 * set to `threads`. */
void cr_put_standalone(struct cr_text *text, const struct cr_program *program, int threads);

#endif
