/*
 * test_gguf.c - the reader of GGUF files: it returns the values and tensors of a file, decodes blocks as
 * the format defines them, and reports each missing or wrong byte in one line.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>

#include "compiler/exec/gguf_weights.h"
#include "compiler/files/gguf.h"
#include "compiler/files/gguf_types.h"
#include "gguf_writer.h"

static char error[512];

/* Parses bytes in memory, which the caller keeps. */
static int parse(struct cr_gguf *file, const struct bytes *b)
{
    const struct cr_mapping mapping = {.bytes = b->at, .size = b->n};
    return cr_gguf_parse(file, "x.gguf", mapping, error, sizeof error);
}

static void close_parsed(struct cr_gguf *file)
{
    file->mapping = (struct cr_mapping){.size = 0};
    cr_gguf_close(file);
}

/* ---- a file with every kind of value and tensor ---- */

static struct bytes good_file(void)
{
    static const char *const texts[] = {"one", "", "three"};
    static const int64_t shape[] = {2, 3}, flat[] = {4};
    static const float numbers[] = {1, 2, 3, 4, 5, 6};
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff};
    struct gguf g = {.n_values = 0};
    put_text(&g, "general.architecture", "llama");
    put_integer(&g, "b.integer", 7);
    put_key(&g, "a.negative", GGUF_I32);
    put_u32(&g.values, (uint32_t)-3);
    put_real(&g, "real", 0.5f);
    put_bool(&g, "yes", 1);
    put_texts(&g, "texts", texts, 3);
    put_array(&g, "reals", GGUF_F32, 2);
    put(&g.values, numbers, 8);
    put_tensor(&g, "z", GGML_F32, 2, shape, numbers, sizeof numbers);
    put_tensor(&g, "h", GGML_F16, 1, flat, halves, sizeof halves);
    put_tensor(&g, "none", GGML_F32, 0, NULL, numbers, 4);
    return gguf_bytes(&g);
}

static int64_t integer(const struct cr_gguf *file, const char *key)
{
    int64_t value = -99;
    const struct cr_gguf_value *found = cr_gguf_find(file, key);
    ck_assert_ptr_nonnull(found);
    ck_assert(cr_gguf_integer(found, 0, &value));
    return value;
}

START_TEST(reads_values_and_tensors)
{
    struct cr_gguf file;
    struct bytes b = good_file();
    double real;
    bool yes;
    ck_assert_msg(parse(&file, &b) == 0, "%s", error);
    ck_assert_int_eq(integer(&file, "b.integer"), 7);
    ck_assert_int_eq(integer(&file, "a.negative"), -3);
    ck_assert(cr_gguf_real(cr_gguf_find(&file, "real"), 0, &real) && real == 0.5);
    ck_assert(cr_gguf_real(cr_gguf_find(&file, "reals"), 1, &real) && real == 2);
    ck_assert(!cr_gguf_real(cr_gguf_find(&file, "reals"), 2, &real));
    ck_assert(!cr_gguf_real(cr_gguf_find(&file, "texts"), 0, &real));
    ck_assert(cr_gguf_bool(cr_gguf_find(&file, "yes"), &yes) && yes);
    ck_assert_ptr_null(cr_gguf_find(&file, "rea"));
    const struct cr_gguf_value *texts = cr_gguf_find(&file, "texts");
    const unsigned char *at = texts->data;
    ck_assert_str_eq(cr_gguf_kind_of(texts), "an array of strings");
    ck_assert_uint_eq(cr_gguf_next_string(&at).length, 3);
    ck_assert_uint_eq(cr_gguf_next_string(&at).length, 0);
    ck_assert_int_eq(memcmp(cr_gguf_next_string(&at).text, "three", 5), 0);
    const struct cr_gguf_tensor *z = cr_gguf_find_tensor(&file, "z");
    ck_assert(z && z->rank == 2 && z->shape[0] == 2 && z->shape[1] == 3 && z->bytes == 24);
    ck_assert_ptr_null(cr_gguf_find_tensor(&file, "y"));
    ck_assert_int_eq(cr_gguf_check(&file, z, error, sizeof error), 0);
    close_parsed(&file);
    free(b.at);
}
END_TEST

/* ---- blocks ---- */

/* Checks that elements first .. first + n - 1 of some blocks decode to `expected`. */
static void check_type(int number, const unsigned char *blocks, const float *expected, int n)
{
    const struct cr_gguf_type *type = cr_gguf_type_of((uint32_t)number);
    float out[128];
    for (int first = 0; first < n; first++)
        for (int end = first + 1; end <= n; end++) {
            const unsigned char *block = blocks + first / type->elements * type->bytes;
            type->floats(block, first % type->elements, end - first, out);
            ck_assert_int_eq(memcmp(out, expected + first, (size_t)(end - first) * 4), 0);
        }
}

