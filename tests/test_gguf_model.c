/*
 * test_gguf_model.c - GGUF files in place of a script: the same numbers as a folder in Hugging Face's
 * layout gives bit for bit, whatever type the tensors are of; text to ids as the file's metadata say; and
 * what a script has no option for is refused.
 */
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/numbers.h"
#include "compiler/files/safetensors.h"
#include "gguf_writer.h"

enum { MAX_TENSORS = 64, MAX_OUTPUT = 1 << 14, MAX_VALUES = 1 << 14, HEADS = 2, VOCABULARY = 40 };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static void set_up(void)
{
    strcpy(folder, "/tmp/test_gguf_model.XXXXXX");
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

/* ---- families ---- */

/* A model as a folder has it, and as a GGUF file. */
static const struct family {
    const char *name, *config;
    bool gpt2, interleaved, tied, biased;
    int kv_heads, head;  /* rows of a head */
    const char *scaling; /* of rotary positions, or null */
} families[] = {
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5}",
     false, true, false, false, 1, 16, NULL},
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true, \"attention_bias\": true,"
     " \"mlp_bias\": true, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0}}",
     false, true, true, true, 2, 16, "linear"},
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true,"
     " \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0,"
     " \"original_max_position_embeddings\": 12}}",
     false, true, true, false, 2, 16, "yarn"},
    {"qwen2",
     "{\"model_type\": \"qwen2\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true}",
     false, false, true, true, 1, 16, NULL},
    {"qwen3",
     "{\"model_type\": \"qwen3\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"head_dim\": 32}",
     false, false, false, false, 1, 32, NULL},
    {"gpt2",
     "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, \"n_head\": 2, \"vocab_size\": 40,"
     " \"n_positions\": 48, \"n_inner\": 64}",
     true, false, true, true, 2, 16, NULL},
};

/* The names of both, up to .weight or .bias; of a layer what is behind its number. */
static const char *const names[][2] = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.ln_f", "output_norm"},
    {"ln_1", "attn_norm"},
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
};

/* "model.layers.1.mlp.up_proj.weight" as "blk.1.ffn_up.weight" */
static void gguf_name(char *out, size_t size, const char *name)
{
    char stem[128], layer[32] = "";
    int number, n = 0;
    snprintf(stem, sizeof stem, "%s", name);
    char *dot = strrchr(stem, '.'), *from = stem;
    const char *end = name + (dot - stem);
    *dot = '\0';
    if (sscanf(stem, "model.layers.%d.%n", &number, &n) == 1 ||
        sscanf(stem, "transformer.h.%d.%n", &number, &n) == 1) {
        snprintf(layer, sizeof layer, "blk.%d.", number);
        from += n;
    }
    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(names[i][0], from) == 0) {
            snprintf(out, size, "%s%s%s", layer, names[i][1], end);
            return;
        }
    ck_abort_msg("no name for %s", name);
}

/* "llama.block_count" */
static const char *key_of(const struct family *f, const char *name)
{
    static char key[64];
    snprintf(key, sizeof key, "%s.%s", f->name, name);
    return key;
}

static void put_metadata(struct gguf *g, const struct family *f)
{
    put_text(g, "general.architecture", f->name);
    put_integer(g, key_of(f, "block_count"), 2);
    put_integer(g, key_of(f, "context_length"), 48);
    put_integer(g, key_of(f, "embedding_length"), 32);
    put_integer(g, key_of(f, "feed_forward_length"), 64);
    put_integer(g, key_of(f, "attention.head_count"), HEADS);
    if (f->gpt2) {
        put_real(g, key_of(f, "attention.layer_norm_epsilon"), 1e-5f);
        return;
    }
    put_array(g, key_of(f, "attention.head_count_kv"), GGUF_U32, 2);
    put_u32(&g->values, (uint32_t)f->kv_heads);
    put_u32(&g->values, (uint32_t)f->kv_heads);
    put_integer(g, key_of(f, "attention.key_length"), (uint32_t)f->head);
    put_integer(g, key_of(f, "attention.value_length"), (uint32_t)f->head);
    put_integer(g, key_of(f, "rope.dimension_count"), (uint32_t)f->head);
    put_real(g, key_of(f, "attention.layer_norm_rms_epsilon"), 1e-5f);
    put_real(g, key_of(f, "rope.freq_base"), 500);
    put_integer(g, key_of(f, "vocab_size"), VOCABULARY);
    put_integer(g, key_of(f, "expert_count"), 0);
    if (f->scaling) {
        put_text(g, key_of(f, "rope.scaling.type"), f->scaling);
        put_real(g, key_of(f, "rope.scaling.factor"), 4);
        put_integer(g, key_of(f, "rope.scaling.original_context_length"), 12);
    }
}

