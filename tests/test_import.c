/*
 * test_import.c - ONNX files: a file is translated to a script, constants are folded, and truncated,
 * hostile or unsupported files are refused with one line.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/npy.h"
#include "compiler/frontend/script.h"
#include "compiler/import/arena.h"
#include "compiler/import/import.h"
#include "compiler/import/ops.h"
#include "compiler/import/translate.h"
#include "onnx_writer.h"

enum {
    FLOAT = 1,
    INT8 = 3,
    INT32 = 6,
    INT64 = 7,
    STRING = 8,
    BOOL = 9,
    FLOAT16 = 10,
    DOUBLE = 11,
    BFLOAT16 = 16
};

static struct cr_error error;
static char folder[] = "/tmp/crescent-import-XXXXXX", path[128];

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

static void write_model(const struct message *model)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(model->at, 1, model->n, file), model->n);
    fclose(file);
}

static int import(struct cr_import *import, const struct message *graph, const char *pin,
                  const char *value)
{
    const struct cr_onnx_pin pins[] = {{pin, value, false}};
    struct message model = model_of(graph, 18);
    write_model(&model);
    const struct cr_import_how how = {.pins = pins, .n_pins = pin != NULL};
    return cr_import_open(import, path, &how, &error);
}

/* Asserts that the imported script has a line with these words. */
static void expect_text(const struct message *graph, const char *pin, const char *value,
                        const char *words)
{
    struct cr_import made;
    ck_assert_msg(import(&made, graph, pin, value) == 0, "%s", error.text);
    ck_assert_msg(strstr(made.text, words), "expected %s in:\n%s", words, made.text);
    cr_import_close(&made);
}

static void expect_refusal(const struct message *graph, const char *words)
{
    struct cr_import made;
    ck_assert_int_eq(import(&made, graph, NULL, NULL), -1);
    ck_assert_msg(strstr(error.text, words), "expected %s: %s", words, error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
}

/* Returns the graph y = x w + b with the weights w and b. */
static struct message linear_graph(void)
{
    static const float w[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30};
    struct message graph = {.n = 0};
    put_text(&graph, 2, "linear");
    put_node(&graph, "MatMul", "x fc.weight", "product", NULL);
    put_node(&graph, "Add", "product fc.bias", "y", NULL);
    put_tensor(&graph, "fc.weight", FLOAT, 2, (int64_t[]){2, 3}, w, sizeof w);
    put_tensor(&graph, "fc.bias", FLOAT, 1, (int64_t[]){3}, b, sizeof b);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){SYMBOL('n'), 2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('n'), 3});
    return graph;
}

START_TEST(prints_a_script)
{
    struct message graph = linear_graph();
    struct cr_import made;
    ck_assert_msg(import(&made, &graph, "n", "4") == 0, "%s", error.text);
    ck_assert_str_eq(made.text, "-- m.onnx, by the tests, opset 18\n"
                                "local nn = require \"nn\"\n"
                                "\n"
                                "local x = input(\"x\", {4, 2})\n"
                                "local fc = scope(\"fc\", nn.conv1d, x, 3)\n"
                                "return {\n"
                                "    y = fc,\n"
                                "}\n");
    ck_assert_int_eq(made.weights.list.n_tensors, 2);
    ck_assert_int_eq(cr_import_weights_load(&made.weights, &error), 0);
    ck_assert_str_eq(made.weights.list.tensors[0].name, "fc.bias");
    ck_assert(((const float *)made.weights.list.tensors[1].data)[5] == 6);
    cr_import_close(&made);
}
END_TEST

/* Imports, loads and runs the model through the library, as every verb does; returns y for x. */
static void run_model(const struct message *graph, const crescent_script *how, const float *x,
                      float *y)
{
    struct message model = model_of(graph, 18);
    crescent_context *context = crescent_context_new();
    crescent_graph *opened;
    crescent_model *compiled;
    write_model(&model);
    ck_assert_msg(crescent_graph_open(context, path, how, &opened) == CRESCENT_OK, "%s",
                  crescent_error(context));
    ck_assert_int_eq(crescent_compile(opened, NULL, &compiled), CRESCENT_OK);
    const char *weights = crescent_weights_path(compiled);
    if (weights) {
        ck_assert_str_eq(weights, path);
        ck_assert_int_eq(crescent_load_weights(compiled, &weights, 1, CRESCENT_ANY_TENSORS, NULL),
                         CRESCENT_OK);
    }
    const void *in[] = {x};
    void *out[] = {y};
    ck_assert_int_eq(crescent_run(compiled, in, out), CRESCENT_OK);
    crescent_close(compiled);
    crescent_graph_close(opened);
    crescent_context_free(context);
}

/* ---- weights ---- */

/* A weight of three elements in encodings that other exporters use; a type of -1: its values come
 * in several fields. */
static const struct {
    int type;
    unsigned char bytes[24];
} ways[] = {
    {FLOAT, {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0, 0, 0x40, 0x40}},
    {-1, {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0, 0, 0x40, 0x40}},
    {FLOAT16, {0, 0x3c, 0, 0xc1, 0, 0x42}},
    {BFLOAT16, {0x80, 0x3f, 0x20, 0xc0, 0x40, 0x40}},
    {DOUBLE, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 4, 0xc0, 0, 0, 0, 0, 0, 0, 8, 0x40}},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* Appends the weight as an initializer in encoding `way`. */
static void put_encoded_weight(struct message *graph, int way)
{
    struct message tensor = {.n = 0};
    put_integer(&tensor, 1, 3);
    put_integer(&tensor, 2, ways[way].type < 0 ? FLOAT : ways[way].type);
    put_text(&tensor, 8, "w");
    if (ways[way].type < 0) {
        put_bytes(&tensor, 4, ways[way].bytes, 8);
        put_float(&tensor, 4, 3);
    } else {
        put_bytes(&tensor, 9, ways[way].bytes, way < 2 ? 12 : way < 4 ? 6 : 24);
    }
    put_message(graph, 5, &tensor);
}

START_TEST(reads_weights_of_each_type)
{
    static const float x[] = {2, 4, 8};
    float y[3];
    struct message graph = {.n = 0}, to_float = {.n = 0};
    put_integer_attribute(&to_float, "to", FLOAT);
    put_encoded_weight(&graph, _i);
    put_node(&graph, "Cast", "w", "floats", &to_float);
    put_node(&graph, "Mul", "x floats", "y", NULL);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){3});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){3});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 2 && y[1] == -10 && y[2] == 24);
}
END_TEST

/* Returns the graph of a layer whose weight the exporter has transposed and renamed. */
static struct message transposed_graph(void)
{
    static const float w[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30};
    struct message graph = {.n = 0};
    put_node(&graph, "MatMul", "x onnx::MatMul_7", "product", NULL);
    put_node(&graph, "Add", "product fc.bias", "y", NULL);
    put_tensor(&graph, "onnx::MatMul_7", FLOAT, 2, (int64_t[]){2, 3}, w, sizeof w);
    put_tensor(&graph, "fc.bias", FLOAT, 1, (int64_t[]){3}, b, sizeof b);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){1, 2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){1, 3});
    return graph;
}

/* A transposed weight can be read in parts, from any element on, in the order of the module's
 * weight. */
START_TEST(reads_transposed_weights)
{
    static const float expected[] = {1, 4, 2, 5, 3, 6}, x[] = {100, 1};
    float y[3], part[6];
    struct message graph = transposed_graph();
    struct cr_import made;
    ck_assert_msg(import(&made, &graph, NULL, NULL) == 0, "%s", error.text);
    const struct cr_st_tensor *t = cr_safetensors_find(&made.weights.list, "fc.weight");
    ck_assert(t && t->shape[0] == 3 && t->shape[1] == 2 && !t->data);
    int i = (int)(t - made.weights.list.tensors);
    for (int first = 0; first < 6; first++)
        for (int n = 0; n <= 6 - first; n++) {
            ck_assert_int_eq(cr_import_weight_read(&made.weights, i, first, n, part), 0);
            ck_assert_mem_eq(part, expected + first, (size_t)n * sizeof *part);
        }
    cr_import_close(&made);
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 114 && y[1] == 225 && y[2] == 336);
}
END_TEST

enum { ROWS = 3, IN = 160, OUT = 72 };

/* Returns the graph of a layer of IN x OUT floats in w.bin; the weight has the module's name or a
 * name of the exporter's. */
static struct message large_graph(const char *weight, const char *inputs)
{
    static const float b[OUT] = {1, 2, 3};
    struct message graph = {.n = 0}, tensor = {.n = 0}, place = {.n = 0};
    put_integer(&tensor, 1, IN);
    put_integer(&tensor, 1, OUT);
    put_integer(&tensor, 2, FLOAT);
    put_text(&tensor, 8, weight);
    put_text(&place, 1, "location");
    put_text(&place, 2, "w.bin");
    put_message(&tensor, 13, &place);
    put_integer(&tensor, 14, 1);
    put_message(&graph, 5, &tensor);
    put_node(&graph, "MatMul", inputs, "product", NULL);
    put_node(&graph, "Add", "product fc.bias", "y", NULL);
    put_tensor(&graph, "fc.bias", FLOAT, 1, (int64_t[]){OUT}, b, sizeof b);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){ROWS, IN});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){ROWS, OUT});
    return graph;
}

