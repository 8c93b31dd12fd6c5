/*
 * test_model_folders.c - folders in Hugging Face's layout in place of a script: config.json selects
 * a built-in script, and parameters are found by the names of such files.  Errors in a folder are
 * reported in one line.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/safetensors.h"

enum { MAX_TENSORS = 64, MAX_OUTPUT = 1 << 14 };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))

static void set_up(void)
{
    strcpy(folder, "/tmp/test_model_folders.XXXXXX");
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

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static int n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- the parameters of a model ---- */

/* Tensors that a test writes to a file. */
struct tensors {
    struct cr_st_tensor items[MAX_TENSORS];
    char names[MAX_TENSORS][100];
    int64_t shapes[MAX_TENSORS][CRESCENT_MAX_RANK];
    int n;
};

static void add(struct tensors *t, const char *name, int rank, const int64_t *shape,
                const float *data)
{
    int i = t->n++;
    ck_assert_int_lt(i, MAX_TENSORS);
    snprintf(t->names[i], sizeof t->names[i], "%s", name);
    memcpy(t->shapes[i], shape, (size_t)rank * sizeof *shape);
    t->items[i] = (struct cr_st_tensor){.name = t->names[i], .type = CR_ST_F32, .rank = rank,
                                        .shape = t->shapes[i], .data = data};
}

static void free_tensors(struct tensors *t)
{
    for (int i = 0; i < t->n; i++)
        free((void *)t->items[i].data);
    t->n = 0;
}

/* Writes tensors first .. end - 1 as a file. */
static void write_tensors(const char *name, const struct tensors *t, int first, int end)
{
    char error[400] = "";
    struct cr_writer writer;
    const char *path = in_folder(name);
    ck_assert_msg(cr_writer_open(&writer, path, error, sizeof error) == 0 &&
                      cr_safetensors_put(&writer, t->items + first, end - first, NULL, 0, error,
                                         sizeof error) == 0 &&
                      cr_writer_commit(&writer, error, sizeof error) == 0,
                  "%s", error);
}

/* Copies the parameters of a model. */
static void take_parameters(struct tensors *t, const crescent_model *model)
{
    crescent_port port;
    for (int i = 0; i < crescent_port_count(model, CRESCENT_PARAM); i++) {
        GOOD(crescent_port_at(model, CRESCENT_PARAM, i, &port));
        float *data = calloc((size_t)crescent_port_elements(&port), sizeof *data);
        GOOD(crescent_get_weight(model, i, data));
        add(t, port.name, port.rank, port.shape, data);
    }
}

/* Runs a model on ids; returns the number of elements of its first output. */
static int64_t run(crescent_model *model, float *first)
{
    crescent_port port;
    void *inputs[2], *outputs[2] = {first, NULL};
    int n_inputs = crescent_port_count(model, CRESCENT_INPUT);
    for (int i = 0; i < n_inputs; i++) {
        GOOD(crescent_port_at(model, CRESCENT_INPUT, i, &port));
        inputs[i] = calloc((size_t)crescent_port_elements(&port), sizeof(float));
        GOOD(crescent_draw_input(model, i, 5, inputs[i]));
    }
    if (crescent_port_count(model, CRESCENT_OUTPUT) > 1)
        outputs[1] = calloc(MAX_OUTPUT, sizeof(float));
    GOOD(crescent_run(model, (const void *const *)inputs, outputs));
    for (int i = 0; i < n_inputs; i++)
        free(inputs[i]);
    free(outputs[1]);
    GOOD(crescent_port_at(model, CRESCENT_OUTPUT, 0, &port));
    ck_assert_int_le(crescent_port_elements(&port), MAX_OUTPUT);
    return crescent_port_elements(&port);
}

/* ---- models ---- */

#define GPT2                                                                                       \
    "{\"model_type\": \"gpt2\", \"n_embd\": 16, \"n_layer\": 2, \"n_head\": 2, \"vocab_size\": 24,"  \
    " \"n_positions\": 32, \"architectures\": [\"GPT2LMHeadModel\"]}"
#define LLAMA_SIZES                                                                                \
    " \"hidden_size\": 16, \"intermediate_size\": 24, \"num_hidden_layers\": 2,"                    \
    " \"num_attention_heads\": 2, \"vocab_size\": 24"
