/*
 * test_import_views.c - random chains of views in ONNX files, compared with this test's own
 * evaluation.
 *
 * A chain begins with x, whose elements are whole numbers, so that sums of a few of them are exact.  Several
 * views of one value by other axes are what exporters write, and what passes over the graph may confuse.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "onnx_writer.h"

enum { FLOAT = 1, INT64 = 7, RANK = 6, MOST = 400, VALUES = 48, CHAINS = 400 };

/* A value of the chain, with its expected elements. */
struct value {
    char name[8];
    int rank;
    int64_t shape[RANK + 2];
    float data[MOST];
};

static struct {
    struct message graph;
    struct value values[VALUES];
    int n, n_constants;
    uint64_t state;
} chain;

static int draw(int limit)
{
    chain.state ^= chain.state << 13;
    chain.state ^= chain.state >> 7;
    chain.state ^= chain.state << 17;
    return (int)(chain.state % (uint64_t)limit);
}

static int64_t size_of(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

/* Appends a value, without elements yet. */
static struct value *new_value(int rank, const int64_t *shape)
{
    struct value *v = &chain.values[chain.n];
    snprintf(v->name, sizeof v->name, "v%d", chain.n++);
    v->rank = rank;
    memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
    return v;
}

static const struct value *any(void)
{
    int last = chain.n < 5 ? chain.n : 5;
    return &chain.values[draw(3) ? chain.n - 1 - draw(last) : draw(chain.n)];
}

/* Appends an initializer of whole numbers; returns its name. */
static const char *constant(int n, const int64_t *numbers)
{
    static char names[4][8];
    char *name = names[chain.n_constants % 4];
    snprintf(name, sizeof *names, "c%d", chain.n_constants++);
    put_tensor(&chain.graph, name, INT64, 1, (int64_t[]){n}, numbers, (size_t)n * sizeof *numbers);
    return name;
}

static void put(const char *op, const struct value *a, const char *more, const struct value *y,
                const struct message *attributes)
{
    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s %s", a->name, more);
    put_node(&chain.graph, op, inputs, y->name, attributes);
}

static void put_list_attribute(struct message *attributes, const char *name, int n, const int64_t *list)
{
    struct message a = {.n = 0};
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        put_integer(&a, 8, list[i]);
    put_integer(&a, 20, 7);
    put_message(attributes, 5, &a);
}

/* ---- views that keep the order of elements ---- */

static void reshape(const struct value *a, const char *op, int rank, const int64_t *shape,
                    const char *more, const struct message *attributes)
{
    struct value *y = new_value(rank, shape);
    memcpy(y->data, a->data, sizeof y->data);
    put(op, a, more, y, attributes);
}

/* Adds a reshape to a random shape of as many elements, which may have axes of size 1. */
static void add_reshape(const struct value *a)
{
    int64_t shape[RANK], said[RANK], n = size_of(a->rank, a->shape);
    int rank = 1 + draw(RANK - 2);
    for (int i = 0; i < rank - 1; i++) {
        shape[i] = 1 + draw(3);
        shape[i] = n % shape[i] ? 1 : shape[i];
        n /= shape[i];
    }
    shape[rank - 1] = n;
    memcpy(said, shape, sizeof said);
    if (draw(2))
        said[draw(rank)] = -1;
    reshape(a, "Reshape", rank, shape, constant(rank, said), NULL);
}

static void add_unsqueeze(const struct value *a)
{
    int64_t shape[RANK + 1], axis = draw(a->rank + 1);
    if (a->rank == RANK)
        return;
    for (int i = 0; i <= a->rank; i++)
        shape[i] = i == axis ? 1 : a->shape[i - (i > axis)];
    int64_t said = draw(2) ? axis : axis - a->rank - 1;
    reshape(a, "Unsqueeze", a->rank + 1, shape, constant(1, &said), NULL);
}

static void add_squeeze(const struct value *a)
{
    int64_t shape[RANK], axis = 0;
    while (axis < a->rank && (a->shape[axis] != 1 || !draw(3)))
        axis++;
    if (axis == a->rank)
        return;
    for (int i = 0; i < a->rank - 1; i++)
        shape[i] = a->shape[i + (i >= axis)];
    reshape(a, "Squeeze", a->rank - 1, shape, constant(1, &axis), NULL);
}

static void add_flatten(const struct value *a)
{
    struct message attributes = {.n = 0};
    int axis = draw(a->rank + 1);
    int64_t shape[] = {size_of(axis, a->shape), size_of(a->rank - axis, a->shape + axis)};
    put_integer_attribute(&attributes, "axis", axis);
    reshape(a, "Flatten", 2, shape, "", &attributes);
}

static void add_identity(const struct value *a)
{
    reshape(a, "Identity", a->rank, a->shape, "", NULL);
}

/* ---- views that move ---- */

/* Sets element i of y to the element of a at the sum of i's indices times strides. */
static void pick(struct value *y, const struct value *a, const int64_t *strides, int64_t offset)
{
    for (int64_t i = 0; i < size_of(y->rank, y->shape); i++) {
        int64_t rest = i, at = offset;
        for (int axis = y->rank - 1; axis >= 0; axis--) {
            at += rest % y->shape[axis] * strides[axis];
            rest /= y->shape[axis];
        }
        y->data[i] = a->data[at];
    }
}

static void strides_of(const struct value *a, int64_t *strides)
{
    for (int i = 0; i < a->rank; i++)
        strides[i] = size_of(a->rank - i - 1, a->shape + i + 1);
}

static void add_transpose(const struct value *a)
{
    struct message attributes = {.n = 0};
    int64_t perm[RANK], shape[RANK], strides[RANK], moved[RANK];
    for (int i = 0; i < a->rank; i++) {
        int j = draw(i + 1);
        perm[i] = perm[j];
        perm[j] = i;
    }
    strides_of(a, strides);
    for (int i = 0; i < a->rank; i++) {
        shape[i] = a->shape[perm[i]];
        moved[i] = strides[perm[i]];
    }
    struct value *y = new_value(a->rank, shape);
    pick(y, a, moved, 0);
    put_list_attribute(&attributes, "perm", a->rank, perm);
    put("Transpose", a, "", y, a->rank ? &attributes : NULL);
}

static void add_expand(const struct value *a)
{
    int64_t shape[RANK], strides[RANK], repeated[RANK];
    int more = a->rank < RANK ? draw(2) : 0, rank = a->rank + more;
    strides_of(a, strides);
    for (int i = 0; i < rank; i++) {
        bool own = i >= more;
        bool is_one = !own || a->shape[i - more] == 1;
        shape[i] = is_one ? 1 + draw(3) : a->shape[i - more];
        repeated[i] = is_one ? 0 : strides[i - more];
    }
    if (!rank || size_of(rank, shape) > MOST)
        return;
    struct value *y = new_value(rank, shape);
    pick(y, a, repeated, 0);
    put("Expand", a, constant(rank, shape), y, NULL);
}

/* Adds a slice of an axis: by Slice, also with negative steps or steps above 1, or by Split. */
static void add_slice(const struct value *a)
{
    int64_t shape[RANK], strides[RANK];
    int axis = a->rank ? draw(a->rank) : 0;
    if (!a->rank)
        return;
    int64_t n = a->shape[axis], start = draw((int)n), step = 1 + draw(2);
    bool back = draw(4) == 0;
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] = back ? start / step + 1 : (n - start + step - 1) / step;
    strides_of(a, strides);
    int64_t offset = start * strides[axis];
    strides[axis] *= back ? -step : step;
    struct value *y = new_value(a->rank, shape);
    pick(y, a, strides, offset);
    const char *from = constant(1, &start), *to = constant(1, &(int64_t){back ? INT64_MIN : INT64_MAX});
    const char *along = constant(1, &(int64_t){draw(2) ? axis : axis - a->rank});
    const char *by = constant(1, &(int64_t){back ? -step : step});
    char more[40];
    snprintf(more, sizeof more, "%s %s %s %s", from, to, along, by);
    put("Slice", a, more, y, NULL);
}

