/* test_c_text.c - text that grows by pieces, identifiers of emitted C, and the removal of unused
 * definitions. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/strip_unused.h"
#include "compiler/ir/gradient.h"
#include "compiler/ir/identifiers.h"
#include "compiler/ir/text.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* ---- text ---- */

/* Appends pieces of lengths around the size of the buffer to texts of several lengths. */
START_TEST(pieces_of_all_lengths)
{
    enum { MOST = 2000 };
    char piece[MOST + 1];
    for (int i = 0; i < MOST; i++)
        piece[i] = (char)('a' + i % 26);
    for (int before = 0; before <= 300; before += 100)
        for (int length = 0; length <= MOST; length++) {
            struct cr_text text = {0};
            cr_put(&text, "%.*s", before, piece);
            cr_put(&text, "%.*s", length, piece);
            cr_put(&text, ";");
            ck_assert_int_eq((int)text.length, before + length + 1);
            ck_assert_int_eq((int)strlen(text.data), before + length + 1);
            ck_assert(memcmp(text.data, piece, (size_t)before) == 0);
            ck_assert(memcmp(text.data + before, piece, (size_t)length) == 0);
            free(text.data);
        }
}
END_TEST

/* ---- identifiers ---- */

/* Names of kernels are cut to the size of the buffer, also for gradients of gradients. */
START_TEST(identifiers_fit)
{
    const struct {
        const char *name;
        size_t size;
        const char *expected;
    } cases[] = {
        {"h.3.attn", 32, "h_attn"},
        {CR_GRADIENT "attn.y", 32, "d_attn_y"},
        {CR_GRADIENT CR_GRADIENT "y", 32, "d_d_y"},
        {CR_GRADIENT "attn.y", 7, "d_attn"},
        {CR_GRADIENT "y", 3, "d_"},
        {CR_GRADIENT "y", 2, "g"},
        {CR_GRADIENT "y", 1, ""},
        {CR_GRADIENT CR_GRADIENT CR_GRADIENT "y", 4, "d_g"},
        {CR_GRADIENT CR_GRADIENT CR_GRADIENT "y", 5, "d_d_"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char buffer[40];
        memset(buffer, '#', sizeof buffer);
        cr_identifier(buffer, cases[i].size, cases[i].name);
        ck_assert_str_eq(buffer, cases[i].expected);
        for (size_t at = cases[i].size; at < sizeof buffer; at++)
            ck_assert_msg(buffer[at] == '#', "case %d wrote past its room", i);
    }
}
END_TEST

/* Characters that an identifier cannot have become one '_', or nothing at the ends. */
START_TEST(model_names)
{
    static const char *const cases[][2] = {
        {"gpt2", "gpt2"},    {"a.b", "a_b"},     {"a..b", "a_b"},
        {"__a__b__", "a_b"}, {"-a+-b-", "a_b"},  {"", "unnamed"},
        {"..", "unnamed"},   {"2x", "model_2x"}, {"k1_run", "model_k1_run"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char *name = cr_model_name(cases[i][0]);
        ck_assert_str_eq(name, cases[i][1]);
        free(name);
    }
}
END_TEST

/* ---- unused definitions ---- */

/* A text, and the text without its unused definitions. */
static const char *const unused[][2] = {
    /* a function with its comment and a macro that only it uses; names in declarations, comments and
     * strings are no uses */
    {"/* A limit. */\n#define LIMIT 4\n\n/* Unused. */\nstatic int f(int x)\n{\n    return x + LIMIT;\n}\n\n"
     "static int f(int x);\n\n/* f and LIMIT */\nint main(void)\n{\n    return puts(\"f LIMIT\");\n}\n",
     "/* f and LIMIT */\nint main(void)\n{\n    return puts(\"f LIMIT\");\n}\n"},
    /* by itself alone; a macro of several lines; the names that CR_NAME makes */
    {"static int f(int x)\n{\n    return f(x);\n}\n#define M(x) \\\n    (x)\n"
     "CR_INLINE VF CR_NAME(v_f)(VF x)\n{\n    return x;\n}\nint i;\n",
     "int i;\n"},
    /* a function of the template that is called by its name for one instruction set */
    {"#define v_f(p) f_avx2(p)\nCR_INLINE VF CR_NAME(f)(VF x)\n{\n    return x;\n}\nint i = v_f(1);\n",
     "#define v_f(p) f_avx2(p)\nCR_INLINE VF CR_NAME(f)(VF x)\n{\n    return x;\n}\nint i = v_f(1);\n"},
    /* definitions stay that any branch uses, also by a name that ## makes */
    {"#define A 1\n#define F_f 2\n#define F_g 3\n#define F(T) F_##T\n#ifdef NEVER\nint a = A;\n#endif\n"
     "int b = F(f);\n",
     "#define A 1\n#define F_f 2\n#define F(T) F_##T\n#ifdef NEVER\nint a = A;\n#endif\nint b = F(f);\n"},
    /* a comment on two functions stays with one; conditions without lines go */
    {"/* Both. */\nstatic int f(void);\nstatic int g(void);\n\n#ifdef X\n#define H 1\n#else\n#define H 2\n#endif\n"
     "#undef H\nint i = g();\n",
     "/* Both. */\nstatic int g(void);\n\nint i = g();\n"},
    /* a header is included once, but in each branch of a condition */
    {"#include <a.h>\n#if X\n#include <a.h>\n#include <b.h>\n#else\n#include <b.h>\n#endif\n#include <b.h>\nint i;\n",
     "#include <a.h>\n#if X\n#include <b.h>\n#else\n#include <b.h>\n#endif\n#include <b.h>\nint i;\n"},
    /* a declaration without use before the definition, to which its comment moves; one with a use */
    {"/* Does it. */\nstatic int f(void);\n\nstatic int f(void)\n{\n    return 1;\n}\nint i = f();\n",
     "/* Does it. */\nstatic int f(void)\n{\n    return 1;\n}\nint i = f();\n"},
    {"/* Does it. */\nstatic int f(void);\n\nint i = f();\nstatic int f(void)\n{\n    return 1;\n}\n",
     "/* Does it. */\nstatic int f(void);\n\nint i = f();\nstatic int f(void)\n{\n    return 1;\n}\n"},
    {"static int f(void);\n#include CR_TEMPLATE\nstatic int f(void)\n{\n    return 1;\n}\nint i = f();\n",
     "static int f(void);\n#include CR_TEMPLATE\nstatic int f(void)\n{\n    return 1;\n}\nint i = f();\n"},
    /* include guards, unless the text stands there twice */
    {"/* a.h */\n#ifndef A_H\n#define A_H\n#if X\nint a;\n#endif\n#endif\nint b;\n", "/* a.h */\n#if X\nint a;\n#endif\nint b;\n"},
    {"#ifndef A_H\n#define A_H\nint a;\n#endif\n#ifndef A_H\n#define A_H\nint a;\n#endif\n",
     "#ifndef A_H\n#define A_H\nint a;\n#endif\n#ifndef A_H\n#define A_H\nint a;\n#endif\n"},
    /* variables stay */
    {"static const int table[] = {f(1)};\nstatic int CR_NAME(t)[] = {1};\n",
     "static const int table[] = {f(1)};\nstatic int CR_NAME(t)[] = {1};\n"},
};

START_TEST(removes_what_is_unused)
{
    struct cr_text text = {0};
    cr_put(&text, "%s", unused[_i][0]);
    cr_strip_unused(&text);
    ck_assert_str_eq(text.data, unused[_i][1]);
    free(text.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("c_text");
    TCase *all = tcase_create("all");
    tcase_add_test(all, pieces_of_all_lengths);
    tcase_add_test(all, identifiers_fit);
    tcase_add_test(all, model_names);
    tcase_add_loop_test(all, removes_what_is_unused, 0, COUNT(unused));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
