/*
 * test_generate_verb.c - the verb crescent generate: output as ids and as text; the logits; the end of a text;
 * Ctrl-C; and errors, in one line.  $CRESCENT is the program.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/npy.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

enum { MAX_TEXT = 1 << 16, VOCABULARY = 420 };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* ---- running the program ---- */

struct outcome {
    int status;
    char out[MAX_TEXT], err[MAX_TEXT];
};

static void read_file(const char *name, char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, MAX_TEXT - 1, file)] = '\0';
    fclose(file);
}

/* Runs a line of the shell in which crescent is the program, $M the model's folder and $T the test's
 * folder. */
static const struct outcome *run(const char *format, ...)
{
    static struct outcome outcome;
    char line[1200], command[2048];
    const char *crescent = getenv("CRESCENT");
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    snprintf(command, sizeof command,
             "T=%s; M=%s/model; crescent() { '%s' \"$@\"; }; { %s; } >$T/out 2>$T/err </dev/null",
             folder, folder, crescent ? crescent : "build/crescent", line);
    int status = system(command);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_file("out", outcome.out);
    read_file("err", outcome.err);
    return &outcome;
}

/* Runs a line that must succeed; returns its standard output. */
static const char *out_of(const char *line)
{
    const struct outcome *o = run("%s", line);
    ck_assert_msg(o->status == 0, "%s: status %d, %s", line, o->status, o->err);
    return o->out;
}

static void must_print(const char *line, const char *expected)
{
    const char *found = out_of(line);
    ck_assert_msg(strcmp(found, expected) == 0, "%s: found '%s', expected '%s'", line, found, expected);
}

/* ---- the model ---- */

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Writes config.json of a small GPT-2 with random weights and the tokenizer of the tests; the
 * embedding's weights are larger than usual, so that generated text does not repeat one token. */
static void write_config(const char *more)
{
    char config[400];
    snprintf(config, sizeof config,
             "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, \"n_head\": 4,"
             " \"vocab_size\": %d, \"n_positions\": 64%s}",
             VOCABULARY, more);
    write_text("model/config.json", config);
}

