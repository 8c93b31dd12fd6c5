/* gguf_weights.c - reads tensors of GGUF files as parameters; see gguf_weights.h. */
#include "gguf_weights.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* ---- families ---- */

static const struct cr_gguf_family families[] = {
    {"llama", "llama", "model.layers.", CR_AS_LLAMA, true},
    {"qwen2", "qwen2", "model.layers.", CR_AS_LLAMA, false},
    {"qwen3", "qwen3", "model.layers.", CR_AS_LLAMA, false},
    {"gpt2", "gpt2", "transformer.h.", CR_AS_GPT2, false},
    {"bert", "bert", "encoder.layer.", CR_AS_BERT, false},
    {"nomic-bert", "nomic_bert", "encoder.layers.", CR_AS_NOMIC, false},
    {"modern-bert", "modernbert", "layers.", CR_AS_MODERN, false},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

const struct cr_gguf_family *cr_gguf_family_of(const struct cr_gguf *file, struct cr_error *error)
{
    const struct cr_gguf_value *value = cr_gguf_find(file, "general.architecture");
    if (!value || value->is_array || value->kind != CR_GGUF_STRING) {
        cr_fail(error, "%.400s: no general.architecture, expected the name of one", file->path);
        return NULL;
    }
    const unsigned char *at = value->data;
    struct cr_gguf_string name = cr_gguf_next_string(&at);
    for (int i = 0; i < N_FAMILIES; i++)
        if (strlen(families[i].name) == name.length &&
            memcmp(families[i].name, name.text, name.length) == 0)
            return &families[i];
    cr_fail(error, "%.400s: the architecture %s, expected llama, qwen2, qwen3, gpt2, bert, "
                   "nomic-bert or modern-bert", file->path,
            cr_show(name.text, name.length).text);
    return NULL;
}

const struct cr_gguf_value *cr_gguf_find_of(const struct cr_gguf *file,
                                            const struct cr_gguf_family *family, const char *name)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", family->name, name);
    return cr_gguf_find(file, key);
}

/* ---- names ---- */

/* Names in GGUF files, without .weight or .bias and without the number of the block, and Hugging
 * Face's names for each family.  `turned` is set for Q and K, whose rows may be reordered. */
static const struct row {
    const char *gguf;
    const char *names[CR_GGUF_NAMES]; /* by family; null: the family has no such tensor */
    const char *turned; /* for Q and K: the metadata key of the number of heads; else null */
} rows[] = {
    {"token_embd",
     {"model.embed_tokens", "transformer.wte", "embeddings.word_embeddings", "embeddings.word_embeddings",
      "embeddings.tok_embeddings"}, NULL},
    {"position_embd", {NULL, "transformer.wpe", "embeddings.position_embeddings", NULL, NULL}, NULL},
    {"token_types", {NULL, NULL, "embeddings.token_type_embeddings", "embeddings.token_type_embeddings", NULL}, NULL},
    {"token_embd_norm", {NULL, NULL, "embeddings.LayerNorm", "emb_ln", "embeddings.norm"}, NULL},
    {"output_norm", {"model.norm", "transformer.ln_f", NULL, NULL, "final_norm"}, NULL},
    {"output", {"lm_head", "lm_head", NULL, NULL, NULL}, NULL},
    /* RoBERTa's classifier has two layers: they have the names of BERT's pooler and classifier */
    {"cls", {NULL, NULL, "pooler.dense", "pooler.dense", "head.dense"}, NULL},
    {"cls.norm", {NULL, NULL, NULL, NULL, "head.norm"}, NULL},
    {"cls.output", {NULL, NULL, "classifier", "classifier", "classifier"}, NULL},
    {"blk.attn_norm", {"input_layernorm", "ln_1", NULL, NULL, "attn_norm"}, NULL},
    {"blk.attn_qkv", {NULL, "attn.c_attn", NULL, "attn.Wqkv", "attn.Wqkv"}, NULL},
    {"blk.attn_q", {"self_attn.q_proj", NULL, "attention.self.query", NULL, NULL}, "attention.head_count"},
    {"blk.attn_k", {"self_attn.k_proj", NULL, "attention.self.key", NULL, NULL}, "attention.head_count_kv"},
    {"blk.attn_v", {"self_attn.v_proj", NULL, "attention.self.value", NULL, NULL}, NULL},
    {"blk.attn_q_norm", {"self_attn.q_norm", NULL, NULL, NULL, NULL}, NULL},
    {"blk.attn_k_norm", {"self_attn.k_norm", NULL, NULL, NULL, NULL}, NULL},
    {"blk.attn_output", {"self_attn.o_proj", "attn.c_proj", "attention.output.dense", "attn.out_proj", "attn.Wo"}, NULL},
    {"blk.attn_output_norm", {NULL, NULL, "attention.output.LayerNorm", "norm1", NULL}, NULL},
    {"blk.ffn_norm", {"post_attention_layernorm", "ln_2", NULL, NULL, "mlp_norm"}, NULL},
    {"blk.ffn_gate", {"mlp.gate_proj", NULL, NULL, "mlp.fc12", NULL}, NULL},
    {"blk.ffn_up", {"mlp.up_proj", "mlp.c_fc", "intermediate.dense", "mlp.fc11", "mlp.Wi"}, NULL},
    {"blk.ffn_down", {"mlp.down_proj", "mlp.c_proj", "output.dense", "mlp.fc2", "mlp.Wo"}, NULL},
    {"blk.layer_output_norm", {NULL, NULL, "output.LayerNorm", "norm2", NULL}, NULL},
};
enum { N_ROWS = sizeof rows / sizeof *rows, NAME = 128 };