#define LLAMA "{\"model_type\": \"llama\"," LLAMA_SIZES "}"
#define LLAMA_TIED "{\"model_type\": \"llama\"," LLAMA_SIZES ", \"tie_word_embeddings\": true}"
#define NEOX "{\"model_type\": \"gpt_neox\"," LLAMA_SIZES ", \"rope_parameters\": {}}"
#define XLM "{\"model_type\": \"xlm-roberta\"," LLAMA_SIZES ", \"max_position_embeddings\": 32}"
#define CLIP "{\"model_type\": \"clip_text_model\"," LLAMA_SIZES ", \"max_position_embeddings\": 32}"
#define BERT "{\"model_type\": \"bert\"," LLAMA_SIZES ", \"max_position_embeddings\": 32}"

/* How names of a file differ from those of the model's parameters, and additional tensors of the
 * file. */
struct naming {
    const char *script, *config;
    const char *less;                   /* a prefix that is removed from names, or "" */
    const char *more;                   /* a prefix that is added to names, or "" */
    const char *from, *to, *from2, *to2; /* replacements within names, or null */
    const char *extra[3];               /* further tensors of the file, of one element */
    int shards;                         /* 0: one file */
};

static const struct naming namings[] = {
    {"graphs/gpt2.lua", GPT2, .less = ""},
    {"graphs/gpt2.lua", GPT2, .less = "transformer."},
    {"graphs/gpt2.lua", GPT2, .less = "transformer.",
     .extra = {"h.0.attn.bias", "h.1.attn.masked_bias"}},
    {"graphs/gpt2.lua", GPT2, .less = "", .from = "transformer.wte.weight", .to = "lm_head.weight"},
    {"graphs/gpt2.lua", GPT2, .less = "transformer.", .shards = 3},
    {"graphs/llama.lua", LLAMA, .less = ""},
    {"graphs/llama.lua", LLAMA, .less = "model.", .shards = 2,
     .extra = {"layers.0.self_attn.rotary_emb.inv_freq"}},
    {"graphs/llama.lua", LLAMA_TIED, .less = "model.", .from = "embed_tokens", .to = "lm_head"},
    {"graphs/gpt_neox.lua", NEOX, .less = "gpt_neox.",
     .extra = {"layers.0.attention.bias", "layers.0.attention.masked_bias",
               "layers.1.attention.rotary_emb.inv_freq"}},
    {"graphs/roberta.lua", XLM, .less = "", .more = "roberta."},
    {"graphs/clip_text_model.lua", CLIP, .less = "text_model."},
    {"graphs/bert.lua", BERT, .less = ""},
    {"graphs/bert.lua", BERT, .less = "", .more = "bert.", .extra = {"bert.embeddings.position_ids"}},
    {"graphs/bert.lua", BERT, .less = "", .more = "bert.", .from = "LayerNorm.weight",
     .to = "LayerNorm.gamma", .from2 = "LayerNorm.bias", .to2 = "LayerNorm.beta"},
};

/* Replaces the end of a name. */
static void replace_in(char *name, size_t size, const char *from, const char *to)
{
    char *at = from ? strstr(name, from) : NULL;
    char rest[100];
    if (!at)
        return;
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    snprintf(at, size - (size_t)(at - name), "%s%s", to, rest);
}

static void rename_tensors(struct tensors *t, const struct naming *naming)
{
    static const int64_t one[] = {1};
    for (int i = 0; i < t->n; i++) {
        char name[100];
        size_t n = strlen(naming->less);
        const char *kept = t->names[i] + (strncmp(t->names[i], naming->less, n) == 0 ? n : 0);
        snprintf(name, sizeof name, "%s%s", naming->more ? naming->more : "", kept);
        replace_in(name, sizeof name, naming->from, naming->to);
        replace_in(name, sizeof name, naming->from2, naming->to2);
        memcpy(t->names[i], name, sizeof name);
    }
    for (int i = 0; i < 3 && naming->extra[i]; i++)
        add(t, naming->extra[i], 1, one, calloc(1, sizeof(float)));
}