static void write_weights(void)
{
    char path[128];
    crescent_model *model;
    crescent_port port;
    snprintf(path, sizeof path, "%s/model", folder);
    GOOD(crescent_open(context, path, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    for (int i = 0; i < crescent_port_count(model, CRESCENT_PARAM); i++) {
        GOOD(crescent_port_at(model, CRESCENT_PARAM, i, &port));
        int64_t n = crescent_port_elements(&port);
        float *values = malloc((size_t)n * sizeof *values);
        GOOD(crescent_get_weight(model, i, values));
        for (int64_t k = 0; k < n && port.rank == 2; k++)
            values[k] *= 6;
        GOOD(crescent_set_weight(model, i, values));
        free(values);
    }
    snprintf(path, sizeof path, "%s/model/model.safetensors", folder);
    GOOD(crescent_save_weights(model, path));
    crescent_close(model);
}

static void set_up(void)
{
    char command[256];
    strcpy(folder, "/tmp/test_generate_verb.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
    snprintf(command, sizeof command,
             "mkdir %s/model && cp tests/tokenizers/gpt2.json %s/model/tokenizer.json", folder, folder);
    ck_assert_int_eq(system(command), 0);
    write_config(", \"bos_token_id\": 5");
    write_weights();
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Ids of a line. */
static int parse(const char *line, int32_t *ids)
{
    int n = 0;
    char *end;
    for (const char *at = line; *at && *at != '\n'; at = end + (*end == ' ')) {
        ids[n] = (int32_t)strtol(at, &end, 10);
        ck_assert_msg(end != at, "%s", line);
        n++;
    }
    return n;
}

/* ---- what is printed ---- */

START_TEST(prints_the_likeliest_ids)
{
    char path[128], found[400];
    crescent_generator *g;
    int32_t prompt[] = {7, 300, 41}, ids[64], id;
    snprintf(path, sizeof path, "%s/model", folder);
    strcpy(found, out_of("crescent generate $M --prompt-ids 7,300,41 --tokens 20 --ids"));
    ck_assert_int_eq(parse(found, ids), 20);
    const char *weights = path;
    GOOD(crescent_generator_open(context, path, NULL, NULL, NULL, &g));
    GOOD(crescent_load_weights(crescent_generator_model(g), &weights, 1, CRESCENT_ANY_TENSORS, NULL));
    GOOD(crescent_generator_feed(g, prompt, 3, NULL));
    int different = 0;
    for (int i = 0; i < 20; i++) {
        GOOD(crescent_generator_choose(g, NULL, &id));
        ck_assert_int_eq(id, ids[i]);
        different += i && ids[i] != ids[i - 1];
        GOOD(crescent_generator_feed(g, &id, 1, NULL));
    }
    ck_assert_int_gt(different, 5);
    crescent_generator_close(g);
    must_print("crescent generate $M --prompt-ids 7,300,41 --tokens 0 --ids", "");
}
END_TEST

/* The printed text is the prompt followed by the decoded ids. */
START_TEST(prints_the_text_of_the_ids)
{
    char path[128];
    crescent_tokenizer *tokenizer;
    char *text;
    int32_t all[64];
    size_t length, n;
    snprintf(path, sizeof path, "%s/model", folder);
    GOOD(crescent_tokenizer_open(context, path, &tokenizer));
    static const char *const prompts[] = {"the end of a", "", "na\xc3\xafve \xe2\x82"};
    for (int p = 0; p < COUNT(prompts); p++) {
        char line[300], expected[MAX_TEXT], before[MAX_TEXT];
        int32_t *encoded;
        if (crescent_encode(tokenizer, prompts[p], strlen(prompts[p]), CRESCENT_FRAMED, &encoded, &n)) {
            snprintf(line, sizeof line, "crescent generate $M --prompt '%s' --tokens 30", prompts[p]);
            ck_assert_int_eq(run("%s", line)->status, 2);
            continue;
        }
        memcpy(all, encoded, n * sizeof *all);
        crescent_free(encoded);
        if (!n)
            all[n++] = 5;
        GOOD(crescent_decode(tokenizer, all, n, CRESCENT_SPECIALS_NONE, &text, &length));
        strcpy(before, text);
        crescent_free(text);
        snprintf(line, sizeof line, "crescent generate $M --prompt '%s' --tokens 30 --ids", prompts[p]);
        n += (size_t)parse(out_of(line), all + n);
        GOOD(crescent_decode(tokenizer, all, n, CRESCENT_SPECIALS_NONE, &text, &length));
        snprintf(expected, sizeof expected, "%s%s", text + strlen(before),
                 text[length - 1] == '\n' ? "" : "\n");
        crescent_free(text);
        snprintf(line, sizeof line, "crescent generate $M --prompt '%s' --tokens 30", prompts[p]);
        must_print(line, expected);
    }
    crescent_tokenizer_close(tokenizer);
}
END_TEST

/* A prompt is text, ids or a file; without one, the text begins with the token that config.json
 * names. */
START_TEST(takes_prompts)
{
    char expected[MAX_TEXT];
    write_text("prompt", "the end");
    strcpy(expected, out_of("crescent generate $M --prompt 'the end' --tokens 25"));
    must_print("crescent generate $M --prompt-file $T/prompt --tokens 25", expected);
    must_print("crescent generate $M --prompt-file - --tokens 25 <$T/prompt", expected);
    must_print("crescent generate $M --prompt-ids 358,300,270 --tokens 25", expected);
    must_print("crescent generate $M --prompt-ids 358,300,270 --tokens 25 "
               "--tokenizer tests/tokenizers/gpt2.json", expected);
    strcpy(expected, out_of("crescent generate $M --prompt-ids 5 --tokens 9 --ids"));
    must_print("crescent generate $M --tokens 9 --ids", expected);
    must_print("crescent generate $M --prompt-ids '' --tokens 9 --ids", expected);
    must_print("crescent generate $M --prompt '' --tokens 9 --ids", expected);
}
END_TEST

/* Options that do not change results give files of logits that are equal byte for byte. */
START_TEST(writes_the_same_logits)
{
    static const char *const ways[] = {
        "--chunk 1",      "--chunk 7",     "--chunk 64",  "--threads 1", "--threads 3", "--isa plain",
        "--backend cc",   "--context 40",  "--ids",       "--target generic",
    };
    struct cr_npy file;
    char line[400], path[128], error[400];
    out_of("crescent generate $M --prompt 'the end of a text' --tokens 20 --logits $T/a.npy");
    snprintf(path, sizeof path, "%s/a.npy", folder);
    ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), 0);
    ck_assert_int_eq(file.rank, 2);
    int n = (int)file.shape[0];
    ck_assert_int_eq(file.shape[1], VOCABULARY);
    cr_npy_close(&file);
    int32_t ids[64];
    int prompt = parse(out_of("crescent tokenize $M --text 'the end of a text'"), ids);
    ck_assert_int_eq(n, prompt + 20 - 1);
    for (int i = 0; i < COUNT(ways); i++) {
        snprintf(line, sizeof line,
                 "crescent generate $M --prompt 'the end of a text' --tokens 20 --logits $T/b.npy %s "
                 ">/dev/null && cmp $T/a.npy $T/b.npy", ways[i]);
        must_print(line, "");
    }
}
END_TEST

/* Without a continuation the logits are those of all tokens of the prompt: the file of one token,
 * which is made of the last row but never read. */
START_TEST(writes_the_logits_of_the_prompt)
{
    struct cr_npy file;
    char path[128], error[400];
    must_print("crescent generate $M --prompt-ids 7,300,41 --tokens 0 --ids --logits $T/p.npy", "");
    snprintf(path, sizeof path, "%s/p.npy", folder);
    ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), 0);
    ck_assert_int_eq(file.rank, 2);
    ck_assert_int_eq(file.shape[0], 3);
    ck_assert_int_eq(file.shape[1], VOCABULARY);
    cr_npy_close(&file);
    must_print("crescent generate $M --prompt-ids 7,300,41 --tokens 1 --ids --logits $T/q.npy "
               ">/dev/null && cmp $T/p.npy $T/q.npy", "");
}
END_TEST

