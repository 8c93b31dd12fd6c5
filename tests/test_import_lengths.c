/*
 * test_import_lengths.c - symbolic sizes of ONNX files as lengths: with a length of any value, a
 * model has the bits of the model imported for that size; a node that cannot have a length is
 * refused by name.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/ir/mem.h"
#include "onnx_writer.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { FLOAT = 1, INT64 = 7, BOUND = 12, WIDTH = 4, ROWS = 16 };

static char folder[] = "/tmp/crescent-lengths-XXXXXX", path[128];
static crescent_context *context;

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    context = crescent_context_new();
}

static void tear_down(void)
{
    unlink(path);
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    crescent_context_free(context);
}

/* ---- models ---- */

static void put_numbers(struct message *g, const char *name, int n, const int64_t *numbers)
{
    put_tensor(g, name, INT64, 1, (int64_t[]){n}, numbers, (size_t)n * sizeof *numbers);
}

/* Appends the number of rows of x, as a tensor of one element. */
static void put_count(struct message *g)
{
    put_node(g, "Shape", "x", "shape", NULL);
    put_numbers(g, "none", 1, (int64_t[]){0});
    put_numbers(g, "one", 1, (int64_t[]){1});
    put_node(g, "Slice", "shape none one none", "count", NULL);
}

static void cast_to_float(struct message *g, const char *from, const char *to)
{
    struct message type = {.n = 0};
    put_integer_attribute(&type, "to", FLOAT);
    put_node(g, "Cast", from, to, &type);
}

/* Appends the positions 0, 1, ... as a column of floats. */
static void put_positions(struct message *g)
{
    static const int64_t zero = 0, unit = 1;
    put_count(g);
    put_node(g, "Squeeze", "count", "scalar", NULL);
    put_tensor(g, "zero", INT64, 0, NULL, &zero, sizeof zero);
    put_tensor(g, "unit", INT64, 0, NULL, &unit, sizeof unit);
    put_node(g, "Range", "zero scalar unit", "range", NULL);
    cast_to_float(g, "range", "floats");
    put_node(g, "Unsqueeze", "floats one", "positions", NULL);
}

static void make_scores(struct message *g)
{
    put_node(g, "Transpose", "x", "keys", NULL);
    put_node(g, "MatMul", "x keys", "scores", NULL);
    put_node(g, "Softmax", "scores", "p", NULL);
    put_node(g, "MatMul", "p x", "y", NULL);
}

static void make_mean(struct message *g)
{
    put_numbers(g, "axes", 1, (int64_t[]){0});
    put_node(g, "ReduceMean", "x axes", "mean", NULL);
    put_node(g, "Sub", "x mean", "y", NULL);
}

static void make_first(struct message *g)
{
    static const int64_t zero = 0;
    put_tensor(g, "zero", INT64, 0, NULL, &zero, sizeof zero);
    put_node(g, "Gather", "x zero", "first", NULL);
    put_node(g, "Add", "x first", "y", NULL);
}

static void make_last(struct message *g)
{
    static const int64_t last = -1;
    put_tensor(g, "index", INT64, 0, NULL, &last, sizeof last);
    put_node(g, "Gather", "x index", "last", NULL);
    put_node(g, "Sub", "x last", "y", NULL);
}

static void make_positions(struct message *g)
{
    put_positions(g);
    put_node(g, "Add", "x positions", "y", NULL);
}

static void make_count(struct message *g)
{
    put_count(g);
    cast_to_float(g, "count", "factor");
    put_node(g, "Mul", "x factor", "y", NULL);
}

/* Divides x by n - 1, as the variance of a sample does. */
static void make_fewer(struct message *g)
{
    put_count(g);
    put_node(g, "Sub", "count one", "fewer", NULL);
    cast_to_float(g, "fewer", "divisor");
    put_node(g, "Div", "x divisor", "y", NULL);
}

