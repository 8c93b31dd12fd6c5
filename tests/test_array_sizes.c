/*
 * test_array_sizes.c - arrays that are as large as the values of lengths, and tensors that are laid
 * out for the bounds of lengths: by the public interface and by the command line.  $CRESCENT is the
 * program.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

enum { T_BOUND = 12, S_BOUND = 5, MAX = 2 * T_BOUND * 3 };

static const char script[] = "local T, S = length('T', 12), length('S', 5)\n"
                             "local x, y = input('x', {2, T, 3}), input('y', {S, T})\n"
                             "local ids = input('ids', {T}, 'i32')\n"
                             "return {a = x * 2 + 1, b = sum(y, 1), c = matmul(y, x),\n"
                             "        d = gather(const({1, 10, 100, 1000}, {4}), ids),\n"
                             "        e = sum(x, 2) / float(T)}\n";

/* Inputs in the order of the ports: lengths and tensors in the order of their use; outputs are in
 * the order of their names. */
enum { T, S, X, Y, IDS, N_INPUTS };
enum { A, B, C, D, E, N_OUTPUTS };

static crescent_context *context;
static crescent_model *model;
static char folder[64];
static void *inputs[N_INPUTS];
static float outputs[N_OUTPUTS][MAX];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))
#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq((call), CRESCENT_FAILED);                                                 \
        ck_assert_msg(strstr(crescent_error(context), word), "%s", crescent_error(context));       \
    } while (0)