START_TEST(draws_by_the_seed)
{
    char first[MAX_TEXT];
    static const char *const lines[] = {
        "crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --seed 4 --threads 1",
        "crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --seed 4 --chunk 3",
        "crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --seed 4 --top-p 1",
        "crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --seed 4 --top-k 420",
    };
    strcpy(first,
           out_of("crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --seed 4"));
    for (int i = 0; i < COUNT(lines); i++)
        must_print(lines[i], first);
    ck_assert_str_ne(first, out_of("crescent generate $M --prompt-ids 7 --tokens 30 --ids "
                                   "--temperature 1 --seed 5"));
    strcpy(first, out_of("crescent generate $M --prompt-ids 7 --tokens 30 --ids"));
    must_print("crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --top-k 1", first);
    must_print("crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 1 --top-p 1e-9",
               first);
    must_print("crescent generate $M --prompt-ids 7 --tokens 30 --ids --temperature 0 --seed 8", first);
}
END_TEST

/* ---- where it ends ---- */

START_TEST(ends_at_a_token)
{
    char whole[MAX_TEXT], part[MAX_TEXT] = "", more[64];
    int32_t ids[64];
    int n = 0, at = 0;
    strcpy(whole, out_of("crescent generate $M --prompt-ids 7,8 --tokens 30 --ids"));
    ck_assert_int_eq(parse(whole, ids), 30);
    for (n = 6; n < 30; n++) { /* this is the first occurrence of the token */
        bool before = false;
        for (int i = 0; i < n; i++)
            before |= ids[i] == ids[n];
        if (!before)
            break;
    }
    ck_assert_int_lt(n, 30);
    for (int i = 0; i <= n; i++)
        at += snprintf(part + at, sizeof part - (size_t)at, "%s%d", i ? " " : "", (int)ids[i]);
    strcat(part, "\n");
    snprintf(more, sizeof more, ", \"eos_token_id\": [419, %d]", (int)ids[n]);
    write_config(more);
    must_print("crescent generate $M --prompt-ids 7,8 --tokens 30 --ids", part);
    must_print("crescent generate $M --prompt-ids 7,8 --tokens 30 --ids --ignore-eos", whole);
}
END_TEST

START_TEST(ends_with_the_context)
{
    char line[MAX_TEXT];
    const struct outcome *o =
        run("crescent generate $M --prompt-ids 7,8 --tokens 100 --ids --ignore-eos");
    int32_t ids[128];
    ck_assert_int_eq(o->status, 0);
    ck_assert_int_eq(parse(o->out, ids), 63);
    ck_assert_msg(strstr(o->err, "the context of 64 tokens is full, 63 of 100 tokens were made"), "%s",
                  o->err);
    strcpy(line, o->out);
    o = run("crescent generate $M --prompt-ids 7,8 --ids --ignore-eos --context 64");
    ck_assert_str_eq(o->out, line);
    ck_assert_str_eq(o->err, "");
    ck_assert_int_eq(run("crescent generate $M --prompt-ids 7,8,9 --tokens 3 --ids --context 3")->status,
                     0);
}
END_TEST