/* Writes tensors as one file, or as shards with their index. */
static void write_files(const struct tensors *t, int shards)
{
    if (!shards) {
        write_tensors("model.safetensors", t, 0, t->n);
        return;
    }
    FILE *file = fopen(in_folder("model.safetensors.index.json"), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "{\n  \"metadata\": {\"total_size\": 1.5e3, \"of\": [1, {\"a\": null}, []]},\n"
                  "  \"weight_map\": {\n");
    for (int s = 0; s < shards; s++) {
        char name[64];
        int first = t->n * s / shards, end = t->n * (s + 1) / shards;
        snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", s + 1, shards);
        write_tensors(name, t, first, end);
        for (int i = first; i < end; i++)
            fprintf(file, "    \"%s\": \"%s\"%s\n", t->names[i], name, i + 1 < t->n ? "," : "");
    }
    fprintf(file, "  }\n}\n");
    ck_assert_int_eq(fclose(file), 0);
}

/* Draws the weights of a script's model and saves them in the folder under other names; `expected`
 * becomes the model's output. */
static int64_t make_folder(const struct naming *naming, float *expected)
{
    struct tensors tensors = {.n = 0};
    crescent_model *model;
    write_text("config.json", naming->config);
    const crescent_script how = {.config = in_folder("config.json")};
    GOOD(crescent_open(context, naming->script, &how, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    int64_t n = run(model, expected);
    take_parameters(&tensors, model);
    rename_tensors(&tensors, naming);
    write_files(&tensors, naming->shards);
    free_tensors(&tensors);
    crescent_close(model);
    return n;
}

START_TEST(finds_the_weights)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    crescent_model *model;
    crescent_surplus surplus;
    int64_t n = make_folder(&namings[_i], expected);
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    const char *path = crescent_weights_path(model);
    ck_assert_str_eq(path, folder);
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, &surplus));
    ck_assert_int_eq(surplus.count, 0);
    ck_assert_int_eq(run(model, found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    crescent_close(model);
}
END_TEST

#define ONE_TABLE                                                                                  \
    "model.safetensors: tensor 'lm_head.weight' differs from 'model.embed_tokens.weight', expected"  \
    " the same"

/* Files with a separate head, for LLAMA_TIED, whose head is tied to the embedding table. */
static const struct {
    int64_t rows;
    float added; /* added to an element of the table */
    const char *pooling, *message;
} heads[] = {
    {24, 0, "none", NULL},
    {24, 1e-3f, "none", ONE_TABLE},
    {23, 0, "none", ONE_TABLE},
    {24, 1e-3f, "lasttoken", NULL}, /* vectors need no head */
};

/* Writes the weights of a model with a separate head. */
static void write_with_head(crescent_model *model, int64_t rows, float added)
{
    const int64_t shape[] = {rows, 16};
    struct tensors tensors = {.n = 0};
    float *head = calloc(24 * 16, sizeof *head);
    take_parameters(&tensors, model);
    for (int i = 0; i < tensors.n; i++)
        if (strcmp(tensors.names[i], "model.embed_tokens.weight") == 0)
            memcpy(head, tensors.items[i].data, 24 * 16 * sizeof *head);
    head[22 * 16 + 3] += added;
    add(&tensors, "lm_head.weight", 2, shape, head);
    write_files(&tensors, 0);
    free_tensors(&tensors);
}

START_TEST(has_one_table_for_both)
{
    const crescent_setting pooling = {"pooling", heads[_i].pooling};
    const crescent_script how = {.settings = &pooling, .n_settings = 1};
    const char *path = folder;
    crescent_model *model;
    write_text("config.json", LLAMA_TIED);
    GOOD(crescent_open(context, folder, &how, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    write_with_head(model, heads[_i].rows, heads[_i].added);
    if (!heads[_i].message) {
        GOOD(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL));
    } else {
        ck_assert_int_eq(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL),
                         CRESCENT_FAILED);
        ck_assert_ptr_nonnull(strstr(crescent_error(context), heads[_i].message));
    }
    crescent_close(model);
}
END_TEST

/* A folder without config.json serves as a source of weights for any script. */
START_TEST(is_a_source_of_weights)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    crescent_model *model;
    int64_t n = make_folder(&namings[0], expected);
    const char *path = folder;
    const crescent_script how = {.config = _i ? folder : in_folder("config.json")};
    GOOD(crescent_open(context, "graphs/gpt2.lua", &how, NULL, &model));
    ck_assert_ptr_null(crescent_weights_path(model));
    GOOD(crescent_load_weights(model, &path, 1, CRESCENT_MODEL_TENSORS_ONLY, NULL));
    ck_assert_int_eq(run(model, found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    crescent_close(model);
}
END_TEST

/* A built-in script does not load modules from the working directory. */
START_TEST(needs_no_files_beside)
{
    char back[4096];
    crescent_graph *graph;
    write_text("config.json", LLAMA);
    ck_assert_int_eq(mkdir(in_folder("graphs"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder("graphs/lib"), 0700), 0);
    write_text("graphs/lib/llama.lua", "error('the wrong module')");
    write_text("graphs/llama.lua", "error('the wrong script')");
    ck_assert_ptr_nonnull(getcwd(back, sizeof back));
    ck_assert_int_eq(chdir(folder), 0);
    GOOD(crescent_graph_open(context, ".", NULL, &graph));
    ck_assert_str_eq(crescent_graph_name(graph), "llama");
    crescent_graph_close(graph);
    ck_assert_int_eq(chdir(back), 0);
}
END_TEST

/* ---- a script of the user's for a folder ---- */

#define OWN_SCRIPT                                                                                 \
    "local n = require 'own_numbers'\n"                                                            \
    "local o = options({model_type = {'own'}, T = 4, width = 2})\n"                               \
    "return {y = input('x', {o.T, o.width}) * param('w', {o.width}) * n.two}\n"

/* Opens the folder and asserts that its graph is the script's graph with the width of config.json. */
static void takes_own_script(const crescent_script *how)
{
    crescent_graph *graph;
    crescent_port port;
    GOOD(crescent_graph_open(context, folder, how, &graph));
    GOOD(crescent_graph_port_at(graph, CRESCENT_PARAM, 0, &port));
    ck_assert_str_eq(port.name, "w");
    ck_assert_int_eq(port.shape[0], 3);
    crescent_graph_close(graph);
}

/* A script of the user's is found by its path, in the folder, and on CRESCENT_PATH, each with a
 * module beside it. */
START_TEST(takes_a_script_of_ones_own)
{
    char path[128];
    const crescent_script how = {.script = path};
    crescent_graph *graph;
    snprintf(path, sizeof path, "%s/mine/f.lua", folder);
    write_text("config.json", "{\"model_type\": \"own\", \"width\": 3}");
    ck_assert_int_eq(mkdir(in_folder("mine"), 0700), 0);
    write_text("mine/f.lua", OWN_SCRIPT);
    write_text("mine/own_numbers.lua", "return {two = 2}");
    ck_assert_int_eq(crescent_graph_open(context, folder, NULL, &graph), CRESCENT_FAILED);
    takes_own_script(&how);
    write_text("mine/own.lua", OWN_SCRIPT);
    setenv("CRESCENT_PATH", in_folder("mine"), 1);
    takes_own_script(NULL);
    unsetenv("CRESCENT_PATH");
    write_text("own.lua", OWN_SCRIPT);
    write_text("own_numbers.lua", "return {two = 2}");
    takes_own_script(NULL);
    write_text("own.lua", "error 'the script in the folder'");
    ck_assert_int_eq(crescent_graph_open(context, folder, NULL, &graph), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "own.lua:1: the script in the folder"));
    takes_own_script(&how);
    write_text("config.json", "{\"width\": 3}"); /* no model_type */
    takes_own_script(&how);
    write_text("config.json", "{\"model_type\": \"gpt2\", \"width\": 3}");
    ck_assert_int_eq(crescent_graph_open(context, folder, &how, &graph), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "model_type: found 'gpt2', expected own"));
}
END_TEST

/* `--script` is refused in addition to a script, and if the file does not exist. */
START_TEST(refuses_a_script)
{
    const crescent_script how = {.script = "graphs/gpt2.lua"}, none = {.script = "none.lua"};
    crescent_graph *graph;
    ck_assert_int_eq(crescent_graph_open(context, "graphs/gpt2.lua", &how, &graph), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "--script graphs/gpt2.lua: expected a folder"));
    write_text("config.json", GPT2);
    ck_assert_int_eq(crescent_graph_open(context, folder, &none, &graph), CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "none.lua: cannot be read"));
}
END_TEST

