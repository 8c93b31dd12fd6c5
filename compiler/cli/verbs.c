/* verbs.c - the table of verbs; see verbs.h. */
#include "verbs.h"

#include <string.h>

#include "compiler/ir/nearest_name.h"
#include "terminal.h"

static const struct cr_verb verbs[] = {
    {"run", CR_VERB_RUN, cr_verb_run, "MODEL [options]",
     "compile a model, run it, report shapes and times",
     "Without --weights the parameters are those of the model's files or, if it is a script, drawn\n"
     "from --seed as PyTorch's layers would; without --input the inputs are drawn from a standard\n"
     "normal distribution (token ids: uniformly).  --output takes the names of outputs and of\n"
     "values the script tapped.\n",
     "  crescent run graphs/gpt2_block.lua --set T=64\n"
     "  crescent run graphs/gpt2_block.lua --set T=3 --input x=x.npy --output y=y.npy\n"
     "  crescent run gpt2-folder --format q8 --kernels\n"},
    {"emit", CR_VERB_EMIT, cr_verb_emit, "MODEL -o FILE.c [options]",
     "write standalone C: FILE.c and FILE.h",
     "The C needs nothing but a C11 compiler, libc and libm.  With --generate it is a program that\n"
     "goes on with a text as crescent generate does: cc -O2 -DFILE_MAIN FILE.c -lm -o FILE, then\n"
     "FILE WEIGHTS --prompt TEXT --tokens N (docs/generate.md).  With --embed-text it prints the\n"
     "vectors of texts, a line each, as crescent embed does, or the labels that crescent classify\n"
     "or rank prints: FILE WEIGHTS <TEXTS (docs/embed.md).\n",
     "  crescent emit graphs/gpt2_block.lua -o block.c\n"
     "  crescent emit graphs/fables --generate --embed -o fables.c\n"},
    {"generate", CR_VERB_GENERATE, cr_verb_generate, "MODEL [options]",
     "go on with a text",
     "Prints what follows the prompt, as it is made.  Without a prompt a text begins with the\n"
     "token that config.json has for it.  Without --temperature the likeliest token is taken; else\n"
     "one is drawn as Hugging Face's generation does, and a seed gives the same text on every\n"
     "machine.  A prompt longer than the context is refused; where the context is full the text\n"
     "ends, with a note.  Ctrl-C ends it, too, with status 130.\n",
     "  crescent generate graphs/fables --prompt 'Once upon a time'\n"
     "  crescent generate graphs/fables --temperature 0.7 --seed 7 --tokens 100\n"
     "  crescent generate model.gguf --prompt-file - --stats\n"},
    {"pack", CR_VERB_PACK, cr_verb_pack, "MODEL [options]",
     "keep a model's weights as its kernels read them, for a quick start",
     "Writes the packed weights to $XDG_CACHE_HOME/crescent, where crescent generate (of a model\n"
     "that does not generate: crescent run) with the same --format, --arithmetic, --isa and\n"
     "--threads maps them.  These verbs keep them by themselves after a first run; pack is for\n"
     "whoever wants the first run to be quick (docs/generate.md).\n",
     "  crescent pack model-folder --format q8\n"
     "  crescent pack model.gguf --cache-weights 20G\n"},
    {"evaluate", CR_VERB_EVALUATE, cr_verb_evaluate, "MODEL [--text TEXT | FILE | -] [options]",
     "measure how well a model predicts a text",
     "Prints the perplexity: exp of the mean of -ln p of each token, given those before it.  The\n"
     "text is cut into windows of --context tokens, and the first token of a window is not\n"
     "predicted; if a text begins with a token of its own, each window does.  With --format or\n"
     "--arithmetic a second line is that of the model that has them: the ratio of the\n"
     "perplexities, the mean of the Kullback-Leibler divergence from the model in f32 (in nats),\n"
     "and the share of tokens whose likeliest successor is the same in both (docs/accuracy.md).\n"
     "Without them a GGUF file's weights are in formats of its `own`, whose bits are those of f32.\n",
     "  crescent evaluate graphs/fables --text 'Once upon a time' --format q8\n"
     "  crescent evaluate model-folder book.txt --context 512\n"},
    {"train", CR_VERB_TRAIN, cr_verb_train, "STEP.lua [options]",
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
     "one, set to true, and computes its `loss` without updating anything.\n",
     "  crescent train graphs/train_sort.lua --log 100 --save sort.safetensors\n"
     "  crescent train step.lua --steps 1000 --checkpoint c.safetensors --every 100\n"
     "  crescent train step.lua --resume c.safetensors --checkpoint c.safetensors\n"},
    {"compare", CR_VERB_COMPARE, cr_verb_compare, "MODEL [options]",
     "run on several backends and hold the outputs against each other or against files",
     "Each output of each backend is held against its --expect file or, if it has none,\n"
     "against the first backend listed.  An element passes if it differs by at most\n"
     "atol + rtol * |expected|, where the default atol grows with the root mean square of the\n"
     "expected values; NaN passes against NaN only, an infinity against its equal.\n"
     "Where both tcc and cc run, their bits must be equal (all NaN count as one).  The exit\n"
     "status is 1 if anything fails.\n"
     "\n"
     "max ulp is the largest error in units of the last place of a float as large as the\n"
     "expected value or, where that is larger, as the output's root mean square: an error next\n"
     "to zero counts by the size of the output.  max rel is by the element alone.  With\n"
     "--max-ulp the column is what that limits: the number of floats from the value to the one\n"
     "expected, the most of any element.  --json has both, as max_ulp and max_ulp_each.\n",
     "  crescent compare graphs/gpt2_block.lua --set T=16\n"
     "  crescent compare model.onnx --input x=x.npy --expect y=y.npy --rtol 1e-4\n"},
    {"dump", CR_VERB_DUMP, cr_verb_dump, "MODEL [--after PASS] [options]",
     "print the graph, the kernels, the plan or the program after a pass",
     "`--after script` prints the graph as the script built it.  Without --after the passes\n"
     "are listed.\n",
     "  crescent dump graphs/tiny_block.lua\n"
     "  crescent dump graphs/tiny_block.lua --after fuse\n"},
    {"explain", CR_VERB_EXPLAIN, cr_verb_explain, "MODEL -o REPORT.html [options]",
     "write a page that shows what the compiler made of a model",
     "One HTML file, which needs no server and no network: lines of Lua, nodes of the graph after\n"
     "each pass, kernels and lines of C, linked; and the arena over time.  With --bench each\n"
     "kernel's time beside the least that the machine allows, with --check its error.  --json\n"
     "prints the document that the page is made of (docs/explain.md).\n",
     "  crescent explain graphs/gpt2_block.lua -o block.html --bench\n"
     "  crescent explain graphs/gpt2_block.lua -o block.html --against skip=fuse\n"},
    {"params", CR_VERB_PARAMS, cr_verb_params, "MODEL [options]",
     "list the parameters: name, shape, count, total", "",
     "  crescent params graphs/gpt2.lua --config graphs/configs/gpt2.lua\n"
     "  crescent params model-folder --format q8\n"},
    {"inspect", CR_VERB_INSPECT, cr_verb_inspect, "FILE [options]",
     "list what is in a file of tensors",
     "FILE is a .safetensors file, the index.json of its shards, a GGUF, ONNX or .npy file, or a\n"
     "folder in Hugging Face's layout.  Tensors whose names differ in one number, and nothing else,\n"
     "are one row, with the range: h.{0..11}.ln_1.weight.  Of an ONNX file they are the initializers,\n"
     "and above them stand the producer, the opsets, the inputs and the outputs.\n",
     "  crescent inspect graphs/fables\n"
     "  crescent inspect model.safetensors --all --stats\n"},
    {"bench", CR_VERB_BENCH, cr_verb_bench, "MODEL [options]",
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
     "the ratio of their times is that of a turn.\n",
     "  crescent bench graphs/gpt2_block.lua --set T=128 --per-kernel\n"
     "  crescent bench graphs/gpt2_block.lua --vs threads=2 --vs isa=plain\n"},
    {"targets", CR_VERB_TARGETS, cr_verb_targets, "[--target NAME|FILE]",
     "list the machines that loops can be cut for, or the sizes of one",
     "What is printed of one can be kept in a file, changed, and given to --target.  No bit of a\n"
     "result depends on any of it.  `host` is measured on this machine, in some 25 ms; the result is\n"
     "kept in $XDG_CACHE_HOME/crescent.  CRESCENT_TARGET=NAME in the environment takes NAME for it.\n",
     "  crescent targets\n"
     "  crescent targets --target zen4\n"},
    {"tune", CR_VERB_TUNE, cr_verb_tune, "MODEL [options]",
     "find the sizes of loops that are fastest on this machine",
     "Measures the model with one size after another changed, and keeps what is faster.  The\n"
     "result is a small text file, $XDG_CACHE_HOME/crescent/PROCESSOR-ISA.target unless -o\n"
     "names another: run, compare, bench and train take it from then on, as does `--target host`.\n"
     "Begins with --target; no bit of a result depends on any of it.\n",
     "  crescent tune graphs/gpt2_block.lua --set T=128\n"
     "  crescent tune model-folder -o mine.target --seconds 60\n"},
    {"tokenize", CR_VERB_TOKENIZE, cr_verb_tokenize, "MODEL [--text TEXT | FILE | -] [options]",
     "print the ids of a text's tokens, or the text of ids",
     "MODEL is a folder with tokenizer.json, or with vocab.json and merges.txt; or a tokenizer.json;\n"
     "or a GGUF file; or anything with --tokenizer.  The text is read from standard input if none is\n"
     "given.  The ids are those that Hugging Face's tokenizers give, on one line; <s> and the like,\n"
     "which some tokenizers put around a text, are among them, and --decode leaves them out again\n"
     "there, so that it prints the text byte for byte, without a line end behind it.\n",
     "  crescent tokenize graphs/fables --text 'Once upon a time'\n"
     "  crescent tokenize graphs/fables --decode 1,2,3\n"},
    {"embed", CR_VERB_EMBED, cr_verb_embed, "FOLDER [--text TEXT | FILE | -] [options]",
     "print the vector of each text",
     "FOLDER is an encoder in Hugging Face's layout with its tokenizer.  A line of FILE, or of standard\n"
     "input, is a text; its vector is a line of JSON, or with -o a row of a .npy file.  modules.json and\n"
     "the files that it names say how vectors of tokens become one, as for sentence-transformers.  The\n"
     "bits of a vector depend on its text alone.  A text that is too long is cut, bytes that are no\n"
     "UTF-8 become U+FFFD, and a note at the end says of how many texts.\n",
     "  crescent embed all-MiniLM-L6-v2 --text 'A graph compiler'\n"
     "  crescent embed bge-small-en-v1.5 lines.txt -o vectors.npy --query\n"},
    {"rank", CR_VERB_RANK, cr_verb_rank, "FOLDER --query TEXT [FILE | -] [options]",
     "order documents by how well they answer a question",
     "FOLDER is a reranker: an encoder with a classifier of one label.  A line of FILE, or of standard\n"
     "input, is a document; printed are score and number of each line, the best first.\n",
     "  crescent rank ms-marco-MiniLM-L6-v2 --query 'What is fused?' documents.txt\n"},
    {"classify", CR_VERB_CLASSIFY, cr_verb_classify, "FOLDER [--text TEXT | FILE | -] [options]",
     "print the labels of each text with their probabilities",
     "FOLDER is an encoder with a classifier; labels are those of id2label in its config.json.  A line of\n"
     "FILE, or of standard input, is a text.\n",
     "  crescent classify sentiment-folder --text 'A page that I like'\n"},
    {"import", CR_VERB_IMPORT, cr_verb_import, "FILE.onnx -o NAME.lua [options]",
     "write an ONNX file as a script and its weights",
     "The script is one that a person can read; its weights are NAME.safetensors beside it.  --set\n"
     "gives the sizes that are symbols in the file, and the numbers of inputs that shapes depend on\n"
     "(shape=2,3); --input takes both from files.  Every verb takes an ONNX file as it is, too\n"
     "(docs/onnx.md).\n",
     "  crescent import model.onnx -o model.lua --set batch=1 --length seq=128\n"},
    {"ops", CR_VERB_OPS, cr_verb_ops, "[options]",
     "list the primitive operations of the graph language",
     "The tables are runtime/elementwise.h, runtime/reductions.h and compiler/ir/ops.def; with --onnx\n"
     "compiler/import/ops.def.\n",
     "  crescent ops\n"
     "  crescent ops --onnx --markdown\n"},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

const struct cr_verb *cr_verb_find(const char *name, struct cr_error *error)
{
    const char *names[N_VERBS];
    char hint[160];
    for (int i = 0; i < N_VERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(name, names[i]) == 0)
            return &verbs[i];
    }
    cr_fail(error, "'%.60s' is not a verb%s (crescent --help lists them)", name,
            cr_did_you_mean(hint, sizeof hint, name, names, N_VERBS));
    return NULL;
}