/* A script that fixes no number of positions gets as many as the text needs. */
START_TEST(makes_room_in_a_script)
{
    char path[64];
    int32_t ids[128];
    write_text("m.lua", "local o = options {T = 4}\n"
                        "local ids = input('ids', {1, o.T}, 'i32')\n"
                        "local x = gather(param('e', {9, 6}, {normal = 1}), ids)\n"
                        "return {logits = matmul(exp(x), param('w', {6, 9}, {normal = 1}))}\n");
    strcpy(path, "crescent generate $T/m.lua --prompt-ids 1,2,3 --ids");
    char line[128];
    snprintf(line, sizeof line, "%s --tokens 50", path);
    ck_assert_int_eq(parse(out_of(line), ids), 50);
    ck_assert_int_eq(parse(out_of(path), ids), 2);
    snprintf(line, sizeof line, "%s --tokens 50 --set T=10", path);
    ck_assert_int_eq(parse(out_of(line), ids), 8);
    snprintf(line, sizeof line, "%s --tokens 50 --context 12", path);
    ck_assert_int_eq(parse(out_of(line), ids), 10);
}
END_TEST

/* A signal ends generation after a token: the text so far is printed, and its last line is terminated. */
START_TEST(ends_by_a_signal)
{
    int ends[2], status;
    char out[MAX_TEXT];
    size_t n = 0;
    ssize_t some;
    char path[128];
    const char *crescent = getenv("CRESCENT");
    write_text("slow.lua",
               "local o = options {T = 100000}\n"
               "local ids = input('ids', {1, o.T}, 'i32')\n"
               "local x = gather(param('e', {600, 600}, {normal = 1}), ids)\n"
               "return {logits = matmul(x, param('w', {600, 600}, {normal = 1}))}\n");
    snprintf(path, sizeof path, "%s/slow.lua", folder);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp(crescent ? crescent : "build/crescent", "crescent", "generate", path, "--prompt-ids", "1",
               "--ids", "--temperature", "1", (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    some = read(ends[0], out, sizeof out);
    ck_assert_int_gt(some, 0);
    ck_assert_int_eq(kill(child, SIGINT), 0);
    for (n = (size_t)some; (some = read(ends[0], out, sizeof out)) > 0; n = (size_t)some)
        ;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 130);
    ck_assert_int_eq(out[n - 1], '\n');
    close(ends[0]);
}
END_TEST

/* Nobody listens any more. */
START_TEST(ends_where_nobody_listens)
{
    const struct outcome *o =
        run("{ crescent generate $M --prompt-ids 7 --tokens 60 --ids; echo $? >$T/status; } | true");
    char status[MAX_TEXT];
    ck_assert_int_eq(o->status, 0);
    ck_assert_str_eq(o->err, "");
    read_file("status", status);
    ck_assert_str_eq(status, "0\n");
    o = run("crescent generate $M --prompt-ids 7 --tokens 60 --ids >/dev/full");
    ck_assert_int_eq(o->status, 2);
    ck_assert_msg(strstr(o->err, "standard output: cannot be written: No space left on device"), "%s", o->err);
}
END_TEST

START_TEST(says_how_long_it_took)
{
    const struct outcome *o = run("crescent generate $M --prompt 'the end' --tokens 20 --ids --stats");
    ck_assert_int_eq(o->status, 0);
    ck_assert_msg(strstr(o->err, "first token after ") && strstr(o->err, "for 3 tokens of the prompt") &&
                      strstr(o->err, "20 tokens in ") && strstr(o->err, " a second, reading "),
                  "%s", o->err);
    ck_assert_str_eq(run("crescent generate $M --prompt 'the end' --tokens 20 --ids")->err, "");
}
END_TEST

/* ---- other verbs ---- */

/* Each verb takes a folder in place of a script, from any working directory; an explicit file of
 * weights takes precedence over the folder's. */
START_TEST(takes_a_folder_in_every_verb)
{
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"run $M", "Parameters: 40,960 in 28 tensors (from the files of the model)"},
        {"run $M --weights $M", "(from the weights given)"},
        {"run $M --set T=3 --set B=2", "Output shape: [2, 3, 420]"},
        {"params $M", "transformer.wpe.weight"},
        {"compare $M --backends ref,tcc", "agreement"},
        {"dump $M --after fuse", "kernel("},
        {"emit $M -o $T/m.c", "gpt2"},
        {"bench $M --seconds 0.02 --threads 1", "Model: gpt2"},
        {"bench $M --compile-only --seconds 0.02", "Model: gpt2"},
    };
    char line[1000], program[4096];
    const char *crescent = getenv("CRESCENT");
    ck_assert_ptr_nonnull(realpath(crescent ? crescent : "build/crescent", program));
    for (int i = 0; i < COUNT(cases); i++) {
        snprintf(line, sizeof line, "crescent %s", cases[i].line);
        ck_assert_msg(strstr(out_of(line), cases[i].part), "%s: %s", line, out_of(line));
        snprintf(line, sizeof line, "cd $M && %.700s %s", program, cases[i].line);
        ck_assert_msg(strstr(out_of(line), cases[i].part), "%s: %s", line, out_of(line));
    }
}
END_TEST

