/* term_elementwise.c - expressions of the graph language: elementwise functions; see term.h. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "compiler/ir/shape_rules.h"
#include "term_parts.h"

/* Returns the elementwise op with a name or an arithmetic sign, or CR_OP_COUNT. */
static enum cr_op op_of(const char *name)
{
    static const char signs[] = "+-*/";
    static const enum cr_op arithmetic[] = {CR_OP_add, CR_OP_sub, CR_OP_mul, CR_OP_div};
    const char *sign = *name ? strchr(signs, *name) : NULL;
    if (sign)
        return arithmetic[sign - signs];
    for (enum cr_op op = 0; op < CR_OP_COUNT; op++)
        if (cr_ops[op].kind == CR_KIND_ELEMENTWISE && strcmp(cr_ops[op].name, name) == 0)
            return op;
    return CR_OP_COUNT;
}

/* Returns the set of types that an op's operands may have.  Booleans are cast for arithmetic ops of
 * two operands. */
static int operands_of_op(enum cr_op op)
{
    enum cr_rule rule = cr_ops[op].rule;
    return rule == CR_RULE_FLOAT                            ? CR_OF_FLOATS
           : rule == CR_RULE_LOGIC                          ? CR_OF_BOOLEANS
           : rule == CR_RULE_ARITH && cr_ops[op].arity == 1 ? CR_OF_NUMBERS
                                                            : CR_OF_ANY;
}

/* Makes a unary op whose result may have another type than x, as for float and int. */
static cr_t unary_to(struct cr_translation *t, const char *name, cr_t x, enum cr_onnx_type type)
{
    if (t->failed || !x)
        return NULL;
    struct cr_onnx_term like = *x;
    like.type = type;
    enum cr_op op = op_of(name);
    if (op < CR_OP_COUNT && !cr_t_is_of(t, x, operands_of_op(op)))
        return NULL;
    if (op < CR_OP_COUNT && cr_t_folds(t, &like, 1, &x))
        return cr_t_fold_elementwise(t, op, &like, 1, &x);
    return cr_t_call(t, name, type, x->rank, x->shape, (struct cr_onnx_argument[]){{x, NULL}}, 1);
}

cr_t cr_t_unary(struct cr_translation *t, const char *name, cr_t x)
{
    return x ? unary_to(t, name, x, x->type) : NULL;
}

cr_t cr_t_retyped(struct cr_translation *t, cr_t x, enum cr_onnx_type type)
{
    if (!x || x->type == type)
        return x;
    struct cr_onnx_term *y = cr_arena_new(t->arena, 1, sizeof *y);
    *y = *x;
    y->type = type;
    return y;
}

/* Wraps a result of an integer type of fewer than 32 bits to the type's range. */
static cr_t wrap(struct cr_translation *t, cr_t x)
{
    int bits = x ? cr_onnx_type_bytes(x->type) * 8 : 0;
    if (!x || cr_language_type(x->type) != CR_LANGUAGE_I32 || bits > 16)
        return x;
    double half = ldexp(1, bits - 1);
    if (x->type == CR_ONNX_UINT8 || x->type == CR_ONNX_UINT16)
        return cr_t_with(t, "remainder", x, 2 * half);
    cr_t wide = cr_t_retyped(t, x, CR_ONNX_INT32);
    cr_t y =
        cr_t_with(t, "-", cr_t_with(t, "remainder", cr_t_with(t, "+", wide, half), 2 * half), half);
    return cr_t_retyped(t, y, x->type);
}

/* Makes a binary op: folded if the operands are known, else a call or an infix term. */
static cr_t make_binary(struct cr_translation *t, const char *name, enum cr_op op, cr_t a, cr_t b)
{
    bool is_infix = !isalpha((unsigned char)*name);
    bool is_bool = cr_ops[op].rule == CR_RULE_COMPARE || cr_ops[op].rule == CR_RULE_LOGIC;
    enum cr_onnx_type type = is_bool ? CR_ONNX_BOOL : a->type;
    struct cr_onnx_term *x =
        cr_t_new(t, is_infix ? CR_TERM_INFIX : CR_TERM_CALL, type, a->rank, a->shape);
    if (!x)
        return NULL;
    if (!cr_broadcast(&x->rank, x->shape, b->rank, b->shape))
        return cr_onnx_refuse(t, "found operands of shapes %s and %s, expected equal shapes",
                              cr_t_list(t, a->rank, a->shape), cr_t_list(t, b->rank, b->shape));
    if (cr_t_folds(t, x, 2, (cr_t[]){a, b}))
        return cr_t_fold_elementwise(t, op, x, 2, (cr_t[]){a, b});
    struct cr_onnx_argument *arguments = cr_arena_new(t->arena, 2, sizeof *arguments);
    arguments[0].term = a;
    arguments[1].term = b;
    x->name = name;
    x->arguments = arguments;
    x->n_arguments = 2;
    return x;
}

