/* test_pack_weights.c - tensors are read from files in pieces and packed for the kernels. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/exec/load_tensors.h"
#include "compiler/files/safetensors.h"
#include "runtime/pack_pieces.h"
#include "runtime/pool.h"
#include "runtime/select_runtime.h"

static char path[128];
static char error[512];

static void begin(void)
{
    snprintf(path, sizeof path, "/tmp/crescent-layouts-%ld.safetensors", (long)getpid());
}

static void end(void)
{
    unlink(path);
}

/* ---- pieces ---- */

/* Layouts of matrices in tensors: by rows, by columns, as parts of larger matrices, and with
 * neither rows nor columns contiguous; some take several pieces however large the buffer is. */
static const struct {
    long rows, cols, row_stride, col_stride, source, first_col;
} shapes[] = {
    {1, 1, 1, 1, 0, 0},          {31, 33, 33, 1, 0, 0},       {33, 31, 1, 33, 5, 0},
    {100, 70, 75, 1, 3, 7},      {70, 100, 1, 71, 1, 39},     {768, 96, 96, 1, 0, 32},
    {40, 5000, 5000, 1, 0, 0},   {5000, 40, 1, 5000, 0, 9},   {65, 4200, 4200, 1, 0, 17},
    {4200, 65, 1, 4203, 2, 0},   {50, 60, 2, 101, 0, 3},      {50, 60, 121, 2, 1, 0},
    {64, 1, 1, 0, 0, 4},         {1, 90, 0, 1, 0, 5},         {70, 34, 0, 1, 0, 0},
    {300, 300, 300, 1, 0, 30},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, CANARY = 12345 };

static int read_memory(const void *context, int64_t first, int64_t n, float *out)
{
    memcpy(out, (const float *)context + first, (size_t)n * sizeof *out);
    return 0;
}

/* Checks that a piece begins and ends as its contract says, and fits the buffer. */
static void check_piece(const struct cr_weight_layout *whole, const struct cr_weight_piece *piece, long room,
                        long block)
{
    long k = (piece->layout.target - whole->target) / block * CR_PANEL;
    ck_assert_int_eq((piece->layout.target - whole->target) % block, 0);
    ck_assert(piece->layout.rows % CR_PANEL == 0 || k + piece->layout.rows == whole->rows);
    ck_assert_int_le(piece->lines * piece->run, room);
    ck_assert_int_eq(piece->lines * piece->run, piece->layout.rows * piece->layout.cols);
}

/* Panels that are written piece by piece, the last piece first, are equal to panels written at once. */
START_TEST(pieces_cover_a_layout)
{
    const struct cr_runtime *rt = cr_runtime_select(NULL);
    long room = _i % 2 ? CR_PIECE_LEAST : CR_PIECE_ROOM, K = shapes[_i / 4].rows;
    struct cr_weight_layout layout = {0,      shapes[_i / 4].source,     K,  shapes[_i / 4].cols,
                             shapes[_i / 4].row_stride, shapes[_i / 4].col_stride, 64, K * CR_PANEL,
                             shapes[_i / 4].first_col,  _i / 2 % 2};
    long size = layout.source + (K - 1) * layout.row_stride + (layout.cols - 1) * layout.col_stride + 1;
    long n = layout.target + (layout.first_col + layout.cols + CR_PANEL) * K, elements = 0;
    float *tensor = malloc((size_t)size * sizeof *tensor), *buffer = malloc((size_t)room * 4);
    float *whole = malloc((size_t)n * sizeof *whole), *parts = malloc((size_t)n * sizeof *parts);
    for (long i = 0; i < size; i++)
        tensor[i] = (float)i;
    for (long i = 0; i < n; i++)
        whole[i] = parts[i] = CANARY;
    cr_pack_weight(rt, &layout, tensor, whole);
    long pieces = cr_count_weight_pieces(&layout, room), block = CR_PANEL * CR_PANEL;
    for (long i = pieces - 1; i >= 0; i--) {
        struct cr_weight_piece piece = cr_get_weight_piece(&layout, room, block, i);
        check_piece(&layout, &piece, room, block);
        elements += piece.layout.rows * piece.layout.cols;
        ck_assert_int_eq(cr_read_weight_piece(&piece, read_memory, tensor, buffer), 0);
        cr_pack_weight(rt, &piece.layout, buffer, parts);
    }
    ck_assert_int_eq(elements, layout.rows * layout.cols);
    ck_assert_mem_eq(whole, parts, (size_t)n * sizeof *whole);
    free(tensor);
    free(buffer);
    free(whole);
    free(parts);
}
END_TEST

