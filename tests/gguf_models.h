/*
 * gguf_models.h - small models drawn at random, each as a folder in Hugging Face's layout and as a GGUF
 * file with the same numbers, for tests.
 */
#ifndef GGUF_MODELS_H
#define GGUF_MODELS_H

#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "compiler/files/numbers.h"
#include "compiler/files/safetensors.h"
#include "gguf_writer.h"

enum { MAX_TENSORS = 64, MAX_OUTPUT = 1 << 14, MAX_VALUES = 1 << 14 };
enum { MIXED = -1 /* in place of a type: the file has tensors of several types */ };

static crescent_context *context;
static char folder[64];

#define GOOD(call) ck_assert_msg((call) == CRESCENT_OK, "%s: %s", #call, crescent_error(context))
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static inline void set_up(void)
{
    strcpy(folder, "/tmp/test_gguf_model.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    context = crescent_context_new();
    ck_assert_ptr_nonnull(context);
}

static inline void tear_down(void)
{
    char command[128];
    crescent_context_free(context);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static inline const char *in_folder(const char *name)
{
    static char paths[8][128];
    static int n;
    char *path = paths[n++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- families ---- */

/* The sizes of all models; a test may set others. */
static struct {
    int layers, context, hidden, inner, heads, vocabulary;
} sizes = {2, 48, 32, 64, 2, 40};

/* A family of models: its config.json, and how its tensors are stored in GGUF files. */
static const struct family {
    const char *name, *config;
    bool gpt2, interleaved, tied, biased;
    int kv_heads, head;  /* rows of a head */
    const char *scaling; /* the scaling of rotary positions, or null */
    const char *script, *classes; /* the script's name if it is another one; of a classifier: how many */
} families[] = {
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5}",
     false, true, false, false, 1, 16, NULL, NULL, NULL},
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true, \"attention_bias\": true,"
     " \"mlp_bias\": true, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0}}",
     false, true, true, true, 2, 16, "linear", NULL, NULL},
    {"llama",
     "{\"model_type\": \"llama\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 2,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true,"
     " \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0,"
     " \"original_max_position_embeddings\": 12}}",
     false, true, true, false, 2, 16, "yarn", NULL, NULL},
    {"qwen2",
     "{\"model_type\": \"qwen2\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true}",
     false, false, true, true, 1, 16, NULL, NULL, NULL},
    {"qwen3",
     "{\"model_type\": \"qwen3\", \"hidden_size\": 32, \"intermediate_size\": 64,"
     " \"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
     " \"vocab_size\": 40, \"max_position_embeddings\": 48, \"rope_theta\": 500.0,"
     " \"rms_norm_eps\": 1e-5, \"head_dim\": 32}",
     false, false, false, false, 1, 32, NULL, NULL, NULL},
    {"gpt2",
     "{\"model_type\": \"gpt2\", \"n_embd\": 32, \"n_layer\": 2, \"n_head\": 2, \"vocab_size\": 40,"
     " \"n_positions\": 48, \"n_inner\": 64}",
     true, false, true, true, 2, 16, NULL, NULL, NULL},
};

/* Names of tensors in Hugging Face's layout and in GGUF files, without .weight or .bias; for tensors of
 * layers, the part after the layer's number. */
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
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
    {"pooler.dense", "cls"},
    {"classifier", "cls.output"},
    {"emb_ln", "token_embd_norm"},
    {"attn.Wqkv", "attn_qkv"},
    {"attn.out_proj", "attn_output"},
    {"norm1", "attn_output_norm"},
    {"norm2", "layer_output_norm"},
    {"mlp.fc11", "ffn_up"},
    {"mlp.fc12", "ffn_gate"},
    {"mlp.fc2", "ffn_down"},
    {"model.embeddings.tok_embeddings", "token_embd"},
    {"model.embeddings.norm", "token_embd_norm"},
    {"model.final_norm", "output_norm"},
    {"attn_norm", "attn_norm"},
    {"attn.Wo", "attn_output"},
    {"mlp_norm", "ffn_norm"},
    {"mlp.Wi", "ffn_up"},
    {"mlp.Wo", "ffn_down"},
    {"head.dense", "cls"},
    {"head.norm", "cls.norm"},
};