/* Splits a name such as "blk.12.attn_q.weight" into number "12", stem "blk.attn_q" and end
 * ".weight". Returns false for a name of another form. */
static bool split_name(struct cr_gguf_string name, char number[16], char stem[NAME], char end[NAME])
{
    char text[NAME - 8]; /* shorter than `stem`, which gets a few characters more */
    size_t digits = 0;
    if (name.length >= sizeof text || memchr(name.text, '\0', name.length))
        return false;
    snprintf(text, sizeof text, "%.*s", (int)name.length, name.text);
    char *dot = strrchr(text, '.'), *from = text;
    if (!dot || (strcmp(dot, ".weight") != 0 && strcmp(dot, ".bias") != 0))
        return false;
    snprintf(end, NAME, "%s", dot);
    *dot = *number = '\0';
    if (strncmp(text, "blk.", 4) == 0) {
        from = text + 4;
        digits = strspn(from, "0123456789");
        if (digits == 0 || digits > 8 || from[digits] != '.')
            return false;
        snprintf(number, 16, "%.*s", (int)digits, from);
        from += digits + 1;
    }
    snprintf(stem, NAME, "%s%s", digits ? "blk." : "", from);
    return true;
}

/* Writes Hugging Face's name of a tensor to `out` and returns its row of the table.  If the table
 * lacks the tensor, copies its own name and returns null. */
static const struct row *name_of(const struct cr_gguf_family *family, struct cr_gguf_string name,
                                 char *out, size_t size)
{
    char number[16], stem[NAME], end[NAME];
    snprintf(out, size, "%.*s", (int)(name.length < size ? name.length : size - 1), name.text);
    if (!split_name(name, number, stem, end))
        return NULL;
    for (int i = 0; i < N_ROWS; i++) {
        const char *to = rows[i].names[family->names];
        if (!to || strcmp(rows[i].gguf, stem) != 0)
            continue;
        snprintf(out, size, "%s%s%s%s%s", *number ? family->block : "", number, *number ? "." : "",
                 to, end);
        return &rows[i];
    }
    return NULL;
}

/* ---- rows of Q and K ---- */

/* Sets weight->half to half the rows of a head if the file stores the rows of Q and K as
 * interleaved pairs, else to 0. */
