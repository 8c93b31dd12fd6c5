/* gguf_model.h - a model as a GGUF file: what its metadata say of it. */
#ifndef CR_GGUF_MODEL_H
#define CR_GGUF_MODEL_H

#include "compiler/crescent.h"
#include "generator_ports.h"

enum { CR_GGUF_SETTINGS = 32 };

/* The script of a family, and the values of its options. */
struct cr_gguf_model {
    const char *family;                          /* as the model_type of a config.json */
    crescent_setting settings[CR_GGUF_SETTINGS]; /* values are the model's own */
    int n_settings;
};

/* Reads what the file says of its model.  A key that changes results and that no script has an option
 * for is refused by name. */
int cr_gguf_model_read(struct cr_gguf_model *model, const char *path, struct cr_error *error);
void cr_gguf_model_free(struct cr_gguf_model *model);

/* The tokens that end a text, and the one that begins it, as the file's tokenizer says. */
int cr_gguf_text_ends(struct cr_text_ends *ends, const char *path, struct cr_error *error);

#endif
