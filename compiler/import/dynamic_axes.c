/* dynamic_axes.c - compares translations for several sizes of a symbol; see dynamic_axes.h. */
#include "dynamic_axes.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "shape_inference.h"
#include "term_map.h"
#include "term_parts.h"

/* A comparison of two translations.  It copies the terms of the first and marks lengths in them. */
struct comparing {
    struct cr_onnx_script *script;
    const struct cr_onnx_script *other;
    const struct cr_onnx_length *varied; /* of the script */
    int64_t size;                        /* its size in the other translation */
    bool first, *is_other;
    int node;  /* the node whose term is compared */
    int *same; /* by value of the script: the other script's value, or CR_ONNX_NONE */
    struct cr_term_map made;
    struct cr_error *error;
};

static struct cr_arena *arena_of(const struct comparing *c)
{
    return &c->script->graph->arena;
}

/* ---- errors ---- */

static void refuse(const struct comparing *c, const char *what)
{
    char text[256];
    const struct cr_onnx_graph *g = c->script->graph;
    const char *name = c->varied->name;
    if (!c->error->text[0])
        cr_fail(c->error, "%.300s: %s: %s, expected the same or the length itself; --set %.60s=N fixes "
                "it", g->path,
                c->node == CR_ONNX_NONE ? "an input or output"
                                        : cr_onnx_show(&g->nodes[c->node], text, sizeof text),
                what, name);
}

static void refuse_structure(const struct comparing *c)
{
    *c->is_other |= !c->error->text[0];
    refuse(c, cr_arena_print(arena_of(c), "other operators with %.60s = %" PRId64 " than with %" PRId64,
                             c->varied->name, c->size, c->varied->bound));
}

static void refuse_number(const struct comparing *c, const char *what, double a, double b)
{
    refuse(c, cr_arena_print(arena_of(c), "%s %.9g with %.60s = %" PRId64 ", %.9g with %" PRId64, what,
                             a, c->varied->name, c->varied->bound, b, c->size));
}

/* ---- numbers ---- */

/* Compares a number of both translations.  Returns 1 + the index of the length that it equals in
 * both, 0 if it is the same number in both, or -1 otherwise.  `mark` is the result of an earlier
 * comparison, or 0. */
static int compare_number(const struct comparing *c, int mark, int64_t a, int64_t b)
{
    if (mark)
        return c->other->lengths[mark - 1].size == b ? mark : -1;
    if (a == b)
        return 0;
    if (c->first && a == c->varied->bound && b == c->size)
        return 1 + (int)(c->varied - c->script->lengths);
    return -1;
}

/* Marks the axes of a that are lengths; refuses sizes that differ otherwise. */
static bool compare_shape(const struct comparing *c, struct cr_onnx_term *a, cr_t b)
{
    if (a->rank != b->rank) {
        refuse_structure(c);
        return false;
    }
    for (int i = 0; i < a->rank; i++) {
        int mark = compare_number(c, a->lengths[i], a->shape[i], b->shape[i]);
        if (mark < 0) {
            refuse_number(c, "a size of", (double)a->shape[i], (double)b->shape[i]);
            return false;
        }
        a->lengths[i] = (signed char)mark;
    }
    return true;
}

/* ---- known elements ---- */

/* Returns the offset in `larger` of element i of x, which has the same index in both. */
static int64_t place_in(cr_t larger, cr_t x, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int a = x->rank - 1; a >= 0; a--) {
        at += i % x->shape[a] * stride;
        stride *= larger->shape[a];
        i /= x->shape[a];
    }
    return at;
}

/* True if the elements of b are the first ones of a along each axis. */
static bool is_beginning(cr_t a, cr_t b)
{
    int64_t n = cr_t_elements(b);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a->data[place_in(a, b, i)], &b->data[i], sizeof *b->data) != 0)
            return false;
    return true;
}

static bool all_same(cr_t x)
{
    for (int64_t i = 1; i < cr_t_elements(x); i++)
        if (x->data[i] != x->data[0])
            return false;
    return true;
}

/* The number length + more.  `mark` is 1 + the index of the length, or 0 if there is no length. */
struct count {
    int mark;
    int64_t more;
};

/* Returns the count that a marked term denotes: seq, float(seq - 1), expand(seq, {1, 1}). */
static struct count count_of(const struct comparing *c, cr_t x)
{
    struct count count = {0};
    while (x->kind == CR_TERM_CALL && x->n_arguments && x->arguments[0].term &&
           (strcmp(x->name, "float") == 0 || strcmp(x->name, "expand") == 0))
        x = x->arguments[0].term;
    if (x->kind == CR_TERM_INFIX && (*x->name == '+' || *x->name == '-') &&
        x->arguments[1].term->kind == CR_TERM_DATA && !x->arguments[1].term->rank) {
        int64_t number = (int64_t)x->arguments[1].term->data[0];
        count.more = *x->name == '+' ? number : -number;
        x = x->arguments[0].term;
    }
    for (int i = 0; x->kind == CR_TERM_VALUE && i < c->script->n_lengths; i++)
        if (c->script->lengths[i].value == x->value)
            count.mark = i + 1;
    return count;
}