const struct cr_verb *cr_verb_at(int index)
{
    return index >= 0 && index < N_VERBS ? &verbs[index] : NULL;
}

/* Prints the verbs in a line or two each, how to get more help, and examples. */
void cr_help(FILE *out)
{
    int width = cr_columns();
    fputs("usage: ", out);
    cr_put_wrapped(out, "crescent VERB MODEL [options]", 7, 7, width);
    fputc('\n', out);
    cr_put_wrapped(out,
                   "Compiles a model to fused C and runs it.  MODEL is a Lua script that describes it, or a "
                   "folder in Hugging Face's layout: config.json, model.safetensors or its shards; or a GGUF "
                   "file, or an ONNX file.  A script that was installed is found by its name: gpt2_block.lua.",
                   0, 0, width);
    fputs("\nverbs:\n", out);
    for (int i = 0; i < N_VERBS; i++) {
        fprintf(out, "  %-9s", verbs[i].name);
        cr_put_wrapped(out, verbs[i].summary, 11, 11, width);
    }
    fputs("\n  crescent VERB --help    ", out);
    cr_put_wrapped(out, "options of a verb", 26, 26, width);
    fputs("  crescent --version      ", out);
    cr_put_wrapped(out, "the version, and what it was built with", 26, 26, width);
    fprintf(out, "  crescent help --man VERB, --completion bash|zsh|fish\n%26s", "");
    cr_put_wrapped(out, "a page of the manual, completions of a shell", 26, 26, width);
    fputs("\nfor instance:\n"
          "  crescent run graphs/gpt2_block.lua --set T=64\n"
          "  crescent generate graphs/fables --prompt 'Once upon a time'\n"
          "  crescent emit graphs/gpt2_block.lua -o gpt2_block.c\n\n",
          out);
    cr_put_wrapped(out,
                   "exit status: 0 done, 1 a comparison failed, 2 the input is at fault, 3 Crescent is, 130 "
                   "interrupted",
                   0, 13, width);
}
