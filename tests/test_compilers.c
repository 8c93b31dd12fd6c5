/* test_compilers.c - TinyCC and $CC compile a program written by hand; and what happens if $CC is
 * missing or fails. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/emit/runtime_text.h"
#include "compiler/exec/exec.h"
#include "runtime/select_runtime.h"

/* Adds the weights to the input, and assigns a structure: TinyCC turns that into a call of
 * memmove. */
static char text[] =
    "struct sixteen { float f[16]; };\n"
    "int hand_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,\n"
    "                 const void *const *inputs, void *const *outputs, float *arena)\n"
    "{\n"
    "    struct sixteen *copy = (struct sixteen *)arena;\n"
    "    float *y = outputs[0];\n"
    "    (void)rt;\n"
    "    (void)pool;\n"
    "    *copy = *(const struct sixteen *)inputs[0];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        y[i] = copy->f[i] + weights[i];\n"
    "    return 3;\n"
    "}\n";

static struct cr_entry entry = {.name = ""};

static struct cr_program program(void)
{
    return (struct cr_program){.name = "hand",
                               .entries = &entry,
                               .n_entries = 1,
                               .text = text,
                               .text_length = sizeof text - 1};
}

typedef int compiler(const struct cr_program *, struct cr_code *, struct cr_error *);

/* The compilers: TinyCC, and $CC with and without arguments. */
static const struct {
    const char *name;
    compiler *compile;
    const char *cc;
} rows[] = {
    {"tcc", cr_compile_tcc, NULL},
    {"cc", cr_compile_cc, NULL},
    {"cc with an empty CC", cr_compile_cc, "  "},
    {"cc with arguments", cr_compile_cc, "cc -O0  -DNOTHING"},
};

static void set_cc(const char *cc)
{
    if (cc)
        setenv("CC", cc, 1);
    else
        unsetenv("CC");
}

START_TEST(compiled_code_runs)
{
    struct cr_program p = program();
    struct cr_code code, twin;
    struct cr_error error = {""};
    float weights[16], x[16], y[16], arena[16];
    set_cc(rows[_i].cc);
    ck_assert_msg(rows[_i].compile(&p, &code, &error) == 0, "%s: %s", rows[_i].name, error.text);
    ck_assert_int_eq(rows[_i].compile(&p, &twin, &error), 0);
    cr_code_free(&twin);
    ck_assert_ptr_null(twin.handle);
    for (int i = 0; i < 16; i++) {
        weights[i] = (float)i;
        x[i] = 100;
    }
    const void *inputs[] = {x};
    void *outputs[] = {y};
    ck_assert_int_eq(code.execute[0](NULL, NULL, weights, inputs, outputs, arena), 3);
    for (int i = 0; i < 16; i++)
        ck_assert_float_eq(y[i], 100 + (float)i);
    cr_code_free(&code);
}
END_TEST

static const struct {
    const char *variable, *value, *message;
} troubles[] = {
    {"CC", "/nowhere/cc", "no C compiler could be started"},
    {"CC", "false", "failed with status 1"},
    {"CC", "true", "true: made no shared object"},
};

/* A missing compiler is reported as an error of the user. */
START_TEST(missing_compiler_is_reported)
{
    struct cr_program p = program();
    struct cr_code code;
    struct cr_error error = {""};
    set_cc(NULL);
    setenv(troubles[_i].variable, troubles[_i].value, 1);
    ck_assert_int_eq(cr_compile_cc(&p, &code, &error), -1);
    ck_assert_msg(strstr(error.text, troubles[_i].message), "%s", error.text);
    set_cc(NULL);
}
END_TEST

/* A folder of this test, which is $TMPDIR until it is removed. */
static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/crescent-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
}

