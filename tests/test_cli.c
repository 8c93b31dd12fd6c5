/*
 * test_cli.c - the command line: options and verbs, their output and their exit status.  $CRESCENT is the
 * program.
 */
#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OUTPUT = 1 << 16 };

/* A folder for files of the test; commands call it $T. */
static char folder[] = "/tmp/crescent-test-XXXXXX";

/* The outcome of a command. */
struct outcome {
    int status;
    char out[MAX_OUTPUT], err[MAX_OUTPUT];
};

static void read_text(const char *name, char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, MAX_OUTPUT - 1, file)] = '\0';
    fclose(file);
}

/* Runs "$CRESCENT arguments" in a shell, in the working directory of the tests. */
static struct outcome *run(const char *arguments)
{
    static struct outcome outcome;
    char command[2048];
    int length =
        snprintf(command, sizeof command, "{ \"$CRESCENT\" %s ; } >$T/out 2>$T/err", arguments);
    ck_assert_int_lt(length, (int)sizeof command);
    outcome = (struct outcome){.status = system(command)};
    read_text("out", outcome.out);
    read_text("err", outcome.err);
    ck_assert_msg(WIFEXITED(outcome.status), "%s: ended by a signal", arguments);
    outcome.status = WEXITSTATUS(outcome.status);
    return &outcome;
}

static void write_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fputs(text, file);
    fclose(file);
}

/* Writes the scripts of the tests.  It is not a fixture's function, as assertions may not stand
 * there. */
static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
    setenv("T", folder, 1);
    setenv("CRESCENT", "build/crescent", 0);
    char commas[64];
    write_text("lookup.lua", "local i = input('i', {4}, 'i32')\n"
                             "return {y = gather(param('table', {3, 2}), i)}\n");
    write_text("double.lua", "local o = options{N = 4}\n"
                             "local x = input('x', {o.N})\n"
                             "return {y = x + x}\n");
    write_text("nans.lua", "local x = input('x', {1})\n"
                           "local zero = x - x\n"
                           "local one = exp(zero)\n"
                           "return {y = concat({zero / zero, one / zero, -one / zero}, 1),\n"
                           "        z = concat({one, one, one}, 1)}\n");
    write_text("count.lua", "return {n = input('i', {4}, 'i32') + 1}\n");
    write_text("seeded.lua", "local o = options{seed = 0}\n"
                             "return {y = input('x', {2}) + o.seed}\n");
    write_text("product.lua", "local a, b = input('a', {2}), param('b', {2}, {fill = 3})\n"
                              "local i = input('i', {2}, 'i32')\n"
                              "local c = param('c', {2}, {fill = 1})\n"
                              "tap('half', a * 0.5)\n"
                              "return {y = a * b + float(i), z = b * 5, i = i + 1}\n");
    write_text("broken.lua", "local x = input('x', {4})\n"
                             "return {y = x + input('z', {3})}\n");
    write_text("short.npy", "\x93NUMPY");
    write_text("not.safetensors", "GGUF, say");
    write_text("model.pt", "PK\3\4\377");
    static const char *const pointers[] = {"lfs", "lfs.gguf", "lfs.onnx"};
    for (int i = 0; i < 3; i++)
        write_text(pointers[i], "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    write_text("story.txt", "Once upon a time\n");
    snprintf(commas, sizeof commas, "%s/commas", folder);
    if (mkdir(commas, 0700))
        abort();
    write_text("commas/config.json", "{\"model_type\": \"llama\", \"vocab_size\": 8,\n}\n");
    write_text("commas/tokenizer.json", "{\"model\": {\"vocab\": [1, 2, ]}}\n");
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        abort();
}

/* ---- errors of the user: status 2, one line, nothing on stdout ---- */

#define SIZES " --set T=3 --set n_embd=8 --set n_head=2 "
#define SMALL SIZES "--backend ref "
#define BLOCK "graphs/gpt2_block.lua" SMALL
#define TOKENIZER "tests/tokenizers/llama3.json "
#define COMPILED "graphs/gpt2_block.lua" SIZES
#define DECODER "graphs/decoder_block.lua --set T=7 --set n_embd=33 --set n_head=3 --backend ref "