/* Returns the count that is a in one translation and b in the other, or none. */
static struct count count_between(const struct comparing *c, int64_t a, int64_t b)
{
    bool counts = c->first && a - c->varied->bound == b - c->size;
    return counts ? (struct count){1 + (int)(c->varied - c->script->lengths), a - c->varied->bound}
                  : (struct count){0};
}

/* Returns the value of a count in the other translation. */
static int64_t number_of(const struct comparing *c, struct count count)
{
    return c->other->lengths[count.mark - 1].size + count.more;
}

/* Makes the term of a count: seq, float(seq - 1), expand(seq, {1, 1}). */
static cr_t count_term(const struct comparing *c, cr_t like, struct count count)
{
    struct cr_translation t = {.graph = c->script->graph, .error = c->error, .arena = arena_of(c)};
    struct cr_onnx_term *x = cr_arena_new(t.arena, 1, sizeof *x);
    *x = (struct cr_onnx_term){.kind = CR_TERM_VALUE,
                               .type = CR_ONNX_INT64,
                               .value = c->script->lengths[count.mark - 1].value,
                               .name = ""};
    cr_t y = count.more ? cr_t_with(&t, count.more > 0 ? "+" : "-", x, fabs((double)count.more)) : x;
    if (y && cr_language_type(like->type) == CR_LANGUAGE_F32)
        y = cr_t_call(&t, "float", like->type, 0, NULL, (struct cr_onnx_argument[]){{y, NULL}}, 1);
    if (y && like->rank)
        y = cr_t_call(&t, "expand", like->type, like->rank, like->shape,
                      (struct cr_onnx_argument[]){{y, NULL},
                                                  {NULL, cr_t_list(&t, like->rank, like->shape)}},
                      2);
    return y;
}

/* True if all elements are one whole number and no axis is a length. */
static bool is_count(cr_t x)
{
    double number = cr_t_elements(x) ? x->data[0] : 0.5;
    for (int i = 0; i < x->rank; i++)
        if (x->lengths[i])
            return false;
    return cr_language_type(x->type) != CR_LANGUAGE_BOOL && fabs(number) < 0x1p31 &&
           number == floor(number) && all_same(x);
}

/* Compares known elements: the elements of b are the first ones of a, or both are one count. */
static cr_t compare_data(struct comparing *c, struct cr_onnx_term *a, cr_t b)
{
    if (!compare_shape(c, a, b))
        return NULL;
    if (is_beginning(a, b))
        return a;
    if (is_count(a) && is_count(b)) {
        struct count count = count_between(c, (int64_t)a->data[0], (int64_t)b->data[0]);
        if (count.mark)
            return count_term(c, a, count);
    }
    if (all_same(a) && all_same(b))
        refuse_number(c, "the number", a->data[0], b->data[0]);
    else
        refuse(c, cr_arena_print(arena_of(c), "other numbers with %.60s = %" PRId64 " than with %" PRId64,
                                 c->varied->name, c->size, c->varied->bound));
    return NULL;
}

/* ---- values ---- */

/* True if the elements of weight b, of shape `small`, are the first ones of a along each axis. */
static bool is_same_weight(const struct cr_onnx_tensor *a, const struct cr_onnx_tensor *b, cr_t large,
                           cr_t small)
{
    if (a == b ||
        (a->data == b->data && a->elements == b->elements && a->is_transposed == b->is_transposed))
        return true;
    for (int64_t i = 0; i < b->elements; i++) {
        double x = cr_onnx_element(a, place_in(large, small, i)), y = cr_onnx_element(b, i);
        if (memcmp(&x, &y, sizeof x) != 0)
            return false;
    }
    return true;
}

/* True if two weights of a layer, values a and b of the graphs, are equal. */
static bool is_same_parameter(const struct comparing *c, int a, int b)
{
    if (a == CR_ONNX_NONE || b == CR_ONNX_NONE)
        return a == b;
    const struct cr_onnx_tensor *x = c->script->graph->values[a].tensor,
                                *y = c->other->graph->values[b].tensor;
    if (!x || !y || x->elements != y->elements)
        return false;
    bool same = x->data == y->data && x->is_transposed == y->is_transposed;
    for (int64_t i = 0; !same && i < x->elements; i++)
        if (cr_onnx_element(x, i) != cr_onnx_element(y, i))
            return false;
    return true;
}

