/* test_text.c - pieces of text that grow, and the identifiers that emitted C has for names. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/gradient.h"
#include "compiler/ir/identifiers.h"
#include "compiler/ir/text.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* ---- text ---- */

/* Pieces of all lengths around those for which there is room, behind texts of some lengths. */
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

/* Names of kernels are cut to the room that there is, however often a gradient is one of a gradient. */
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

/* One '_' stands for all that no identifier may have, and none at the ends. */
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

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *all = tcase_create("all");
    tcase_add_test(all, pieces_of_all_lengths);
    tcase_add_test(all, identifiers_fit);
    tcase_add_test(all, model_names);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