/* True if operand b does not change a: x + 0, x * 1 and similar terms. */
static bool is_neutral(enum cr_op op, cr_t a, cr_t b)
{
    bool is_sum = op == CR_OP_add || op == CR_OP_sub;
    if ((!is_sum && op != CR_OP_mul && op != CR_OP_div) || !b->data || b->kind != CR_TERM_DATA || cr_t_elements(b) != 1 || b->rank > a->rank)
        return false;
    return b->data[0] == !is_sum && !(op == CR_OP_add && cr_language_type(a->type) == CR_LANGUAGE_F32);
}

cr_t cr_t_binary(struct cr_translation *t, const char *name, cr_t a, cr_t b)
{
    enum cr_op op = op_of(name);
    if (t->failed || !a || !b)
        return NULL;
    if (op == CR_OP_COUNT)
        return cr_onnx_refuse(t, "found %s, which the language does not have, expected one of its operations", name);
    if (!cr_t_same_types(t, a, b) || !cr_t_is_of(t, a, operands_of_op(op)))
        return NULL;
    if (a->type == CR_ONNX_BOOL && cr_ops[op].rule != CR_RULE_LOGIC) { /* the language compares only
                                                                          numbers */
        a = cr_t_cast(t, a, CR_ONNX_INT32);
        b = cr_t_cast(t, b, CR_ONNX_INT32);
    }
    if (!a || !b || is_neutral(op, a, b))
        return a;
    if (is_neutral(op, b, a) && (op == CR_OP_add || op == CR_OP_mul))
        return b;
    cr_t x = make_binary(t, name, op, a, b);
    return op == CR_OP_add || op == CR_OP_sub || op == CR_OP_mul ? wrap(t, x) : x;
}

cr_t cr_t_with(struct cr_translation *t, const char *name, cr_t a, double number)
{
    return a ? cr_t_binary(t, name, a, cr_t_number(t, a->type, number)) : NULL;
}

cr_t cr_t_where(struct cr_translation *t, cr_t c, cr_t a, cr_t b)
{
    if (t->failed || !c || !a || !b || !cr_t_is_of(t, c, CR_OF_BOOLEANS) || !cr_t_same_types(t, a, b))
        return NULL;
    struct cr_onnx_term *x = cr_t_new(t, CR_TERM_CALL, a->type, c->rank, c->shape);
    if (!x)
        return NULL;
    if (!cr_broadcast(&x->rank, x->shape, a->rank, a->shape) || !cr_broadcast(&x->rank, x->shape, b->rank, b->shape))
        return cr_onnx_refuse(t, "found operands of shapes that do not fit, expected ones that broadcast");
    if (cr_t_folds(t, x, 3, (cr_t[]){c, a, b}))
        return cr_t_fold_elementwise(t, CR_OP_where, x, 3, (cr_t[]){c, a, b});
    if (a->type == CR_ONNX_BOOL) /* where() on booleans is written with logical ops */
        return cr_t_binary(t, "logical_or", cr_t_binary(t, "logical_and", c, a),
                           cr_t_binary(t, "logical_and", cr_t_unary(t, "logical_not", c), b));
    return cr_t_call(t, "where", x->type, x->rank, x->shape,
                     (struct cr_onnx_argument[]){{c, NULL}, {a, NULL}, {b, NULL}}, 3);
}

cr_t cr_t_cast(struct cr_translation *t, cr_t x, enum cr_onnx_type type)
{
    if (t->failed || !x)
        return NULL;
    if (!cr_onnx_type_bytes(type) || !cr_onnx_type_bytes(x->type))
        return cr_onnx_refuse(t, "type %s, expected a number or a boolean",
                              cr_onnx_type_name(cr_onnx_type_bytes(type) ? x->type : type));
    enum cr_language_type from = cr_language_type(x->type), to = cr_language_type(type);
    if (to == CR_LANGUAGE_BOOL)
        return from == to ? x : cr_t_with(t, "ne", x, 0);
    if (from == CR_LANGUAGE_F32 && to == from)
        return x->kind == CR_TERM_DATA ? cr_t_data(t, type, x->rank, x->shape, x->data)
                                       : cr_t_retyped(t, x, type);
    if (to == CR_LANGUAGE_F32)
        return unary_to(t, "float", x, type);
    if (from != CR_LANGUAGE_I32)
        return wrap(t, unary_to(t, "int", x, type));
    bool narrower = cr_onnx_type_bytes(type) <= 2 && x->type != type &&
                    (cr_onnx_type_bytes(type) <= cr_onnx_type_bytes(x->type));
    return narrower ? wrap(t, cr_t_retyped(t, x, type)) : cr_t_retyped(t, x, type);
}
