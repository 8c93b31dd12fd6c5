/* print_terms.c - prints terms as Lua text; see print_terms.h. */
#include "print_terms.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "ops.h"

enum { LITERAL = 64, NAME = 200 };

/* ---- names ---- */

const char *cr_take_name(struct cr_arena *arena, struct cr_names *taken, const char *name)
{
    const char *free_name = name;
    for (int i = 2; cr_names_find(taken, free_name) >= 0; i++)
        free_name = cr_arena_print(arena, "%s_%d", name, i);
    free_name = cr_arena_text(arena, free_name, strlen(free_name));
    cr_names_add(taken, free_name);
    return free_name;
}

/* Reserved words of Lua, and functions of the language that scripts of ONNX models call. */
static const char *const reserved[] = {
    "and",          "break",     "do",        "else",        "elseif",      "end",
    "false",        "for",       "function",  "goto",        "if",          "in",
    "local",        "nil",       "not",       "or",          "repeat",      "return",
    "then",         "true",      "until",     "while",       "abs",         "argmax",
    "attention",    "concat",    "const",     "cos",         "cumsum",      "div",
    "eq",           "erf",       "exp",       "expand",      "float",       "floor",
    "floor_divide", "gather",    "ge",        "gt",          "input",       "int",
    "iota",         "le",        "length",    "limit",       "log",       "logical_and", "logical_not", "logical_or",
    "lt",           "masks",     "math",      "matmul",      "max",         "maximum",
    "minimum",      "narrow",    "ne",        "neg",         "nn",          "onnx",
    "onnx_attention", "onnx_conv", "onnx_index", "onnx_math", "onnx_norm", "onnx_pictures", "onnx_recurrent", "onnx_signal", "param",
    "permute",      "pow",       "remainder",   "require",     "reshape",
    "rotary",
    "round",        "rsqrt",     "scatter",   "scatter_add", "scope",       "sigmoid",
    "sin",          "slice",     "sqrt",      "sum",         "take",        "tanh",        "tap",
    "transformer",  "transpose", "where",     CR_PRINT_TABLE, "options",     "ipairs",
    "pairs",        "unpack",    "table",     "string"};

const char *cr_local_name(struct cr_printer *p, const char *name)
{
    static const char end[] = "_output_0";
    char text[64];
    int n = 0;
    if (!p->locals.n)
        for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
            cr_names_add(&p->locals, reserved[i]);
    const char *from = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    size_t length = strlen(from);
    if (length > strlen(end) && strcmp(from + length - strlen(end), end) == 0)
        length -= strlen(end);
    if (!length || isdigit((unsigned char)*from))
        text[n++] = 't';
    for (size_t i = 0; i < length && n < 48; i++)
        text[n++] = isalnum((unsigned char)from[i]) ? (char)tolower((unsigned char)from[i]) : '_';
    text[n] = '\0';
    return cr_take_name(p->arena, &p->locals, text);
}

const char *cr_public_name(struct cr_printer *p, const char *name)
{
    char text[NAME + 1];
    int n = 0;
    for (; *name == '/'; name++)
        ;
    for (; *name && n < NAME; name++)
        text[n++] = isalnum((unsigned char)*name) || strchr("_.-", *name) ? *name
                    : *name == '/'                                        ? '.'
                                                                          : '_';
    text[n] = '\0';
    return cr_take_name(p->arena, &p->names, n ? text : "value");
}

/* ---- data ---- */

static const char *const type_names[] = {"f32", "i32", "bool"};

const char *cr_sizes_text(struct cr_printer *p, int rank, const int64_t *shape,
                          const signed char *lengths)
{
    const char *text = "{";
    for (int i = 0; i < rank; i++) {
        const char *between = i ? ", " : "";
        text = lengths[i] ? cr_arena_print(p->arena, "%s%s%s", text, between,
                                           p->value_names[p->length_values[lengths[i] - 1]])
                          : cr_arena_print(p->arena, "%s%s%lld", text, between, (long long)shape[i]);
    }
    return cr_arena_print(p->arena, "%s}", text);
}

static const char *shape_text(struct cr_printer *p, cr_t x)
{
    return cr_sizes_text(p, x->rank, x->shape, x->lengths);
}

