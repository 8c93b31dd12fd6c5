/* gguf_model.h - reads a model's options from the metadata of a GGUF file. */
#ifndef CR_GGUF_MODEL_H
#define CR_GGUF_MODEL_H

#include "compiler/crescent.h"
#include "generator_ports.h"

enum { CR_GGUF_SETTINGS = 32 };

/* The script for a family, and the values of its options. */
struct cr_gguf_model {
    const char *family;                          /* the family's name, as in the model_type of a
                                                    config.json */
    crescent_setting settings[CR_GGUF_SETTINGS]; /* the values are owned by this struct */
    int n_settings;
};

/* Reads the options of the file's model.  Fails for a key that changes results but has no script
 * option; the message names it. */
int cr_gguf_model_read(struct cr_gguf_model *model, const char *path, struct cr_error *error);
void cr_gguf_model_free(struct cr_gguf_model *model);

/* The pooling that makes the vector of a text; "mean" if the file names none. */
struct cr_gguf_pooling {
    const char *name;
    bool ranks;        /* the model computes scores of texts: it is a classifier or a reranker */
    int64_t positions; /* the most tokens of a text, or 0 if the file does not tell */
};

int cr_gguf_read_pooling(struct cr_gguf_pooling *pooling, const char *path, struct cr_error *error);

/* Reads the names of a classifier's labels; the caller frees them. */
int cr_gguf_labels(const char *path, char ***names, int *n, struct cr_error *error);

/* Reads the tokens that end a text, and the token that begins it, from the file's tokenizer. */
int cr_gguf_text_ends(struct cr_text_ends *ends, const char *path, struct cr_error *error);

#endif