/* Two blocks of Q6_K are decoded: number i has its low four and high two bits in different bytes,
 * and the scale of its group of sixteen. */
START_TEST(converts_large_blocks)
{
    const struct cr_gguf_type *type = cr_gguf_type_of(GGML_Q6_K);
    unsigned char blocks[420] = {0};
    float expected[512], out[512];
    for (int i = 0; i < 512; i++) {
        unsigned char *block = blocks + i / 256 * 210;
        int in = i % 256, q = (i * 29 + i / 7) % 64, s = i / 16 * 37 % 256 - 128;
        uint16_t d = i < 256 ? 0xc100 : 0x3800; /* -2.5 or 0.5 */
        memcpy(block + 208, &d, 2);
        block[192 + in / 16] = (unsigned char)s;
        block[in / 128 * 64 + in % 64] |= (unsigned char)(q % 16 << (in % 128 < 64 ? 0 : 4));
        block[128 + in / 128 * 32 + in % 32] |= (unsigned char)(q / 16 << in % 128 / 32 * 2);
        expected[i] = (i < 256 ? -2.5f : 0.5f) * (float)s * (float)(q - 32);
    }
    for (int first = 0; first < 512; first += 31)
        for (int end = first + 1; end <= 512; end += 7) {
            type->floats(blocks + first / 256 * 210, first % 256, end - first, out);
            for (int i = first; i < end; i++)
                ck_assert(out[i - first] == expected[i]);
        }
}
END_TEST

START_TEST(converts_blocks)
{
    unsigned char q8[68], q4[36], q41[40];
    float of_q8[64], of_q4[64], of_q41[64];
    for (int b = 0; b < 2; b++) {
        uint16_t d = b ? 0x3800 : 0xc100, m = b ? 0xbc00 : 0x4200; /* 0.5 or -2.5; -1 or 3 */
        float scale = b ? 0.5f : -2.5f, least = b ? -1 : 3;
        memcpy(q8 + 34 * b, &d, 2);
        memcpy(q4 + 18 * b, &d, 2);
        memcpy(q41 + 20 * b, &d, 2);
        memcpy(q41 + 20 * b + 2, &m, 2);
        for (int i = 0; i < 32; i++) {
            int q = (i * 37 + b) % 256 - 128;
            q8[34 * b + 2 + i] = (unsigned char)q;
            of_q8[32 * b + i] = scale * (float)q;
        }
        for (int i = 0; i < 16; i++) {
            int low = (i + b) % 16, high = (3 * i + 5) % 16;
            q4[18 * b + 2 + i] = q41[20 * b + 4 + i] = (unsigned char)(low | high << 4);
            of_q4[32 * b + i] = scale * (float)(low - 8);
            of_q4[32 * b + 16 + i] = scale * (float)(high - 8);
            of_q41[32 * b + i] = scale * (float)low + least;
            of_q41[32 * b + 16 + i] = scale * (float)high + least;
        }
    }
    check_type(GGML_Q8_0, q8, of_q8, 64);
    check_type(GGML_Q4_0, q4, of_q4, 64);
    check_type(GGML_Q4_1, q41, of_q41, 64);
}
END_TEST

/* The reader reorders rows of Q, in blocks and in floats: GGUF files pair adjacent rows, models
 * pair row i with row i + d / 2 of a head. */
