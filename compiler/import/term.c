/* term.c - expressions of the graph language: leaves, elementwise functions, folding; see
 * term.h. */
#include "term.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/shape_rules.h"
#include "term_parts.h"

#define MOST_ELEMENTS (INT64_C(1) << 31)

/* Replaces marks of lengths and symbols in a message by names and values for the bounds. */
static void name_symbols(const struct cr_symbols *symbols, char *text, size_t size)
{
    for (char *at = text; *(at += strcspn(at, (char[]){CR_TERM_LENGTH, CR_TERM_SYMBOL, 0}));) {
        char rest[600], *end;
        long long number = strtoll(at + 1, &end, 10);
        strcpy(rest, end);
        if (*at == CR_TERM_LENGTH)
            snprintf(at, size - (size_t)(at - text), "%.60s%s", symbols->lengths[number].name, rest);
        else
            snprintf(at, size - (size_t)(at - text), "%lld%s", (long long)cr_size_bound(number), rest);
    }
}

cr_t cr_onnx_refuse(struct cr_translation *t, const char *format, ...)
{
    char text[600], node[256];
    va_list values;
    if (t->failed)
        return NULL;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    t->failed = true;
    name_symbols(t->graph->symbols, text, sizeof text);
    cr_fail(t->error, "%.300s: %s: %s", t->graph->path,
            cr_onnx_node_text(t->node, node, sizeof node), text);
    return NULL;
}

/* Integers of all widths are i32.  Types that are neither are refused when they are read. */
enum cr_language_type cr_language_type(enum cr_onnx_type type)
{
    switch (type) {
    case CR_ONNX_FLOAT:
    case CR_ONNX_FLOAT16:
    case CR_ONNX_DOUBLE:
    case CR_ONNX_BFLOAT16:
        return CR_LANGUAGE_F32;
    case CR_ONNX_BOOL:
        return CR_LANGUAGE_BOOL;
    default:
        return CR_LANGUAGE_I32;
    }
}

int64_t cr_t_elements(cr_t x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= cr_size_bound(x->shape[i]);
    return n;
}

int64_t cr_t_count(struct cr_translation *t, int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n = cr_sizes(t->graph->symbols, n, '*', shape[i]);
    return n;
}

int64_t cr_t_plain(struct cr_translation *t, int64_t size)
{
    if (cr_size_is_symbol(size))
        cr_onnx_refuse(t, "a size of %s, expected a number", cr_t_text(t, size));
    return cr_size_bound(size);
}

bool cr_t_has_symbols(const struct cr_onnx_graph *g, cr_t x)
{
    bool has = false;
    int64_t n = g->symbols->n_samples && x->data ? cr_t_elements(x) : 0;
    for (int64_t i = 0; i < n && !has; i++)
        has = cr_number_is_symbol(x->data[i]);
    return has;
}

bool cr_t_is_symbolic(const struct cr_translation *t, cr_t x)
{
    bool symbolic = false;
    for (int a = 0; a < x->rank; a++)
        symbolic |= cr_size_is_symbol(x->shape[a]);
    return symbolic || cr_t_has_symbols(t->graph, x);
}

int64_t cr_t_whole(double number)
{
    return cr_number_is_symbol(number) ? cr_size_of_symbol(number)
           : isnan(number)             ? 0
           : number >= CR_ONNX_FAR  ? CR_ONNX_FAR
           : number <= -CR_ONNX_FAR ? -CR_ONNX_FAR
                                    : (int64_t)number;
}

/* ---- making terms ---- */

bool cr_t_is_valid_shape(int rank, const int64_t *shape)
{
    int64_t n = 1; /* the product of sizes but 0; the limit prevents an overflow */
    for (int i = 0; i < rank; i++) {
        int64_t size = cr_size_bound(shape[i]);
        if (size < 0 || size > MOST_ELEMENTS || n * size > MOST_ELEMENTS)
            return false;
        n *= size ? size : 1;
    }
    return true;
}

