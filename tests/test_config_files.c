/* test_config_files.c - --config: values for the options of a script, from a config.json or a table of Lua. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/frontend/script.h"

static char folder[] = "/tmp/crescent-config-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* A script with an option of each kind, two keys that map to an option, and keys that are ignored. */
static const char model[] =
    "local o = options({\n"
    "    whole = 3, eps = 1e-5, number = {number = 1}, yes = true, text = 'x',\n"
    "    kind = {'default', 'llama3'}},\n"
    "    {['rope.kind'] = 'kind', ['old.kind'] = 'kind', who = false, many = false},\n"
    "    {whole = 2, none = 1, number = {-30, 40, null = false}})\n"
    "return {y = input('x', {1})}\n";

/* A script with a function to which the front end passes keys that are no options. */
static const char asked[] =
    "local o = options({n = 3}, {old = 'n', older = 'n', who = false, ['*'] = function(key, value, all)\n"
    "    assert(all[key] == value)\n"
    "    if key:sub(1, 4) == 'none' then return false end\n"
    "    if key:sub(1, 3) == 'any' then return true end\n"
    "end})\n"
    "return {y = input('x', {1})}\n";

/* Runs `asked` with a configuration; some of its keys are to be ignored. */
static int ask(const char *config, const char *const *ignored, int n, struct cr_script *script,
               struct cr_error *error)
{
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("a.json", config));
    const struct cr_script_source source = {.path = "m.lua",
                                            .text = asked,
                                            .length = sizeof asked - 1,
                                            .config = path,
                                            .ignored = ignored,
                                            .n_ignored = n};
    return cr_script_run(&source, NULL, 0, script, error);
}

static int run(const char *config_name, const char *config, const struct cr_setting *settings,
               int n, struct cr_script *script, struct cr_error *error)
{
    char path[256];
    snprintf(path, sizeof path, "%s", write_file(config_name, config));
    const struct cr_script_source source = {.path = "m.lua", .text = model,
                                            .length = sizeof model - 1, .config = path};
    return cr_script_run(&source, settings, n, script, error);
}

/* Writes all options as text: "eps=1e-05 kind=default ...". */
static void all_options(const struct cr_script *script, char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < script->n_options; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s=%s", i ? " " : "",
                               script->options[i].name, script->options[i].value);
}

#define PLAIN(whole, eps, kind, number, text, yes)                                                 \
    "eps=" eps " kind=" kind " number=" number " text=" text " whole=" whole " yes=" yes

static const struct {
    const char *file, *config, *expected;
} good[] = {
    {"a.json", "{}", PLAIN("3", "1e-05", "default", "1", "x", "true")},
    {"a.json",
     "{\"whole\": 4, \"eps\": 1E-6, \"number\": -2.5e+1, \"yes\": false, \"text\": \"\\u00e4 b\"}",
     PLAIN("4", "1e-06", "default", "-25", "\xc3\xa4 b", "false")},
    {"a.json", "{\"text\": [], \"unknown\": {}, \"many\": []}",
     PLAIN("3", "1e-05", "default", "1", "", "true")},
    {"a.json", "{\"rope\": {\"kind\": \"llama3\"}, \"kind\": null, \"old\": {\"kind\": \"llama3\"}}",
     PLAIN("3", "1e-05", "llama3", "1", "x", "true")},
    {"a.json", " {\n\"whole\":null,\"eps\":null,\"yes\":null,\"text\":null,\"kind\":null}\t",
     PLAIN("0", "0", "default", "1", "", "false")},
    {"a.json", "{\"rope\": {\"kind\": \"llama3\"}}", PLAIN("3", "1e-05", "llama3", "1", "x", "true")},
    {"a.json", "{\"old\": {\"kind\": \"llama3\", \"unset\": null}, \"unknown\": null}",
     PLAIN("3", "1e-05", "llama3", "1", "x", "true")},
    {"a.json", "{\"text\": [\"a\", 1.5, 2, true, null]}",
     PLAIN("3", "1e-05", "default", "1", "a,1.5,2,true,null", "true")},
    {"a.json", "{\"who\": [\"A\"], \"many\": {\"0\": [{}, {\"a\": []}], \"b\": 3}, \"whole\": 12.0}",
     PLAIN("12", "1e-05", "default", "1", "x", "true")},
    {"a.lua", "return {whole = 2 * 4, rope = {kind = 'llama3'}, text = {'a', 'b'}, who = 3}",
     PLAIN("8", "1e-05", "llama3", "1", "a,b", "true")},
    {"a.lua", "-- nothing\nreturn {}", PLAIN("3", "1e-05", "default", "1", "x", "true")},
    {"json", "return {whole = 5}", PLAIN("5", "1e-05", "default", "1", "x", "true")},
};

