/*
 * generate.h - a model that goes on with a text as standalone C: beside what any model has, sessions,
 * the choice of a token, a tokenizer, and a main that generates.
 */
#ifndef CR_EMIT_GENERATE_H
#define CR_EMIT_GENERATE_H

#include "compiler/tokenizer/tokenizer.h"
#include "standalone_text.h"

/* Whether the weights are in the program, and how they come there. */
enum cr_embedding {
    CR_EMBED_NOT,
    CR_EMBED_FILE, /* by .incbin of the packed file */
    CR_EMBED_ARRAY /* as an array */
};

/* What a program does not say of how it generates.  One text, whose ids are an input [1, chunk]. */
struct cr_generation {
    int ids, n, logits;                   /* ports of the program: inputs and an output */
    int64_t context;                      /* positions there is room for */
    int64_t chunk;                        /* tokens at a time, at most */
    int64_t id_limit;                     /* an id is less than this */
    const struct cr_tokenizer *tokenizer; /* or null: ids go in and come out */
    const char *tokenizer_path;           /* for messages */
    const int32_t *begin, *ends; /* what a text without a prompt begins with, what ends one */
    int n_begin, n_ends;
    char *const
        *names; /* by parameter: what it may be called in files, each with a zero behind it, and
                         * an empty one */
    const char *const
        *buffers; /* what the names of tensors end in that are to be ignored; then null */
    enum cr_embedding embedding;
    const char *packed;   /* CR_EMBED_FILE: the path of the packed file */
    const float *weights; /* CR_EMBED_ARRAY: packed */
};

/* Refuses in one line what no C can be written for: a tokenizer with parts that emitted C does not have. */
int cr_generation_check(const struct cr_generation *generation, const struct cr_program *program,
                        struct cr_error *error);

/* What callers see, behind the header of the model. */
void cr_put_generation_header(struct cr_text *t, const struct cr_standalone *w);

/* The functions, behind those of the model; and the main, behind the source of the runtime. */
void cr_put_generation_source(struct cr_text *t, const struct cr_standalone *w);
void cr_put_generation_main(struct cr_text *t, const struct cr_standalone *w);

enum { CR_PACKED_HEADER = 64 };

/* What a file of packed weights begins with: it is of this program and of no other. */
void cr_packed_header(unsigned char header[CR_PACKED_HEADER], const struct cr_program *program);

#endif