static void set_up(void)
{
    crescent_graph *graph;
    strcpy(folder, "/tmp/test_array_sizes.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    GOOD(crescent_graph_open_text(context, "s.lua", script, strlen(script), NULL, &graph));
    GOOD(crescent_compile(graph, NULL, &model));
    crescent_graph_close(graph);
    GOOD(crescent_draw_weights(model, 0));
    static const char *const names[] = {"T", "S", "x", "y", "ids"};
    for (int i = 0; i < N_INPUTS; i++) {
        ck_assert_int_eq(crescent_port_find(model, CRESCENT_INPUT, names[i]), i);
        inputs[i] = calloc(MAX, sizeof(float));
        GOOD(crescent_draw_input(model, i, 0, inputs[i]));
    }
}

static void tear_down(void)
{
    char command[128];
    for (int i = 0; i < N_INPUTS; i++)
        free(inputs[i]);
    crescent_close(model);
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- arrays ---- */

static const char *in_folder(const char *name)
{
    static char paths[16][128];
    static int next;
    char *path = paths[next++ % COUNT(paths)];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static const char *write_npy(const char *name, crescent_type type, int rank, int64_t n0, int64_t n1,
                             int64_t n2, const void *data)
{
    crescent_file *file;
    const char *path = in_folder(name);
    crescent_port port = {.name = name, .type = type, .rank = rank, .shape = {n0, n1, n2}};
    GOOD(crescent_file_open(context, path, &file));
    GOOD(crescent_file_put_npy(file, &port, data));
    GOOD(crescent_file_commit(file));
    crescent_file_close(file);
    return path;
}

/* Writes files for x, y and ids of t and s elements. */
static void write_arrays(int64_t t, int64_t s, crescent_input_file files[3])
{
    float x[MAX], y[MAX];
    int32_t ids[T_BOUND];
    for (int i = 0; i < MAX; i++) {
        x[i] = (float)(i % 7) - 3;
        y[i] = (float)(i % 5) - 1;
    }
    for (int i = 0; i < T_BOUND; i++)
        ids[i] = i % 4;
    files[0] = (crescent_input_file){"x", write_npy("x.npy", CRESCENT_F32, 3, 2, t, 3, x)};
    files[1] = (crescent_input_file){"y", write_npy("y.npy", CRESCENT_F32, 2, s, t, 0, y)};
    files[2] = (crescent_input_file){"ids", write_npy("ids.npy", CRESCENT_I32, 1, t, 0, 0, ids)};
}

static const void *const *in(void)
{
    return (const void *const *)inputs;
}

/* Runs the model once; in the outputs, the elements below the lengths are moved to the
 * beginning. */
static void run(crescent_port sized[N_OUTPUTS])
{
    void *out[N_OUTPUTS];
    crescent_port port;
    for (int i = 0; i < N_OUTPUTS; i++) {
        out[i] = outputs[i];
        for (int j = 0; j < MAX; j++)
            outputs[i][j] = -77;
    }
    GOOD(crescent_run(model, in(), out));
    for (int i = 0; i < N_OUTPUTS; i++) {
        GOOD(crescent_port_at(model, CRESCENT_OUTPUT, i, &port));
        GOOD(crescent_sized_port(model, CRESCENT_OUTPUT, i, in(), &sized[i]));
        crescent_pack(&port, &sized[i], sizeof(float), outputs[i], outputs[i]);
    }
}

static void has_sizes(const crescent_port *port, int rank, int64_t n0, int64_t n1, int64_t n2)
{
    const int64_t sizes[] = {n0, n1, n2};
    ck_assert_int_eq(port->rank, rank);
    for (int a = 0; a < rank; a++)
        ck_assert_int_eq(port->shape[a], sizes[a]);
}

/* ---- tests ---- */

/* The outputs are equal to the formulas, for values of lengths from 1 to the bounds. */
START_TEST(files_say_how_long_lengths_are)
{
    static const int64_t sizes[][2] = {{1, 1}, {2, 5}, {7, 3}, {11, 1}, {12, 4}, {12, 5}};
    const int64_t t = sizes[_i][0], s = sizes[_i][1];
    crescent_input_file files[3];
    crescent_port sized[N_OUTPUTS];
    write_arrays(t, s, files);
    GOOD(crescent_read_inputs(model, files, 3, inputs));
    ck_assert_int_eq(*(int32_t *)inputs[T], t);
    ck_assert_int_eq(*(int32_t *)inputs[S], s);
    run(sized);
    has_sizes(&sized[A], 3, 2, t, 3);
    has_sizes(&sized[B], 2, 1, t, 0);
    has_sizes(&sized[C], 3, 2, s, 3);
    has_sizes(&sized[D], 1, t, 0, 0);
    has_sizes(&sized[E], 3, 2, 1, 3);
    for (int64_t i = 0; i < 2 * t * 3; i++)
        ck_assert_float_eq(outputs[A][i], ((float)(i % 7) - 3) * 2 + 1);
    static const float table[] = {1, 10, 100, 1000};
    for (int64_t j = 0; j < t; j++) {
        float sum = 0;
        for (int64_t i = 0; i < s; i++)
            sum += (float)((i * t + j) % 5) - 1;
        ck_assert_float_eq(outputs[B][j], sum);
        ck_assert_float_eq(outputs[D][j], table[j % 4]);
    }
    for (int64_t i = 0; i < 2 * s * 3; i++) {
        int64_t batch = i / (s * 3), row = i / 3 % s, column = i % 3;
        float sum = 0;
        for (int64_t k = 0; k < t; k++)
            sum += ((float)((row * t + k) % 5) - 1) *
                   ((float)(((batch * t + k) * 3 + column) % 7) - 3);
        ck_assert_float_eq(outputs[C][i], sum);
    }
}
END_TEST

START_TEST(ports_say_which_axes_are_lengths)
{
    crescent_port port;
    static const int x[] = {0, T + 1, 0}, y[] = {S + 1, T + 1}, c[] = {0, S + 1, 0};
    GOOD(crescent_port_at(model, CRESCENT_INPUT, X, &port));
    ck_assert_int_eq(memcmp(port.lengths, x, sizeof x), 0);
    ck_assert_int_eq(port.shape[1], T_BOUND);
    GOOD(crescent_port_at(model, CRESCENT_INPUT, Y, &port));
    ck_assert_int_eq(memcmp(port.lengths, y, sizeof y), 0);
    GOOD(crescent_port_at(model, CRESCENT_OUTPUT, C, &port));
    ck_assert_int_eq(memcmp(port.lengths, c, sizeof c), 0);
    *(int32_t *)inputs[S] = 3;
    GOOD(crescent_sized_port(model, CRESCENT_INPUT, Y, in(), &port));
    has_sizes(&port, 2, 3, *(int32_t *)inputs[T], 0);
    *(int32_t *)inputs[S] = 6;
    REFUSED(crescent_sized_port(model, CRESCENT_INPUT, Y, in(), &port), "length S is 6");
    REFUSED(crescent_sized_port(model, CRESCENT_OUTPUT, 9, in(), &port), "port 9");
}
END_TEST

/* A file gives the value of a length; arrays may then be laid out for the bound. */
START_TEST(a_length_may_have_a_file)
{
    crescent_input_file files[4];
    int32_t n = 4;
    write_arrays(T_BOUND, 2, files);
    files[3] = (crescent_input_file){"T", write_npy("t.npy", CRESCENT_I32, 0, 0, 0, 0, &n)};
    GOOD(crescent_read_inputs(model, files, 4, inputs));
    ck_assert_int_eq(*(int32_t *)inputs[T], 4);
    ck_assert_int_eq(*(int32_t *)inputs[S], 2);
    ck_assert_float_eq(((float *)inputs[X])[T_BOUND * 3 + 2], (T_BOUND * 3 + 2) % 7 - 3);
    write_arrays(4, 2, files);
    GOOD(crescent_read_inputs(model, files, 4, inputs));
    ck_assert_float_eq(((float *)inputs[X])[T_BOUND * 3 + 2], (4 * 3 + 2) % 7 - 3);
    write_arrays(5, 2, files);
    REFUSED(crescent_read_inputs(model, files, 4, inputs),
            "x.npy: axis 2 of the array has 5 elements, expected 4, as length T has in the file "
            "of T");
    n = T_BOUND + 1;
    write_npy("t.npy", CRESCENT_I32, 0, 0, 0, 0, &n);
    REFUSED(crescent_read_inputs(model, files + 3, 1, inputs), "length T is 13, expected 1 to 12");
}
END_TEST

START_TEST(arrays_have_to_agree)
{
    crescent_input_file files[3], other[3];
    const float numbers[MAX] = {0};
    const int32_t ids[] = {0, 4, 0};
    write_arrays(5, 2, files);
    other[0] = (crescent_input_file){"y", write_npy("b.npy", CRESCENT_F32, 2, 2, 4, 0, numbers)};
    other[1] = files[0];
    REFUSED(crescent_read_inputs(model, other, 2, inputs),
            "b.npy: axis 2 of the array has 4 elements, expected 5, as length T has in the file "
            "of x");
    other[0].path = write_npy("b.npy", CRESCENT_F32, 2, 6, 4, 0, numbers);
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "[6, 4], expected [5, 12]");
    other[0].path = write_npy("b.npy", CRESCENT_F32, 2, 0, 4, 0, numbers);
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "[0, 4], expected [5, 12]");
    other[0] = (crescent_input_file){"x", write_npy("b.npy", CRESCENT_F32, 3, 1, 4, 3, numbers)};
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "[1, 4, 3], expected [2, 12, 3]");
    other[0] = (crescent_input_file){"ids", write_npy("b.npy", CRESCENT_I32, 1, 3, 0, 0, ids)};
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "element 1 is 4");
    other[0].name = "idz";
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "did you mean ids?");
    other[0].name = NULL;
    REFUSED(crescent_read_inputs(model, other, 1, inputs), "file 0 for an input is null");
    GOOD(crescent_read_inputs(model, NULL, 0, inputs));
}
END_TEST