/* Slices a table to as many rows as x has. */
static void make_table_rows(struct message *g)
{
    float table[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        table[i] = (float)i * 0.37f;
    put_tensor(g, "table", FLOAT, 2, (int64_t[]){ROWS, WIDTH}, table, sizeof table);
    put_count(g);
    put_node(g, "Slice", "table none count none", "rows", NULL);
}

/* Adds rows of a table to x, as a model with learned positions does. */
static void make_table(struct message *g)
{
    make_table_rows(g);
    put_node(g, "Add", "x rows", "y", NULL);
}

/* Normalizes the columns of a table sliced to the length: the table itself is as long as the
 * bound. */
static void make_norm(struct message *g)
{
    struct message axis = {.n = 0};
    make_table_rows(g);
    put_integer_attribute(&axis, "axis", 0);
    put_node(g, "LpNormalization", "rows", "norm", &axis);
    put_node(g, "Add", "x norm", "y", NULL);
}

/* Flattens x and gathers its elements one by one, as masks of optimum do. */
static void make_flat(struct message *g)
{
    static const int64_t zero = 0, unit = 1, width = WIDTH;
    put_count(g);
    put_node(g, "Squeeze", "count", "rows", NULL);
    put_tensor(g, "zero", INT64, 0, NULL, &zero, sizeof zero);
    put_tensor(g, "unit", INT64, 0, NULL, &unit, sizeof unit);
    put_tensor(g, "width", INT64, 0, NULL, &width, sizeof width);
    put_node(g, "Mul", "rows width", "all", NULL);
    put_node(g, "Range", "zero all unit", "range", NULL);
    put_numbers(g, "wide", 2, (int64_t[]){-1, WIDTH});
    put_numbers(g, "row", 1, (int64_t[]){-1});
    put_node(g, "Reshape", "range wide", "index", NULL);
    put_node(g, "Tanh", "x", "t", NULL);
    put_node(g, "Reshape", "t row", "flat", NULL);
    put_node(g, "Gather", "flat index", "y", NULL);
}

/* Reshapes rows to halves, and back. */
static void make_reshape(struct message *g)
{
    put_numbers(g, "halves", 3, (int64_t[]){0, 2, WIDTH / 2});
    put_numbers(g, "whole", 2, (int64_t[]){-1, WIDTH});
    put_node(g, "Reshape", "x halves", "split", NULL);
    put_node(g, "Tanh", "split", "t", NULL);
    put_node(g, "Reshape", "t whole", "y", NULL);
}

/* Resizes each row to twice its width and slices the first half. */
static void make_resized(struct message *g)
{
    struct message axis = {.n = 0}, mode = {.n = 0};
    put_count(g);
    put_integer_attribute(&axis, "axis", 0);
    put_text_attribute(&mode, "mode", "linear");
    put_numbers(g, "wide", 1, (int64_t[]){2 * WIDTH});
    put_numbers(g, "width", 1, (int64_t[]){WIDTH});
    put_node(g, "Concat", "count wide", "sizes", &axis);
    put_node(g, "Resize", "x - - sizes", "resized", &mode);
    put_node(g, "Slice", "resized none width one", "y", NULL);
}

/* Convolves each row as a one-dimensional picture. */
static void make_convolved(struct message *g)
{
    static const float weights[] = {0.5f, -1, 0.25f};
    struct message pads = {.n = 0};
    put_numbers(g, "one", 1, (int64_t[]){1});
    put_tensor(g, "w", FLOAT, 3, (int64_t[]){1, 1, 3}, weights, sizeof weights);
    put_text_attribute(&pads, "auto_pad", "SAME_UPPER");
    put_node(g, "Unsqueeze", "x one", "picture", NULL);
    put_node(g, "Conv", "picture w", "convolved", &pads);
    put_node(g, "Squeeze", "convolved one", "y", NULL);
}

static void make_running(struct message *g)
{
    static const int64_t zero = 0;
    put_tensor(g, "zero", INT64, 0, NULL, &zero, sizeof zero);
    put_node(g, "CumSum", "x zero", "y", NULL);
}

/* Computes a result from the size alone. */
static void make_alone(struct message *g)
{
    static const float row[WIDTH] = {0.5f, -1, 0.25f, 2};
    put_positions(g);
    put_tensor(g, "row", FLOAT, 1, (int64_t[]){WIDTH}, row, sizeof row);
    put_node(g, "Mul", "positions row", "y", NULL);
}

/* Normalizes the positions: these are constants, but their norm depends on the size. */
static void make_norm_of_positions(struct message *g)
{
    struct message axis = {.n = 0};
    put_positions(g);
    put_integer_attribute(&axis, "axis", 0);
    put_node(g, "LpNormalization", "positions", "norm", &axis);
    put_node(g, "Add", "x norm", "y", NULL);
}

/* Expands one row to as many rows as x has. */
static void make_repeated(struct message *g)
{
    static const float row[WIDTH] = {0.5f, -1, 0.25f, 2};
    put_node(g, "Shape", "x", "shape", NULL);
    put_tensor(g, "row", FLOAT, 2, (int64_t[]){1, WIDTH}, row, sizeof row);
    put_node(g, "Expand", "row shape", "rows", NULL);
    put_node(g, "Add", "x rows", "y", NULL);
}

/* Expands x by its own shape, by a shape with fewer axes, and by ones. */
static void make_expanded(struct message *g)
{
    put_node(g, "Tanh", "x", "t", NULL);
    put_node(g, "Shape", "x", "shape", NULL);
    put_node(g, "Expand", "t shape", "same", NULL);
    put_numbers(g, "width", 1, (int64_t[]){WIDTH});
    put_node(g, "Expand", "same width", "wide", NULL);
    put_numbers(g, "ones", 2, (int64_t[]){1, 1});
    put_node(g, "Expand", "wide ones", "y", NULL);
}

static const struct {
    const char *name, *words; /* words: of the script */
    void (*make)(struct message *graph);
} models[] = {
    {"scores", "input(\"x\", {n, 4})", make_scores},
    {"mean", "nn.mean(x, 1)", make_mean},
    {"first", "gather(x, const(0, {1}, \"i32\"))", make_first},
    {"last", "gather(x, expand(n - 1, {1}))", make_last},
    {"fewer", "float(n - 1)", make_fewer},
    {"positions", "const({0, 1, 2,", make_positions},
    {"count", "float(n)", make_count},
    {"table", "narrow(param(\"table\", {16, 4}), 1, 0, 12)", make_table},
    {"flat", "local t = tanh(x)", make_flat},
    {"reshape", "reshape(x, {n, 2, 2})", make_reshape},
    {"resized", "onnx_pictures.resize(x, {sizes = {n, 8}, mode = \"linear\"})", make_resized},
    {"norm", "onnx_norm.lp(limit(", make_norm},
    {"running", "cumsum(x, 1)", make_running},
    {"alone", "limit(", make_alone},
    {"positions' norm", "onnx_norm.lp(limit(const({0, 1, 2,", make_norm_of_positions},
    {"repeated", "x + expand(param(\"row\", {1, 4}), {n, 4})", make_repeated},
    {"expanded", "tanh(x)", make_expanded},
    {"convolved", "onnx_conv.conv(picture, param(\"w\", {1, 1, 3}), nil", make_convolved},
};

static void write_model(void (*make)(struct message *))
{
    struct message g = {.n = 0};
    make(&g);
    put_text(&g, 2, "lengths");
    put_value(&g, 11, "x", FLOAT, 2, (int64_t[]){SYMBOL('n'), WIDTH});
    put_value(&g, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('n'), WIDTH});
    struct message model = model_of(&g, 18);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(model.at, 1, model.n, file), model.n);
    fclose(file);
}