/* ---- errors in a folder ---- */

/* Text files and the expected error; "" as a text removes a file. */
static const struct {
    const char *file, *text, *expected;
} wrong_folders[] = {
    {"config.json", "", ": a folder without config.json"},
    {"config.json", "{\"model_type\": \"mamba\"}",
     ": no script for the model_type 'mamba', expected --script F.lua, mamba.lua in the folder or on "
     "CRESCENT_PATH, or one of albert, bert, clip, clip_text_model"},
    {"config.json", "{\"model_type\": \"mixtral\"}", "; the nearest is mistral"},
    {"config.json", "{\"model_type\": \"olmo\", \"rms_norm_eps\": 1}", "; the nearest is llama"},
    {"config.json", "{\"model_type\": \"../lib/nn\"}",
     "'../lib/nn', expected --script F.lua, or one of albert"},
    {"config.json", "{\"model_type\": \"..\"}", "'..', expected --script F.lua, or one of albert"},
    {"config.json", "{}",
     "config.json: no model_type and no architectures, expected \"model_type\": \"gpt2\", as the tensors are "
     "named, or --script F.lua"},
    {"config.json", "{\"model_type\": \"gpt2\", \"model_type\": \"gpt2\"}",
     "config.json:1: JSON: found the key 'model_type' twice, expected it once"},
    {"config.json", "{\"architectures\": []}", "config.json: no model_type and no architectures"},
    {"config.json", "{\"architectures\": \"GPT2LMHeadModel\"}", "no model_type and no architectures"},
    {"config.json", "{\"architectures\": [3]}", "config.json:1: JSON: expected the name of an"},
    {"config.json", "{\"architectures\": [\"GPT2Model\", \"BertModel\"]}",
     "config.json: no model_type, and the architecture 'BertModel', expected a class of one of albert, "},
    {"config.json", "{\"architectures\": [\"Phi3ForCausalLM\"]}", "the architecture 'Phi3ForCausalLM', "},
    {"config.json", "{\"architectures\": [\"GPT2\"]}", "the architecture 'GPT2', expected a class"},
    {"config.json", "{\"model_type\": 3}", "config.json:1: JSON: model_type is not a string"},
    {"config.json", "[]", "config.json:1: found an array, expected an object"},
    {"config.json", "{\n\"a\": [1, 2\n}", "config.json:3: JSON: expected ',' or ']'"},
    {"config.json", "{\"model_type\": \"gpt2\", \"rotor_scale\": 3}", "config.json: rotor_scale 3: "},
    {"config.json", "{\"model_type\": \"gpt2\", \"n_embd\": 20, \"vocab_size\": 24, \"n_layer\": 2,"
                    " \"n_positions\": 32, \"n_head\": 2}",
     "transformer.wte.weight has shape [24, 16], expected [24, 20]"},
    {"config.json", "{\"model_type\": \"gpt2\", \"n_embd\": 16, \"n_layer\": 3, \"n_head\": 2,"
                    " \"vocab_size\": 24, \"n_positions\": 32}",
     ": no tensor 'transformer.h.2.ln_1.weight', expected one of shape [16]"},
    {"model-00002-of-00002.safetensors", "", "model-00002-of-00002.safetensors: cannot be opened"},
    {"model-00002-of-00002.safetensors", "short", "model-00002-of-00002.safetensors: "},
    {"model.safetensors.index.json", "", ": no weights in it, expected model.safetensors or "},
    {"model.safetensors.index.json", "{\"weight_map\": 3}", "index.json:1: JSON: expected an object"},
    {"model.safetensors.index.json", "{\"a\": 1}", "index.json:1: JSON: expected an object"},
    {"model.safetensors.index.json", "{\"weight_map\": {}}", "index.json:1: JSON: expected tensors"},
    {"model.safetensors.index.json", "{\"weight_map\": {\"a\": 4}}",
     "index.json:1: JSON: expected \"TENSOR\": \"FILE\""},
    {"model.safetensors.index.json", "{\"weight_map\": {\n\"a\": \"../x.safetensors\"}}",
     "index.json:2: '../x.safetensors' holds 'a', expected the name of a file beside it"},
    {"model.safetensors.index.json",
     "{\"weight_map\": {\"wte.weight\": \"model-00002-of-00002.safetensors\"}}",
     ": no tensor 'wte.weight' in 'model-00002-of-00002.safetensors', expected one as "
     "model.safetensors.index.json says"},
    {"model.safetensors.index.json",
     "{\"weight_map\": {\"wte.weight\": \"model-00001-of-00002.safetensors\"}}",
     ": its index lists no tensor 'transformer.wpe.weight', expected 'wpe.weight' of /"},
    {"config.json", "{\"model_type\": \"gpt2\", \"n_embd\": -16}",
     "config.json: option n_embd: found '-16', expected at least 1"},
    {"config.json", "{\"model_type\": \"gpt2\", \"n_layer\": 0}",
     "config.json: option n_layer: found '0', expected at least 1"},
    {"config.json", "{\"model_type\": \"gpt2\", \"n_positions\": 0}",
     "config.json: option n_positions: found '0', expected at least 1"},
    {"config.json", "{\"model_type\": \"llama\", \"hidden_size\": 0}",
     "config.json: option hidden_size: found '0', expected at least 1"},
    {"config.json", "{\"model_type\": \"llama\", \"num_hidden_layers\": -1}",
     "config.json: option num_hidden_layers: found '-1', expected at least 1"},
    {"config.json", "{\"model_type\": \"llama\", \"num_attention_heads\": -2}",
     "config.json: option num_attention_heads: found '-2', expected at least 1"},
    {"config.json", "{\"model_type\": \"llama\", \"num_key_value_heads\": 0}",
     "config.json: option num_key_value_heads: found '0', expected at least 1"},
    {"config.json", "{\"model_type\": \"mistral\", \"head_dim\": -4}",
     "config.json: option head_dim: found '-4', expected at least 1"},
    {"config.json", "{\"model_type\": \"mistral\", \"sliding_window\": -1}",
     "config.json: option sliding_window: found '-1', expected at least 0"},
    {"config.json", "{\"model_type\": \"llama\", \"vocab_size\": -3}",
     "config.json: option vocab_size: found '-3', expected at least 1"},
    {"model.safetensors", "", NULL}, /* the unchanged folder is valid */
    {"config.json", "{\"architectures\": [\"GPT2LMHeadModel\", \"GPT2DoubleHeadsModel\"],"
                    " \"model_type\": null, \"n_embd\": 16, \"n_layer\": 2, \"n_head\": 2,"
                    " \"vocab_size\": 24, \"n_positions\": 32.0, \"layer_norm_epsilon\": 1e-3}", NULL},
};