/* Runs such a layer with weights in a format, on two threads. */
static void run_large(const char *weight, const char *inputs, const char *format, float *y)
{
    static float x[ROWS * IN];
    struct message graph = large_graph(weight, inputs), model = model_of(&graph, 18);
    const crescent_config config = {.format = format, .threads = 2};
    crescent_context *context = crescent_context_new();
    crescent_model *compiled;
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)(i % 13) / 4 - 1;
    write_model(&model);
    ck_assert_msg(crescent_open(context, path, NULL, &config, &compiled) == CRESCENT_OK, "%s",
                  crescent_error(context));
    const char *weights = crescent_weights_path(compiled);
    ck_assert_int_eq(crescent_load_weights(compiled, &weights, 1, CRESCENT_ANY_TENSORS, NULL),
                     CRESCENT_OK);
    ck_assert_int_eq(crescent_run(compiled, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    crescent_close(compiled);
    crescent_context_free(context);
}

/* A product has the same bits whether its weight is read as the file has it or transposed, in every
 * format. */
START_TEST(packs_transposed_weights)
{
    static const char *const formats[] = {NULL, "bf16", "f16", "q8", "q4"};
    static float w[IN * OUT];
    float plain[ROWS * OUT], transposed[ROWS * OUT];
    char beside[160];
    snprintf(beside, sizeof beside, "%s/w.bin", folder);
    for (int i = 0; i < IN * OUT; i++)
        w[i] = (float)(i * 7 % 101) / 32 - 1.5f;
    FILE *file = fopen(beside, "wb");
    ck_assert(file && fwrite(w, 1, sizeof w, file) == sizeof w && fclose(file) == 0);
    run_large("fc.weight", "x fc.weight", formats[_i], plain);
    run_large("onnx::MatMul_7", "x onnx::MatMul_7", formats[_i], transposed);
    ck_assert_mem_eq(plain, transposed, sizeof plain);
    unlink(beside);
}
END_TEST

/* A weight file that changed after the graph was read is refused. */
START_TEST(refuses_files_that_changed)
{
    struct message graph = transposed_graph(), model = model_of(&graph, 18);
    crescent_context *context = crescent_context_new();
    crescent_model *compiled;
    write_model(&model);
    ck_assert_int_eq(crescent_open(context, path, NULL, NULL, &compiled), CRESCENT_OK);
    const char *weights = crescent_weights_path(compiled);
    ck_assert_int_eq(crescent_load_weights(compiled, &weights, 1, CRESCENT_ANY_TENSORS, NULL),
                     CRESCENT_OK);
    usleep(20000); /* waits for a tick of the file system's clock */
    model.at[model.n - 1] ^= 1;
    write_model(&model);
    ck_assert_int_ne(crescent_load_weights(compiled, &weights, 1, CRESCENT_ANY_TENSORS, NULL),
                     CRESCENT_OK);
    ck_assert_ptr_nonnull(
        strstr(crescent_error(context), "m.onnx: changed since it was opened, expected"));
    crescent_close(compiled);
    crescent_context_free(context);
}
END_TEST

/* ScatterElements with indices that are shorter than x along the other axis leaves the remaining
 * elements of x as they are. */
START_TEST(scatters_into_a_corner)
{
    static const float x[] = {1, 2, 3, 4}, update[] = {9};
    static const int64_t index[] = {1};
    struct message graph = {.n = 0};
    float y[4];
    put_node(&graph, "ScatterElements", "x index update", "y", NULL);
    put_tensor(&graph, "index", INT64, 2, (int64_t[]){1, 1}, index, sizeof index);
    put_tensor(&graph, "update", FLOAT, 2, (int64_t[]){1, 1}, update, sizeof update);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 2});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 1 && y[1] == 2 && y[2] == 9 && y[3] == 4);
}
END_TEST

/* Constant folding, like a run, drops elements scattered past the end of an axis: they do not reach
 * the next row. */
START_TEST(scatters_past_an_axis)
{
    static const float x[] = {1, 1, 1, 1};
    static const int64_t numbers[] = {1, 2, 3, 4}, index[] = {2, 1}, update[] = {9, 8};
    struct message graph = {.n = 0}, axis = {.n = 0}, type = {.n = 0};
    float y[4];
    put_integer_attribute(&axis, "axis", 1);
    put_integer_attribute(&type, "to", FLOAT);
    put_node(&graph, "ScatterElements", "numbers index update", "known", &axis);
    put_node(&graph, "Cast", "known", "floats", &type);
    put_node(&graph, "Mul", "x floats", "y", NULL);
    put_tensor(&graph, "numbers", INT64, 2, (int64_t[]){2, 2}, numbers, sizeof numbers);
    put_tensor(&graph, "index", INT64, 2, (int64_t[]){2, 1}, index, sizeof index);
    put_tensor(&graph, "update", INT64, 2, (int64_t[]){2, 1}, update, sizeof update);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 2});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 1 && y[1] == 2 && y[2] == 3 && y[3] == 8);
}
END_TEST

/* A known factor with a batch of 1 is broadcast to every batch. */
START_TEST(multiplies_by_one_batch)
{
    static const float x[] = {1, 1, 1};
    static const int64_t one[] = {1, 10}, three[] = {1, 2, 3, 4, 5, 6};
    struct message graph = {.n = 0}, type = {.n = 0};
    float y[3];
    put_integer_attribute(&type, "to", FLOAT);
    put_node(&graph, "MatMul", "one three", "known", NULL);
    put_node(&graph, "Cast", "known", "floats", &type);
    put_node(&graph, "Mul", "x floats", "y", NULL);
    put_tensor(&graph, "one", INT64, 3, (int64_t[]){1, 1, 2}, one, sizeof one);
    put_tensor(&graph, "three", INT64, 3, (int64_t[]){3, 2, 1}, three, sizeof three);
    put_value(&graph, 11, "x", FLOAT, 3, (int64_t[]){3, 1, 1});
    put_value(&graph, 12, "y", FLOAT, 3, (int64_t[]){3, 1, 1});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 21 && y[1] == 43 && y[2] == 65);
}
END_TEST

/* GatherND with indices of fewer axes than the array gathers whole rows. */
START_TEST(gathers_rows_by_index)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t index[] = {1, 0, 0, 1};
    struct message graph = {.n = 0};
    float y[4];
    put_node(&graph, "GatherND", "x index", "y", NULL);
    put_tensor(&graph, "index", INT64, 2, (int64_t[]){2, 2}, index, sizeof index);
    put_value(&graph, 11, "x", FLOAT, 3, (int64_t[]){2, 2, 2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 2});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 5 && y[1] == 6 && y[2] == 3 && y[3] == 4);
}
END_TEST

/* Indices that go on with row 0 after the last row are not taken for a view of the table. */
START_TEST(gathers_a_row_twice)
{
    static const float x[] = {1, 2};
    static const int64_t index[] = {0, 1, 0};
    struct message graph = {.n = 0};
    float y[3];
    put_node(&graph, "Gather", "x index", "y", NULL);
    put_tensor(&graph, "index", INT64, 1, (int64_t[]){3}, index, sizeof index);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 1});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){3, 1});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == 1 && y[1] == 2 && y[2] == 1);
}
END_TEST

/* An added vector that two products share, or that is a single number, is not taken for the bias of
 * a layer. */
START_TEST(adds_what_is_no_bias)
{
    static const float x[] = {1, 2}, w[] = {1, 2, 3, 4}, b[] = {10, 20};
    for (int shared = 0; shared < 2; shared++) {
        struct message graph = {.n = 0};
        float y[2], first[] = {7 + 10, 10 + (shared ? 20 : 10)};
        put_node(&graph, "MatMul", "x fc.weight", "product", NULL);
        put_node(&graph, "Add", "product fc.bias", shared ? "middle" : "y", NULL);
        if (shared) {
            put_node(&graph, "MatMul", "middle out.weight", "second", NULL);
            put_node(&graph, "Add", "second fc.bias", "y", NULL);
            put_tensor(&graph, "out.weight", FLOAT, 2, (int64_t[]){2, 2}, w, sizeof w);
        }
        put_tensor(&graph, "fc.weight", FLOAT, 2, (int64_t[]){2, 2}, w, sizeof w);
        put_tensor(&graph, "fc.bias", FLOAT, 1, (int64_t[]){1 + shared}, b, sizeof *b << shared);
        put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){1, 2});
        put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){1, 2});
        run_model(&graph, NULL, x, y);
        ck_assert(y[0] == (shared ? first[0] + 3 * first[1] + 10 : first[0]) &&
                  y[1] == (shared ? 2 * first[0] + 4 * first[1] + 20 : first[1]));
    }
}
END_TEST

/* A layer norm and another norm read one weight, as exporters merge equal ones: each has its own in the script. */
START_TEST(norms_of_merged_weights)
{
    static const float x[] = {0, 2, 3, 1}, w[] = {1, 1}, b[] = {0, 0}, expected[] = {-1, 1, 1, -1};
    struct message graph = {.n = 0}, first = {.n = 0}, second = {.n = 0};
    float y[4];
    put_text(&first, 3, "/first/LayerNormalization"); /* the name of the node */
    put_text(&second, 3, "/second/InstanceNormalization");
    put_node(&graph, "LayerNormalization", "x first.weight first.bias", "middle", &first);
    put_node(&graph, "InstanceNormalization", "middle first.weight first.bias", "y", &second);
    put_tensor(&graph, "first.weight", FLOAT, 1, (int64_t[]){2}, w, sizeof w);
    put_tensor(&graph, "first.bias", FLOAT, 1, (int64_t[]){2}, b, sizeof b);
    put_value(&graph, 11, "x", FLOAT, 3, (int64_t[]){1, 2, 2});
    put_value(&graph, 12, "y", FLOAT, 3, (int64_t[]){1, 2, 2});
    run_model(&graph, NULL, x, y);
    for (int i = 0; i < 4; i++)
        ck_assert(fabsf(y[i] - expected[i]) < 1e-3f);
}
END_TEST

/* Constant folding of Max gives +0 for two zeros of different sign, as a run does. */
START_TEST(takes_the_larger_zero)
{
    static const float x[] = {1}, zeros[] = {-0.0f, 0.0f};
    struct message graph = {.n = 0}, tensor = {.n = 0}, value = {.n = 0};
    float y[1];
    put_integer(&tensor, 1, 2);
    put_integer(&tensor, 2, FLOAT);
    put_bytes(&tensor, 9, zeros, sizeof zeros);
    put_tensor_attribute(&value, "value", &tensor);
    put_node(&graph, "Constant", "", "zeros", &value);
    put_node(&graph, "ReduceMax", "zeros", "zero", NULL);
    put_node(&graph, "Div", "x zero", "y", NULL);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){1});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){1});
    run_model(&graph, NULL, x, y);
    ck_assert_msg(y[0] == INFINITY, "%g", (double)y[0]);
}
END_TEST

/* Negating the integer 0 gives 0: -0 would be printed as another number. */
START_TEST(negates_zero)
{
    static const int64_t zero[] = {0};
    struct message graph = {.n = 0}, axis = {.n = 0};
    put_integer_attribute(&axis, "axis", 0);
    put_node(&graph, "Neg", "zero", "minus", NULL);
    put_node(&graph, "Concat", "zero minus", "y", &axis);
    put_tensor(&graph, "zero", INT64, 1, (int64_t[]){1}, zero, sizeof zero);
    put_value(&graph, 12, "y", INT64, 1, (int64_t[]){2});
    expect_text(&graph, NULL, NULL, "y = const(0, {2}, \"i32\"),");
}
END_TEST

START_TEST(runs_a_model)
{
    static const float x[] = {1, 0, 0, 1}, expected[] = {11, 22, 33, 14, 25, 36};
    static const crescent_setting size = {"n", "2"};
    const crescent_script how = {.settings = &size, .n_settings = 1};
    struct message graph = linear_graph();
    float y[6];
    run_model(&graph, &how, x, y);
    ck_assert_mem_eq(y, expected, sizeof y);
}
END_TEST

