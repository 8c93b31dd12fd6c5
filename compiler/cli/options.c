/* options.c - the table of options, parsing of the command line, and help; see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "terminal.h"

/* ---- the table ---- */

enum kind { FLAG, TEXT, BACKEND, LIST, PAIR, COUNT, SIZE, REAL };

/*
 * How ranks compare the values of an option: as they are, or a sum of these.
 * FILES: the value names files, which may lie elsewhere on another machine.
 * CONTENTS: the command line compares the contents of these files.  For other options it need not: the library compares
 * models, weights and values for options, and texts are compared by their tokens.
 * OWN: ranks may have other values: the option tells of their machine, and changes no bit.
 */
enum comparison { VALUE = 0, FILES = 1, CONTENTS = 2, OWN = 4, COMPARED = FILES | CONTENTS };

/* A row of the table: an option, the kind of its value, the field that it sets, and the verbs
 * that accept it. */
struct option_row {
    const char *name;
    int letter; /* letter of the short form, or 0 */
    enum kind kind;
    unsigned comparison;
    const char *value; /* placeholder for the value in the help */
    unsigned verbs;
    size_t field;
    int64_t least, most; /* bounds of a COUNT; a SIZE has only `least` */
    const char *help;
};

#define FIELD(name) offsetof(struct cr_options, name)

/* Verbs that can cache packed weights or tokenizers. */
enum { KEEPING = CR_VERB_RUN | CR_VERB_WEIGHTS | CR_VERB_ENCODERS | CR_VERB_TOKENIZE };

