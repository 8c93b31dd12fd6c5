/*
 * test_random_tokenizers.c - tokenizers of random parts as emitted C, against the library.
 *
 * TOKENIZERS=N SEED=S tries N of them from seed S on, COMPILER="gcc -g" by another compiler; a failure prints the
 * seed and leaves its folder.  tests/make_tokenizer_fixtures.py compares the library with that of Hugging Face.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emitted_tokenizers.h"
#include "random_tokenizer.h"

enum { N_TEXTS = 60 };

static char folder[64];

/* Writes random texts, and what the library says of them to `expected`. */
static void make_texts(struct cr_tokenizer *t, struct cr_text *expected, enum cr_tokenizer_use use)
{
    struct cr_text texts = {0};
    for (int i = 0; i < N_TEXTS; i++) {
        struct cr_text text = {0};
        cr_put_bytes(&text, "", 0);
        put_random_text(&text);
        add_text(&texts, text.data, text.length);
        (use == CR_FOR_TEXTS ? put_expected_texts : put_expected)(expected, t, text.data, text.length, i);
        free(text.data);
    }
    write_file(folder, "texts", &texts);
    write_file(folder, "expected", expected);
    free(texts.data);
}

/* Compiles and runs the program of a tokenizer, and compares what it prints. */
static void run_program(uint64_t seed)
{
    const char *compiler = getenv("COMPILER");
    char command[400];
    snprintf(command, sizeof command, "cd %s && %.200s small.c -o small && ./small texts >out && cmp out expected", folder,
             compiler ? compiler : "tcc -w");
    ck_assert_msg(system(command) == 0, "seed %llu: emitted C differs, see %s", (unsigned long long)seed, folder);
}

/* Draws a tokenizer; returns 1 if its emitted C was compared, 0 if a part is refused. */
static int try_tokenizer(uint64_t seed)
{
    char path[80];
    struct cr_text json = {0}, source = {0}, expected = {0};
    struct cr_error error = {""};
    random_state = seed * 6364136223846793005u + 1442695040888963407u;
    put_random_tokenizer(&json);
    write_file(folder, "tokenizer.json", &json);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    const enum cr_tokenizer_use use = once_in(4) ? CR_FOR_PROMPTS : CR_FOR_TEXTS;
    struct cr_tokenizer *t = cr_tokenizer_open(path, &error);
    int done = t && put_source(&source, t, path, use, &error) == 0;
    if (getenv("TOKENIZERS") && !done)
        printf("%llu: %s\n", (unsigned long long)seed, error.text + strlen(path));
    ck_assert_msg(done || strstr(error.text, "expected"), "seed %llu: %s", (unsigned long long)seed, error.text);
    if (done) {
        write_file(folder, "small.c", &source);
        make_texts(t, &expected, use);
        run_program(seed);
    }
    cr_tokenizer_free(t);
    free(json.data);
    free(source.data);
    free(expected.data);
    return done;
}

START_TEST(emits_what_encodes_alike)
{
    const char *n = getenv("TOKENIZERS"), *seed = getenv("SEED");
    const int tokenizers = n ? atoi(n) : 60;
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    char command[100];
    int done = 0;
    snprintf(folder, sizeof folder, "/tmp/random_tokenizers.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < tokenizers; i++)
        done += try_tokenizer(first + (uint64_t)i);
    ck_assert_msg(tokenizers < 60 || done > tokenizers / 3, "%d of %d tokenizers were taken", done, tokenizers);
    if (n)
        printf("%d of %d tokenizers were taken\n", done, tokenizers);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_tokenizers");
    TCase *t = tcase_create("random_tokenizers");
    tcase_set_timeout(t, 300);
    suite_add_tcase(suite, t);
    tcase_add_test(t, emits_what_encodes_alike);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