/* Appends layer h.i.fc: x = x w + constants, too many for the script's text. */
static void put_block(struct message *graph, int i)
{
    static const float w[] = {1, 0, 0, 1};
    char in[16], out[16], product[16], weight[32], inputs[64];
    snprintf(in, sizeof in, "x%d", i);
    snprintf(out, sizeof out, "x%d", i + 1);
    snprintf(product, sizeof product, "p%d", i);
    snprintf(weight, sizeof weight, "h.%d.fc.weight", i);
    snprintf(inputs, sizeof inputs, "%s %s", in, weight);
    put_node(graph, "MatMul", inputs, product, NULL);
    snprintf(inputs, sizeof inputs, "%s squares", product);
    put_node(graph, "Add", inputs, out, NULL);
    put_tensor(graph, weight, FLOAT, 2, (int64_t[]){2, 2}, w, sizeof w);
}

/* Constants that equal layers read become one parameter, not one for each layer. */
START_TEST(blocks_share_known_numbers)
{
    enum { N = 50 };
    static const int64_t shape[] = {N, 2}, one = 1, none = 0, n = 2 * N;
    struct message graph = {.n = 0}, to = {.n = 0};
    float x[2 * N] = {0}, y[2 * N];
    struct cr_import made;
    put_text(&graph, 2, "blocks");
    put_integer_attribute(&to, "to", FLOAT);
    put_node(&graph, "Range", "none n one", "i", NULL);
    put_node(&graph, "Mul", "i i", "ii", NULL);
    put_node(&graph, "Cast", "ii", "f", &to);
    put_node(&graph, "Reshape", "f shape", "squares", NULL);
    put_tensor(&graph, "none", INT64, 0, NULL, &none, sizeof none);
    put_tensor(&graph, "n", INT64, 0, NULL, &n, sizeof n);
    put_tensor(&graph, "one", INT64, 0, NULL, &one, sizeof one);
    put_tensor(&graph, "shape", INT64, 1, (int64_t[]){2}, shape, sizeof shape);
    for (int i = 0; i < 3; i++)
        put_block(&graph, i);
    put_value(&graph, 11, "x0", FLOAT, 2, shape);
    put_value(&graph, 12, "x3", FLOAT, 2, shape);
    ck_assert_msg(import(&made, &graph, NULL, NULL) == 0, "%s", error.text);
    ck_assert_msg(strstr(made.text, "for i = 0, 2 do"), "no loop in:\n%s", made.text);
    cr_import_close(&made);
    run_model(&graph, NULL, x, y);
    for (int i = 0; i < 2 * N; i++)
        ck_assert(y[i] == (float)(3 * i * i));
}
END_TEST

/* Texts of attributes are quoted as Lua texts, whatever characters they have, and are not broken
 * where lines are wrapped. */
START_TEST(texts_of_attributes)
{
    struct message graph = {.n = 0}, attributes = {.n = 0};
    put_text(&graph, 2, "texts");
    put_text_attribute(&attributes, "mode", "a\"b\\c, d = e\n");
    put_node(&graph, "DepthToSpace", "x", "y", &attributes);
    put_value(&graph, 11, "x", FLOAT, 4, (int64_t[]){1, 1, 2, 2});
    put_value(&graph, 12, "y", FLOAT, 4, (int64_t[]){1, 1, 2, 2});
    expect_text(&graph, NULL, NULL,
                "onnx.depth_to_space(x, {mode = \"a\\\"b\\\\c,\\032d\\032=\\032e\\010\"})");
}
END_TEST

/* Resizing computes an element from its neighbours alone: an infinite element does not change distant
 * ones, and near ones become infinite, not NaN. */
START_TEST(resizes_by_neighbours)
{
    static const float x[] = {INFINITY, 1, 2, 3, 4, 5, 6, 7};
    static const int64_t sizes[] = {16, 2};
    static const float linear[] = {1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4.25f,
                                   4.75f, 5.25f, 5.75f, 6.25f, 6.75f, 7};
    struct message graph = {.n = 0}, attributes = {.n = 0};
    float y[16];
    put_text(&graph, 2, "resize");
    put_text_attribute(&attributes, "mode", "linear");
    put_integer_attribute(&attributes, "antialias", 1);
    put_node(&graph, "Resize", "x - - sizes", "y", &attributes);
    put_tensor(&graph, "sizes", INT64, 1, (int64_t[]){1}, &sizes[_i], sizeof *sizes);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){8});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){sizes[_i]});
    run_model(&graph, NULL, x, y);
    ck_assert(y[0] == INFINITY);
    if (_i == 0) {
        ck_assert(y[1] == INFINITY && y[2] == INFINITY);
        ck_assert_mem_eq(y + 3, linear, sizeof linear);
    } else
        ck_assert_float_eq_tol(y[1], 5.34375f, 1e-5f);
}
END_TEST

START_TEST(asks_for_sizes)
{
    struct message graph = linear_graph();
    struct cr_import made;
    expect_refusal(&graph, "input 'x': n, the size of axis 1, is not known, expected --set n=N");
    ck_assert_int_eq(import(&made, &graph, "m", "4"), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "no symbolic size and no input of that name"));
    ck_assert_int_eq(import(&made, &graph, "n", "-1"), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "expected a size"));
}
END_TEST

/* For an input without elements, results have a shape and no elements. */
START_TEST(outputs_without_elements)
{
    static const float four[] = {4, 4, 4, 4};
    struct message graph = linear_graph(), groups = {.n = 0};
    struct cr_import made;
    ck_assert_msg(import(&made, &graph, "n", "0") == 0, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(made.text, "    y = const(0, {0, 3}, \"f32\"),\n"));
    cr_import_close(&made);
    put_node(&groups, "GroupNormalization", "x row row", "y", NULL);
    put_tensor(&groups, "row", FLOAT, 1, (int64_t[]){4}, four, 16);
    put_value(&groups, 11, "x", FLOAT, 3, (int64_t[]){2, 4, 0});
    put_value(&groups, 12, "y", FLOAT, 3, (int64_t[]){2, 4, 0});
    ck_assert_msg(import(&made, &groups, NULL, NULL) == 0, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(made.text, "    y = const(0, {2, 4, 0}, \"f32\"),\n"));
    cr_import_close(&made);
}
END_TEST

/* Shape -> Gather -> Unsqueeze -> Concat -> Reshape, as exporters write x:view(n, 6). */
static struct message shape_graph(void)
{
    static const int64_t zero[] = {0}, rest[] = {-1};
    struct message graph = {.n = 0}, axis = {.n = 0};
    put_integer_attribute(&axis, "axis", 0);
    put_node(&graph, "Shape", "x", "shape", NULL);
    put_node(&graph, "Gather", "shape zero", "n", NULL);
    put_node(&graph, "Unsqueeze", "n axes", "n1", NULL);
    put_node(&graph, "Concat", "n1 rest", "target", &axis);
    put_node(&graph, "Reshape", "x target", "y", NULL);
    put_tensor(&graph, "zero", INT64, 0, NULL, zero, sizeof zero);
    put_tensor(&graph, "axes", INT64, 1, (int64_t[]){1}, zero, sizeof zero);
    put_tensor(&graph, "rest", INT64, 1, (int64_t[]){1}, rest, sizeof rest);
    put_value(&graph, 11, "x", FLOAT, 3, (int64_t[]){SYMBOL('n'), 2, 3});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('n'), 6});
    return graph;
}

START_TEST(folds_shape_arithmetic)
{
    struct message graph = shape_graph();
    expect_text(&graph, "n", "5", "local y = reshape(x, {5, 6})\n");
}
END_TEST

/* Returns a graph of long constants: a0 = range(5, 5 + n), a1 = a0 + 1, ..., a_last; late =
 * a_last[2], early = a0[2], which a branch reads; y = x + early + late, and z = x + a_half. */
static struct message range_graph(int64_t n, int last)
{
    const int64_t numbers[] = {5, n + 5, 1, 2};
    const char *const names[] = {"start", "limit", "one", "at"};
    struct message graph = {.n = 0}, branches = {.n = 0}, yes = {.n = 0};
    char in[32], out[32];
    put_node(&graph, "Range", "start limit one", "a0", NULL);
    for (int i = 0; i < last; i++) {
        snprintf(in, sizeof in, "a%d one", i);
        snprintf(out, sizeof out, "a%d", i + 1);
        put_node(&graph, "Add", in, out, NULL);
    }
    snprintf(in, sizeof in, "a%d at", last);
    put_node(&graph, "Gather", in, "late", NULL);
    put_node(&yes, "Gather", "a0 at", "taken", NULL);
    put_value(&yes, 12, "taken", INT64, 0, NULL);
    put_graph_attribute(&branches, "then_branch", &yes);
    put_node(&graph, "If", "condition", "early", &branches);
    put_node(&graph, "Add", "early late", "both", NULL);
    put_node(&graph, "Add", "x both", "y", NULL);
    snprintf(in, sizeof in, "x a%d", last / 2);
    put_node(&graph, "Add", in, "z", NULL);
    for (int i = 0; i < 4; i++)
        put_tensor(&graph, names[i], INT64, 0, NULL, &numbers[i], 8);
    put_tensor(&graph, "condition", BOOL, 0, NULL, "\1", 1);
    put_value(&graph, 11, "x", INT64, 1, (int64_t[]){1});
    put_value(&graph, 12, "y", INT64, 1, (int64_t[]){1});
    put_value(&graph, 12, "z", INT64, 1, (int64_t[]){n});
    return graph;
}

/* Imports a graph as if constants took `before` bytes in memory and `ever` bytes in total already;
 * returns the bytes in memory afterwards, and the number of lines whose values are not known. */
static size_t bytes_kept(const struct message *graph, size_t before, size_t ever, int *n_lines)
{
    struct message bytes = model_of(graph, 18);
    struct cr_onnx_model model;
    struct cr_onnx_graph made;
    struct cr_onnx_script script;
    ck_assert_msg(!cr_onnx_model_parse(&model, "m.onnx", bytes.at, bytes.n, &error) &&
                      !cr_onnx_graph_make(&made, &model, &error),
                  "%s", error.text);
    made.elements.bytes = before;
    made.elements.ever = ever;
    ck_assert_msg(!cr_onnx_translate(&script, &made, NULL, 0, &error), "%s", error.text);
    size_t kept = made.elements.bytes;
    *n_lines = script.n_statements;
    cr_onnx_script_free(&script);
    cr_onnx_graph_free(&made);
    cr_onnx_model_close(&model);
    return kept;
}

/* Elements of constants that no later node reads are freed: 40 arrays of 2^19 elements would take
 * 160 MiB. */
