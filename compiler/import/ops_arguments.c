/* ops_arguments.c - reads the arguments of an operator's function from a node; see
 * ops_arguments.h. */
#include "ops_arguments.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shape_inference.h"
#include "term_parts.h"

enum { MOST_WORD = 64 };

/* ---- making arguments ---- */

static void add(struct cr_translation *t, struct cr_op_arguments *a, struct cr_op_argument argument)
{
    if (a->n == CR_MOST_ARGUMENTS)
        cr_onnx_refuse(t, "too many operands and attributes, expected at most %d", CR_MOST_ARGUMENTS);
    else
        a->items[a->n++] = argument;
}

static void add_numbers(struct cr_translation *t, struct cr_op_arguments *a, const char *option, bool is_list,
                        const double *numbers, int64_t n)
{
    add(t, a, (struct cr_op_argument){CR_ARGUMENT_NUMBERS, option, is_list, n, .numbers = numbers});
}

static void add_number(struct cr_translation *t, struct cr_op_arguments *a, const char *option, double number)
{
    double *copy = cr_arena_new(t->arena, 1, sizeof *copy);
    *copy = number;
    add_numbers(t, a, option, false, copy, 1);
}

static void add_text(struct cr_translation *t, struct cr_op_arguments *a, const char *option, const char *text)
{
    const char **copy = cr_arena_new(t->arena, 1, sizeof *copy);
    *copy = text;
    add(t, a, (struct cr_op_argument){CR_ARGUMENT_TEXTS, option, false, 1, .texts = copy});
}

/* ---- inputs ---- */

/* Returns the elements of an integer input, each as cr_t_whole clamps it. */
static const double *whole_numbers(struct cr_translation *t, const double *numbers, int64_t n)
{
    double *whole = cr_arena_new(t->arena, (size_t)n, sizeof *whole);
    for (int64_t i = 0; i < n; i++)
        whole[i] = cr_number_of_size(cr_t_whole(numbers[i]));
    return whole;
}

/* Adds the elements of an input as an option.  Adds none for an input without elements. */
static void add_elements(struct cr_translation *t, struct cr_op_arguments *a, const char *option, cr_t x)
{
    const double *numbers = cr_t_known_sizes(t, x);
    int64_t n = numbers ? cr_t_elements(x) : 0;
    if (n > CR_ONNX_MANY)
        cr_onnx_refuse(t, "%lld numbers, expected at most %d", (long long)n, CR_ONNX_MANY);
    if (n < 1 || t->failed)
        return;
    if (cr_language_type(x->type) != CR_LANGUAGE_F32)
        numbers = whole_numbers(t, numbers, n);
    add_numbers(t, a, option, x->rank > 0, numbers, n);
}

/* True if the last letter of a word for an input tells that the input's elements are an option. */
static bool is_option_ending(char ending)
{
    return strchr("=~#", ending) != NULL;
}

/* Replaces each 0 among numbers that are given by axis by 1, and sets bit i of `no_size` where
 * number i was 0, so that axis i of the result gets size 0. */
static cr_t without_zeros(struct cr_translation *t, struct cr_op_arguments *a, cr_t x)
{
    const double *numbers = cr_t_known_sizes(t, x);
    double more[CR_ONNX_RANK];
    if (!numbers || cr_t_elements(x) > CR_ONNX_RANK)
        return x;
    for (int64_t i = 0; i < cr_t_elements(x); i++) {
        a->no_size |= (numbers[i] == 0 ? 1u : 0u) << i;
        more[i] = numbers[i] == 0 ? 1 : numbers[i];
    }
    return a->no_size ? cr_t_data(t, x->type, x->rank, x->shape, more) : x;
}

/* Adds an input whose elements are an option; the last letter of `word`, the input's word in the
 * row, gives the conditions. */
static void add_option_input(struct cr_translation *t, struct cr_op_arguments *a, const char *word, cr_t x)
{
    size_t length = strlen(word) - 1;
    char ending = word[length];
    if (!x)
        return;
    if (ending == '#')
        x = without_zeros(t, a, x);
    if (ending == '~' && !x->data && x->kind == CR_TERM_VALUE)
        t->unknown = x->value; /* if the function fails without the option, import tries to make it
                                  a known value */
    else
        add_elements(t, a, cr_arena_text(t->arena, word, length), x);
}