static cr_t compare_value(struct comparing *c, struct cr_onnx_term *a, cr_t b)
{
    const struct cr_onnx_tensor *x = c->script->graph->values[a->value].tensor,
                                *y = c->other->graph->values[b->value].tensor;
    if (!compare_shape(c, a, b))
        return NULL;
    if (!x != !y || (x ? !is_same_weight(x, y, a, b) : c->same[a->value] != b->value)) {
        refuse_structure(c);
        return NULL;
    }
    return a;
}

/* ---- text ---- */

/* Returns the number of digits of the whole number that begins at `at`, or 0. */
static size_t digits_at(const char *text, const char *at)
{
    bool inside = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '.' || at[-1] == '_' ||
                                at[-1] == '-');
    size_t n = inside ? 0 : strspn(at, "0123456789");
    return isalnum((unsigned char)at[n]) || at[n] == '.' || n > 15 ? 0 : n;
}

/*
 * Compares texts that are equal except for whole numbers that are lengths.  Returns the first
 * with these marked, or null.
 */
static const char *compare_text(const struct comparing *c, cr_t call, const char *a, const char *b)
{
    const char *whole_a = a, *whole_b = b;
    char *out = cr_arena_new(arena_of(c), 2 * strlen(a) + 1, 1), *to = out;
    while (*a || *b) {
        bool is_mark = *a == CR_TERM_LENGTH;
        size_t n = is_mark ? 2 : digits_at(whole_a, a), m = digits_at(whole_b, b);
        if (!n || !m) {
            if (*a != *b)
                return NULL;
            *to++ = *a++;
            b++;
            continue;
        }
        int64_t x = is_mark ? 0 : strtoll(a, NULL, 10), y = strtoll(b, NULL, 10);
        int mark = compare_number(c, is_mark ? a[1] - '0' + 1 : 0, x, y);
        if (mark < 0) {
            refuse_number(c, call->name, (double)x, (double)y);
            return NULL;
        }
        if (mark) {
            *to++ = CR_TERM_LENGTH;
            *to++ = (char)('0' + mark - 1);
        } else
            to = (char *)memcpy(to, a, n) + n;
        a += n;
        b += m;
    }
    return out;
}

/* Compares the starts of two narrows.  Returns a number, or a length's mark and a signed number to
 * add; null if neither fits. */
static const char *compare_start(const struct comparing *c, cr_t call, const char *a, const char *b)
{
    int64_t y = strtoll(b, NULL, 10);
    struct count count = {*a == CR_TERM_LENGTH ? a[1] - '0' + 1 : 0, 0};
    if (count.mark) {
        count.more = strtoll(a + 2, NULL, 10);
        if (number_of(c, count) != y)
            refuse(c, "a start that is no length");
        return number_of(c, count) == y ? a : NULL;
    }
    int64_t x = strtoll(a, NULL, 10);
    if (x != y)
        count = count_between(c, x, y);
    if (count.mark)
        return cr_arena_print(arena_of(c), "%c%d%+" PRId64, CR_TERM_LENGTH, count.mark - 1, count.more);
    if (x != y)
        refuse_number(c, call->name, (double)x, (double)y);
    return x == y ? a : NULL;
}

/* ---- terms ---- */

static cr_t compare_term(struct comparing *c, cr_t a, cr_t b);

/* Compares two calls: the same function or layer, and arguments that compare as equal. */
static cr_t compare_call(struct comparing *c, struct cr_onnx_term *a, cr_t b)
{
    if (strcmp(a->name, b->name) != 0 || a->n_arguments != b->n_arguments ||
        (a->kind == CR_TERM_SCOPE && (!is_same_parameter(c, a->weight, b->weight) ||
                                      !is_same_parameter(c, a->bias, b->bias)))) {
        refuse_structure(c);
        return NULL;
    }
    if (!compare_shape(c, a, b))
        return NULL;
    if (cr_onnx_is_lua_op(a) && !cr_onnx_calls_alike(c->script, a, c->other, b)) {
        refuse(c, cr_arena_print(arena_of(c), "%s makes something else of %.60s = %" PRId64 " than of %" PRId64,
                                 a->name, c->varied->name, c->size, c->varied->bound));
        return NULL;
    }
    bool is_narrow = a->kind == CR_TERM_CALL && strcmp(a->name, "narrow") == 0;
    struct cr_onnx_argument *arguments =
        cr_arena_new(arena_of(c), (size_t)a->n_arguments + 1, sizeof *arguments);
    for (int i = 0; i < a->n_arguments; i++) {
        const struct cr_onnx_argument *x = &a->arguments[i], *y = &b->arguments[i];
        if (x->term && y->term)
            arguments[i].term = compare_term(c, x->term, y->term);
        else if (!x->term && !y->term && is_narrow && i == 2)
            arguments[i].text = compare_start(c, a, x->text, y->text);
        else if (!x->term && !y->term)
            arguments[i].text = compare_text(c, a, x->text, y->text);
        if (!arguments[i].term && !arguments[i].text) {
            refuse_structure(c);
            return NULL;
        }
    }
    a->arguments = arguments;
    return a;
}