/* Appends an argument's text, in which marks of lengths are replaced by the lengths' names. */
static void put_text(struct cr_printer *p, struct cr_text *text, const char *from)
{
    for (; *from; from++)
        if (*from == CR_TERM_LENGTH)
            cr_put(text, "%s", p->value_names[p->length_values[*++from - '0']]);
        else
            cr_put(text, "%c", *from);
}

/* True if all elements of a term, at least one, are the same number. */
static bool is_uniform(cr_t x)
{
    for (int64_t i = 1; i < cr_t_elements(x); i++)
        if (memcmp(&x->data[i], &x->data[0], sizeof *x->data) != 0)
            return false;
    return true;
}

/* Finds a step per axis such that each element is the first one plus the sum of step * index.
 * Returns false if there are no such steps, or if listing the elements is shorter. */
static bool find_steps(cr_t x, double *steps)
{
    int64_t n = cr_t_elements(x), inner = 1;
    for (int axis = x->rank - 1; axis >= 0; inner *= x->shape[axis--])
        steps[axis] = x->shape[axis] > 1 ? x->data[inner] - x->data[0] : 0;
    for (int64_t i = 0; i < n; i++) {
        double expected = x->data[0];
        int64_t rest = i;
        for (int axis = x->rank - 1; axis >= 0; axis--) {
            expected += steps[axis] * (double)(rest % x->shape[axis]);
            rest /= x->shape[axis];
        }
        if (x->data[i] != expected)
            return false;
    }
    return n > 2;
}

/* Returns the script's weight that already holds these known elements, or null.  Compares shapes
 * too, as reshapes share elements. */
static struct cr_script_weight *find_weight(const struct cr_printer *p, cr_t x)
{
    for (int i = 0; i < p->n_weights; i++)
        if (p->weights[i].data == x->data && p->weights[i].type == x->type &&
            p->weights[i].rank == x->rank &&
            memcmp(p->weights[i].shape, x->shape, (size_t)x->rank * sizeof *x->shape) == 0)
            return &p->weights[i];
    return NULL;
}

/* Returns the weight that holds known elements that are too many for the script's text; adds it if
 * it is missing. */
static struct cr_script_weight *as_weight(struct cr_printer *p, cr_t x)
{
    struct cr_script_weight *w = find_weight(p, x);
    if (w)
        return w;
    w = CR_PUSH(p->weights, p->n_weights, p->cap_weights);
    *w = (struct cr_script_weight){
        .name = cr_public_name(p, "constant"), .type = x->type, .rank = x->rank, .data = x->data};
    memcpy(w->shape, x->shape, sizeof w->shape);
    return w;
}

/* Returns the text that reads a parameter.  Parameters are floats; the text casts them to
 * `type`. */
static const char *param_text(struct cr_printer *p, const char *name, enum cr_onnx_type type,
                              int rank, const int64_t *shape)
{
    const char *text = cr_arena_print(p->arena, "param(\"%s\", %s)", name, cr_arena_list(p->arena, rank, shape));
    switch (cr_language_type(type)) {
    case CR_LANGUAGE_I32:
        return cr_arena_print(p->arena, "int(%s)", text);
    case CR_LANGUAGE_BOOL:
        return cr_arena_print(p->arena, "ne(%s, 0)", text);
    default:
        return text;
    }
}

/* Returns a number as text; reports an error if an integer does not fit an i32. */
static const char *number_text(struct cr_printer *p, enum cr_onnx_type type, double number)
{
    if (cr_language_type(type) == CR_LANGUAGE_I32 &&
        !(number >= INT32_MIN && number <= INT32_MAX) && !p->error->text[0])
        cr_fail(p->error, "%.300s: found the number %.0f, expected a 32-bit integer, the only "
                "kind of the language", p->graph->path, number);
    return cr_lua_number(p->arena, number);
}

static void put_table(struct cr_printer *p, struct cr_text *text, cr_t x)
{
    cr_put(text, "const({");
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        cr_put(text, "%s%s", i ? ", " : "", number_text(p, x->type, x->data[i]));
    cr_put(text, "}, %s, \"%s\")", cr_arena_list(p->arena, x->rank, x->shape),
           type_names[cr_language_type(x->type)]);
}

/* Prints elements as a formula, the first one plus the sum of step * iota.  Puts it in parentheses
 * if the operator `around` binds tighter. */