static const struct option_row rows[] = {
    {"set", 0, PAIR, VALUE, "KEY=VALUE", CR_VERB_MODELS | CR_VERB_ENCODERS | CR_VERB_VARY | CR_VERB_IMPORT, FIELD(set), 0, 0,
     "override an option the script declares (repeatable)"},
    {"length", 0, PAIR, VALUE, "NAME=BOUND", CR_VERB_MODELS | CR_VERB_IMPORT, FIELD(length), 0, 0,
     "of an ONNX file: a symbolic size that stays a length, known when the model runs and at most "
     "the bound (repeatable)"},
    {"script", 0, TEXT, FILES, "F.lua", CR_VERB_MODELS | CR_VERB_ENCODERS | CR_VERB_VARY, FIELD(script), 0, 0,
     "of a folder or a GGUF file: the script that makes the model, in place of the one that its "
     "model_type chooses"},
    {"config", 0, TEXT, FILES, "FILE", CR_VERB_MODELS | CR_VERB_ENCODERS | CR_VERB_VARY, FIELD(config), 0, 0,
     "values for the script's options: a config.json or a folder that has one, or a Lua file that "
     "returns a table; --set overrides them"},
    {"ignore-config", 0, LIST, VALUE, "KEY", CR_VERB_MODELS | CR_VERB_ENCODERS | CR_VERB_VARY, FIELD(ignore_config), 0, 0,
     "pass over a key of the config.json of --config or of the folder, whatever it says "
     "(repeatable)"},
    {"entry", 0, TEXT, VALUE, "NAME", CR_VERB_MODELS, FIELD(entry), 0, 0,
     "of a script that returns several entries, this one alone"},
    {"weights", 0, LIST, FILES, "FILE|FOLDER",
     CR_VERB_COMPILING | CR_VERB_WEIGHTS | CR_VERB_EMIT | CR_VERB_VARY, FIELD(weights), 0, 0,
     "read parameters by name, of safetensors or GGUF files (repeatable; the last file wins)"},
    {"cache-weights", 0, SIZE, OWN, "BYTES", KEEPING, FIELD(cache_weights), 0, 0,
     "weights of 16 MiB and more are kept as the kernels read them, and tables of a tokenizer.json of 256 KiB "
     "and more, for the next run of the model, in files "
     "of $XDG_CACHE_HOME/crescent that take no more than so many bytes in all (or 512M, 20G; default 8G; 0: "
     "none are written or read)"},
    {"strict", 0, FLAG, VALUE, "", CR_VERB_COMPILING | CR_VERB_WEIGHTS, FIELD(strict), 0, 0,
     "tensors of --weights that the model does not have are an error"},
    {"input", 0, PAIR, COMPARED, "NAME=F.npy", CR_VERB_COMPILING | CR_VERB_VARY | CR_VERB_IMPORT, FIELD(input), 0, 0,
     "read an input (repeatable); of train: one more axis in front counts batches, taken in turn"},
    {"output", 0, PAIR, FILES, "NAME=F.npy", CR_VERB_RUN, FIELD(output), 0, 0,
     "write an output or a tapped value (repeatable)"},
    {"expect", 0, PAIR, COMPARED, "NAME=F.npy", CR_VERB_COMPARE, FIELD(expect), 0, 0,
     "what an output or a tapped value should be (repeatable)"},
    {"cotangent", 0, PAIR, COMPARED, "NAME=F.npy", CR_VERB_RUNNING, FIELD(cotangent), 0, 0,
     "dL/d(output) for --grads, default ones (repeatable)"},
    {"grads", 0, TEXT, FILES, "F.safetensors", CR_VERB_RUNNING | CR_VERB_EMIT | CR_VERB_DUMP | CR_VERB_TUNE |
                                     CR_VERB_EXPLAIN,
     FIELD(grads), 0, 0,
     "the backward pass, too: write the gradient of every parameter and float input; `none` "
     "writes no file (emit, dump, bench, tune and explain never do)"},
    {"expect-grads", 0, TEXT, COMPARED, "F.safetensors", CR_VERB_COMPARE, FIELD(expect_grads), 0, 0,
     "what the gradients should be"},
    {"expect-taps", 0, TEXT, COMPARED, "F.safetensors", CR_VERB_COMPARE, FIELD(expect_taps), 0, 0,
     "what outputs and tapped values should be, by their names: the first that differs is named"},
    {"taps", 0, FLAG, VALUE, "", CR_VERB_COMPARE, FIELD(taps), 0, 0,
     "hold every value that kernels store against double precision, and name the first node that "
     "is further off than its operands' errors and roundings explain"},
    {"backends", 0, TEXT, VALUE, "LIST", CR_VERB_COMPARE, FIELD(backends), 0, 0,
     "backends to run, with commas between (default ref,tcc,cc; with --expect tcc)"},
    {"backend", 0, BACKEND, VALUE, "NAME",
     CR_VERB_COMPILING | CR_VERB_ENCODERS | CR_VERB_TUNE | CR_VERB_TEXTS | CR_VERB_VARY, FIELD(backend), 0, 0,
     "tcc: TinyCC in memory (default); cc: $CC or cc; standalone: the emitted file, by $CC or "
     "cc -O2; ref: the interpreter"},
    {"threads", 0, COUNT, OWN, "N", CR_VERB_COMPILING | CR_VERB_ENCODERS | CR_VERB_TUNE | CR_VERB_WEIGHTS | CR_VERB_VARY,
     FIELD(threads), 1, 256,
     "size of the thread pool (default: the machine's cores)"},
    {"isa", 0, TEXT, OWN, "NAME",
     CR_VERB_COMPILING | CR_VERB_ENCODERS | CR_VERB_TUNE | CR_VERB_WEIGHTS | CR_VERB_VARY | CR_VERB_EMIT, FIELD(isa), 0, 0,
     "amx, vnni, avx512, avx2, neon or plain (default: the best there is); emit: a list of those that "
     "the file has, with commas between and plain among them (default: all)"},
    {"seed", 0, COUNT, VALUE, "N",
     CR_VERB_COMPILING | CR_VERB_WEIGHTS | CR_VERB_EMIT | CR_VERB_VARY, FIELD(seed), 0, INT64_MAX,
     "of whatever is drawn at random; an option `seed` of the script has it, too (default 0)"},
    {"atol", 0, REAL, VALUE, "X", CR_VERB_COMPARE, FIELD(atol), 0, 0,
     "absolute tolerance (default 2e-5, times the root mean square of the expected values if that is "
     "above 1; 0 if only --rtol or --max-ulp is given)"},
    {"rtol", 0, REAL, VALUE, "X", CR_VERB_COMPARE, FIELD(rtol), 0, 0,
     "relative tolerance (default 1e-5; 0 if only --atol or --max-ulp is given)"},
    {"max-ulp", 0, COUNT, VALUE, "N", CR_VERB_COMPARE, FIELD(max_ulp), 0, INT64_MAX,
     "greatest distance of each element, counted in floats; alone it is the only test"},
    {"after", 0, TEXT, VALUE, "PASS", CR_VERB_DUMP, FIELD(after), 0, 0, "the pass to print after"},
    {"target", 0, TEXT, OWN | FILES, "NAME|FILE",
     (CR_VERB_MODELS & ~CR_VERB_PARAMS) | CR_VERB_ENCODERS | CR_VERB_VARY | CR_VERB_TARGETS,
     FIELD(target), 0, 0,
     "the machine that loops are cut for (crescent targets lists them; default: host, for emit "
     "and dump generic); no bit of a result depends on it"},
    {"skip", 0, LIST, VALUE, "PASS", (CR_VERB_MODELS & ~CR_VERB_PARAMS) | CR_VERB_VARY, FIELD(skip), 0, 0,
     "leave a pass out (repeatable)"},
    {"max-arena", 0, SIZE, VALUE, "BYTES", (CR_VERB_MODELS & ~CR_VERB_PARAMS) | CR_VERB_VARY,
     FIELD(max_arena), 1, 0,
     "compute values again rather than keep them, so that the arena has no more than so many "
     "bytes (or 512K, 64M, 2G); weights and scratch are apart"},
    {"ranks", 0, COUNT, VALUE, "N", CR_VERB_DUMP | CR_VERB_EMIT, FIELD(ranks), 1, 4096,
     "cut the model for so many processes of MPI, of which dump shows the first one (docs/several-machines.md)"},
    {"format", 0, TEXT, VALUE, "RULES",
     CR_VERB_RUNNING | CR_VERB_ENCODERS | CR_VERB_EMIT | CR_VERB_DUMP | CR_VERB_TUNE | CR_VERB_WEIGHTS |
         CR_VERB_PARAMS | CR_VERB_EXPLAIN | CR_VERB_VARY,
     FIELD(format), 0, 0,
     "how weights of products and tables are kept: NAME for all, or GLOB=NAME by their names, with "
     "commas between; the last rule that matches counts (default f32, of a GGUF file as its "
     "tensors are)"},
    {"arithmetic", 0, TEXT, VALUE, "RULES",
     CR_VERB_RUNNING | CR_VERB_ENCODERS | CR_VERB_EMIT | CR_VERB_DUMP | CR_VERB_TUNE | CR_VERB_WEIGHTS |
         CR_VERB_EXPLAIN | CR_VERB_VARY,
     FIELD(arithmetic), 0, 0,
     "how products by such weights are summed: rules as for --format (default f32; int8: rows "
     "rounded to 8 bits, exact sums in blocks, for q8 and q4; bf16: rows rounded to "
     "bf16, as AMX multiplies them, for bf16)"},
    {"out", 'o', TEXT, FILES, "FILE", CR_VERB_EMIT | CR_VERB_EMBED | CR_VERB_TUNE | CR_VERB_EXPLAIN | CR_VERB_IMPORT,
     FIELD(out), 0, 0,
     "the file to write; of emit it ends in .c, of import in .lua, of embed in .npy, of explain it is the page"},
    {"bench", 0, FLAG, VALUE, "", CR_VERB_EXPLAIN, FIELD(bench), 0, 0,
     "measure each kernel, and the machine's limits"},
    {"check", 0, FLAG, VALUE, "", CR_VERB_EXPLAIN, FIELD(check), 0, 0,
     "hold what each kernel stores against the interpreter in double precision"},
    {"against", 0, TEXT, VALUE, "SETTING", CR_VERB_EXPLAIN, FIELD(against), 0, 0,
     "show another compilation beside this one: another script, or NAME=VALUE as for bench --vs"},
    {"trace", 0, TEXT, FILES, "F.json", CR_VERB_EXPLAIN, FIELD(trace), 0, 0,
     "write the calls of one run, for Perfetto or chrome://tracing; measures as --bench does"},
    {"train", 0, FLAG, VALUE, "", CR_VERB_EMIT, FIELD(train), 0, 0,
     "the script is a step of a training: write a function from state to state"},
    {"generate", 0, FLAG, VALUE, "", CR_VERB_EMIT, FIELD(generate), 0, 0,
     "write a program that generates: model, tokenizer, choice of tokens, and a main"},
    {"embed-text", 0, FLAG, VALUE, "", CR_VERB_EMIT, FIELD(embed_text), 0, 0,
     "write a program that makes vectors of texts, or scores of labels: an encoder, its tokenizer, and a main"},
    {"pack", 0, TEXT, FILES, "FILE", CR_VERB_EMIT, FIELD(pack), 0, 0,
     "with --generate or --embed-text: write the weights, too, as its program maps them into memory"},
    {"embed", 0, FLAG, VALUE, "", CR_VERB_EMIT, FIELD(embed), 0, 0,
     "with one of these: the weights are in the program, by .incbin of the file of --pack "
     "(default: FILE.weights beside FILE.c)"},
    {"embed-array", 0, FLAG, VALUE, "", CR_VERB_EMIT, FIELD(embed_array), 0, 0,
     "the same as an array, for compilers without .incbin, and small models"},
    {"seconds", 0, REAL, VALUE, "X", CR_VERB_BENCH | CR_VERB_TUNE | CR_VERB_EXPLAIN, FIELD(seconds), 0, 0,
     "how long to measure, for each --vs as long again (default 1; of tune 20)"},
    {"per-kernel", 0, FLAG, VALUE, "", CR_VERB_BENCH, FIELD(per_kernel), 0, 0, "measure each kernel, too"},
    {"vs", 0, LIST, VALUE, "SETTING", CR_VERB_BENCH, FIELD(vs), 0, 0,
     "measure the model under another setting beside this one (repeatable)"},
    {"compile-only", 0, FLAG, VALUE, "", CR_VERB_BENCH, FIELD(compile_only), 0, 0,
     "measure how long compiling takes, and run nothing"},
    {"turns", 0, FLAG, VALUE, "", CR_VERB_BENCH, FIELD(turns), 0, 0,
     "measure for --seconds at each line of standard input; a line of JSON for each"},
    {"steps", 0, COUNT, VALUE, "N", CR_VERB_TRAIN, FIELD(steps), 0, INT32_MAX, "how many steps to make"},
    {"checkpoint", 0, TEXT, FILES, "F.safetensors", CR_VERB_TRAIN, FIELD(checkpoint), 0, 0,
     "write parameters and state at the end"},
    {"every", 0, COUNT, VALUE, "N", CR_VERB_TRAIN, FIELD(every), 1, INT32_MAX,
     "write the checkpoint after every N steps, too"},
    {"resume", 0, TEXT, COMPARED, "F.safetensors", CR_VERB_TRAIN, FIELD(resume), 0, 0,
     "go on from a checkpoint, with its seed and the options that its script had"},
    {"save", 0, TEXT, FILES, "F.safetensors", CR_VERB_TRAIN, FIELD(save), 0, 0,
     "write the parameters alone at the end"},
    {"loss-curve", 0, TEXT, FILES, "F.svg", CR_VERB_TRAIN, FIELD(loss_curve), 0, 0,
     "draw the losses of the whole training (by gnuplot); F.png, too"},
    {"log-scale", 0, FLAG, VALUE, "", CR_VERB_TRAIN, FIELD(log_scale), 0, 0,
     "draw the losses of --loss-curve on a logarithmic axis"},
    {"validate-every", 0, COUNT, VALUE, "N", CR_VERB_TRAIN, FIELD(validate_every), 1, INT32_MAX,
     "after every N steps, compute the loss on data that nothing is learned from"},
    {"validation-input", 0, PAIR, COMPARED, "NAME=F.npy", CR_VERB_TRAIN, FIELD(validation_input), 0, 0,
     "read an input of the validation (repeatable); its loss is the mean over all batches"},
    {"log", 0, COUNT, VALUE, "N", CR_VERB_TRAIN, FIELD(log), 1, INT32_MAX, "print a line every N steps"},
    {"prompt", 0, TEXT, VALUE, "TEXT", CR_VERB_GENERATE, FIELD(prompt), 0, 0, "the text to go on with"},
    {"prompt-file", 0, TEXT, FILES, "F", CR_VERB_GENERATE, FIELD(prompt_file), 0, 0,
     "the same from a file, - for standard input"},
    {"prompt-ids", 0, TEXT, VALUE, "1,2,3", CR_VERB_TEXTS, FIELD(prompt_ids), 0, 0,
     "the text as ids of tokens"},
    {"tokens", 0, COUNT, VALUE, "N", CR_VERB_GENERATE, FIELD(tokens), 0, INT32_MAX,
     "tokens to generate at most (default: to the end of the text, or of the context)"},
    {"temperature", 0, REAL, VALUE, "X", CR_VERB_GENERATE, FIELD(temperature), 0, 0,
     "what logits are divided by before a token is drawn (default 0: the likeliest token)"},
    {"top-k", 0, COUNT, VALUE, "K", CR_VERB_GENERATE, FIELD(top_k), 0, INT32_MAX,
     "draw from the K likeliest tokens (default 0: from all)"},
    {"top-p", 0, REAL, VALUE, "P", CR_VERB_GENERATE, FIELD(top_p), 0, 0,
     "draw from the smallest set of the likeliest tokens whose mass reaches P (default 1: all)"},
    {"ids", 0, FLAG, VALUE, "", CR_VERB_GENERATE | CR_VERB_EMIT, FIELD(ids), 0, 0,
     "print the ids of the continuation on a line, with spaces between, and no text; of emit: "
     "write no tokenizer, so that ids are all that the program knows"},
    {"logits", 0, TEXT, FILES, "F.npy", CR_VERB_GENERATE, FIELD(logits), 0, 0,
     "write the logits [positions, vocabulary] of the prompt and of every token made but the last"},
    {"ignore-eos", 0, FLAG, VALUE, "", CR_VERB_GENERATE, FIELD(ignore_eos), 0, 0,
     "go on behind a token that ends a text"},
    {"context", 0, COUNT, VALUE, "N", CR_VERB_WEIGHTS | CR_VERB_EMIT, FIELD(context_size), 1, INT32_MAX,
     "positions there is room for, those of the prompt included (default: the model's)"},
    {"chunk", 0, COUNT, VALUE, "N", CR_VERB_WEIGHTS | CR_VERB_EMIT, FIELD(chunk), 1, INT32_MAX,
     "tokens of the prompt that go through the model at a time; no bit of a result depends on it"},
    {"stats", 0, FLAG, OWN, "", CR_VERB_GENERATE | CR_VERB_ENCODERS | CR_VERB_INSPECT, FIELD(stats), 0, 0,
     "say on stderr how long it took, also where that is no terminal; "
     "of inspect: read the tensors, and print their range, mean, deviation"},
    {"all", 0, FLAG, VALUE, "", CR_VERB_INSPECT, FIELD(all), 0, 0, "print a row for each tensor"},
    {"kernels", 0, FLAG, VALUE, "", CR_VERB_RUN, FIELD(kernels), 0, 0,
     "list the kernels that were compiled"},
    {"markdown", 0, FLAG, VALUE, "", CR_VERB_BENCH | CR_VERB_OPS, FIELD(markdown), 0, 0, "print Markdown"},
    {"onnx", 0, FLAG, VALUE, "", CR_VERB_OPS, FIELD(onnx), 0, 0,
     "list the operators of ONNX files, and what they become"},
    {"json", 0, FLAG, VALUE, "",
     CR_VERB_COMPARE | CR_VERB_ENCODERS | CR_VERB_PARAMS | CR_VERB_BENCH | CR_VERB_EVALUATE | CR_VERB_INSPECT |
         CR_VERB_EXPLAIN,
     FIELD(json), 0, 0,
     "print the result as JSON"},
    {"tokenizer", 0, TEXT, COMPARED, "FILE|FOLDER", CR_VERB_TOKENIZE | CR_VERB_TEXTS | CR_VERB_EMIT,
     FIELD(tokenizer), 0, 0,
     "read the tokenizer from here, not from MODEL"},
    {"text", 0, TEXT, VALUE, "TEXT", CR_VERB_TOKENIZE | CR_VERB_EMBED | CR_VERB_CLASSIFY | CR_VERB_EVALUATE, FIELD(text), 0, 0,
     "the text"},
    {"decode", 0, TEXT, VALUE, "IDS", CR_VERB_TOKENIZE, FIELD(decode), 0, 0,
     "print the text of ids, with commas or spaces between; - reads them from standard input"},
    {"plain", 0, FLAG, VALUE, "", CR_VERB_TOKENIZE, FIELD(plain), 0, 0,
     "nothing is put around the text"},
    {"pair", 0, TEXT, VALUE, "TEXT", CR_VERB_TOKENIZE, FIELD(pair), 0, 0,
     "a second text beside the first, as a document beside a question"},
    {"max-length", 0, COUNT, VALUE, "N", CR_VERB_TOKENIZE | CR_VERB_ENCODERS | CR_VERB_EMIT, FIELD(max_length), 1, INT32_MAX,
     "cut longer texts, as the tokenizer says; ids around them count"},
    {"segments", 0, FLAG, VALUE, "", CR_VERB_TOKENIZE, FIELD(segments), 0, 0,
     "print the number of the segment of each id on a second line"},
    {"query", 0, TEXT, VALUE, "TEXT", CR_VERB_RANK, FIELD(query), 0, 0, "the question that documents answer"},
    {"query", 0, FLAG, VALUE, "", CR_VERB_EMBED | CR_VERB_EMIT, FIELD(as_query), 0, 0,
     "put the prompt for queries in front of each text, if the folder has one"},
    {"document", 0, FLAG, VALUE, "", CR_VERB_EMBED | CR_VERB_EMIT, FIELD(document), 0, 0,
     "put the prompt for documents, or passages, in front"},
    {"pooling", 0, TEXT, VALUE, "NAME", CR_VERB_EMBED | CR_VERB_EMIT, FIELD(pooling), 0, 0,
     "cls, mean, max, mean_sqrt_len_tokens, weightedmean or lasttoken (default: as modules.json says, or "
     "else mean)"},
    {"normalize", 0, FLAG, VALUE, "", CR_VERB_EMBED | CR_VERB_EMIT, FIELD(normalize), 0, 0,
     "make the length of each vector 1 (default: as modules.json says)"},
    {"batch", 0, COUNT, VALUE, "N", CR_VERB_ENCODERS, FIELD(batch), 1, 1 << 20,
     "texts that threads share, each by one thread (default: 32, or 4 of one thread); no bit depends on it"},
    {"special", 0, FLAG, VALUE, "", CR_VERB_TOKENIZE, FIELD(special), 0, 0,
     "print all special tokens of --decode"},
    {"help", 'h', FLAG, VALUE, "", CR_VERB_ALL, FIELD(help), 0, 0, "print this"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int take_pair(struct cr_pairs *pairs, const struct option_row *row, const char *text,
                     struct cr_error *error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return cr_fail(error, "--%s %.200s: expected %s", row->name, text, row->value);
    char *key = cr_strdup(text);
    key[equals - text] = '\0';
    *CR_PUSH(pairs->items, pairs->n, pairs->cap) = (crescent_setting){key, equals + 1};
    return 0;
}

/* Parses a whole number that must be within the row's bounds. */
static int take_count(int64_t *field, const struct option_row *row, const char *text,
                      struct cr_error *error)
{
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    if (end == text || *end || errno || value < row->least || value > row->most) {
        if (row->most == INT64_MAX)
            return cr_fail(error, "--%s %.60s: expected a whole number from %" PRId64 " on",
                           row->name, text, row->least);
        return cr_fail(error, "--%s %.60s: expected a whole number from %" PRId64 " to %" PRId64,
                       row->name, text, row->least, row->most);
    }
    *field = value;
    return 0;
}

/* Parses a number of bytes; K, M or G after the number means KiB, MiB or GiB. */
static int take_size(int64_t *field, const struct option_row *row, const char *text,
                     struct cr_error *error)
{
    static const char letters[] = "KMG";
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    bool ok = end != text && !errno && value >= row->least;
    const char *letter = ok && *end ? strchr(letters, *end) : NULL;
    int64_t unit = letter ? (int64_t)1 << 10 * (letter - letters + 1) : 1;
    if (!ok || end[letter != NULL] || value > INT64_MAX / unit)
        return cr_fail(error,
                       "--%s %.60s: expected a number of bytes from %d on, which may end in K, M or "
                       "G for KiB, MiB or GiB",
                       row->name, text, (int)row->least);
    *field = value * unit;
    return 0;
}

static int take_real(double *field, const struct option_row *row, const char *text,
                     struct cr_error *error)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0)
        return cr_fail(error, "--%s %.60s: expected a number that is not negative", row->name,
                       text);
    *field = value;
    return 0;
}