static const struct {
    const char *arguments, *message; /* part of it */
} faults[] = {
    {"", "no verb given"},
    {"rum", "'rum' is not a verb, did you mean run?"},
    {"help rum", "did you mean run?"},
    {"run", "no model given"},
    {"run nope.lua", "nope.lua: cannot be read: No such file"},
    {"run graphs/gpt2_blok.lua", "did you mean graphs/gpt2_block.lua?"},
    {"run $T", "a folder without config.json"},
    {"run a.lua b.lua", "one model only"},

    /* arguments that are no model, or that look like an option */
    {"run graphs/fables/model.safetensors",
     "weights (safetensors), expected the folder of the model: graphs/fables\n"},
    {"generate graphs/fables/config.json", "the configuration of a model, expected the folder of"},
    {"params graphs/fables/tokenizer.json", "a tokenizer, expected the folder of the model: graphs/fab"},
    {"run tests/fixtures/stack/model.safetensors", "expected a script, with --weights for this file"},
    {"run tests/fixtures/tiny/x.npy", "an array of NumPy, expected a model, with --input NAME=FILE.npy"},
    {"run $T/short.npy", "short.npy: an array of NumPy"},
    {"run $T/model.pt", "torch.save, expected a model whose weights are safetensors"},
    {"run $T/lfs", "a pointer of Git LFS, expected the file that it stands for (git lfs pull)"},
    {"run " BLOCK "--weights $T/lfs", "lfs: found a git-lfs pointer, not the file it stands for"},
    {"tokenize $T/lfs --text a", "lfs: a pointer of Git LFS"},
    {"run $T/lfs.gguf", "lfs.gguf: a pointer of Git LFS"},
    {"run $T/lfs.onnx", "lfs.onnx: a pointer of Git LFS"},
    {"run $T/story.txt", "story.txt: a text, expected a model; generate MODEL --prompt-file FILE"},
    {"run README.md", "README.md: a text, expected a model"},
    {"run tests/acceptance.py", "a program in Python, expected a script in Lua, or an ONNX file"},
    {"run build/crescent", "a program or a library, expected a model"},
    {"tokenize graphs/fables/model.safetensors --text a",
     "weights (safetensors), expected tokenizer.json, a folder"},
    {"run meta-llama/Llama-3.2-1B",
     "hf download meta-llama/Llama-3.2-1B --local-dir Llama-3.2-1B) and give its folder: Llama-3.2-1B"},
    {"run https://huggingface.co/gpt2", "an address, expected a file or a folder"},
    {"run graphs/gpt2_block", "did you mean graphs/gpt2_block.lua?"},
    {"run $T/commas", "config.json:2: JSON: a comma before '}', expected none after the last member"},
    {"tokenize $T/commas --text a", "tokenizer.json:1: JSON: a comma before ']', expected none after the last item"},
    {"generate graphs/fables Once upon",
     "generate: 'Once' after the model graphs/fables, expected --prompt 'Once upon'"},
    {"generate graphs/fables $T/story.txt", "story.txt' after the model graphs/fables, expected --prompt-file"},
    {"run graphs/gpt2_block.lua x.npy", "expected --input NAME=x.npy"},
    {"run graphs/gpt2_block.lua w.safetensors", "expected --weights w.safetensors"},
    {"run graphs/gpt2_block.lua T=3", "expected --set T=3"},
    {"emit graphs/gpt2_block.lua out.c", "expected --out out.c"},
    {"generate graphs/gpt2_block.lua --tokens 2",
     "no input ids of whole numbers [texts, tokens], expected one of a model that generates"},
    {"generate graphs/gpt2.lua --ids --set n_layer=1", "expected --prompt TEXT or --prompt-ids 1,2,3"},
    {"generate graphs/fables --prompt-file /dev/zero",
     "/dev/zero: more than 1.0 MiB, expected a prompt that fits the model's context"},
    {"generate graphs/fables --prompt-file - </dev/zero", "standard input: more than 1.0 MiB"},
    {"generate graphs/gpt2.lua --tokenizer graphs/fables --prompt-file /dev/zero", "more than 1.0 MiB"},
    {"generate graphs/llama.lua --tokenizer graphs/fables --prompt-file /dev/zero", "more than 16.0 MiB"},
    {"generate graphs/fables --prompt-file $T/model.pt", "is not valid UTF-8"},
    {"generate graphs/fables --prompt \"$(printf 'a\\377')\"", "--prompt: byte 1 of the text is not valid UTF-8"},
    {"run $T/broken.lua --backend ref", "broken.lua:2: "},
    {"run " BLOCK "--seeed 3", "unknown option --seeed, did you mean --seed?"},
    {"run " BLOCK "-x", "unknown option -x"},
    {"run " BLOCK "--expect y=f.npy", "run has no option --expect"},
    {"run " BLOCK "--set", "--set needs a value: KEY=VALUE"},
    {"run " BLOCK "--set n_embd", "--set n_embd: expected KEY=VALUE"},
    {"run " BLOCK "--set n_hed=2", "unknown option 'n_hed', expected one of"},
    {"run " BLOCK "--set n_head=3", "n_embd 8 is not divisible by n_head 3"},
    {"run " BLOCK "--set n_embd=x", "gpt2_block.lua"},
    {"run " BLOCK "--set T=0", "gpt2_block.lua"},
    {"run " BLOCK "--threads 0", "--threads 0: expected a whole number from 1 to 256"},
    {"run " BLOCK "--threads 2x", "--threads 2x"},
    {"run " BLOCK "--seed -1", "--seed -1"},
    {"run graphs/heads_block.lua" SMALL "--set train=true --seed 2147483648", "heads_block.lua"},
    {"run $T/seeded.lua --seed 2147483648",
     "seeded.lua: --seed 2147483648: too large for the option seed of the script, expected at most 2147483647"},
    {"run " BLOCK "--backend gcc", "backend 'gcc', expected tcc, cc, ref or standalone"},
    {"run " BLOCK "--isa mmx", "'mmx': not known, expected amx, vnni, avx512, avx2, neon or plain, of which"},
#ifdef __aarch64__
    {"run " BLOCK "--isa avx2", "'avx2': not on this machine, expected one that it has: "},
#else
    {"run " BLOCK "--isa neon", "'neon': not on this machine, expected one that it has: "},
#endif
    {"run " BLOCK "--cotangent y=$T/g.npy", "--cotangent y: expected --grads beside it"},
    {"run " BLOCK "--grads $T/g.safetensors --cotangent z=$T/g.npy",
     "--cotangent z: no output or tapped value of that name"},
    {"run " BLOCK "--grads $T/g.safetensors --cotangent y=$T/none.npy", "none.npy: "},
    {"run " DECODER "--grads $T/g.safetensors --cotangent y=tests/fixtures/tiny/c.npy",
     "tests/fixtures/tiny/c.npy: the array has shape [5, 9, 33], expected [2, 7, 33]"},
    {"run " BLOCK "--grads $T/no/g.safetensors", "no/g.safetensors: cannot be written"},
    {"run " BLOCK "--input cotangent:y=$T/g.npy", "--input cotangent:y: no input of that name"},
    {"run $T/count.lua --grads $T/g.safetensors",
     "count.lua: --grads: no output is f32, expected one to differentiate"},
    {"run $T/count.lua --grads $T/g.safetensors --cotangent n=$T/g.npy",
     "count.lua: --cotangent n: the value is i32, expected f32"},
    {"compare " BLOCK "--expect-grads tests/fixtures/tiny/grads.safetensors",
     "no tensor 'ln_1.weight', expected its gradient"},
    {"compare graphs/tiny_block.lua" SMALL "--expect-grads tests/fixtures/tiny/grads.safetensors",
     "ln1.weight has another shape, expected [8]"},
    {"compare " COMPILED "--backends tcc,ref --grads $T/no/g.safetensors", "cannot be written"},
    {"emit graphs/gpt2_block.lua -o $T/x.c --grads $T/g.safetensors",
     "g.safetensors: emit computes no gradients, expected --grads none"},
    {"dump graphs/gpt2_block.lua --after fuse --grads $T/g.safetensors",
     "g.safetensors: dump computes no gradients, expected --grads none"},
    {"emit graphs/train_sort.lua -o $T/x.c --train --grads none",
     "--grads none: found --train, too, expected one of them"},
    {"run " BLOCK "--output gradient:x=$T/x.npy", "gradient:x: no output or tapped value"},
    {"run " BLOCK "--input z=$T/short.npy", "--input z: no input of that name, "},
    {"run " BLOCK "--input x=$T/none.npy", "none.npy: "},
    {"run " BLOCK "--input x=$T/short.npy", "short.npy: "},
    {"run " BLOCK "--output attn.prob=$T/p.npy", "did you mean attn.probs?"},
    {"run " BLOCK "--output y=$T/no/y.npy", "no/y.npy: cannot be written"},
    {"run " BLOCK "--output y=$T/a.npy --output attn.probs=$T/a.npy",
     "a.npy: named for two results"},

    {"run " BLOCK "--weights $T/none.safetensors", "none.safetensors: "},
    {"run " BLOCK "--weights $T/not.safetensors", "not.safetensors: "},
    {"run " BLOCK "--weights tests/fixtures/stack/model.safetensors", "is the prefix right?"},
    {"run " BLOCK "--set prefix=h.0 --weights tests/fixtures/stack/model.safetensors",
     "no tensor 'h.0ln_1.weight', expected one of shape [8] (it has 'h.0.ln_1.weight': does the "
     "prefix lack its dot?)"},
    {"run graphs/gpt2_block.lua --set B=300000 --set T=500 --backend ref", "TiB"},
    {"run graphs/gpt2_block.lua --set B=300000 --set T=500",
     "TiB, there are "},
    {"run graphs/gpt2_block.lua --set B=300000 --set T=500",
     " of memory, mostly for values in between: expected smaller sizes (--set), or --max-arena"},
    {"run graphs/gpt2_block.lua --set n_embd=480000 --set T=1",
     " TiB, there are "},
    {"run graphs/gpt2_block.lua --set n_embd=480000 --set T=1",
     "mostly for weights: expected fewer of them, or a --format of fewer bits"},
    {"run " COMPILED "--skip fuse", "skipped"},
    {"run " BLOCK "--set T=9000000000000", "gpt2_block.lua"},
    {"run docs/entries.lua",
     "returns 3 entries, expected --entry with one of both, decode, encode"},
    {"bench docs/entries.lua", "returns 3 entries, expected --entry"},
    {"dump docs/entries.lua --after fuse --grads none", "returns 3 entries, expected --entry"},
    {"emit docs/entries.lua --train -o /tmp/never.c", "returns 3 entries, expected --entry"},
    {"run docs/entries.lua --entry encod",
     "--entry encod: no entry of that name, expected one of both, decode, encode"},
    {"run docs/tour.lua --entry y", "--entry y: the script returns outputs, expected one that"},
    {"run docs/entries.lua --entry decode --input x=x.npy", "--input x: no input of that name"},
    {"run docs/entries.lua --entry decode --output z=z.npy", "--output z: no output or tapped"},
    {"compare docs/entries.lua --expect y=y.npy", "--expect y: no output or tapped"},
    {"compare docs/entries.lua --expect encoder=y.npy", "a tapped value, expected --entry, too"},
    {"run " BLOCK "--skip fus", "fus: no such pass, expected one of entries, simplify, "},
    {"emit " BLOCK, "emit has no option --backend"},
    {"run " BLOCK "--format q9",
     ".lua: --format: 'q9' is no format of weights, expected one of f32"},
    {"run " COMPILED "--format f32,table=f32", "--format table=f32: no parameter has such a name"},
    {"dump graphs/gpt2_block.lua --after plan --format bool", "'bool' is no format of weights"},
    {"train graphs/train_add.lua --format f32", "train has no option --format"},
    {"emit graphs/gpt2_block.lua", "expected -o FILE.c"},
    {"emit graphs/gpt2_block.lua -o $T/x.cc", "expected a name that ends in .c"},
    {"emit graphs/gpt2_block.lua -o $T/no/x.c", "no/x"},
    {"dump graphs/gpt2_block.lua --after fus", "no such pass, expected one of script, "},
    {"dump graphs/gpt2_block.lua --after plan --skip plan", "--after names the same pass"},
    {"compare " BLOCK, "expected two or more, or --expect"},
    {"compare graphs/gpt2_block.lua --backends ref,gcc", "backend 'gcc'"},
    {"compare " BLOCK "--atol -1", "--atol -1"},
    {"compare " BLOCK "--rtol nan", "--rtol nan"},
    {"compare " BLOCK "--expect z=$T/short.npy", "--expect z: no output"},
    {"compare " BLOCK "--expect y=$T/short.npy", "short.npy: "},
    {"bench " COMPILED "--vs foo", "--vs foo: expected standalone, FILE.lua, or NAME=VALUE"},
    {"bench " COMPILED "--vs atol=1", "--vs atol: expected standalone"},
    {"bench " COMPILED "--vs backend=gcc", "backend 'gcc'"},
    {"bench " COMPILED "--vs isa=mmx", "instruction set 'mmx'"},
    {"bench " COMPILED "--vs set=n_hed=1", "unknown option 'n_hed'"},
    {"bench " COMPILED "--vs threads", "--threads threads: expected a whole number"},
    {"bench " COMPILED "--vs $T/none.lua", "none.lua: cannot be read"},
    {"bench " COMPILED "--vs standalone --isa plain", "standalone C chooses one when it runs"},
    {"bench " BLOCK "--per-kernel", "backend ref has no kernels, expected tcc or cc"},
    {"bench " COMPILED "--turns --vs threads=2", "--turns: found --vs or --per-kernel"},
    {"run " COMPILED "--vs threads=2", "run has no option --vs"},
    {"ops graphs/gpt2_block.lua", "expected options only"},
    {"ops --set T=3", "ops has no option --set"},
    {"tokenize", "tokenize: no model given"},
    {"tokenize " TOKENIZER "a b", "'b' after the model"},
    {"tokenize $T/none --text a", "none: cannot be opened: No such file or directory"},
    {"tokenize tests --text a",
     "tests: found no tokenizer, expected tokenizer.json, vocab.json"},
    {"tokenize graphs/gpt2_block.lua --text a",
     "found a script, which has no tokenizer, expected --tokenizer"},
    {"tokenize graphs/gpt2_block.lua --tokenizer $T --text a", "found no tokenizer"},
    {"tokenize " TOKENIZER "$T/none", "none: cannot be opened: No such file or directory"},
    {"tokenize " TOKENIZER "$T/none --text a", "found a file beside --text, expected one of them"},
    {"tokenize " TOKENIZER "--text a --decode 1",
     "--decode: found a text, too, expected one of them"},
    {"tokenize " TOKENIZER "--decode 1,x", "--decode: found 'x', expected ids with commas between"},
    {"tokenize " TOKENIZER "--decode -1", "--decode: found '-1', expected ids with commas between"},
    {"tokenize " TOKENIZER "--decode 99999",
     "--decode: found the id 99999, which no token has, expected ids below 435"},
    {"tokenize " TOKENIZER "--text \"$(printf 'ab\\377')\"",
     "--text: byte 2 of the text is not valid UTF-8, expected UTF-8"},
    {"evaluate graphs/gpt2.lua --text a", "a script has no tokenizer, expected --tokenizer FILE"},
    {"evaluate tests/onnx/mlp.onnx --set n=2 --text a",
     "tests/onnx/mlp.onnx: an ONNX file has no tokenizer, expected --tokenizer FILE, or --prompt-"},
    {"evaluate tests/exports/gpt2_old.onnx --prompt-ids 1,2",
     "gpt2_old.onnx: no input ids of whole numbers [texts, tokens], expected one of a model that"},
    {"tokenize tests/onnx/mlp.onnx --text a", "found an ONNX file, which has no tokenizer"},
    {"evaluate graphs/fables --text ''", "found a text of 1 token, expected at least 2"},
    {"evaluate graphs/fables --text a --prompt-ids 1,2", "found a text, too"},
    {"evaluate graphs/fables --prompt-ids 1,x", "expected ids of tokens with commas between"},
    {"evaluate graphs/fables --prompt-ids 1,2,512", "token 2 is 512, expected an id from 0 to 511"},
    {"evaluate graphs/fables --text a --context 1", "--context 1: expected 2 at least"},
    {"evaluate graphs/fables --text a --format q9", "'q9' is no format of weights"},
    {"params graphs/gpt2_block.lua >/dev/full",
     "standard output: cannot be written: No space left on device"},
    {"generate graphs/fables --tokens 9 >/dev/full",
     "standard output: cannot be written: No space left on device"},
    {"ops >&-", "standard output: cannot be written: Bad file descriptor"},
};

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