/* Checks that b is the size of the count that a was found to be. */
static cr_t compare_count(struct comparing *c, struct cr_onnx_term *a, cr_t b, struct count count)
{
    if (b->kind == CR_TERM_DATA && cr_t_elements(b) > 0 && all_same(b) &&
        b->data[0] == (double)number_of(c, count) && compare_shape(c, a, b))
        return a;
    refuse(c, "a number that is no length");
    return NULL;
}

/* Returns a copy of a with lengths marked, or null if b differs.  A shared term is copied once. */
static cr_t compare_term(struct comparing *c, cr_t a, cr_t b)
{
    cr_t done = cr_term_map_find(&c->made, a);
    if (done)
        return done;
    struct cr_onnx_term *copy = cr_arena_new(arena_of(c), 1, sizeof *copy);
    *copy = *a;
    struct count count = count_of(c, a);
    if (count.mark)
        done = compare_count(c, copy, b, count);
    else if (a->kind != b->kind || a->type != b->type)
        refuse_structure(c);
    else if (a->kind == CR_TERM_VALUE)
        done = compare_value(c, copy, b);
    else if (a->kind == CR_TERM_DATA)
        done = compare_data(c, copy, b);
    else
        done = compare_call(c, copy, b);
    if (done)
        cr_term_map_add(&c->made, a, done);
    return done;
}

/* ---- the whole ---- */

void cr_onnx_input_lengths(const struct cr_onnx_script *script, const struct cr_onnx_value *v,
                           signed char *lengths)
{
    for (int a = 0; a < v->rank; a++)
        for (int i = 0; v->info->sizes[a].name && i < script->n_lengths; i++)
            if (strcmp(v->info->sizes[a].name, script->lengths[i].name) == 0)
                lengths[a] = (signed char)(i + 1);
}

/* Pairs the inputs, in their order. */
static int compare_inputs(struct comparing *c)
{
    const struct cr_onnx_graph *g = c->script->graph, *h = c->other->graph;
    for (int i = 0; i < g->n_values; i++)
        c->same[i] = CR_ONNX_NONE;
    if (g->n_inputs != h->n_inputs)
        return -1;
    for (int i = 0; i < g->n_inputs; i++)
        c->same[g->inputs[i]] = h->inputs[i];
    return 0;
}

/* Compares the statements, in their order, and pairs the values that they define. */
static int compare_statements(struct comparing *c)
{
    struct cr_onnx_script *s = c->script;
    for (int i = 0; i < s->n_statements && i < c->other->n_statements; i++) {
        struct cr_onnx_statement *a = &s->statements[i];
        const struct cr_onnx_statement *b = &c->other->statements[i];
        c->node = a->node;
        cr_t done = compare_term(c, a->term, b->term);
        if (!done)
            return -1;
        a->term = done;
        c->same[a->value] = b->value;
    }
    if (s->n_statements == c->other->n_statements)
        return 0;
    refuse_structure(c);
    return -1;
}

/* Compares the outputs, including outputs that no statement defines. */
static int compare_outputs(struct comparing *c)
{
    const struct cr_onnx_graph *g = c->script->graph, *h = c->other->graph;
    c->node = CR_ONNX_NONE;
    for (int i = 0; i < g->n_outputs; i++) {
        cr_t *a = &c->script->terms[g->outputs[i]], b = c->other->terms[h->outputs[i]];
        cr_t done = *a && b ? compare_term(c, *a, b) : NULL;
        if (!done)
            return -1;
        *a = done;
    }
    return 0;
}

int cr_onnx_compare_lengths(struct cr_onnx_script *script, const struct cr_onnx_script *other,
                            int varied, bool first, bool *is_other, struct cr_error *error)
{
    struct comparing c = {.script = script,
                          .other = other,
                          .varied = &script->lengths[varied],
                          .size = other->lengths[varied].size,
                          .first = first,
                          .is_other = is_other,
                          .node = CR_ONNX_NONE,
                          .same = cr_calloc((size_t)script->graph->n_values, sizeof *c.same),
                          .error = error};
    error->text[0] = '\0';
    int status = compare_inputs(&c) || compare_statements(&c) || compare_outputs(&c) ? -1 : 0;
    if (status)
        refuse_structure(&c);
    free(c.same);
    cr_term_map_free(&c.made);
    return status;
}