/* ---- memory ---- */

/* Returns the peak memory, in megabytes, of a model with 12 million parameters. */
static double most_memory(const char *option, const char *value)
{
    const char *crescent = getenv("CRESCENT");
    const char *program = crescent ? crescent : "build/crescent";
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execl(program, program, "generate", "graphs/gpt2.lua", "--set", "n_embd=256", "--set",
              "n_head=4", "--set", "n_layer=2", "--set", "vocab_size=40000", "--context", "16",
              "--prompt-ids", "1", "--ids", "--tokens", "3", "--threads", "1", option, value, NULL);
        _exit(1);
    }
    ck_assert_int_eq(wait4(child, &status, 0, &usage), child);
    ck_assert_int_eq(status, 0);
    return (double)usage.ru_maxrss / 1024;
}

/* A model in q8 never holds its weights as floats (47 MB), and --stats takes no further memory. */
START_TEST(takes_the_memory_of_its_weights)
{
    double floats = most_memory("--format", "f32"), narrow = most_memory("--format", "q8");
    double measured = most_memory("--format=q8", "--stats");
    ck_assert_double_lt(narrow, floats - 30);
    ck_assert_double_lt(measured, narrow + 4);
}
END_TEST

/* ---- what is refused ---- */

#define ROPE "graphs/llama.lua --prompt-ids 3,1,4,1,5,9,2 --ids --tokens 1 --logits $T/l.npy "
#define DYNAMIC ROPE "--set rope_type=dynamic --set rope_factor=2 --set max_position_embeddings=8 "

static const struct {
    const char *arguments, *message;
} faults[] = {
    {"$M --prompt a --prompt-ids 3", "--prompt, --prompt-file, --prompt-ids: more than one"},
    {"$M --prompt-ids 3,x", "--prompt-ids 3,x: expected ids of tokens with commas between"},
    {"$M --prompt-ids 3,", "--prompt-ids 3,: expected ids"},
    {"$M --prompt-ids 3,99999999999", "expected ids of tokens"},
    {"$M --prompt-ids 3,420 --ids", "token 1 is 420, expected an id from 0 to 419"},
    {"$M --prompt-ids 3,-1 --ids", "token 1 is -1, expected an id from 0 to 419"},
    {"$M --prompt-ids 1,2,3,4 --context 3 --ids",
     "/model: a prompt of 4 tokens, expected at most the 3 of the context"},
    {"$M --prompt-ids 1 --context 65 --ids", ": found 65 tokens, expected at most 64"},
    {"$M --prompt-ids 1 --context 65 --ids", "crescent: --context 65: "},
    {"graphs/gpt2.lua --prompt-ids 1 --context 2000000 --ids", "--context 2000000: graphs/gpt2.lua"},
    {"graphs/gpt2.lua --prompt-ids 1 --context 2000000 --ids",
     ": found 2000000 tokens, expected at most 1024"},
    {"graphs/llama.lua --prompt-ids 1 --context 2147483647 --ids",
     "--context 2147483647: graphs/llama.lua"},
    {"$M --prompt-ids 1 --tokens -1", "--tokens -1: expected a whole number"},
    {"$M --prompt-ids 1 --top-p 1.5", "--top-p 1.5: expected a number from 0 to 1"},
    {"$M --prompt-ids 1 --temperature -1", "--temperature -1: expected a number"},
    {"$M --prompt-ids 1 --logits $T/no/l.npy", "no/l.npy: cannot be written"},
    {"$M --prompt-file $T/none", "none: cannot be opened"},
    {"$M --prompt-ids 1 --tokenizer $T/none.json", "none.json"},
    {"$M --prompt-ids 1 --steps 3", "generate has no option --steps"},
    {"$M --prompt-ids 1 --set rotor=3", "unknown option 'rotor'"},
    {"$M --prompt-ids 1 --set B=2 --ids", "2 texts, expected one"},
    {DYNAMIC "--context 9", "crescent: --context 9: with rope_type dynamic, the positions of all tokens"},
    {DYNAMIC "--set T=9", "crescent: context 9: with rope_type dynamic, the positions of all tokens"},
    {"$T --prompt-ids 1", ": a folder without config.json"},
    {"$T/none.lua --ids --prompt-ids 1", "none.lua: cannot be read"},
    {"graphs/gpt2_block.lua --ids --prompt-ids 1", "no input ids"},
    {"graphs/gpt2.lua --prompt a", "a script has no tokenizer, expected --tokenizer FILE"},
    {"graphs/gpt2.lua --ids --set n_layer=1 --set vocab_size=9 --set n_embd=24",
     "no prompt, and no bos_token_id"},
    {"graphs/bert.lua --ids --prompt-ids 1 --set num_hidden_layers=1", "graphs/"},
};

