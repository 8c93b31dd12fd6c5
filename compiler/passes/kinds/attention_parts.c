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

/* Writes the numbers on which the code of both kinds depends to `numbers`; returns how many. */
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
    numbers[n++] = k->attention.n_shifts;
    for (int i = 0; i < k->attention.n_shifts; i++)
        numbers[n++] = k->attention.shift[i];
    for (int i = 0; i < k->attention.n_bounds; i++) {
        n += edge_numbers(&k->attention.bounds[i].first, numbers + n);
        n += edge_numbers(&k->attention.bounds[i].last, numbers + n);
    }
    return n;
}

_Static_assert(8 + CR_MAX_SHIFTS + 2 * 3 * CR_MAX_BOUNDS + 2 * (1 + 3 * CR_MAX_PARTS) <=
                       CR_MAX_NUMBERS &&
                   8 + CR_MAX_SHIFTS + 2 * 3 * CR_MAX_BOUNDS + 4 + 2 * CR_MAX_ARRAYS <=
                       CR_MAX_NUMBERS,
               "the numbers of an attention");

/* ---- remarks ---- */

/* Sets the remarks of both kinds (see cr_remarks). */
static void attention_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->summands = k->attention.K;
    remarks->keys = k->attention.keys;
    remarks->bounds = k->attention.bounds;
    remarks->n_bounds = k->attention.n_bounds;
    remarks->factor = k->attention.factor;
}

/* Returns the title of program i if it is a dropout that selects by a condition; null for other
 * programs. */
static const char *attention_title(const struct cr_kernel *k, int i)
{
    bool dropout = cr_program_of(k, i) == &k->attention.dropout;
    return dropout && k->attention.dropout.n && k->attention.chooses
               ? "probabilities, 0 where this is, times"
               : NULL;
}

/* True if an outer loop runs over the first axis of the values V, and V has three axes or more. */
static bool is_first_axis(const struct cr_graph *g, const struct cr_kernel *k, int atom)
{
    const struct cr_node *values = &g->nodes[k->refs[k->attention.value.ref]];
    return values->rank > 2 && values->shape[0] == k->atoms.extent[atom] &&
           k->attention.value.at.coef[atom] == cr_elements(values->rank - 1, values->shape + 1);
}

/* Returns the role of outer loop i.  The last loop is over heads, unless it is the only one and is
 * over a batch.  The loop before it is over groups of heads that share keys, if the address of the
 * keys does not depend on the last loop.  Otherwise the first loop is over a batch. */
static const char *attention_role(const struct cr_graph *g, const struct cr_kernel *k, int i)
{
    int last = k->n_outer - 1;
    if (i == last)
        return last == 0 && is_first_axis(g, k, k->outer[i]) ? "batch" : "head";
    if (i == last - 1 && !k->attention.key.at.coef[k->outer[last]] &&
        !is_first_axis(g, k, k->outer[i]))
        return "group";
    return i == 0 ? "batch" : NULL;
}

/* ---- attention ---- */

/* The numbers of the programs that compute rows of queries and of keys; each is the number of the
 * first part's program. */
enum { QUERIES, KEYS = QUERIES + CR_MAX_PARTS, END_OF_ROWS = KEYS + CR_MAX_PARTS };

/* Returns the atom of the columns that a program of queries or keys computes, which is k if the
 * program computes whole rows. */
static int part_atom(const struct cr_kernel *k, int program)
{
    bool of_keys = program >= KEYS && program < END_OF_ROWS;
    const struct cr_row_parts *parts =
        of_keys ? &k->attention_rows.key_parts : &k->attention_rows.query_parts;
    int i = program - (of_keys ? KEYS : QUERIES);
    return i < parts->n ? parts->items[i].atom : k->k;
}

static int forward_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    int n = attention_numbers(k, numbers);
    n += part_numbers(&k->attention_rows.query_parts, numbers + n);
    return n + part_numbers(&k->attention_rows.key_parts, numbers + n);
}

/* The numbers of the operands.  A kernel that computes queries or keys itself lacks that
 * operand. */