START_TEST(gives_values)
{
    struct cr_script script;
    struct cr_error error = {""};
    char found[400];
    ck_assert_msg(run(good[_i].file, good[_i].config, NULL, 0, &script, &error) == 0, "%s: %s",
                  good[_i].config, error.text);
    all_options(&script, found, sizeof found);
    ck_assert_str_eq(found, good[_i].expected);
    cr_script_free(&script);
}
END_TEST

/* The message begins with the file of the configuration, or with the script if the script is wrong. */
static const struct {
    const char *file, *config, *expected;
} bad[] = {
    {"a.json", "{\"whole\": 2.5}", "a.json: option whole: found '2.5', expected a whole number"},
    {"a.json", "{\"whole\": 1}", "a.json: option whole: found '1', expected at least 2"},
    {"a.json", "{\"number\": 41}", "a.json: option number: found '41', expected at most 40"},
    {"a.json", "{\"number\": -31}", "a.json: option number: found '-31', expected at least -30"},
    {"a.json", "{\"number\": null}", "a.json: option number: found null, expected at least -30"},
    {"a.json", "{\"whole\": []}", "a.json: option whole: found an empty table, expected one value"},
    {"a.json", "{\"yes\": {}}", "a.json: option yes: found an empty table, expected one value"},
    {"a.json", "{\"kind\": \"default\", \"rope\": {\"kind\": \"llama3\"}}",
     "a.json: kind default: expected llama3, as rope.kind says"},
    {"a.json", "{\"whole\": true}", "a.json: option whole: found 'true', expected a whole number"},
    {"a.json", "{\"whole\": {\"a\": 1}}", "a.json: whole.a 1: m.lua has no such option"},
    {"a.json", "{\"yes\": 1}", "a.json: option yes: found '1', expected true or false"},
    {"a.json", "{\"rope\": {\"kind\": \"yarn\", \"beta\": 1}}",
     "a.json: option kind: found 'yarn', expected default or llama3"},
    {"a.json", "{\"rope\": {\"beta\": 32}}", "a.json: rope.beta 32: m.lua has no such option"},
    {"a.json", "{\"numbr\": 8}",
     "a.json: numbr 8: m.lua has no such option, did you mean number?"},
    {"a.json", "{\"whoever\": false}", "a.json: whoever false: m.lua has no such option"},
    {"a.json", "{\"text\": [[1]]}", "a.json: text.1 1: m.lua has no such option"},
    {"a.json", "", "a.json:1: found the end of the file, expected JSON to go on"},
    {"a.json", "[1]", "a.json:1: found an array, expected an object"},
    {"a.json", "\n3", "a.json:2: found an integer, expected an object"},
    {"a.json", "{\n\"whole\": 1,\n}", "a.json:3: JSON: a comma before '}', expected none after the last member"},
    {"a.json", "{\"whole\": 01}", "a.json:1: JSON: a number that begins with 0"},
    {"a.json", "{\"whole\": 1.}", "a.json:1: JSON: found no value"},
    {"a.json", "{\"whole\": 1e}", "a.json:1: JSON: found no value"},
    {"a.json", "{\"whole\": +1}", "a.json:1: JSON: found no value"},
    {"a.json", "{\"whole\": NaN}", "a.json:1: JSON: found no value"},
    {"a.json", "{\"whole\": 1e999}", "a.json: option whole: found 'inf', expected a whole number"},
    {"a.json", "{\"whole\" 1}", "a.json:1: JSON: expected \"NAME\": before a value"},
    {"a.json", "{\"whole\": 1 \"a\": 2}", "a.json:1: JSON: expected ',' or '}'"},
    {"a.json", "{\"whole\": 1", "a.json:1: found the end of the file, expected JSON to go on"},
    {"a.json", "{} {}", "a.json:1: JSON: found more than one value, expected one"},
    {"a.json", "{\"a\": 1, \"a\": 1}", "a.json:1: JSON: found the key 'a' twice, expected it once"},
    {"a.json", "{\"rope\": {\"a\": 1,\n \"b\": 2,\n\n \"a\":\n 3}}",
     "a.json:5: JSON: found the key 'a' twice, expected it once"},
    {"a.json",
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
     "a.json:1: JSON: a text that is nested too deep, expected fewer levels"},
    {"a.lua", "return 3", "a.lua: found number, expected a table of values for options"},
    {"a.lua", "local a = 1\nreturn {whole = math.pi}", "a.lua:2: attempt to index"},
    {"a.lua", "local a = 1\nreturn {", "a.lua:2: unexpected symbol"},
    {"a.lua", "return {whole = function() end}",
     "a.lua: whole: found function, expected a number, a string, true or false"},
    {"a.lua", "local t = {} t.t = t return t", "a.lua: t.t.t.t"},
    {"a.lua", "return {unknown = 1}", "a.lua: unknown 1: m.lua has no such option"},
    {"a.lua", "while true do end", "a.lua:1: the script takes more than"},
    {"a.lua", "\033Lua", "a.lua: the file is not text, expected a table of values"},
};