START_TEST(errors_are_one_line)
{
    const struct outcome *o = run(faults[_i].arguments);
    ck_assert_msg(o->status == 2, "%s: status %d, %s", faults[_i].arguments, o->status, o->err);
    ck_assert_msg(strstr(o->err, faults[_i].message), "%s: %s", faults[_i].arguments, o->err);
    ck_assert_msg(strncmp(o->err, "crescent: ", 10) == 0 && count_lines(o->err) == 1,
                  "%s: more than one line, or not one of ours: %s", faults[_i].arguments, o->err);
    ck_assert_str_eq(o->out, "");
}
END_TEST

/* Command lines of each verb that prints, run with a closed pipe as stdout. */
static const char *const unread[] = {
    "help", "run --help", "--version", "help --man run", "help --completion bash", "ops", "targets",
    "params graphs/gpt2_block.lua", "params graphs/gpt2_block.lua --json", "run " BLOCK,
    "dump $T/double.lua --after script", "compare " COMPILED "--backends tcc,ref",
    "inspect graphs/fables", "tokenize graphs/fables --text a", "generate graphs/fables --tokens 60",
    "bench " COMPILED "--compile-only", "evaluate graphs/fables --text 'a frog'",
};

/* If the reader of stdout closes it early, the program ends without a message, with the same status as
 * otherwise. */