enum { QUERY, KEY, VALUE, GRAD, DELTA };

static bool attention_lacks(const struct cr_kernel *k, int i)
{
    return (i == QUERY && k->attention_rows.queries->n) || (i == KEY && k->attention_rows.keys->n);
}

/* The part for a program that computes rows of queries or keys, or some of their columns. */
#define ROWS(of, member, text, words)                                                              \
    {.at = CR_PART(attention_rows.member),                                                         \
     .name = #member,                                                                              \
     .loops = CR_LOOP_OUTER | (of) | CR_LOOP_SUM | CR_LOOP_PART,                                   \
     .across = CR_LOOP_SUM,                                                                        \
     .reduces = true,                                                                              \
     .title = (text),                                                                              \
     .label = (words)}
#define ROWS_OF_QUERIES(i, text, words) ROWS(CR_LOOP_ROW, queries[i], text, words)
#define ROWS_OF_KEYS(i, text, words) ROWS(CR_LOOP_KEY, keys[i], text, words)

/* Programs that the forward kernel and the gradients both have. */
#define SINK                                                                                       \
    {.at = CR_PART(attention.sink),                                                                \
     .name = "sink",                                                                               \
     .loops = CR_LOOP_OUTER | CR_LOOP_ROW,                                                         \
     .across = CR_LOOP_ROW,                                                                        \
     .title = "one score more",                                                                    \
     .label = "one score more"}
#define SCORES                                                                                     \
    {.at = CR_PART(attention.scores),                                                              \
     .name = "scores",                                                                             \
     .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,                                           \
     .across = CR_LOOP_ROW,                                                                        \
     .needed = true,                                                                               \
     .core = true,                                                                                 \
     .scaled = true,                                                                               \
     .title = "scores",                                                                            \
     .label = "scores"}
#define DROPOUT                                                                                    \
    {.at = CR_PART(attention.dropout),                                                             \
     .name = "dropout",                                                                            \
     .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,                                           \
     .across = CR_LOOP_ROW,                                                                        \
     .hidden = true,                                                                               \
     .title = "probabilities times",                                                               \
     .label = "probabilities times"}

/* Operands that the forward kernel and the gradients both have. */
#define OPERANDS                                                                                   \
    [QUERY] = {CR_PART(attention.query), "query", CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM},      \
    [KEY] = {CR_PART(attention.key), "key", CR_LOOP_OUTER | CR_LOOP_SUM | CR_LOOP_KEY},            \
    [VALUE] = {CR_PART(attention.value), "value", CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_COL}

const struct cr_kernel_parts cr_parts_attention = {
    .programs =
        {ROWS_OF_QUERIES(0, "queries first", "rows of the left operand"),
         ROWS_OF_QUERIES(1, "the second part of queries", "rows of the left operand, part 2"),
         ROWS_OF_QUERIES(2, "the third part of queries", "rows of the left operand, part 3"),
         ROWS_OF_QUERIES(3, "the fourth part of queries", "rows of the left operand, part 4"),
         ROWS_OF_KEYS(0, "keys first", "rows of keys"),
         ROWS_OF_KEYS(1, "the second part of keys", "rows of keys, part 2"),
         ROWS_OF_KEYS(2, "the third part of keys", "rows of keys, part 3"),
         ROWS_OF_KEYS(3, "the fourth part of keys", "rows of keys, part 4"),
         SINK,
         SCORES,
         DROPOUT,
         CR_EPILOGUE},
    .operands = {OPERANDS},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .starts = true,
    .numbers = forward_numbers,
    .lacks = attention_lacks,
    .title = attention_title,
    .sum_atom = part_atom,
    .remark = attention_remark,
    .role = attention_role,
    .take_roles = cr_take_attention_roles,
    .verify = cr_verify_attention,
};

/* ---- gradients ---- */

/* Returns the number of gradients: three (of queries, keys and values), and one for each array. */
static int n_gradients(const struct cr_kernel *k)
{
    return 3 + k->attention_backward.n_arrays;
}