int cr_backend_by_name(const char *name, struct cr_error *error)
{
    for (int i = 0; i < CRESCENT_BACKENDS; i++)
        if (strcmp(name, crescent_backend_name((crescent_backend)i)) == 0)
            return i;
    return cr_fail(error, "backend '%.60s', expected tcc, cc, ref or standalone", name);
}

/* Parses the value of an option and stores it in the row's field. */
static int take(struct cr_options *o, const struct option_row *row, const char *text,
                struct cr_error *error)
{
    void *field = (char *)o + row->field;
    switch (row->kind) {
    case FLAG:
        *(bool *)field = true;
        return 0;
    case LIST: {
        struct cr_list *list = field;
        *CR_PUSH(list->items, list->n, list->cap) = text;
        return 0;
    }
    case PAIR:
        return take_pair(field, row, text, error);
    case COUNT:
        return take_count(field, row, text, error);
    case SIZE:
        return take_size(field, row, text, error);
    case REAL:
        return take_real(field, row, text, error);
    case BACKEND:
        if (cr_backend_by_name(text, error) < 0)
            return -1;
        /* fall through */
    case TEXT:
        *(const char **)field = text;
    }
    return 0;
}

/* Writes the names of the options that --vs may change. */
static void names_to_vary(char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < N_ROWS && at < size; i++)
        if (rows[i].verbs & CR_VERB_VARY)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", rows[i].name);
}