START_TEST(stdout_is_closed)
{
    char command[512];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    snprintf(command, sizeof command, "\"$CRESCENT\" %s >&%d 2>$T/err", unread[_i], ends[1]);
    int status = system(command);
    char err[MAX_OUTPUT];
    read_text("err", err);
    close(ends[1]);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d, %s", unread[_i], status, err);
    ck_assert_msg(*err == '\0', "%s: %s", unread[_i], err);
}
END_TEST

/* ---- help, and terminals ---- */

static const char *const helps[] = {
    "help", "run --help", "emit --help", "generate --help", "evaluate --help", "train --help",
    "compare --help", "dump --help", "explain --help", "params --help", "inspect --help", "bench --help",
    "targets --help", "tune --help", "tokenize --help", "import --help", "ops --help",
};

/* Lines are no wider than the terminal, except command lines and words without a space. */
START_TEST(help_fits_the_terminal)
{
    static const char *const widths[] = {"30", "45", "60", "80", "120"};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        setenv("COLUMNS", widths[w], 1);
        char *out = run(helps[_i])->out;
        for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
            ck_assert_msg((int)strlen(line) <= atoi(widths[w]) || strncmp(line, "  crescent ", 11) == 0 ||
                              strncmp(line, "  -", 3) == 0 || !strchr(line + strspn(line, " "), ' '),
                          "%s: %s columns: '%s'", helps[_i], widths[w], line);
    }
    unsetenv("COLUMNS");
}
END_TEST

/* Each example in a help text is a command line whose options the verb has. */
START_TEST(help_has_examples)
{
    char text[MAX_OUTPUT], command[256];
    int n = 0;
    strcpy(text, run(helps[_i])->out);
    char *line = strstr(text, "for instance:\n");
    ck_assert_msg(line != NULL, "%s", helps[_i]);
    for (line = strchr(line, '\n') + 1; strncmp(line, "  crescent ", 11) == 0; line = strchr(line, '\n') + 1) {
        int length = (int)strcspn(line, "\n");
        ck_assert_msg(length <= 80, "%.*s", length, line);
        snprintf(command, sizeof command, "%.*s --help", length - 11, line + 11);
        const struct outcome *o = run(command);
        ck_assert_msg(o->status == 0 && strncmp(o->out, "usage: crescent ", 16) == 0, "%s: %s", command, o->err);
        n++;
    }
    ck_assert_int_ge(n, 1);
    ck_assert_msg(*line == '\n', "%s: '%s'", helps[_i], line);
}
END_TEST