START_TEST(is_refused)
{
    static const struct naming naming = {"graphs/gpt2.lua", GPT2, .less = "transformer.",
                                         .shards = 2};
    static float expected[MAX_OUTPUT];
    crescent_model *model = NULL;
    make_folder(&naming, expected);
    unlink(in_folder(wrong_folders[_i].file));
    if (*wrong_folders[_i].text)
        write_text(wrong_folders[_i].file, wrong_folders[_i].text);
    const char *path = folder;
    int status = crescent_open(context, folder, NULL, NULL, &model);
    if (!status)
        status = crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL);
    crescent_close(model);
    if (!wrong_folders[_i].expected) {
        ck_assert_int_eq(status, CRESCENT_OK);
        return;
    }
    const char *found = crescent_error(context);
    ck_assert_int_eq(status, CRESCENT_FAILED);
    ck_assert_msg(strncmp(found, folder, strlen(folder)) == 0 &&
                      strstr(found, wrong_folders[_i].expected) && !strchr(found, '\n'),
                  "found '%s', expected '%s'", found, wrong_folders[_i].expected);
}
END_TEST

/* For a folder whose weights are files of torch.save, the error says how to convert them. */
START_TEST(tells_how_to_convert)
{
    static const char *const names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
    static float expected[MAX_OUTPUT];
    static const struct naming naming = {"graphs/gpt2.lua", GPT2, .less = "transformer."};
    char start[200];
    make_folder(&naming, expected);
    unlink(in_folder("model.safetensors"));
    for (int i = 0; i < 2; i++) {
        crescent_model *model;
        const char *path = folder;
        write_text(names[i], "");
        GOOD(crescent_open(context, folder, NULL, NULL, &model));
        ck_assert_int_eq(crescent_load_weights(model, &path, 1, CRESCENT_ANY_TENSORS, NULL),
                         CRESCENT_FAILED);
        crescent_close(model);
        snprintf(start, sizeof start, "%s: its weights are in %s, expected model.safetensors; in that "
                                      "folder: python3 -c '", folder, names[i]);
        ck_assert_msg(strncmp(crescent_error(context), start, strlen(start)) == 0, "%s",
                      crescent_error(context));
        ck_assert_str_eq(strrchr(crescent_error(context), '}'), "}, \"model.safetensors\")'");
        unlink(in_folder(names[i]));
    }
}
END_TEST

