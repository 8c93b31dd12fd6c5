/*
 * blocks.h - runs of blocks of statements that are equal but for their index: "h.0", "h.1", ...
 *
 * Block i of a run reads weights of its own (h.{i}.x), values that are the same for all, and
 * values that the block before it gives in the same way.
 */
#ifndef CR_ONNX_BLOCKS_H
#define CR_ONNX_BLOCKS_H

#include "translate.h"

enum { CR_ONNX_CARRIED = 4 };

/* A statement on its way to the text. */
struct cr_onnx_line {
    struct cr_onnx_statement statement;
    const char *scope; /* its module's path, or "" */
    int run;           /* the run it is in, or CR_ONNX_NONE */
    int index;         /* the number in its path behind the run's prefix */
};

struct cr_onnx_run {
    const char *prefix; /* "transformer.h.": before the index */
    int first, size, n; /* the first line; lines of a block; blocks */
    int index;          /* the first block's index */
    int n_carried;
    int in[CR_ONNX_CARRIED];   /* what the first block reads from outside */
    int out[CR_ONNX_CARRIED];  /* what the first block gives in its place for the next one */
    int last[CR_ONNX_CARRIED]; /* what the last one gives */
};

struct cr_onnx_blocks {
    struct cr_onnx_line *lines; /* all statements, those that read no weights first */
    struct cr_onnx_run *runs;
    int *uses; /* of values, by lines and outputs of the model */
    int n_lines, n_runs;
};

/* In the graph's arena. */
void cr_onnx_find_blocks(struct cr_onnx_blocks *blocks, const struct cr_onnx_script *script);

#endif