/* ---- files ---- */

static const enum cr_st_type types[] = {CR_ST_F32, CR_ST_F16, CR_ST_BF16, CR_ST_F64};

/* Returns a number that all element types represent exactly. */
static float number(int64_t i)
{
    return (float)((i * 7919 + i / 31) % 61 - 30) / 64;
}

/* Writes a number as an element of a type; returns its size in bytes. */
static size_t element(enum cr_st_type type, float value, unsigned char *to)
{
    uint32_t bits;
    double wide = value;
    memcpy(&bits, &value, sizeof bits);
    uint16_t upper = (uint16_t)(bits >> 16);
    uint16_t half = value == 0 ? 0
                               : (uint16_t)((bits >> 16 & 0x8000) |
                                            ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023));
    const void *from = type == CR_ST_F16    ? (void *)&half
                       : type == CR_ST_BF16 ? (void *)&upper
                       : type == CR_ST_F64  ? (void *)&wide
                                            : (void *)&value;
    size_t n = type == CR_ST_F64 ? 8 : type == CR_ST_F32 ? 4 : 2;
    memcpy(to, from, n);
    return n;
}

/* Makes a tensor of such numbers, from `seed` on, in memory that the caller frees. */
static struct cr_st_tensor make_tensor(enum cr_st_type type, const char *name, int rank,
                                       const int64_t *shape, int64_t seed)
{
    struct cr_st_tensor tensor = {.name = name, .type = type, .rank = rank, .shape = shape};
    ck_assert_int_eq(cr_st_measure(&tensor), 0);
    unsigned char *at = malloc(tensor.bytes + 8);
    tensor.data = at;
    for (int64_t i = 0; i < tensor.elements; i++)
        at += element(type, number(seed + i), at);
    return tensor;
}

static void write_file(const struct cr_st_tensor *tensors, int n)
{
    struct cr_writer writer;
    ck_assert_int_eq(cr_writer_open(&writer, path, error, sizeof error), 0);
    ck_assert_int_eq(cr_safetensors_put(&writer, tensors, n, NULL, 0, error, sizeof error), 0);
    ck_assert_int_eq(cr_writer_commit(&writer, error, sizeof error), 0);
}

enum { ODD = 40003 };

/* Reading any part of a tensor at an odd address gives the elements that were written. */
START_TEST(parts_of_a_tensor)
{
    static const int64_t one = 1, many = ODD;
    struct cr_st_tensor tensors[] = {make_tensor(types[_i], "b", 1, &many, 0),
                                     {.name = "a", .type = CR_ST_BOOL, .rank = 1, .shape = &one}};
    struct cr_safetensors file;
    static float out[ODD];
    tensors[1].data = "\1";
    write_file(tensors, 2);
    ck_assert_int_eq(cr_safetensors_open(&file, path, error, sizeof error), 0);
    const struct cr_st_tensor *found = cr_safetensors_find(&file, "b");
    for (int64_t first = 0, n = 1; first < ODD; first += n, n = n * 3 + 1) {
        int64_t some = ODD - first < n ? ODD - first : n;
        ck_assert_int_eq(cr_st_read(&file, found, first, some, out), 0);
        for (int64_t i = 0; i < some; i++)
            ck_assert(out[i] == number(first + i));
    }
    cr_safetensors_close(&file);
    free((void *)tensors[0].data);
}
END_TEST

/* A file that is cut off after it was opened gives an error of one line, for each number of
 * threads. */
START_TEST(cut_file)
{
    static const int64_t many = 400000;
    struct cr_st_tensor tensor = make_tensor(types[_i], "w", 1, &many, 0);
    struct cr_safetensors file;
    struct cr_error why = {""};
    float *out = malloc((size_t)many * sizeof *out);
    write_file(&tensor, 1);
    ck_assert_int_eq(cr_safetensors_open(&file, path, error, sizeof error), 0);
    const struct cr_file_tensor from = {&file, file.tensors};
    const struct cr_contents contents = cr_contents_of_file(&from);
    for (int cut = 0; cut < 2; cut++)
        for (int threads = 1; threads <= 3; threads++) {
            struct cr_pool *pool = cr_pool_new(threads);
            int status = cr_copy_tensor(&contents, many, cr_runtime_select(NULL), pool, out, &why);
            ck_assert_int_eq(status, cut ? -1 : 0);
            cr_pool_free(pool);
            if (threads == 3)
                ck_assert_int_eq(truncate(path, 100000), 0);
        }
    ck_assert_ptr_nonnull(strstr(why.text, path));
    ck_assert_ptr_nonnull(strstr(why.text, "cannot be read to its end, expected the "));
    ck_assert_int_eq(cr_safetensors_read(&file, file.tensors, out, error, sizeof error), -1);
    ck_assert_str_eq(error, why.text);
    cr_safetensors_close(&file);
    free((void *)tensor.data);
    free(out);
}
END_TEST