int cr_options_set(struct cr_options *o, const char *asked, const char *name, const char *text,
                   struct cr_error *error)
{
    char names[200];
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & CR_VERB_VARY && strcmp(rows[i].name, name) == 0)
            return take(o, &rows[i], text, error);
    names_to_vary(names, sizeof names);
    return cr_fail(error, "%s %.60s: expected standalone, FILE.lua, or NAME=VALUE with one of %s",
                   asked, name, names);
}

/* ---- copies ---- */

static void copy_pairs(struct cr_pairs *pairs)
{
    struct cr_pairs old = *pairs;
    *pairs = (struct cr_pairs){0};
    for (int i = 0; i < old.n; i++)
        *CR_PUSH(pairs->items, pairs->n, pairs->cap) =
            (crescent_setting){cr_strdup(old.items[i].key), old.items[i].value};
}

static void copy_list(struct cr_list *list)
{
    struct cr_list old = *list;
    *list = (struct cr_list){0};
    for (int i = 0; i < old.n; i++)
        *CR_PUSH(list->items, list->n, list->cap) = old.items[i];
}

struct cr_options cr_options_copy(const struct cr_options *o)
{
    struct cr_options copy = *o;
    for (int i = 0; i < N_ROWS; i++) {
        void *field = (char *)&copy + rows[i].field;
        if (rows[i].kind == PAIR)
            copy_pairs(field);
        else if (rows[i].kind == LIST)
            copy_list(field);
    }
    copy_pairs(&copy.resumed);
    return copy;
}