START_TEST(frees_known_elements)
{
    struct message graph = range_graph(1 << 19, 40);
    struct cr_import made;
    int n_lines;
    ck_assert_uint_le(bytes_kept(&graph, 0, 0, &n_lines), (size_t)72 << 20);
    ck_assert_int_eq(n_lines, 2);
    ck_assert_msg(import(&made, &graph, NULL, NULL) == 0, "%s", error.text);
    ck_assert_msg(strstr(made.text, "x + 54") &&
                      strstr(made.text, "x + (iota({524288}, 1) + 25)"),
                  "%s", made.text);
    cr_import_close(&made);
}
END_TEST

/* Small arrays are always folded, since shapes may depend on them; large arrays are not folded after a
 * limit on elements in memory, or on all elements ever computed, is reached. */
START_TEST(keeps_a_bounded_number_of_elements)
{
    for (int64_t n = CR_ELEMENTS_FEW; n <= CR_ELEMENTS_FEW + 1; n++) {
        struct message graph = range_graph(n, 4);
        int n_lines;
        int n_unknown = n == CR_ELEMENTS_FEW ? 2 : 10;
        bytes_kept(&graph, CR_ELEMENTS_MOST / 2, CR_ELEMENTS_EVER / 2, &n_lines);
        ck_assert_int_eq(n_lines, 2);
        bytes_kept(&graph, CR_ELEMENTS_MOST + 1, 0, &n_lines);
        ck_assert_int_eq(n_lines, n_unknown);
        bytes_kept(&graph, 0, CR_ELEMENTS_EVER + 1, &n_lines);
        ck_assert_int_eq(n_lines, n_unknown);
    }
}
END_TEST

/* Returns the graph: if condition then x + x else -x. */
static struct message if_graph(bool condition)
{
    const unsigned char known[] = {condition};
    struct message graph = {.n = 0}, branches = {.n = 0}, yes = {.n = 0}, no = {.n = 0};
    put_node(&yes, "Add", "x x", "twice", NULL);
    put_value(&yes, 12, "twice", FLOAT, 1, (int64_t[]){2});
    put_node(&no, "Neg", "x", "minus", NULL);
    put_value(&no, 12, "minus", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&branches, "then_branch", &yes);
    put_graph_attribute(&branches, "else_branch", &no);
    put_node(&graph, "If", "condition", "y", &branches);
    put_tensor(&graph, "condition", BOOL, 0, NULL, known, 1);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    return graph;
}

START_TEST(takes_the_branch)
{
    struct message yes = if_graph(true), no = if_graph(false);
    expect_text(&yes, NULL, NULL, "local twice = x + x\n");
    expect_text(&no, NULL, NULL, "local minus = -x\n");
}
END_TEST

/* The result of a branch may be the result of a nested branch: y = If(c, If(c, If(c, x + x))). */
START_TEST(takes_branches_in_branches)
{
    static const float x[] = {1, -2}, twice[] = {2, -4};
    struct message body = {.n = 0}, graph = {.n = 0};
    float y[2];
    put_text(&body, 2, "innermost");
    put_node(&body, "Add", "x x", "sum", NULL);
    put_value(&body, 12, "sum", FLOAT, 1, (int64_t[]){2});
    for (int i = 0; i < 3; i++) {
        struct message branches = {.n = 0}, outer = {.n = 0};
        put_graph_attribute(&branches, "then_branch", &body);
        put_graph_attribute(&branches, "else_branch", &body);
        put_text(&outer, 2, "outer");
        put_node(&outer, "If", "condition", "y", &branches);
        put_value(&outer, 12, "y", FLOAT, 1, (int64_t[]){2});
        body = outer;
    }
    graph = body;
    put_tensor(&graph, "condition", BOOL, 0, NULL, "\1", 1);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    run_model(&graph, NULL, x, y);
    ck_assert_mem_eq(y, twice, sizeof y);
}
END_TEST

/* The body of a Loop reads the result of an If outside, and its carried value is the result of an
 * If inside. */
START_TEST(loops_over_branches)
{
    static const int64_t rounds = 3;
    static const float x[] = {1, -2}, sixteen[] = {16, -32};
    struct message twice = {.n = 0}, branches = {.n = 0}, body = {.n = 0}, loop = {.n = 0},
                   graph = {.n = 0};
    float y[2];
    put_text(&twice, 2, "twice");
    put_node(&twice, "Add", "v v", "sum", NULL);
    put_value(&twice, 12, "sum", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&branches, "then_branch", &twice);
    put_graph_attribute(&branches, "else_branch", &twice);
    put_text(&body, 2, "body");
    put_node(&body, "Identity", "in", "go_on", NULL);
    put_node(&body, "Add", "carried none", "v", NULL);
    put_node(&body, "If", "condition", "out", &branches);
    put_value(&body, 11, "i", INT64, 0, NULL);
    put_value(&body, 11, "in", BOOL, 0, NULL);
    put_value(&body, 11, "carried", FLOAT, 1, (int64_t[]){2});
    put_value(&body, 12, "go_on", BOOL, 0, NULL);
    put_value(&body, 12, "out", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&loop, "body", &body);
    put_text(&graph, 2, "loop");
    put_node(&graph, "Sub", "x x", "none", NULL);
    put_node(&graph, "Identity", "x", "v", NULL);
    put_node(&graph, "If", "condition", "start", &branches);
    put_node(&graph, "Loop", "rounds - start", "y", &loop);
    put_tensor(&graph, "rounds", INT64, 0, NULL, &rounds, sizeof rounds);
    put_tensor(&graph, "condition", BOOL, 0, NULL, "\1", 1);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    run_model(&graph, NULL, x, y);
    ck_assert_mem_eq(y, sixteen, sizeof y);
}
END_TEST

/* A Loop of three iterations of z = z * x is unrolled. */
START_TEST(unrolls_loops)
{
    static const int64_t three[] = {3};
    struct message graph = {.n = 0}, attributes = {.n = 0}, body = {.n = 0};
    put_node(&body, "Mul", "z x", "next", NULL);
    put_node(&body, "Identity", "go_in", "go", NULL);
    put_value(&body, 11, "i", INT64, 0, NULL);
    put_value(&body, 11, "go_in", BOOL, 0, NULL);
    put_value(&body, 11, "z", FLOAT, 1, (int64_t[]){2});
    put_value(&body, 12, "go", BOOL, 0, NULL);
    put_value(&body, 12, "next", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&attributes, "body", &body);
    put_node(&graph, "Loop", "rounds always x", "y", &attributes);
    put_tensor(&graph, "rounds", INT64, 0, NULL, three, sizeof three);
    put_tensor(&graph, "always", BOOL, 0, NULL, "\1", 1);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_text(&graph, NULL, NULL, "local next = x * x * x * x\n");
}
END_TEST

/* A Loop of z = z + x is unrolled relu(n) times, where n is known. */
START_TEST(counts_rounds)
{
    static const float two[] = {2};
    struct message graph = {.n = 0}, attributes = {.n = 0}, body = {.n = 0}, to = {.n = 0};
    put_node(&body, "Add", "z x", "next", NULL);
    put_node(&body, "Identity", "go_in", "go", NULL);
    put_value(&body, 11, "i", INT64, 0, NULL);
    put_value(&body, 11, "go_in", BOOL, 0, NULL);
    put_value(&body, 11, "z", FLOAT, 1, (int64_t[]){2});
    put_value(&body, 12, "go", BOOL, 0, NULL);
    put_value(&body, 12, "next", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&attributes, "body", &body);
    put_integer_attribute(&to, "to", INT64);
    put_tensor(&graph, "two", FLOAT, 0, NULL, two, sizeof two);
    put_node(&graph, "Relu", "two", "count", NULL);
    put_node(&graph, "Cast", "count", "rounds", &to);
    put_node(&graph, "OptionalHasElement", "x", "go", NULL);
    put_node(&graph, "Loop", "rounds go x", "y", &attributes);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_text(&graph, NULL, NULL, "local next = x + x + x\n");
}
END_TEST

/* A Loop that computes z = z + x while the iteration's number is below n is unrolled once n is
 * set. */
START_TEST(pins_what_ends_a_loop)
{
    static const int64_t one = 1;
    struct message graph = {.n = 0}, attributes = {.n = 0}, body = {.n = 0};
    put_node(&body, "Add", "z x", "next", NULL);
    put_node(&body, "Add", "i one", "rounds", NULL);
    put_node(&body, "Less", "rounds n", "go", NULL);
    put_value(&body, 11, "i", INT64, 0, NULL);
    put_value(&body, 11, "go_in", BOOL, 0, NULL);
    put_value(&body, 11, "z", FLOAT, 1, (int64_t[]){2});
    put_value(&body, 12, "go", BOOL, 0, NULL);
    put_value(&body, 12, "next", FLOAT, 1, (int64_t[]){2});
    put_graph_attribute(&attributes, "body", &body);
    put_tensor(&graph, "one", INT64, 0, NULL, &one, sizeof one);
    put_tensor(&graph, "many", INT64, 0, NULL, (int64_t[]){1000}, sizeof one);
    put_tensor(&graph, "always", BOOL, 0, NULL, "\1", 1);
    put_node(&graph, "Loop", "many always x", "y", &attributes);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 11, "n", INT64, 0, NULL);
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_text(&graph, "n", "4", "local next = x + x + x + x + x\n");
    expect_refusal(&graph, "the condition of an iteration is known only when the model runs");
}
END_TEST

/* A BitCast of constant floats gives constant integers with the same bits. */
START_TEST(casts_bits)
{
    struct message graph = {.n = 0}, to = {.n = 0};
    put_integer_attribute(&to, "to", INT32);
    put_node(&graph, "BitCast", "x", "y", &to);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){3});
    put_value(&graph, 12, "y", INT32, 1, (int64_t[]){3});
    expect_text(&graph, "x", "1,-0.0,-2.5",
                "y = const({1065353216, -2147483648, -1071644672}, {3}, \"i32\"),");
    expect_refusal(&graph, "BitCast ('the_node'): x is known only when the model runs");
}
END_TEST

/* A BitCast of known integers gives known floats of the same bits, down to the least one. */
START_TEST(casts_bits_to_floats)
{
    struct message graph = {.n = 0}, to = {.n = 0};
    put_integer_attribute(&to, "to", FLOAT);
    put_node(&graph, "BitCast", "x", "y", &to);
    put_value(&graph, 11, "x", INT32, 1, (int64_t[]){6});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){6});
    expect_text(&graph, "x", "1065353216,-2147483648,-1071644672,1,8388608,-8388608",
                "y = const({1, -0.0, -2.5, 1e-45, 1.1754944e-38, -math.huge}, {6}, \"f32\"),");
}
END_TEST