/* A training on a terminal of 60 columns: lines of progress, which overwrite each other, do not wrap. */
START_TEST(progress_fits_the_terminal)
{
    static const struct winsize size = {.ws_row = 24, .ws_col = 60};
    char out[MAX_OUTPUT], name[64];
    size_t n = 0;
    ssize_t some;
    int lines = 0, status, ends = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(ends >= 0 && grantpt(ends) == 0 && unlockpt(ends) == 0);
    snprintf(name, sizeof name, "%s", ptsname(ends));
    int terminal = open(name, O_RDWR | O_NOCTTY);
    ck_assert(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &size) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(terminal, STDOUT_FILENO);
        unsetenv("COLUMNS");
        execlp(getenv("CRESCENT"), "crescent", "train", "graphs/train_sort.lua", "--steps", "40",
               "--validate-every", "10", (char *)NULL);
        _exit(99);
    }
    close(terminal);
    while (n < sizeof out - 1 && (some = read(ends, out + n, sizeof out - 1 - n)) > 0)
        n += (size_t)some;
    out[n] = '\0';
    close(ends);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", out);
    for (const char *at = out; (at = strstr(at, "\rstep ")); at++) {
        size_t length = strcspn(at + 1, "\r\n\033");
        ck_assert_msg(length < 60, "%.*s", (int)length, at + 1);
        ck_assert_msg(strncmp(at + 1 + length - 5, " left", 5) == 0, "%.*s", (int)length, at + 1);
        ck_assert_ptr_nonnull(strstr(at, ": loss "));
        lines++;
    }
    ck_assert_msg(lines > 0, "%s", out);
}
END_TEST

/* $CC may be anything. */
START_TEST(missing_compilers)
{
    static const struct {
        const char *cc, *message;
    } trials[] = {
        {"true", "crescent: true: made no shared object, expected a C compiler: set CC\n"},
        {"false", "crescent: false: the C compiler failed with status 1\n"},
        {"no-such-compiler", "crescent: no-such-compiler: no C compiler could be started"},
    };
    char *before = getenv("CC") ? strdup(getenv("CC")) : NULL;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        setenv("CC", trials[i].cc, 1);
        const struct outcome *o = run("run " COMPILED "--backend cc");
        ck_assert_int_eq(o->status, 2);
        ck_assert_msg(strstr(o->err, trials[i].message) == o->err, "%s", o->err);
        ck_assert_int_eq(count_lines(o->err), 1);
    }
    unsetenv("CC");
    if (before)
        setenv("CC", before, 1);
    free(before);
}
END_TEST

/* ---- what works ---- */