/* ---- ranks ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = cr_hash_word(hash, (unsigned char)*text);
    return cr_hash_word(hash, text ? 256 : 257);
}

/* Mixes a list of values into a hash: of files only their number, and the names given to them. */
static uint64_t hash_list(uint64_t hash, const struct option_row *row, const void *field)
{
    const struct cr_list *list = field;
    const struct cr_pairs *pairs = field;
    bool files = row->comparison & FILES;
    int n = row->kind == LIST ? list->n : pairs->n;
    for (int i = 0; i < n; i++) {
        const char *value = row->kind == LIST ? list->items[i] : pairs->items[i].value;
        hash = hash_text(hash, files ? NULL : value);
        hash = hash_text(hash, row->kind == LIST ? NULL : pairs->items[i].key);
    }
    return cr_hash_word(hash, (uint64_t)n);
}

/* Mixes the value of an option into a hash. */
static uint64_t hash_option(uint64_t hash, const struct option_row *row, const void *field)
{
    const char *text;
    uint64_t word = 0;
    switch (row->kind) {
    case FLAG:
        return cr_hash_word(hash, *(const bool *)field);
    case COUNT:
    case SIZE:
    case REAL:
        memcpy(&word, field, sizeof word);
        return cr_hash_word(hash, word);
    case LIST:
    case PAIR:
        return hash_list(hash, row, field);
    case BACKEND:
    case TEXT:
        break;
    }
    memcpy(&text, field, sizeof text);
    return hash_text(hash, text && row->comparison & FILES ? "file" : text);
}