static int find_half(const struct cr_gguf *file, const struct cr_gguf_family *family,
                     const struct row *row, struct cr_gguf_weight *weight, struct cr_error *error)
{
    const struct cr_gguf_tensor *t = weight->tensor;
    int64_t heads = 0;
    weight->half = 0;
    if (!family->interleaved || !row || !row->turned || !t->rank)
        return 0;
    const struct cr_gguf_value *value = cr_gguf_find_of(file, family, row->turned);
    if (!value)
        value = cr_gguf_find_of(file, family, "attention.head_count");
    if (!value || !cr_gguf_count(value, &heads) || t->shape[0] % heads || t->shape[0] / heads % 2)
        return cr_fail(error,
                       "%.400s: tensor %s has %lld rows, expected an even number for each of "
                       "%lld heads",
                       file->path, cr_show(t->name.text, t->name.length).text,
                       (long long)t->shape[0], (long long)heads);
    weight->half = t->shape[0] / heads / 2;
    return 0;
}

/* Returns the number of the file's row that is row `row` of the parameter. */
static int64_t file_row(const struct cr_gguf_weight *w, int64_t row)
{
    int64_t head, in_head;
    if (!w->half)
        return row;
    head = row / (2 * w->half);
    in_head = row % (2 * w->half);
    return 2 * w->half * head + 2 * (in_head % w->half) + in_head / w->half;
}

/* ---- opening ---- */

/* A tensor of the file: its item for the list of tensors, and the order of its rows. */
struct entry {
    struct cr_st_tensor tensor;
    struct cr_gguf_weight weight;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->tensor.name, ((const struct entry *)b)->tensor.name);
}

/* True if a tensor is a parameter.  The RoPE factors are not, since metadata describe them as
 * well. */
static bool is_parameter(const struct cr_gguf_tensor *t)
{
    static const char factors[] = "rope_freqs.weight";
    return t->name.length != sizeof factors - 1 ||
           memcmp(t->name.text, factors, t->name.length) != 0;
}

/* Copies n sorted entries into both lists. */
static void take_entries(struct cr_gguf_weights *w, struct cr_safetensors *list,
                         const struct entry *entries, int n)
{
    list->tensors = cr_calloc((size_t)n + 1, sizeof *list->tensors);
    w->items = cr_calloc((size_t)n + 1, sizeof *w->items);
    for (int i = 0; i < n; i++) {
        list->tensors[i] = entries[i].tensor;
        w->items[i] = entries[i].weight;
    }
    list->n_tensors = n;
}

/* Lists all tensors under Hugging Face's names, sorted by name.  The list owns names and shapes. */
static int name_tensors(struct cr_gguf_weights *w, struct cr_safetensors *list,
                        struct cr_error *error)
{
    const struct cr_gguf *file = &w->file;
    const struct cr_gguf_family *family = cr_gguf_family_of(file, error);
    int n = 0, status = family ? 0 : -1;
    struct entry *entries = cr_calloc((size_t)file->n_tensors + 1, sizeof *entries);
    list->strings = cr_calloc((size_t)file->n_tensors + 1, 2 * NAME);
    list->shapes = cr_calloc((size_t)file->n_tensors + 1, CR_GGUF_RANK * sizeof *list->shapes);
    for (int i = 0; i < file->n_tensors && !status; i++) {
        const struct cr_gguf_tensor *t = &file->tensors[i];
        char *name = list->strings + 2 * NAME * n;
        int64_t *shape = list->shapes + CR_GGUF_RANK * n;
        if (!is_parameter(t))
            continue;
        memcpy(shape, t->shape, sizeof t->shape);
        entries[n].weight = (struct cr_gguf_weight){.file = file, .tensor = t};
        entries[n].tensor =
            (struct cr_st_tensor){name, CR_ST_U8, t->rank, shape, t->elements, t->bytes, t->data};
        const struct row *row = name_of(family, t->name, name, 2 * NAME);
        status = find_half(file, family, row, &entries[n++].weight, error);
    }
    if (!status) {
        qsort(entries, (size_t)n, sizeof *entries, by_name);
        take_entries(w, list, entries, n);
    }
    free(entries);
    return status;
}