/* ---- running ---- */

static crescent_model *open_model(const crescent_script *how)
{
    crescent_graph *graph;
    crescent_model *model;
    ck_assert_msg(!crescent_graph_open(context, path, how, &graph), "%s", crescent_error(context));
    ck_assert_msg(!crescent_compile(graph, NULL, &model), "%s", crescent_error(context));
    const char *weights = crescent_weights_path(model);
    ck_assert(!weights ||
              !crescent_load_weights(model, &weights, 1, CRESCENT_ANY_TENSORS, NULL));
    crescent_graph_close(graph);
    return model;
}

/* Runs a model with a length; its inputs are in the order of their names: n, then x. */
static void run_with_length(crescent_model *model, int32_t n, const float *x, float *y)
{
    const void *in[] = {&n, x};
    void *out[] = {y};
    ck_assert_msg(!crescent_run(model, in, out), "%s", crescent_error(context));
}

static void run_for_size(int32_t n, const float *x, float *y)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)n);
    const crescent_setting size = {"n", text};
    crescent_model *model = open_model(&(crescent_script){.settings = &size, .n_settings = 1});
    const void *in[] = {x};
    void *out[] = {y};
    ck_assert_msg(!crescent_run(model, in, out), "%s", crescent_error(context));
    crescent_close(model);
}