static void put_counted(struct cr_printer *p, struct cr_text *text, cr_t x, const double *steps,
                        enum cr_precedence around)
{
    int parts = x->data[0] != 0;
    for (int i = 0; i < x->rank; i++)
        parts += steps[i] != 0 ? 1 + (steps[i] != 1 && around == CR_BINDS_PRODUCT) : 0;
    bool brackets = around > CR_BINDS_SUM || (around == CR_BINDS_SUM && parts > 1);
    const char *between = "";
    cr_put(text, "%s", brackets ? "(" : "");
    for (int i = 0; i < x->rank; i++) {
        if (steps[i] == 0)
            continue;
        cr_put(text, "%siota(%s, %d)", between, shape_text(p, x), i + 1);
        if (steps[i] != 1)
            cr_put(text, " * %s", number_text(p, x->type, steps[i]));
        between = " + ";
    }
    if (x->data[0] != 0)
        cr_put(text, "%s%s", between, number_text(p, x->type, x->data[0]));
    cr_put(text, "%s", brackets ? ")" : "");
}

/* True if booleans are true exactly where column <= row + *shift in the last two axes; sets
 * *shift. */
static bool find_triangle(cr_t x, int64_t *shift)
{
    if (x->rank < 2 || cr_t_elements(x) <= 4)
        return false;
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1], n = 0;
    while (n < columns && x->data[n] != 0)
        n++;
    *shift = n - 1;
    for (int64_t i = 0; i < cr_t_elements(x); i++)
        if ((x->data[i] != 0) != (i % columns <= i / columns % rows + *shift))
            return false;
    return true;
}

static void put_triangle(struct cr_printer *p, struct cr_text *text, cr_t x, int64_t shift)
{
    const char *shape = shape_text(p, x);
    cr_put(text, "le(iota(%s, %d), iota(%s, %d)", shape, x->rank, shape, x->rank - 1);
    if (shift)
        cr_put(text, " + %lld", (long long)shift);
    cr_put(text, ")");
}

/* Prints known elements that are a weight: the weight's local name, or param(...). */
static void put_weight(struct cr_printer *p, struct cr_text *text, cr_t x)
{
    const struct cr_script_weight *w = as_weight(p, x);
    cr_put(text, "%s", w->local ? w->local : param_text(p, w->name, x->type, x->rank, x->shape));
}

/* Prints known elements in the shortest form: a constant, a formula, a list, or a weight. */
static void put_data(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around)
{
    double steps[CR_ONNX_RANK];
    int64_t shift;
    enum cr_language_type type = cr_language_type(x->type);
    if (cr_t_elements(x) == 0)
        cr_put(text, "const(0, %s, \"%s\")", shape_text(p, x), type_names[type]);
    else if (is_uniform(x))
        cr_put(text, "const(%s, %s, \"%s\")", number_text(p, x->type, x->data[0]),
               shape_text(p, x), type_names[type]);
    else if (type == CR_LANGUAGE_I32 && find_steps(x, steps))
        put_counted(p, text, x, steps, around);
    else if (type == CR_LANGUAGE_BOOL && find_triangle(x, &shift))
        put_triangle(p, text, x, shift);
    else if (cr_t_elements(x) <= LITERAL)
        put_table(p, text, x);
    else
        put_weight(p, text, x);
}

void cr_print_shared_data(struct cr_printer *p, cr_t x)
{
    struct cr_text text = {0};
    if (x->kind != CR_TERM_DATA || cr_t_elements(x) <= LITERAL || cr_shared_data_name(p, x))
        return;
    put_data(p, &text, x, CR_BINDS_NOT);
    struct cr_script_weight *w = find_weight(p, x);
    if (w) {
        const char *name = cr_local_name(p, w->name);
        cr_print_definition(p, 0, name, text.data);
        w->local = p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", name) : name;
    }
    free(text.data);
}

const char *cr_shared_data_name(const struct cr_printer *p, cr_t x)
{
    const struct cr_script_weight *w = x->kind == CR_TERM_DATA ? find_weight(p, x) : NULL;
    return w ? w->local : NULL;
}

/* ---- values ---- */

const char *cr_value_text(struct cr_printer *p, int value)
{
    const struct cr_onnx_value *v = &p->graph->values[value];
    if (p->value_names[value] || !v->tensor)
        return p->value_names[value] ? p->value_names[value] : "nil";
    if (!p->public_names[value]) {
        p->public_names[value] = cr_public_name(p, v->name);
        struct cr_script_weight *w = CR_PUSH(p->weights, p->n_weights, p->cap_weights);
        *w = (struct cr_script_weight){
            .name = p->public_names[value], .type = v->type, .rank = v->rank, .tensor = v->tensor};
        memcpy(w->shape, v->shape, sizeof w->shape);
    }
    return param_text(p, p->public_names[value], v->type, v->rank, v->shape);
}