/* Returns the loops on which the index of result i depends.  For a whole array, adds to *summed the
 * outer loops along which the array is summed because its index does not depend on them. */
static unsigned gradient_loops(const struct cr_kernel *k, int i, unsigned *summed)
{
    static const unsigned loops[] = {
        [CR_SUM_OVER_KEYS] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_OF_SINK] = CR_LOOP_OUTER | CR_LOOP_ROW,
        [CR_SUM_OVER_QUERIES] = CR_LOOP_OUTER | CR_LOOP_KEY,
        [CR_WHOLE_ARRAY] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
        [CR_SCATTERED] = CR_LOOP_OUTER | CR_LOOP_BUCKET,
    };
    bool whole = i >= 3 && k->attention_backward.arrays[i - 3] == CR_WHOLE_ARRAY;
    for (int o = 0; o < k->n_outer && whole; o++)
        if (!k->results[i].coef[k->outer[o]])
            *summed |= 1u << k->outer[o];
    return i < 3 ? cr_parts_attention_backward.results[i]
                 : loops[k->attention_backward.arrays[i - 3]];
}

/* Lists the numbers that determine the code: those of both kinds, then those of the gradients
 * only. */
static int gradient_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    const struct cr_kernel_attention_backward *own = &k->attention_backward;
    int n = attention_numbers(k, numbers);
    numbers[n++] = own->bucket;
    numbers[n++] = own->serial;
    numbers[n++] = own->scores_hidden;
    numbers[n++] = own->n_arrays;
    for (int i = 0; i < own->n_arrays; i++) {
        numbers[n++] = own->arrays[i];
        numbers[n++] = own->hidden[i];
    }
    return n;
}

/* True if operand i is delta and the attention has no softmax: delta is then not needed. */
static bool lacks_delta(const struct cr_kernel *k, int i)
{
    return i == DELTA && k->attention.direct;
}

/* Returns the title of program i, such as "summed over keys", if it computes an array of queries by
 * keys; otherwise null. */
static const char *gradient_title(const struct cr_kernel *k, int i)
{
    for (int array = 0; array < k->attention_backward.n_arrays; array++)
        if (cr_program_of(k, i) == &k->attention_backward.array[array])
            return cr_array_titles[k->attention_backward.arrays[array]];
    return attention_title(k, i);
}

#define ARRAY(i)                                                                                   \
    {.at = CR_PART(attention_backward.array[i]),                                                   \
     .name = "array " #i,                                                                          \
     .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,                                           \
     .across = CR_LOOP_ROW,                                                                        \
     .core = true,                                                                                 \
     .score = true,                                                                                \
     .title = "array",                                                                             \
     .label = "array"}

const struct cr_kernel_parts cr_parts_attention_backward = {
    .programs = {SINK,
                 SCORES,
                 DROPOUT,
                 {.at = CR_PART(program),
                  .name = "program",
                  .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                  .across = CR_LOOP_ROW,
                  .needed = true,
                  .core = true,
                  .score = true,
                  .title = "then",
                  .label = "epilogue"},
                 ARRAY(0),
                 ARRAY(1),
                 ARRAY(2),
                 {.at = CR_PART(attention_backward.index),
                  .name = "index",
                  .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_KEY,
                  .across = CR_LOOP_ROW,
                  .title = "by the index",
                  .label = "index"}},
    .operands = {OPERANDS,
                 [GRAD] = {CR_PART(attention_backward.grad), "grad",
                           CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL},
                 [DELTA] = {CR_PART(attention_backward.delta), "delta",
                            CR_LOOP_OUTER | CR_LOOP_ROW}},
    .results = {CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM,
                CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_SUM,
                CR_LOOP_OUTER | CR_LOOP_KEY | CR_LOOP_COL},
    .several = true,
    .numbers = gradient_numbers,
    .n_results = n_gradients,
    .result_loops = gradient_loops,
    .lacks = lacks_delta,
    .title = gradient_title,
    .remark = attention_remark,
    .role = attention_role,
    .take_roles = cr_take_gradient_roles,
    .verify = cr_verify_attention_backward,
};
