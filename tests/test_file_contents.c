/*
 * test_file_contents.c - the contents of files of tensors of every known kind; statistics over the
 * finite elements; the table of `crescent inspect`, which groups layers; and an index of shards as
 * a file of weights.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/npy.h"
#include "compiler/files/safetensors.h"
#include "gguf_writer.h"

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

static void set_up(void)
{
    strcpy(folder, "/tmp/test_file_contents.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static int n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_tensors(const char *name, const struct cr_st_tensor *tensors, int n)
{
    static const struct cr_st_metadata made = {"made", "here"};
    char error[400] = "";
    struct cr_writer writer;
    ck_assert_msg(cr_writer_open(&writer, in_folder(name), error, sizeof error) == 0 &&
                      cr_safetensors_put(&writer, tensors, n, &made, 1, error, sizeof error) == 0 &&
                      cr_writer_commit(&writer, error, sizeof error) == 0,
                  "%s", error);
}

/* Writes two shards and their index: three layers, the last of another size, and a head. */
static void write_shards(void)
{
    static const int64_t two[] = {2}, three[] = {3};
    static const float a[] = {1, 3}, b[] = {5, 7}, c[] = {NAN, INFINITY, -2}, d[] = {0, 0.5f};
    const struct cr_st_tensor first[] = {
        {.name = "h.0.weight", .type = CR_ST_F32, .rank = 1, .shape = two, .data = a},
        {.name = "h.1.weight", .type = CR_ST_F32, .rank = 1, .shape = two, .data = b}};
    const struct cr_st_tensor second[] = {
        {.name = "h.2.weight", .type = CR_ST_F32, .rank = 1, .shape = three, .data = c},
        {.name = "head.weight", .type = CR_ST_F32, .rank = 1, .shape = two, .data = d}};
    write_tensors("one.safetensors", first, 2);
    write_tensors("two.safetensors", second, 2);
    write_text("model.safetensors.index.json",
               "{\"weight_map\": {\"h.0.weight\": \"one.safetensors\", \"h.1.weight\": "
               "\"one.safetensors\", \"h.2.weight\": \"two.safetensors\", \"head.weight\": "
               "\"two.safetensors\"}}");
}

/* A folder and its index list the same tensors in order, with the file that has each. */
START_TEST(shards)
{
    crescent_contents *contents;
    crescent_tensor t;
    crescent_setting fact;
    write_shards();
    const char *paths[] = {folder, in_folder("model.safetensors.index.json")};
    GOOD(crescent_contents_open(context, paths[_i], &contents));
    ck_assert_str_eq(crescent_contents_kind(contents), _i ? "safetensors" : "folder");
    ck_assert_int_eq(crescent_contents_count(contents), 4);
    GOOD(crescent_contents_at(contents, 2, &t));
    ck_assert_str_eq(t.name, "h.2.weight");
    ck_assert_str_eq(t.type, "F32");
    ck_assert_str_eq(t.file, in_folder("two.safetensors"));
    ck_assert_int_eq(t.elements, 3);
    ck_assert_int_eq(t.bytes, 12);
    GOOD(crescent_fact_at(contents, 0, &fact));
    ck_assert_str_eq(fact.key, "made");
    ck_assert_str_eq(fact.value, "here");
    ck_assert_int_eq(crescent_contents_at(contents, 4, &t), CRESCENT_FAILED);
    crescent_contents_close(contents);
}
END_TEST

START_TEST(statistics)
{
    crescent_contents *contents;
    crescent_statistics s;
    write_shards();
    GOOD(crescent_contents_open(context, folder, &contents));
    GOOD(crescent_contents_measure(contents, 1, &s));
    ck_assert_double_eq(s.min, 5);
    ck_assert_double_eq(s.max, 7);
    ck_assert_double_eq(s.mean, 6);
    ck_assert_double_eq(s.deviation, 1);
    GOOD(crescent_contents_measure(contents, 2, &s));
    ck_assert_int_eq(s.nans, 1);
    ck_assert_int_eq(s.infinities, 1);
    ck_assert_double_eq(s.min, -2);
    ck_assert_double_eq(s.max, -2);
    ck_assert_double_eq(s.mean, -2);
    ck_assert_int_eq(crescent_contents_measure(contents, 9, &s), CRESCENT_FAILED);
    crescent_contents_close(contents);
}
END_TEST

