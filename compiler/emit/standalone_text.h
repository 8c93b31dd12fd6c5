/* standalone_text.h - prints pieces of standalone C that a plain run and a training step share. */
#ifndef CR_STANDALONE_TEXT_H
#define CR_STANDALONE_TEXT_H

#include "compiler/ir/text.h"
#include "next_state.h"

struct cr_generation; /* generate.h */

struct cr_standalone {
    const struct cr_program *p;
    char upper[256];                    /* the model's name in capitals, for macros */
    const char *header;                 /* its file name; null if its text is included at the
                                           start of the file */
    const struct cr_next_state *next_state; /* of a training step; null for a plain run */
    const struct cr_generation *generation; /* of a model that generates text; else null */
};

/* Print a port's name as a C identifier, and the same in capitals. */
void cr_put_port(struct cr_text *t, const struct cr_port *port);
void cr_put_port_upper(struct cr_text *t, const struct cr_port *port);
/* Prints " (NAME)", a port's name in the script, if its identifier was shortened or has digits
 * added. */
void cr_put_origin(struct cr_text *t, const struct cr_port *port);

void cr_put_port_shape(struct cr_text *t, const struct cr_port *port);

/* Prints a string literal; escapes all bytes that are not plain ASCII. */
void cr_put_string(struct cr_text *t, const char *string);

/* Prints the name of the table of layouts of the parameters in a format.  cr_has_layouts: true if
 * the file has that table. */
void cr_put_layouts_name(struct cr_text *t, enum cr_format format);
bool cr_has_layouts(const struct cr_program *p, enum cr_format format);

/* Prints the macro NAME_THREADS. */
void cr_put_threads(struct cr_text *t, const struct cr_standalone *s);

/* Print the functions that start and stop a pool: their declarations for the header, and their
 * definitions for the source. */
void cr_put_pool_header(struct cr_text *t, const struct cr_standalone *s);
void cr_put_pool_source(struct cr_text *t, const struct cr_standalone *s);

/* Prints the end of a function: a call of `function` with a temporary pool and `arguments`. */
void cr_put_own_pool(struct cr_text *t, const struct cr_standalone *s, const char *function,
                     const char *arguments);

/* Returns true if the program of a struct cr_standalone needs the lines of a template that are marked
 * "only for NAME": `ranks` for a model of several processes, `vectors` or `scores` for what an encoder computes,
 * `rerankers` for a reranking decoder and `encoders` for any other.  The type is cr_needs_op (runtime_text.h). */
bool cr_is_needed_by_program(void *standalone, const char *name);

/* Adds a file; in identifiers, replaces the prefixes name_ and NAME_ by the model's name. */
void cr_put_named_template(struct cr_text *t, const struct cr_standalone *s, const char *path);

#endif