/* Compares the contents of the files that an option names with those of rank 0. */
static int compare_option(const struct cr_options *o, const struct option_row *row)
{
    const void *field = (const char *)o + row->field;
    const struct cr_pairs *pairs = field;
    const char *text = NULL;
    if (row->kind == TEXT) {
        memcpy(&text, field, sizeof text);
        return text ? crescent_ranks_compare_files(o->context, text) : CRESCENT_OK;
    }
    for (int i = 0; i < pairs->n; i++)
        if (crescent_ranks_compare_files(o->context, pairs->items[i].value))
            return CRESCENT_FAILED;
    return CRESCENT_OK;
}

int cr_options_compare_files(const struct cr_options *o, const struct cr_verb *verb, struct cr_error *error)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & verb->bit && rows[i].comparison & CONTENTS &&
            cr_passed(o, compare_option(o, &rows[i]), error))
            return -1;
    return 0;
}

uint64_t cr_options_hash(const struct cr_options *o, const struct cr_verb *verb)
{
    uint64_t hash = hash_text(0, verb->name);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & verb->bit && !(rows[i].comparison & OWN))
            hash = hash_option(hash, &rows[i], (const char *)o + rows[i].field);
    return hash;
}

/* ---- parsing ---- */

/* The number of row 0 for getopt_long, larger than all letters of short options. */
enum { FIRST_VALUE = 1000 };