/* ---- models ---- */

enum { WIDTH = 200, T = 4, TENSORS = 16 };

/* Runs a graph with weights from memory or from the file; y is its output. */
static void run(crescent_context *c, const crescent_graph *graph, int threads, bool from_file,
                float *y)
{
    const crescent_config config = {.threads = threads};
    const char *paths[] = {path};
    crescent_model *model;
    float x[T * WIDTH];
    ck_assert_int_eq(crescent_compile(graph, &config, &model), CRESCENT_OK);
    for (int i = 0; !from_file && i < crescent_port_count(model, CRESCENT_PARAM); i++) {
        crescent_port port;
        crescent_port_at(model, CRESCENT_PARAM, i, &port);
        int64_t n = crescent_port_elements(&port);
        float *w = malloc((size_t)n * sizeof *w);
        for (int64_t j = 0; j < n; j++)
            w[j] = number(i * 1000 + j);
        ck_assert_int_eq(crescent_set_weight(model, i, w), CRESCENT_OK);
        free(w);
    }
    if (from_file)
        ck_assert_msg(crescent_load_weights(model, paths, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL) ==
                          CRESCENT_OK,
                      "%s", crescent_error(c));
    for (int i = 0; i < T * WIDTH; i++)
        x[i] = number(i);
    ck_assert_int_eq(crescent_run(model, (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    crescent_close(model);
}

/* Writes a file with the parameters of a graph, in an element type. */
static void write_params(const crescent_graph *graph, enum cr_st_type type)
{
    struct cr_st_tensor tensors[TENSORS];
    crescent_port ports[TENSORS];
    crescent_model *model;
    ck_assert_int_eq(crescent_compile(graph, NULL, &model), CRESCENT_OK);
    int n = crescent_port_count(model, CRESCENT_PARAM);
    ck_assert_int_le(n, TENSORS);
    for (int i = 0; i < n; i++) {
        crescent_port_at(model, CRESCENT_PARAM, i, &ports[i]);
        tensors[i] = make_tensor(type, ports[i].name, ports[i].rank, ports[i].shape, i * 1000);
    }
    write_file(tensors, n);
    for (int i = 0; i < n; i++)
        free((void *)tensors[i].data);
    crescent_close(model);
}

/* Weights of several pieces, stored as [in, out] or [out, in], give the same results from files of
 * every type and from memory, for each number of threads. */
START_TEST(same_from_files)
{
    crescent_setting settings[] = {{"T", "4"}, {"n_embd", "200"}, {"n_head", "4"},
                                   {"layout", _i / 4 ? "linear" : "conv1d"}, {"prefix", "h.0."}};
    const crescent_script how = {.settings = settings, .n_settings = 5};
    crescent_context *c = crescent_context_new();
    crescent_graph *graph;
    static float expected[T * WIDTH], y[T * WIDTH];
    ck_assert_msg(crescent_graph_open(c, "graphs/gpt2_block.lua", &how, &graph) == CRESCENT_OK,
                  "%s", crescent_error(c));
    write_params(graph, types[_i % 4]);
    run(c, graph, 1, false, expected);
    for (int threads = 1; threads <= 3; threads++) {
        run(c, graph, threads, true, y);
        ck_assert_mem_eq(y, expected, sizeof y);
    }
    crescent_graph_close(graph);
    crescent_context_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack_weights");
    TCase *tests = tcase_create("pack_weights");
    SRunner *runner = srunner_create(suite);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, pieces_cover_a_layout, 0, SHAPES * 4);
    tcase_add_loop_test(tests, parts_of_a_tensor, 0, 4);
    tcase_add_loop_test(tests, cut_file, 0, 4);
    tcase_add_loop_test(tests, same_from_files, 0, 8);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