struct cr_onnx_term *cr_t_new(struct cr_translation *t, enum cr_onnx_term_kind kind,
                              enum cr_onnx_type type, int rank, const int64_t *shape)
{
    if (rank > CR_ONNX_RANK) {
        cr_onnx_refuse(t, "a tensor of %d axes, expected at most %d", rank, CR_ONNX_RANK);
        return NULL;
    }
    if (!cr_onnx_type_bytes(type)) {
        cr_onnx_refuse(t, "type %s, expected a number or a boolean", cr_onnx_type_name(type));
        return NULL;
    }
    struct cr_onnx_term *x = cr_arena_new(t->arena, 1, sizeof *x);
    x->kind = kind;
    x->type = type;
    x->rank = rank;
    x->value = CR_ONNX_NONE;
    x->name = "";
    if (rank)
        memcpy(x->shape, shape, (size_t)rank * sizeof *shape);
    if (!cr_t_is_valid_shape(rank, shape)) {
        cr_onnx_refuse(t, "found a tensor of a size below 0, or of more elements than can be kept, expected fewer");
        return NULL;
    }
    return x;
}

/* Rounds a number to its type. */
static double round_to(enum cr_onnx_type type, double number)
{
    if (cr_language_type(type) == CR_LANGUAGE_F32)
        return (double)(float)number;
    if (type == CR_ONNX_BOOL)
        return number != 0;
    return number == 0 ? 0 : number; /* an integer has no -0 */
}

bool cr_t_is_of(struct cr_translation *t, cr_t x, int types)
{
    enum cr_language_type type = cr_language_type(x->type);
    int own = type == CR_LANGUAGE_F32   ? CR_OF_FLOATS
              : type == CR_LANGUAGE_I32 ? CR_OF_INTEGERS
                                        : CR_OF_BOOLEANS;
    if (!(types & own))
        cr_onnx_refuse(t, "an operand of type %s, expected %s", cr_onnx_type_name(x->type),
                       types == CR_OF_FLOATS     ? "floats"
                       : types == CR_OF_INTEGERS ? "integers"
                       : types == CR_OF_NUMBERS  ? "numbers"
                                                 : "booleans");
    return (types & own) != 0;
}

void *cr_t_array(struct cr_translation *t, int64_t n)
{
    return cr_elements_new(&t->graph->elements, t->arena, (size_t)n);
}

double *cr_t_new_elements(struct cr_translation *t, const struct cr_onnx_term *x)
{
    return cr_t_array(t, cr_t_elements(x));
}

static bool has_room(const struct cr_translation *t, int64_t elements)
{
    return elements <= CR_ELEMENTS_FEW || cr_elements_have_room(&t->graph->elements);
}

/* True if a term is small enough to be folded. */
static bool is_small(const struct cr_translation *t, const struct cr_onnx_term *x)
{
    bool whole = cr_language_type(x->type) != CR_LANGUAGE_F32;
    int64_t most = t->most_folded ? t->most_folded : whole ? CR_FOLDED_WHOLE : CR_FOLDED;
    return cr_t_elements(x) <= most && has_room(t, cr_t_elements(x));
}

bool cr_t_folds(const struct cr_translation *t, const struct cr_onnx_term *like, int n,
                const cr_t *operands)
{
    bool whole = cr_language_type(like->type) != CR_LANGUAGE_F32;
    if (cr_t_elements(like) == 0)
        return true;
    if (!is_small(t, like))
        return false;
    for (int i = 0; i < n; i++)
        if (!operands[i]->data || (operands[i]->kind != CR_TERM_DATA && !whole))
            return false;
    return true;
}

cr_t cr_t_computed(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
                   double *data)
{
    struct cr_onnx_term *x = t->failed ? NULL : cr_t_new(t, CR_TERM_DATA, type, rank, shape);
    if (!x)
        return NULL;
    bool is_whole = cr_language_type(type) == CR_LANGUAGE_I32;
    int64_t n = cr_t_elements(x);
    for (int64_t i = 0; i < n; i++) {
        if (cr_number_is_symbol(data[i]))
            continue;
        data[i] = round_to(type, data[i]);
        if (is_whole && isfinite(data[i]) && data[i] != floor(data[i]))
            return cr_onnx_refuse(t, "found %g for a number of type %s, expected a whole number", data[i],
                                  cr_onnx_type_name(type));
    }
    x->data = data;
    return x;
}

