/* encoders.h - functions for verbs that run an encoder on texts, one a line. */
#ifndef CR_ENCODERS_H
#define CR_ENCODERS_H

#include <stddef.h>

#include "options.h"

/* An encoder at work. */
struct cr_encoder {
    const struct cr_options *o;
    crescent_embedder *embedder;
    crescent_embedder_facts facts;
    float *vector;
    int64_t n_texts, n_cut, n_repaired, n_tokens;
    int64_t start, written; /* time of the first text, and of the last update of the line of progress */
    bool shows;             /* progress, on a terminal whose standard output goes elsewhere */
};

/* Opens the encoder of the options.  Closed by cr_encoder_close, also after a failure. */
int cr_encoder_open(struct cr_encoder *encoder, const struct cr_options *options,
                    crescent_classification classify, struct cr_error *error);
void cr_encoder_close(struct cr_encoder *encoder);

/* Computes the vector of a text, or of --query and the text if `paired`, and counts it. */
int cr_encoder_run(struct cr_encoder *encoder, const char *text, size_t n, bool paired,
                   struct cr_error *error);

/* Calls a function with the text of --text, or with each line of the file or of standard input,
 * without the end of the line.  Stops when it fails. */
typedef int cr_text_function(void *context, const char *text, size_t n, struct cr_error *error);
int cr_each_text(const struct cr_options *options, cr_text_function *function, void *context,
                 struct cr_error *error);

/* Ends a run without errors: says how long it took, notes how many texts were cut or repaired, and keeps the weights. */
void cr_encoder_end(const struct cr_encoder *encoder);

#endif
