/* gguf_model.c - reads a model's options from a GGUF file; see gguf_model.h. */
#include "gguf_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/gguf_weights.h"
#include "compiler/ir/mem.h"
#include "compiler/tokenizer/readers.h"

/* ---- settings ---- */

/* The state of converting a file's metadata to options of a script. */
struct reading {
    struct cr_gguf file;
    const struct cr_gguf_family *family;
    struct cr_gguf_model *model;
    struct cr_error *error;
    enum cr_gguf_names names;
};

static void set(struct reading *r, const char *name, const char *value)
{
    r->model->settings[r->model->n_settings++] = (crescent_setting){name, cr_strdup(value)};
}

static void set_integer(struct reading *r, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    set(r, name, text);
}

/* Sets an option to the shortest decimal number that gives the same float. */
static void set_real(struct reading *r, const char *name, double value)
{
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtof(text, NULL) == (float)value)
            break;
    }
    set(r, name, text);
}

/* ---- values ---- */

static const struct cr_gguf_value *find(const struct reading *r, const char *name)
{
    return cr_gguf_find_of(&r->file, r->family, name);
}

static int wrong_value(const struct reading *r, const struct cr_gguf_value *value,
                       const char *expected)
{
    return cr_fail(r->error, "%.400s: %s is %s, expected %s", r->file.path,
                   cr_show(value->key.text, value->key.length).text, cr_gguf_kind_of(value),
                   expected);
}

/* Reads an integer.  It may be an array with an item for each layer, if all items are equal. */
static int read_count(const struct reading *r, const struct cr_gguf_value *value, int64_t *out)
{
    if (!cr_gguf_count(value, out) || *out > INT32_MAX)
        return wrong_value(r, value, "an integer from 1 on, the same for all layers");
    return 0;
}

static int read_real(const struct reading *r, const struct cr_gguf_value *value, double *out)
{
    if (value->is_array || !cr_gguf_real(value, 0, out) || !isfinite(*out))
        return wrong_value(r, value, "a finite number");
    return 0;
}

/* Reads the real number of a key; leaves *out unchanged if the file does not have the key. */
static int find_real(const struct reading *r, const char *name, double *out)
{
    const struct cr_gguf_value *value = find(r, name);
    return value ? read_real(r, value, out) : 0;
}

static bool is_text(const struct cr_gguf_value *value, const char *text)
{
    const unsigned char *at = value->data;
    if (value->is_array || value->kind != CR_GGUF_STRING)
        return false;
    struct cr_gguf_string s = cr_gguf_next_string(&at);
    return s.length == strlen(text) && memcmp(s.text, text, s.length) == 0;
}

/* ---- keys ---- */