static void add_split(const struct value *a)
{
    struct message attributes = {.n = 0};
    int axis = a->rank ? draw(a->rank) : 0;
    if (!a->rank || a->shape[axis] < 2)
        return;
    int64_t strides[RANK], sizes[2] = {1 + draw((int)a->shape[axis] - 1)};
    sizes[1] = a->shape[axis] - sizes[0];
    strides_of(a, strides);
    struct value *parts[2];
    for (int i = 0; i < 2; i++) {
        int64_t shape[RANK];
        memcpy(shape, a->shape, sizeof shape);
        shape[axis] = sizes[i];
        parts[i] = new_value(a->rank, shape);
        pick(parts[i], a, strides, i ? sizes[0] * strides[axis] : 0);
    }
    char inputs[32], outputs[32];
    snprintf(inputs, sizeof inputs, "%s %s", a->name, constant(2, sizes));
    snprintf(outputs, sizeof outputs, "%s %s", parts[0]->name, parts[1]->name);
    put_integer_attribute(&attributes, "axis", axis);
    put_node(&chain.graph, "Split", inputs, outputs, &attributes);
}

/* ---- several values ---- */

/* Adds the concat of a value and itself along a random axis. */
static void add_concat(const struct value *a)
{
    struct message attributes = {.n = 0};
    int64_t shape[RANK];
    int axis = a->rank ? draw(a->rank) : 0;
    if (!a->rank || 2 * size_of(a->rank, a->shape) > MOST)
        return;
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] *= 2;
    struct value *y = new_value(a->rank, shape);
    int64_t row = size_of(a->rank - axis, a->shape + axis);
    for (int64_t i = 0; i < size_of(y->rank, y->shape); i++)
        y->data[i] = a->data[i / (2 * row) * row + i % row];
    put_integer_attribute(&attributes, "axis", axis);
    put("Concat", a, a->name, y, &attributes);
}

/* Sets the strides that read a value broadcast to a shape; returns false if it cannot be
 * broadcast. */