START_TEST(gives_the_bits_of_each_size)
{
    static const int32_t sizes[] = {1, 2, 3, 7, BOUND};
    const crescent_setting length = {"n", "12"};
    float x[BOUND * WIDTH], y[BOUND * WIDTH], expected[BOUND * WIDTH];
    for (int i = 0; i < BOUND * WIDTH; i++)
        x[i] = (float)(i * 37 % 29) / 7 - 2;
    write_model(models[_i].make);
    crescent_model *model = open_model(&(crescent_script){.lengths = &length, .n_lengths = 1});
    for (int i = 0; i < COUNT(sizes); i++) {
        run_with_length(model, sizes[i], x, y);
        run_for_size(sizes[i], x, expected);
        ck_assert_msg(memcmp(y, expected, (size_t)sizes[i] * WIDTH * sizeof *y) == 0, "%s: n = %d",
                      models[_i].name, (int)sizes[i]);
    }
    crescent_close(model);
}
END_TEST

/* Returns the text of a file; the caller frees it. */
static char *read_text(const char *name)
{
    char *text = cr_calloc(65536, 1);
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, 65535, file), 0);
    fclose(file);
    return text;
}

START_TEST(says_the_length)
{
    const crescent_setting length = {"n", "12"};
    const crescent_script how = {.lengths = &length, .n_lengths = 1};
    char script[160], weights[160];
    snprintf(script, sizeof script, "%s/made.lua", folder);
    snprintf(weights, sizeof weights, "%s/made.safetensors", folder);
    write_model(models[_i].make);
    ck_assert_msg(!crescent_import(context, path, &how, script, weights), "%s",
                  crescent_error(context));
    char *text = read_text(script);
    ck_assert_ptr_nonnull(strstr(text, "local n = length(\"n\", 12)\n"));
    ck_assert_msg(strstr(text, models[_i].words), "expected %s in:\n%s", models[_i].words, text);
    free(text);
    unlink(script);
    unlink(weights);
}
END_TEST

/* ---- nodes that cannot have a length ---- */

static void make_twice(struct message *g)
{
    struct message axis = {.n = 0};
    put_integer_attribute(&axis, "axis", 0);
    put_node(g, "Concat", "x x", "y", &axis);
}

static void make_merged(struct message *g)
{
    put_numbers(g, "all", 1, (int64_t[]){-1});
    put_node(g, "Reshape", "x all", "y", NULL);
}

static void make_beside(struct message *g)
{
    static const int64_t unit = 1;
    put_tensor(g, "unit", INT64, 0, NULL, &unit, sizeof unit);
    put_node(g, "CumSum", "x unit", "y", NULL);
}

static void make_row_before_last(struct message *g)
{
    static const int64_t index = -2;
    put_tensor(g, "index", INT64, 0, NULL, &index, sizeof index);
    put_node(g, "Gather", "x index", "y", NULL);
}

/* Slices the second row, which does not exist if the length is 1. */
static void make_second(struct message *g)
{
    put_numbers(g, "from", 1, (int64_t[]){1});
    put_numbers(g, "to", 1, (int64_t[]){2});
    put_numbers(g, "axis", 1, (int64_t[]){0});
    put_node(g, "Slice", "x from to axis", "y", NULL);
}

