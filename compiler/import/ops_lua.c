/*
 * ops_lua.c - translates operators into calls of functions of graphs/lib/onnx.lua; see ops.def.
 *
 * A call has the tensors in the order of the row, then a table of options, which have to be known
 * at import: onnx.resize(x, {mode = "linear", sizes = {1, 1, 8, 8}}).  The front end infers the
 * shape of the result.
 */
#include "ops_lua.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/text.h"
#include "fold_call.h"
#include "shape_inference.h"
#include "term_parts.h"

enum { MOST_ARGUMENTS = 64, MOST_WORD = 64 };

/* A call that is being made. */
struct call {
    struct cr_translation *t;
    struct cr_onnx_argument arguments[MOST_ARGUMENTS];
    int n, n_options;
    bool only_shape; /* the function takes the option `only_shape` */
    bool at_import;  /* it is one of onnx_known */
    bool takes;      /* the function returns indices, and output 0 consists of the elements of
                      * input 0 at them */
    struct cr_text shapes; /* at_import: the shapes of the lists among the options */
    const char *empty; /* the elements of a result of operands without elements, or null */
    unsigned no_size;  /* a bit for each axis of the result that has size 0 */
};

/* ---- values as Lua text ---- */

/* Appends a text in quotes.  Escapes spaces: a long line would be broken there. */
static void put_string(struct cr_text *text, const char *string)
{
    cr_put(text, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c; c++)
        cr_put(text, *c == '"' || *c == '\\' ? "\\%c" : isgraph(*c) ? "%c" : "\\%03d", *c);
    cr_put(text, "\"");
}

/* Returns a number as text, which may be a symbol. */
static const char *number_text(struct call *c, double number)
{
    return cr_number_is_symbol(number) ? cr_t_text(c->t, cr_t_whole(number))
                                       : cr_lua_number(c->t->arena, number);
}

/* Appends numbers, as a list if there may be several. */
static void put_numbers(struct call *c, struct cr_text *text, bool is_list, bool is_whole, int64_t n,
                        const double *numbers)
{
    cr_put(text, "%s", is_list ? "{" : "");
    for (int64_t i = 0; i < n; i++)
        cr_put(text, "%s%s", i ? ", " : "",
               number_text(c, is_whole ? cr_number_of_size(cr_t_whole(numbers[i])) : numbers[i]));
    cr_put(text, "%s", is_list ? "}" : "");
}

/* ---- arguments ---- */

static void add(struct call *c, struct cr_onnx_argument argument)
{
    if (c->n == MOST_ARGUMENTS)
        cr_onnx_refuse(c->t, "too many operands and attributes, expected at most %d",
                       MOST_ARGUMENTS);
    else
        c->arguments[c->n++] = argument;
}

/* Adds an option key = value; frees the text. */
static void add_option(struct call *c, const char *key, struct cr_text *value)
{
    if (!c->n_options++)
        add(c, (struct cr_onnx_argument){NULL, CR_TERM_TABLE});
    add(c, (struct cr_onnx_argument){NULL, cr_arena_print(c->t->arena, "%s = %s", key, value->data)});
    free(value->data);
}

/* Adds the elements of an input as an option; an input without elements counts as left out. */
static void add_numbers(struct call *c, const char *key, cr_t x)
{
    struct cr_text text = {0};
    const double *numbers = c->at_import ? cr_t_known(c->t, x) : cr_t_known_sizes(c->t, x);
    int64_t n = numbers ? cr_t_elements(x) : 0;
    int most = c->at_import ? CR_FOLDED : CR_ONNX_MANY;
    bool is_whole = !c->at_import && cr_language_type(x->type) != CR_LANGUAGE_F32;
    if (n > most)
        cr_onnx_refuse(c->t, "%lld numbers, expected at most %d", (long long)n, most);
    if (numbers && c->at_import)
        cr_put(&c->shapes, "%s, ", cr_t_list(c->t, x->rank, x->shape));
    if (n < 1 || c->t->failed)
        return;
    put_numbers(c, &text, x->rank > 0 || c->at_import, is_whole, n, numbers);
    add_option(c, key, &text);
}

