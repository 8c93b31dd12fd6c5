/* standalone_text.h - pieces of text that a plain run and a training step share as standalone C. */
#ifndef CR_STANDALONE_TEXT_H
#define CR_STANDALONE_TEXT_H

#include "handover.h"
#include "compiler/ir/text.h"

struct cr_generation; /* generate.h */

struct cr_standalone {
    const struct cr_program *p;
    char upper[256];                    /* the model's name in capitals, for macros */
    const char *header;                 /* its file name; null if its text stands before */
    const struct cr_handover *handover; /* of a training step; null for a plain run */
    const struct cr_generation *generation; /* of a model that goes on with a text; else null */
};

/* A port's name as a C identifier, and the same in capitals. */
void cr_put_port(struct cr_text *t, const struct cr_port *port);
void cr_put_port_upper(struct cr_text *t, const struct cr_port *port);
/* The script's name of a port, where the identifier is another: cut, or with digits behind. */
void cr_put_origin(struct cr_text *t, const struct cr_port *port);

void cr_put_port_shape(struct cr_text *t, const struct cr_port *port);

/* A string literal of any bytes. */
void cr_put_string(struct cr_text *t, const char *string);

/* The table of the places of a format, and whether the file has one. */
void cr_put_places_name(struct cr_text *t, enum cr_format format);
bool cr_has_places(const struct cr_program *p, enum cr_format format);

/* The macro NAME_THREADS. */
void cr_put_threads(struct cr_text *t, const struct cr_standalone *s);

/* Of the header: NAME_POOL_BYTES, and the functions that start and stop a pool.  Of the source:
 * those functions. */
void cr_put_pool_header(struct cr_text *t, const struct cr_standalone *s);
void cr_put_pool_source(struct cr_text *t, const struct cr_standalone *s);

/* The end of a function: it calls another, which takes a pool before such arguments, with a pool
 * that lives as long as the call. */
void cr_put_own_pool(struct cr_text *t, const struct cr_standalone *s, const char *function,
                     const char *arguments);

#endif
