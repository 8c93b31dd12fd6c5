/* generator_ports.h - the ports of a model that generates, and the tokens at which texts begin and
 * end. */
#ifndef CR_GENERATOR_PORTS_H
#define CR_GENERATOR_PORTS_H

#include "compiler/emit/next_state.h"
#include "handles.h"

/* Indices of ports, and their sizes. */
struct cr_generator_ports {
    int ids, n, logits; /* the inputs of the ids and of their number, and the output of the
                           logits */
    int64_t texts, vocabulary;
    int64_t bound, rows; /* the tokens that the input of ids has room for; the tokens that get
                            logits */
};

/* Finds the ports.  Fails if a model has inputs other than ids and their number (states are
 * allowed), or if its logits do not have a row for each token; if all_logits is not set, one row
 * for the last token is accepted, too.  `path` is for the message. */
int cr_find_generator_ports(struct cr_generator_ports *found, const struct cr_ports *ports,
                            bool all_logits, const char *path, struct cr_error *error);

enum { CR_MAX_ENDS = 64 };

/* The tokens that end a text, and the token that begins a text, or CRESCENT_NONE. */
struct cr_text_ends {
    int64_t items[CR_MAX_ENDS], begin;
    int n;
};

/* Reads the tokens that begin and end a text from a folder, a GGUF file or a config.json; for other
 * models there are none. */
int cr_read_text_ends(struct cr_text_ends *ends, const struct cr_origin *origin, int64_t vocabulary,
                      struct cr_error *error);

#endif