/* Packing is the inverse of spreading, in place as well, and both leave memory beside the array
 * alone. */
START_TEST(packing_and_spreading_are_inverse)
{
    static const int64_t shapes[][2][3] = {{{3, 4, 5}, {3, 4, 5}}, {{3, 4, 5}, {2, 4, 5}},
                                           {{3, 4, 5}, {3, 2, 5}}, {{3, 4, 5}, {3, 4, 1}},
                                           {{3, 4, 5}, {1, 3, 2}}, {{1, 1, 1}, {1, 1, 1}}};
    crescent_port port = {.rank = 3}, sized = {.rank = 3};
    memcpy(port.shape, shapes[_i][0], sizeof shapes[_i][0]);
    memcpy(sized.shape, shapes[_i][1], sizeof shapes[_i][1]);
    double tensor[60], packed[60] = {0}, place[60];
    const int64_t *l = port.shape, *n = sized.shape;
    for (int i = 0; i < 60; i++)
        place[i] = tensor[i] = i + 1;
    crescent_pack(&port, &sized, sizeof(double), tensor, packed);
    int next = 0;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k++)
                ck_assert_double_eq(packed[next++], (double)((i * l[1] + j) * l[2] + k + 1));
    ck_assert(next == 60 || packed[next] == 0);
    crescent_pack(&port, &sized, sizeof(double), place, place);
    ck_assert_int_eq(memcmp(place, packed, (size_t)next * sizeof *place), 0);
    crescent_unpack(&port, &sized, sizeof(double), place, place);
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k++) {
                int64_t at = (i * l[1] + j) * l[2] + k;
                ck_assert_double_eq(place[at], tensor[at]);
                tensor[at] = -1;
            }
    crescent_unpack(&port, &sized, sizeof(double), packed, tensor);
    for (int i = 0; i < 60; i++)
        ck_assert_double_eq(tensor[i], i + 1);
}
END_TEST