START_TEST(refuses)
{
    struct cr_script script;
    struct cr_error error = {""};
    char expected[400];
    snprintf(expected, sizeof expected, "%s/%s", folder, bad[_i].expected);
    ck_assert_msg(run(bad[_i].file, bad[_i].config, NULL, 0, &script, &error) != 0, "%s",
                  bad[_i].config);
    ck_assert_msg(strncmp(error.text, expected, strlen(expected)) == 0, "found '%s', expected '%s'",
                  error.text, expected);
}
END_TEST

static const struct {
    const char *config, *n, *note; /* without the file's name */
} passed_over[] = {
    {"{\"n\": 4}", "4", NULL},
    {"{\"none\": 4, \"none_b\": {\"a\": 1}, \"who\": 2}", "3", NULL},
    {"{\"any\": 4, \"n\": 5}", "5", ": passed over keys that m.lua does not know: any"},
    {"{\"any.b\": {\"x\": 1, \"y\": [{}, {\"z\": 2}]}, \"any\": {\"b\": 1}, \"any_n\": null}", "3",
     ": passed over keys that m.lua does not know: any, any.b"},
    {"{\"old\": 7, \"older\": 7, \"any\": 1}", "7", ": passed over keys that m.lua does not know: any"},
};

START_TEST(ignores_keys)
{
    struct cr_script script;
    struct cr_error error = {""};
    char expected[400];
    snprintf(expected, sizeof expected, "%s/a.json%s", folder,
             passed_over[_i].note ? passed_over[_i].note : "");
    ck_assert_msg(ask(passed_over[_i].config, NULL, 0, &script, &error) == 0, "%s", error.text);
    ck_assert_str_eq(script.options[0].value, passed_over[_i].n);
    if (passed_over[_i].note)
        ck_assert_str_eq(script.note, expected);
    else
        ck_assert_ptr_null(script.note);
    cr_script_free(&script);
}
END_TEST

