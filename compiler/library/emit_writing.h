/* emit_writing.h - emits a model with its tokenizer and weights: shared by programs that generate
 * text and by encoders. */
#ifndef CR_EMIT_WRITING_H
#define CR_EMIT_WRITING_H

#include "compiler/emit/generate.h"
#include "compiler/files/writer.h"
#include "generator.h"

/* The state of emitting a program. */
struct cr_writing {
    const crescent_generator_source *what;
    const crescent_config *config;
    int64_t seed; /* the seed of weights that are drawn */
    int ranks;    /* at least 1 */
    struct cr_continuation made;
    const struct cr_origin *origin; /* the source of the graph */
    crescent_model *model;          /* the model whose weights are packed, or null; for several
                                       ranks the one packed last */
    struct cr_program *own;         /* owns `program` if no model does */
    const struct cr_program *program;
    struct cr_tokenizer *tokenizer;
    struct cr_ids begin, ends;
    struct cr_generation generation;
    char **names;
    int *heads;
    const char **buffers;
    float *parts; /* the weights of all ranks if the C contains them as an array, or null */
    struct cr_writer pack;
};

/* Where the C is written: to files, or to texts. */
struct cr_emit_output {
    const char *path;     /* the path of the source file, or null for texts */
    const char *header;   /* the name of the header that the source includes */
    struct cr_text *texts; /* two texts: source and header */
    unsigned isas;
};

/* Fails for options of weights that contradict each other. */
int cr_writing_check(const crescent_generator_source *what, struct cr_error *error);

/* Makes the program of the graph, with a model if weights are wanted.  On failure the context has
 * the error. */
int cr_writing_program(struct cr_writing *writing, const crescent_config *config, int64_t seed,
                       struct cr_error *error);

/* Sets the names that parameters have in files, and the names of other tensors that files may
 * contain. */
void cr_writing_names(struct cr_writing *writing);

/* Writes the C to files or texts, and the file of packed weights. */
int cr_writing_files(struct cr_writing *writing, const struct cr_emit_output *out, struct cr_error *error);

/* Frees all memory of the state, also after a failure. */
void cr_writing_free(struct cr_writing *writing);

#endif