/* Sizes that exceed the shape are refused: they would make the call read beyond the tensor. */
START_TEST(sizes_are_inside_the_shape)
{
    static const struct {
        int rank;
        int64_t shape[2];
        size_t width;
        const char *why;
    } cases[] = {
        {2, {3, 5}, 4, "sizes are not inside the shape of the port"},
        {2, {-1, 4}, 4, "sizes are not inside the shape of the port"},
        {1, {3, 4}, 4, "sizes are not inside the shape of the port"},
        {2, {3, 4}, 2, "an element has another width, expected 4 or 8 bytes"},
    };
    const crescent_port port = {.rank = 2, .shape = {3, 4}};
    float tensor[12] = {0}, packed[12] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crescent_port sized = {.rank = cases[i].rank};
        memcpy(sized.shape, cases[i].shape, sizeof cases[i].shape);
        for (int back = 0; back < 2; back++) {
            int status = back ? crescent_unpack(&port, &sized, cases[i].width, packed, tensor)
                              : crescent_pack(&port, &sized, cases[i].width, tensor, packed);
            ck_assert_int_eq(status, CRESCENT_FAILED);
            ck_assert_msg(strstr(crescent_error(NULL), cases[i].why), "%s", crescent_error(NULL));
        }
    }
}
END_TEST

/* `run` writes arrays of the lengths' values, and `compare` reads them. */
START_TEST(the_program_uses_arrays_of_the_lengths)
{
    const char *program = getenv("CRESCENT");
    char command[2048];
    crescent_input_file files[3];
    FILE *file = fopen(in_folder("s.lua"), "w");
    fputs(script, file);
    fclose(file);
    write_arrays(7, 3, files);
    snprintf(
        command, sizeof command,
        "P=$(realpath %s) && cd %s && F='--input x=x.npy --input y=y.npy --input ids=ids.npy' && "
        "$P run s.lua $F --output c=c.npy --output a=a.npy >log && "
        "grep -q '^Output shape: \\[2, 3, 3\\] (c)$' log && "
        "grep -q '^Input shape: \\[2, 7, 3\\] (x)$' log && "
        "grep -q '^Output mean: 1, std: 4$' log && "
        "$P compare s.lua $F --expect c=c.npy --expect a=a.npy --backends ref,tcc >log && "
        "! $P compare s.lua --input x=x.npy --expect c=c.npy >log 2>&1 && "
        "grep -q 'c.npy: .*shape \\[2, 3, 3\\], expected \\[2, 5, 3\\]' log",
        program, folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("array_sizes");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, files_say_how_long_lengths_are, 0, 6);
    tcase_add_test(cases, ports_say_which_axes_are_lengths);
    tcase_add_test(cases, a_length_may_have_a_file);
    tcase_add_test(cases, arrays_have_to_agree);
    tcase_add_loop_test(cases, packing_and_spreading_are_inverse, 0, 6);
    tcase_add_test(cases, sizes_are_inside_the_shape);
    tcase_add_test(cases, the_program_uses_arrays_of_the_lengths);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