START_TEST(refuses_in_one_line)
{
    const struct outcome *o = run("crescent generate %s", faults[_i].arguments);
    ck_assert_msg(o->status == 2, "%s: status %d, %s", faults[_i].arguments, o->status, o->err);
    ck_assert_msg(strncmp(o->err, "crescent: ", 10) == 0 && strstr(o->err, faults[_i].message) &&
                      strchr(o->err, '\n') == o->err + strlen(o->err) - 1,
                  "%s: %s", faults[_i].arguments, o->err);
    ck_assert_str_eq(o->out, "");
}
END_TEST

#define LONGROPE ROPE "--set rope_type=longrope --set max_position_embeddings=32 --set hidden_size=64 "         \
                      "--set rope_original_max_position_embeddings=8 --set num_attention_heads=8 "             \
                      "--set rope_short_factor=1,1.1,1.2,1.3 --set rope_long_factor=1,1.5,2.25,4.5 "

#define SHARED_KEYS                                                                                \
    "crescent generate graphs/llama.lua --set hidden_size=16 --set num_attention_heads=4 "         \
    "--set num_key_value_heads=1 --set num_hidden_layers=1 --set intermediate_size=16 "            \
    "--set vocab_size=50 --prompt-ids 3 --ids --tokens 1 --seed 1 "

#define GROWING                                                                                    \
    "crescent generate graphs/llama.lua --set hidden_size=16 --set num_attention_heads=4 "         \
    "--set num_key_value_heads=1 --set num_hidden_layers=1 --set intermediate_size=16 "            \
    "--set vocab_size=600 --tokenizer graphs/fables --prompt-file $T/frogs.txt --tokens 9 --seed 1 "

/* A context of one token, however it is set, gives the same logits for the first token as a longer
 * context. */
START_TEST(a_context_of_one_token)
{
    out_of(SHARED_KEYS "--context 4 --logits $T/four.npy");
    out_of(SHARED_KEYS "--context 1 --logits $T/one.npy && cmp $T/one.npy $T/four.npy");
    out_of(SHARED_KEYS "--set T=1 --logits $T/set.npy && cmp $T/set.npy $T/four.npy");
    out_of(SHARED_KEYS "--set max_position_embeddings=1 --logits $T/most.npy && cmp $T/most.npy $T/four.npy");
    ck_assert_int_eq(run(SHARED_KEYS "--context 1 --prompt-ids 3,4")->status, 2);
}
END_TEST

/* A script that fixes no number of positions gets a context that holds the prompt. */
START_TEST(a_context_that_grows_with_the_prompt)
{
    out_of("yes one frog | head -200 >$T/frogs.txt");
    out_of(GROWING "--ids >$T/grown.txt");
    out_of(GROWING "--ids --context 2000 | cmp - $T/grown.txt");
    const struct outcome *o = run(GROWING "--ids --context 100");
    ck_assert_int_eq(o->status, 2);
    ck_assert_ptr_nonnull(strstr(o->err, "expected at most the 100 of the context"));
}
END_TEST

