/* options.c - the table of options, parsing, help; see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "near.h"

/* ---- verbs ---- */

enum {
    RUN = 1 << 0,
    EMIT = 1 << 1,
    COMPARE = 1 << 2,
    DUMP = 1 << 3,
    PARAMS = 1 << 4,
    BENCH = 1 << 5,
    OPS = 1 << 6,
    VARY = 1 << 7, /* no verb: what --vs may change */
    TRAIN = 1 << 8,
    RUNNING = RUN | COMPARE | BENCH,
    COMPILING = RUNNING | TRAIN,
    MODELS = RUN | EMIT | COMPARE | DUMP | PARAMS | BENCH | TRAIN, /* all that work on a model */
    ALL = MODELS | OPS,
};

const struct cr_verb cr_verbs[] = {
    {"run", RUN, cr_verb_run, "MODEL.lua [options]",
     "compile a model, run it, report shapes and times",
     "Without --weights the parameters are drawn from --seed as PyTorch's layers would;\n"
     "without --input the inputs are drawn from a standard normal distribution (token ids:\n"
     "uniformly).  --output takes the names of outputs and of values the script tapped.\n"},
    {"emit", EMIT, cr_verb_emit, "MODEL.lua -o FILE.c [options]",
     "write standalone C: FILE.c and FILE.h",
     "The C needs nothing but a C11 compiler, libc and libm.\n"},
    {"train", TRAIN, cr_verb_train, "STEP.lua [options]",
     "make the steps of a training, save and resume it",
     "The script is one step: what it returns under the name of a parameter or an input is the\n"
     "value for the next step (docs/training.md).  It returns the loss as `loss`; `lr` and\n"
     "`tokens`, the tokens of a step, are shown if they are there.  A script with an option\n"
     "`steps` is run until so many steps are made in all, unless --steps says how many more.\n"
     "Ctrl-C, SIGTERM or SIGHUP ends the training after a step: what the options name is\n"
     "written, and the exit status is 130.  A loss that is no finite number ends it with status\n"
     "2, and then no checkpoint and no parameters are written.  A resumed training goes on with\n"
     "the same bits, and its curve with the losses that the checkpoint has.\n"
     "--validate-every runs the script once more, with its option `validation`, if it declares\n"
     "one, set to true, and computes its `loss` without updating anything.\n"},
    {"compare", COMPARE, cr_verb_compare, "MODEL.lua [options]",
     "run on several backends and hold the outputs against each other or against files",
     "Each output of each backend is held against its --expect file or, if it has none,\n"
     "against the first backend listed.  An element passes if it differs by at most\n"
     "atol + rtol * |expected|; NaN passes against NaN only, an infinity against its equal.\n"
     "Where both tcc and cc run, their bits must be equal (all NaN count as one).  The exit\n"
     "status is 1 if anything fails.\n"
     "\n"
     "max ulp is the largest error in units of the last place of a float as large as the\n"
     "expected value or, where that is larger, as the output's root mean square: an error next\n"
     "to zero counts by the size of the output.  max rel is by the element alone.  With\n"
     "--max-ulp the column is what that limits: the number of floats from the value to the one\n"
     "expected, the most of any element.  --json has both, as max_ulp and max_ulp_each.\n"},
    {"dump", DUMP, cr_verb_dump, "MODEL.lua [--after PASS] [options]",
     "print the graph, the kernels, the plan or the program after a pass",
     "`--after script` prints the graph as the script built it.  Without --after the passes\n"
     "are listed.\n"},
    {"params", PARAMS, cr_verb_params, "MODEL.lua [options]",
     "list the parameters: name, shape, count, total", ""},
    {"bench", BENCH, cr_verb_bench, "MODEL.lua [options]",
     "measure the run time against the machine's limits",
     "Runs alternate with measurements of the machine, in this process and on as many threads:\n"
     "its peak of fused multiply-adds, and how fast it reads memory and a buffer as large as\n"
     "what a run must touch.  Medians are reported.  The roofline is the least time a run can\n"
     "take: its floating-point operations at the peak, or the bytes of its parameters, inputs\n"
     "and outputs at the latter speed, whichever takes longer.\n"
     "\n"
     "--vs takes `standalone` (the emitted file, built by cc -O2), the script of another model\n"
     "(the --set options that it declares hold for it, too), or NAME=VALUE for an option below:\n"
     "backend=cc, isa=avx2, threads=2, skip=join, set=KEY=VALUE.  Both are run in turns, and\n"
     "the ratio of their times is that of a turn.\n"},
    {"ops", OPS, cr_verb_ops, "[options]", "list the primitive operations of the graph language",
     "The tables are compiler/ir/ops.def and runtime/elementwise.h.\n"},
};
const int cr_n_verbs = sizeof cr_verbs / sizeof *cr_verbs;

