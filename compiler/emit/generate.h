/*
 * generate.h - prints a model that generates text as standalone C: besides the model there are
 * sessions, sampling, a tokenizer, and a main that generates.  Also prints an encoder of texts: a
 * tokenizer, a function that computes the vector of a text, and a main that prints vectors.
 */
#ifndef CR_EMIT_GENERATE_H
#define CR_EMIT_GENERATE_H

#include "compiler/tokenizer/tokenizer.h"
#include "standalone_text.h"

/* How the weights are embedded in the program. */
enum cr_embedding {
    CR_EMBED_NOT,
    CR_EMBED_FILE, /* in the object code: the assembler includes the packed file (.incbin) */
    CR_EMBED_ARRAY /* in the C text, as an array */
};

/* A part of the prompt of a reranking decoder: a fixed text; or if `text` is null, the question
 * or the document. */
struct cr_emitted_prompt_part {
    const char *text;
    bool is_document;
};

/* The inputs of an encoder, as indices of ports: the ids, the segments (-1: there are none), and
 * the number of tokens. The encoder's output is one vector. */
struct cr_encoder_ports {
    int ids, types, n;
    int64_t most;       /* maximum number of tokens of a text */
    const char *prompt; /* text that is put before each text */
    struct cr_emitted_prompt_part *prompt_parts; /* for a reranking decoder: its prompt; null for
                                                  * other models */
    int n_prompt_parts;
    char *const *labels; /* for a classifier: the names of its labels; its vector has a logit for
                          * each label */
    int n_labels;        /* 0: the model is not a classifier */
    bool sigmoid, plain; /* how scores are computed from logits: each by a sigmoid; unchanged
                          * (`plain`); if neither, by a softmax over all */
};

/* What the emitted program needs besides the model's program.  It handles one text; the ids are
 * an input of shape [1, chunk]. */
struct cr_generation {
    const struct cr_encoder_ports *encoder; /* the ports of an encoder of texts; null: the model
                                             * generates text */
    int ids, n, logits;                   /* ports of the program: two inputs, and the output */
    int64_t context;                      /* maximum number of positions */
    int64_t chunk;                        /* maximum number of tokens of one run of the model */
    int64_t id_limit;                     /* all ids must be less than this */
    const struct cr_tokenizer *tokenizer; /* null: the emitted program reads and prints ids */
    const char *tokenizer_path;           /* path of the tokenizer, for messages */
    const int32_t *begin, *ends; /* ids with which a text begins if there is no prompt; ids that
                                  * end a text */
    int n_begin, n_ends;
    char *const
        *names; /* by parameter: its possible names in files, each ended by a zero byte; an empty
                 * name ends the list */
    const int *heads; /* by parameter: 0, or the index of its first name that is the name of a
                       * separate head, whose values must equal the parameter's */
    const char *const
        *buffers; /* suffixes of the names of tensors to ignore; null ends the list */
    enum cr_embedding embedding;
    const char *packed;   /* CR_EMBED_FILE: the path of the file with packed weights */
    const float *weights; /* CR_EMBED_ARRAY: the packed weights */
};

/* Fails if the tokenizer has parts that emitted C does not support. */
int cr_generation_check(const struct cr_generation *generation, const struct cr_program *program,
                        struct cr_error *error);

/* Appends the public declarations, which come after the header of the model. */
void cr_put_generation_header(struct cr_text *t, const struct cr_standalone *w);

/* cr_put_generation_source appends the functions that generate; it is called after the functions
 * of the model. cr_put_generation_main appends the main; it is called after the runtime. */
void cr_put_generation_source(struct cr_text *t, const struct cr_standalone *w);
void cr_put_generation_main(struct cr_text *t, const struct cr_standalone *w);

enum { CR_PACKED_HEADER = 64 };

/* Writes the header of a file of packed weights; it identifies the program whose weights they
 * are. */
void cr_packed_header(unsigned char header[CR_PACKED_HEADER], const struct cr_program *program);

#endif