/* The bits of floats that are not normal, or not finite. */
START_TEST(casts_bits_of_least_floats)
{
    struct message graph = {.n = 0}, to = {.n = 0};
    put_integer_attribute(&to, "to", INT32);
    put_node(&graph, "BitCast", "x", "y", &to);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){5});
    put_value(&graph, 12, "y", INT32, 1, (int64_t[]){5});
    expect_text(&graph, "x", "1e-45,1.1754944e-38,3.4028235e38,-inf,0.1",
                "y = const({1, 8388608, 2139095039, -8388608, 1036831949}, {5}, \"i32\"),");
}
END_TEST

/* A NonZero of known elements gives their indices, a row for each axis. */
START_TEST(finds_nonzero_elements)
{
    struct message graph = {.n = 0};
    put_node(&graph, "NonZero", "x", "y", NULL);
    put_value(&graph, 11, "x", INT64, 2, (int64_t[]){2, 3});
    put_value(&graph, 12, "y", INT64, 2, (int64_t[]){2, 3});
    expect_text(&graph, "x", "0,7,0,-1,0,2", "y = const({0, 1, 1, 1, 0, 2}, {2, 3}, \"i32\"),");
    expect_refusal(&graph, "NonZero ('the_node'): x is known only when the model runs");
}
END_TEST

/* Results of 8-bit integer arithmetic wrap around. */
START_TEST(narrow_integers_wrap)
{
    struct message graph = {.n = 0};
    put_node(&graph, "Add", "x x", "y", NULL);
    put_value(&graph, 11, "x", INT8, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", INT8, 1, (int64_t[]){2});
    expect_text(&graph, NULL, NULL, "local y = remainder(x + x + 128, 256) - 128\n");
}
END_TEST

/* A gather of consecutive rows by constant indices becomes a slice. */
START_TEST(slices_by_known_indices)
{
    static const int64_t index[] = {1, 2, 3, 4};
    struct message graph = {.n = 0}, axis = {.n = 0};
    put_integer_attribute(&axis, "axis", 1);
    put_tensor(&graph, "index", INT64, 2, (int64_t[]){2, 2}, index, sizeof index);
    put_node(&graph, "Gather", "x index", "y", &axis);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){3, 6});
    put_value(&graph, 12, "y", FLOAT, 3, (int64_t[]){3, 2, 2});
    expect_text(&graph, NULL, NULL, "local y = reshape(narrow(x, 2, 1, 4), {3, 2, 2})\n");
}
END_TEST

/* A constant index is checked before it is used, also if the table is constant. */
START_TEST(refuses_indices_outside)
{
    static const int64_t index[] = {0, 5};
    static const struct {
        const char *op, *inputs, *words;
    } cases[] = {{"GatherElements", "x index", "found an index outside of an axis of 2"},
                 {"GatherElements", "x index", "found indices of the shape {1, 2} along axis 0"},
                 {"Gather", "x index", "found an index outside of the table"},
                 {"Gather", "x far", "found an index outside of the table"},
                 {"GatherND", "x far", "found an index outside of the table"},
                 {"GatherElements", "x far", "found an index outside of an axis of 2"},
                 {"Gather", "x farthest", "found a slice outside of an axis of 2"}};
    static const int64_t far[] = {INT64_MAX, INT64_MIN};
    static const float numbers[] = {1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message graph = {.n = 0}, value = {.n = 0}, tensor = {.n = 0};
        put_integer(&tensor, 1, 2);
        put_integer(&tensor, 1, 1);
        put_integer(&tensor, 2, FLOAT);
        put_bytes(&tensor, 9, numbers, sizeof numbers);
        put_tensor_attribute(&value, "value", &tensor);
        put_node(&graph, "Constant", "", "x", &value);
        put_tensor(&graph, "index", INT64, 2, i == 1 ? (int64_t[]){1, 2} : (int64_t[]){2, 1}, index,
                   sizeof index);
        put_tensor(&graph, "far", INT64, 2, (int64_t[]){2, 1}, far, sizeof far);
        put_tensor(&graph, "farthest", INT64, 0, NULL, far, sizeof *far);
        put_node(&graph, cases[i].op, cases[i].inputs, "y", NULL);
        put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 1});
        expect_refusal(&graph, cases[i].words);
    }
}
END_TEST

/* An input that holds a shape has to be set; then the shape is a constant. */
START_TEST(pins_inputs)
{
    struct message graph = {.n = 0};
    put_node(&graph, "Reshape", "x shape", "y", NULL);
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 6});
    put_value(&graph, 11, "shape", INT64, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){3, 4});
    expect_text(&graph, "shape", "3,4", "local y = reshape(x, {3, 4})\n");
    expect_refusal(&graph, "Reshape ('the_node'): shape is known only when the model runs");
}
END_TEST

/* ---- tensors without elements ---- */

/* Returns the graph y = concat(past, x) along the first axis. */
static struct message past_graph(void)
{
    struct message graph = {.n = 0}, axis = {.n = 0};
    put_integer_attribute(&axis, "axis", 0);
    put_node(&graph, "Concat", "past x", "y", &axis);
    put_value(&graph, 11, "past", FLOAT, 2, (int64_t[]){SYMBOL('p'), 3});
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 3});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){SYMBOL('q'), 3});
    return graph;
}

START_TEST(leaves_out_inputs_without_elements)
{
    struct message graph = past_graph();
    struct cr_import made;
    expect_text(&graph, "p", "1", "local past = input(\"past\", {1, 3})\n");
    ck_assert_msg(import(&made, &graph, "p", "0") == 0, "%s", error.text);
    ck_assert_ptr_nonnull(
        strstr(made.text, "local x = input(\"x\", {2, 3})\nreturn {\n    y = x,\n"));
    ck_assert_int_eq(made.n_pinned, 1);
    ck_assert_str_eq(made.pinned[0], "past");
    cr_import_close(&made);
}
END_TEST

/* Imports that graph with a file for `past`, which is checked although the script does not have
 * that input. */
static int import_past(struct cr_import *made, enum cr_npy_type type, int64_t columns)
{
    char beside[160], header[CR_NPY_HEADER];
    size_t n = cr_npy_print_header(header, type, 2, (int64_t[]){0, columns});
    const struct cr_onnx_pin pin = {"p", "0", false};
    const struct cr_import_input input = {"past", beside};
    struct message graph = past_graph(), model = model_of(&graph, 18);
    write_model(&model);
    snprintf(beside, sizeof beside, "%s/past.npy", folder);
    FILE *file = fopen(beside, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(header, 1, n, file), n);
    fclose(file);
    const struct cr_import_how how = {.pins = &pin, .n_pins = 1, .inputs = &input, .n_inputs = 1};
    int status = cr_import_open(made, path, &how, &error);
    unlink(beside);
    return status;
}

START_TEST(checks_files_without_elements)
{
    struct cr_import made;
    ck_assert_msg(import_past(&made, CR_NPY_F4, 3) == 0, "%s", error.text);
    cr_import_close(&made);
    ck_assert_int_eq(import_past(&made, CR_NPY_F4, 4), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "found another shape, expected the shape of input 'past'"));
    ck_assert_int_eq(import_past(&made, CR_NPY_I4, 3), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "expected f2, f4 or f8"));
}
END_TEST