cr_t cr_t_data(struct cr_translation *t, enum cr_onnx_type type, int rank, const int64_t *shape,
               const double *data)
{
    const struct cr_onnx_term *x = t->failed ? NULL : cr_t_new(t, CR_TERM_DATA, type, rank, shape);
    if (!x)
        return NULL;
    double *copy = cr_t_new_elements(t, x);
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        copy[i] = data[i];
    return cr_t_computed(t, type, rank, shape, copy);
}

cr_t cr_t_number(struct cr_translation *t, enum cr_onnx_type type, double number)
{
    return cr_t_data(t, type, 0, NULL, &number);
}

/* The types of a library function's first operand: floats, except ids and the operand of relu. */
static int operands_of(const char *name)
{
    return strncmp(name, "nn.", 3) != 0 || strcmp(name, "nn.embedding") == 0 ? CR_OF_ANY
           : strcmp(name, "nn.relu") == 0                                    ? CR_OF_NUMBERS
                                                                             : CR_OF_FLOATS;
}

/* A result without elements is known for any operands.  Otherwise an operand without elements is
 * an error: the language has no such tensors. */
cr_t cr_t_call(struct cr_translation *t, const char *name, enum cr_onnx_type type, int rank,
               const int64_t *shape, const struct cr_onnx_argument *arguments, int n)
{
    if (t->failed)
        return NULL;
    for (int i = 0; i < n; i++)
        if (!arguments[i].term && !arguments[i].text)
            return cr_onnx_refuse(t, "found no operand of %s, expected one", name);
    struct cr_onnx_term *x = cr_t_new(t, CR_TERM_CALL, type, rank, shape);
    if (!x)
        return NULL;
    if (n && arguments[0].term && !cr_t_is_of(t, arguments[0].term, operands_of(name)))
        return NULL;
    if (cr_t_elements(x) == 0)
        return cr_t_data(t, type, rank, shape, NULL);
    for (int i = 0; i < n; i++)
        if (arguments[i].term && cr_t_elements(arguments[i].term) == 0)
            return cr_onnx_refuse(t, "found %s of a tensor without elements, expected some", name);
    struct cr_onnx_argument *copy = cr_arena_new(t->arena, (size_t)n, sizeof *copy);
    memcpy(copy, arguments, (size_t)n * sizeof *copy);
    x->name = name;
    x->arguments = copy;
    x->n_arguments = n;
    return x;
}

cr_t cr_t_iota(struct cr_translation *t, int rank, const int64_t *shape, int axis)
{
    struct cr_onnx_term *x =
        t->failed ? NULL : cr_t_new(t, CR_TERM_CALL, CR_ONNX_INT64, rank, shape);
    if (!x)
        return NULL;
    if (!is_small(t, x))
        return cr_t_call(t, "iota", CR_ONNX_INT64, rank, shape,
                         (struct cr_onnx_argument[]){{NULL, cr_t_list(t, rank, shape)},
                                                     {NULL, cr_t_text(t, axis + 1)}},
                         2);
    double *data = cr_t_new_elements(t, x);
    int64_t inner = 1;
    for (int i = axis + 1; i < rank; i++)
        inner *= cr_size_bound(shape[i]);
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        data[i] = (double)(i / inner % cr_size_bound(shape[axis]));
    return cr_t_computed(t, CR_ONNX_INT64, rank, shape, data);
}

const double *cr_t_known_sizes(struct cr_translation *t, cr_t x)
{
    if (t->failed || !x)
        return NULL;
    if (x->data)
        return x->data;
    t->unknown = x->kind == CR_TERM_VALUE ? x->value : CR_ONNX_NONE;
    cr_onnx_refuse(t, "%s is known only when the model runs, expected a constant",
                   x->kind == CR_TERM_VALUE ? t->graph->values[x->value].name : "an operand");
    return NULL;
}

const double *cr_t_known(struct cr_translation *t, cr_t x)
{
    const double *data = cr_t_known_sizes(t, x);
    if (data && cr_t_is_symbolic(t, x))
        cr_onnx_refuse(t, "found other numbers for other lengths, expected a constant");
    return t->failed ? NULL : data;
}

/* ---- text ---- */