int cr_gguf_weights_open(struct cr_gguf_weights *w, struct cr_safetensors *list, const char *path,
                         struct cr_error *error)
{
    *w = (struct cr_gguf_weights){0};
    *list = (struct cr_safetensors){.path = path};
    if (cr_gguf_open(&w->file, path, error->text, sizeof error->text))
        return -1;
    if (name_tensors(w, list, error) == 0)
        return 0;
    cr_safetensors_close(list);
    cr_gguf_weights_close(w);
    return -1;
}

int cr_gguf_weights_parse(struct cr_gguf_weights *w, struct cr_safetensors *list, const char *path,
                          struct cr_mapping bytes, struct cr_error *error)
{
    *w = (struct cr_gguf_weights){0};
    *list = (struct cr_safetensors){.path = path};
    if (cr_gguf_parse(&w->file, path, bytes, error->text, sizeof error->text))
        return -1;
    if (name_tensors(w, list, error) == 0)
        return 0;
    cr_safetensors_close(list);
    w->file.mapping = (struct cr_mapping){0};
    cr_gguf_weights_close(w);
    return -1;
}

void cr_gguf_weights_close(struct cr_gguf_weights *w)
{
    cr_gguf_close(&w->file);
    free(w->items);
    *w = (struct cr_gguf_weights){0};
}

/* ---- reading ---- */

static int64_t columns_of(const struct cr_gguf_tensor *t)
{
    return t->rank ? t->shape[t->rank - 1] : 1;
}

const unsigned char *cr_gguf_weight_blocks(const struct cr_gguf_weight *w, int64_t row, int64_t col)
{
    /* of a vector, each element is a row for the reordering of Q and K */
    if (w->half && w->tensor->rank == 1)
        return cr_gguf_block(w->tensor, 0, file_row(w, col));
    return cr_gguf_block(w->tensor, file_row(w, row), col);
}

/* Returns how many of n elements from `first` on are contiguous in the file: all n or, if rows
 * are reordered, those up to the end of the row.  In a vector a row is one element. */
static int64_t run_of(const struct cr_gguf_weight *w, int64_t first, int64_t n)
{
    int64_t cols = columns_of(w->tensor), left = cols - first % cols;
    if (!w->half)
        return n;
    left = w->tensor->rank == 1 ? 1 : left;
    return left < n ? left : n;
}

/* Copies to `out` the quantised blocks that contain n contiguous elements from `first` on. */
static int read_run(const struct cr_gguf_weight *w, int64_t first, int64_t n, unsigned char *out)
{
    const struct cr_mapping *mapping = &w->file->mapping;
    const struct cr_gguf_type *type = w->tensor->type;
    int64_t cols = columns_of(w->tensor);
    int64_t blocks = (first % type->elements + n + type->elements - 1) / type->elements;
    const unsigned char *from = cr_gguf_weight_blocks(w, first / cols, first % cols);
    return cr_mapping_read(mapping, (size_t)(from - mapping->bytes),
                           (size_t)(blocks * type->bytes), out);
}

/* Returns the index in the file's tensor of element `at` of the parameter. */
static int64_t file_element(const struct cr_gguf_weight *w, int64_t at)
{
    const int64_t cols = w->half && w->tensor->rank == 1 ? 1 : columns_of(w->tensor);
    return file_row(w, at / cols) * cols + at % cols;
}

int cr_gguf_weight_floats(const struct cr_gguf_weight *w, int64_t first, int64_t n, float *out)
{
    for (int64_t some; n > 0; first += some, out += some, n -= some) {
        some = run_of(w, first, n);
        if (cr_gguf_floats(w->file, w->tensor, file_element(w, first), some, out))
            return -1;
    }
    return 0;
}

int cr_gguf_weight_read(const struct cr_gguf_weight *w, int64_t first, int64_t n,
                        unsigned char *out)
{
    const struct cr_gguf_type *type = w->tensor->type;
    for (int64_t some; n > 0; first += some, n -= some) {
        some = run_of(w, first, n);
        if (read_run(w, first, some, out))
            return -1;
        out += some / type->elements * type->bytes;
    }
    return 0;
}