/* ---- terms ---- */

/* Returns the name that name_parts gave to a part of the current term, or null. */
static const char *part_name(const struct cr_printer *p, cr_t x);

static bool is_number(cr_t x)
{
    return x && x->kind == CR_TERM_DATA && cr_t_elements(x) == 1;
}

/* True if argument `i` of a call may be printed as a plain number, because another argument is a
 * tensor with the type and rank that the number takes on. */
static bool beside_tensor(cr_t call, int i)
{
    static const char *const takers[] = {"+",         "-",       "*",       "/",  "floor_divide",
                                         "remainder", "maximum", "minimum", "lt", "le",
                                         "gt",        "ge",      "eq",      "ne", "where"};
    bool takes = false;
    for (size_t k = 0; k < sizeof takers / sizeof *takers; k++)
        takes |= strcmp(call->name, takers[k]) == 0;
    bool is_where = strcmp(call->name, "where") == 0;
    cr_t x = call->arguments[i].term;
    if (!takes || (is_where && i == 0) || x->type == CR_ONNX_BOOL)
        return false;
    int rank = 0;
    bool tensor = false;
    for (int j = is_where; j < call->n_arguments; j++) {
        cr_t other = call->arguments[j].term;
        if (j != i && other && other->kind != CR_TERM_DATA)
            tensor = true;
        if (j != i && other && other->rank > rank)
            rank = other->rank;
    }
    if (is_where && call->arguments[0].term->rank > rank)
        rank = call->arguments[0].term->rank;
    return tensor && x->rank <= rank;
}

static void put_argument(struct cr_printer *p, struct cr_text *text, cr_t call, int i,
                         enum cr_precedence around)
{
    const struct cr_onnx_argument *a = &call->arguments[i];
    if (a->text)
        put_text(p, text, a->text);
    else if (is_number(a->term) && beside_tensor(call, i))
        cr_put(text, "%s", number_text(p, a->term->type, a->term->data[0]));
    else
        cr_print_term(p, text, a->term, around);
}

static void put_infix(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around)
{
    bool is_sum = *x->name == '+' || *x->name == '-';
    enum cr_precedence own = is_sum ? CR_BINDS_SUM : CR_BINDS_PRODUCT;
    cr_put(text, "%s", around > own ? "(" : "");
    put_argument(p, text, x, 0, own);
    cr_put(text, " %s ", x->name);
    put_argument(p, text, x, 1, own + 1);
    cr_put(text, "%s", around > own ? ")" : "");
}

/* Prints name(a, b): commas separate arguments, but do not follow "{" or precede "}". */
static void put_call(struct cr_printer *p, struct cr_text *text, cr_t x)
{
    bool comma = false;
    if (x->kind == CR_TERM_SCOPE) {
        size_t own = p->scope && strncmp(x->path, p->scope, strlen(p->scope)) == 0 ? strlen(p->scope) : 0;
        cr_put(text, "scope(\"%s\", %s", x->path + own, x->name);
        cr_value_text(p, x->weight); /* adds the weight and the bias to the script's weights */
        if (x->bias != CR_ONNX_NONE)
            cr_value_text(p, x->bias);
        comma = true;
    } else
        cr_put(text, "%s(", x->name);
    for (int i = 0; i < x->n_arguments; i++) {
        const char *own = x->arguments[i].text;
        bool ends = own && strcmp(own, CR_TERM_TABLE_END) == 0;
        cr_put(text, "%s", comma && !ends ? ", " : "");
        put_argument(p, text, x, i, CR_BINDS_NOT);
        comma = !(own && (strcmp(own, CR_TERM_TABLE) == 0 || own[strlen(own) - 1] == ' '));
    }
    cr_put(text, ")");
}

/* True if a term is a power with a number as its exponent, such as a ^ 2. */
static bool is_power(cr_t x)
{
    return strcmp(x->name, "pow") == 0 && is_number(x->arguments[1].term) &&
           x->arguments[1].term->rank <= x->arguments[0].term->rank &&
           x->arguments[0].term->kind != CR_TERM_DATA;
}