const struct cr_verb *cr_verb_find(const char *name, struct cr_error *error)
{
    const char *names[sizeof cr_verbs / sizeof *cr_verbs];
    char near[160];
    for (int i = 0; i < cr_n_verbs; i++) {
        names[i] = cr_verbs[i].name;
        if (strcmp(name, names[i]) == 0)
            return &cr_verbs[i];
    }
    cr_fail(error, "'%.60s' is not a verb%s (crescent --help lists them)", name,
            cr_did_you_mean(near, sizeof near, name, names, cr_n_verbs));
    return NULL;
}

/* ---- options ---- */

enum kind { FLAG, TEXT, BACKEND, LIST, PAIR, COUNT, SIZE, REAL };

/* A row says what an option takes, where it goes, and which verbs have it. */
struct option_row {
    const char *name;
    int letter; /* short form, or 0 */
    enum kind kind;
    const char *value; /* what help calls it */
    unsigned verbs;
    size_t field;
    int64_t least, most; /* COUNT */
    const char *help;
};

#define FIELD(name) offsetof(struct cr_options, name)

static const struct option_row rows[] = {
    {"set", 0, PAIR, "KEY=VALUE", MODELS | VARY, FIELD(set), 0, 0,
     "override an option the script declares (repeatable)"},
    {"weights", 0, LIST, "F.safetensors", COMPILING | VARY, FIELD(weights), 0, 0,
     "read parameters by name (repeatable; the last file wins)"},
    {"strict", 0, FLAG, "", COMPILING, FIELD(strict), 0, 0,
     "tensors of --weights that the model does not have are an error"},
    {"input", 0, PAIR, "NAME=F.npy", COMPILING | VARY, FIELD(input), 0, 0,
     "read an input (repeatable); of train: one more axis in front counts batches, taken in turn"},
    {"output", 0, PAIR, "NAME=F.npy", RUN, FIELD(output), 0, 0,
     "write an output or a tapped value (repeatable)"},
    {"expect", 0, PAIR, "NAME=F.npy", COMPARE, FIELD(expect), 0, 0,
     "what an output or a tapped value should be (repeatable)"},
    {"cotangent", 0, PAIR, "NAME=F.npy", RUNNING, FIELD(cotangent), 0, 0,
     "dL/d(output) for --grads, default ones (repeatable)"},
    {"grads", 0, TEXT, "F.safetensors", RUNNING | EMIT | DUMP, FIELD(grads), 0, 0,
     "the backward pass, too: write the gradient of every parameter and float input; `none`\n"
     "                            writes no file (emit, dump and bench never do)"},
    {"expect-grads", 0, TEXT, "F.safetensors", COMPARE, FIELD(expect_grads), 0, 0,
     "what the gradients should be"},
    {"backends", 0, TEXT, "LIST", COMPARE, FIELD(backends), 0, 0,
     "backends to run, with commas between (default ref,tcc,cc; with --expect tcc)"},
    {"backend", 0, BACKEND, "NAME", COMPILING | VARY, FIELD(backend), 0, 0,
     "tcc: TinyCC in memory (default); cc: $CC or cc; standalone: the emitted file, by $CC or\n"
     "                            cc -O2; ref: the interpreter"},
    {"threads", 0, COUNT, "N", COMPILING | VARY, FIELD(threads), 1, 256,
     "size of the thread pool (default: the machine's cores)"},
    {"isa", 0, TEXT, "NAME", COMPILING | VARY, FIELD(isa), 0, 0,
     "avx512, avx2 or plain (default: the best there is)"},
    {"seed", 0, COUNT, "N", COMPILING | VARY, FIELD(seed), 0, INT64_MAX,
     "of whatever is drawn at random; an option `seed` of the script has it, too (default 0)"},
    {"atol", 0, REAL, "X", COMPARE, FIELD(atol), 0, 0,
     "absolute tolerance (default 2e-5; 0 if only --rtol or --max-ulp is given)"},
    {"rtol", 0, REAL, "X", COMPARE, FIELD(rtol), 0, 0,
     "relative tolerance (default 1e-5; 0 if only --atol or --max-ulp is given)"},
    {"max-ulp", 0, COUNT, "N", COMPARE, FIELD(max_ulp), 0, INT64_MAX,
     "greatest distance of each element, counted in floats; alone it is the only test"},
    {"after", 0, TEXT, "PASS", DUMP, FIELD(after), 0, 0, "the pass to print after"},
    {"skip", 0, LIST, "PASS", (MODELS & ~PARAMS) | VARY, FIELD(skip), 0, 0,
     "leave a pass out (repeatable)"},
    {"max-arena", 0, SIZE, "BYTES", (MODELS & ~PARAMS) | VARY, FIELD(max_arena), 0, 0,
     "compute values again rather than keep them, so that the arena has no more than so many\n"
     "                            bytes (or 512K, 64M, 2G); weights and scratch are apart"},
    {"out", 'o', TEXT, "FILE.c", EMIT, FIELD(out), 0, 0, "the file to write"},
    {"train", 0, FLAG, "", EMIT, FIELD(train), 0, 0,
     "the script is a step of a training: write a function from state to state"},
    {"seconds", 0, REAL, "X", BENCH, FIELD(seconds), 0, 0,
     "how long to measure, for each --vs as long again (default 1)"},
    {"per-kernel", 0, FLAG, "", BENCH, FIELD(per_kernel), 0, 0, "measure each kernel, too"},
    {"vs", 0, LIST, "SETTING", BENCH, FIELD(vs), 0, 0,
     "measure the model under another setting beside this one (repeatable)"},
    {"compile-only", 0, FLAG, "", BENCH, FIELD(compile_only), 0, 0,
     "measure how long compiling takes, and run nothing"},
    {"turns", 0, FLAG, "", BENCH, FIELD(turns), 0, 0,
     "measure for --seconds at each line of standard input; a line of JSON for each"},
    {"steps", 0, COUNT, "N", TRAIN, FIELD(steps), 0, INT32_MAX, "how many steps to make"},
    {"checkpoint", 0, TEXT, "F.safetensors", TRAIN, FIELD(checkpoint), 0, 0,
     "write parameters and state at the end"},
    {"every", 0, COUNT, "N", TRAIN, FIELD(every), 1, INT32_MAX,
     "write the checkpoint after every N steps, too"},
    {"resume", 0, TEXT, "F.safetensors", TRAIN, FIELD(resume), 0, 0,
     "go on from a checkpoint, with its seed and the options that its script had"},
    {"save", 0, TEXT, "F.safetensors", TRAIN, FIELD(save), 0, 0,
     "write the parameters alone at the end"},
    {"loss-curve", 0, TEXT, "F.svg", TRAIN, FIELD(loss_curve), 0, 0,
     "draw the losses of the whole training (by gnuplot); F.png, too"},
    {"log-scale", 0, FLAG, "", TRAIN, FIELD(log_scale), 0, 0,
     "draw the losses of --loss-curve on a logarithmic axis"},
    {"validate-every", 0, COUNT, "N", TRAIN, FIELD(validate_every), 1, INT32_MAX,
     "after every N steps, compute the loss on data that nothing is learned from"},
    {"validation-input", 0, PAIR, "NAME=F.npy", TRAIN, FIELD(validation_input), 0, 0,
     "read an input of the validation (repeatable); its loss is the mean over all batches"},
    {"log", 0, COUNT, "N", TRAIN, FIELD(log), 1, INT32_MAX, "print a line every N steps"},
    {"kernels", 0, FLAG, "", RUN, FIELD(kernels), 0, 0, "list the kernels that were compiled"},
    {"markdown", 0, FLAG, "", BENCH | OPS, FIELD(markdown), 0, 0, "print Markdown"},
    {"json", 0, FLAG, "", COMPARE | PARAMS | BENCH, FIELD(json), 0, 0, "print the result as JSON"},
    {"help", 'h', FLAG, "", ALL, FIELD(help), 0, 0, "print this"},
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
    *CR_PUSH(pairs->items, pairs->n, pairs->cap) = (struct cr_setting){key, equals + 1, false};
    return 0;
}

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

