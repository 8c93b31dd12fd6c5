/* test_jit.c - both compilers on a program written by hand, and a missing or failing one. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/exec.h"

/* The input plus the weights, with a structure assigned on the way: TinyCC makes a call of
 * memmove of that. */
static char text[] =
    "struct sixteen { float f[16]; };\n"
    "int hand_execute(const struct cr_kernels *rt, struct cr_pool *pool, const float *weights,\n"
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

static struct cr_program program(void)
{
    return (struct cr_program){.name = "hand", .text = text, .text_length = sizeof text - 1};
}

typedef int compiler(const struct cr_program *, struct cr_code *, struct cr_error *);

/* Both compilers, $CC as it is or with arguments. */
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
    ck_assert_int_eq(code.execute(NULL, NULL, weights, inputs, outputs, arena), 3);
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
    {"TMPDIR", "/nowhere", "/nowhere: no directory"},
};

/* A compiler that is missing is the user's affair. */
START_TEST(trouble_is_reported)
{
    struct cr_program p = program();
    struct cr_code code;
    struct cr_error error = {""};
    set_cc(NULL);
    setenv(troubles[_i].variable, troubles[_i].value, 1);
    ck_assert_int_eq(cr_compile_cc(&p, &code, &error), -1);
    ck_assert_msg(strstr(error.text, troubles[_i].message), "%s", error.text);
    unsetenv("TMPDIR");
}
END_TEST

/* No file stays behind: the directory for temporary files can be removed when it is empty. */
START_TEST(nothing_is_left_behind)
{
    char folder[] = "/tmp/crescent-test-XXXXXX", command[128];
    struct cr_program p = program();
    struct cr_code code;
    struct cr_error error = {""};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    set_cc(NULL);
    setenv("TMPDIR", folder, 1);
    ck_assert_int_eq(cr_compile_cc(&p, &code, &error), 0);
    set_cc("false");
    struct cr_code none;
    ck_assert_int_eq(cr_compile_cc(&p, &none, &error), -1);
    snprintf(command, sizeof command, "rmdir %s", folder);
    ck_assert_int_eq(system(command), 0);
    cr_code_free(&code);
    unsetenv("TMPDIR");
    set_cc(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jit");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, compiled_code_runs, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(all, trouble_is_reported, 0, sizeof troubles / sizeof *troubles);
    tcase_add_test(all, nothing_is_left_behind);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