const char *cr_t_text(struct cr_translation *t, int64_t number)
{
    int64_t more;
    if (cr_size_is_symbol(number)) {
        int length = cr_symbols_nearest(t->graph->symbols, cr_number_of_size(number), &more);
        return length >= 0 && !more ? cr_arena_print(t->arena, "%c%d", CR_TERM_LENGTH, length)
                                    : cr_arena_print(t->arena, "%c%lld", CR_TERM_SYMBOL, (long long)number);
    }
    return cr_arena_number(t->arena, number);
}

const char *cr_t_list(struct cr_translation *t, int n, const int64_t *numbers)
{
    const char *text = "{";
    bool symbolic = false;
    for (int i = 0; i < n; i++)
        symbolic |= cr_size_is_symbol(numbers[i]);
    if (!symbolic)
        return cr_arena_list(t->arena, n, numbers);
    for (int i = 0; i < n; i++)
        text = cr_arena_print(t->arena, "%s%s%s", text, i ? ", " : "", cr_t_text(t, numbers[i]));
    return cr_arena_print(t->arena, "%s}", text);
}

/* ---- broadcasting ---- */

/* Reads the known elements of a term in the order of a shape that the term is broadcast to. */
struct reading {
    const double *at;
    int rank;
    int64_t left[CR_ONNX_RANK], sizes[CR_ONNX_RANK], strides[CR_ONNX_RANK]; /* by axis; left: elements to its end */
};

