/* emit_writing.h - emitting a model with its tokenizer and weights: what programs that generate and
 * encoders share. */
#ifndef CR_EMIT_WRITING_H
#define CR_EMIT_WRITING_H

#include "compiler/emit/generate.h"
#include "compiler/files/writer.h"
#include "generator.h"

/* The state of emitting a program. */
struct cr_writing {
    const crescent_generator_source *what;
    const crescent_config *config;
    int64_t seed; /* of weights that are drawn */
    int ranks;    /* at least 1 */
    struct cr_continuation made;
    const struct cr_origin *origin; /* of the graph */
    crescent_model *model;          /* null unless weights are wanted; of several ranks the last one that was packed */
    struct cr_program *own;         /* owns `program` if the model does not */
    const struct cr_program *program;
    struct cr_tokenizer *tokenizer;
    struct cr_ids begin, ends;
    struct cr_generation generation;
    char **names;
    int *heads;
    const char **buffers;
    float *parts; /* the weights of several ranks, if the program has them as an array; or null */
    struct cr_writer pack;
};

/* The destination of the C: a file, or texts. */
struct cr_emit_output {
    const char *path;     /* of the file; null: texts */
    const char *header;   /* name of the header that the source includes */
    struct cr_text *texts; /* two: source and header */
    unsigned isas;
};

/* Fails for options of weights that contradict each other. */
int cr_writing_check(const crescent_generator_source *what, struct cr_error *error);

/* Makes the program of the graph, with weights if they are wanted.  The context has the error. */
int cr_writing_program(struct cr_writing *writing, const crescent_config *config, int64_t seed,
                       struct cr_error *error);

/* Sets the parameters' names in files, and the names of other tensors that files may contain. */
void cr_writing_names(struct cr_writing *writing);

/* Writes the C to files or texts, and the packed file. */
int cr_writing_files(struct cr_writing *writing, const struct cr_emit_output *out, struct cr_error *error);

/* Frees everything, even after a failure. */
void cr_writing_free(struct cr_writing *writing);

#endif