static const struct {
    const char *arguments;
    int status;
    const char *output; /* part of it */
} cases[] = {
    {"--help", 0, "usage: crescent VERB"},
    {"--version", 0, "crescent "},
    {"help compare", 0, "--max-ulp N"},
    {"run --help", 0, "--weights FILE|FOLDER"},
    {"run " BLOCK, 0, "Input shape: [1, 3, 8]\nOutput shape: [1, 3, 8]\nshapes match\n"},
    {"run " BLOCK, 0, "Parameters: 872 in 12 tensors"},
    {"run " SMALL "graphs/gpt2_block.lua", 0, "shapes match"},
    {"run $T/lookup.lua --backend ref", 0, "Output shape: [4, 2]\n"},
    {"params graphs/gpt2_block.lua", 0, "7,087,872"},
    {"params graphs/gpt2_block.lua --json", 0, "\"total\": 7087872"},
    {"dump graphs/gpt2_block.lua", 0, "script             the graph as the script built it"},
    {"dump $T/double.lua --after script", 0, "add("},
    {"run " BLOCK "--output y=$T/y.npy --output attn.probs=$T/p.npy", 0, "[1, 2, 3, 3] (attn"},
    {"compare " BLOCK "--expect y=$T/y.npy --expect attn.probs=$T/p.npy", 0, "agreement"},
    {"compare " BLOCK "--atol 0 --expect y=$T/y.npy", 1, "MISMATCH"},
    {"compare " BLOCK "--max-ulp 0 --expect y=$T/y.npy", 0, "agreement"},
    {"compare " BLOCK "--seed 1 --expect y=$T/y.npy", 1, "FAIL"},
    {"compare " BLOCK "--seed 1 --atol 100 --expect y=$T/y.npy --json", 0, "\"ok\": true"},
    {"compare " BLOCK "--seed 1 --expect y=$T/y.npy --json", 1, "\"ok\": false"},
    {"run $T/seeded.lua --seed 2147483647", 0, "seed=2147483647"},
    {"run $T/seeded.lua --seed 2147483648 --set seed=1", 0, "seed=1\n"},
    {"run $T/double.lua --seed 9223372036854775807", 0, "shapes match"},
    {"run " COMPILED, 0, " kernels, "},
    {"run " COMPILED "--backend cc --threads 2 --output y=$T/cc.npy", 0, "by cc for"},
    {"compare " COMPILED "--isa plain --max-ulp 0 --expect y=$T/cc.npy", 0, "agreement"},
    {"compare " COMPILED, 0, "the same bits  ok\nagreement"},
    {"compare " COMPILED "--backends cc,tcc --json", 0, "\"same_bits\": true"},
    {"compare " COMPILED "--format f32,*.weight=f32 --backends ref,tcc", 0, "agreement"},
    {"bench " COMPILED "--seconds 0.01 --vs format=f32", 0, "format=f32"},
    {"compare $T/double.lua --backends tcc,ref --atol 0", 0, "agreement"},
    {"run $T/nans.lua --output y=$T/nans.npy --output z=$T/numbers.npy", 0, "(z)"},
    {"compare $T/nans.lua", 0, "the same bits  ok\nagreement"},
    {"compare $T/nans.lua --max-ulp 0 --expect y=$T/nans.npy", 0, "[0] nan, expected nan\n"},
    {"compare $T/nans.lua --atol 1e30 --expect y=$T/numbers.npy", 1,
     "       nan        nan          -  FAIL    [0] nan, expected 1 (3 elements fail, "
     "1 of them NaN against a number)"},
    {"compare $T/nans.lua --expect y=$T/numbers.npy --json", 1, "\"nan_against_number\": 1"},
    {"run " COMPILED "--kernels", 0, "\n  k1_attn_c_attn  "},
    {"tokenize " TOKENIZER "--text \"The graph's\"", 0, "\n"},
    {"tokenize " TOKENIZER "--text \"The graph's\" >$T/ids && \"$CRESCENT\" tokenize " TOKENIZER
     "--decode - <$T/ids",
     0, "The graph's"},
    {"tokenize " TOKENIZER "--plain --text '' && printf 'a\\0b' | \"$CRESCENT\" tokenize " TOKENIZER
     "-",
     0, "\n"},
    {"tokenize " TOKENIZER "--text '' >$T/ids && \"$CRESCENT\" tokenize " TOKENIZER
     "--special --decode - <$T/ids",
     0, "<s>"},
    {"tokenize graphs/gpt2_block.lua --tokenizer " TOKENIZER "graphs/gpt2_block.lua", 0, "\n"},
    {"ops", 0, "\n  matmul(a, b) "},
    {"ops --markdown", 0, "| `matmul(a, b)` | "},
    {"bench " COMPILED "--seconds 0", 0, "% of the peak of"},
    {"bench " COMPILED "--seconds 0 --format q8 --arithmetic int8", 0, "GOP/s of products in int8"},
    {"bench " COMPILED "--seconds 0 --format bf16 --arithmetic bf16 --json", 0, "\"peak_products_gops\""},
    {"bench " COMPILED "--seconds 0 --json --threads 1", 0, "\"fraction_of_peak\": 0."},
    {"bench " BLOCK "--seconds 0 --json --threads 1", 0, "\"backend\": \"ref\""},
    {"bench " COMPILED "--seconds 0 --per-kernel", 0, "\n  k5_ffn_residual "},
    {"bench $T/double.lua --seconds 0 --json", 0, "\"bound\": \"memory\""},
    {"bench graphs/gpt2_stack.lua" SIZES "--set n_layer=3 --seconds 0 --per-kernel --json", 0,
     "\"kernel_calls\": 15"},
    {"bench " COMPILED "--seconds 0 --vs backend=cc --vs isa=plain --vs threads=1", 0,
     "\nAgainst isa=plain: "},
    {"bench " COMPILED "--seconds 0 --json --vs set=T=4 --vs skip=join", 0,
     "\"setting\": \"skip=join\""},
    {"bench " COMPILED "--seconds 0 --threads 2 --vs standalone", 0, "\nAgainst standalone: "},
    {"bench graphs/heads_block.lua" SIZES "--set block_size=3 --seconds 0 --json "
     "--vs graphs/decoder_block.lua",
     0, "\"setting\": \"graphs/decoder_block.lua\""},
    {"bench " COMPILED "--seconds 0 --threads 1 --markdown --vs threads=2", 0,
     "| time / threads=2 |\n|---|---|--:|--:|--:|--:|--:|--:|---|--:|--:|\n| gpt2_block | T=3 "},
    {"bench " COMPILED "--compile-only", 0, "no plan has less than"},
    {"bench " COMPILED "--compile-only --json", 0, "\"arena_bytes_least\": "},
    {"bench " COMPILED "--compile-only --markdown", 0, "| arena / least |\n|---|"},
    {"bench " COMPILED "--turns --seconds 0 </dev/null", 0, ""},
    {"run " COMPILED "--backend standalone --output y=$T/s.npy", 0, "by standalone for"},
    {"compare " COMPILED "--max-ulp 0 --expect y=$T/s.npy", 0, "agreement"},
    {"dump " COMPILED "--after plan", 0, "arena"},
    {"run " COMPILED "--grads $T/g.safetensors", 0, "g.safetensors: gradients of 13 tensors"},
    {"run " COMPILED "--grads $T/g.safetensors", 0,
     "Input shape: [1, 3, 8]\nOutput shape: [1, 3, 8]\nshapes match\n"},
    {"compare " COMPILED "--expect-grads $T/g.safetensors", 0, "\ngradient:ln_1.weight "},
    {"compare " COMPILED "--seed 1 --expect-grads $T/g.safetensors", 1, "MISMATCH"},
    {"compare " COMPILED "--backends ref,tcc,cc --grads $T/h.safetensors", 0, "agreement"},
    {"compare " COMPILED "--expect-grads $T/h.safetensors", 0, "agreement"},
    {"run " COMPILED "--grads none --output gradient:x=$T/gx.npy", 0, "gx.npy: gradient:x\n"},
    {"compare " COMPILED "--grads none --expect gradient:x=$T/gx.npy --max-ulp 0 --backends cc", 0,
     "agreement"},
    {"dump graphs/gpt2_block.lua" SIZES "--grads none --after simplify", 0,
     "tap(\"gradient:mlp.c_fc\", v["},
    {"bench " COMPILED "--seconds 0 --grads $T/never.safetensors", 0, "% of the peak of"},
    {"emit " COMPILED "-o $T/e.c", 0, "e.c and "},
};

/* `bench --turns` prints a line of JSON for each line of input, and nothing else. */
START_TEST(bench_prints_json)
{
    const struct outcome *o =
        run("bench " COMPILED "--turns --seconds 0 --threads 1 <tests/fixtures/demo/case.txt");
    const char *line = o->out;
    ck_assert_int_eq(o->status, 0);
    ck_assert_str_eq(o->err, "");
    ck_assert_int_eq(count_lines(o->out), 6);
    for (int i = 0; i < 6; i++, line = strchr(line, '\n') + 1)
        ck_assert_int_eq(strncmp(line, "{\"runs\": 1, \"median_ns\": ", 25), 0);
}
END_TEST

/* Runs the command lines of the table in one test, since later rows read files that earlier rows
 * wrote. */
START_TEST(command_lines_that_succeed)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct outcome *o = run(cases[i].arguments);
        ck_assert_msg(o->status == cases[i].status, "%s: status %d, %s", cases[i].arguments,
                      o->status, o->err);
        ck_assert_msg(strstr(o->out, cases[i].output), "%s: %s", cases[i].arguments, o->out);
        ck_assert_str_eq(o->err, "");
    }
}
END_TEST

/* ---- files ---- */

/* Writes two floats as a .npy file. */
static void write_npy(const char *name, const float *values)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "\x93NUMPY\x01%cv%c%-117s\n", 0, 0,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    fwrite(values, sizeof *values, 2, file);
    fclose(file);
}

/* Reads the last n floats of a file. */
static void read_floats(const char *name, float *got, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, -(long)(n * sizeof *got), SEEK_END), 0);
    ck_assert_uint_eq(fread(got, sizeof *got, n, file), n);
    fclose(file);
}