/* Translates a name: "model.layers.1.mlp.up_proj.weight" becomes "blk.1.ffn_up.weight". */
static inline void gguf_name(char *out, size_t size, const char *name)
{
    char stem[128], layer[32] = "";
    int number, n = 0;
    snprintf(stem, sizeof stem, "%s", name);
    char *dot = strrchr(stem, '.'), *from = stem;
    const char *end = name + (dot - stem);
    *dot = '\0';
    if (sscanf(stem, "model.layers.%d.%n", &number, &n) == 1 ||
        sscanf(stem, "transformer.h.%d.%n", &number, &n) == 1 ||
        sscanf(stem, "encoder.layer.%d.%n", &number, &n) == 1 ||
        sscanf(stem, "encoder.layers.%d.%n", &number, &n) == 1) {
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
static inline const char *key_of(const struct family *f, const char *name)
{
    static char key[64];
    snprintf(key, sizeof key, "%s.%s", f->name, name);
    return key;
}

static inline void put_metadata(struct gguf *g, const struct family *f)
{
    put_text(g, "general.architecture", f->name);
    put_integer(g, key_of(f, "block_count"), (uint32_t)sizes.layers);
    put_integer(g, key_of(f, "context_length"), (uint32_t)sizes.context);
    put_integer(g, key_of(f, "embedding_length"), (uint32_t)sizes.hidden);
    put_integer(g, key_of(f, "feed_forward_length"), (uint32_t)sizes.inner);
    put_integer(g, key_of(f, "attention.head_count"), (uint32_t)sizes.heads);
    if (f->gpt2) {
        put_real(g, key_of(f, "attention.layer_norm_epsilon"), 1e-5f);
        return;
    }
    put_array(g, key_of(f, "attention.head_count_kv"), GGUF_U32, (uint64_t)sizes.layers);
    for (int i = 0; i < sizes.layers; i++)
        put_u32(&g->values, (uint32_t)f->kv_heads);
    put_integer(g, key_of(f, "attention.key_length"), (uint32_t)f->head);
    put_integer(g, key_of(f, "attention.value_length"), (uint32_t)f->head);
    put_integer(g, key_of(f, "rope.dimension_count"), (uint32_t)f->head);
    put_real(g, key_of(f, "attention.layer_norm_rms_epsilon"), 1e-5f);
    put_real(g, key_of(f, "rope.freq_base"), 500);
    put_integer(g, key_of(f, "vocab_size"), (uint32_t)sizes.vocabulary);
    put_integer(g, key_of(f, "expert_count"), 0);
    if (f->scaling) {
        put_text(g, key_of(f, "rope.scaling.type"), f->scaling);
        put_real(g, key_of(f, "rope.scaling.factor"), 4);
        put_integer(g, key_of(f, "rope.scaling.original_context_length"), 12);
    }
}

/* ---- types of elements ---- */

static inline float of_half(uint16_t half)
{
    unsigned char at[2] = {(unsigned char)half, (unsigned char)(half >> 8)};
    return cr_number_float(CR_NUMBER_F16, 0, at);
}

/* Returns a binary16 next to a value, by binary search: the codes of positive halves are in
 * ascending order. */
static inline uint16_t half_of(float value)
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

/* Puts a block of 32 numbers into the file, and replaces them by the block's decoded values.  The block's
 * scale is larger than the scale that quantising these values again would find. */
static inline void put_block(struct bytes *b, int type, float *x)
{
    unsigned char q[32], nibbles[16];
    float least = x[0], most = x[0];
    for (int i = 1; i < 32; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    float range = 1.25f * fmaxf(fabsf(least), fabsf(most)) / (type == GGML_Q8_0 ? 127 : 7);
    uint16_t d = half_of(type == GGML_Q4_1 ? 1.25f * (most - least) / 15 : range);
    uint16_t m = half_of(least);
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

/* Returns n elements encoded as a type; x becomes the decoded values. */
static inline struct bytes encode(int type, float *x, int64_t n)
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

/* Reorders rows of Q and K as GGUF files have them: row 2 j + p of a head is row p d / 2 + j of the
 * model. */
static inline void interleave(float *x, int64_t rows, int64_t cols, int heads)
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
static inline void halve(float *x, int64_t rows, int64_t cols, int heads)
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

static inline void transpose(float *x, int64_t rows, int64_t cols)
{
    float *copy = malloc((size_t)(rows * cols) * sizeof *copy);
    memcpy(copy, x, (size_t)(rows * cols) * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            x[j * rows + i] = copy[i * cols + j];
    free(copy);
}

/* Returns the type of a matrix in a file with several types. */
static inline int type_of(const char *name)
{
    static const struct {
        const char *part;
        int type;
    } types[] = {{"q_proj", GGML_Q8_0}, {"k_proj", GGML_Q4_0}, {"v_proj", GGML_F32},
                 {"o_proj", GGML_Q4_1}, {"up_proj", GGML_F16}, {"down_proj", GGML_BF16}};
    for (int i = 0; i < COUNT(types); i++)
        if (strstr(name, types[i].part))
            return types[i].type;
    return GGML_Q8_0;
}

/* Writes a parameter to the file and replaces its elements by the decoded ones. */
static inline void put_parameter(struct gguf *g, const struct family *f, int type, const char *name,
                                 int rank, const int64_t *shape, float *x)
{
    char other[128];
    int64_t rows = shape[0], cols = rank > 1 ? shape[1] : 1, stored[2] = {rows, cols};
    bool q = strstr(name, "q_proj"), k = strstr(name, "k_proj");
    bool turned = f->gpt2 && rank == 2 && strstr(name, ".c_");
    int heads = q ? sizes.heads : f->kv_heads;
    if (type == MIXED)
        type = type_of(name);
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

static inline void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert(fputs(text, file) >= 0);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void write_safetensors(const struct cr_st_tensor *tensors, int n)
{
    char error[400] = "";
    struct cr_writer writer;
    ck_assert_msg(cr_writer_open(&writer, in_folder("model.safetensors"), error, sizeof error) ==
                          0 &&
                      cr_safetensors_put(&writer, tensors, n, NULL, 0, error, sizeof error) == 0 &&
                      cr_writer_commit(&writer, error, sizeof error) == 0,
                  "%s", error);
}

/* Draws the parameters of a model, and writes them in both layouts. */
static inline void put_parameters(struct gguf *g, const struct family *f, int type,
                                  crescent_model *model)
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
        for (int64_t j = 0; j < elements; j++) /* so that no norm or bias is all ones or zeros */
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

/* Writes the model to the folder twice: as config.json with model.safetensors, and as model.gguf,
 * to whose metadata it adds those in g. */
static inline void make_both(const struct family *f, int type, struct gguf *g)
{
    crescent_model *model;
    char script[64];
    snprintf(script, sizeof script, "graphs/%s.lua", f->script ? f->script : f->name);
    write_text("config.json", f->config);
    const crescent_setting classes = {"classes", f->classes};
    const crescent_script how = {.config = in_folder("config.json"), .settings = &classes, .n_settings = f->classes != NULL};
    GOOD(crescent_open(context, script, &how, NULL, &model));
    GOOD(crescent_keep_weights(model));
    GOOD(crescent_draw_weights(model, 3));
    put_metadata(g, f);
    put_parameters(g, f, type, model);
    crescent_close(model);
    write_gguf(in_folder("model.gguf"), g);
}

/* Runs a model on random ids, with its own weights or the weights in the file `weights`. */
static inline int64_t run_as(const char *path, const char *weights, const crescent_config *config,
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

static inline int64_t run(const char *path, const char *weights, float *out)
{
    return run_as(path, weights, NULL, out);
}

/* Runs a command, writes what it prints on both streams to `out`, and returns its exit status. */
static inline int command(char *out, size_t size, const char *arguments, const char *path)
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

#endif