/* Adds an input that is an operand; `ending` is the last letter of its word in the row. */
static void add_operand(struct cr_translation *t, struct cr_op_arguments *a, char ending, const cr_t *x)
{
    if (ending == '?' && *x && (*x)->kind == CR_TERM_DATA && cr_t_elements(*x) == 1)
        add_numbers(t, a, NULL, false, (*x)->data, 1);
    else if (*x && (ending != '*' || cr_t_elements(*x)))
        add(t, a, (struct cr_op_argument){CR_ARGUMENT_TENSOR, NULL, false, 1, .terms = x});
    else
        add(t, a, (struct cr_op_argument){.kind = CR_ARGUMENT_NIL});
}

/* Adds all inputs as one list; none of them may be omitted. */
static void add_all(struct cr_translation *t, struct cr_op_arguments *a)
{
    for (int i = 0; i < t->node->n_inputs; i++)
        if (!t->in[i])
            cr_onnx_refuse(t, "input %d is missing, expected a tensor", i + 1);
    add(t, a, (struct cr_op_argument){CR_ARGUMENT_TENSORS, NULL, true, t->node->n_inputs, .terms = t->in});
}

/* ---- attributes ---- */

static const double *of_integers(struct cr_translation *t, const int64_t *integers, int n)
{
    double *numbers = cr_arena_new(t->arena, (size_t)n, sizeof *numbers);
    for (int i = 0; i < n; i++)
        numbers[i] = (double)integers[i];
    return numbers;
}

/* Returns the kind that an attribute of an inlined operator has to have. */
static enum cr_onnx_kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum cr_onnx_kind kind;
    } kinds[] = {{"activation", CR_ONNX_A_STRING}, {"activation_alpha", CR_ONNX_A_FLOAT},
                 {"alpha", CR_ONNX_A_FLOAT}, {"approximate", CR_ONNX_A_STRING}, {"axes", CR_ONNX_A_INTS},
                 {"beta", CR_ONNX_A_FLOAT},  {"ends", CR_ONNX_A_INTS},          {"epsilon", CR_ONNX_A_FLOAT},
                 {"max", CR_ONNX_A_FLOAT},   {"min", CR_ONNX_A_FLOAT},          {"perm", CR_ONNX_A_INTS},
                 {"scale", CR_ONNX_A_FLOAT}, {"split", CR_ONNX_A_INTS},         {"starts", CR_ONNX_A_INTS},
                 {"theta", CR_ONNX_A_FLOAT}, {"value", CR_ONNX_A_TENSOR}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return CR_ONNX_A_INT;
}

/* Adds an attribute, if the node has it, as an option of its name; a tensor counts as its first
 * element.  Functions that scripts call check the types of their options themselves. */
static void add_attribute(struct cr_translation *t, const struct cr_onnx_op *op, struct cr_op_arguments *a,
                          const char *name)
{
    const struct cr_onnx_attribute *x = op->is_inlined ? cr_onnx_typed(t->node, name, kind_of(name))
                                                       : cr_onnx_attribute(t->node, name);
    if (!x)
        return;
    name = x->name;
    if (x->kind == CR_ONNX_A_STRING && x->s)
        add_text(t, a, name, x->s);
    else if (x->kind == CR_ONNX_A_INT)
        add_number(t, a, name, cr_number_of_size(x->i)); /* may be a symbol in a recogniser's
                                                            node */
    else if (x->kind == CR_ONNX_A_FLOAT)
        add_number(t, a, name, x->f);
    else if (x->kind == CR_ONNX_A_FLOATS && (x->floats || !x->n))
        add_numbers(t, a, name, true, x->floats, x->n);
    else if (x->kind == CR_ONNX_A_INTS && (x->ints || !x->n))
        add_numbers(t, a, name, true, of_integers(t, x->ints, x->n), x->n);
    else if (x->kind == CR_ONNX_A_STRINGS && (x->strings || !x->n))
        add(t, a, (struct cr_op_argument){CR_ARGUMENT_TEXTS, name, true, x->n, .texts = x->strings});
    else if (x->kind == CR_ONNX_A_TENSOR && x->tensor) {
        cr_t *term = cr_arena_new(t->arena, 1, sizeof *term);
        bool is_known = x->tensor->data && x->tensor->elements;
        *term = cr_t_number(t, x->tensor->type, is_known ? cr_onnx_element(x->tensor, 0) : 0);
        add(t, a, (struct cr_op_argument){CR_ARGUMENT_TENSOR, name, false, 1, .terms = term});
    } else
        cr_onnx_refuse(t, "attribute %s has another type, expected the one that ONNX defines", name);
}

