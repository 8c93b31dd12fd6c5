/*
 * test_gguf_ranks.c - GGUF files on several ranks: a rank maps only the header of the file,
 * whatever its length.
 *
 * `test_gguf_ranks write FOLDER TYPE FAMILY`, which tests/gguf_ranks.sh calls, leaves a model in FOLDER/model.gguf
 * that is wide enough to be cut for several ranks; `test_gguf_ranks write FOLDER TYPE wide` leaves
 * FOLDER/wide.gguf with one matrix of 8192 x 8192.  TYPE is the number of a type of GGUF.
 */
#include "gguf_models.h"

#include "compiler/exec/gguf_weights.h"
#include "compiler/files/gguf.h"

/* ---- files for tests/gguf_ranks.sh ---- */

static const char *family, *out;
static int type;

/* Models with three and a half panels of columns and four heads; the size of the vocabulary is not
 * a multiple of a panel. */
static const struct family wide[] = {
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 128, \"intermediate_size\": 224, \"num_hidden_layers\": 2,"
     " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"vocab_size\": 131, \"rms_norm_eps\": 1e-5,"
     " \"max_position_embeddings\": 48, \"rope_theta\": 500.0}",
     false, true, false, false, 2, 32, NULL, NULL, NULL},
    {"qwen2",
     "{\"model_type\": \"qwen2\", \"hidden_size\": 128, \"intermediate_size\": 224, \"num_hidden_layers\": 2,"
     " \"num_attention_heads\": 4, \"num_key_value_heads\": 4, \"vocab_size\": 131, \"rms_norm_eps\": 1e-5,"
     " \"max_position_embeddings\": 48, \"rope_theta\": 500.0, \"tie_word_embeddings\": true}",
     false, false, true, true, 4, 32, NULL, NULL, NULL},
    {"gpt2",
     "{\"model_type\": \"gpt2\", \"n_embd\": 128, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": 131,"
     " \"n_positions\": 48, \"n_inner\": 224}",
     true, false, true, true, 4, 32, NULL, NULL, NULL},
};

/* Writes one matrix row by row, as the file may be larger than memory. */
static void write_matrix(void)
{
    enum { SIZE = 8192 };
    const int64_t shape[] = {SIZE, SIZE};
    struct gguf g = {.n_values = 0};
    float *row = malloc(SIZE * sizeof *row);
    ck_assert_ptr_nonnull(row);
    put_text(&g, "general.architecture", "llama");
    put_tensor(&g, "w", (uint32_t)type, 2, shape, NULL, 0);
    struct bytes head = gguf_bytes(&g);
    write_bytes(in_folder("wide.gguf"), &head);
    FILE *file = fopen(in_folder("wide.gguf"), "ab");
    ck_assert_ptr_nonnull(file);
    for (int r = 0; r < SIZE; r++) {
        for (int c = 0; c < SIZE; c++)
            row[c] = (float)((r * 31 + c * 17) % 257 - 128) / 64;
        struct bytes b = encode(type, row, SIZE);
        ck_assert_uint_eq(fwrite(b.at, 1, b.n, file), b.n);
        free(b.at);
    }
    ck_assert_int_eq(fclose(file), 0);
    free(head.at);
    free(row);
}

START_TEST(write_files)
{
    struct gguf g = {.n_values = 0};
    snprintf(folder, sizeof folder, "%s", out);
    sizes.hidden = 128;
    sizes.inner = 224;
    sizes.heads = 4;
    sizes.vocabulary = 131;
    if (strcmp(family, "wide") == 0) {
        write_matrix();
        return;
    }
    for (int i = 0; i < COUNT(wide); i++)
        if (strcmp(wide[i].name, family) == 0) {
            context = crescent_context_new();
            make_both(&wide[i], type, &g);
            crescent_context_free(context);
            return;
        }
    ck_abort_msg("no family %s", family);
}
END_TEST

/* ---- mapping ---- */

enum { ROWS = 1024, COLS = 1024 };

/* Writes a file with a matrix of 4 MiB and metadata with n texts; returns its path. */
static const char *matrix_behind(int n)
{
    const int64_t shape[] = {ROWS, COLS};
    struct gguf g = {.n_values = 0};
    float *x = malloc(ROWS * COLS * sizeof *x);
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (float)i;
    put_text(&g, "general.architecture", "llama");
    put_array(&g, "texts", GGUF_STRING, (uint64_t)n);
    for (int i = 0; i < n; i++)
        put_string(&g.values, "a text of 24 characters.");
    put_integer(&g, "last", 7);
    put_tensor(&g, "w", GGML_F32, 2, shape, x, ROWS * COLS * sizeof *x);
    free(x);
    write_gguf(in_folder("matrix.gguf"), &g);
    return in_folder("matrix.gguf");
}

/* Only the header is mapped: a short one, one longer than the first mapping, and one of several
 * times that length. */
START_TEST(maps_the_header_alone)
{
    static const int counts[] = {3, 32700, 40000, 500000};
    struct cr_gguf_weights weights;
    struct cr_safetensors list;
    struct cr_error error;
    int64_t last;
    float row[COLS];
    const char *path = matrix_behind(counts[_i]);
    ck_assert_msg(cr_gguf_weights_open(&weights, &list, path, &error) == 0, "%s", error.text);
    const struct cr_gguf *file = &weights.file;
    const struct cr_gguf_tensor *w = cr_gguf_find_tensor(file, "w");
    const size_t header = (size_t)(w->data - file->mapping.bytes);
    ck_assert_uint_gt(file->mapping.size, file->mapping.mapped);
    ck_assert_uint_le(file->mapping.mapped, header < 1 << 20 ? 1 << 20 : 4 * header);
    ck_assert(cr_gguf_integer(cr_gguf_find(file, "last"), 0, &last) && last == 7);
    ck_assert_uint_eq(cr_gguf_find(file, "texts")->n, (uint64_t)counts[_i]);
    ck_assert_int_eq(cr_gguf_weight_floats(&weights.items[0], (ROWS - 1) * COLS, COLS, row), 0);
    for (int i = 0; i < COLS; i++)
        ck_assert_float_eq(row[i], (float)((ROWS - 1) * COLS + i));
    cr_gguf_weights_close(&weights);
    cr_safetensors_close(&list);
}
END_TEST

/* A file that ends within its header, or before the end of its last tensor, is refused with the reason. */
START_TEST(refuses_what_is_cut_off)
{
    struct cr_gguf file;
    char error[400] = "";
    const char *path = matrix_behind(_i ? 40000 : 500000);
    ck_assert_int_eq(truncate(path, _i ? 4 << 20 : 8 << 20), 0);
    ck_assert_int_ne(cr_gguf_open(&file, path, error, sizeof error), 0);
    const char *expected = _i ? "tensor 'w' has 4194304 bytes from byte 0 on, expected them inside"
                              : "bytes of 'texts' at byte";
    ck_assert_msg(strstr(error, expected) != NULL, "%s", error);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("gguf_ranks");
    TCase *tests = tcase_create("gguf_ranks");
    tcase_set_timeout(tests, 60);
    if (argc == 5 && strcmp(argv[1], "write") == 0) {
        out = argv[2];
        type = atoi(argv[3]);
        family = argv[4];
        tcase_add_test(tests, write_files);
    } else {
        tcase_add_checked_fixture(tests, set_up, tear_down);
        tcase_add_loop_test(tests, maps_the_header_alone, 0, 4);
        tcase_add_loop_test(tests, refuses_what_is_cut_off, 0, 2);
    }
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