/* Starts at the first element.  Axes that are broadcast have stride 0. */
static struct reading read_broadcast(cr_t x, int rank, const int64_t *shape)
{
    struct reading r = {.at = x->data, .rank = rank};
    int64_t stride = 1;
    for (int a = rank - 1; a >= 0; a--) {
        int axis = a - (rank - x->rank);
        int64_t size = axis < 0 ? 1 : cr_size_bound(x->shape[axis]);
        r.left[a] = r.sizes[a] = cr_size_bound(shape[a]);
        r.strides[a] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return r;
}

/* Returns the current element and moves on to the next one, or from the last one to the first. */
static double next_element(struct reading *r)
{
    double element = *r->at;
    for (int a = r->rank - 1; a >= 0; a--) {
        r->at += r->strides[a];
        if (--r->left[a])
            break;
        r->at -= r->strides[a] * r->sizes[a];
        r->left[a] = r->sizes[a];
    }
    return element;
}

/* ---- elementwise ---- */

/* Returns the elementwise op of a name or an arithmetic sign, or CR_OP_COUNT. */
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

/* The types of an op's operands; booleans are cast for arithmetic ops of two operands. */
static int operands_of_op(enum cr_op op)
{
    enum cr_rule rule = cr_ops[op].rule;
    return rule == CR_RULE_FLOAT                            ? CR_OF_FLOATS
           : rule == CR_RULE_LOGIC                          ? CR_OF_BOOLEANS
           : rule == CR_RULE_ARITH && cr_ops[op].arity == 1 ? CR_OF_NUMBERS
                                                            : CR_OF_ANY;
}

/* Computes an op of numbers of a type.  Integers do not wrap, as ONNX has some of 64 bits. */
static double compute(enum cr_op op, enum cr_onnx_type type, double a, double b)
{
    bool divides = op == CR_OP_floor_divide || op == CR_OP_remainder;
    if (divides && b == 0 && cr_language_type(type) == CR_LANGUAGE_I32)
        return 0;
    if (op == CR_OP_int && isfinite(a))
        return trunc(a);
    return cr_evaluator_of(op, CR_F32)(op, a, b, 0);
}

/* An operation on elements of a type. */
struct operation {
    enum cr_op op;
    enum cr_onnx_type type, result;
};

static double compute_symbol(const void *context, const double *in)
{
    const struct operation *o = context;
    return round_to(o->result, compute(o->op, o->type, in[0], in[1]));
}

/* Computes element i of a tensor of a shape, from elements that may be symbols. */
static double compute_element(struct cr_translation *t, const struct operation *o, const struct cr_onnx_term *like,
                              int64_t i, double a, double b)
{
    if (!cr_number_is_symbol(a) && !cr_number_is_symbol(b))
        return compute(o->op, o->type, a, b);
    double y = cr_symbols_map(t->graph->symbols, compute_symbol, o, 2, (double[]){a, b});
    return cr_symbols_element(t->graph->symbols, like->rank, like->shape, i, y);
}

/* Makes a unary whose result may have another type, as float and int do. */
static cr_t unary_to(struct cr_translation *t, const char *name, cr_t x, enum cr_onnx_type type)
{
    if (t->failed || !x)
        return NULL;
    struct cr_onnx_term like = *x;
    like.type = type;
    enum cr_op op = op_of(name);
    if (op < CR_OP_COUNT && !cr_t_is_of(t, x, operands_of_op(op)))
        return NULL;
    if (op < CR_OP_COUNT && cr_t_folds(t, &like, 1, &x)) {
        double *data = cr_t_new_elements(t, x);
        const struct operation o = {op, x->type, type};
        for (int64_t i = 0, n = cr_t_elements(x); i < n; i++)
            data[i] = compute_element(t, &o, x, i, x->data[i], 0);
        return cr_t_computed(t, type, x->rank, x->shape, data);
    }
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

/* Wraps integers of fewer than 32 bits. */
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

/* Makes a binary function: folded if possible, else a call. */
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
    if (cr_t_folds(t, x, 2, (cr_t[]){a, b})) {
        double *data = cr_t_new_elements(t, x);
        const struct operation o = {op, a->type, type};
        struct reading left = read_broadcast(a, x->rank, x->shape),
                       right = read_broadcast(b, x->rank, x->shape);
        for (int64_t i = 0, n = cr_t_elements(x); i < n; i++) {
            double of_left = next_element(&left);
            data[i] = compute_element(t, &o, x, i, of_left, next_element(&right));
        }
        return cr_t_computed(t, type, x->rank, x->shape, data);
    }
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
    if (cr_language_type(a->type) != cr_language_type(b->type))
        return cr_onnx_refuse(t, "found operands of type %s and %s, expected equal types",
                              cr_onnx_type_name(a->type), cr_onnx_type_name(b->type));
    if (!cr_t_is_of(t, a, operands_of_op(op)))
        return NULL;
    if (a->type == CR_ONNX_BOOL && cr_ops[op].rule != CR_RULE_LOGIC) { /* the language compares numbers */
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

static double choose(const void *context, const double *in)
{
    (void)context;
    return in[0] != 0 ? in[1] : in[2];
}

cr_t cr_t_where(struct cr_translation *t, cr_t c, cr_t a, cr_t b)
{
    if (t->failed || !c || !a || !b || !cr_t_is_of(t, c, CR_OF_BOOLEANS))
        return NULL;
    if (cr_language_type(a->type) != cr_language_type(b->type))
        return cr_onnx_refuse(t, "found operands of type %s and %s, expected equal types",
                              cr_onnx_type_name(a->type), cr_onnx_type_name(b->type));
    struct cr_onnx_term *x = cr_t_new(t, CR_TERM_CALL, a->type, c->rank, c->shape);
    if (!x)
        return NULL;
    if (!cr_broadcast(&x->rank, x->shape, a->rank, a->shape) || !cr_broadcast(&x->rank, x->shape, b->rank, b->shape))
        return cr_onnx_refuse(t, "found operands of shapes that do not fit, expected ones that broadcast");
    if (cr_t_folds(t, x, 3, (cr_t[]){c, a, b})) {
        double *data = cr_t_new_elements(t, x);
        struct reading condition = read_broadcast(c, x->rank, x->shape),
                       yes = read_broadcast(a, x->rank, x->shape),
                       no = read_broadcast(b, x->rank, x->shape);
        for (int64_t i = 0, n = cr_t_elements(x); i < n; i++) {
            double in[] = {next_element(&condition), next_element(&yes), next_element(&no)};
            data[i] = cr_number_is_symbol(in[0])
                          ? cr_symbols_element(t->graph->symbols, x->rank, x->shape, i,
                                               cr_symbols_map(t->graph->symbols, choose, NULL, 3, in))
                          : choose(NULL, in);
        }
        return cr_t_computed(t, x->type, x->rank, x->shape, data);
    }
    if (a->type == CR_ONNX_BOOL) /* booleans are selected by logic */
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