static void expect_floats(const char *name, const float *want, size_t n)
{
    float got[8];
    read_floats(name, got, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == want[i], "%s: number %zu is %g, not %g", name, i, (double)got[i],
                      (double)want[i]);
}

static char *listing(void)
{
    static char text[MAX_OUTPUT];
    ck_assert_int_eq(system("ls -A $T >$T/out"), 0);
    read_text("out", text);
    return text;
}

/* If one output file cannot be written, no other output file appears, nor a temporary one. */
START_TEST(all_outputs_or_none)
{
    char before[MAX_OUTPUT];
    run("--version");
    snprintf(before, sizeof before, "%s", listing());
    ck_assert_int_eq(run("run " BLOCK "--output y=$T/a.npy --output y=$T/no/b.npy")->status, 2);
    ck_assert_str_eq(listing(), before);
    ck_assert_int_eq(run("run " BLOCK "--output y=$T/a.npy --grads $T/no/g.safetensors")->status,
                     2);
    ck_assert_str_eq(listing(), before);
    ck_assert_int_eq(run("run " BLOCK "--grads $T/g.safetensors --output y=$T/no/a.npy")->status,
                     2);
    ck_assert_str_eq(listing(), before);
    ck_assert_int_eq(run("emit graphs/gpt2_block.lua -o $T/no/b.c")->status, 2);
    ck_assert_str_eq(listing(), before);
}
END_TEST

/* emit runs a script a second time, with other sizes, to find names for sizes of the C text; what
 * the script prints is printed once. */
START_TEST(a_script_prints_once)
{
    write_text("prints.lua", "local o = options{N = 4}\n"
                             "print('N is', o.N)\n"
                             "return {y = input('x', {o.N}) * 2}\n");
    const struct outcome *o = run("emit $T/prints.lua -o $T/prints.c");
    ck_assert_int_eq(o->status, 0);
    ck_assert_str_eq(o->err, "N is\t4\n");
    ck_assert_int_eq(system("grep -q 'enum { N = 4 };' $T/prints.c"), 0);
}
END_TEST

/* Messages of --weights: surplus tensors are counted once, and are an error under --strict. */
START_TEST(surplus_tensors)
{
#define WEIGHTS "--weights tests/fixtures/decoder/model.safetensors "
    char command[512] = "run graphs/decoder_block.lua --backend ref " WEIGHTS;
    FILE *file = fopen("tests/fixtures/decoder/case.txt", "r");
    char key[32], value[64];
    ck_assert_ptr_nonnull(file);
    while (fscanf(file, "%31s %63s", key, value) == 2)
        if (strcmp(key, "set") == 0)
            sprintf(command + strlen(command), " --set %s", value);
    fclose(file);
    const struct outcome *o = run(command);
    ck_assert_int_eq(o->status, 0);
    ck_assert_ptr_nonnull(strstr(o->err, "ignored 1 tensor not in the model, first 'attn.mask'"));
    ck_assert_int_eq(count_lines(o->err), 1);
    strcat(command, " --strict");
    o = run(command);
    ck_assert_int_eq(o->status, 2);
    ck_assert_ptr_nonnull(strstr(o->err, "'attn.mask'"));
    ck_assert_int_eq(count_lines(o->err), 1);
}
END_TEST

/* --grads differentiates the sum of all outputs except i32 ones; parameters that no output depends on get
 * zeros.  The files have b, c and a in this order. */
START_TEST(gradients)
{
    const float ones[] = {4, 4, 0, 0, 3, 3}, given[] = {-7, -6, 0, 0, 0.5f, 7};
    static const char *const backends[] = {"tcc", "cc", "ref", "standalone"};
    write_npy("a.npy", (const float[]){-1, -1});
    write_npy("y.npy", (const float[]){2, 1});
    write_npy("half.npy", (const float[]){-11, 8});
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "run $T/product.lua --input a=$T/a.npy --grads $T/p.safetensors --backend %s",
                 backends[i]);
        ck_assert_int_eq(run(command)->status, 0);
        expect_floats("p.safetensors", ones, 6);
        strcat(command, " --cotangent half=$T/y.npy --cotangent y=$T/y.npy "
                        "--cotangent half=$T/half.npy --cotangent z=$T/a.npy");
        ck_assert_int_eq(run(command)->status, 0);
        expect_floats("p.safetensors", given, 6);
    }
}
END_TEST

/* At points without a derivative, gradients are PyTorch's: ReLU at 0.  A learning rate is never
 * negative. */
START_TEST(gradients_at_kinks)
{
    const float slopes[] = {0, 1}, rates[] = {0, 0};
    write_npy("zero.npy", (const float[]){0, 3});
    write_text("relu.lua", "return {y = (require 'nn').relu(input('x', {2}))}\n");
    write_text("rate.lua", "local optim = require 'optim'\n"
                           "return {lr = optim.cosine_schedule(iota({2}, 1) + 10,\n"
                           "    {lr = 0.003, steps = 10})}\n");
    for (int i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "run $T/relu.lua --input x=$T/zero.npy --grads $T/r.safetensors --backend %s",
                 i ? "ref" : "tcc");
        ck_assert_int_eq(run(command)->status, 0);
        expect_floats("r.safetensors", slopes, 2);
        snprintf(command, sizeof command, "run $T/rate.lua --output lr=$T/lr.npy --backend %s",
                 i ? "ref" : "tcc");
        ck_assert_int_eq(run(command)->status, 0);
        expect_floats("lr.npy", rates, 2);
    }
}
END_TEST

/* Every backend, instruction set and number of threads gives the same bits of gradients. */
START_TEST(same_gradients)
{
#define TRIAL                                                                                      \
    "run graphs/gpt2_stack.lua --set B=2 --set T=37 --set n_embd=48 --set n_head=3 "               \
    "--set n_layer=2 --grads "
    static const char *const ways[] = {"--threads 1", "--threads 2", "--threads 5",
                                       "--isa plain", "--isa avx2",  "--backend cc --threads 3"};
    ck_assert_int_eq(run(TRIAL "$T/first.safetensors")->status, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char command[512];
        snprintf(command, sizeof command, TRIAL "$T/next.safetensors %s", ways[i]);
        const struct outcome *o = run(command);
        if (o->status == 2 && strstr(o->err, "not on this machine"))
            continue;
        ck_assert_int_eq(o->status, 0);
        ck_assert_msg(system("cmp -s $T/first.safetensors $T/next.safetensors") == 0, "%s",
                      ways[i]);
    }
}
END_TEST