/* A note that lists ignored keys is cut after some of them. */
START_TEST(cuts_a_long_note)
{
    static char config[20000] = "{";
    struct cr_script script;
    struct cr_error error = {""};
    for (int i = 0; i < 1000; i++)
        snprintf(config + strlen(config), sizeof config - strlen(config), "\"any_%d\": 1%s", i,
                 i < 999 ? ", " : "}");
    ck_assert_msg(ask(config, NULL, 0, &script, &error) == 0, "%s", error.text);
    ck_assert_uint_gt(strlen(script.note), 900);
    ck_assert_uint_lt(strlen(script.note), 1000);
    ck_assert_str_eq(script.note + strlen(script.note) - 5, ", ...");
    cr_script_free(&script);
}
END_TEST

static const struct {
    const char *config, *key, *expected; /* expected: the value of n, or the message */
} ignoring[] = {
    {"{\"n\": 4}", "n", "3"},
    {"{\"old\": 4, \"b\": {\"c\": 1}}", "b", "4"},
    {"{\"b.c\": {\"d\": 1}}", "b.c", "3"},
    {"{\"b\": {\"c\": {\"d\": 1}}}", "b.c", "3"},
    {"{\"b\": null}", "b", "3"},
    {"{\"b\": {}}", "b", "3"},
    {"{\"b\": {\"c\": 1, \"d\": 2}}", "b.c", "a.json: b.d 2: m.lua has no such option, expected "
                                              "--ignore-config b if it may be ignored"},
    {"{\"b.c\": {\"d\": 1}}", "b", "a.json: --ignore-config b: the file has no such key, expected one of its keys"},
    {"{\"bc\": 1}", "b", "a.json: --ignore-config b: the file has no such key, expected one of its keys"},
    {"{\"old\": 4, \"older\": 5}", "older", "4"},
    {"{\"old\": 4, \"older\": 5}", "old", "5"},
};

START_TEST(ignores)
{
    struct cr_script script;
    struct cr_error error = {""};
    if (strlen(ignoring[_i].expected) == 1) {
        ck_assert_msg(ask(ignoring[_i].config, &ignoring[_i].key, 1, &script, &error) == 0, "%s",
                      error.text);
        ck_assert_str_eq(script.options[0].value, ignoring[_i].expected);
        ck_assert_ptr_null(script.note);
        cr_script_free(&script);
    } else {
        ck_assert(ask(ignoring[_i].config, &ignoring[_i].key, 1, &script, &error) != 0);
        ck_assert_str_eq(error.text + strlen(folder) + 1, ignoring[_i].expected);
    }
}
END_TEST

/* A setting takes precedence over the file, and the file over an optional setting. */
START_TEST(is_overridden_by_settings)
{
    const struct cr_setting settings[] = {{"eps", "7", true}, {"whole", "9", true},
                                          {"text", "mine", false}};
    struct cr_script script;
    struct cr_error error = {""};
    char found[400];
    ck_assert(run("a.json", "{\"text\": \"theirs\", \"whole\": 4}", settings, 3, &script, &error) ==
              0);
    all_options(&script, found, sizeof found);
    ck_assert_str_eq(found, PLAIN("4", "7", "default", "1", "mine", "true"));
    cr_script_free(&script);
}
END_TEST

