/*
 * ops_lua.c - translates operators into calls of functions of graphs/lib/onnx.lua; see ops.def.
 *
 * The arguments of a call are the tensors in the order of the row, then a table of options, which
 * have to be known at import: onnx.resize(x, {mode = "linear", sizes = {1, 1, 8, 8}}).  The front
 * end infers the shape of the result.
 */
#include "ops_lua.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"
#include "fold_call.h"
#include "ops_arguments.h"
#include "shape_inference.h"
#include "term_parts.h"

/* A call that is being made. */
struct call {
    struct cr_translation *t;
    struct cr_op_arguments given;
    struct cr_onnx_argument *arguments; /* in the form that the script prints */
    int n, cap;
};

/* ---- arguments as the script has them ---- */

/* Appends a quoted string.  Escapes spaces, since long lines are broken at spaces. */
static void put_string(struct cr_text *text, const char *string)
{
    cr_put(text, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c; c++)
        cr_put(text, *c == '"' || *c == '\\' ? "\\%c" : isgraph(*c) ? "%c" : "\\%03d", *c);
    cr_put(text, "\"");
}

/* Appends item `i` of an argument as Lua text. */
static void put_value(struct call *c, struct cr_text *text, const struct cr_op_argument *x, int64_t i)
{
    struct cr_translation *t = c->t;
    switch (x->kind) {
    case CR_ARGUMENT_NUMBERS:
        cr_put(text, "%s", cr_number_is_symbol(x->numbers[i]) ? cr_t_text(t, cr_t_whole(x->numbers[i]))
                                                              : cr_lua_number(t->arena, x->numbers[i]));
        break;
    case CR_ARGUMENT_TEXTS:
        put_string(text, x->texts[i]);
        break;
    default:
        cr_put(text, "%s", x->truths[i] ? "true" : "false");
    }
}

static void add(struct call *c, cr_t term, const char *text)
{
    *CR_ARENA_PUSH(c->t->arena, c->arguments, c->n, c->cap) = (struct cr_onnx_argument){term, text};
}

/* Adds an argument to the call; an option is preceded by its name. */
static void add_argument(struct call *c, const struct cr_op_argument *x)
{
    struct cr_text text = {0};
    bool is_tensor = x->kind == CR_ARGUMENT_TENSOR || x->kind == CR_ARGUMENT_TENSORS;
    if (x->kind == CR_ARGUMENT_TENSORS)
        add(c, NULL, CR_TERM_TABLE);
    else if (is_tensor && x->option)
        add(c, NULL, cr_arena_print(c->t->arena, "%s = ", x->option));
    for (int64_t i = 0; is_tensor && i < x->n; i++)
        add(c, x->terms[i], NULL);
    if (x->kind == CR_ARGUMENT_TENSORS)
        add(c, NULL, CR_TERM_TABLE_END);
    if (is_tensor)
        return;
    cr_put(&text, x->option ? "%s = %s" : "%s%s", x->option ? x->option : "", x->is_list ? "{" : "");
    for (int64_t i = 0; i < x->n; i++) {
        cr_put(&text, "%s", i ? ", " : "");
        put_value(c, &text, x, i);
    }
    cr_put(&text, "%s", x->kind == CR_ARGUMENT_NIL ? "nil" : x->is_list ? "}" : "");
    add(c, NULL, cr_arena_text(c->t->arena, text.data, text.length));
    free(text.data);
}

/* Adds all operands to the call, then a table of the options. */
static void add_arguments(struct call *c)
{
    const struct cr_op_arguments *given = &c->given;
    for (int i = 0; i < given->n; i++) {
        if (i == given->n_operands)
            add(c, NULL, CR_TERM_TABLE);
        add_argument(c, &given->items[i]);
    }
    if (given->n > given->n_operands)
        add(c, NULL, CR_TERM_TABLE_END);
}

/* ---- the result ---- */

/* Returns the ONNX type of a result: the type of the first input with the same language type. */
static enum cr_onnx_type type_of(const struct call *c, enum cr_language_type type)
{
    const struct cr_translation *t = c->t;
    if (type == CR_LANGUAGE_I32 && c->given.is_int32)
        return CR_ONNX_INT32;
    for (int i = 0; i < t->node->n_inputs; i++)
        if (t->in[i] && cr_language_type(t->in[i]->type) == type)
            return t->in[i]->type;
    return type == CR_LANGUAGE_F32   ? CR_ONNX_FLOAT
           : type == CR_LANGUAGE_I32 ? CR_ONNX_INT64
                                     : CR_ONNX_BOOL;
}

