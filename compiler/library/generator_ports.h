/* generator_ports.h - what a model that generates takes and gives, and where its texts begin and end. */
#ifndef CR_GENERATOR_PORTS_H
#define CR_GENERATOR_PORTS_H

#include "compiler/emit/handover.h"
#include "handles.h"

/* Numbers of ports, and the sizes that belong together. */
struct cr_generator_ports {
    int ids, n, logits; /* inputs and an output */
    int64_t texts, vocabulary;
    int64_t bound, rows; /* tokens that ids have room for, and logits */
};

/* Refuses, in the name of `path`, a model with other inputs than ids and their number, states aside, and
 * one whose logits do not fit: those of each token, or unless all are wanted of the last. */
int cr_find_generator_ports(struct cr_generator_ports *found, const struct cr_ports *ports,
                            bool all_logits, const char *path, struct cr_error *error);

enum { CR_MAX_ENDS = 64 };

/* Tokens that end a text, and one that begins it, or CRESCENT_NONE. */
struct cr_text_ends {
    int64_t items[CR_MAX_ENDS], begin;
    int n;
};

/* Those that a folder, or a config.json, says; none for other models. */
int cr_read_text_ends(struct cr_text_ends *ends, const struct cr_origin *origin, int64_t vocabulary,
                      struct cr_error *error);

#endif