/* Fills getopt_long's table of a verb's long options. */
static void long_options(const struct cr_verb *verb, struct option *options)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & verb->bit)
            *options++ = (struct option){rows[i].name,
                                         rows[i].kind == FLAG ? no_argument : required_argument,
                                         NULL, FIRST_VALUE + i};
    *options = (struct option){0};
}

/* Fails for an unknown option; suggests another verb that has it, or an option with a similar
 * name. */
static int unknown_option(const struct cr_verb *verb, const char *word, struct cr_error *error)
{
    const char *names[N_ROWS];
    char hint[160], name[64];
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    for (int i = 0; i < N_ROWS; i++) {
        names[i] = rows[i].verbs & verb->bit ? rows[i].name : NULL;
        if (!names[i] && strcmp(rows[i].name, name) == 0)
            return cr_fail(error, "%s has no option --%s (crescent %s --help lists them)",
                           verb->name, name, verb->name);
    }
    const char *best = cr_nearest(name, names, N_ROWS);
    snprintf(hint, sizeof hint, best ? ", did you mean --%s?" : "%s", best ? best : "");
    return cr_fail(error, "%s: unknown option %.60s%s (crescent %s --help lists them)", verb->name,
                   word, hint, verb->name);
}

static const struct option_row *row_of(int value)
{
    if (value >= FIRST_VALUE && value < FIRST_VALUE + N_ROWS)
        return &rows[value - FIRST_VALUE];
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].letter && rows[i].letter == value)
            return &rows[i];
    return NULL;
}

/* Handles one option, which getopt_long returned as `value`. */
static int take_value(struct cr_options *o, const struct cr_verb *verb, int value, char **argv,
                      struct cr_error *error)
{
    const struct option_row *row = row_of(value == ':' ? optopt : value);
    char word[3] = {'-', (char)optopt, '\0'};
    if (value == '?' || !row || !(row->verbs & verb->bit)) {
        bool letter = value != '?' || (optopt > 0 && optopt < FIRST_VALUE);
        if (letter && value != '?')
            word[1] = (char)value;
        return unknown_option(verb, letter ? word : argv[optind - 1], error);
    }
    if (value == ':')
        return cr_fail(error, "%s: --%s needs a value: %s", verb->name, row->name, row->value);
    return take(o, row, optarg, error);
}

/* Returns the number of processors that this process may use, but at most 256. */
static int64_t cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > 256 ? 256 : n;
}

/* Returns the option that the user probably meant by a word after the model, such as a text
 * without --prompt; null if the verb has no such option. */
static const char *option_for(const struct cr_verb *verb, const char *word)
{
    static const struct {
        const char *end, *name;
    } ends[] = {{".safetensors", "weights"}, {".gguf", "weights"}, {".npy", "input"}, {".c", "out"},
                {".lua", "out"}, {".html", "out"}, {".txt", "prompt-file"}, {"", "prompt"}};
    const char *equals = strchr(word, '=');
    size_t n = strlen(word);
    const char *name = equals && equals != word ? "set" : NULL;
    for (size_t i = 0; !name && i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i].end);
        if (n > m && strcmp(word + n - m, ends[i].end) == 0)
            name = ends[i].name;
    }
    for (int i = 0; name && i < N_ROWS; i++)
        if (rows[i].verbs & verb->bit && strcmp(rows[i].name, name) == 0)
            return name;
    return NULL;
}

/* Fails for additional words after the model.  Suggests an option; if the words look like a
 * prompt, suggests to put it in quotes. */
static int fail_words(const struct cr_verb *verb, int n, char **words, const char *model,
                      struct cr_error *error)
{
    char text[120] = "";
    const char *name = option_for(verb, words[0]);
    bool prompt = name && strcmp(name, "prompt") == 0;
    size_t at = 0;
    for (int i = 0; i < (prompt ? n : 1) && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "", words[i]);
    if (!name)
        return cr_fail(error, "%s: '%.200s' after the model %.200s, expected one model only", verb->name,
                       words[0], model);
    return cr_fail(error, "%s: '%.200s' after the model %.200s, expected --%s %s%s%s%s", verb->name, words[0],
                   model, name, strcmp(name, "input") == 0 ? "NAME=" : "", prompt ? "'" : "", text,
                   prompt ? "'" : "");
}