/* The endings of words for inputs whose elements are an option. */
static bool is_option_ending(char ending)
{
    return strchr("=~#", ending) != NULL;
}

/* Returns numbers by axis, with 1 in place of 0; axes with 0 get size 0 in the result. */
static cr_t without_zeros(struct call *c, cr_t x)
{
    const double *numbers = cr_t_known_sizes(c->t, x);
    double more[CR_ONNX_RANK];
    if (!numbers || cr_t_elements(x) > CR_ONNX_RANK)
        return x;
    for (int64_t i = 0; i < cr_t_elements(x); i++) {
        c->no_size |= (numbers[i] == 0 ? 1u : 0u) << i;
        more[i] = numbers[i] == 0 ? 1 : numbers[i];
    }
    return c->no_size ? cr_t_data(c->t, x->type, x->rank, x->shape, more) : x;
}

/* Adds an input, as the ending of its word in the row says. */
static void add_input(struct call *c, char *word, cr_t x)
{
    size_t length = strlen(word);
    char ending = word[length - 1];
    bool is_option = is_option_ending(ending);
    if (is_option)
        word[length - 1] = '\0';
    if (ending == '#' && x)
        x = without_zeros(c, x);
    if (ending == '~' && x && !x->data && x->kind == CR_TERM_VALUE)
        c->t->unknown = x->value; /* becomes a known value if the function fails without it */
    else if (is_option && x)
        add_numbers(c, word, x);
    else if (ending == '?' && x && x->kind == CR_TERM_DATA && cr_t_elements(x) == 1)
        add(c, (struct cr_onnx_argument){NULL, number_text(c, x->data[0])});
    else if (!is_option)
        add(c, x && (ending != '*' || cr_t_elements(x)) ? (struct cr_onnx_argument){x, NULL}
                                                        : (struct cr_onnx_argument){NULL, "nil"});
}