static bool broadcast_strides(const struct value *a, int rank, const int64_t *shape, int64_t *strides)
{
    int64_t own[RANK];
    strides_of(a, own);
    for (int i = 0; i < rank; i++) {
        int axis = i - (rank - a->rank);
        if (axis >= 0 && a->shape[axis] != shape[i] && a->shape[axis] != 1)
            return false;
        strides[i] = axis < 0 || a->shape[axis] == 1 ? 0 : own[axis];
    }
    return true;
}

/* Adds the sum of two values to the graph, if their shapes broadcast. */
static void add_sum(const struct value *a, const struct value *b)
{
    static struct value left, right;
    int rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t shape[RANK] = {0}, strides[RANK];
    for (int i = 0; i < rank; i++) {
        int p = i - (rank - a->rank), q = i - (rank - b->rank);
        int64_t m = p < 0 ? 1 : a->shape[p], n = q < 0 ? 1 : b->shape[q];
        shape[i] = m > n ? m : n;
    }
    left.rank = right.rank = rank;
    memcpy(left.shape, shape, sizeof shape);
    memcpy(right.shape, shape, sizeof shape);
    if (size_of(rank, shape) > MOST || !broadcast_strides(a, rank, shape, strides))
        return;
    pick(&left, a, strides, 0);
    if (!broadcast_strides(b, rank, shape, strides))
        return;
    pick(&right, b, strides, 0);
    struct value *y = new_value(rank, shape);
    for (int64_t i = 0; i < size_of(rank, shape); i++)
        y->data[i] = left.data[i] + right.data[i];
    put("Add", a, b->name, y, NULL);
}

/* ---- whole chains ---- */

static void add_step(void)
{
    static void (*const steps[])(const struct value *) = {
        add_reshape, add_unsqueeze, add_unsqueeze, add_squeeze, add_flatten, add_identity,
        add_transpose, add_transpose, add_expand, add_slice, add_split, add_concat};
    int step = draw((int)(sizeof steps / sizeof *steps) + 2);
    if (step < (int)(sizeof steps / sizeof *steps))
        steps[step](any());
    else
        add_sum(any(), any());
}

static void make_chain(int number)
{
    memset(&chain, 0, sizeof chain);
    chain.state = 88172645463325252u + (uint64_t)number * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++)
        draw(2);
    int64_t shape[3];
    int rank = 1 + draw(3);
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + draw(5);
    struct value *x = new_value(rank, shape);
    for (int64_t i = 0; i < size_of(rank, shape); i++)
        x->data[i] = (float)(draw(199) - 99);
    put_text(&chain.graph, 2, "views");
    for (int i = 3 + draw(12); i > 0 && chain.n < VALUES - 8; i--)
        add_step();
    for (int i = 0; i < 3; i++)
        add_sum(any(), &chain.values[chain.n - 1]);
    if (chain.n == 1)
        add_identity(x);
    put_value(&chain.graph, 11, x->name, FLOAT, rank, shape);
    const struct value *y = &chain.values[chain.n - 1];
    put_value(&chain.graph, 12, y->name, FLOAT, y->rank, y->shape);
}

static char path[] = "/tmp/crescent-views-XXXXXX.onnx";

static void run_chain(const char *name, float *y)
{
    struct message model = model_of(&chain.graph, 18);
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(model.at, 1, model.n, file) == model.n);
    fclose(file);
    crescent_context *context = crescent_context_new();
    crescent_graph *graph;
    crescent_model *compiled;
    ck_assert_msg(crescent_graph_open(context, path, NULL, &graph) == CRESCENT_OK, "%s: %s", name,
                  crescent_error(context));
    ck_assert_int_eq(crescent_compile(graph, NULL, &compiled), CRESCENT_OK);
    const void *in[] = {chain.values[0].data};
    void *out[] = {y};
    crescent_port port;
    ck_assert_int_eq(crescent_port_at(compiled, CRESCENT_OUTPUT, 0, &port), CRESCENT_OK);
    const struct value *last = &chain.values[chain.n - 1];
    ck_assert_msg(port.rank == last->rank &&
                      memcmp(port.shape, last->shape, (size_t)last->rank * sizeof(int64_t)) == 0,
                  "%s: a result of another shape", name);
    ck_assert_int_eq(crescent_run(compiled, in, out), CRESCENT_OK);
    crescent_close(compiled);
    crescent_graph_close(graph);
    crescent_context_free(context);
}

START_TEST(gives_what_the_chain_does)
{
    float y[MOST];
    char name[32];
    ck_assert_int_ge(mkstemps(path, 5), 0);
    for (int i = 0; i < CHAINS; i++) {
        make_chain(i);
        snprintf(name, sizeof name, "chain %d", i);
        run_chain(name, y);
        const struct value *last = &chain.values[chain.n - 1];
        for (int64_t k = 0; k < size_of(last->rank, last->shape); k++)
            ck_assert_msg(y[k] == last->data[k], "%s: element %d is %g, expected %g", name, (int)k,
                          (double)y[k], (double)last->data[k]);
    }
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import_views");
    TCase *tc = tcase_create("views");
    tcase_add_test(tc, gives_what_the_chain_does);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