/* config.json may have numbers such as 32.0 and a list of tokens, the first of which begins a text;
 * an ignored key does not give the number of positions. */
START_TEST(reads_numbers_for_generation)
{
    static const char *const keys[] = {"n_positions"};
    static const char config[] =
        "{\"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 16, \"n_layer\": 1, \"n_head\": 2,"
        " \"vocab_size\": 24.0, \"n_positions\": 32.0, \"n_ctx\": 1.6e1, \"bos_token_id\": [3.0, 4],"
        " \"eos_token_id\": [5, 6.0, 7]}";
    for (int i = 0; i < 2; i++) {
        const crescent_script how = {.ignored = keys, .n_ignored = i};
        const crescent_generation generation = {0};
        crescent_generator *generator;
        crescent_generator_status status;
        write_text("config.json", config);
        GOOD(crescent_generator_open(context, folder, &how, NULL, &generation, &generator));
        GOOD(crescent_generator_get_status(generator, &status));
        ck_assert_int_eq(status.context, i ? 16 : 32);
        ck_assert_int_eq(status.begin, 3);
        ck_assert_int_eq(status.ends, 3);
        crescent_generator_close(generator);
    }
    write_text("config.json", "{\"model_type\": \"gpt2\", \"n_positions\": 32.5}");
    crescent_generator *generator;
    ck_assert_int_ne(crescent_generator_open(context, folder, NULL, NULL, &(crescent_generation){0},
                                             &generator), CRESCENT_OK);
    ck_assert_msg(strstr(crescent_error(context), "config.json:1: JSON: expected a whole number"), "%s",
                  crescent_error(context));
}
END_TEST

