/*
 * ops.h - the table of ONNX operators and their translations into the graph language.
 *
 * A C function of the table reads t->node and the terms t->in of its inputs, and sets the outputs
 * by cr_set_output.  It refuses nodes that the language cannot express.
 */
#ifndef CR_ONNX_OPS_H
#define CR_ONNX_OPS_H

#include "term.h"

typedef void cr_onnx_op_function(struct cr_translation *t);

void cr_op_matmul_nbits(struct cr_translation *t);

/* An operator: a C function, a formula or a function of Lua (ops_lua.h) translates it. */
struct cr_onnx_op {
    const char *domain, *name;
    int since; /* the row is for this version of the domain and later ones */
    cr_onnx_op_function *translate;
    const char *formula;                   /* "-floor(-x)", or null */
    const char *lua, *inputs, *attributes; /* "onnx.det" and its operands, or null */
    bool is_inlined;                       /* the script contains the terms that the function makes,
                                              not a call of it */
    const char *meaning;
};

extern const struct cr_onnx_op cr_onnx_ops[];
extern const int cr_onnx_n_ops;

const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name);

/* Translates t->node by the given row of the table. */
void cr_onnx_translate_op(struct cr_translation *t, const struct cr_onnx_op *op);

/* ---- shared by translations ---- */

void cr_set_output(struct cr_translation *t, int output, cr_t term);

/* True if the node has the output, and the output is not omitted. */
bool cr_has_output(const struct cr_translation *t, int output);

/* Returns input number `input`, or null if it is omitted. */
cr_t cr_input(const struct cr_translation *t, int input);

/* The most elements of a term that a function of Lua reads as numbers. */
enum { CR_ONNX_MANY = 4096 };

/* Returns a number as Lua text, as short as possible. */
const char *cr_lua_number(struct cr_arena *arena, double number);

#endif