START_TEST(puts_rows_in_order)
{
    enum { HEADS = 2, HALF = 3, ROWS = 2 * HALF * HEADS, COLS = 64 };
    static const int64_t shape[] = {ROWS, COLS};
    static unsigned char blocks[ROWS][2][34];
    float row[COLS];
    char path[] = "/tmp/test_gguf.XXXXXX";
    struct gguf g = {.n_values = 0};
    struct cr_gguf_weights weights;
    struct cr_safetensors list;
    struct cr_error reason;
    ck_assert_int_ge(mkstemp(path), 0);
    for (int r = 0; r < ROWS; r++)
        for (int b = 0; b < 2; b++) {
            blocks[r][b][1] = 0x3c; /* 1.0 */
            memset(blocks[r][b] + 2, 2 * r + b, 32);
        }
    put_text(&g, "general.architecture", "llama");
    put_integer(&g, "llama.attention.head_count", HEADS);
    put_tensor(&g, "blk.0.attn_q.weight", GGML_Q8_0, 2, shape, blocks, sizeof blocks);
    write_gguf(path, &g);
    ck_assert_msg(cr_gguf_weights_open(&weights, &list, path, &reason) == 0, "%s", reason.text);
    ck_assert_int_eq(list.n_tensors, 1);
    ck_assert_str_eq(list.tensors[0].name, "model.layers.0.self_attn.q_proj.weight");
    for (int r = 0; r < ROWS; r++) {
        int head = r / (2 * HALF), part = r / HALF % 2, j = r % HALF;
        int there = head * 2 * HALF + 2 * j + part;
        ck_assert_int_eq(cr_gguf_weight_blocks(&weights.items[0], r, 33)[2], 2 * there + 1);
        ck_assert_int_eq(cr_gguf_weight_blocks(&weights.items[0], r, 31)[2], 2 * there);
        cr_gguf_weight_floats(&weights.items[0], r * COLS, COLS, row);
        ck_assert(row[0] == (float)(2 * there) && row[COLS - 1] == (float)(2 * there + 1));
    }
    cr_safetensors_close(&list);
    cr_gguf_weights_close(&weights);
    remove(path);
}
END_TEST

/* ---- errors in a file ---- */

/* Asserts that the error is one line about the file. */
static void check_message(const char *expected)
{
    ck_assert_msg(strncmp(error, "x.gguf: ", 8) == 0 && !strchr(error, '\n'), "%s", error);
    ck_assert_msg(strstr(error, expected) != NULL, "found: %s\nexpected: %s", error, expected);
}

static void check_refused(struct bytes *b, const char *expected)
{
    struct cr_gguf file;
    ck_assert_int_eq(parse(&file, b), -1);
    check_message(expected);
}

/* A file that is cut off at any length is refused, except within the padding at its end. */
START_TEST(refuses_what_is_cut_off)
{
    struct bytes b = good_file(), part;
    struct cr_gguf file;
    for (size_t n = 0; n < b.n - 28; n++) {
        part.at = malloc(n + 1); /* an exact allocation, so that sanitizers see reads beyond the end */
        part.n = n;
        memcpy(part.at, b.at, n);
        ck_assert_msg(parse(&file, &part) == -1, "%zu bytes of %zu", n, b.n);
        check_message("expected");
        free(part.at);
    }
    free(b.at);
}
END_TEST

/* Any byte may be anything. */
START_TEST(survives_any_byte)
{
    static const unsigned char others[] = {0, 1, 0x7f, 0x80, 0xff};
    struct bytes b = good_file();
    struct cr_gguf file;
    for (size_t i = 0; i < b.n; i++) {
        unsigned char kept = b.at[i];
        for (size_t j = 0; j < sizeof others; j++) {
            b.at[i] = others[j];
            if (parse(&file, &b) == 0)
                close_parsed(&file);
            else
                check_message("");
        }
        b.at[i] = kept;
    }
    free(b.at);
}
END_TEST

