/*
 * test_emit_generate.c - models that generate as one C file: they give the ids and the text of
 * crescent generate, from safetensors files of every type, from packed weights and from embedded
 * weights, under every installed compiler; what such a file promises to its callers; and what its
 * main refuses, in one line.  $CRESCENT is the program.
 */
#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/safetensors.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

enum { MAX_TEXT = 1 << 14, MAX_TENSORS = 64 };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

/* ---- running ---- */

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

/* Runs a line of the shell in which crescent is the program, $T the test's folder, and $M the model's
 * folder. */
static const struct outcome *run(const char *format, ...)
{
    static struct outcome outcome;
    char line[1600], command[2400];
    const char *crescent = getenv("CRESCENT");
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    snprintf(
        command, sizeof command,
        "T=%s; M=$T/model; crescent() { '%s' \"$@\"; }; . tests/plain_c.sh; { %s; } >$T/out 2>$T/err "
        "</dev/null",
        folder, crescent ? crescent : "build/crescent", line);
    int status = system(command);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_file("out", outcome.out);
    read_file("err", outcome.err);
    return &outcome;
}

/* Runs a line that must succeed without a warning; returns its standard output. */
static const char *out_of(const char *format, ...)
{
    char line[1600];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const struct outcome *o = run("%s", line);
    ck_assert_msg(o->status == 0 && !*o->err, "%s: status %d, %s", line, o->status, o->err);
    return o->out;
}

/* Runs a line that must fail with status 2 and one line of error. */
static void must_refuse(const char *line, const char *expected)
{
    const struct outcome *o = run("%s", line);
    ck_assert_msg(o->status == 2 && strstr(o->err, expected),
                  "%s: status %d, found '%s', expected '%s'", line, o->status, o->err, expected);
    ck_assert_str_eq(strchr(o->err, '\n'), "\n");
    ck_assert_str_eq(o->out, "");
}

static bool have(const char *command)
{
    return run("command -v %.*s >/dev/null", (int)strcspn(command, " "), command)->status == 0;
}

/* ---- models ---- */

/* A folder: its config.json, its tokenizer, and the type of its weights. */
struct folder {
    const char *name; /* of the functions in C */
    const char *config, *tokenizer;
    const char *less; /* a prefix that names in the file lack, or "" */
    enum cr_st_type type;
    int shards;
    const char *paths; /* of the weights */
};

#define SIZES                                                                                      \
    " \"hidden_size\": 32, \"intermediate_size\": 48, \"num_hidden_layers\": 2,"                   \
    " \"num_attention_heads\": 4, \"max_position_embeddings\": 64, \"bos_token_id\": 5,"
#define GROUPS " \"num_key_value_heads\": 2,"
#define ONE "$M/model.safetensors"
#define TWO "$M/1.safetensors $M/2.safetensors"

static const struct folder folders[] = {
    {"gpt2",
     "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, \"n_head\": 4, \"vocab_size\": "
     "420,"
     " \"n_positions\": 64, \"bos_token_id\": 5}",
     "gpt2", "transformer.", CR_ST_F32, 1, ONE},
    {"llama", "{\"model_type\": \"llama\"," SIZES GROUPS " \"vocab_size\": 470}", "spm_prepend",
     "model.", CR_ST_BF16, 2, TWO},
    {"gpt_neox",
     "{\"model_type\": \"gpt_neox\"," SIZES " \"rotary_pct\": 0.5, \"vocab_size\": 420}", "gpt2",
     "", CR_ST_F16, 1, ONE},
    {"gemma2",
     "{\"model_type\": \"gemma2\"," SIZES GROUPS " \"head_dim\": 8, \"query_pre_attn_scalar\": 8,"
     " \"sliding_window\": 8, \"hidden_activation\": \"gelu_pytorch_tanh\", \"vocab_size\": 430}",
     "gemma", "", CR_ST_F32, 2, TWO},
    {"mistral",
     "{\"model_type\": \"mistral\"," SIZES GROUPS " \"sliding_window\": 7, \"vocab_size\": 442}",
     "spm_first", "", CR_ST_F32, 1, ONE},
    {"qwen3",
     "{\"model_type\": \"qwen3\"," SIZES GROUPS " \"head_dim\": 8, \"tie_word_embeddings\": true,"
     " \"vocab_size\": 435}",
     "llama3", "model.", CR_ST_BF16, 1, ONE},
};

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Converts numbers to an element type; numbers that all three types can represent. */
static void *convert(float *values, int64_t n, enum cr_st_type type)
{
    uint16_t *halves = calloc((size_t)n * 2, sizeof *halves);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        float rounded = (float)(int)(values[i] * 1024) / 1024; /* few bits behind the point */
        memcpy(&bits, &rounded, sizeof bits);
        bits &= 0xffff0000u;
        memcpy(&values[i], &bits, sizeof bits);
        int exponent = (int)(bits >> 23 & 0xff);
        uint32_t half = (bits >> 13 & 0x3ff) | (uint32_t)(exponent - 112) << 10;
        halves[i] = (uint16_t)(type == CR_ST_BF16 ? bits >> 16
                                                  : (bits >> 16 & 0x8000) | (bits << 1 ? half : 0));
    }
    if (type != CR_ST_F32)
        return halves;
    memcpy(halves, values, (size_t)n * sizeof *values);
    return halves;
}