/* Ten steps of training from one seed give the same bits on every backend and number of threads. */
START_TEST(same_training)
{
#define TRAINING                                                                                   \
    "run tests/scripts/train_steps.lua --set optimiser=adamw --set steps=10 --set lr=0.05 "        \
    "--set clip=0.5 --seed 3 --output losses=$T/%s.loss --output params=$T/%s.npy %s"
    static const char *const ways[] = {"--threads 1", "--threads 2", "--threads 3",
                                       "--backend cc --threads 2", "--isa plain"};
    char command[512];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *name = i ? "other" : "one";
        snprintf(command, sizeof command, TRAINING, name, name, ways[i]);
        ck_assert_int_eq(run(command)->status, 0);
        snprintf(command, sizeof command, "cmp $T/one.npy $T/%s.npy && cmp $T/one.loss $T/%s.loss",
                 name, name);
        ck_assert_msg(system(command) == 0, "%s", ways[i]);
    }
}
END_TEST

/* The seed alone determines which elements dropout drops, in the forward and the backward pass. */
START_TEST(same_dropout)
{
#define DROPPING                                                                                   \
    "run graphs/heads_block.lua --set T=13 --set n_embd=24 --set n_head=3 --set train=true "       \
    "--output y=$T/%s.npy --grads $T/%s.safetensors %s"
    static const struct {
        const char *way;
        bool same;
    } ways[] = {
        {"--threads 1 --seed 5", true},          {"--threads 3 --seed 5", true},
        {"--backend cc --seed 5", true},         {"--isa plain --set seed=5 --seed 5", true},
        {"--backend standalone --seed 5", true}, {"--seed 5 --set seed=6", false},
        {"--seed 5 --set dropout=0.2", false},   {"--seed 5 --set train=false", false},
    };
    char command[512];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *name = i ? "next" : "first";
        snprintf(command, sizeof command, DROPPING, name, name, ways[i].way);
        ck_assert_int_eq(run(command)->status, 0);
        for (int f = 0; i && f < 2; f++) {
            const char *end = f ? "safetensors" : "npy";
            snprintf(command, sizeof command, "cmp -s $T/first.%s $T/next.%s", end, end);
            ck_assert_msg((system(command) == 0) == ways[i].same, "%s, %s", ways[i].way, end);
        }
    }
}
END_TEST

/* Dropout sets a share p of elements to zero and scales the others by 1 / (1 - p); the sums prove it. */
START_TEST(dropout_keeps_the_mean)
{
    float sums[3];
    write_text("drop.lua", "local nn = require 'nn'\n"
                           "local y = nn.dropout(const(1, {40000}), 0.3, 7)\n"
                           "local parts = {sum(y, 1), sum(float(eq(y, 0)), 1), max(y, 1)}\n"
                           "return {y = concat(parts, 1)}\n");
    ck_assert_int_eq(run("run $T/drop.lua --output y=$T/drop.npy")->status, 0);
    read_floats("drop.npy", sums, 3);
    ck_assert_float_eq_tol(sums[0], 40000, 5 * 131); /* deviations of at most 5 sqrt(n p / (1 - p)) */
    ck_assert_float_eq_tol(sums[1], 12000, 5 * 92);
    ck_assert_float_eq_tol(sums[2], 1 / 0.7f, 1e-6);
}
END_TEST

/* Random weights depend on the seed and the name of the tensor alone. */
START_TEST(seeds)
{
    ck_assert_int_eq(run("run " BLOCK "--output y=$T/1.npy --threads 1")->status, 0);
    ck_assert_int_eq(run("run " BLOCK "--output y=$T/2.npy --threads 3 --seed 0")->status, 0);
    ck_assert_int_eq(run("run " BLOCK "--output y=$T/3.npy --seed 7")->status, 0);
    ck_assert_int_eq(system("cmp -s $T/1.npy $T/2.npy"), 0);
    ck_assert_int_ne(system("cmp -s $T/1.npy $T/3.npy"), 0);
}
END_TEST

/* An input without a file starts with the value of its init, on every backend. */
START_TEST(inputs_begin_as_they_say)
{
    static const char *const backends[] = {"tcc", "ref"};
    const float want[] = {2.5f, 2.5f, -4, -4};
    write_text("begin.lua", "local a = input('a', {2}, 'f32', {fill = 2.5})\n"
                            "local i = input('i', {2}, 'i32', {fill = -4})\n"
                            "return {y = concat({a, float(i)}, 1)}\n");
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        char command[128];
        snprintf(command, sizeof command, "run $T/begin.lua --output y=$T/begin.npy --backend %s",
                 backends[i]);
        ck_assert_int_eq(run(command)->status, 0);
        expect_floats("begin.npy", want, 4);
    }
}
END_TEST

int main(void)
{
    make_folder();
    Suite *suite = suite_create("cli");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, errors_are_one_line, 0, sizeof faults / sizeof *faults);
    tcase_add_loop_test(all, help_fits_the_terminal, 0, sizeof helps / sizeof *helps);
    tcase_add_loop_test(all, help_has_examples, 0, sizeof helps / sizeof *helps);
    tcase_add_test(all, progress_fits_the_terminal);
    tcase_add_loop_test(all, stdout_is_closed, 0, sizeof unread / sizeof *unread);
    tcase_add_test(all, missing_compilers);
    tcase_add_test(all, command_lines_that_succeed);
    tcase_add_test(all, bench_prints_json);
    tcase_add_test(all, all_outputs_or_none);
    tcase_add_test(all, a_script_prints_once);
    tcase_add_test(all, surplus_tensors);
    tcase_add_test(all, gradients);
    tcase_add_test(all, gradients_at_kinks);
    tcase_add_test(all, same_gradients);
    tcase_add_test(all, same_training);
    tcase_add_test(all, inputs_begin_as_they_say);
    tcase_add_test(all, same_dropout);
    tcase_add_test(all, dropout_keeps_the_mean);
    tcase_add_test(all, seeds);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_folder();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