/* Adds an attribute as an option of its name, if the node has it. */
static void add_attribute(struct call *c, const char *name)
{
    const struct cr_onnx_attribute *a = cr_onnx_attribute(c->t->node, name);
    struct cr_text text = {0};
    if (!a)
        return;
    if (a->kind == CR_ONNX_A_STRING && a->s)
        put_string(&text, a->s);
    else if (a->kind == CR_ONNX_A_INT)
        cr_put(&text, "%lld", (long long)a->i);
    else if (a->kind == CR_ONNX_A_FLOAT)
        put_numbers(c, &text, false, false, 1, &a->f);
    else if (a->kind == CR_ONNX_A_FLOATS && (a->floats || !a->n))
        put_numbers(c, &text, true, false, a->n, a->floats);
    else if (a->kind == CR_ONNX_A_INTS && (a->ints || !a->n)) {
        cr_put(&text, "{");
        for (int i = 0; i < a->n; i++)
            cr_put(&text, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
        cr_put(&text, "}");
    } else if (a->kind == CR_ONNX_A_STRINGS && (a->strings || !a->n)) {
        cr_put(&text, "{");
        for (int i = 0; i < a->n; i++) {
            cr_put(&text, "%s", i ? ", " : "");
            put_string(&text, a->strings[i]);
        }
        cr_put(&text, "}");
    } else {
        cr_onnx_refuse(c->t, "attribute %s has another type, expected that of the operator", name);
        return;
    }
    add_option(c, name, &text);
}

/* Adds an option that is not an attribute: "version<11" is the version of the operators if it is
 * below 11; "type" is the name of an integer type other than int32 and int64; "pytorch" is true
 * if PyTorch wrote the file; "only_shape" is true in a call that only infers a shape.  "empty=1"
 * sets `empty` and "take" `takes`, which are no options. */
static void add_other(struct call *c, const char *name)
{
    const struct cr_onnx_node *node = c->t->node;
    struct cr_text text = {0};
    cr_t x = cr_input(c->t, 0);
    if (strcmp(name, "only_shape") == 0 || strcmp(name, "take") == 0) {
        c->only_shape |= *name == 'o';
        c->takes |= *name == 't';
        return;
    }
    if (strncmp(name, "empty=", 6) == 0) {
        c->empty = cr_arena_text(c->t->arena, name + 6, strlen(name + 6));
        return;
    }
    if (strncmp(name, "version<", 8) == 0) {
        if (node->version >= atoi(name + 8))
            return;
        cr_put(&text, "%d", node->version);
        name = "version";
    } else if (strcmp(name, "type") == 0) {
        if (!x || cr_language_type(x->type) != CR_LANGUAGE_I32 || x->type == CR_ONNX_INT32 ||
            x->type == CR_ONNX_INT64)
            return;
        put_string(&text, cr_onnx_type_name(x->type));
    } else {
        if (strcmp(c->t->graph->model->producer, "pytorch") != 0)
            return;
        cr_put(&text, "true");
    }
    add_option(c, name, &text);
}

/* Reads the next word of a list and moves on; false at the end. */
static bool next_word(const char **list, char *word)
{
    *list += strspn(*list, " ");
    size_t length = strcspn(*list, " ");
    if (!length || length >= MOST_WORD)
        return false;
    memcpy(word, *list, length);
    word[length] = '\0';
    *list += length;
    return true;
}

/* Adds all inputs as a list, in which none may be missing. */
static void add_list(struct call *c)
{
    add(c, (struct cr_onnx_argument){NULL, CR_TERM_TABLE});
    for (int i = 0; i < c->t->node->n_inputs; i++)
        if (c->t->in[i])
            add(c, (struct cr_onnx_argument){c->t->in[i], NULL});
        else
            cr_onnx_refuse(c->t, "input %d is missing, expected a tensor", i + 1);
    add(c, (struct cr_onnx_argument){NULL, CR_TERM_TABLE_END});
}

/* Adds tensors, then options.  Without options, missing tensors at the end are left out. */
static void add_arguments(struct call *c, const struct cr_onnx_op *op)
{
    char word[MOST_WORD];
    const char *inputs = op->inputs;
    for (int i = 0; next_word(&inputs, word); i++)
        if (strcmp(word, "x...") == 0)
            add_list(c);
        else if (word[strlen(word) - 1] != '-' && !is_option_ending(word[strlen(word) - 1]))
            add_input(c, word, cr_input(c->t, i));
    inputs = op->inputs;
    for (int i = 0; next_word(&inputs, word); i++)
        if (is_option_ending(word[strlen(word) - 1]))
            add_input(c, word, cr_input(c->t, i));
    for (const char *list = op->attributes; next_word(&list, word);)
        if (*word == '@')
            add_other(c, word + 1);
        else
            add_attribute(c, word);
    if (c->at_import) {
        struct cr_text shapes = {0};
        cr_put(&shapes, "{%s}", c->shapes.data ? c->shapes.data : "");
        add_option(c, "shapes", &shapes);
        free(c->shapes.data);
    }
    if (c->n_options)
        add(c, (struct cr_onnx_argument){NULL, CR_TERM_TABLE_END});
    while (c->n && c->arguments[c->n - 1].text && strcmp(c->arguments[c->n - 1].text, "nil") == 0)
        c->n--;
}

/* ---- the result ---- */

/* Returns the ONNX type of a result: the type of the first input with the same language type. */
static enum cr_onnx_type type_of(const struct cr_translation *t, enum cr_language_type type)
{
    for (int i = 0; i < t->node->n_inputs; i++)
        if (t->in[i] && cr_language_type(t->in[i]->type) == type)
            return t->in[i]->type;
    return type == CR_LANGUAGE_F32   ? CR_ONNX_FLOAT
           : type == CR_LANGUAGE_I32 ? CR_ONNX_INT64
                                     : CR_ONNX_BOOL;
}

/* Infers the shape and type of a call's result; false if it refuses. */
static bool infer(struct call *c, const char *name, const struct cr_onnx_argument *arguments,
                  struct cr_inferred *result)
{
    struct cr_error error = {""};
    struct cr_onnx_argument all[MOST_ARGUMENTS + 1];
    int n = c->n;
    memcpy(all, arguments, (size_t)n * sizeof *all);
    if (c->only_shape && c->n_options) { /* before the end of the table */
        all[n - 1].text = "only_shape = true";
        all[n++] = (struct cr_onnx_argument){NULL, CR_TERM_TABLE_END};
    }
    struct cr_onnx_term call = {.kind = CR_TERM_CALL, .name = name, .arguments = all, .n_arguments = n};
    if (!cr_onnx_infer(c->t->graph, &call, result, &error))
        return true;
    cr_onnx_refuse(c->t, "%s", error.text);
    return false;
}

/* Infers the result with another size for axes of size 0. */
static bool infer_instead(struct call *c, const char *name, int64_t size,
                          struct cr_inferred *result)
{
    struct cr_onnx_argument arguments[MOST_ARGUMENTS];
    memcpy(arguments, c->arguments, sizeof arguments);
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

/* Infers a result for operands without elements, which the language does not have: tries sizes 2
 * and 3 in place of 0.  Axes of the result that vary with the size get size 0. */
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
    bool known = (n || c->empty) &&
                 memcmp(result->shape, other.shape, (size_t)other.rank * sizeof *other.shape) == 0;
    if (!known)
        cr_onnx_refuse(c->t, "found %s of a tensor without elements, expected some", name);
    return known;
}

/* Returns the elements of the first input at constant indices along the attribute `axis`; without
 * that attribute, at indices into the flattened input. */
static cr_t take(struct cr_translation *t, cr_t places)
{
    cr_t x = t->in[0];
    bool flat = !cr_onnx_attribute(t->node, "axis");
    int64_t n = cr_t_elements(places), *indices = cr_t_array(t, n);
    int64_t all = x ? cr_t_count(t, x->rank, x->shape) : 0;
    for (int64_t i = 0; i < n; i++)
        indices[i] = cr_t_whole(places->data[i]);
    if (flat)
        x = cr_t_reshape(t, x, 1, &all);
    int axis = flat || !x ? 0 : cr_axis(t, cr_onnx_integer(t->node, "axis", 0), x->rank);
    return cr_t_take(t, x, axis, n, indices);
}

/* Gives a result of onnx_known, a row of its rank, sizes and elements. */
static void give_packed(struct call *c, int output, cr_t row)
{
    int64_t shape[CR_ONNX_RANK];
    int rank = (int)row->data[0];
    for (int a = 0; a < rank; a++)
        shape[a] = (int64_t)row->data[1 + a];
    cr_t y = cr_t_data(c->t, CR_ONNX_INT64, rank, shape, row->data + 1 + rank);
    cr_set_output(c->t, output, y && c->takes && output == 0 ? take(c->t, y) : y);
}

/* Gives a call of a function, or its known elements, as one of the outputs. */
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
        if (c->no_size >> a & 1)
            result.shape[a] = 0;
    if (c->no_size || (empty && c->empty)) {
        double number = c->empty ? strtod(c->empty, NULL) : 0;
        cr_set_output(t, output,
                      cr_t_full(t, type_of(t, result.type), result.rank, result.shape, number));
        return;
    }
    cr_t call = cr_t_call(t, name, type_of(t, result.type), result.rank, result.shape, c->arguments, c->n);
    cr_t known = call && call->kind == CR_TERM_CALL ? cr_fold_call(t, call) : NULL;
    if (known && c->at_import)
        give_packed(c, output, known);
    else if (c->at_import)
        cr_onnx_refuse(t, "too many constants are folded, expected fewer");
    else
        cr_set_output(t, output, known ? known : call);
}

void cr_translate_by_lua(struct cr_translation *t, const struct cr_onnx_op *op)
{
    struct call c = {.t = t};
    char word[MOST_WORD];
    const char *functions = op->lua;
    c.at_import = strncmp(functions, CR_ONNX_KNOWN, strlen(CR_ONNX_KNOWN)) == 0;
    add_arguments(&c, op);
    for (int i = 0; next_word(&functions, word) && !t->failed; i++)
        if (cr_has_output(t, i))
            give(&c, i, cr_arena_text(t->arena, word, strlen(word)));
}