/* Infers the shape and type of a call's result; returns false if the front end refuses the call. */
static bool infer(struct call *c, const char *name, const struct cr_onnx_argument *arguments,
                  struct cr_inferred *result)
{
    struct cr_error error = {""};
    struct cr_onnx_argument *all = cr_arena_new(c->t->arena, (size_t)c->n + 1, sizeof *all);
    int n = c->n;
    if (n)
        memcpy(all, arguments, (size_t)n * sizeof *all);
    if (c->given.only_shape && c->given.n > c->given.n_operands) { /* put in front of the brace that
                                                                      closes the table */
        all[n - 1].text = "only_shape = true";
        all[n++] = (struct cr_onnx_argument){NULL, CR_TERM_TABLE_END};
    }
    struct cr_onnx_term call = {.kind = CR_TERM_CALL, .name = name, .arguments = all, .n_arguments = n};
    if (!cr_onnx_infer(c->t->graph, &call, result, &error))
        return true;
    cr_onnx_refuse(c->t, "%s", error.text);
    return false;
}

/* Infers the result for operands whose axes of size 0 have the given size instead. */
static bool infer_instead(struct call *c, const char *name, int64_t size,
                          struct cr_inferred *result)
{
    struct cr_onnx_argument *arguments = cr_arena_new(c->t->arena, (size_t)c->n, sizeof *arguments);
    if (c->n)
        memcpy(arguments, c->arguments, (size_t)c->n * sizeof *arguments);
    for (int i = 0; i < c->n; i++) {
        if (!arguments[i].term)
            continue;
        struct cr_onnx_term *x = cr_arena_new(c->t->arena, 1, sizeof *x);
        *x = *arguments[i].term;
        for (int a = 0; a < x->rank; a++)
            x->shape[a] = x->shape[a] ? x->shape[a] : size;
        arguments[i].term = x;
    }
    return infer(c, name, arguments, result);
}

/* Infers the result for operands without elements, which the language does not have: tries sizes
 * 2 and 3 in place of 0.  An axis of the result that is 2 in the one and 3 in the other gets
 * size 0. */
static bool infer_empty(struct call *c, const char *name, struct cr_inferred *result)
{
    struct cr_inferred other;
    int n = 0;
    if (!infer_instead(c, name, 2, result) || !infer_instead(c, name, 3, &other))
        return false;
    for (int a = 0; a < result->rank && result->rank == other.rank; a++)
        if (result->shape[a] == 2 && other.shape[a] == 3) {
            result->shape[a] = other.shape[a] = 0;
            n++;
        }
    bool known = (n || c->given.empty) &&
                 memcmp(result->shape, other.shape, (size_t)other.rank * sizeof *other.shape) == 0;
    if (!known)
        cr_onnx_refuse(c->t, "found %s of a tensor without elements, expected some", name);
    return known;
}

/* Sets an output of the node to a call of the function `name`, or to the elements of its result if
 * they are known. */
static void give(struct call *c, int output, const char *name)
{
    struct cr_translation *t = c->t;
    struct cr_inferred result;
    bool empty = false;
    for (int i = 0; i < c->n; i++)
        empty |= c->arguments[i].term && cr_t_elements(c->arguments[i].term) == 0;
    if (!(empty ? infer_empty(c, name, &result) : infer(c, name, c->arguments, &result)))
        return;
    for (int a = 0; a < result.rank; a++)
        if (c->given.no_size >> a & 1)
            result.shape[a] = 0;
    if (c->given.no_size || (empty && c->given.empty)) {
        double number = c->given.empty ? strtod(c->given.empty, NULL) : 0;
        cr_set_output(t, output,
                      cr_t_full(t, type_of(c, result.type), result.rank, result.shape, number));
        return;
    }
    cr_t call = cr_t_call(t, name, type_of(c, result.type), result.rank, result.shape, c->arguments, c->n);
    cr_t known = call && call->kind == CR_TERM_CALL ? cr_fold_call(t, call) : NULL;
    cr_set_output(t, output, known ? known : call);
}

void cr_translate_by_lua(struct cr_translation *t, const struct cr_onnx_op *op)
{
    struct call c = {.t = t};
    const char *functions = op->lua;
    cr_op_arguments_read(t, op, &c.given);
    if (t->failed)
        return;
    add_arguments(&c);
    for (int i = 0; *functions && !t->failed; i++) {
        size_t length = strcspn(functions, " ");
        if (cr_has_output(t, i))
            give(&c, i, cr_arena_text(t->arena, functions, length));
        functions += length + strspn(functions + length, " ");
    }
}
