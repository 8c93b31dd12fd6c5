/*
 * attention_parts.c - ATTENTION and ATTENTION_BACKWARD: the tables of their programs, operands and
 * results (struct cr_kernel_parts), and functions for the member `attention` of struct cr_kernel.
 */
#include "attention_parts.h"

#include <string.h>

#include "kinds.h"

const char *const cr_array_titles[] = {[CR_SUM_OVER_KEYS] = "summed over keys",
                                       [CR_SUM_OVER_QUERIES] = "summed over queries",
                                       [CR_WHOLE_ARRAY] = "stored",
                                       [CR_OF_SINK] = "of a sink",
                                       [CR_SCATTERED] = "scattered"};

/* ---- numbers ---- */

static int part_numbers(const struct cr_row_parts *parts, int64_t *numbers)
{
    int n = 0;
    numbers[n++] = parts->n;
    for (int i = 0; i < parts->n; i++) {
        numbers[n++] = parts->items[i].atom;
        numbers[n++] = parts->items[i].start;
        numbers[n++] = parts->items[i].step;
    }
    return n;
}

static int edge_numbers(const struct cr_edge *edge, int64_t *numbers)
{
    numbers[0] = edge->moves + 2 * edge->stays;
    numbers[1] = edge->offset;
    numbers[2] = edge->at;
    return 3;
}

/* Appends the numbers that describe an attention, or its gradients. */
static int attention_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    int n = 0;
    numbers[n++] = k->attention.K;
    numbers[n++] = k->attention.N;
    numbers[n++] = k->attention.keys;
    memcpy(&numbers[n++], &k->attention.factor, sizeof k->attention.factor);
    numbers[n++] = k->attention.direct;
    numbers[n++] = k->attention.chooses;
    numbers[n++] = k->attention.sees_all;
    numbers[n++] = k->attention.hides_gradients;
    numbers[n++] = k->attention.bucket;
    numbers[n++] = k->attention.serial;
    for (int i = 0; i < k->attention.n_arrays; i++)
        numbers[n++] = k->attention.arrays[i];
    n += part_numbers(&k->attention.query_parts, numbers + n);
    n += part_numbers(&k->attention.key_parts, numbers + n);
    numbers[n++] = k->attention.n_shifts;
    for (int i = 0; i < k->attention.n_shifts; i++)
        numbers[n++] = k->attention.shift[i];
    for (int i = 0; i < k->attention.n_bounds; i++) {
        n += edge_numbers(&k->attention.bounds[i].first, numbers + n);
        n += edge_numbers(&k->attention.bounds[i].last, numbers + n);
    }
    return n;
}

_Static_assert(11 + CR_MAX_SHIFTS + CR_MAX_ARRAYS + 2 * (1 + 3 * CR_MAX_PARTS) + 2 * 3 * CR_MAX_BOUNDS <=
                   CR_MAX_NUMBERS,
               "the numbers of an attention");

/* ---- remarks ---- */

/* The remarks of both kinds. */
static void attention_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->summands = k->attention.K;
    remarks->keys = k->attention.keys;
    remarks->bounds = k->attention.bounds;
    remarks->n_bounds = k->attention.n_bounds;
    remarks->factor = k->attention.factor;
    remarks->chooses = k->attention.chooses;
    for (int i = 0; i < k->attention.n_arrays; i++)
        remarks->array[i] = cr_array_titles[k->attention.arrays[i]];
}

/* True if an outer loop is the first axis of a tensor of values of three axes or more. */
static bool is_first_axis(const struct cr_graph *g, const struct cr_kernel *k, int atom)
{
    const struct cr_node *values = &g->nodes[k->refs[k->v.ref]];
    return values->rank > 2 && values->shape[0] == k->atoms.extent[atom] &&
           k->v.at.coef[atom] == cr_elements(values->rank - 1, values->shape + 1);
}

/* The last outer loop is over heads.  The loop before it is over groups of heads that share
 * keys, if keys do not depend on the last loop.  Otherwise the first loop is over a batch. */
static const char *attention_role(const struct cr_graph *g, const struct cr_kernel *k, int i)
{
    int last = k->n_outer - 1;
    if (i == last)
        return "head";
    if (i == last - 1 && !k->b.at.coef[k->outer[last]] && !is_first_axis(g, k, k->outer[i]))
        return "group";
    return i == 0 ? "batch" : NULL;
}

/* ---- attention ---- */

/* The atom of the columns that a program of queries or keys computes; k if it computes whole
 * rows. */
static int part_atom(const struct cr_kernel *k, int program)
{
    bool of_keys = program >= CR_KEYS && program < CR_KEYS + CR_MAX_PARTS;
    const struct cr_row_parts *parts = of_keys ? &k->attention.key_parts : &k->attention.query_parts;
    int i = program - (of_keys ? CR_KEYS : CR_PROLOGUE);
    return i < parts->n ? parts->items[i].atom : k->k;
}

