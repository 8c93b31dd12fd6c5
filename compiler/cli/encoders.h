/* encoders.h - functions for verbs that run an encoder on texts, one text in each line. */
#ifndef CR_ENCODERS_H
#define CR_ENCODERS_H

#include <stdio.h>

#include "options.h"

/* An encoder with the texts that it reads. */
struct cr_encoder {
    const struct cr_options *o;
    FILE *in; /* the file of the texts; null if --text gives the only text */
    crescent_embedder *embedder;
    crescent_embedder_facts facts;
    float *vectors, *vector; /* vectors of the batch; the vector of the current text */
    crescent_embed_text *texts;
    crescent_embedded *what;
    int n, batch; /* number of texts in the batch; the most texts of a batch */
    int64_t n_texts, n_cut, n_repaired, n_tokens;
    int64_t start, written; /* time of the first text; time of the last update of the line of
                             * progress */
    bool shows;             /* the line of progress is shown: stderr is a terminal, and stdout is
                             * not */
};

/* Opens the texts and the encoder that the options name.  The caller must call cr_encoder_close,
 * also after a failure. */
int cr_encoder_open(struct cr_encoder *encoder, const struct cr_options *options,
                    crescent_classification classify, struct cr_error *error);
void cr_encoder_close(struct cr_encoder *encoder);

/* Computes the vector of the text of --text, or else of each line, without newline, of the file
 * or standard input; if `paired`, of the pair of --query and the text.  Calls a function for each
 * vector in order; the vector is in encoder->vector and counted in n_texts.  Stops if the
 * function fails. */
typedef int cr_vector_function(void *context, struct cr_error *error);
int cr_encode_texts(struct cr_encoder *encoder, bool paired, cr_vector_function *take, void *context,
                    struct cr_error *error);

/* Ends a run that had no errors: prints how long it took, prints notes about texts that were cut
 * or repaired, and caches the weights. */
void cr_encoder_end(const struct cr_encoder *encoder);

#endif