/* Adds option `outputs`: a boolean for each output, true if the node has it. */
static void add_outputs(struct cr_translation *t, struct cr_op_arguments *a)
{
    int n = t->node->n_outputs;
    bool *has = cr_arena_new(t->arena, (size_t)n, sizeof *has);
    for (int i = 0; i < n; i++)
        has[i] = cr_has_output(t, i);
    add(t, a, (struct cr_op_argument){CR_ARGUMENT_TRUTHS, "outputs", true, n, .truths = has});
}

/* Adds option `shape`: the shape of output 0, which a recogniser set. */
static void add_shape(struct cr_translation *t, struct cr_op_arguments *a)
{
    const struct cr_onnx_value *y = &t->graph->values[t->node->outputs[0]];
    double *sizes = cr_arena_new(t->arena, (size_t)y->rank, sizeof *sizes);
    for (int i = 0; i < y->rank; i++)
        sizes[i] = cr_number_of_size(y->shape[i]);
    add_numbers(t, a, "shape", true, sizes, y->rank);
}

/* Adds option `type`: the type of input 0, if it is a narrow or unsigned integer. */
static void add_type(struct cr_translation *t, struct cr_op_arguments *a)
{
    cr_t x = cr_input(t, 0);
    if (x && cr_language_type(x->type) == CR_LANGUAGE_I32 && x->type != CR_ONNX_INT32 && x->type != CR_ONNX_INT64)
        add_text(t, a, "type", cr_onnx_type_name(x->type));
}

/* Handles a word with "@" of a row, as ops.def describes it: adds an option that is not an
 * attribute, or sets a flag. */
static void add_other(struct cr_translation *t, struct cr_op_arguments *a, const char *name)
{
    static const bool yes = true;
    if (strcmp(name, "only_shape") == 0)
        a->only_shape = true;
    else if (strcmp(name, "result=int32") == 0)
        a->is_int32 = true;
    else if (strncmp(name, "empty=", 6) == 0)
        a->empty = cr_arena_text(t->arena, name + 6, strlen(name + 6));
    else if (strncmp(name, "version<", 8) == 0 && t->node->version < atoi(name + 8))
        add_number(t, a, "version", t->node->version);
    else if (strcmp(name, "type") == 0)
        add_type(t, a);
    else if (strcmp(name, "outputs") == 0)
        add_outputs(t, a);
    else if (strcmp(name, "shape") == 0)
        add_shape(t, a);
    else if (strcmp(name, "pytorch") == 0 && strcmp(t->graph->model->producer, "pytorch") == 0)
        add(t, a, (struct cr_op_argument){CR_ARGUMENT_TRUTHS, "pytorch", false, 1, .truths = &yes});
}

/* ---- a row ---- */

/* Copies the next word of a list to `word` and advances; returns false at the end of the list. */
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

/* Adds the inputs whose words in `inputs` make them operands. */
static void add_operands(struct cr_translation *t, struct cr_op_arguments *a, const char *inputs)
{
    static const cr_t none = NULL;
    char word[MOST_WORD];
    for (int i = 0; next_word(&inputs, word); i++) {
        char ending = word[strlen(word) - 1];
        if (strcmp(word, "x...") == 0)
            add_all(t, a);
        else if (ending != '-' && !is_option_ending(ending))
            add_operand(t, a, ending, i < t->node->n_inputs ? &t->in[i] : &none);
    }
    a->n_operands = a->n;
}

void cr_op_arguments_read(struct cr_translation *t, const struct cr_onnx_op *op, struct cr_op_arguments *a)
{
    char word[MOST_WORD];
    const char *inputs = op->inputs;
    memset(&a->n, 0, sizeof *a - offsetof(struct cr_op_arguments, n));
    a->has_options = *op->attributes || op->inputs[strcspn(op->inputs, "=~#")];
    add_operands(t, a, op->inputs);
    for (int i = 0; next_word(&inputs, word); i++)
        if (is_option_ending(word[strlen(word) - 1]))
            add_option_input(t, a, word, cr_input(t, i));
    for (const char *list = op->attributes; next_word(&list, word);)
        if (*word == '@')
            add_other(t, a, word + 1);
        else
            add_attribute(t, op, a, word);
    while (!op->is_inlined && a->n && a->n == a->n_operands && a->items[a->n - 1].kind == CR_ARGUMENT_NIL)
        a->n = --a->n_operands;
}