/* A reduction over no elements gives its identity. */
START_TEST(reduces_nothing)
{
    static const struct {
        const char *op, *words;
        int type;
    } cases[] = {
        {"ReduceSum", "y = const(0, {3}, \"f32\"),", FLOAT},
        {"ReduceProd", "y = const(1, {3}, \"f32\"),", FLOAT},
        {"ReduceMax", "y = const(-math.huge, {3}, \"f32\"),", FLOAT},
        {"ReduceMin", "y = const(math.huge, {3}, \"f32\"),", FLOAT},
        {"ReduceMean", "y = const(0 / 0, {3}, \"f32\"),", FLOAT},
        {"ReduceLogSum", "y = const(-math.huge, {3}, \"f32\"),", FLOAT},
        {"ReduceL2", "y = const(0, {3}, \"f32\"),", FLOAT},
        {"ReduceMax", "y = const(-2147483648, {3}, \"i32\"),", INT32},
        {"ReduceMin", "y = const(2147483647, {3}, \"i32\"),", INT32},
        {"ReduceMax", "y = const(0, {3}, \"bool\"),", BOOL},
        {"ReduceMin", "y = const(1, {3}, \"bool\"),", BOOL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const int64_t first = 0;
        struct message graph = {.n = 0}, keep = {.n = 0};
        put_integer_attribute(&keep, "keepdims", 0);
        put_node(&graph, cases[i].op, "x axes", "y", &keep);
        put_tensor(&graph, "axes", INT64, 1, (int64_t[]){1}, &first, sizeof first);
        put_value(&graph, 11, "x", cases[i].type, 2, (int64_t[]){0, 3});
        put_value(&graph, 12, "y", cases[i].type, 1, (int64_t[]){3});
        expect_text(&graph, NULL, NULL, cases[i].words);
    }
}
END_TEST

/* Integers, NaN and values at limits: cases in which an obvious translation of an ONNX operator
 * would be wrong. */
START_TEST(means_what_onnx_means)
{
    static const int64_t start = -9, end = INT64_MIN, step = -2, zero = 0, two = 2;
    static const int64_t twice[] = {0, 0};
    static const struct {
        const char *op, *in, *words;
        int type;
    } cases[] = {
        {"Slice", "x start end zero step", "narrow(x, 1, 0, 1)", FLOAT},
        {"Sign", "x", "where(gt(x, 0), 1, where(lt(x, 0), -1, x))", FLOAT},
        {"ReduceMin", "x zero", "-1 - max(-1 - x, 1)", INT32},
        {"Pow", "x f", "int(where(le(abs(y_part - y_part_2), abs(y_part) * 2.3841858e-7), y_part_2, y_part))", INT32},
        {"Pow", "x x", "int(round(pow(float(x), float(x))))", INT32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message graph = {.n = 0};
        put_node(&graph, cases[i].op, cases[i].in, "y", NULL);
        put_tensor(&graph, "start", INT64, 1, (int64_t[]){1}, &start, sizeof start);
        put_tensor(&graph, "end", INT64, 1, (int64_t[]){1}, &end, sizeof end);
        put_tensor(&graph, "step", INT64, 1, (int64_t[]){1}, &step, sizeof step);
        put_tensor(&graph, "zero", INT64, 1, (int64_t[]){1}, &zero, sizeof zero);
        put_value(&graph, 11, "x", cases[i].type, 1, (int64_t[]){3});
        put_value(&graph, 11, "f", FLOAT, 1, (int64_t[]){3});
        put_value(&graph, 12, "y", cases[i].type, 1, (int64_t[]){-1});
        expect_text(&graph, NULL, NULL, cases[i].words);
    }
    struct message wide = {.n = 0}, again = {.n = 0}, empty = {.n = 0}, exclusive = {.n = 0};
    put_node(&wide, "Expand", "x shape", "y", NULL);
    put_tensor(&wide, "shape", INT64, 1, (int64_t[]){1}, &two, sizeof two);
    put_value(&wide, 11, "x", FLOAT, 1, (int64_t[]){3});
    put_value(&wide, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&wide, "found an axis of 3, expected 1 or 2");
    put_node(&again, "Unsqueeze", "x axes", "y", NULL);
    put_tensor(&again, "axes", INT64, 1, (int64_t[]){2}, twice, sizeof twice);
    put_value(&again, 11, "x", FLOAT, 1, (int64_t[]){3});
    put_value(&again, 12, "y", FLOAT, 3, (int64_t[]){1, 1, 3});
    expect_refusal(&again, "found axis 0 twice, expected each axis once");
    put_integer_attribute(&exclusive, "exclusive", 1);
    put_node(&empty, "CumSum", "x zero", "y", &exclusive);
    put_tensor(&empty, "zero", INT64, 1, (int64_t[]){1}, &zero, sizeof zero);
    put_value(&empty, 11, "x", FLOAT, 2, (int64_t[]){0, 3});
    put_value(&empty, 12, "y", FLOAT, 2, (int64_t[]){0, 3});
    expect_text(&empty, NULL, NULL, "y = ");
}
END_TEST

/* Norms without the attribute epsilon: ONNX Runtime's own operators have a smaller default than
 * ONNX's. */
START_TEST(has_epsilons_of_each_domain)
{
    static const struct {
        const char *domain, *op, *in, *words;
    } cases[] = {
        {"", "LayerNormalization", "x w", "+ 1e-5)"},
        {"com.microsoft", "SkipLayerNormalization", "x x w", "+ 1e-12)"},
        {"com.microsoft", "SkipSimplifiedLayerNormalization", "x x w", "+ 1e-12)"},
        {"com.microsoft", "SimplifiedLayerNormalization", "x w", "+ 1e-5)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message graph = {.n = 0}, domain = {.n = 0};
        put_text(&domain, 7, cases[i].domain);
        put_node(&graph, cases[i].op, cases[i].in, "y", &domain);
        put_value(&graph, 11, "x", FLOAT, 3, (int64_t[]){1, 2, 4});
        put_value(&graph, 11, "w", FLOAT, 1, (int64_t[]){4});
        put_value(&graph, 12, "y", FLOAT, 3, (int64_t[]){1, 2, 4});
        expect_text(&graph, NULL, NULL, cases[i].words);
    }
}
END_TEST

/* A product over an axis of size 0 is 0, a cumulative product of no elements has no elements, and a
 * call without any operand is refused. */
START_TEST(multiplies_nothing)
{
    static const int64_t zero = 0;
    struct message graph = {.n = 0}, lookup = {.n = 0}, running = {.n = 0};
    put_node(&graph, "MatMul", "a b", "y", NULL);
    put_value(&graph, 11, "a", FLOAT, 2, (int64_t[]){2, 0});
    put_value(&graph, 11, "b", FLOAT, 2, (int64_t[]){0, 3});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 3});
    expect_text(&graph, NULL, NULL, "y = const(0, {2, 3}, \"f32\"),");
    put_node(&running, "CumProd", "a axis", "y", NULL);
    put_tensor(&running, "axis", INT64, 1, (int64_t[]){1}, &zero, sizeof zero);
    put_value(&running, 11, "a", FLOAT, 2, (int64_t[]){0, 3});
    put_value(&running, 12, "y", FLOAT, 2, (int64_t[]){0, 3});
    expect_text(&running, NULL, NULL, "y = ");
    put_node(&lookup, "Gather", "a i", "y", NULL);
    put_value(&lookup, 11, "a", FLOAT, 2, (int64_t[]){0, 3});
    put_value(&lookup, 11, "i", INT64, 1, (int64_t[]){2});
    put_value(&lookup, 12, "y", FLOAT, 2, (int64_t[]){2, 3});
    expect_refusal(&lookup, "Gather ('the_node'): found gather of a tensor without elements");
}
END_TEST

/* Tile with 0 copies along an axis gives no elements, and adds nothing to a concat. */
START_TEST(repeats_no_times)
{
    static const int64_t times[] = {0, 2}, once[] = {0, 1}, negative[] = {-1, 2};
    struct message none = {.n = 0}, joined = {.n = 0}, refused = {.n = 0}, axis = {.n = 0};
    put_node(&none, "Tile", "x times", "y", NULL);
    put_tensor(&none, "times", INT64, 1, (int64_t[]){2}, times, sizeof times);
    put_value(&none, 11, "x", FLOAT, 2, (int64_t[]){1, 3});
    put_value(&none, 12, "y", FLOAT, 2, (int64_t[]){0, 6});
    expect_text(&none, NULL, NULL, "y = const(0, {0, 6}, \"f32\"),");
    put_integer_attribute(&axis, "axis", 0);
    put_node(&joined, "Tile", "x once", "past", NULL);
    put_node(&joined, "Concat", "past x", "all", &axis);
    put_node(&joined, "Neg", "all", "y", NULL);
    put_tensor(&joined, "once", INT64, 1, (int64_t[]){2}, once, sizeof once);
    put_value(&joined, 11, "x", FLOAT, 2, (int64_t[]){2, 3});
    put_value(&joined, 12, "y", FLOAT, 2, (int64_t[]){2, 3});
    expect_text(&joined, NULL, NULL, "local y = -x\n");
    put_node(&refused, "Tile", "x times", "y", NULL);
    put_tensor(&refused, "times", INT64, 1, (int64_t[]){2}, negative, sizeof negative);
    put_value(&refused, 11, "x", FLOAT, 2, (int64_t[]){2, 3});
    put_value(&refused, 12, "y", FLOAT, 2, (int64_t[]){2, 6});
    expect_refusal(&refused, "Tile ('the_node'): found -1 repeats along axis 0, expected 1 to 64");
}
END_TEST

START_TEST(names_are_made_fit)
{
    struct message graph = {.n = 0};
    put_node(&graph, "Neg", "x:0", "out/1", NULL);
    put_node(&graph, "Exp", "out/1", "/a/sum", NULL);
    put_value(&graph, 11, "x:0", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "out/1", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "/a/sum", FLOAT, 1, (int64_t[]){2});
    expect_text(&graph, NULL, NULL, "local x_0 = input(\"x_0\", {2})\nlocal t1 = -x_0\n");
    expect_text(&graph, NULL, NULL, "local sum_2 = exp(t1)\n");
    expect_text(&graph, NULL, NULL, "[\"out.1\"] = t1,");
}
END_TEST

/* ---- refusals ---- */

START_TEST(refuses_operators)
{
    struct message graph = {.n = 0};
    put_node(&graph, "StringConcat", "x x", "y", NULL);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&graph, "m.onnx: StringConcat ('the_node'): this operator is not supported");
}
END_TEST

/* Graphs of one node that are refused, over x [2, 8] and a constant as its second input. */
START_TEST(refuses_what_cannot_be)
{
    static const struct {
        const char *op, *inputs, *attribute, *text, *words;
        int64_t number;
    } nodes[] = {
        {"Resize", "x - - n", "mode", "nearest", "found 1 scales or sizes, expected 2, one for each axis", 4},
        {"Resize", "x - - x", "mode", "linear", "known only when the model runs", 0},
        {"Resize", "x - - n n", "mode", "nearer", "found mode 'nearer', expected a value", 0},
        {"Resize", "x - - n", "coordinate_transformation_mode", "tf_crop_and_resize",
         "a known `roi` of 4 numbers", 4},
        {"BitwiseAnd", "x x", "none", "", "found an operand of f32, expected integers", 0},
        {"BitShift", "x n", "direction", "LEFT", "found an operand of f32, expected integers", 1},
        {"GridSample", "x x", "mode", "linear", "expected [N, C, d..] with 1 to 3 axes d", 0},
        {"GridSample", "x x", "mode", "sinc", "found mode 'sinc', expected a value", 0},
        {"RoiAlign", "x x n", "mode", "avg",
         "found pictures tensor f32 [2, 8], regions tensor f32 [2, 8] and sampling_ratio 0", 0},
        {"MaxUnpool", "x n", "none", "", "a tensor of 2 axes", 0},
        {"DFT", "x n", "none", "", "expected one before the last, which has 1 or 2 elements", 1 << 24},
        {"STFT", "x n", "none", "", "found frames of 8 elements by steps of -1", -1},
        {"Det", "x", "none", "", "expected square matrices", 0},
        {"Concat", "x x", "axis", "1", "attribute 'axis' is of another type", 0},
        {"Softmax", "x", "axis", "", "attribute 'axis' is of another type", 0},
        {"Transpose", "x", "perm", "10", "attribute 'perm' is of another type", 0},
        {"Elu", "x", "alpha", "1", "alpha: found '1', expected a number", 0},
    };
    struct message graph = {.n = 0}, attributes = {.n = 0};
    put_text(&graph, 2, "refused");
    put_text_attribute(&attributes, nodes[_i].attribute, nodes[_i].text);
    put_node(&graph, nodes[_i].op, nodes[_i].inputs, "y", &attributes);
    put_tensor(&graph, "n", INT64, 1, (int64_t[]){1}, &nodes[_i].number, sizeof(int64_t));
    put_value(&graph, 11, "x", FLOAT, 2, (int64_t[]){2, 8});
    put_value(&graph, 12, "y", FLOAT, 2, (int64_t[]){2, 8});
    expect_refusal(&graph, nodes[_i].words);
}
END_TEST

/* Attributes that exceed every axis and size: they are refused with a line that names the
 * attribute, or count as the end where ONNX says so, as in a slice. */
