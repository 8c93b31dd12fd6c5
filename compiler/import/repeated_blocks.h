/*
 * repeated_blocks.h - finds runs of blocks of statements that are equal except for their index:
 * "h.0", "h.1", ...
 *
 * Block i of a run reads its own weights (h.{i}.x), values that all blocks share, and carried
 * values: values that the preceding block defines.
 */
#ifndef CR_ONNX_REPEATED_BLOCKS_H
#define CR_ONNX_REPEATED_BLOCKS_H

#include "translate.h"

enum { CR_ONNX_CARRIED = 4 };

/* A statement that will be printed. */
struct cr_onnx_line {
    struct cr_onnx_statement statement;
    const char *scope; /* the path of the module that the statement belongs to, or "" */
    int run;           /* index of its run, or CR_ONNX_NONE */
    int index;         /* the number behind the run's prefix in its path */
};

struct cr_onnx_run {
    const char *prefix; /* the path before the index: "transformer.h." */
    int first, size, n; /* the number of the first line, the lines of a block, the number of
                           blocks */
    int index;          /* the index of the first block */
    int n_carried;
    int in[CR_ONNX_CARRIED];   /* by carried value: the value that the first block reads */
    int out[CR_ONNX_CARRIED];  /* by carried value: the value of the first block that the second
                                  block reads */
    int last[CR_ONNX_CARRIED]; /* by carried value: the last block's value, which is read behind the
                                  loop */
};

struct cr_onnx_blocks {
    struct cr_onnx_line *lines; /* all statements; statements that read no weights come first */
    struct cr_onnx_run *runs;
    int *uses; /* by value: how often lines, and the outputs of the model, read it */
    int n_lines, n_runs;
};

/* Finds the runs of a script; allocates in the graph's arena. */
void cr_onnx_find_blocks(struct cr_onnx_blocks *blocks, const struct cr_onnx_script *script);

#endif