/* Slices the first five rows, or all if there are fewer. */
static void make_at_most_five(struct message *g)
{
    put_numbers(g, "from", 1, (int64_t[]){0});
    put_numbers(g, "to", 1, (int64_t[]){5});
    put_node(g, "Slice", "x from to from", "rows", NULL);
    put_node(g, "Tanh", "rows", "y", NULL);
}

/* Numbers positions from the end. */
static void make_reversed(struct message *g)
{
    put_positions(g);
    cast_to_float(g, "count", "factor");
    put_node(g, "Sub", "factor positions", "rest", NULL);
    put_node(g, "Add", "x rest", "y", NULL);
}

/* Resizes x to two rows, or to as many as the bound. */
static void resize_rows(struct message *g, int64_t rows)
{
    put_numbers(g, "sizes", 2, (int64_t[]){rows, WIDTH});
    put_node(g, "Resize", "x - - sizes", "resized", NULL);
    put_numbers(g, "axes", 1, (int64_t[]){0});
    put_node(g, "ReduceSum", "resized axes", "sum", NULL);
    put_node(g, "Add", "x sum", "y", NULL);
}

static void make_two_rows(struct message *g)
{
    resize_rows(g, 2);
}

static void make_all_rows(struct message *g)
{
    resize_rows(g, BOUND);
}

static const struct {
    void (*make)(struct message *graph);
    const char *words;
} refused[] = {
    {make_two_rows, "Resize ('the_node'): found other values of onnx_pictures.resize for n = 2 than for 12"},
    {make_all_rows, "Resize ('the_node'): found other values of onnx_pictures.resize for n = 11 than for 12"},
    {make_twice, "Concat ('the_node'): found a size of 24 with n = 12, 22 with 11"},
    {make_merged, "a size of 48 with n = 12, 44 with 11"},
    {make_beside, "CumSum ('the_node'): cumsum: cannot take running sums beside the length n (axis 1)"},
    {make_row_before_last, "it takes elements that do not exist if the size is 1, along the length n (axis 1)"},
    {make_second, "it takes elements that do not exist if the size is 1, along the length n (axis 1)"},
    {make_at_most_five, "Slice ('the_node'): found a size of 5 with n = 12, 2 with 2"},
    {make_reversed, "other numbers with n = 11 than with 12"},
};

static void expect_refusal(const crescent_script *how, const char *words)
{
    crescent_graph *graph;
    ck_assert_int_ne(crescent_graph_open(context, path, how, &graph), CRESCENT_OK);
    ck_assert_msg(strstr(crescent_error(context), words), "expected %s: %s", words,
                  crescent_error(context));
    ck_assert_ptr_null(strchr(crescent_error(context), '\n'));
    ck_assert_ptr_null(graph);
}

START_TEST(refuses_what_is_no_length)
{
    const crescent_setting length = {"n", "12"};
    write_model(refused[_i].make);
    expect_refusal(&(crescent_script){.lengths = &length, .n_lengths = 1}, refused[_i].words);
    expect_refusal(&(crescent_script){.lengths = &length, .n_lengths = 1}, "--set n=N");
}
END_TEST

/* Slices the first two rows in reverse order: there is only one if the length is 1. */
static void make_first_two_backwards(struct message *g)
{
    put_numbers(g, "from", 1, (int64_t[]){1});
    put_numbers(g, "to", 1, (int64_t[]){-BOUND - 1});
    put_numbers(g, "axis", 1, (int64_t[]){0});
    put_numbers(g, "step", 1, (int64_t[]){-1});
    put_node(g, "Slice", "x from to axis step", "y", NULL);
}

/* Squeezes all axes of size 1: two axes remain, or one if the length is 1. */
static void make_squeezed(struct message *g)
{
    put_numbers(g, "axis", 1, (int64_t[]){1});
    put_node(g, "Unsqueeze", "x axis", "wide", NULL);
    put_node(g, "Squeeze", "wide", "y", NULL);
}