/* A program that computes rows of queries or keys, or a part of their columns. */
#define ROWS(of, text)                                                                             \
    {                                                                                              \
        .loops = CR_LOOP_OUTER | (of) | CR_LOOP_SUM | CR_LOOP_PART, .across = CR_LOOP_SUM,         \
        .reduces = true, .title = (text)                                                           \
    }
#define QUERIES(text) ROWS(CR_LOOP_ROW, text)
#define KEYS(text) ROWS(CR_LOOP_KEY, text)

const struct cr_kernel_parts cr_parts_attention = {
    .programs = {[CR_PROLOGUE] = QUERIES("queries first"),
                 [CR_MORE_QUERIES] = QUERIES("the second part of queries"),
                 [CR_MORE_QUERIES + 1] = QUERIES("the third part of queries"),
                 [CR_MORE_QUERIES + 2] = QUERIES("the fourth part of queries"),
                 [CR_KEYS] = KEYS("keys first"),
                 [CR_KEYS + 1] = KEYS("the second part of keys"),
                 [CR_KEYS + 2] = KEYS("the third part of keys"),
                 [CR_KEYS + 3] = KEYS("the fourth part of keys"),
                 [CR_SINK] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW,
                              .across = CR_LOOP_ROW,
                              .title = "one score more"},
                 [CR_SCORES] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                                .across = CR_LOOP_ROW,
                                .needed = true,
                                .core = true,
                                .title = "scores"},
                 [CR_DROPOUT] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                                 .across = CR_LOOP_ROW,
                                 .title = "probabilities times"},
                 [CR_PROGRAM] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
                                 .across = CR_LOOP_COL,
                                 .needed = true,
                                 .core = true,
                                 .title = "then"}},
    .operands = {{true, CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM},
                 {true, CR_LOOP_OUTER | CR_LOOP_SUM | CR_LOOP_KEY},
                 {true, CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_COL}},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .starts = true,
    .numbers = attention_numbers,
    .sum_atom = part_atom,
    .remark = attention_remark,
    .role = attention_role,
    .take_roles = cr_take_attention_roles,
    .verify = cr_verify_attention,
};

/* ---- gradients ---- */

/* The number of gradients: of queries, keys and values, and of each array. */
static int n_gradients(const struct cr_kernel *k)
{
    return 3 + k->attention.n_arrays;
}

/* A whole array is summed along the outer loops on which its index does not depend. */
static unsigned gradient_loops(const struct cr_kernel *k, int i, unsigned *summed)
{
    static const unsigned loops[] = {
        [CR_SUM_OVER_KEYS] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_OF_SINK] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_SUM_OVER_QUERIES] = CR_LOOP_OUTER | CR_LOOP_KEY,
        [CR_WHOLE_ARRAY] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
        [CR_SCATTERED] = CR_LOOP_OUTER | CR_LOOP_BUCKET,
    };
    bool whole = i >= 3 && k->attention.arrays[i - 3] == CR_WHOLE_ARRAY;
    for (int o = 0; o < k->n_outer && whole; o++)
        if (!k->results[i].coef[k->outer[o]])
            *summed |= 1u << k->outer[o];
    return i < 3 ? cr_parts_attention_backward.results[i] : loops[k->attention.arrays[i - 3]];
}

/* True if operand i is delta in a kernel without softmax, which needs no delta. */
static bool lacks_delta(const struct cr_kernel *k, int i)
{
    return &k->operands[i] == &k->delta && k->attention.direct;
}

#define ARRAY                                                                                      \
    {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,                                           \
     .across = CR_LOOP_ROW,                                                                        \
     .core = true,                                                                                 \
     .score = true,                                                                                \
     .title = "array"}

const struct cr_kernel_parts cr_parts_attention_backward = {
    .programs = {[CR_SINK] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW,
                              .across = CR_LOOP_ROW,
                              .title = "one score more"},
                 [CR_SCORES] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                                .across = CR_LOOP_ROW,
                                .needed = true,
                                .core = true,
                                .title = "scores"},
                 [CR_DROPOUT] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                                 .across = CR_LOOP_ROW,
                                 .title = "probabilities times"},
                 [CR_PROGRAM] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                                 .across = CR_LOOP_ROW,
                                 .needed = true,
                                 .core = true,
                                 .score = true,
                                 .title = "then"},
                 [CR_ARRAY] = ARRAY,
                 [CR_ARRAY + 1] = ARRAY,
                 [CR_ARRAY + 2] = ARRAY,
                 [CR_INDEX] = {.loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                               .across = CR_LOOP_ROW,
                               .title = "by the index"}},
    .operands = {{true, CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM},
                 {true, CR_LOOP_OUTER | CR_LOOP_SUM | CR_LOOP_KEY},
                 {true, CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_COL},
                 {true, CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL},
                 {true, CR_LOOP_OUTER | CR_LOOP_ROW}},
    .results = {CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM,
                CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_SUM,
                CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_COL},
    .several = true,
    .numbers = attention_numbers,
    .n_results = n_gradients,
    .result_loops = gradient_loops,
    .lacks = lacks_delta,
    .remark = attention_remark,
    .role = attention_role,
    .take_roles = cr_take_gradient_roles,
    .verify = cr_verify_attention_backward,
};