/* Prints a term that is a call, as an infix operator of Lua if there is one for it. */
static void put_made(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around)
{
    if (x->kind == CR_TERM_INFIX)
        put_infix(p, text, x, around);
    else if (is_power(x)) {
        double number = x->arguments[1].term->data[0];
        cr_put(text, "%s", around >= CR_BINDS_POWER ? "(" : "");
        cr_print_term(p, text, x->arguments[0].term, CR_BINDS_ALL);
        cr_put(text, " ^ %s%s", number_text(p, x->type, number),
               around >= CR_BINDS_POWER ? ")" : "");
    } else if (strcmp(x->name, "neg") == 0) {
        cr_put(text, "%s-", around > CR_BINDS_PRODUCT ? "(" : "");
        cr_print_term(p, text, x->arguments[0].term, CR_BINDS_POWER);
        cr_put(text, "%s", around > CR_BINDS_PRODUCT ? ")" : "");
    } else
        put_call(p, text, x);
}

void cr_print_term(struct cr_printer *p, struct cr_text *text, cr_t x, enum cr_precedence around)
{
    const char *name = part_name(p, x);
    if (name)
        cr_put(text, "%s", name);
    else if (x->kind == CR_TERM_VALUE)
        cr_put(text, "%s", cr_value_text(p, x->value));
    else if (x->kind == CR_TERM_DATA)
        put_data(p, text, x, around);
    else
        put_made(p, text, x, around);
}

/* ---- parts ---- */

/* A subterm of the term that is being printed. */
struct part {
    cr_t term;
    int uses;
    const char *name;
};

static int part_slot(const struct cr_parts *parts, cr_t x)
{
    unsigned at = (unsigned)((uintptr_t)x >> 4) & (unsigned)(parts->cap - 1);
    while (parts->items[at].term && parts->items[at].term != x)
        at = (at + 1) & (unsigned)(parts->cap - 1);
    return (int)at;
}

static const char *part_name(const struct cr_printer *p, cr_t x)
{
    if (!p->parts.cap)
        return NULL;
    return p->parts.items[part_slot(&p->parts, x)].name;
}

/* Returns the entry of a term in the table; adds one if it is missing. */
static struct part *add_part(struct cr_parts *parts, cr_t x)
{
    if (2 * parts->n >= parts->cap) {
        struct cr_parts old = *parts;
        parts->cap = old.cap ? 2 * old.cap : 64;
        parts->items = cr_calloc((size_t)parts->cap, sizeof *parts->items);
        for (int i = 0; i < old.cap; i++)
            if (old.items[i].term)
                parts->items[part_slot(parts, old.items[i].term)] = old.items[i];
        free(old.items);
    }
    struct part *part = &parts->items[part_slot(parts, x)];
    parts->n += !part->term;
    part->term = x;
    return part;
}

/* Counts the uses of each subterm.  The operands of a subterm that is used several times are
 * counted once. */
static void count_parts(struct cr_printer *p, cr_t x)
{
    if (x->kind == CR_TERM_VALUE || is_number(x))
        return;
    if (add_part(&p->parts, x)->uses++)
        return;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            count_parts(p, x->arguments[i].term);
}

/* Defines Lua names for subterms that are used several times, operands first. */
static void name_parts(struct cr_printer *p, cr_t x, const char *name, int indent, bool whole)
{
    if (x->kind == CR_TERM_VALUE || is_number(x) || part_name(p, x))
        return;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            name_parts(p, x->arguments[i].term, name, indent, false);
    if (whole || p->parts.items[part_slot(&p->parts, x)].uses < 2)
        return;
    struct cr_text text = {0};
    cr_print_term(p, &text, x, CR_BINDS_NOT);
    const char *own = cr_local_name(p, cr_arena_print(p->arena, "%s_part", name));
    cr_print_definition(p, indent, own, text.data);
    p->parts.items[part_slot(&p->parts, x)].name =
        p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", own) : own;
    free(text.data);
}

void cr_print_parts(struct cr_printer *p, cr_t x, const char *name, int indent)
{
    free(p->parts.items);
    p->parts = (struct cr_parts){0};
    count_parts(p, x);
    name_parts(p, x, name, indent, true);
}

void cr_print_definition(struct cr_printer *p, int indent, const char *name, const char *value)
{
    cr_put_line(&p->text, indent, "%s%s = %s", p->in_table ? CR_PRINT_TABLE "." : "local ", name, value);
    p->n_locals++;
}