/* ---- types of elements ---- */

static float of_half(uint16_t half)
{
    unsigned char at[2] = {(unsigned char)half, (unsigned char)(half >> 8)};
    return cr_number_float(CR_NUMBER_F16, 0, at);
}

/* A binary16 beside a value; halves without a sign are in order. */
static uint16_t half_of(float value)
{
    uint16_t low = 0, high = 0x7bff;
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high + 1) / 2);
        if (of_half(middle) <= fabsf(value))
            low = middle;
        else
            high = (uint16_t)(middle - 1);
    }
    return (uint16_t)(low | (value < 0 ? 0x8000 : 0));
}

/* A block of 32 of these is put into the file, and becomes what the file says. */
static void put_block(struct bytes *b, int type, float *x)
{
    unsigned char q[32], nibbles[16];
    float least = x[0], most = x[0];
    for (int i = 1; i < 32; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    float range = fmaxf(fabsf(least), fabsf(most)) / (type == GGML_Q8_0 ? 127 : 7);
    uint16_t d = half_of(type == GGML_Q4_1 ? (most - least) / 15 : range), m = half_of(least);
    float scale = of_half(d), add = type == GGML_Q4_1 ? of_half(m) : 0;
    int low = type == GGML_Q4_1 ? 0 : type == GGML_Q4_0 ? -8 : -128;
    int high = type == GGML_Q4_1 ? 15 : type == GGML_Q4_0 ? 7 : 127;
    for (int i = 0; i < 32; i++) {
        int n = scale > 0 ? (int)lrintf((x[i] - add) / scale) : 0;
        n = n < low ? low : n > high ? high : n;
        x[i] = scale * (float)n + add;
        q[i] = (unsigned char)(type == GGML_Q4_0 ? n + 8 : n);
    }
    for (int i = 0; i < 16; i++)
        nibbles[i] = (unsigned char)(q[i] | q[16 + i] << 4);
    put(b, &d, 2);
    if (type == GGML_Q4_1)
        put(b, &m, 2);
    put(b, type == GGML_Q8_0 ? q : nibbles, type == GGML_Q8_0 ? 32 : 16);
}

/* n elements as the type has them, which then are what the file says. */
static struct bytes encode(int type, float *x, int64_t n)
{
    struct bytes b = {NULL, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        if (type == GGML_F16) {
            uint16_t half = half_of(x[i]);
            x[i] = of_half(half);
            put(&b, &half, 2);
        } else if (type == GGML_BF16) {
            memcpy(&bits, &x[i], 4);
            bits &= 0xffff0000;
            memcpy(&x[i], &bits, 4);
            put(&b, (const char *)&bits + 2, 2);
        } else if (type == GGML_F32) {
            put(&b, &x[i], 4);
        } else if (i % 32 == 0) {
            put_block(&b, type, x + i);
        }
    }
    return b;
}

/* ---- tensors ---- */

/* Rows of Q and K as the file has them: row 2 j + p of a head is row p d / 2 + j. */
static void interleave(float *x, int64_t rows, int64_t cols, int heads)
{
    float *copy = malloc((size_t)(rows * cols) * sizeof *copy);
    int64_t d = rows / heads;
    memcpy(copy, x, (size_t)(rows * cols) * sizeof *x);
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = r / d * d + r % 2 * (d / 2) + r % d / 2;
        memcpy(x + r * cols, copy + from * cols, (size_t)cols * sizeof *x);
    }
    free(copy);
}