/* Every script of a whole model in graphs/ is built in: it declares a model_type. */
START_TEST(knows_every_model)
{
    char command[] = "grep -l 'model_type = {\"' graphs/*.lua | sed 's|graphs/||; s|\\.lua||'";
    char name[64], text[128];
    int n = 0;
    FILE *list = popen(command, "r");
    ck_assert_ptr_nonnull(list);
    for (; fgets(name, sizeof name, list); n++) {
        crescent_graph *graph;
        name[strcspn(name, "\n")] = '\0';
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"hidden_size\": null}", name);
        write_text("config.json", text);
        if (crescent_graph_open(context, folder, NULL, &graph) != CRESCENT_OK)
            ck_assert_msg(!strstr(crescent_error(context), "no script"), "%s",
                          crescent_error(context));
        crescent_graph_close(graph);
    }
    ck_assert_int_eq(pclose(list), 0);
    ck_assert_int_ge(n, 10);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

int main(void)
{
    Suite *suite = suite_create("model_folders");
    TCase *tests = tcase_create("folder");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, finds_the_weights, 0, COUNT(namings));
    tcase_add_loop_test(tests, has_one_table_for_both, 0, COUNT(heads));
    tcase_add_loop_test(tests, is_a_source_of_weights, 0, 2);
    tcase_add_test(tests, takes_a_script_of_ones_own);
    tcase_add_test(tests, refuses_a_script);
    tcase_add_test(tests, needs_no_files_beside);
    tcase_add_loop_test(tests, is_refused, 0, COUNT(wrong_folders));
    tcase_add_test(tests, tells_how_to_convert);
    tcase_add_test(tests, reads_numbers_for_generation);
    tcase_add_test(tests, knows_every_model);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