/* Removes the folder; fails if it is not empty. */
static void remove_folder(void)
{
    ck_assert_msg(rmdir(folder) == 0, "%s: %s", folder, strerror(errno));
    unsetenv("TMPDIR");
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* No temporary file remains, whether the compiler succeeds, fails or is missing. */
START_TEST(no_temporary_file_remains)
{
    struct cr_program p = program();
    struct cr_code code, none;
    struct cr_error error = {""};
    make_folder();
    set_cc(NULL);
    ck_assert_int_eq(cr_compile_cc(&p, &code, &error), 0);
    set_cc("false");
    ck_assert_int_eq(cr_compile_cc(&p, &none, &error), -1);
    remove_folder();
    cr_code_free(&code);
    set_cc(NULL);
}
END_TEST

/* Two objects that are loaded at the same time are distinct, even if they got the same file descriptor. */
START_TEST(objects_are_told_apart)
{
    static char other[] =
        "int hand_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,"
        "const void *const *inputs, void *const *outputs, float *arena) { return 4; }\n";
    struct cr_program p = program();
    struct cr_program q = program();
    q.text = other;
    q.text_length = sizeof other - 1;
    struct cr_code first, second, third;
    struct cr_error error = {""};
    set_cc(NULL);
    ck_assert_int_eq(cr_compile_cc(&p, &first, &error), 0);
    ck_assert_int_eq(cr_compile_cc(&q, &second, &error), 0);
    cr_code_free(&first);
    ck_assert_int_eq(cr_compile_cc(&q, &third, &error), 0);
    ck_assert_int_eq(second.execute[0](NULL, NULL, NULL, NULL, NULL, NULL), 4);
    ck_assert_int_eq(third.execute[0](NULL, NULL, NULL, NULL, NULL, NULL), 4);
    cr_code_free(&second);
    cr_code_free(&third);
}
END_TEST

/* A compiler that writes files beside its output, as some linkers do, gets a folder.  Folders that
 * interrupted programs left are removed; folders in use are kept. */
START_TEST(folder_for_compilers_that_need_one)
{
    static const char wrapper[] = "#!/bin/sh\ncase \"$*\" in *' /proc/'*) exit 1;; esac\n"
                                  "exec cc \"$@\"\n";
    struct cr_program p = program();
    struct cr_code code;
    struct cr_error error = {""};
    make_folder();
    FILE *file = fopen(in_folder("cc"), "w");
    ck_assert(file && fputs(wrapper, file) >= 0 && fclose(file) == 0);
    ck_assert_int_eq(chmod(in_folder("cc"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder("crescent-cc-stale1"), 0700), 0);
    file = fopen(in_folder("crescent-cc-stale1/program.so"), "w");
    ck_assert(file && fclose(file) == 0);
    ck_assert_int_eq(mkdir(in_folder("crescent-cc-in-use"), 0700), 0);
    int lock = open(in_folder("crescent-cc-in-use"), O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(flock(lock, LOCK_EX), 0);
    set_cc(in_folder("cc"));
    ck_assert_msg(cr_compile_cc(&p, &code, &error) == 0, "%s", error.text);
    ck_assert_int_eq(rmdir(in_folder("crescent-cc-in-use")), 0);
    ck_assert_int_eq(unlink(in_folder("cc")), 0);
    close(lock);
    remove_folder();
    cr_code_free(&code);
    set_cc(NULL);
}
END_TEST

/* C texts about which TinyCC reports an error or a warning. */
static const struct {
    char *body;
    const char *message;
} bugs[] = {
    {"const int *x = inputs[0]; const float *y = x; return y == weights;", "incompatible pointer"},
    {"return unknown(rt);", "implicit declaration"},
    {"int unix = 1; return unix;", "error"},
    {"return 0; } int another(void) { return 1;", NULL},
};

/* If emitted C does not compile, the caller gets an error of one line, and a file that only the
 * user can read has the C text. */
START_TEST(bug_is_reported)
{
    char source[512], *path;
    struct stat status;
    struct cr_code code = {0};
    struct cr_error error = {""};
    int length = snprintf(source, sizeof source,
                          "int hand_execute(const struct cr_runtime *rt, struct cr_pool *pool,\n"
                          "    const float *weights, const void *const *inputs,\n"
                          "    void *const *outputs, float *arena)\n{\n%s}\n",
                          bugs[_i].body);
    struct cr_program p = program();
    p.text = source;
    p.text_length = (size_t)length;
    make_folder();
    int result = cr_compile_tcc(&p, &code, &error);
    ck_assert_int_eq(result, bugs[_i].message ? -1 : 0);
    if (bugs[_i].message) {
        ck_assert_msg(strstr(error.text, "bug: TinyCC") && strstr(error.text, bugs[_i].message),
                      "%s", error.text);
        ck_assert(!strchr(error.text, '\n'));
        path = strstr(error.text, folder);
        ck_assert_ptr_nonnull(path);
        *strchr(path, ')') = '\0';
        ck_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
        ck_assert(status.st_size > length);
        ck_assert_int_eq(unlink(path), 0);
    }
    remove_folder();
    cr_code_free(&code);
}
END_TEST

/* TinyCC sees declarations of the runtime functions that a program calls, f32 and i32, and of no
 * others. */
START_TEST(only_what_is_called_is_declared)
{
    static const char source[] =
        "int hand_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float "
        "*weights,\n"
        "                 const void *const *inputs, void *const *outputs, float *arena)\n"
        "{\n"
        "    rt->mul_vs(2, 3, arena, 3, inputs[0], 3, weights, 1);\n"
        "    rt->max(2, 3, outputs[0], arena, 3);\n"
        "    rt->i32->sum(1, 3, outputs[1], inputs[1], 3);\n"
        "    return 0;\n"
        "}\n";
    struct cr_call calls[] = {
        {.callee = CR_CALLEE_MAP, .format = CR_FORMAT_f32, .op = CR_OP_mul, .by_row = 2},
        {.callee = CR_CALLEE_REDUCE, .format = CR_FORMAT_f32, .op = CR_OP_max},
        {.callee = CR_CALLEE_REDUCE, .format = CR_FORMAT_i32, .op = CR_OP_sum}};
    struct cr_function function = {.calls = calls, .n_calls = 3};
    struct cr_program p = {.name = "hand",
                           .entries = &entry,
                           .n_entries = 1,
                           .text = (char *)source,
                           .text_length = sizeof source - 1,
                           .functions = &function,
                           .n_functions = 1};
    const float x[] = {1, 5, 3, -1, -5, -3}, weights[] = {2, -1};
    const int ids[] = {1, 2, 40};
    const void *inputs[] = {x, ids};
    float y[2], arena[6];
    int sum = 0;
    void *outputs[] = {y, &sum};
    struct cr_code code = {0};
    struct cr_error error;
    struct cr_text text = {0};
    cr_put_declarations(&text, &p);
    ck_assert(strstr(text.data, "*mul_vs;") &&
              strstr(text.data, "(*sum)(long rows, long cols, int"));
    ck_assert(!strstr(text.data, "mul_vv") && !strstr(text.data, "gemm"));
    free(text.data);
    ck_assert_msg(rows[_i].compile(&p, &code, &error) == 0, "%s", error.text);
    ck_assert_int_eq(code.execute[0](cr_runtime_select(NULL), NULL, weights, inputs, outputs, arena),
                     0);
    ck_assert(y[0] == 10 && y[1] == 5 && sum == 43);
    cr_code_free(&code);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compilers");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, compiled_code_runs, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(all, only_what_is_called_is_declared, 0, 2);
    tcase_add_loop_test(all, missing_compiler_is_reported, 0, sizeof troubles / sizeof *troubles);
    tcase_add_test(all, no_temporary_file_remains);
    tcase_add_test(all, objects_are_told_apart);
    tcase_add_test(all, folder_for_compilers_that_need_one);
    tcase_add_loop_test(all, bug_is_reported, 0, sizeof bugs / sizeof *bugs);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
