/* standalone_text.h - prints text that occurs in standalone files of plain models and of training
 * steps. */
#ifndef CR_STANDALONE_TEXT_H
#define CR_STANDALONE_TEXT_H

#include "compiler/ir/text.h"
#include "next_state.h"

struct cr_generation; /* generate.h */

struct cr_standalone {
    const struct cr_program *p;
    char upper[256];                    /* the model's name in capitals, for macros */
    const char *header;                 /* file name of the header; null if the header's text is
                                         * at the start of the source */
    const struct cr_next_state *next_state; /* for a training step; null for other models */
    const struct cr_generation *generation; /* for a model that generates text or encodes texts;
                                             * else null */
};

/* Print a port's name as a C identifier; the second function prints it in capitals. */
void cr_put_port(struct cr_text *t, const struct cr_port *port);
void cr_put_port_upper(struct cr_text *t, const struct cr_port *port);
/* Prints " (NAME)", a port's name in the script, if its identifier was shortened or extended by
 * digits. */
void cr_put_origin(struct cr_text *t, const struct cr_port *port);

void cr_put_port_shape(struct cr_text *t, const struct cr_port *port);

/* Prints a string literal; escapes all bytes that are not plain ASCII. */
void cr_put_string(struct cr_text *t, const char *string);

/* cr_put_layouts_name prints the name of the table of layouts of the parameters in a format;
 * cr_has_layouts is true if the file has that table. */
void cr_put_layouts_name(struct cr_text *t, enum cr_format format);
bool cr_has_layouts(const struct cr_program *p, enum cr_format format);

/* Prints the macro NAME_THREADS. */
void cr_put_threads(struct cr_text *t, const struct cr_standalone *s);

/* Print the declarations (for the header) and the definitions (for the source) of the functions
 * that start and stop a pool of threads. */
void cr_put_pool_header(struct cr_text *t, const struct cr_standalone *s);
void cr_put_pool_source(struct cr_text *t, const struct cr_standalone *s);

/* Prints the last lines of a function: a call of `function` with a temporary pool of threads and
 * `arguments`. */
void cr_put_own_pool(struct cr_text *t, const struct cr_standalone *s, const char *function,
                     const char *arguments);

/* True if a program, given by its struct cr_standalone, needs the lines of a template that are
 * marked "only for NAME": `ranks` for a model of several processes, `vectors` or `scores` for
 * what an encoder computes, `rerankers` for a reranking decoder and `encoders` for any other,
 * `types` for an encoder with token types, `rows` for logits of each token of a chunk and `one_row`
 * for those of the last one alone.  The type is cr_needs_op (runtime_text.h). */
bool cr_is_needed_by_program(void *standalone, const char *name);

/* Adds the template at `path`; in identifiers, replaces the prefixes name_ and NAME_ by the
 * model's name. */
void cr_put_named_template(struct cr_text *t, const struct cr_standalone *s, const char *path);

#endif