/* Bytes, or with a letter behind KiB, MiB or GiB. */
static int take_size(int64_t *field, const struct option_row *row, const char *text,
                     struct cr_error *error)
{
    static const char letters[] = "KMG";
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    bool ok = end != text && !errno && value > 0;
    const char *letter = ok && *end ? strchr(letters, *end) : NULL;
    int64_t unit = letter ? (int64_t)1 << 10 * (letter - letters + 1) : 1;
    if (!ok || end[letter != NULL] || value > INT64_MAX / unit)
        return cr_fail(error,
                       "--%s %.60s: expected a number of bytes from 1 on, or with K, M or G behind "
                       "it of KiB, MiB or GiB",
                       row->name, text);
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
    for (int i = 0; i < CR_BACKEND_COUNT; i++)
        if (strcmp(name, cr_backend_names[i]) == 0)
            return i;
    return cr_fail(error, "backend '%.60s', expected tcc, cc, ref or standalone", name);
}

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

/* The names of the options that --vs may change, in one line. */
static void names_to_vary(char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < N_ROWS && at < size; i++)
        if (rows[i].verbs & VARY)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", rows[i].name);
}

int cr_options_set(struct cr_options *o, const char *name, const char *text, struct cr_error *error)
{
    char names[200];
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & VARY && strcmp(rows[i].name, name) == 0)
            return take(o, &rows[i], text, error);
    names_to_vary(names, sizeof names);
    return cr_fail(error, "--vs %.60s: expected standalone, FILE.lua, or NAME=VALUE with one of %s",
                   name, names);
}