/* Weights are the same read through an index as through the folder. */
START_TEST(index_for_weights)
{
    static const char text[] = "return {y = param('h.1.weight', {2}) + input('x', {2})}";
    const float x[] = {10, 20};
    float y[2];
    const void *inputs[] = {x};
    void *outputs[] = {y};
    crescent_graph *graph;
    crescent_model *model;
    write_shards();
    const char *path = in_folder("model.safetensors.index.json");
    GOOD(crescent_graph_open_text(context, "sum", text, sizeof text - 1, NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL));
    GOOD(crescent_run(model, inputs, outputs));
    ck_assert(y[0] == 15 && y[1] == 27);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

START_TEST(numpy)
{
    static const double numbers[] = {1, 2, 3, 6};
    crescent_contents *contents;
    crescent_statistics s;
    crescent_tensor t;
    char header[CR_NPY_HEADER];
    const int64_t shape[] = {2, 2};
    FILE *file = fopen(in_folder("x.npy"), "wb");
    ck_assert_ptr_nonnull(file);
    size_t n = cr_npy_print_header(header, CR_NPY_F8, 2, shape);
    ck_assert_uint_eq(fwrite(header, 1, n, file), n);
    ck_assert_uint_eq(fwrite(numbers, 1, sizeof numbers, file), sizeof numbers);
    ck_assert_int_eq(fclose(file), 0);
    GOOD(crescent_contents_open(context, in_folder("x.npy"), &contents));
    ck_assert_str_eq(crescent_contents_kind(contents), "NumPy");
    GOOD(crescent_contents_at(contents, 0, &t));
    ck_assert_str_eq(t.type, "<f8");
    ck_assert_str_eq(t.name, "");
    ck_assert_int_eq(t.bytes, 32);
    GOOD(crescent_contents_measure(contents, 0, &s));
    ck_assert_double_eq(s.mean, 3);
    ck_assert_double_eq(s.max, 6);
    crescent_contents_close(contents);
}
END_TEST

/* Names of a GGUF file are listed as they are; a tensor of a type that cannot be a weight is listed
 * without statistics. */
START_TEST(gguf)
{
    static unsigned char blocks[2][34] = {{0, 0x3c, 1, 0xff}, {0, 0x40, 2}}, other[144];
    static const int64_t shape[] = {2, 32}, row[] = {256};
    crescent_contents *contents;
    crescent_statistics s;
    crescent_setting fact;
    crescent_tensor t;
    struct gguf g = {.n_values = 0};
    put_text(&g, "general.architecture", "llama");
    put_integer(&g, "llama.block_count", 7);
    put_array(&g, "scores", GGUF_F32, 0);
    put_tensor(&g, "blk.0.attn_q.weight", GGML_Q8_0, 2, shape, blocks, sizeof blocks);
    put_tensor(&g, "blk.1.attn_q.weight", GGML_Q4_K, 1, row, other, sizeof other);
    write_gguf(in_folder("x.gguf"), &g);
    GOOD(crescent_contents_open(context, in_folder("x.gguf"), &contents));
    ck_assert_str_eq(crescent_contents_kind(contents), "GGUF");
    ck_assert_int_eq(crescent_fact_count(contents), 3);
    GOOD(crescent_fact_at(contents, 1, &fact));
    ck_assert_str_eq(fact.key, "llama.block_count");
    ck_assert_str_eq(fact.value, "7");
    GOOD(crescent_contents_at(contents, 0, &t));
    ck_assert_str_eq(t.name, "blk.0.attn_q.weight");
    ck_assert_str_eq(t.type, "Q8_0");
    ck_assert_int_eq(t.bytes, 68);
    GOOD(crescent_contents_measure(contents, 0, &s));
    ck_assert_double_eq(s.min, -1); /* 1 * 1 and 1 * -1; 2 * 2 */
    ck_assert_double_eq(s.max, 4);
    ck_assert_double_eq(s.mean, 4.0 / 64);
    ck_assert_int_eq(crescent_contents_measure(contents, 1, &s), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "'blk.1.attn_q.weight' of type Q4_K"));
    crescent_contents_close(contents);
}
END_TEST

/* Initializers of an ONNX file are listed in the order of their names, and ports with their
 * symbolic sizes. */
START_TEST(onnx)
{
    static const char *const facts[][2] = {{"producer", "fixtures"},
                                           {"opset ai.onnx", "20"},
                                           {"input x", "float [n, 8]"},
                                           {"output y", "float"}};
    crescent_contents *contents;
    crescent_statistics s;
    crescent_setting fact;
    crescent_tensor t;
    GOOD(crescent_contents_open(context, "tests/onnx/mlp.onnx", &contents));
    ck_assert_str_eq(crescent_contents_kind(contents), "ONNX");
    ck_assert_int_eq(crescent_fact_count(contents), (int)(sizeof facts / sizeof *facts));
    for (int i = 0; i < crescent_fact_count(contents); i++) {
        GOOD(crescent_fact_at(contents, i, &fact));
        ck_assert_str_eq(fact.key, facts[i][0]);
        ck_assert_str_eq(fact.value, facts[i][1]);
    }
    ck_assert_int_eq(crescent_contents_count(contents), 5);
    GOOD(crescent_contents_at(contents, 1, &t));
    ck_assert_str_eq(t.name, "fc.weight");
    ck_assert_str_eq(t.type, "float");
    ck_assert_int_eq(t.rank, 2);
    ck_assert(t.shape[0] == 12 && t.shape[1] == 8);
    ck_assert_int_eq(t.bytes, 12 * 8 * 4);
    GOOD(crescent_contents_measure(contents, 3, &s));
    ck_assert_double_eq_tol(s.min, -0.35558, 1e-5);
    ck_assert_double_eq_tol(s.max, 2.0589, 1e-4);
    ck_assert_double_eq_tol(s.mean, 0.76498, 1e-5);
    crescent_contents_close(contents);
}
END_TEST

