/*
 * ops.h - the table of ONNX operators: what each becomes in the graph language.
 *
 * A function reads t->node and t->in, and gives its outputs by cr_give.  It refuses what cannot be said.
 */
#ifndef CR_ONNX_OPS_H
#define CR_ONNX_OPS_H

#include "term.h"

typedef void cr_onnx_translate_op(struct cr_translation *t);

/* Every function of the table, by its file. */
#define CR_ONNX_OP(domain, name, since, function, meaning) cr_onnx_translate_op function;
#define CR_ONNX_FORMULA(domain, name, since, operands, formula)
#define CR_ONNX_LUA(domain, name, since, function, inputs, attributes, meaning)
#include "ops.def"
#include "ops_crescent.def"
#undef CR_ONNX_OP
#undef CR_ONNX_FORMULA
#undef CR_ONNX_LUA

/* An operator is a function here, an expression (formula.h), or a function of the library in Lua (lua_op.h). */
struct cr_onnx_op {
    const char *domain, *name;
    int since; /* the first version of the domain for which this holds */
    cr_onnx_translate_op *translate;
    const char *formula;                   /* "-floor(-x)", or null */
    const char *lua, *inputs, *attributes; /* "onnx.det" and its operands, or null */
    const char *meaning;
};

extern const struct cr_onnx_op cr_onnx_ops[];
extern const int cr_onnx_n_ops;

const struct cr_onnx_op *cr_onnx_find_op(const char *domain, const char *name);

/* ---- what translations share ---- */

void cr_give(struct cr_translation *t, int output, cr_t term);

/* Whether the node has an output that is not left out. */
bool cr_wants(const struct cr_translation *t, int output);

/* The input of a number, or null if it is left out. */
cr_t cr_input(const struct cr_translation *t, int input);

/* An axis from 0 on, of one that may count from the end; refused if there is none such. */
int cr_axis(struct cr_translation *t, int64_t axis, int rank);

/* The numbers of a known term, or of an attribute: how many, at most CR_ONNX_MANY; -1, refused or not
 * there.  Each is as cr_t_whole has it. */
enum { CR_ONNX_MANY = 4096 };
int cr_numbers_of(struct cr_translation *t, cr_t x, int64_t *out);
int cr_numbers_named(struct cr_translation *t, const char *attribute, int64_t *out);

/* Axes of a reduction and its like: from the attribute `axes` or input number `input`; all if neither. */
int cr_axes(struct cr_translation *t, int input, int rank, int *axes);

const char *cr_string(const struct cr_translation *t, const char *attribute, const char *otherwise);

/* A number as Lua has it, short. */
const char *cr_lua_number(struct cr_arena *arena, double number);

/* A sum or a max over the axes that the node says, of no elements, too. */
cr_t cr_reduced(struct cr_translation *t, const char *name, cr_t x);

/* The mean over axes. */
cr_t cr_mean(struct cr_translation *t, cr_t x, int n, const int *axes, bool keep);

/* A term of 1 and more axes times the others 1: for broadcasting [C] along an axis. */
cr_t cr_along(struct cr_translation *t, cr_t x, int rank, int axis);

/* Softmax over an axis; safe: 0 in rows that are -inf throughout. */
cr_t cr_softmax(struct cr_translation *t, cr_t x, int axis, bool safe);

#endif