START_TEST(refuses_numbers_out_of_reach)
{
    static const struct {
        const char *op, *inputs, *attribute;
        bool is_list;
    } nodes[] = {
        {"DepthToSpace", "p", "blocksize", false}, {"SpaceToDepth", "p", "blocksize", false},
        {"Conv", "p w", "dilations", true},        {"Conv", "p w", "strides", true},
        {"Conv", "p w", "pads", true},             {"ConvTranspose", "p w", "strides", true},
        {"MaxPool", "p", "kernel_shape", true},    {"Split", "p", "num_outputs", false},
        {"Gather", "p n", "axis", false},          {"Flatten", "p", "axis", false},
        {"LRN", "p", "size", false},               {"TopK", "p n", "axis", false},
        {"EyeLike", "m", "k", false},              {"Shape", "p", "start", false},
        {"GroupNormalization", "p s s", "num_groups", false}, {"GatherND", "p n", "batch_dims", false},
    };
    static const int64_t numbers[] = {
        INT64_MIN, INT64_MAX, 0, -1, INT64_C(1) << 31, INT64_C(1) << 62}, one = 1;
    static const float w[36] = {0};
    int64_t number = numbers[_i % 6];
    struct message graph = {.n = 0}, attributes = {.n = 0}, a = {.n = 0};
    put_text(&graph, 2, "far");
    put_text(&a, 1, nodes[_i / 6].attribute);
    put_integer(&a, nodes[_i / 6].is_list ? 8 : 3, number);
    if (nodes[_i / 6].is_list)
        put_integer(&a, 8, 1);
    put_integer(&a, 20, nodes[_i / 6].is_list ? 7 : 2);
    put_message(&attributes, 5, &a);
    put_node(&graph, nodes[_i / 6].op, nodes[_i / 6].inputs, "y", &attributes);
    put_tensor(&graph, "w", FLOAT, 4, (int64_t[]){2, 2, 3, 3}, w, sizeof w);
    put_tensor(&graph, "s", FLOAT, 1, (int64_t[]){2}, w, 2 * sizeof *w);
    put_tensor(&graph, "n", INT64, 1, (int64_t[]){1}, &one, sizeof one);
    put_value(&graph, 11, "p", FLOAT, 4, (int64_t[]){1, 2, 4, 4});
    put_value(&graph, 11, "m", FLOAT, 2, (int64_t[]){3, 3});
    put_value(&graph, 12, "y", FLOAT, 0, NULL);
    struct cr_import made;
    if (import(&made, &graph, NULL, NULL) == 0)
        cr_import_close(&made);
    else
        ck_assert_msg(*error.text && !strchr(error.text, '\n'), "%s", error.text);
    bool is_end = strcmp(nodes[_i / 6].op, "Shape") == 0;
    if (number != 0 && number != -1 && !is_end)
        ck_assert_msg(strstr(error.text, nodes[_i / 6].attribute), "%s", error.text);
}
END_TEST

/* Operands of types that ONNX does not allow, constant or not, and divisions by a size of 0 are
 * refused. */
START_TEST(refuses_other_operands)
{
    static const struct {
        const char *op;
        int type, rank;
        int64_t shape[3];
        const char *words;
    } cases[] = {
        {"Sin", INT64, 1, {2}, "an operand of type int64, expected floats"},
        {"Gelu", INT32, 1, {2}, "an operand of type int32, expected floats"},
        {"Neg", BOOL, 1, {2}, "an operand of type bool, expected numbers"},
        {"Not", FLOAT, 1, {2}, "an operand of type float, expected booleans"},
        {"And", INT32, 1, {2}, "an operand of type int32, expected booleans"},
        {"Gather", FLOAT, 1, {2}, "an operand of type float, expected integers"},
        {"MatMul", BOOL, 2, {2, 2}, "an operand of type bool, expected numbers"},
        {"Where", FLOAT, 1, {2}, "an operand of type float, expected booleans"},
        {"Concat", INT64, 2, {2, 2}, "found operands of type int64 and float, expected equal types"},
        {"Resize", FLOAT, 1, {0}, "found onnx_pictures.resize of a tensor without elements"},
        {"RotaryEmbedding", FLOAT, 3, {1, 2, 0}, "found 0 heads of a tensor of 3 axes"},
    };
    static const float four[] = {4, 4, 4, 4};
    const char *op = cases[_i].op;
    struct message graph = {.n = 0};
    put_node(&graph, op,
             strcmp(op, "Resize") == 0               ? "x - four"
             : strcmp(op, "RotaryEmbedding") == 0    ? "x table table"
             : strcmp(op, "Concat") == 0             ? "x table"
                                                     : "x x x",
             "y", NULL);
    put_tensor(&graph, "four", FLOAT, 1, (int64_t[]){1}, four, 4);
    put_value(&graph, 11, "table", FLOAT, 2, (int64_t[]){2, 0});
    put_value(&graph, 11, "x", cases[_i].type, cases[_i].rank, cases[_i].shape);
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&graph, cases[_i].words);
}
END_TEST

START_TEST(refuses_names_twice)
{
    static const float one = 1;
    struct message graph = {.n = 0};
    put_text(&graph, 2, "twice");
    put_node(&graph, "Neg", "x", _i == 0 ? "x" : "y", NULL);
    put_node(&graph, "Neg", "x", _i == 1 ? "y" : _i == 2 ? "w" : "z", NULL);
    put_tensor(&graph, "w", FLOAT, 0, NULL, &one, sizeof one);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    if (_i == 3)
        put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){3});
    put_value(&graph, 12, _i == 0 ? "x" : "y", FLOAT, 1, (int64_t[]){2});
    if (_i == 4)
        put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&graph, "two values have the name");
}
END_TEST

START_TEST(refuses_other_initializers)
{
    static const float numbers[] = {1, 2};
    struct message graph = {.n = 0};
    put_text(&graph, 2, "other");
    put_node(&graph, "Neg", "x", "y", NULL);
    put_tensor(&graph, "x", FLOAT, 1, (int64_t[]){2}, numbers, sizeof numbers);
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    struct message same = graph, shape = graph, type = graph;
    put_value(&same, 11, "x", FLOAT, 1, (int64_t[]){2});
    expect_text(&same, NULL, NULL, "y");
    put_value(&shape, 11, "x", FLOAT, 2, (int64_t[]){1, 2});
    expect_refusal(&shape, "input 'x' has another type or shape than its initializer");
    put_value(&type, 11, "x", INT32, 1, (int64_t[]){2});
    expect_refusal(&type, "input 'x' has another type or shape than its initializer");
}
END_TEST

START_TEST(refuses_versions)
{
    static const int versions[] = {-1, 0, 29, 999};
    struct message graph = linear_graph(), model = model_of(&graph, versions[_i]);
    struct cr_import made;
    write_model(&model);
    const struct cr_import_how how = {0};
    ck_assert_int_eq(cr_import_open(&made, path, &how, &error), -1);
    ck_assert_msg(strstr(error.text, "of ai.onnx, expected 1 to 28"), "%s", error.text);
}
END_TEST

START_TEST(refuses_strings)
{
    struct message graph = {.n = 0};
    put_node(&graph, "Identity", "x", "y", NULL);
    put_value(&graph, 11, "x", STRING, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", STRING, 1, (int64_t[]){2});
    expect_refusal(&graph, "input 'x' is of type string, expected a tensor of numbers");
}
END_TEST

START_TEST(refuses_values_of_nowhere)
{
    struct message graph = {.n = 0};
    put_node(&graph, "Neg", "z", "y", NULL);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&graph, "reads 'z', expected a node before it that outputs it");
}
END_TEST

/* Returns a graph with a tensor in a file beside the model, or with a wrong reference to one. */
static struct message external_graph(const char *location, const char *offset)
{
    struct message graph = linear_graph(), tensor = {.n = 0};
    const char *const pairs[][2] = {{"location", location}, {"offset", offset}, {"length", "8"}};
    put_integer(&tensor, 1, 2);
    put_integer(&tensor, 2, FLOAT);
    put_text(&tensor, 8, "far");
    for (int i = 0; i < 3; i++) {
        struct message pair = {.n = 0};
        put_text(&pair, 1, pairs[i][0]);
        put_text(&pair, 2, pairs[i][1]);
        put_message(&tensor, 13, &pair);
    }
    put_integer(&tensor, 14, 1);
    put_message(&graph, 5, &tensor);
    put_node(&graph, "Neg", "far", "z", NULL);
    put_value(&graph, 12, "z", FLOAT, 1, (int64_t[]){2});
    return graph;
}

START_TEST(reads_external_data)
{
    static const float numbers[] = {0, 7, 8};
    char beside[160];
    struct message graph = external_graph("far.bin", "4");
    struct cr_import made;
    snprintf(beside, sizeof beside, "%s/far.bin", folder);
    FILE *file = fopen(beside, "wb");
    ck_assert_ptr_nonnull(file);
    fwrite(numbers, 1, sizeof numbers, file);
    fclose(file);
    ck_assert_msg(import(&made, &graph, "n", "1") == 0, "%s", error.text);
    ck_assert_str_eq(made.weights.list.tensors[0].name, "far");
    ck_assert_int_eq(cr_import_weights_load(&made.weights, &error), 0);
    ck_assert(((const float *)made.weights.list.tensors[0].data)[1] == 8);
    cr_import_close(&made);
    graph = external_graph("far.bin", "8");
    expect_refusal(&graph, "reach past the end of their file");
    unlink(beside);
}
END_TEST

START_TEST(stays_in_its_folder)
{
    static const char *const places[] = {"../m.onnx", "/etc/passwd", "a/../../m.onnx", ".."};
    struct message graph = external_graph(places[_i], "0");
    expect_refusal(&graph, "no location in the model's folder");
}
END_TEST

/* A name that contains NUL is refused, as C would cut it to another name. */
START_TEST(refuses_names_with_nul)
{
    struct message graph = {.n = 0}, node = {.n = 0};
    put_bytes(&node, 1, "x\0y", 3);
    put_text(&node, 2, "y");
    put_text(&node, 4, "Neg");
    put_message(&graph, 1, &node);
    put_value(&graph, 11, "x", FLOAT, 1, (int64_t[]){2});
    put_value(&graph, 12, "y", FLOAT, 1, (int64_t[]){2});
    expect_refusal(&graph, "found a zero byte in a name or string");
    graph = external_graph("far.bin", "0");
    for (size_t i = 0; i + 7 <= graph.n; i++)
        if (memcmp(graph.at + i, "far.bin", 7) == 0)
            graph.at[i + 3] = 0;
    expect_refusal(&graph, "found a zero byte in a name or in the location of external data");
}
END_TEST

/* A link to a data file has to lead to a file in the model's folder; if the model itself is a link,
 * as in a store of models, its data files may be links, too. */