static void write_tensors(const char *name, const struct cr_st_tensor *tensors, int n)
{
    char path[128], error[400] = "";
    struct cr_writer writer;
    snprintf(path, sizeof path, "%s/model/%s.safetensors", folder, name);
    ck_assert_msg(cr_writer_open(&writer, path, error, sizeof error) == 0 &&
                      cr_safetensors_put(&writer, tensors, n, NULL, 0, error, sizeof error) == 0 &&
                      cr_writer_commit(&writer, error, sizeof error) == 0,
                  "%s", error);
}

/* Random weights with a larger embedding than usual, so that generated text does not repeat one token. */
static int draw_tensors(const struct folder *f, struct cr_st_tensor *tensors)
{
    char path[128];
    crescent_model *model;
    crescent_port port;
    snprintf(path, sizeof path, "%s/model", folder);
    GOOD(crescent_open(context, path, NULL, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    int n = crescent_port_count(model, CRESCENT_PARAM);
    ck_assert_int_le(n, MAX_TENSORS);
    for (int i = 0; i < n; i++) {
        GOOD(crescent_port_at(model, CRESCENT_PARAM, i, &port));
        int64_t elements = crescent_port_elements(&port), *shape = calloc(CRESCENT_MAX_RANK, 8);
        float *values = calloc((size_t)elements, sizeof *values);
        GOOD(crescent_get_weight(model, i, values));
        for (int64_t k = 0; k < elements && port.rank == 2; k++)
            values[k] *= 6;
        size_t less = strlen(f->less);
        const char *name = port.name + (strncmp(port.name, f->less, less) == 0 ? less : 0);
        memcpy(shape, port.shape, sizeof port.shape);
        tensors[i] = (struct cr_st_tensor){.name = strdup(name),
                                           .type = f->type,
                                           .rank = port.rank,
                                           .shape = shape,
                                           .data = convert(values, elements, f->type)};
        free(values);
    }
    crescent_close(model);
    return n;
}

static void free_tensors(const struct cr_st_tensor *tensors, int n)
{
    for (int i = 0; i < n; i++) {
        free((void *)tensors[i].name);
        free((void *)tensors[i].shape);
        free((void *)tensors[i].data);
    }
}

/* Writes the files of a model's folder, some as shards with an index. */
static void make_model(const struct folder *f)
{
    struct cr_st_tensor tensors[MAX_TENSORS];
    out_of("mkdir $M && cp tests/tokenizers/%s.json $M/tokenizer.json", f->tokenizer);
    write_text("model/config.json", f->config);
    int n = draw_tensors(f, tensors), half = n / 2;
    if (f->shards == 1) {
        write_tensors("model", tensors, n);
    } else {
        char index[MAX_TEXT] = "{\"weight_map\": {";
        write_tensors("1", tensors, half);
        write_tensors("2", tensors + half, n - half);
        for (int i = 0; i < n; i++)
            snprintf(index + strlen(index), sizeof index - strlen(index),
                     "%s\"%s\": \"%d.safetensors\"", i ? ", " : "", tensors[i].name,
                     i < half ? 1 : 2);
        strcat(index, "}}");
        write_text("model/model.safetensors.index.json", index);
    }
    free_tensors(tensors, n);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/emit_generate.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
}

static void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- the same bits, the same text ---- */

#define WARN " -std=c11 -Wall -Wextra -Wpedantic -Werror"

/* The compiler of programs that test something else than compilers; see plain_c.sh. */
#define ANY "$(quickest)"

/* A way to compile the emitted C: the instruction set, and compiler options for the functions of
 * the runtime. */
struct build {
    const char *compiler, *isa, *of_runtime;
};

#define HERE "$(fastest crescent)"

static const struct build builds[] = {
    {"gcc -O1 -march=native" WARN, HERE, ""},
    {"clang -O1" WARN, "plain", ""},
    {"gcc -O3" WARN, "plain", ""},
    {"gcc -O0 -fsanitize=address,undefined -fno-sanitize-recover" WARN, "plain", "-fsanitize=address"},
    {"clang -O3 -march=native -ffp-contract=fast" WARN, HERE, ""},
    {"gcc -O1 -U__unix__" WARN, "plain", ""},
};

/* The files of a program.  Compiling the runtime's functions takes most of the time, and their text
 * is the same in all files; so they are compiled once, as an object (plain_c.sh). standalone.sh
 * compiles whole files with each compiler at each level. */
#define APART(name) "$T/apart/" name ".c $T/apart/" name "_runtime.o"

static void runtime_apart(const char *name, const char *isa, const char *options)
{
    out_of("mkdir -p $T/apart && apart %s $T/%s.c $T/apart &&"
           " runtime_object $T/apart/%s_runtime.c $T/apart/%s_runtime.o %s",
           isa, name, name, name, options);
}

/* Arguments for crescent generate and for the emitted program. */
static const char *const requests[] = {
    "--prompt 'the end of the text' --tokens 30 --ids",
    "--prompt 'the end of it, and  more' --tokens 40",
    "--prompt-ids 7,300,41,9,10,11,12,13,14,15,16,17,18,19,20 --tokens 20 --temperature 1.1 --seed "
    "7 --ids",
    "--prompt-ids 7,300,41 --tokens 20 --temperature 0.8 --top-k 30 --top-p 0.9 --seed "
    "123456789012",
    "--tokens 12 --temperature 2 --seed 3",
    "--tokens 0",
};

/* Runs crescent generate with each of the requests and stores its output. */
static void ask_crescent(char expected[][MAX_TEXT])
{
    for (int i = 0; i < COUNT(requests); i++)
        strcpy(expected[i], out_of("crescent generate $M %s", requests[i]));
    ck_assert_str_ne(expected[0], expected[2]);
    ck_assert_int_gt(strlen(expected[1]), 20);
}

static void ask_program(const char *program, const char *weights, char expected[][MAX_TEXT])
{
    for (int i = 0; i < COUNT(requests); i++) {
        const char *found = out_of("%s %s %s", program, weights, requests[i]);
        ck_assert_msg(strcmp(found, expected[i]) == 0, "%s %s %s: found '%s', expected '%s'",
                      program, weights, requests[i], found, expected[i]);
    }
}

/* Emitted programs of each family, compiled by TinyCC and one other compiler, give the same text
 * for all chunks and threads. */
START_TEST(generates_alike)
{
    static char expected[COUNT(requests)][MAX_TEXT];
    const struct folder *f = &folders[_i];
    const struct build *b = &builds[_i % COUNT(builds)];
    char upper[32] = "";
    for (int i = 0; f->name[i]; i++)
        upper[i] = (char)(f->name[i] >= 'a' ? f->name[i] - 32 : f->name[i]);
    make_model(f);
    ask_crescent(expected);
    out_of("crescent emit $M --generate -o $T/small.c >/dev/null");
    if (have("tcc")) {
        out_of("tcc -Wall -Werror -DSMALL_MAIN $T/small.c -lm -o $T/by_tcc");
        ask_program("$T/by_tcc", f->paths, expected);
    }
    if (have(b->compiler)) {
        runtime_apart("small", b->isa, b->of_runtime);
        out_of("%s -DSMALL_MAIN -D%s_CHUNK=%d -D%s_THREADS=2 -pthread " APART("small") " -lm -o $T/by_cc",
               b->compiler, upper, 1 + 2 * _i, upper);
        ask_program("$T/by_cc", f->paths, expected);
    }
}
END_TEST

/* ---- packed and embedded weights ---- */

START_TEST(takes_packed_weights)
{
    static char expected[COUNT(requests)][MAX_TEXT];
    make_model(&folders[0]);
    ask_crescent(expected);
    out_of("crescent emit $M --generate --isa plain -o $T/small.c --pack $T/packed >/dev/null && " ANY
           " -DSMALL_MAIN $T/small.c -lm -o $T/small");
    ask_program("$T/small", "$T/packed", expected);
    ask_program("$T/small", ONE, expected);
    out_of(ANY " -U__unix__ -DSMALL_MAIN $T/small.c -lm -o $T/small");
    ask_program("$T/small", "$T/packed", expected);
    must_refuse("head -c 4000 $T/packed >$T/cut; $T/small $T/cut --tokens 3",
                "cut: found packed weights that are truncated or of another program");
    must_refuse(
        "crescent emit $M --generate -o $T/other.c --pack $T/other --set n_layer=1 >/dev/null;"
        " $T/small $T/other --tokens 3",
        "other: found packed weights that are truncated or of another program");
}
END_TEST

/* A running program has read its packed file: the test empties the file when the first token is
 * printed, and generation goes on. */
START_TEST(reads_packed_weights)
{
    static char expected[COUNT(requests)][MAX_TEXT];
    char path[100];
    make_model(&folders[0]);
    ask_crescent(expected);
    snprintf(path, sizeof path, "%s/empty.c", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("#include <stdio.h>\n#include <unistd.h>\nint __real_fflush(FILE *);\n"
          "int __wrap_fflush(FILE *f) { return truncate(EMPTIED, 0) ? EOF : __real_fflush(f); }\n",
          file);
    fclose(file);
    out_of("crescent emit $M --generate -o $T/small.c --pack $T/packed >/dev/null");
    runtime_apart("small", "plain", "");
    out_of("cc -O0 -DSMALL_MAIN -DEMPTIED=\"\\\"$T/copy\\\"\" " APART("small")
           " $T/empty.c -Wl,--wrap=fflush -lm -o $T/small");
    int emptied = 0;
    for (int i = 0; i < COUNT(requests); i++) {
        const char *found = out_of("cp $T/packed $T/copy; $T/small $T/copy --read %s", requests[i]);
        ck_assert_msg(strcmp(found, expected[i]) == 0, "%s: found '%s', expected '%s'", requests[i],
                      found, expected[i]);
        emptied += run("test ! -s $T/copy")->status == 0;
    }
    ck_assert_int_gt(emptied, 0);
    must_refuse("$T/small $T/nothing --read --tokens 3", "nothing: cannot be opened");
}
END_TEST

START_TEST(embeds_weights)
{
    static char expected[COUNT(requests)][MAX_TEXT];
    make_model(&folders[1]);
    ask_crescent(expected);
    out_of("crescent emit $M --generate -o $T/small.c --embed >/dev/null");
    runtime_apart("small", "plain", "");
    for (int i = 0; i < 2; i++) {
        const char *compiler = i ? "clang" : "gcc";
        if (!have(compiler))
            continue;
        out_of("%s -O0" WARN " -DSMALL_MAIN " APART("small") " -lm -o $T/small", compiler);
        ask_program("$T/small", "", expected);
        must_refuse("$T/small $T/small.weights --tokens 3", "expected none");
    }
    out_of("crescent emit $M --generate -o $T/array.c --embed-array >/dev/null");
    if (have("tcc")) {
        out_of("tcc -Wall -Werror -DLLAMA_MAIN $T/array.c -lm -o $T/array");
        ask_program("$T/array", "", expected);
    }
    runtime_apart("array", "plain", "");
    out_of("cc -O0" WARN " -DLLAMA_MAIN " APART("array") " -lm -o $T/array");
    ask_program("$T/array", "", expected);
}
END_TEST

/* For a script without folder and tokenizer, the program draws weights, and reads and prints
 * ids. */
START_TEST(takes_a_script)
{
    static const char *const model = "graphs/gpt2.lua --set n_embd=32 --set n_layer=1 --set "
                                     "n_head=2 --set vocab_size=60 --seed 9";
    char expected[MAX_TEXT];
    strcpy(expected,
           out_of("crescent generate %s --context 40 --prompt-ids 3,4 --tokens 30 --ids", model));
    out_of(
        "crescent emit %s --context 40 --generate --ids --embed-array --isa plain -o $T/small.c >/dev/null && "
        ANY " -DGPT2_MAIN $T/small.c -lm -o $T/small",
        model);
    ck_assert_str_eq(out_of("$T/small --prompt-ids 3,4 --tokens 30"), expected);
    must_refuse("$T/small --tokens 3", "found no prompt, and no token that the model begins with");
    must_refuse("$T/small --prompt a --tokens 3", "--prompt: unknown option");
    out_of("crescent emit %s --context 40 --generate --ids --pack $T/packed -o $T/small.c >/dev/null",
           model);
    runtime_apart("small", "plain", "");
    for (int i = 0; i < 2; i++) {
        const char *compiler = i ? "clang" : "gcc";
        if (!have(compiler))
            continue;
        out_of("%s -O0" WARN " -DGPT2_MAIN " APART("small") " -lm -o $T/small", compiler);
        ck_assert_str_eq(out_of("$T/small $T/packed --prompt-ids 3,4 --tokens 30"), expected);
    }
}
END_TEST

/* ---- docs/call_chat.c ---- */

#define DRAWN " --tokens 12 --temperature 0.8 --top-k 40 --top-p 0.95 --seed 1"

/* Appends the ids of a line, separated by commas. */
static void add_ids(char *ids, const char *line)
{
    snprintf(ids + strlen(ids), MAX_TEXT - strlen(ids), "%s%s", *ids ? "," : "", line);
    for (char *at = ids; *at; at++)
        *at = *at == ' ' ? ',' : *at;
    ids[strcspn(ids, "\n")] = '\0';
}

/* The answer of a chat to a line is equal to the output of crescent generate for the whole conversation
 * so far. */
START_TEST(chats)
{
    static char said[MAX_TEXT], ids[MAX_TEXT], line[MAX_TEXT];
    static const char *const lines[] = {"the end of a", "more of it"};
    make_model(&folders[1]);
    out_of("crescent emit $M --generate -o $T/llama.c --pack $T/packed >/dev/null &&"
           " sed 's/ANSWER = 64/ANSWER = 12/' docs/call_chat.c >$T/chat.c");
    runtime_apart("llama", "plain", "");
    out_of("cc -O0" WARN " -I$T/apart $T/chat.c " APART("llama") " -lm -o $T/chat");
    for (int i = 0; i < 2; i++) {
        add_ids(ids, out_of("crescent tokenize $M --text '%s' %s", lines[i], i ? "--plain" : ""));
        strcat(said, out_of("crescent generate $M --prompt-ids %s" DRAWN, ids));
        strcpy(line, out_of("crescent generate $M --prompt-ids %s --ids" DRAWN, ids));
        add_ids(ids, line);
    }
    ck_assert_str_eq(out_of("printf '%s\\n%s\\n' | $T/chat $T/packed", lines[0], lines[1]), said);
    ck_assert_int_eq(run("yes more | $T/chat $T/packed >/dev/null")->status, 1);
    ck_assert_int_eq(run("$T/chat $T/chat.c")->status, 2);
    ck_assert_int_lt(atoi(out_of("wc -l <docs/call_chat.c")), 65);
}
END_TEST

/* ---- promises ---- */

/* The emitted file has no variable that changes, exports only names with the model's prefix, and
 * allocates memory only in main. */
START_TEST(has_no_hidden_memory)
{
    make_model(&folders[0]);
    out_of("crescent emit $M --generate -o $T/small.c >/dev/null && mkdir $T/plain &&"
           " plain $T/small.c $T/plain");
    write_text(
        "symbols.awk",
        "$(NF - 1) ~ /[bBdDCsSgG]/ { print $NF \" changes\" }\n"
        "$(NF - 1) ~ /[TRVW]/ && $NF !~ /^_?gpt2_/ { print $NF \" is no name of the model\" }\n"
        "$1 == \"U\" && $2 ~ /^_?(malloc|calloc|realloc|free|aligned_alloc|mmap|printf|fopen)$/ "
        "{ print $2 \" is called\" }\n");
    ck_assert_str_eq(
        out_of("cc -O0 -fno-pic -fno-pie -DGPT2_THREADS=2 -c $T/plain/small.c -o $T/small.o &&"
               " nm $T/small.o | awk -f $T/symbols.awk"),
        "");
    if (have("g++")) {
        write_text("call.cc", "#include \"small.h\"\n"
                              "int main() { return gpt2_is_end(3) || GPT2_SESSION_BYTES < 64 ||"
                              " gpt2_session_start(0, 0, 0) ? 1 : 0; }\n");
        out_of("g++ -Wall -Wextra -Wpedantic -Werror -I$T -no-pie -pthread $T/call.cc $T/small.o -lm"
               " -o $T/call && $T/call");
    }
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *arguments, *expected;
} refused[] = {
    {"", "no weights, expected safetensors files or a packed file"},
    {"$T/nothing --tokens 2", "nothing: cannot be opened"},
    {"$M --tokens 2", "a folder, expected a regular file"},
    {"$M/config.json --tokens 2", "config.json: "},
    {"$T/half.safetensors --tokens 2", "half.safetensors: tensor '"},
    {"$T/other.safetensors --tokens 2",
     "other.safetensors: tensor 'lm_head.weight' differs from 'wte.weight', expected the same"},
    {ONE " $T/long.safetensors --tokens 2",
     "long.safetensors: tensor 'lm_head.weight' differs from 'wte.weight', expected the same"},
    {"$T/shape.safetensors --tokens 2", "is of another shape, expected it with shape ["},
    {ONE " --tokens", "--tokens: unknown option, or no value after it, expected one of --help"},
    {ONE " --tokens -3", "--tokens: -3: expected a whole number"},
    {ONE " --tokens 3x", "--tokens: 3x: expected a whole number"},
    {ONE " --temperature nan", "--temperature: nan: expected a number"},
    {ONE " --top-p 1.5", "--top-p: 1.5: expected a number from 0 to 1"},
    {ONE " --frog 3", "--frog: unknown option"},
    {ONE " --prompt a --prompt-ids 3", "--prompt-ids: found --prompt, too, expected one of them"},
    {ONE " --prompt-ids 3,,4", "--prompt-ids: 3,,4: expected ids of tokens with commas between"},
    {ONE " --prompt-ids 3,420", "token 1 is 420, expected an id from 0 to 419"},
    {ONE " --prompt-ids -1", "token 0 is -1, expected an id from 0 to 419"},
    {ONE " --prompt \"$(printf '\\377')\"", "bytes that are no UTF-8"},
    {ONE " --prompt \"$(seq 200)\"", "tokens, expected at most the 64 of the context"},
};

static const struct {
    const char *arguments, *expected;
} not_emitted[] = {
    {"graphs/gpt2.lua --generate -o $T/x.c", "a script has no tokenizer, expected --tokenizer"},
    {"$M -o $T/x.c --pack $T/p", "--pack: expected --generate beside it"},
    {"$M -o $T/x.c --context 12", "--context: expected --generate beside it"},
    {"$M -o $T/x.c --generate --train", "--generate: expected no --train beside it"},
    {"$M -o $T/x.c --generate --embed --embed-array", "found --embed, too, expected one of them"},
    {"$M -o $T/x.c --generate --weights a", "--weights a: found neither --pack nor --embed"},
    {"$M -o $T/x.c --generate --pack $T/p --weights $T/half.safetensors", ": no tensor '"},
    {"$M -o $T/x.c --generate --pack $T/no/p", "no/p: "},
    {"$M -o $T/x.c --generate --tokenizer tests/tokenizers/words.json",
     "found no decoder, which emitted C"},
    {"graphs/bert.lua --generate --ids -o $T/x.c", "expected"},
};

/* Writes weights with a separate head three times: equal to the embedding table, with one number
 * changed, and with one row more. */
static void write_heads(struct cr_st_tensor *tensors, int n)
{
    int table = 0;
    while (table < n && strcmp(tensors[table].name, "wte.weight") != 0)
        table++;
    ck_assert_int_lt(table, n);
    int64_t rows = tensors[table].shape[0], cols = tensors[table].shape[1], shape[] = {rows, cols};
    float *values = calloc((size_t)((rows + 1) * cols), sizeof *values);
    memcpy(values, tensors[table].data, (size_t)(rows * cols) * sizeof *values);
    tensors[n] = tensors[table];
    tensors[n].name = "lm_head.weight";
    tensors[n].shape = shape;
    tensors[n].data = values;
    write_tensors("../equal", tensors, n + 1);
    values[(rows - 1) * cols + 3] += 1e-3f;
    write_tensors("../other", tensors, n + 1);
    shape[0] = rows + 1;
    write_tensors("../long", tensors + n, 1);
    free(values);
}

START_TEST(refuses_in_one_line)
{
    struct cr_st_tensor tensors[MAX_TENSORS];
    char line[400];
    make_model(&folders[0]);
    int n = draw_tensors(&folders[0], tensors);
    ck_assert_int_lt(n, MAX_TENSORS);
    write_heads(tensors, n);
    write_tensors("../half", tensors, n / 2);
    ((int64_t *)tensors[0].shape)[0] /= 2;
    write_tensors("../shape", tensors, n);
    free_tensors(tensors, n);
    out_of("crescent emit $M --generate --isa plain -o $T/small.c >/dev/null && " ANY
           " -DSMALL_MAIN $T/small.c -lm -o $T/small");
    for (int i = 0; i < COUNT(refused); i++) {
        snprintf(line, sizeof line, "$T/small %s", refused[i].arguments);
        must_refuse(line, refused[i].expected);
    }
    for (int i = 0; i < COUNT(not_emitted); i++) {
        snprintf(line, sizeof line, "crescent emit %s", not_emitted[i].arguments);
        must_refuse(line, not_emitted[i].expected);
        out_of("test ! -e $T/x.c && test ! -e $T/x.h && test ! -e $T/p");
    }
    out_of("$T/small $T/equal.safetensors --prompt-ids 3 --tokens 3");
    out_of("$T/small --help | grep -q 'texts of up to 64 tokens'");
    const struct outcome *o = run("$T/small " ONE " --prompt-ids 3 --tokens 90 --ids --ignore-eos");
    ck_assert_int_eq(o->status, 0);
    ck_assert_ptr_nonnull(
        strstr(o->err, "the context of 64 tokens is full, 64 of 90 tokens were made"));
}
END_TEST

/* ---- a model that was trained ---- */

START_TEST(tells_the_story)
{
    static char expected[COUNT(requests)][MAX_TEXT];
    if (access("../shared/data/stories260K-hf/model.safetensors", F_OK) != 0)
        return;
    out_of("ln -s $PWD/../shared/data/stories260K-hf $M");
    ask_crescent(expected);
    ck_assert_ptr_nonnull(
        strstr(out_of("crescent generate $M --tokens 40"), "a little girl named Lily"));
    out_of("crescent emit $M --generate -o $T/stories.c --pack $T/packed >/dev/null");
    runtime_apart("stories", HERE, "");
    out_of("cc -O0" WARN " -DSTORIES_MAIN " APART("stories") " -lm -o $T/stories");
    ask_program("$T/stories", ONE, expected);
    ask_program("$T/stories", "$T/packed", expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("emit_generate");
    TCase *t = tcase_create("emit_generate");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, set_up, tear_down);
    suite_add_tcase(suite, t);
    tcase_add_loop_test(t, generates_alike, 0, COUNT(folders));
    tcase_add_test(t, takes_packed_weights);
    tcase_add_test(t, reads_packed_weights);
    tcase_add_test(t, embeds_weights);
    tcase_add_test(t, takes_a_script);
    tcase_add_test(t, chats);
    tcase_add_test(t, has_no_hidden_memory);
    tcase_add_test(t, refuses_in_one_line);
    tcase_add_test(t, tells_the_story);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