START_TEST(refuses_wrong_headers)
{
    static const struct {
        int at;
        uint64_t value;
        int bytes;
        const char *expected;
    } wrong[] = {
        {0, 'F', 1, "begins with 'FGUF', expected 'GGUF'"},
        {4, 1, 4, "GGUF version 1, expected 2 or 3"},
        {4, 0x03000000, 4, "(of a big-endian machine), expected 2 or 3"},
        {8, UINT64_MAX, 8, "18446744073709551615 tensors, expected at most"},
        {16, 1ull << 40, 8, "1099511627776 values, expected at most"},
        {24, 1ull << 60, 8, "1152921504606846976 bytes of a key at byte 32, expected at most the"},
        {24 + 8 + 20, 77, 4, "'general.architecture' is of type 77, expected one of GGUF's 13"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bytes b = good_file();
        memcpy(b.at + wrong[i].at, &wrong[i].value, (size_t)wrong[i].bytes);
        check_refused(&b, wrong[i].expected);
        free(b.at);
    }
}
END_TEST

/* A tensor, and the expected error. */
static const struct wrong_tensor {
    const char *name;
    uint32_t type, rank;
    uint64_t shape[5];
    uint64_t place;
    const char *expected;
} wrong_tensors[] = {
    {"a", 99, 1, {8}, 0, "tensor 'a' is of type 99, expected one of GGUF's"},
    {"a", 0, 5, {1, 1, 1, 1, 1}, 0, "tensor 'a' has 5 axes, expected at most 4"},
    {"a", 8, 1, {33}, 0, "rows of 33 elements of type Q8_0, expected a multiple of 32"},
    {"a", 0, 2, {1ull << 33, 1ull << 33}, 0, "has more elements than can be counted"},
    {"a", 0, 1, {UINT64_MAX}, 0, "has more elements than can be counted"},
    {"a", 0, 1, {65}, 0, "has 260 bytes from byte 0 on, expected them inside the 256 bytes of data"},
    {"a", 0, 1, {8}, 256, "has 32 bytes from byte 256 on, expected them inside the 256 bytes of data"},
    {"a", 0, 1, {8}, UINT64_MAX - 31, "expected them inside the 256 bytes of data"},
    {"a", 0, 1, {8}, 4, "begins at byte 4 of the data, expected a multiple of 32"},
    {"a", 0, 1, {8}, 128, "tensor 'a' begins before 'b' ends, expected no overlap"},
    {"b", 0, 1, {8}, 0, "found tensor 'b' twice, expected it once"},
};

/* The file also has a tensor b at bytes 96 to 160 of 256. */
START_TEST(refuses_wrong_tensors)
{
    static const char data[256];
    const struct wrong_tensor *wrong = &wrong_tensors[_i];
    struct gguf g = {.n_tensors = 2};
    put_string(&g.tensors, "b");
    put_u32(&g.tensors, 1);
    put_u64(&g.tensors, 16);
    put_u32(&g.tensors, 0);
    put_u64(&g.tensors, 96);
    put_string(&g.tensors, wrong->name);
    put_u32(&g.tensors, wrong->rank);
    for (uint32_t i = 0; i < wrong->rank; i++)
        put_u64(&g.tensors, wrong->shape[i]);
    put_u32(&g.tensors, wrong->type);
    put_u64(&g.tensors, wrong->place);
    put(&g.data, data, sizeof data);
    struct bytes b = gguf_bytes(&g);
    check_refused(&b, wrong->expected);
    free(b.at);
}
END_TEST

START_TEST(refuses_wrong_values)
{
    struct gguf g = {.n_values = 0};
    put_integer(&g, "a", 1);
    put_integer(&g, "a", 2);
    struct bytes b = gguf_bytes(&g);
    check_refused(&b, "found the key 'a' twice, expected it once");
    free(b.at);
    put_integer(&g, "general.alignment", 24);
    b = gguf_bytes(&g);
    check_refused(&b, "found another general.alignment, expected a power of two");
    free(b.at);
    put_array(&g, "nested", GGUF_ARRAY, 1);
    b = gguf_bytes(&g);
    check_refused(&b, "'nested' is an array of arrays, expected one of values");
    free(b.at);
    put_array(&g, "long", GGUF_F32, UINT64_MAX / 4);
    b = gguf_bytes(&g);
    check_refused(&b, "'long' has 4611686018427387903 items, expected at most as many");
    free(b.at);
    put_bool(&g, "maybe", 2);
    b = gguf_bytes(&g);
    check_refused(&b, "'maybe' is a boolean with the value 2, expected 0 or 1");
    free(b.at);
}
END_TEST

/* An unsupported type is refused by name, in an otherwise valid file. */
START_TEST(names_types_that_are_not_read)
{
    static const int64_t shape[] = {256};
    static const char data[144];
    struct cr_gguf file;
    struct gguf g = {.n_values = 0};
    put_tensor(&g, "a", GGML_Q4_K, 1, shape, data, sizeof data);
    struct bytes b = gguf_bytes(&g);
    ck_assert_msg(parse(&file, &b) == 0, "%s", error);
    ck_assert_int_eq(cr_gguf_check(&file, &file.tensors[0], error, sizeof error), -1);
    check_message(
        "tensor 'a' has type Q4_K, expected one of F32, F16, BF16, F64, Q8_0, Q4_0, Q4_1, Q6_K");
    close_parsed(&file);
    free(b.at);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("gguf");
    TCase *tests = tcase_create("gguf");
    tcase_add_test(tests, reads_values_and_tensors);
    tcase_add_test(tests, converts_blocks);
    tcase_add_test(tests, converts_large_blocks);
    tcase_add_test(tests, puts_rows_in_order);
    tcase_add_test(tests, refuses_what_is_cut_off);
    tcase_add_test(tests, survives_any_byte);
    tcase_add_test(tests, refuses_wrong_headers);
    tcase_add_loop_test(tests, refuses_wrong_tensors, 0, COUNT(wrong_tensors));
    tcase_add_test(tests, refuses_wrong_values);
    tcase_add_test(tests, names_types_that_are_not_read);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