/* The other way round. */
static void halve(float *x, int64_t rows, int64_t cols, int heads)
{
    float *copy = malloc((size_t)(rows * cols) * sizeof *copy);
    int64_t d = rows / heads;
    memcpy(copy, x, (size_t)(rows * cols) * sizeof *x);
    for (int64_t r = 0; r < rows; r++) {
        int64_t to = r / d * d + r % 2 * (d / 2) + r % d / 2;
        memcpy(x + to * cols, copy + r * cols, (size_t)cols * sizeof *x);
    }
    free(copy);
}

static void transpose(float *x, int64_t rows, int64_t cols)
{
    float *copy = malloc((size_t)(rows * cols) * sizeof *copy);
    memcpy(copy, x, (size_t)(rows * cols) * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            x[j * rows + i] = copy[i * cols + j];
    free(copy);
}

/* Puts a parameter into the file; its elements become what the file says. */
static void put_parameter(struct gguf *g, const struct family *f, int type, const char *name,
                          int rank, const int64_t *shape, float *x)
{
    char other[128];
    int64_t rows = shape[0], cols = rank > 1 ? shape[1] : 1, stored[2] = {rows, cols};
    bool q = strstr(name, "q_proj"), k = strstr(name, "k_proj");
    bool turned = f->gpt2 && rank == 2 && strstr(name, ".c_");
    int heads = q ? HEADS : f->kv_heads;
    if (rank == 1)
        type = GGML_F32;
    if (turned) {
        transpose(x, rows, cols);
        stored[0] = cols;
        stored[1] = rows;
    }
    if (f->interleaved && (q || k))
        interleave(x, rows, cols, heads);
    struct bytes b = encode(type, x, rows * cols);
    gguf_name(other, sizeof other, name);
    put_tensor(g, other, (uint32_t)type, rank, stored, b.at, b.n);
    free(b.at);
    if (f->interleaved && (q || k))
        halve(x, rows, cols, heads);
    if (turned)
        transpose(x, cols, rows);
}

/* ---- a model twice ---- */

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_safetensors(const struct cr_st_tensor *tensors, int n)
{
    char error[400] = "";
    struct cr_writer writer;
    ck_assert_msg(cr_writer_open(&writer, in_folder("model.safetensors"), error, sizeof error) ==
                          0 &&
                      cr_safetensors_put(&writer, tensors, n, NULL, 0, error, sizeof error) == 0 &&
                      cr_writer_commit(&writer, error, sizeof error) == 0,
                  "%s", error);
}

/* The parameters of a model in both layouts, drawn at random. */
static void put_parameters(struct gguf *g, const struct family *f, int type, crescent_model *model)
{
    static struct cr_st_tensor tensors[MAX_TENSORS];
    static crescent_port ports[MAX_TENSORS];
    int n = crescent_port_count(model, CRESCENT_PARAM);
    ck_assert_int_le(n, MAX_TENSORS);
    for (int i = 0; i < n; i++) {
        GOOD(crescent_port_at(model, CRESCENT_PARAM, i, &ports[i]));
        int64_t elements = crescent_port_elements(&ports[i]);
        float *x = calloc((size_t)elements, sizeof *x);
        GOOD(crescent_get_weight(model, i, x));
        for (int64_t j = 0; j < elements; j++) /* no norm or bias is all ones or zeros */
            x[j] = 3 * x[j] + (float)((j * 7 + i) % 11 - 5) / 64;
        put_parameter(g, f, type, ports[i].name, ports[i].rank, ports[i].shape, x);
        tensors[i] = (struct cr_st_tensor){.name = ports[i].name,
                                           .type = CR_ST_F32,
                                           .rank = ports[i].rank,
                                           .shape = ports[i].shape,
                                           .data = x};
    }
    write_safetensors(tensors, n);
    for (int i = 0; i < n; i++)
        free((void *)tensors[i].data);
}

/* Leaves the model in the folder: as config.json with model.safetensors, and, with more metadata that
 * come in g, as model.gguf. */
static void make_both(const struct family *f, int type, struct gguf *g)
{
    crescent_model *model;
    char script[64];
    snprintf(script, sizeof script, "graphs/%s.lua", f->name);
    write_text("config.json", f->config);
    const crescent_script how = {.config = in_folder("config.json")};
    GOOD(crescent_open(context, script, &how, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    put_metadata(g, f);
    put_parameters(g, f, type, model);
    crescent_close(model);
    write_gguf(in_folder("model.gguf"), g);
}

/* What a model computes of ids that are drawn, with its own weights or those at `weights`. */
static int64_t run_as(const char *path, const char *weights, const crescent_config *config,
                      float *out)
{
    crescent_model *model;
    crescent_port port;
    crescent_surplus surplus;
    int32_t ids[64];
    const void *inputs[] = {ids};
    void *outputs[] = {out};
    GOOD(crescent_open(context, path, NULL, config, &model));
    const char *from = weights ? weights : crescent_weights_path(model);
    GOOD(crescent_load_weights(model, &from, 1, CRESCENT_MODEL_TENSORS_ONLY, &surplus));
    GOOD(crescent_draw_input(model, 0, 5, ids));
    GOOD(crescent_run(model, inputs, outputs));
    GOOD(crescent_port_at(model, CRESCENT_OUTPUT, 0, &port));
    int64_t n = crescent_port_elements(&port);
    ck_assert_int_le(n, MAX_OUTPUT);
    crescent_close(model);
    return n;
}

static int64_t run(const char *path, const char *weights, float *out)
{
    return run_as(path, weights, NULL, out);
}

static const int types[] = {GGML_F32, GGML_F16, GGML_BF16, GGML_Q8_0, GGML_Q4_0, GGML_Q4_1};

START_TEST(gives_the_bits_of_a_folder)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    const struct family *f = &families[_i % COUNT(families)];
    make_both(f, types[_i / COUNT(families)], &g);
    int64_t n = run(folder, NULL, expected);
    ck_assert_int_eq(run(in_folder("model.gguf"), NULL, found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    for (int64_t i = 1; i < n; i++) /* and they are of some use */
        if (expected[i] != expected[0])
            return;
    ck_abort_msg("all of %lld numbers are alike", (long long)n);
}
END_TEST

/* Blocks are placed as they are: rounding them again would give other numbers, of q4 above all. */
START_TEST(keeps_blocks_as_they_are)
{
    static const struct {
        int type;
        const char *format;
    } cases[] = {{GGML_Q8_0, "q8"}, {GGML_Q4_0, "q4"}, {GGML_Q4_1, "q4"}};
    static const crescent_backend backends[] = {CRESCENT_TCC, CRESCENT_REF};
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    int number = _i / COUNT(families);
    make_both(&families[_i % COUNT(families)], cases[number].type, &g);
    for (int b = 0; b < COUNT(backends); b++) {
        crescent_config config = {.backend = backends[b], .threads = 1};
        int64_t n = run_as(folder, NULL, &config, expected);
        config.format = cases[number].format;
        for (config.threads = 1; config.threads < 4; config.threads++) {
            ck_assert_int_eq(run_as(in_folder("model.gguf"), NULL, &config, found), n);
            ck_assert_msg(crescent_same_bits(found, expected, n), "%s, %d threads", config.format,
                          config.threads);
        }
    }
}
END_TEST

/* As weights of a folder's model, whose layout is the file's, and not of one whose is not. */
START_TEST(is_a_place_of_weights)
{
    static float expected[MAX_OUTPUT], found[MAX_OUTPUT];
    struct gguf g = {.n_values = 0};
    crescent_model *model;
    make_both(&families[0], GGML_Q8_0, &g);
    int64_t n = run(folder, NULL, expected);
    ck_assert_int_eq(run(folder, in_folder("model.gguf"), found), n);
    ck_assert(crescent_same_bits(found, expected, n));
    make_both(&families[COUNT(families) - 1], GGML_F32, &g);
    const char *weights = in_folder("model.gguf");
    GOOD(crescent_open(context, folder, NULL, NULL, &model));
    ck_assert_int_ne(crescent_load_weights(model, &weights, 1, CRESCENT_ANY_TENSORS, NULL), 0);
    ck_assert_ptr_nonnull(strstr(crescent_error(context), "expected ["));
    crescent_close(model);
}
END_TEST

/* ---- generating ---- */

/* Tokens that follow some, and where texts begin and end. */
static void generate(const char *path, int32_t *ids, int n, crescent_generator_status *status)
{
    crescent_generator *g;
    const char *weights = path;
    int32_t prompt[] = {3, 1, 4, 1, 5};
    GOOD(crescent_generator_open(context, path, NULL, NULL, NULL, &g));
    GOOD(crescent_load_weights(crescent_generator_model(g), &weights, 1, CRESCENT_ANY_TENSORS,
                               NULL));
    GOOD(crescent_generator_look(g, status));
    GOOD(crescent_generator_feed(g, prompt, COUNT(prompt), NULL));
    for (int i = 0; i < n; i++) {
        GOOD(crescent_generator_choose(g, NULL, &ids[i]));
        GOOD(crescent_generator_feed(g, &ids[i], 1, NULL));
    }
    ck_assert_int_eq(crescent_generator_is_end(g, 2), strstr(path, ".gguf") != NULL);
    ck_assert_int_eq(crescent_generator_is_end(g, 3), 0);
    crescent_generator_close(g);
}

START_TEST(generates_as_a_folder)
{
    int32_t expected[16], found[16];
    crescent_generator_status status, of_folder;
    struct gguf g = {.n_values = 0};
    put_integer(&g, "tokenizer.ggml.bos_token_id", 1);
    put_integer(&g, "tokenizer.ggml.eos_token_id", 2);
    make_both(&families[_i], GGML_Q8_0, &g);
    generate(folder, expected, COUNT(expected), &of_folder);
    generate(in_folder("model.gguf"), found, COUNT(found), &status);
    ck_assert_int_eq(memcmp(found, expected, sizeof found), 0);
    ck_assert_int_eq(status.context, 48);
    ck_assert_int_eq(of_folder.context, 48);
    ck_assert_int_eq(status.begin, 1);
}
END_TEST

/* What a command prints, both streams of it, and its exit status. */
static int command(char *out, size_t size, const char *arguments, const char *path)
{
    char line[400];
    const char *crescent = getenv("CRESCENT");
    snprintf(line, sizeof line, "%s %s %s 2>&1", crescent ? crescent : "build/crescent", arguments,
             path);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    return pclose(pipe) >> 8;
}

/* Verbs take such a file where they take a script; one that is cut off is refused. */
START_TEST(is_a_model_for_every_verb)
{
    static const char *const verbs[] = {"run", "params", "dump --after join"};
    static const char tokens[] = "generate --ids --prompt-ids 3,1,4 --tokens 8 --ignore-eos";
    static char expected[1 << 16], found[1 << 16];
    struct gguf g = {.n_values = 0};
    make_both(&families[0], GGML_Q4_0, &g);
    const char *path = in_folder("model.gguf");
    ck_assert_int_eq(command(expected, sizeof expected, tokens, folder), 0);
    ck_assert_int_eq(command(found, sizeof found, tokens, path), 0);
    ck_assert_str_eq(found, expected);
    for (int i = 0; i < COUNT(verbs); i++)
        ck_assert_msg(command(found, sizeof found, verbs[i], path) == 0, "%s: %s", verbs[i], found);
    ck_assert_int_eq(truncate(path, 8000), 0);
    for (int i = 0; i < COUNT(verbs); i++) {
        ck_assert_int_eq(command(found, sizeof found, verbs[i], path), 2);
        ck_assert_msg(strstr(found, "model.gguf: tensor ") && strstr(found, ", expected them in"),
                      "%s", found);
    }
}
END_TEST

/* ---- tokenizers ---- */

/* The ids of a text, as "1 2 3", which become the text again, or `back`. */
static void check_ids_and(crescent_tokenizer *t, const char *text, const char *expected,
                          const char *back)
{
    char found[256] = "", *decoded;
    int32_t *ids;
    size_t n, length;
    GOOD(crescent_encode(t, text, strlen(text), CRESCENT_FRAMED, &ids, &n));
    for (size_t i = 0; i < n; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", i ? " " : "",
                 (int)ids[i]);
    ck_assert_str_eq(found, expected);
    GOOD(crescent_decode(t, ids, n, CRESCENT_SPECIALS_WITHIN, &decoded, &length));
    ck_assert_str_eq(decoded, back);
    crescent_free(ids);
    crescent_free(decoded);
}

static void check_ids(crescent_tokenizer *t, const char *text, const char *expected)
{
    check_ids_and(t, text, expected, text);
}

static void put_numbers(struct gguf *g, const char *key, uint32_t type, const void *numbers, int n)
{
    put_array(g, key, type, (uint64_t)n);
    put(&g->values, numbers, (size_t)n * 4);
}

static crescent_tokenizer *open_tokenizer(struct gguf *g)
{
    crescent_tokenizer *t;
    write_gguf(in_folder("vocabulary.gguf"), g);
    GOOD(crescent_tokenizer_open(context, in_folder("vocabulary.gguf"), &t));
    return t;
}

#define S "\xe2\x96\x81"

static const char *const pieces[] = {"<unk>",  "<s>", "</s>", "<0x0A>", "<0xC3>",
                                     "<0xA9>", S,     "a",    "b",      S "a",
                                     "ab",     "aa",  S "ab", "aaa",    "<tool>"};
static const int32_t piece_types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 4};

static void put_pieces(struct gguf *g, const float *scores)
{
    put_text(g, "tokenizer.ggml.model", "llama");
    put_texts(g, "tokenizer.ggml.tokens", pieces, COUNT(pieces));
    put_numbers(g, "tokenizer.ggml.token_type", GGUF_I32, piece_types, COUNT(pieces));
    put_numbers(g, "tokenizer.ggml.scores", GGUF_F32, scores, COUNT(pieces));
    put_integer(g, "tokenizer.ggml.bos_token_id", 1);
    put_integer(g, "tokenizer.ggml.eos_token_id", 2);
    put_integer(g, "tokenizer.ggml.unknown_token_id", 0);
}

/* The highest score first: "ab" before a space's "a", and of what is alike the leftmost. */
START_TEST(merges_by_scores)
{
    static const float scores[] = {0, 0, 0, 0, 0, 0, -9, -9, -9, -3, -1, -2, -4, -5, 0};
    static const float alike[] = {0, 0, 0, 0, 0, 0, -9, -9, -9, -1, -1, -1, -1, -1, 0};
    struct gguf g = {.n_values = 0};
    put_pieces(&g, scores);
    crescent_tokenizer *t = open_tokenizer(&g);
    check_ids(t, "ab", "1 12");
    check_ids(t, "aab", "1 9 10");
    check_ids(t, "aaaa", "1 6 11 11");
    check_ids(t, "b\n", "1 6 8 3");
    check_ids(t, "\xc3\xa9", "1 6 4 5");
    check_ids_and(t, "b<tool>b", "1 6 8 14 6 8", "b<tool> b");
    ck_assert_int_eq(crescent_end_count(t), 1);
    ck_assert_int_eq(crescent_end_at(t, 0), 2);
    crescent_tokenizer_close(t);
    put_pieces(&g, alike);
    put_bool(&g, "tokenizer.ggml.add_bos_token", 0);
    put_bool(&g, "tokenizer.ggml.add_eos_token", 1);
    put_bool(&g, "tokenizer.ggml.add_space_prefix", 0);
    t = open_tokenizer(&g);
    check_ids(t, "aab", "11 8 2");
    check_ids(t, " aab", "9 10 2");
    check_ids(t, "aaaaa", "13 11 2");
    crescent_tokenizer_close(t);
}
END_TEST

static const char *const words[] = {"a",
                                    "b",
                                    "\xc4\xa0",
                                    "1",
                                    "2",
                                    "12",
                                    "\xc4\xa0"
                                    "a",
                                    "ab",
                                    "\xc4\xa0"
                                    "ab",
                                    "<end>",
                                    "aba"};
static const int32_t word_types[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1};
static const char *const merges[] = {"\xc4\xa0 a", "a b", "1 2",
                                     "\xc4\xa0"
                                     "a b"};

static void put_words(struct gguf *g, const char *cut)
{
    put_text(g, "tokenizer.ggml.model", "gpt2");
    if (*cut)
        put_text(g, "tokenizer.ggml.pre", cut);
    put_texts(g, "tokenizer.ggml.tokens", words, COUNT(words));
    put_numbers(g, "tokenizer.ggml.token_type", GGUF_I32, word_types, COUNT(words));
    put_texts(g, "tokenizer.ggml.merges", merges, COUNT(merges));
    put_integer(g, "tokenizer.ggml.bos_token_id", 9);
    put_integer(g, "tokenizer.ggml.eot_token_id", 9);
}

/* How text is cut, whether a text gets a beginning, and whether a word that is a token is one. */
START_TEST(cuts_as_the_file_says)
{
    static const struct {
        const char *cut, *text, *ids;
    } cases[] = {
        {"", "ab ab<end>12", "7 8 9 5"},  {"gpt-2", "aba12", "7 0 5"},
        {"default", "aba 12", "7 0 2 5"}, {"llama-bpe", "aba12", "9 10 5"},
        {"qwen2", "aba12", "7 0 3 4"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct gguf g = {.n_values = 0};
        put_words(&g, cases[i].cut);
        crescent_tokenizer *t = open_tokenizer(&g);
        check_ids(t, cases[i].text, cases[i].ids);
        ck_assert_int_eq(crescent_end_at(t, 0), 9);
        crescent_tokenizer_close(t);
    }
}
END_TEST

/* ---- what is wrong with a file ---- */

/* A value beside those of a Llama, and what is said of it. */
static const struct wrong {
    const char *key, *text;
    double number;
    const char *expected;
} wrongs[] = {
    {"llama.rope.twist", NULL, 1, "'llama.rope.twist' is a key that is not understood"},
    {"llama.attention.sliding_window", NULL, 4096,
     "'llama.attention.sliding_window' is 4096, expected 0: no other value is understood"},
    {"llama.expert_used_count", NULL, 2, "'llama.expert_used_count' is 2, expected 0"},
    {"llama.rope.scaling.type", "longrope", 0,
     "'llama.rope.scaling.type' is a string, expected 'none', 'linear' or 'yarn'"},
    {"llama.attention.layer_norm_epsilon", NULL, 1, "expected no such key for this architecture"},
    {"split.count", NULL, 3, "one of several files of a model, expected them as one"},
    {"llama.rope.scaling.factor", "4", 0, "is a string, expected a finite number"},
};

START_TEST(refuses_what_no_script_knows)
{
    const struct wrong *wrong = &wrongs[_i];
    struct gguf g = {.n_values = 0};
    crescent_graph *graph;
    if (wrong->text)
        put_text(&g, wrong->key, wrong->text);
    else
        put_integer(&g, wrong->key, (uint32_t)wrong->number);
    make_both(&families[0], GGML_F32, &g);
    ck_assert_int_ne(crescent_graph_open(context, in_folder("model.gguf"), NULL, &graph), 0);
    ck_assert_msg(strncmp(crescent_error(context), folder, strlen(folder)) == 0 &&
                      strstr(crescent_error(context), wrong->expected),
                  "found: %s\nexpected: %s", crescent_error(context), wrong->expected);
}
END_TEST

/* Values that are missing, or are no model. */
START_TEST(refuses_other_models)
{
    static const char *const keys[] = {NULL, "mamba", "llama", "gpt2"};
    static const char *const expected[] = {
        "no general.architecture, expected the name of one",
        "the architecture 'mamba', expected llama, qwen2, qwen3 or gpt2",
        "no llama.block_count, expected one", "no gpt2.block_count, expected one"};
    for (int i = 0; i < COUNT(keys); i++) {
        struct gguf g = {.n_values = 0};
        crescent_graph *graph;
        if (keys[i])
            put_text(&g, "general.architecture", keys[i]);
        write_gguf(in_folder("other.gguf"), &g);
        ck_assert_int_ne(crescent_graph_open(context, in_folder("other.gguf"), NULL, &graph), 0);
        ck_assert_msg(strstr(crescent_error(context), expected[i]) != NULL, "%s",
                      crescent_error(context));
    }
}
END_TEST

/* A vocabulary with something wrong. */
START_TEST(refuses_wrong_tokenizers)
{
    static const struct {
        const char *model, *cut, *second, *merge, *expected;
    } cases[] = {
        {"bert", "", "b", "a b", "found 'bert' for tokenizer.ggml.model, expected gpt2 or llama"},
        {"gpt2", "klingon", "b", "a b", "found 'klingon' for tokenizer.ggml.pre, expected gpt-2"},
        {"gpt2", "", "a", "a b", "found token 'a' twice, expected it once"},
        {"gpt2", "", "\xff", "a b", "found the token '\\xff', expected UTF-8"},
        {"gpt2", "", "b", "ab", "found the merge 'ab', expected LEFT RIGHT"},
        {"gpt2", "", "b", "a b", "found 'ab' in merge 0, which is no token"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *const tokens[] = {"a", cases[i].second};
        struct gguf g = {.n_values = 0};
        crescent_tokenizer *t;
        put_text(&g, "tokenizer.ggml.model", cases[i].model);
        put_text(&g, "tokenizer.ggml.pre", cases[i].cut);
        put_texts(&g, "tokenizer.ggml.tokens", tokens, 2);
        put_texts(&g, "tokenizer.ggml.merges", &cases[i].merge, 1);
        write_gguf(in_folder("wrong.gguf"), &g);
        ck_assert_int_ne(crescent_tokenizer_open(context, in_folder("wrong.gguf"), &t), 0);
        ck_assert_msg(strstr(crescent_error(context), cases[i].expected) != NULL, "%s",
                      crescent_error(context));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gguf_model");
    TCase *tests = tcase_create("gguf_model");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gives_the_bits_of_a_folder, 0, COUNT(families) * COUNT(types));
    tcase_add_loop_test(tests, keeps_blocks_as_they_are, 0, 3 * COUNT(families));
    tcase_add_test(tests, is_a_place_of_weights);
    tcase_add_loop_test(tests, generates_as_a_folder, 0, COUNT(families));
    tcase_add_test(tests, is_a_model_for_every_verb);
    tcase_add_test(tests, merges_by_scores);
    tcase_add_test(tests, cuts_as_the_file_says);
    tcase_add_loop_test(tests, refuses_what_no_script_knows, 0, COUNT(wrongs));
    tcase_add_test(tests, refuses_other_models);
    tcase_add_test(tests, refuses_wrong_tokenizers);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
