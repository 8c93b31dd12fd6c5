/* term.c - expressions of the graph language: leaves, calls and their texts; see term.h. */
#include "term.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term_parts.h"

#define MOST_ELEMENTS (INT64_C(1) << 31)

/* Replaces the marks of lengths and symbols in a message by names of lengths and values for the
 * bounds. */
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

/* Returns the language's type for a type of ONNX: integers of all widths are i32.  Tensors of types
 * that are no numbers are refused when they are read. */
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
    int64_t n = 1; /* the product of the sizes that are not 0; stops at the limit before it
                      overflows */
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

double cr_t_rounded(enum cr_onnx_type type, double number)
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

bool cr_t_same_types(struct cr_translation *t, cr_t a, cr_t b)
{
    bool same = cr_language_type(a->type) == cr_language_type(b->type);
    if (!same)
        cr_onnx_refuse(t, "found operands of type %s and %s, expected equal types",
                       cr_onnx_type_name(a->type), cr_onnx_type_name(b->type));
    return same;
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
        data[i] = cr_t_rounded(type, data[i]);
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

/* Returns the set of types that the first operand of a library function may have: floats, except
 * for ids and for relu. */
static int operands_of(const char *name)
{
    return strncmp(name, "nn.", 3) != 0 || strcmp(name, "nn.embedding") == 0 ? CR_OF_ANY
           : strcmp(name, "nn.relu") == 0                                    ? CR_OF_NUMBERS
                                                                             : CR_OF_FLOATS;
}

/* A call whose result has no elements is known for any operands.  Otherwise an operand without
 * elements is an error, as the language has no such tensors. */
cr_t cr_t_call(struct cr_translation *t, const char *name, enum cr_onnx_type type, int rank,
               const int64_t *shape, const struct cr_onnx_argument *arguments, int n)
{
    if (t->failed)
        return NULL;
    for (int i = 0; i < n; i++)
        if (!arguments[i].term && !arguments[i].text)
            return cr_onnx_refuse(t, "an operand of %s is missing, expected a tensor", name);
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
