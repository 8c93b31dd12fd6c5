/* encoders.h - functions for verbs that run an encoder on texts, one a line. */
#ifndef CR_ENCODERS_H
#define CR_ENCODERS_H

#include <stdio.h>

#include "options.h"

/* An encoder at work. */
struct cr_encoder {
    const struct cr_options *o;
    FILE *in; /* the texts, one a line; null for the text of --text */
    crescent_embedder *embedder;
    crescent_embedder_facts facts;
    float *vectors, *vector; /* vectors of a batch; the vector of the current text */
    crescent_embed_text *texts;
    crescent_embedded *what;
    int n, batch; /* the number of texts that wait for a batch, and the size of a batch */
    int64_t n_texts, n_cut, n_repaired, n_tokens;
    int64_t start, written; /* time of the first text, and of the last update of the line of progress */
    bool shows;             /* progress is shown: stderr is a terminal, and stdout is not */
};

/* Opens the texts and the encoder of the options.  Closed by cr_encoder_close, also after a
 * failure. */
int cr_encoder_open(struct cr_encoder *encoder, const struct cr_options *options,
                    crescent_classification classify, struct cr_error *error);
void cr_encoder_close(struct cr_encoder *encoder);

/* Computes the vector of the text of --text, or of each line of the file or of standard input
 * without its end; if `paired`, of --query and the text.  Calls a function when a vector, in order,
 * is in encoder->vector and counted in n_texts.  Stops when it fails. */
typedef int cr_vector_function(void *context, struct cr_error *error);
int cr_encode_texts(struct cr_encoder *encoder, bool paired, cr_vector_function *take, void *context,
                    struct cr_error *error);

/* Ends a run without errors: says how long it took, notes how many texts were cut or repaired, and
 * keeps the weights. */
void cr_encoder_end(const struct cr_encoder *encoder);

#endif