/* ---- copies ---- */

static void copy_pairs(struct cr_pairs *pairs)
{
    struct cr_pairs old = *pairs;
    *pairs = (struct cr_pairs){0};
    for (int i = 0; i < old.n; i++)
        *CR_PUSH(pairs->items, pairs->n, pairs->cap) = (struct cr_setting){
            cr_strdup(old.items[i].key), old.items[i].value, old.items[i].optional};
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
    struct cr_pairs *pairs[] = {&copy.set,    &copy.input,     &copy.output,
                                &copy.expect, &copy.cotangent, &copy.validation_input};
    struct cr_list *lists[] = {&copy.weights, &copy.skip, &copy.vs};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        copy_pairs(pairs[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        copy_list(lists[i]);
    return copy;
}

/* ---- parsing ---- */

/* Values of getopt_long for row i, clear of the letters of short options. */
enum { FIRST_VALUE = 1000 };

/* The long options of a verb, for getopt_long. */
static void long_options(const struct cr_verb *verb, struct option *options)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].verbs & verb->bit)
            *options++ = (struct option){rows[i].name,
                                         rows[i].kind == FLAG ? no_argument : required_argument,
                                         NULL, FIRST_VALUE + i};
    *options = (struct option){0};
}

/* An option the verb does not have: perhaps another verb's, perhaps mistyped. */
static int unknown_option(const struct cr_verb *verb, const char *word, struct cr_error *error)
{
    const char *names[N_ROWS];
    char near[160], name[64];
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    for (int i = 0; i < N_ROWS; i++) {
        names[i] = rows[i].verbs & verb->bit ? rows[i].name : NULL;
        if (!names[i] && strcmp(rows[i].name, name) == 0)
            return cr_fail(error, "%s has no option --%s (crescent %s --help lists them)",
                           verb->name, name, verb->name);
    }
    const char *best = cr_nearest(name, names, N_ROWS);
    snprintf(near, sizeof near, best ? ", did you mean --%s?" : "%s", best ? best : "");
    return cr_fail(error, "%s: unknown option %.60s%s (crescent %s --help lists them)", verb->name,
                   word, near, verb->name);
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

/* One answer of getopt_long. */
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

/* How many processors this process may use. */
static int64_t cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > 256 ? 256 : n;
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
                             .seconds = 1,
                             .steps = -1,
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
    if (!(verb->bit & MODELS))
        return optind == argc ? 0
                              : cr_fail(error, "%s: '%.200s': expected options only", verb->name,
                                        argv[optind]);
    if (optind == argc)
        return cr_fail(error, "%s: no model given, expected crescent %s %s", verb->name, verb->name,
                       verb->usage);
    if (optind + 1 < argc)
        return cr_fail(error, "%s: '%.200s' after the model %.200s, expected one model only",
                       verb->name, argv[optind + 1], argv[optind]);
    o->model = argv[optind];
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
    free_pairs(&o->set);
    free_pairs(&o->input);
    free_pairs(&o->output);
    free_pairs(&o->expect);
    free_pairs(&o->cotangent);
    free_pairs(&o->validation_input);
    free(o->weights.items);
    free(o->skip.items);
    free(o->vs.items);
}

/* ---- help ---- */

void cr_help(FILE *out)
{
    fputs("usage: crescent VERB MODEL.lua [options]\n\n"
          "Compiles a model described by a Lua script to fused C and runs it.\n\nverbs:\n",
          out);
    for (int i = 0; i < cr_n_verbs; i++)
        fprintf(out, "  %-9s%s\n", cr_verbs[i].name, cr_verbs[i].summary);
    fputs("\n  crescent VERB --help    options of a verb\n"
          "  crescent --version      the version\n\n"
          "for instance:\n"
          "  crescent run graphs/gpt2_block.lua --set T=64\n"
          "  crescent emit graphs/gpt2_block.lua -o gpt2_block.c\n\n"
          "exit status: 0 done, 1 a comparison failed, 2 the input is at fault, 3 Crescent is, "
          "130 interrupted\n",
          out);
}

void cr_help_verb(FILE *out, const struct cr_verb *verb)
{
    fprintf(out, "usage: crescent %s %s\n\n%s.\n%s%s\noptions:\n", verb->name, verb->usage,
            verb->summary, *verb->about ? "\n" : "", verb->about);
    for (int i = 0; i < N_ROWS; i++) {
        char left[64], letter[8] = "";
        if (!(rows[i].verbs & verb->bit))
            continue;
        if (rows[i].letter)
            snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, rows[i].name,
                 rows[i].kind == FLAG ? "" : " ", rows[i].value);
        fprintf(out, "  %-25s %s\n", left, rows[i].help);
    }
}