/* Runs crescent inspect; returns its exit status, and its output in `out`. */
static int inspect(const char *path, const char *options, char *out, size_t size)
{
    const char *program = getenv("CRESCENT");
    char command[400];
    snprintf(command, sizeof command, "%s inspect %s %s 2>&1", program ? program : "build/crescent",
             path, options);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    out[fread(out, 1, size - 1, pipe)] = 0;
    return pclose(pipe) >> 8;
}

/* The table has one row for equal layers, and another row for layers of other sizes. */
START_TEST(table)
{
    char out[4096];
    write_shards();
    ck_assert_int_eq(inspect(folder, "", out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, ": folder, 4 tensors, 9 elements, 36 bytes\n  made: here\n"));
    ck_assert_ptr_nonnull(
        strstr(out, "\nh.{0..1}.weight  F32    [2]                             4\n"));
    ck_assert_ptr_nonnull(
        strstr(out, "\nh.2.weight       F32    [3]                             3\n"));
    ck_assert_int_eq(inspect(folder, "--all --stats", out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "\nh.1.weight "));
    ck_assert_ptr_nonnull(strstr(out, "  1 NaN  1 infinite\n"));
    ck_assert_int_eq(inspect(folder, "--stats", out, sizeof out), 0);
    /* of 1, 3, 5, 7 */
    ck_assert_ptr_nonnull(strstr(out, "             1            7            4       2.2361\n"));
    ck_assert_int_eq(inspect(folder, "--json", out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "\"name\": \"h.1.weight\""));
}
END_TEST

/* Names and shapes that a file may have, and that would garble a terminal. */
START_TEST(odd_names)
{
    static const int64_t shape[] = {1, 1, 1, 1, 1, 1, 1, 1, 2}, none[] = {0, 3};
    static const float x[] = {1, 2};
    const struct cr_st_tensor tensors[] = {
        {.name = "a\033[1m\nb\xc2\x9b", .type = CR_ST_F32, .rank = 9, .shape = shape, .data = x},
        {.name = "none", .type = CR_ST_F32, .rank = 2, .shape = none, .data = x},
        {.name = "one", .type = CR_ST_F32, .rank = 0, .shape = none, .data = x}};
    char out[4096];
    write_tensors("odd.safetensors", tensors, 3);
    ck_assert_int_eq(inspect(in_folder("odd.safetensors"), "--stats", out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "\na?[1m?b??  F32    [1, 1, 1, 1, 1, 1, 1, 1, 2] "));
    ck_assert_ptr_nonnull(strstr(out, "\nnone       F32    [0, 3]                          0 "));
    ck_assert_ptr_nonnull(strstr(out, "\none        F32    []                              1 "));
    ck_assert_ptr_null(strchr(out, '\033'));
}
END_TEST

static const struct {
    const char *name, *text, *expected;
} wrong[] = {
    {"none.safetensors", NULL, "cannot be opened"},
    {"x.npy", "\x93NUMPY", "x.npy: "},
    {"x.gguf", "GGUF", "x.gguf: "},
    {"x.onnx", "\xff\xff", "x.onnx: "},
    {"x.safetensors", "abc", "x.safetensors: "},
    {"x.lua", "-- a script", "x.lua: found a script, expected a file of tensors"},
    {"tokenizer.json", "{\"model\": {}}", "tokenizer.json: found a tokenizer, expected a file of"},
    {"x.json", "[1, 2, 3]", "x.json: found a JSON file, expected a file of tensors"},
    {"x.txt", "some words", "x.txt: found text, expected a file of tensors"},
    {"x.index.json", "{}", "x.index.json:1: JSON: expected an object with weight_map"},
};

START_TEST(is_refused)
{
    char out[1024];
    if (wrong[_i].text)
        write_text(wrong[_i].name, wrong[_i].text);
    ck_assert_int_eq(inspect(in_folder(wrong[_i].name), "", out, sizeof out), 2);
    ck_assert_msg(strstr(out, wrong[_i].expected) && strchr(out, '\n') == out + strlen(out) - 1,
                  "%s", out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file_contents");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_loop_test(all, shards, 0, 2);
    tcase_add_test(all, statistics);
    tcase_add_test(all, index_for_weights);
    tcase_add_test(all, numpy);
    tcase_add_test(all, gguf);
    tcase_add_test(all, onnx);
    tcase_add_test(all, table);
    tcase_add_test(all, odd_names);
    tcase_add_loop_test(all, is_refused, 0, (int)(sizeof wrong / sizeof *wrong));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