int cr_options_parse(struct cr_options *o, const struct cr_verb *verb, int argc, char **argv,
                     struct cr_error *error)
{
    struct option options[N_ROWS + 1];
    int value;
    *o = (struct cr_options){.threads = cores(),
                             .max_ulp = -1,
                             .atol = -1,
                             .rtol = -1,
                             .seconds = verb->bit == CR_VERB_TUNE ? 20 : 1,
                             .steps = -1,
                             .tokens = -1,
                             .cache_weights = verb->bit & KEEPING ? (int64_t)8 << 30 : 0,
                             .seed = -1};
    long_options(verb, options);
    opterr = 0;
    while ((value = getopt_long(argc, argv, ":o:h", options, NULL)) != -1)
        if (take_value(o, verb, value, argv, error))
            return -1;
    o->seed_given = o->seed >= 0;
    if (!o->seed_given)
        o->seed = 0;
    if (o->help)
        return 0;
    if (!(verb->bit & (CR_VERB_MODELS | CR_VERB_TOKENIZE | CR_VERB_INSPECT |
                       CR_VERB_IMPORT | CR_VERB_ENCODERS)))
        return optind == argc ? 0
                              : cr_fail(error, "%s: '%.200s': expected options only", verb->name,
                                        argv[optind]);
    if (optind == argc)
        return cr_fail(error, "%s: no model given, expected crescent %s %s", verb->name, verb->name,
                       verb->usage);
    o->model = argv[optind];
    if (verb->bit & (CR_VERB_TOKENIZE | CR_VERB_EVALUATE | CR_VERB_ENCODERS) && optind + 1 < argc)
        o->file = argv[++optind];
    if (optind + 1 < argc)
        return fail_words(verb, argc - optind - 1, argv + optind + 1, argv[optind], error);
    return 0;
}

static void free_pairs(struct cr_pairs *pairs)
{
    for (int i = 0; i < pairs->n; i++)
        free((char *)pairs->items[i].key);
    free(pairs->items);
}

void cr_options_free(struct cr_options *o)
{
    for (int i = 0; i < N_ROWS; i++) {
        void *field = (char *)o + rows[i].field;
        if (rows[i].kind == PAIR)
            free_pairs(field);
        else if (rows[i].kind == LIST)
            free(((struct cr_list *)field)->items);
    }
    free_pairs(&o->resumed);
}

/* ---- queries ---- */

crescent_backend cr_backend_of(const struct cr_options *o)
{
    struct cr_error unused;
    return o->backend ? (crescent_backend)cr_backend_by_name(o->backend, &unused) : CRESCENT_TCC;
}

bool cr_wants_grads(const struct cr_options *o)
{
    return o->grads || o->expect_grads;
}

const char *cr_grads_file(const struct cr_options *o)
{
    return o->grads && strcmp(o->grads, "none") != 0 ? o->grads : NULL;
}

int cr_grads_check_no_file(const struct cr_options *o, const char *verb, struct cr_error *error)
{
    if (!cr_grads_file(o))
        return 0;
    return cr_fail(error, "--grads %.300s: %s computes no gradients, expected --grads none",
                   o->grads, verb);
}

/* Returns the status of a library call; if it failed, copies the message, and replaces the name
 * of the field `context` by the name of the option. */
int cr_passed(const struct cr_options *o, int status, struct cr_error *error)
{
    const char *text = status ? crescent_error(o->context) : "";
    bool asked = o->context_size && strncmp(text, "context ", 8) == 0;
    if (status)
        snprintf(error->text, sizeof error->text, "%s%s", asked ? "--" : "", text);
    return status;
}

/* ---- help ---- */

bool cr_option_of(const struct cr_verb *verb, int index, struct cr_option_about *about)
{
    for (int i = 0; i < N_ROWS; i++) {
        const struct option_row *row = &rows[i];
        if (!(row->verbs & verb->bit) || index-- > 0)
            continue;
        const char *value = row->kind == FLAG ? "" : row->value;
        *about = (struct cr_option_about){row->name, value, row->help, row->letter,
                                          (row->comparison & FILES) != 0};
        return true;
    }
    return false;
}

/* Prints the options of a verb in two columns, or in one if the terminal is narrow. */
static void put_options(FILE *out, const struct cr_verb *verb, int width)
{
    struct cr_option_about row;
    for (int i = 0; cr_option_of(verb, i, &row); i++) {
        char left[64], letter[8] = "";
        int indent = width < 60 ? 6 : 28;
        if (row.letter)
            snprintf(letter, sizeof letter, "-%c, ", row.letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, row.name, *row.value ? " " : "",
                 row.value);
        bool below = indent == 6 || strlen(left) > 25;
        fprintf(out, below ? "  %s\n%*s" : "  %-25s %.*s", left, below ? indent : 0, "");
        cr_put_wrapped(out, row.help, indent, indent, width);
    }
}

/* Prints usage, description, examples and options in lines as wide as the terminal. */
void cr_help_verb(FILE *out, const struct cr_verb *verb)
{
    int width = cr_columns();
    fprintf(out, "usage: ");
    char usage[200];
    snprintf(usage, sizeof usage, "crescent %s %s", verb->name, verb->usage);
    cr_put_wrapped(out, usage, 7, 11, width);
    fputc('\n', out);
    snprintf(usage, sizeof usage, "%s.", verb->summary);
    cr_put_wrapped(out, usage, 0, 0, width);
    if (*verb->about) {
        fputc('\n', out);
        cr_put_wrapped(out, verb->about, 0, 0, width);
    }
    fprintf(out, "\nfor instance:\n%s\noptions:\n", verb->examples);
    put_options(out, verb, width);
}
