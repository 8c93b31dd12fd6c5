/*
 * generate.h - prints a model that generates text as standalone C: in addition to the model,
 * sessions, sampling, a tokenizer, and a main that generates; and an encoder: a tokenizer, the
 * vector of a text, and a main that prints vectors.
 */
#ifndef CR_EMIT_GENERATE_H
#define CR_EMIT_GENERATE_H

#include "compiler/tokenizer/tokenizer.h"
#include "standalone_text.h"

/* How the weights are embedded in the program. */
enum cr_embedding {
    CR_EMBED_NOT,
    CR_EMBED_FILE, /* the assembler includes the packed file (.incbin) */
    CR_EMBED_ARRAY /* as an array */
};

/* A part of the prompt of a reranking decoder: a fixed text or, if `text` is null, the question or the document. */
struct cr_emitted_prompt_part {
    const char *text;
    bool is_document;
};

/* The inputs of an encoder, as indices of ports: the ids, the segments (-1: there are none), and the number of tokens.
 * The encoder's output is one vector. */
struct cr_encoder_ports {
    int ids, types, n;
    int64_t most;       /* tokens of a text */
    const char *prompt; /* put in front of each text */
    struct cr_emitted_prompt_part *prompt_parts; /* of a reranking decoder; null for other models */
    int n_prompt_parts;
    char *const *labels; /* of a classifier, whose vector has a logit for each label */
    int n_labels;        /* 0: an encoder of vectors */
    bool sigmoid, plain; /* the scores of a classifier: sigmoid(logit); the logits themselves.  Neither: a softmax */
};

/* Settings of generation that a program does not contain.  One text is generated; the ids are an
 * input of shape [1, chunk]. */
struct cr_generation {
    const struct cr_encoder_ports *encoder; /* the ports of an encoder, which makes vectors of
                                               texts; null: the model generates text */
    int ids, n, logits;                   /* ports of the program: inputs and an output */
    int64_t context;                      /* the most positions */
    int64_t chunk;                        /* the most tokens of a run */
    int64_t id_limit;                     /* all ids are less than this */
    const struct cr_tokenizer *tokenizer; /* null: the program reads and prints ids */
    const char *tokenizer_path;           /* for messages */
    const int32_t *begin, *ends; /* ids that begin a text without a prompt; ids that end a text */
    int n_begin, n_ends;
    char *const
        *names; /* by parameter: its possible names in files, each terminated by a zero byte; an
                   empty name ends the list */
    const int *heads; /* by parameter: 0, or the index of its first name that is of a separate
                         head, whose values must equal the parameter's */
    const char *const
        *buffers; /* suffixes of names of tensors to ignore; then null */
    enum cr_embedding embedding;
    const char *packed;   /* CR_EMBED_FILE: the path of the packed file */
    const float *weights; /* CR_EMBED_ARRAY: packed */
};

/* Fails if no C can be written: the tokenizer has parts that emitted C does not support. */
int cr_generation_check(const struct cr_generation *generation, const struct cr_program *program,
                        struct cr_error *error);

/* Appends the public part, which comes after the header of the model. */
void cr_put_generation_header(struct cr_text *t, const struct cr_standalone *w);

/* cr_put_generation_source appends the functions that generate; it is called after the functions
 * of the model. cr_put_generation_main appends the main; it is called after the runtime. */
void cr_put_generation_source(struct cr_text *t, const struct cr_standalone *w);
void cr_put_generation_main(struct cr_text *t, const struct cr_standalone *w);

enum { CR_PACKED_HEADER = 64 };

/* Makes the header of a file of packed weights, which identifies the program. */
void cr_packed_header(unsigned char header[CR_PACKED_HEADER], const struct cr_program *program);

#endif