START_TEST(follows_no_link_outside)
{
    static const float numbers[] = {7, 8};
    char outside[] = "/tmp/crescent-outside-XXXXXX", far[64], beside[160], in[160], link[160];
    struct message graph = external_graph("link.bin", "0");
    struct cr_import made;
    ck_assert_ptr_nonnull(mkdtemp(outside));
    snprintf(far, sizeof far, "%s/far.bin", outside);
    snprintf(in, sizeof in, "%s/in.bin", folder);
    snprintf(beside, sizeof beside, "%s/stored.onnx", outside);
    snprintf(link, sizeof link, "%s/link.bin", folder);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(i ? in : far, "wb");
        ck_assert(file && fwrite(numbers, 1, sizeof numbers, file) == sizeof numbers);
        fclose(file);
    }
    ck_assert_int_eq(symlink(far, link), 0);
    expect_refusal(&graph, "a link out of the model's folder");
    unlink(link);
    ck_assert_int_eq(symlink("in.bin", link), 0);
    ck_assert_msg(import(&made, &graph, "n", "1") == 0, "%s", error.text);
    cr_import_close(&made);
    unlink(link);
    ck_assert_int_eq(symlink(far, link), 0);
    ck_assert_int_eq(rename(path, beside), 0);
    ck_assert_int_eq(symlink(beside, path), 0);
    ck_assert_msg(import(&made, &graph, "n", "1") == 0, "%s", error.text);
    cr_import_close(&made);
    unlink(far);
    unlink(in);
    unlink(link);
    unlink(beside);
    rmdir(outside);
}
END_TEST

/* ---- bytes ---- */

static int parse(const unsigned char *bytes, size_t n)
{
    struct cr_onnx_model model;
    struct cr_onnx_graph graph;
    error.text[0] = '\0';
    if (cr_onnx_model_parse(&model, "x.onnx", bytes, n, &error))
        return -1;
    int status = cr_onnx_graph_make(&graph, &model, &error);
    if (!status)
        cr_onnx_graph_free(&graph);
    cr_onnx_model_close(&model);
    return status;
}

/* Each prefix of a file is refused with a line, unless it ends between two fields of the model. */
START_TEST(files_that_are_cut)
{
    struct message graph = linear_graph(), model = model_of(&graph, 18);
    int refused = 0;
    for (size_t n = 0; n < model.n; n++) {
        unsigned char *copy = malloc(n + 1); /* so that reads beyond the end are seen */
        memcpy(copy, model.at, n);
        int status = parse(copy, n);
        refused += status != 0;
        ck_assert(status == 0 || error.text[0]);
        free(copy);
    }
    ck_assert_int_eq(parse(model.at, model.n), 0);
    ck_assert_uint_ge((unsigned)refused, (unsigned)model.n - 1);
}
END_TEST

/* Lengths that exceed the file, and sizes that overflow. */
START_TEST(hostile_sizes)
{
    static const int64_t sizes[][2] = {
        {INT64_MAX, 2}, {INT64_C(1) << 40, INT64_C(1) << 40}, {-1, 1}, {3, 1}};
    static const float number = 1;
    struct message graph = linear_graph();
    put_tensor(&graph, "large", FLOAT, 2, sizes[_i], &number, sizeof number);
    struct message model = model_of(&graph, 18);
    ck_assert_int_eq(parse(model.at, model.n), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "x.onnx: tensor '"));
}
END_TEST

START_TEST(long_lengths)
{
    static const unsigned char files[][12] = {
        {0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
         0x01}, /* a graph of 2^64 - 1 bytes */
        {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
         0xff},       /* an endless integer */
        {0x0b, 0x0c}, /* a group */
        {0x00, 0x00}, /* field 0 */
    };
    ck_assert_int_eq(parse(files[_i], sizeof *files), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "cut short or no ONNX model"));
}
END_TEST

/* Subgraphs nested more deeply than the reader allows are refused. */
START_TEST(deep_graphs)
{
    struct message graph = if_graph(true);
    for (int i = 0; i < 30; i++) {
        struct message outer = {.n = 0}, attributes = {.n = 0};
        if (graph.n > 7000)
            break;
        put_graph_attribute(&attributes, "then_branch", &graph);
        put_node(&outer, "If", "c", "y", &attributes);
        graph = outer;
    }
    struct message model = model_of(&graph, 18);
    ck_assert_int_eq(parse(model.at, model.n), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "graphs are nested too deep"));
}
END_TEST

/* Allocations of the arena do not overlap, whatever their sizes. */
START_TEST(arena_blocks_do_not_overlap)
{
    static const size_t sizes[] = {16, 65536, 24, 65536, 16384, 40000, 8, 65520, 1 << 20, 48};
    enum { N = sizeof sizes / sizeof *sizes };
    struct cr_arena arena = {0};
    unsigned char *at[N];
    for (int i = 0; i < N; i++) {
        at[i] = cr_arena_new(&arena, sizes[i], 1);
        memset(at[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            ck_assert_int_eq(at[i][k], i + 1);
    cr_arena_free(&arena);
}
END_TEST

/* The table of operators is sorted and has no operator twice. */
START_TEST(table_is_in_order)
{
    for (int i = 1; i < cr_onnx_n_ops; i++) {
        int domains = strcmp(cr_onnx_ops[i - 1].domain, cr_onnx_ops[i].domain);
        ck_assert_msg(domains < 0 || (domains == 0 &&
                                      strcmp(cr_onnx_ops[i - 1].name, cr_onnx_ops[i].name) < 0),
                      "%s, then %s", cr_onnx_ops[i - 1].name, cr_onnx_ops[i].name);
    }
}
END_TEST

/* Asserts that a module of graphs/lib has the function that a row names, such as "onnx.det". */
static void expect_function(const char *word, int length)
{
    int module = (int)strcspn(word, ".");
    char text[256];
    snprintf(text, sizeof text,
             "assert(type(require(\"%.*s\")%.*s) == \"function\") return {y = const(0, {1})}",
             module, word, length - module, word + module);
    struct cr_script script;
    struct cr_script_session *session = cr_script_session_new("row");
    ck_assert_msg(!cr_script_session_run(session, text, strlen(text), &script, &error), "%.*s: %s",
                  length, word, error.text);
    cr_script_free(&script);
    cr_script_session_free(session);
}

/* All Lua functions that rows of the table name exist. */
START_TEST(functions_are_there)
{
    int found = 0;
    for (int i = 0; i < cr_onnx_n_ops; i++) {
        const char *word = cr_onnx_ops[i].lua ? cr_onnx_ops[i].lua : "";
        for (int length; (length = (int)strcspn(word, " ")) > 0; found++) {
            expect_function(word, length);
            word += length + strspn(word + length, " ");
        }
    }
    ck_assert_int_gt(found, 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import");
    TCase *scripts = tcase_create("scripts"), *refusals = tcase_create("refusals"),
          *bytes = tcase_create("bytes");
    tcase_add_checked_fixture(scripts, make_folder, remove_folder);
    tcase_add_checked_fixture(refusals, make_folder, remove_folder);
    tcase_add_test(scripts, prints_a_script);
    tcase_add_test(scripts, runs_a_model);
    tcase_add_loop_test(scripts, reads_weights_of_each_type, 0, N_WAYS);
    tcase_add_test(scripts, reads_transposed_weights);
    tcase_add_loop_test(scripts, packs_transposed_weights, 0, 5);
    tcase_add_test(refusals, refuses_files_that_changed);
    tcase_add_test(scripts, scatters_into_a_corner);
    tcase_add_test(scripts, scatters_past_an_axis);
    tcase_add_test(scripts, multiplies_by_one_batch);
    tcase_add_test(scripts, gathers_rows_by_index);
    tcase_add_test(scripts, gathers_a_row_twice);
    tcase_add_test(scripts, adds_what_is_no_bias);
    tcase_add_test(scripts, takes_the_larger_zero);
    tcase_add_test(scripts, negates_zero);
    tcase_add_test(scripts, blocks_share_known_numbers);
    tcase_add_test(scripts, norms_of_merged_weights);
    tcase_add_test(scripts, texts_of_attributes);
    tcase_add_loop_test(scripts, resizes_by_neighbours, 0, 2);
    tcase_add_test(scripts, asks_for_sizes);
    tcase_add_test(scripts, outputs_without_elements);
    tcase_add_test(scripts, folds_shape_arithmetic);
    tcase_add_test(scripts, frees_known_elements);
    tcase_add_test(scripts, keeps_a_bounded_number_of_elements);
    tcase_add_test(scripts, takes_the_branch);
    tcase_add_test(scripts, takes_branches_in_branches);
    tcase_add_test(scripts, loops_over_branches);
    tcase_add_test(scripts, unrolls_loops);
    tcase_add_test(scripts, counts_rounds);
    tcase_add_test(scripts, pins_what_ends_a_loop);
    tcase_add_test(scripts, casts_bits);
    tcase_add_test(scripts, casts_bits_to_floats);
    tcase_add_test(scripts, casts_bits_of_least_floats);
    tcase_add_test(scripts, finds_nonzero_elements);
    tcase_add_test(scripts, narrow_integers_wrap);
    tcase_add_test(scripts, slices_by_known_indices);
    tcase_add_test(refusals, refuses_indices_outside);
    tcase_add_test(scripts, pins_inputs);
    tcase_add_test(scripts, leaves_out_inputs_without_elements);
    tcase_add_test(scripts, checks_files_without_elements);
    tcase_add_test(scripts, reduces_nothing);
    tcase_add_test(scripts, means_what_onnx_means);
    tcase_add_test(scripts, has_epsilons_of_each_domain);
    tcase_add_test(scripts, multiplies_nothing);
    tcase_add_test(scripts, repeats_no_times);
    tcase_add_test(scripts, names_are_made_fit);
    tcase_add_test(scripts, reads_external_data);
    tcase_add_test(refusals, refuses_operators);
    tcase_add_loop_test(refusals, refuses_what_cannot_be, 0, 17);
    tcase_add_loop_test(refusals, refuses_numbers_out_of_reach, 0, 16 * 6);
    tcase_add_loop_test(refusals, refuses_names_twice, 0, 5);
    tcase_add_loop_test(refusals, refuses_other_operands, 0, 11);
    tcase_add_test(refusals, refuses_other_initializers);
    tcase_add_loop_test(refusals, refuses_versions, 0, 4);
    tcase_add_test(refusals, refuses_names_with_nul);
    tcase_add_test(refusals, follows_no_link_outside);
    tcase_add_test(refusals, refuses_strings);
    tcase_add_test(refusals, refuses_values_of_nowhere);
    tcase_add_loop_test(refusals, stays_in_its_folder, 0, 4);
    tcase_add_test(bytes, files_that_are_cut);
    tcase_add_loop_test(bytes, hostile_sizes, 0, 4);
    tcase_add_loop_test(bytes, long_lengths, 0, 4);
    tcase_add_test(bytes, deep_graphs);
    tcase_add_test(bytes, arena_blocks_do_not_overlap);
    tcase_add_test(bytes, table_is_in_order);
    tcase_add_test(bytes, functions_are_there);
    suite_add_tcase(suite, scripts);
    suite_add_tcase(suite, refusals);
    suite_add_tcase(suite, bytes);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
