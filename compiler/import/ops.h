/*
 * ops.h - the table of ONNX operators and their translations into the graph language.
 *
 * A function reads t->node and t->in, and sets its outputs by cr_set_output.  It refuses what the
 * language does not have.
 */
#ifndef CR_ONNX_OPS_H
#define CR_ONNX_OPS_H

#include "term.h"

typedef void cr_onnx_op_function(struct cr_translation *t);

/* The functions of the table. */
#define CR_ONNX_OP(domain, name, since, function, meaning) cr_onnx_op_function function;
#define CR_ONNX_FORMULA(domain, name, since, operands, formula)
#define CR_ONNX_LUA(domain, name, since, function, inputs, attributes, meaning)
#include "ops.def"
#include "ops_crescent.def"
#undef CR_ONNX_OP
#undef CR_ONNX_FORMULA
#undef CR_ONNX_LUA

/* An operator: a function, a formula (ops_formula.h) or a Lua function (ops_lua.h) translates
 * it. */
struct cr_onnx_op {
    const char *domain, *name;
    int since; /* the first version of the domain that the row is for */
    cr_onnx_op_function *translate;
    const char *formula;                   /* "-floor(-x)", or null */
    const char *lua, *inputs, *attributes; /* "onnx.det" and its operands, or null */
    const char *meaning;
};

extern const struct cr_onnx_op cr_onnx_ops[];
extern const int cr_onnx_n_ops;

const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name);

/* Translates t->node by the row of its operator. */
void cr_onnx_translate_op(struct cr_translation *t, const struct cr_onnx_op *op);

/* ---- shared by translations ---- */

void cr_set_output(struct cr_translation *t, int output, cr_t term);

/* True if the node has the output, and the output is not omitted. */
bool cr_has_output(const struct cr_translation *t, int output);

/* Returns input number `input`, or null if it is omitted. */
cr_t cr_input(const struct cr_translation *t, int input);

/* Returns an axis counted from 0; a negative one counts from the end.  Refuses one out of range. */
int cr_axis(struct cr_translation *t, int64_t axis, int rank);

/* Reads the numbers of a known term or of an attribute, rounded by cr_t_whole.  Returns their
 * number, at most CR_ONNX_MANY, or -1 if there are none or an error was recorded. */
enum { CR_ONNX_MANY = 4096 };
int cr_numbers_of(struct cr_translation *t, cr_t x, int64_t *out);
int cr_numbers_named(struct cr_translation *t, const char *attribute, int64_t *out);

/* Reads the axes of a reduction: the attribute `axes`, or input number `input`, else all. */
int cr_axes(struct cr_translation *t, int input, int rank, int *axes);

const char *cr_string(const struct cr_translation *t, const char *attribute, const char *otherwise);

/* Returns a number as short Lua text. */
const char *cr_lua_number(struct cr_arena *arena, double number);

/* A sum or a max over the node's axes; x may have no elements. */
cr_t cr_reduced(struct cr_translation *t, const char *name, cr_t x);

/* The mean over axes. */
cr_t cr_mean(struct cr_translation *t, cr_t x, int n, const int *axes, bool keep);

#endif