START_TEST(needs_a_script_with_options)
{
    struct cr_script script;
    struct cr_error error = {""};
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("a.json", "{\"n\": 1}"));
    const char *text = "return {y = input('x', {1})}";
    const struct cr_script_source source = {.path = "m.lua", .text = text,
                                            .length = strlen(text), .config = path};
    ck_assert(cr_script_run(&source, NULL, 0, &script, &error) != 0);
    ck_assert_ptr_nonnull(strstr(error.text, "a.json: n 1: m.lua has no such option"));
    const struct cr_script_source none = {.path = "m.lua", .text = text,
                                          .length = strlen(text), .config = "/nowhere/a.json"};
    error.text[0] = '\0';
    ck_assert(cr_script_run(&none, NULL, 0, &script, &error) != 0);
    ck_assert_str_eq(error.text, "/nowhere/a.json: cannot be opened: No such file or directory");
    const char *wrong = "options({}, 3)";
    const struct cr_script_source third = {.path = "m.lua", .text = wrong,
                                           .length = strlen(wrong)};
    error.text[0] = '\0';
    ck_assert(cr_script_run(&third, NULL, 0, &script, &error) != 0);
    ck_assert_str_eq(error.text,
                     "m.lua:1: options: found number, expected a table {name = \"option\"}");
}
END_TEST

/* The public interface takes a configuration, for a script in memory as well. */
START_TEST(is_a_field_of_the_library)
{
    char path[256];
    snprintf(path, sizeof path, "%s", write_file("a.json", "{\"whole\": 40}"));
    crescent_context *context = crescent_context_new();
    crescent_graph *graph;
    crescent_setting option;
    const crescent_script how = {.config = path};
    ck_assert_msg(crescent_graph_open_text(context, "m.lua", model, sizeof model - 1, &how,
                                           &graph) == CRESCENT_OK,
                  "%s", crescent_error(context));
    ck_assert_int_eq(crescent_graph_option_at(graph, 4, &option), CRESCENT_OK);
    ck_assert_str_eq(option.key, "whole");
    ck_assert_str_eq(option.value, "40");
    crescent_graph_close(graph);
    crescent_context_free(context);
}
END_TEST

/* The context keeps a note of ignored keys once, and the keys stay ignored when the script runs
 * again. */
START_TEST(is_noted_by_the_context)
{
    char path[256], expected[300];
    const char *const keys[] = {"num_experts"}, *const none[] = {""};
    snprintf(path, sizeof path, "%s", write_file("a.json", "{\"any\\n\": 1, \"num_experts\": 40}"));
    snprintf(expected, sizeof expected, "%.200s: passed over keys that m.lua does not know: any\\n", path);
    crescent_context *context = crescent_context_new();
    crescent_graph *graph;
    crescent_script how = {.config = path, .ignored = keys, .n_ignored = 1};
    ck_assert_ptr_null(crescent_note_at(context, 0));
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(crescent_graph_open_text(context, "m.lua", asked, sizeof asked - 1, &how,
                                               &graph) == CRESCENT_OK,
                      "%s", crescent_error(context));
        crescent_graph_close(graph);
    }
    ck_assert_str_eq(crescent_note_at(context, 0), expected);
    ck_assert_ptr_null(crescent_note_at(context, 1));
    ck_assert_ptr_null(crescent_note_at(context, -1));
    how.ignored = none;
    ck_assert_int_ne(crescent_graph_open_text(context, "m.lua", asked, sizeof asked - 1, &how, &graph),
                     CRESCENT_OK);
    ck_assert_str_eq(crescent_error(context), "m.lua: ignored key 0 is null, expected a name");
    crescent_context_free(context);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    Suite *suite = suite_create("config_files");
    TCase *tests = tcase_create("config");
    tcase_add_loop_test(tests, gives_values, 0, COUNT(good));
    tcase_add_loop_test(tests, refuses, 0, COUNT(bad));
    tcase_add_loop_test(tests, ignores_keys, 0, COUNT(passed_over));
    tcase_add_test(tests, cuts_a_long_note);
    tcase_add_loop_test(tests, ignores, 0, COUNT(ignoring));
    tcase_add_test(tests, is_overridden_by_settings);
    tcase_add_test(tests, needs_a_script_with_options);
    tcase_add_test(tests, is_a_field_of_the_library);
    tcase_add_test(tests, is_noted_by_the_context);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed > 0;
}