/* The keys, without the architecture in front, and the options that they set. */
static const struct row {
    const char *name;
    enum { COUNT, REAL, NEUTRAL, OTHER } kind; /* OTHER: read by another function, or without effect
                                                  on the model */
    const char *options[CR_GGUF_NAMES];        /* by family: the option that the key sets; null if
                                                  the family may not have the key */
    bool needed;
    double neutral; /* NEUTRAL: the only value that is accepted, as it has no effect */
} rows[] = {
    {"block_count", COUNT,
     {"num_hidden_layers", "n_layer", "num_hidden_layers", "num_hidden_layers", "num_hidden_layers"}, true, 0},
    {"context_length", COUNT,
     {"max_position_embeddings", "n_positions", "max_position_embeddings", "max_position_embeddings", "max_position_embeddings"}, true, 0},
    {"embedding_length", COUNT,
     {"hidden_size", "n_embd", "hidden_size", "hidden_size", "hidden_size"}, true, 0},
    {"feed_forward_length", COUNT,
     {"intermediate_size", "n_inner", "intermediate_size", "intermediate_size", "intermediate_size"}, true, 0},
    {"attention.head_count", COUNT,
     {"num_attention_heads", "n_head", "num_attention_heads", "num_attention_heads", "num_attention_heads"}, true, 0},
    {"attention.head_count_kv", COUNT, {"num_key_value_heads", NULL, NULL, NULL, NULL}, false, 0},
    {"attention.key_length", COUNT, {"head_dim", NULL, NULL, NULL, NULL}, false, 0},
    {"attention.layer_norm_epsilon", REAL, {NULL, "layer_norm_epsilon", "layer_norm_eps", "layer_norm_eps", "norm_eps"}, false, 0},
    {"attention.layer_norm_rms_epsilon", REAL, {"rms_norm_eps", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.freq_base", REAL, {"rope_theta", NULL, NULL, "rope_theta", "global_rope_theta"}, false, 0},
    {"rope.freq_base_swa", REAL, {NULL, NULL, NULL, NULL, "local_rope_theta"}, false, 0},
    {"attention.value_length", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.dimension_count", OTHER, {"", NULL, NULL, "", ""}, false, 0},
    {"rope.scale_linear", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.scaling.type", OTHER, {"", NULL, NULL, "", ""}, false, 0},
    {"rope.scaling.factor", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.scaling.original_context_length", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.scaling.yarn_beta_fast", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.scaling.yarn_beta_slow", OTHER, {"", NULL, NULL, NULL, NULL}, false, 0},
    {"rope.scaling.finetuned", OTHER, {"", "", NULL, NULL, NULL}, false, 0},
    {"rope.scaling.attn_factor", NEUTRAL, {"", NULL, NULL, NULL, NULL}, false, 1},
    {"rope.scaling.yarn_attn_factor", NEUTRAL, {"", NULL, NULL, NULL, NULL}, false, 1},
    {"rope.scaling.yarn_ext_factor", NEUTRAL, {"", NULL, NULL, NULL, NULL}, false, 1},
    {"tensor_data_layout", OTHER, {"", "", "", "", ""}, false, 0},
    {"vocab_size", OTHER, {"", "", "", "", ""}, false, 0}, /* the size of the embedding table
                                                              counts */
    {"attention.causal", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 1},
    {"attention.causal", NEUTRAL, {NULL, NULL, "", "", ""}, false, 0},
    {"pooling_type", OTHER, {"", "", "", "", ""}, false, 0}, /* see sentence_transformers.h */
    {"classifier.output_labels", OTHER, {NULL, NULL, "", "", ""}, false, 0}, /* of a classifier */
    {"attention.clamp_kqv", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
    {"attention.max_alibi_bias", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
    {"attention.sliding_window", COUNT, {NULL, NULL, NULL, NULL, "local_attention"}, false, 0},
    {"attention.sliding_window", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
    {"attention.sliding_window_pattern", COUNT, {NULL, NULL, NULL, NULL, "global_attn_every_n_layers"}, false, 0},
    {"expert_count", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
    {"expert_used_count", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
    {"use_parallel_residual", NEUTRAL, {"", "", NULL, NULL, NULL}, false, 0},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Fails if a value that no script supports would change results. */
static int check_neutral(const struct reading *r, const struct row *row,
                         const struct cr_gguf_value *value)
{
    char expected[64];
    double number;
    bool boolean;
    if (cr_gguf_bool(value, &boolean))
        number = boolean;
    else if (value->is_array || !cr_gguf_real(value, 0, &number))
        return wrong_value(r, value, "a number, or a boolean");
    if (number == row->neutral)
        return 0;
    snprintf(expected, sizeof expected, value->kind == CR_GGUF_BOOL ? "%s" : "%s%g",
             value->kind == CR_GGUF_BOOL ? (row->neutral ? "true" : "false") : "", row->neutral);
    return cr_fail(r->error, "%.400s: %s is %g, expected %s, the only value that is supported",
                   r->file.path, cr_show(value->key.text, value->key.length).text, number,
                   expected);
}

/* Returns the option that a row's key sets in the family's script, or null. */
static const char *option_of(const struct reading *r, const struct row *row)
{
    return row->options[r->names];
}

/* Converts or checks the value of a key by the row of the key. */
static int take_value(struct reading *r, const struct row *row, const struct cr_gguf_value *value)
{
    const char *option = option_of(r, row);
    int64_t count;
    double real;
    if (!option)
        return wrong_value(r, value, "no such key for this architecture");
    if (row->kind == NEUTRAL)
        return check_neutral(r, row, value);
    if (row->kind == OTHER)
        return 0;
    if (row->kind == COUNT ? read_count(r, value, &count) : read_real(r, value, &real))
        return -1;
    if (row->kind == COUNT)
        set_integer(r, option, count);
    else
        set_real(r, option, real);
    return 0;
}

/* Returns the row of a key of the architecture, or null.  If there are several, prefers one with an
 * option for the family. */
static const struct row *row_of(const struct reading *r, const struct cr_gguf_value *value)
{
    size_t skip = strlen(r->family->name) + 1, n = value->key.length - skip;
    const struct row *found = NULL;
    for (int i = 0; i < N_ROWS; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, value->key.text + skip, n) == 0 &&
            (!found || option_of(r, &rows[i])))
            found = &rows[i];
    return found;
}

/* Reads all keys of the architecture; fails for an unknown key, and for a needed key that is
 * missing. */
static int read_keys(struct reading *r)
{
    const char *name = r->family->name;
    size_t n = strlen(name);
    for (int i = 0; i < r->file.n_values; i++) {
        const struct cr_gguf_value *value = &r->file.values[i];
        if (value->key.length <= n || memcmp(value->key.text, name, n) != 0 ||
            value->key.text[n] != '.')
            continue;
        const struct row *row = row_of(r, value);
        if (!row)
            return cr_fail(r->error, "%.400s: found the key %s, which is not supported, expected "
                           "a model without it", r->file.path,
                           cr_show(value->key.text, value->key.length).text);
        if (take_value(r, row, value))
            return -1;
    }
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].needed && !find(r, rows[i].name))
            return cr_fail(r->error, "%.400s: no %s.%s, expected one", r->file.path, name,
                           rows[i].name);
    return 0;
}

/* ---- rotary positions ---- */

/* Reads Llama 3's frequency factors, which the file has as a tensor, as factors of LongRoPE that
 * hold for contexts of any length. */
static int read_factors(struct reading *r, const struct cr_gguf_tensor *t, int64_t positions)
{
    struct cr_text text = {0};
    float factor = 1;
    if (cr_gguf_check(&r->file, t, r->error->text, sizeof r->error->text))
        return -1;
    if (t->rank != 1 || t->elements > 4096)
        return cr_fail(r->error,
                       "%.400s: rope_freqs.weight has %" PRId64 " elements, expected one for "
                       "each frequency of a head",
                       r->file.path, t->elements);
    for (int64_t i = 0; i < t->elements && isfinite(factor); i++) {
        if (cr_gguf_floats(&r->file, t, i, 1, &factor)) {
            free(text.data);
            return cr_mapping_fail(&r->file.mapping, r->file.path, r->error->text,
                                   sizeof r->error->text);
        }
        cr_put(&text, "%s%.9g", i ? "," : "", (double)factor);
    }
    if (!isfinite(factor)) {
        free(text.data);
        return cr_fail(r->error, "%.400s: rope_freqs.weight has %g in it, expected numbers",
                       r->file.path, (double)factor);
    }
    set(r, "rope_type", "longrope");
    set(r, "rope_factor", "1");
    set(r, "rope_attention_factor", "1");
    set_integer(r, "rope_original_max_position_embeddings", positions);
    set(r, "rope_short_factor", text.data ? text.data : "");
    set(r, "rope_long_factor", text.data ? text.data : "");
    free(text.data);
    return 0;
}

/* Reads YaRN's options; the defaults are those of llama.cpp. */
static int read_yarn(struct reading *r, double factor, int64_t positions)
{
    const struct cr_gguf_value *original = find(r, "rope.scaling.original_context_length");
    double fast = 32, slow = 1;
    if ((original && read_count(r, original, &positions)) ||
        find_real(r, "rope.scaling.yarn_beta_fast", &fast) ||
        find_real(r, "rope.scaling.yarn_beta_slow", &slow))
        return -1;
    set(r, "rope_type", "yarn");
    set_real(r, "rope_factor", factor);
    set_integer(r, "rope_original_max_position_embeddings", positions);
    set_real(r, "rope_beta_fast", fast);
    set_real(r, "rope_beta_slow", slow);
    return 0;
}

/* Reads the scaling of positions, which is either named by a key or given as factors. */
static int read_scaling(struct reading *r, int64_t positions)
{
    const struct cr_gguf_value *type = find(r, "rope.scaling.type");
    const struct cr_gguf_tensor *factors = cr_gguf_find_tensor(&r->file, "rope_freqs.weight");
    double factor = 1;
    if (find_real(r, "rope.scale_linear", &factor) || find_real(r, "rope.scaling.factor", &factor))
        return -1;
    bool linear = type ? is_text(type, "linear") : factor != 1;
    bool yarn = type && is_text(type, "yarn");
    if (type && !linear && !yarn && !is_text(type, "none"))
        return wrong_value(r, type, "'none', 'linear' or 'yarn'");
    if (factors && (linear || yarn))
        return cr_fail(r->error,
                       "%.400s: rope_freqs.weight beside rope.scaling, expected one of them",
                       r->file.path);
    if ((linear || yarn) && factor <= 0)
        return cr_fail(r->error, "%.400s: rope.scaling.factor is %g, expected a positive number",
                       r->file.path, factor);
    if (factors)
        return read_factors(r, factors, positions);
    if (linear) {
        set(r, "rope_type", "linear");
        set_real(r, "rope_factor", factor);
    }
    return yarn ? read_yarn(r, factor, positions) : 0;
}

/* Fails if the positions of an encoder are scaled. */
static int check_unscaled(const struct reading *r)
{
    const struct cr_gguf_value *type = find(r, "rope.scaling.type");
    return type && !is_text(type, "none") ? wrong_value(r, type, "'none'") : 0;
}

/* Fails if rotary positions apply to a part of each head only, or if the head sizes of values and
 * keys differ. */
static int check_heads(struct reading *r, int64_t d)
{
    static const char *const names[] = {"attention.value_length", "rope.dimension_count"};
    for (int i = 0; i < 2; i++) {
        const struct cr_gguf_value *value = find(r, names[i]);
        int64_t size;
        if (value && read_count(r, value, &size))
            return -1;
        if (value && size != d)
            return cr_fail(r->error,
                           "%.400s: %s.%s is %" PRId64 ", expected %" PRId64 ", the size of a head",
                           r->file.path, r->family->name, names[i], size, d);
    }
    return 0;
}

/* ---- tensors ---- */

static bool has_tensor(const struct reading *r, const char *name)
{
    return cr_gguf_find_tensor(&r->file, name) != NULL;
}

static bool is_encoder(const struct reading *r)
{
    return r->names == CR_AS_BERT || r->names == CR_AS_NOMIC || r->names == CR_AS_MODERN;
}

static void set_bias(struct reading *r, const char *option, const char *tensor)
{
    set(r, option, has_tensor(r, tensor) ? "true" : "false");
}

/* Reads an encoder's options from its tensors: the number of segment types, and which layers have
 * biases. */
static int read_encoder(struct reading *r)
{
    const struct cr_gguf_tensor *types = cr_gguf_find_tensor(&r->file, "token_types.weight");
    if (r->names == CR_AS_MODERN) {
        set(r, "name_prefix", "");
        set_bias(r, "norm_bias", "token_embd_norm.bias");
        set_bias(r, "attention_bias", "blk.0.attn_qkv.bias");
        set_bias(r, "mlp_bias", "blk.0.ffn_up.bias");
        set_bias(r, "classifier_bias", "cls.bias");
        return 0;
    }
    if (types ? types->rank != 2 : r->names == CR_AS_BERT)
        return cr_fail(r->error, "%.400s: %s token_types.weight, expected a tensor of two axes", r->file.path,
                       types ? "another shape of" : "no tensor");
    set_integer(r, "type_vocab_size", types ? types->shape[0] : 0);
    if (r->names == CR_AS_NOMIC) {
        set_bias(r, "qkv_proj_bias", "blk.0.attn_qkv.bias");
        set_bias(r, "mlp_fc1_bias", "blk.0.ffn_up.bias");
        set_bias(r, "mlp_fc2_bias", "blk.0.ffn_down.bias");
    }
    return 0;
}

/* Reads options from the tensors: the size of the vocabulary, whether the head uses the embedding
 * table, and which projections have biases. */
static int read_tensors(struct reading *r)
{
    const struct cr_gguf_tensor *table = cr_gguf_find_tensor(&r->file, "token_embd.weight");
    if (!table || table->rank != 2)
        return cr_fail(r->error, "%.400s: %s token_embd.weight, expected a tensor of two axes",
                       r->file.path, table ? "another shape of" : "no tensor");
    set_integer(r, "vocab_size", table->shape[0]);
    if (is_encoder(r))
        return read_encoder(r);
    set(r, "tie_word_embeddings", has_tensor(r, "output.weight") ? "false" : "true");
    if (r->names == CR_AS_GPT2)
        set(r, "layout", "linear");
    bool is_llama = strcmp(r->family->name, "llama") == 0;
    if (r->names == CR_AS_LLAMA && strcmp(r->family->name, "qwen2") != 0)
        set(r, "attention_bias", has_tensor(r, "blk.0.attn_q.bias") ? "true" : "false");
    if (is_llama)
        set(r, "mlp_bias", has_tensor(r, "blk.0.ffn_gate.bias") ? "true" : "false");
    return 0;
}

/* Checks that sizes fit each other, before a script builds a graph with them. */
static int check_sizes(struct reading *r)
{
    const struct cr_gguf_value *value = find(r, "attention.key_length");
    int64_t layers, d, heads, positions;
    if (read_count(r, find(r, "block_count"), &layers) ||
        read_count(r, find(r, "embedding_length"), &d) ||
        read_count(r, find(r, "attention.head_count"), &heads) ||
        read_count(r, find(r, "context_length"), &positions))
        return -1;
    if (layers > r->file.n_tensors)
        return cr_fail(r->error, "%.400s: %" PRId64 " blocks in a file of %d tensors, expected at least one for each",
                       r->file.path, layers, r->file.n_tensors);
    d /= heads;
    if (r->names == CR_AS_GPT2 || r->names == CR_AS_BERT)
        return 0;
    if (value && read_count(r, value, &d))
        return -1;
    return check_heads(r, d) || (is_encoder(r) ? check_unscaled(r) : read_scaling(r, positions)) ? -1 : 0;
}

/* Fails for a file that holds only one of several parts of a model. */
static int check_whole(const struct reading *r)
{
    const struct cr_gguf_value *value = cr_gguf_find(&r->file, "split.count");
    int64_t parts;
    if (!value || (cr_gguf_integer(value, 0, &parts) && parts <= 1))
        return 0;
    return cr_fail(r->error,
                   "%.400s: found one of several files of a split model, expected a single file",
                   r->file.path);
}

/* ---- files ---- */

int cr_gguf_model_read(struct cr_gguf_model *model, const char *path, struct cr_error *error)
{
    struct reading r = {.model = model, .error = error};
    *model = (struct cr_gguf_model){0};
    if (cr_gguf_open(&r.file, path, error->text, sizeof error->text))
        return -1;
    r.family = cr_gguf_family_of(&r.file, error);
    r.names = r.family ? r.family->names : CR_AS_LLAMA;
    int status =
        !r.family || check_whole(&r) || read_keys(&r) || read_tensors(&r) || check_sizes(&r) ? -1
                                                                                             : 0;
    model->family = r.family ? r.family->type : NULL;
    cr_gguf_close(&r.file);
    if (status)
        cr_gguf_model_free(model);
    return status;
}

void cr_gguf_model_free(struct cr_gguf_model *model)
{
    for (int i = 0; i < model->n_settings; i++)
        free((char *)model->settings[i].value);
    *model = (struct cr_gguf_model){0};
}

/* Reads the pooling that a file names.  A reranker always uses the first token's vector. */
static int read_pooling(const struct cr_gguf *file, const struct cr_gguf_family *family,
                        struct cr_gguf_pooling *pooling, struct cr_error *error)
{
    static const char *const names[] = {"mean", "mean", "cls", "lasttoken", "cls"};
    enum { RANK = 4 };
    int64_t kind = 0;
    const struct cr_gguf_value *type = cr_gguf_find_of(file, family, "pooling_type");
    const struct cr_gguf_value *length = cr_gguf_find_of(file, family, "context_length");
    if (type && (type->is_array || !cr_gguf_integer(type, 0, &kind) || kind < 0 || kind > RANK))
        return cr_fail(error, "%.400s: found the pooling_type %" PRId64 ", expected one of 0 to 4", file->path, kind);
    if (length)
        cr_gguf_count(length, &pooling->positions);
    pooling->name = names[kind];
    pooling->ranks = kind == RANK;
    return 0;
}

int cr_gguf_read_pooling(struct cr_gguf_pooling *pooling, const char *path, struct cr_error *error)
{
    struct cr_gguf file;
    *pooling = (struct cr_gguf_pooling){0};
    if (cr_gguf_open(&file, path, error->text, sizeof error->text))
        return -1;
    const struct cr_gguf_family *family = cr_gguf_family_of(&file, error);
    int status = family ? read_pooling(&file, family, pooling, error) : -1;
    cr_gguf_close(&file);
    return status;
}

/* Copies the names of the labels; if the file has none, sets *n to the number of rows of the last
 * layer. */
static int read_labels(const struct cr_gguf *file, const struct cr_gguf_family *family, char ***names, int *n,
                       struct cr_error *error)
{
    enum { MOST_LABELS = 100000 };
    const struct cr_gguf_value *labels = cr_gguf_find_of(file, family, "classifier.output_labels");
    const struct cr_gguf_tensor *last = cr_gguf_find_tensor(file, "cls.output.weight");
    if (labels && (!labels->is_array || labels->kind != CR_GGUF_STRING))
        return cr_fail(error, "%.400s: classifier.output_labels is %s, expected an array of texts", file->path,
                       cr_gguf_kind_of(labels));
    if (!last || last->rank != 2 || last->shape[0] > MOST_LABELS || (labels && labels->n != (uint64_t)last->shape[0]))
        return cr_fail(error, "%.400s: %s cls.output.weight, expected one with a row for each of at most %d labels",
                       file->path, last ? "another shape of" : "no tensor", MOST_LABELS);
    *n = (int)last->shape[0];
    *names = cr_calloc((size_t)*n, sizeof **names);
    const unsigned char *at = labels ? labels->data : NULL;
    for (int i = 0; i < *n; i++) {
        char number[32];
        snprintf(number, sizeof number, "LABEL_%d", i);
        struct cr_gguf_string s = labels ? cr_gguf_next_string(&at) : (struct cr_gguf_string){number, strlen(number)};
        (*names)[i] = cr_calloc(s.length + 1, 1);
        memcpy((*names)[i], s.text, s.length);
    }
    return 0;
}

int cr_gguf_labels(const char *path, char ***names, int *n, struct cr_error *error)
{
    struct cr_gguf file;
    if (cr_gguf_open(&file, path, error->text, sizeof error->text))
        return -1;
    const struct cr_gguf_family *family = cr_gguf_family_of(&file, error);
    int status = family ? read_labels(&file, family, names, n, error) : -1;
    cr_gguf_close(&file);
    return status;
}

int cr_gguf_text_ends(struct cr_text_ends *ends, const char *path, struct cr_error *error)
{
    struct cr_gguf file;
    struct cr_ids ids = {0};
    int64_t begin;
    *ends = (struct cr_text_ends){.begin = CRESCENT_NONE};
    if (cr_gguf_open(&file, path, error->text, sizeof error->text))
        return -1;
    const struct cr_gguf_value *value = cr_gguf_find(&file, "tokenizer.ggml.bos_token_id");
    if (value && cr_gguf_integer(value, 0, &begin))
        ends->begin = begin;
    int status = cr_gguf_end_ids(&file, &ids, error);
    for (; ends->n < ids.n; ends->n++)
        ends->items[ends->n] = ids.items[ends->n];
    free(ids.items);
    cr_gguf_close(&file);
    return status;
}