/* Expands x to as many rows as the bound: valid only if x has one row. */
static void make_expanded_to_bound(struct message *g)
{
    put_numbers(g, "shape", 2, (int64_t[]){BOUND, WIDTH});
    put_node(g, "Expand", "x shape", "y", NULL);
}

/* Expands a table to as many rows as x has: valid only if it has one row, or as many as x. */
static void make_expanded_to_length(struct message *g)
{
    static const float table[3 * WIDTH] = {0.5f, -1, 0.25f, 2};
    put_tensor(g, "table", FLOAT, 2, (int64_t[]){3, WIDTH}, table, sizeof table);
    put_node(g, "Shape", "x", "shape", NULL);
    put_node(g, "Expand", "table shape", "y", NULL);
}

/* Errors of Lua functions, which do not know the name of the length. */
static const struct {
    void (*make)(struct message *graph);
    const char *words;
} refused_by_lua[] = {
    {make_first_two_backwards,
     "Slice ('the_node'): found a step of -1 along a length, expected 1, or --set"},
    {make_squeezed, "Squeeze ('the_node'): found no axes for a tensor with a length, which may be 1, "
                    "expected axes, or --set"},
    {make_expanded_to_bound, "Expand ('the_node'): found an axis of a length, which may be 1, and the size 12, "
                             "expected the same length, or --set"},
    {make_expanded_to_length,
     "Expand ('the_node'): found an axis of 3, expected 1 or the length, or --set"},
};

START_TEST(refuses_without_the_name)
{
    const crescent_setting length = {"n", "12"};
    write_model(refused_by_lua[_i].make);
    expect_refusal(&(crescent_script){.lengths = &length, .n_lengths = 1}, refused_by_lua[_i].words);
}
END_TEST

START_TEST(refuses_bounds_and_names)
{
    static const struct {
        crescent_setting length;
        const char *words;
    } wrong[] = {
        {{"n", "3"}, "--length 'n'='3', expected a bound from 4 on"},
        {{"n", "12x"}, "--length 'n'='12x', expected a bound from 4 on"},
        {{"n", "99999999999"}, "expected a bound from 4 on"},
        {{"m", "12"}, "--length 'm': the model has no symbolic size of that name"},
        {{"x", "12"}, "--length 'x': the model has no symbolic size of that name"},
    };
    const crescent_setting twice[] = {{"n", "12"}, {"n", "9"}}, size = {"n", "5"};
    write_model(make_scores);
    for (int i = 0; i < COUNT(wrong); i++)
        expect_refusal(&(crescent_script){.lengths = &wrong[i].length, .n_lengths = 1},
                       wrong[i].words);
    expect_refusal(&(crescent_script){.lengths = twice, .n_lengths = 2}, "found it twice");
    expect_refusal(&(crescent_script){
                       .lengths = twice, .n_lengths = 1, .settings = &size, .n_settings = 1},
                   "found it twice");
}
END_TEST

START_TEST(a_script_says_itself)
{
    const crescent_setting length = {"T", "12"};
    crescent_graph *graph;
    ck_assert_int_ne(crescent_graph_open(context, "docs/tour.lua",
                                         &(crescent_script){.lengths = &length, .n_lengths = 1},
                                         &graph), CRESCENT_OK);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "--length 'T': expected an ONNX file"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import_lengths");
    TCase *lengths = tcase_create("lengths"), *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(lengths, set_up, tear_down);
    tcase_add_checked_fixture(refusals, set_up, tear_down);
    tcase_add_loop_test(lengths, gives_the_bits_of_each_size, 0, COUNT(models));
    tcase_add_loop_test(lengths, says_the_length, 0, COUNT(models));
    tcase_add_loop_test(refusals, refuses_what_is_no_length, 0, COUNT(refused));
    tcase_add_loop_test(refusals, refuses_without_the_name, 0, COUNT(refused_by_lua));
    tcase_add_test(refusals, refuses_bounds_and_names);
    tcase_add_test(refusals, a_script_says_itself);
    suite_add_tcase(suite, lengths);
    suite_add_tcase(suite, refusals);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