/* Without an option for the context, LongRoPE has the context of the short factors. */
START_TEST(takes_the_factors_of_short_texts)
{
    out_of("crescent generate " LONGROPE "&& mv $T/l.npy $T/default.npy");
    out_of("crescent generate " LONGROPE "--context 8 && cmp $T/l.npy $T/default.npy");
    out_of("crescent generate " LONGROPE "--context 9 && ! cmp -s $T/l.npy $T/default.npy");
}
END_TEST

/* Folders without a file of weights or without a tokenizer are refused. */
START_TEST(refuses_folders_that_lack_a_file)
{
    out_of("rm $M/tokenizer.json");
    ck_assert_int_eq(run("crescent generate $M --prompt a")->status, 2);
    out_of("crescent generate $M --prompt-ids 1 --tokens 2 --ids");
    out_of("rm $M/model.safetensors");
    const struct outcome *o =
        run("crescent generate $M --prompt-ids 1 --tokens 2 --ids --logits $T/l.npy");
    ck_assert_int_eq(o->status, 2);
    ck_assert_msg(strstr(o->err, "no weights in it"), "%s", o->err);
    ck_assert_int_ne(run("test -e $T/l.npy")->status, 0);
}
END_TEST

/* ---- a model that was trained ---- */

/* The trained model generates the tokens that PyTorch generates; skipped if the model is not
 * installed. */
START_TEST(tells_the_story)
{
    char path[512], error[400];
    const char *data = getenv("CRESCENT_DATA");
    struct cr_npy file;
    int32_t expected[512], found[512];
    snprintf(path, sizeof path, "%s/stories260K/golden/greedy_tokens.npy",
             data ? data : "../shared/data");
    if (access(path, R_OK) != 0) {
        printf("test_generate_verb: skipped: %s is not here\n", path);
        return;
    }
    ck_assert_int_eq(cr_npy_open(&file, path, error, sizeof error), 0);
    int n = (int)(file.rank == 2 ? file.shape[1] : file.shape[0]);
    ck_assert_int_le(n, 512);
    ck_assert_int_eq(cr_npy_read_i32(&file, expected, error, sizeof error), 0);
    cr_npy_close(&file);
    const struct outcome *o = run("crescent generate %s/stories260K-hf --tokens %d --ids",
                                  data ? data : "../shared/data", n - 1);
    ck_assert_msg(o->status == 0, "%s", o->err);
    ck_assert_int_eq(parse(o->out, found), n - 1);
    ck_assert_mem_eq(found, expected + 1, (size_t)(n - 1) * sizeof *found);
    o = run("crescent generate %s/stories260K-hf --tokens 200", data ? data : "../shared/data");
    ck_assert_int_eq(strncmp(o->out, "Once upon a time, there was a little girl named Lily.", 53), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generate");
    TCase *tests = tcase_create("generate");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, prints_the_likeliest_ids);
    tcase_add_test(tests, prints_the_text_of_the_ids);
    tcase_add_test(tests, takes_prompts);
    tcase_add_test(tests, writes_the_same_logits);
    tcase_add_test(tests, writes_the_logits_of_the_prompt);
    tcase_add_test(tests, draws_by_the_seed);
    tcase_add_test(tests, takes_the_factors_of_short_texts);
    tcase_add_test(tests, ends_at_a_token);
    tcase_add_test(tests, ends_with_the_context);
    tcase_add_test(tests, a_context_of_one_token);
    tcase_add_test(tests, a_context_that_grows_with_the_prompt);
    tcase_add_test(tests, makes_room_in_a_script);
    tcase_add_test(tests, ends_by_a_signal);
    tcase_add_test(tests, ends_where_nobody_listens);
    tcase_add_test(tests, says_how_long_it_took);
    tcase_add_test(tests, takes_a_folder_in_every_verb);
    tcase_add_test(tests, takes_the_memory_of_its_weights);
    tcase_add_loop_test(tests, refuses_in_one_line, 0, COUNT(faults));
    tcase_add_test(tests, refuses_folders_that_lack_a_file);
    tcase_add_test(tests, tells_the_story);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
