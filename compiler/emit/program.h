/*
 * program.h - a compiled model: its C text and what a caller must know to run it.
 *
 * The text defines one function (NAME is program->name):
 *
 *   int NAME_execute(const struct cr_kernels *rt, struct cr_pool *pool, const float *weights,
 *                    const void *const *inputs, void *const *outputs, float *arena);
 *
 * `weights` has weights_bytes, filled as `places` say; `arena` has arena_bytes +
 * threads * scratch_bytes for a pool of `threads` (1 without a pool); both are aligned to
 * 64 bytes.
 */
#ifndef CR_PROGRAM_H
#define CR_PROGRAM_H

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/module.h"
#include "runtime/place.h"
#include "text.h"

/* The C type of elements in memory; a bool is the float 0 or 1. */
static inline const char *cr_c_type(enum cr_dtype dtype)
{
    return dtype == CR_I32 ? "int" : "float";
}

/* A tensor at the border of the program. */
struct cr_port {
    const char *name;
    const char *identifier; /* inputs and outputs of a program: as part of a name in C */
    enum cr_dtype dtype; /* handed over as what cr_c_type says */
    int rank;
    int64_t shape[CR_MAX_RANK];
    enum cr_init init; /* parameters */
    double bound;      /* parameters: of the init */
    int64_t offset;    /* parameters: bytes into the weights of its first piece; -1: unused */
};

/* One kernel, for reports; strings belong to the program. */
struct cr_kernel_info {
    const char *name;                        /* the C function */
    const char *scope;                       /* "attn.c_attn" */
    const char *where;                       /* "gpt2_block.lua:12" */
    int calls;                               /* how often a run calls it */
    int again;                               /* of those, to make a value again */
    double flops, bytes_read, bytes_written; /* one call */
    double bytes_weights;                    /* of those read, the parameters */
};

struct cr_program {
    const char *name;
    char *text;
    size_t text_length;
    struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
    struct cr_place *places; /* in order of parameters */
    int n_places;
    int64_t weights_bytes, arena_bytes, scratch_bytes;
    int64_t arena_bytes_least; /* no plan has a smaller arena: the most that is live at once */
    int64_t activation_bytes;  /* in it, kept for the backward pass; -1 if there is none */
    struct cr_kernel_info *kernels;
    int n_kernels;
    int *sequence; /* the kernels, in the order a run calls them */
    int n_sequence;
    int ops_before; /* arithmetic nodes of the script's graph: kernels if nothing fused */
};

/* Prints a module that went through all passes.  The program keeps no pointer into it. */
struct cr_program *cr_emit_program(const struct cr_module *module);
void cr_program_free(struct cr_program *program);

/* The declarations that go before program->text for a compiler that has no runtime source. */
const char *cr_runtime_declarations(void);

/* Writes FILE.c and FILE.h: the runtime's source, the text, a typed interface, a main.
 * `path` ends in ".c".  Both files or neither are left behind. */
int cr_write_standalone(const struct cr_program *program, const char *path, struct cr_error *error);

/* The same for a step of a training (handover.h); `script` is named where it is none. */
int cr_write_standalone_step(const struct cr_program *program, const char *script, const char *path,
                             struct cr_error *error);

/* Appends header and source as one text that includes nothing of its own, for so many threads. */
void cr_put_standalone(struct cr_text *text, const struct cr_program *program, int threads);

#endif
