/* sentence_transformers.c - reads the files of sentence-transformers; see
 * sentence_transformers.h. */
#include "sentence_transformers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/files/gguf.h"
#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"
#include "compiler/json/document.h"
#include "compiler/tokenizer/segments.h"
#include "folder_model_type.h"
#include "gguf_model.h"

enum { PATH_SIZE = 4096 };

/* Opens a file of a folder that must be an object.  Returns 1, 0 if there is no such file, or -1 with an error. */
static int open_object(struct cr_document *d, const char *folder, const char *name, struct cr_error *error)
{
    int found = cr_document_read_optional(d, folder, name, false, error);
    if (found <= 0 || d->values[0].kind == CR_JSON_OBJECT)
        return found;
    cr_fail(error, "%s:%d: found %s, expected an object", d->path, cr_value_line(d, 0), cr_kind_of_value(d, 0));
    cr_document_free(d);
    return -1;
}

static void set(char **text, const char *value)
{
    free(*text);
    *text = value ? cr_strdup(value) : NULL;
}

/* ---- pooling ---- */

/* Appends a module to the list of modules.  If a Normalize was read before it and is not in the list
 * yet, appends that first. */
static void add_module(struct cr_sentence *s, const char *module)
{
    struct cr_text list = {0};
    if (s->modules)
        cr_put(&list, "%s,", s->modules);
    if (s->normalize)
        cr_put(&list, "Normalize,");
    cr_put(&list, "%s", module);
    free(s->modules);
    s->modules = list.data;
    s->normalize = false;
}

/* The keys of a Pooling's config.json and their kinds of pooling.  If several are set, their
 * vectors are concatenated in this order. */
static const char *const poolings[][2] = {
    {"pooling_mode_cls_token", "cls"},
    {"pooling_mode_max_tokens", "max"},
    {"pooling_mode_mean_tokens", "mean"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    {"pooling_mode_weightedmean_tokens", "weightedmean"},
    {"pooling_mode_lasttoken", "lasttoken"},
};
enum { N_POOLINGS = sizeof poolings / sizeof *poolings };

/* Adds a kind of pooling: the first one is the option `pooling`, further ones are modules "+
 * KIND". */
static void add_pooling(struct cr_sentence *s, const char *kind, bool is_first)
{
    char module[40];
    if (is_first) {
        set(&s->pooling, kind);
        return;
    }
    snprintf(module, sizeof module, "+ %s", kind);
    add_module(s, module);
}

/* Adds a kind of pooling by its name; fails for an unknown name. */
static int add_named_pooling(struct cr_sentence *s, const struct cr_document *d, const char *name, bool is_first,
                             struct cr_error *error)
{
    for (int i = 0; i < N_POOLINGS; i++)
        if (strcmp(name, poolings[i][1]) == 0) {
            add_pooling(s, name, is_first);
            return 0;
        }
    return cr_fail(error, "%s: found the pooling %.60s, expected one of cls, mean, max, mean_sqrt_len_tokens, "
                          "weightedmean and lasttoken",
                   d->path, name);
}

/* Reads a JSON list of names of poolings. */
static int read_pooling_list(struct cr_sentence *s, const struct cr_document *d, int list, struct cr_error *error)
{
    int first = d->values[list].first;
    if (first < 0)
        return cr_fail(error, "%s:%d: found no pooling, expected one", d->path, cr_value_line(d, list));
    for (int i = first; i >= 0; i = d->values[i].next) {
        if (d->values[i].kind != CR_JSON_STRING)
            return cr_fail(error, "%s:%d: found %s, expected the name of a pooling", d->path, cr_value_line(d, i),
                           cr_kind_of_value(d, i));
        if (add_named_pooling(s, d, d->values[i].text, i == first, error))
            return -1;
    }
    return 0;
}

/* Reads the flags of kinds of pooling.  If none is set, the default stays, the mean. */
static int read_pooling_flags(struct cr_sentence *s, const struct cr_document *d, struct cr_error *error)
{
    int found = 0;
    for (int i = 0; i < N_POOLINGS; i++) {
        bool chosen = false;
        if (cr_read_bool(d, 0, "pooling", poolings[i][0], &chosen, error))
            return -1;
        if (chosen)
            add_pooling(s, poolings[i][1], found++ == 0);
    }
    return 0;
}

/* Reads the size of a token's vector, for which files use two keys. */
static int read_token_size(struct cr_sentence *s, const struct cr_document *d, struct cr_error *error)
{
    static const char *const keys[] = {"word_embedding_dimension", "embedding_dimension"};
    struct cr_text at = {0};
    for (int i = 0; i < 2 && !s->token_size_at; i++) {
        int member = cr_member(d, 0, keys[i]);
        s->token_size = 0;
        if (cr_read_integer(d, 0, "pooling", keys[i], &s->token_size, error))
            return -1;
        if (member < 0 || d->values[member].kind == CR_JSON_NULL)
            continue;
        cr_put(&at, "%s:%d: found %s", d->path, cr_value_line(d, member), keys[i]);
        s->token_size_at = at.data;
    }
    return 0;
}

/* Reads the kinds of pooling: a member `pooling_mode`, a name or a list of names, or else flags. */
static int read_pooling(struct cr_sentence *s, const struct cr_document *d, const char *module,
                        struct cr_error *error)
{
    (void)module;
    const char *mode = NULL;
    bool includes_prompt = true;
    int member = cr_member(d, 0, "pooling_mode");
    if (cr_read_bool(d, 0, "pooling", "include_prompt", &includes_prompt, error) || read_token_size(s, d, error))
        return -1;
    s->excludes_prompt = !includes_prompt;
    if (member >= 0 && d->values[member].kind == CR_JSON_ARRAY)
        return read_pooling_list(s, d, member, error);
    if (cr_read_string(d, 0, "pooling", "pooling_mode", &mode, error))
        return -1;
    return mode ? add_named_pooling(s, d, mode, true, error) : read_pooling_flags(s, d, error);
}

/* Returns the number of kinds of pooling whose vectors are concatenated. */
static int count_poolings(const struct cr_sentence *s)
{
    int n = 1;
    for (const char *at = s->modules; at && (*at == '+' || strncmp(at, "Prompt ", 7) == 0);) {
        n += *at == '+';
        at = strchr(at, ',');
        at = at ? at + 1 : at;
    }
    return n;
}

int cr_check_token_size(const struct cr_sentence *s, const crescent_script *how, int64_t size,
                        struct cr_error *error)
{
    if (!s->token_size_at || s->score || s->n_labels || (s->truncates && !s->has_layers))
        return 0;
    for (int i = 0; how && i < how->n_settings; i++)
        if (strcmp(how->settings[i].key, "pooling") == 0 || strcmp(how->settings[i].key, "modules") == 0)
            return 0;
    const int64_t pooled = s->has_layers ? s->layer_takes : size;
    return s->token_size == pooled / count_poolings(s)
               ? 0
               : cr_fail(error, "%s %" PRId64 ", expected %" PRId64 ", the size of a token's vector in the model",
                         s->token_size_at, s->token_size, pooled / count_poolings(s));
}

void cr_leave_out_prompt(struct cr_sentence *s, int64_t tokens)
{
    struct cr_text list = {0};
    if (tokens <= 0)
        return;
    cr_put(&list, "Prompt %" PRId64 "%s%s", tokens, s->modules ? "," : "", s->modules ? s->modules : "");
    free(s->modules);
    s->modules = list.data;
}

void cr_set_pooling(struct cr_sentence *s, const char *kind)
{
    set(&s->pooling, kind);
    s->pooling_is_set = true;
    while (s->modules && s->modules[0] == '+') {
        const char *comma = strchr(s->modules, ',');
        char *rest = comma ? cr_strdup(comma + 1) : NULL;
        free(s->modules);
        s->modules = rest;
    }
}

/* ---- modules after the pooling ---- */

/* Records that there is a layer with weights, which takes a vector of `size` numbers. */
static void note_layer(struct cr_sentence *s, int64_t size)
{
    if (!s->has_layers)
        s->layer_takes = size;
    s->has_layers = true;
}

/* True if a text consists only of characters that are allowed in names of folders; separators of
 * lists are not. */
static bool is_plain(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")];
}

/* True if a path is that of a folder inside the model's folder: plain names separated by single
 * slashes. */
static bool is_inner_path(const char *path)
{
    char plain[PATH_SIZE];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof plain || path[0] == '/' || path[n - 1] == '/' || strstr(path, "//"))
        return false;
    for (size_t i = 0; i <= n; i++)
        plain[i] = path[i] == '/' ? '_' : path[i];
    return is_plain(plain);
}

/* Writes the prefix of the names of a module's parameters: its folder, with dots as separators. */
static void put_module_name(struct cr_text *out, const char *path)
{
    for (const char *c = path; *c; c++)
        cr_put(out, "%c", *c == '/' ? '.' : *c);
}

/* The config.json of a module Dense: a linear layer applied to the vector, followed by an
 * activation. */
struct dense {
    int64_t in, out;
    bool bias, residual; /* `residual`: the layer's input is added to its output, multiplied by
                            another matrix if the sizes differ */
    const char *activation, *takes, *gives;
};

/* Fails if the file of a Dense describes a layer that embedding.vector does not support. */
static int check_dense(const struct dense *dense, const char *path, struct cr_error *error)
{
    enum { MOST = 1 << 20 };
    if (dense->in < 1 || dense->in > MOST || dense->out < 1 || dense->out > MOST)
        return cr_fail(error, "%s: found in_features %lld and out_features %lld, expected numbers from 1 to %d",
                       path, (long long)dense->in, (long long)dense->out, MOST);
    if (strcmp(dense->takes, "sentence_embedding") != 0 || strcmp(dense->gives, "sentence_embedding") != 0)
        return cr_fail(error, "%s: found a Dense layer from %.60s to %.60s, expected sentence_embedding for both",
                       path, dense->takes, dense->gives);
    return is_plain(dense->activation)
               ? 0
               : cr_fail(error, "%s: found the activation %.60s, expected a class of PyTorch", path,
                         dense->activation);
}

/* Reads a Dense and adds it to the list of modules: FOLDER IN OUT ACTIVATION BIAS, and "residual"
 * if it is set. */
static int read_dense(struct cr_sentence *s, const struct cr_document *d, const char *module,
                      struct cr_error *error)
{
    struct dense dense = {.bias = true,
                          .activation = "Tanh",
                          .takes = "sentence_embedding",
                          .gives = "sentence_embedding"};
    if (cr_read_integer(d, 0, "Dense", "in_features", &dense.in, error) ||
        cr_read_integer(d, 0, "Dense", "out_features", &dense.out, error) ||
        cr_read_bool(d, 0, "Dense", "bias", &dense.bias, error) ||
        cr_read_bool(d, 0, "Dense", "use_residual", &dense.residual, error) ||
        cr_read_string(d, 0, "Dense", "activation_function", &dense.activation, error) ||
        cr_read_string(d, 0, "Dense", "module_input_name", &dense.takes, error) ||
        cr_read_string(d, 0, "Dense", "module_output_name", &dense.gives, error))
        return -1;
    const char *dot = strrchr(dense.activation, '.');
    dense.activation = dot ? dot + 1 : dense.activation;
    if (check_dense(&dense, d->path, error))
        return -1;
    struct cr_text text = {0};
    put_module_name(&text, module);
    cr_put(&text, " %lld %lld %s %s%s", (long long)dense.in, (long long)dense.out, dense.activation,
           dense.bias ? "true" : "false", dense.residual ? " residual" : "");
    add_module(s, text.data);
    note_layer(s, dense.in);
    free(text.data);
    return 0;
}

/* Reads a LayerNorm and adds it to the list of modules: LayerNorm FOLDER DIMENSION. */
static int read_layer_norm(struct cr_sentence *s, const struct cr_document *d, const char *module,
                           struct cr_error *error)
{
    enum { MOST = 1 << 20 };
    int64_t dimension = 0;
    struct cr_text text = {0};
    if (cr_read_integer(d, 0, "LayerNorm", "dimension", &dimension, error))
        return -1;
    if (dimension < 1 || dimension > MOST)
        return cr_fail(error, "%s: found dimension %lld, expected a number from 1 to %d", d->path,
                       (long long)dimension, MOST);
    cr_put(&text, "LayerNorm ");
    put_module_name(&text, module);
    cr_put(&text, " %lld", (long long)dimension);
    add_module(s, text.data);
    note_layer(s, dimension);
    free(text.data);
    return 0;
}

/* ---- reranking decoders ---- */

/* Reads the prompt's template from chat_template.jinja or tokenizer_config.json. */
static int read_template(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    char path[PATH_SIZE], message[300];
    struct cr_mapping file;
    struct cr_document d;
    if (snprintf(path, PATH_SIZE, "%s/chat_template.jinja", folder) < PATH_SIZE && access(path, F_OK) == 0) {
        if (cr_map_file(&file, path, message, sizeof message))
            return cr_fail(error, "%s", message);
        int status = cr_read_ranking_prompt(&s->template, (const char *)file.bytes, file.size, s->prompt, path, 0, error);
        cr_unmap_file(&file);
        return status;
    }
    int found = open_object(&d, folder, "tokenizer_config.json", error);
    if (found < 0)
        return -1;
    int source = found ? cr_need_member(&d, 0, "tokenizer", "chat_template", CR_JSON_STRING, error)
                       : cr_fail(error, "%.300s: found no chat_template.jinja, expected it", folder);
    int status = source < 0 ? -1
                            : cr_read_ranking_prompt(&s->template, d.values[source].text, d.values[source].length,
                                                    s->prompt, d.path, cr_value_line(&d, source), error);
    if (found)
        cr_document_free(&d);
    return status;
}

/* Sets the ids of the answer tokens; `no` may be CR_NO_VALUE. */
static void set_score(struct cr_sentence *s, int64_t yes, int64_t no)
{
    char text[48];
    if (no == CR_NO_VALUE)
        snprintf(text, sizeof text, "%" PRId64, yes);
    else
        snprintf(text, sizeof text, "%" PRId64 ",%" PRId64, yes, no);
    set(&s->score, text);
}

/* Reads the answer tokens from the file of a LogitScore. */
static int read_logit_score(struct cr_sentence *s, const struct cr_document *d, const char *module,
                            struct cr_error *error)
{
    (void)module;
    int64_t yes = CR_NO_VALUE, no = CR_NO_VALUE;
    if (cr_read_integer(d, 0, "LogitScore", "true_token_id", &yes, error) ||
        cr_read_integer(d, 0, "LogitScore", "false_token_id", &no, error))
        return -1;
    if (yes < 0 || no < CR_NO_VALUE || yes > INT32_MAX || no > INT32_MAX)
        return cr_fail(error, "%s: found true_token_id %" PRId64 " and false_token_id %" PRId64 ", expected ids of tokens",
                       d->path, yes, no);
    set_score(s, yes, no);
    return 0;
}

int cr_check_pooling(const struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    if (s->score || s->n_labels || s->pooling_is_set)
        return 0;
    if (s->encodes && s->output && strcmp(s->output, "token_embeddings") != 0)
        return cr_fail(error, "%.300s: found a Transformer that gives %.60s, expected token_embeddings", folder, s->output);
    return s->encodes && !s->pools
               ? cr_fail(error, "%.300s/modules.json: found no Pooling, expected one, or --pooling", folder)
               : 0;
}

int cr_check_vectors(const struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    return s->score
               ? cr_fail(
                     error,
                     "%.300s: found a reranking decoder (LogitScore), expected a model of vectors",
                     folder)
               : 0;
}

/* True if models of a class of transformers have labels. */
static bool has_labels(const char *class)
{
    static const char suffix[] = "ForSequenceClassification";
    size_t n = strlen(class), end = sizeof suffix - 1;
    return n >= end && strcmp(class + n - end, suffix) == 0;
}

void cr_name_class(const char *folder, struct cr_error *error)
{
    struct cr_error before = *error, ignored = {0};
    struct cr_document d;
    if (!strstr(before.text, ": no tensor ") || open_object(&d, folder, "config.json", &ignored) <= 0)
        return;
    const char *class = cr_first_class(&d);
    if (class && !has_labels(class))
        cr_fail(error, "%.400s; the class in config.json is %.60s, expected one such as BertForSequenceClassification",
                before.text, class);
    cr_document_free(&d);
}

int cr_is_yes_no_reranker(const char *folder, bool *is_reranker, struct cr_error *error)
{
    struct cr_document d;
    int found = open_object(&d, folder, "config.json", error);
    *is_reranker = false;
    if (found <= 0)
        return found;
    const char *class = cr_first_class(&d);
    *is_reranker = class && strcmp(class, "Qwen3ForCausalLM") == 0;
    cr_document_free(&d);
    return 0;
}

int cr_has_classes(const struct cr_sentence *s, const char *folder, bool *has_classes, struct cr_error *error)
{
    struct cr_document d;
    int found = s->pools || s->ranks ? 0 : open_object(&d, folder, "config.json", error);
    *has_classes = s->ranks;
    if (found <= 0)
        return found;
    const char *class = cr_first_class(&d);
    *has_classes = class ? has_labels(class) : cr_member(&d, 0, "id2label") >= 0;
    cr_document_free(&d);
    return 0;
}

int cr_set_yes_no_reranker(struct cr_sentence *s, const char *folder, int yes, int no,
                           struct cr_error *error)
{
    static const char template[] =
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
        "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
        "<Instruct>: {{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | "
        "default('Given a web search query, retrieve relevant passages that answer the query') }}\n"
        "<Query>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
        "<Document>: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}"
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n\n";
    if (yes < 0 || no < 0)
        return cr_fail(
            error,
            "%.300s: found a tokenizer without \"yes\" and \"no\", expected these tokens of a "
            "reranking decoder",
            folder);
    set_score(s, yes, no);
    return cr_read_ranking_prompt(&s->template, template, sizeof template - 1, s->prompt, "Qwen3-Reranker", 0, error);
}

/* ---- modules.json ---- */

typedef int read_config(struct cr_sentence *s, const struct cr_document *d, const char *module,
                        struct cr_error *error);

/* Reads the config.json in a module's folder by the function `read`; fails if it does not exist. */
static int read_folder(struct cr_sentence *s, const char *folder, const char *module, read_config *read,
                       struct cr_error *error)
{
    char name[PATH_SIZE];
    struct cr_document d;
    snprintf(name, sizeof name, "%.4000s/config.json", module);
    int found = open_object(&d, folder, name, error);
    if (found <= 0)
        return found < 0 ? -1 : cr_fail(error, "%s/%s: found no such file, expected it, as modules.json names it", folder,
                                                name);
    int status = read(s, &d, module, error);
    cr_document_free(&d);
    return status;
}

/* ---- kinds of modules ---- */

static int take_transformer(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    (void)folder, (void)error;
    s->encodes = true;
    set(&s->inner, path);
    return 0;
}

static int take_table(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    (void)folder, (void)error;
    s->table = s->pools = true;
    set(&s->inner, path);
    return 0;
}

static int take_pooling(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    s->pools = true;
    return read_folder(s, folder, path, read_pooling, error);
}

static int take_dense(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    return read_folder(s, folder, path, read_dense, error);
}

static int take_layer_norm(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    return read_folder(s, folder, path, read_layer_norm, error);
}

static int take_logit_score(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    return read_folder(s, folder, path, read_logit_score, error);
}

/* Reads a Normalize of the text's vector.  Its file, which older versions do not write, may say
 * that it normalizes the vectors of tokens; that is refused. */
static int take_normalize(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    char name[PATH_SIZE];
    const char *takes = "sentence_embedding", *gives = takes;
    struct cr_document d;
    snprintf(name, sizeof name, "%.4000s/config.json", path);
    int found = *path ? open_object(&d, folder, name, error) : 0, status = found < 0 ? -1 : 0;
    if (found > 0) {
        status = cr_read_string(&d, 0, "Normalize", "module_input_name", &takes, error) ||
                         cr_read_string(&d, 0, "Normalize", "module_output_name", &gives, error)
                     ? -1
                     : 0;
        if (status == 0 && (strcmp(takes, "sentence_embedding") != 0 || strcmp(gives, "sentence_embedding") != 0))
            status = cr_fail(error, "%s: found a Normalize from %.60s to %.60s, expected sentence_embedding for both", d.path,
                             takes, gives);
        cr_document_free(&d);
    }
    s->normalize = true;
    return status;
}

/* Ignores a Dropout, which changes vectors only in training. */
static int take_dropout(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error)
{
    (void)s, (void)folder, (void)path, (void)error;
    return 0;
}

/* Where a module may stand in the list, relative to the Pooling. */
enum module_place { CR_ANYWHERE, CR_BEFORE_POOLING, CR_BEHIND_POOLING };

static const struct module_kind {
    const char *name;
    enum module_place place;
    bool may_be_own; /* its path may be the model's folder itself */
    int (*read)(struct cr_sentence *s, const char *folder, const char *path, struct cr_error *error);
} module_kinds[] = {
    {"Transformer", CR_BEFORE_POOLING, true, take_transformer},
    {"StaticEmbedding", CR_BEFORE_POOLING, true, take_table},
    {"Pooling", CR_BEFORE_POOLING, false, take_pooling},
    {"Dense", CR_BEHIND_POOLING, false, take_dense},
    {"LayerNorm", CR_BEHIND_POOLING, false, take_layer_norm},
    {"LogitScore", CR_ANYWHERE, false, take_logit_score},
    {"Normalize", CR_BEHIND_POOLING, true, take_normalize},
    {"Dropout", CR_ANYWHERE, true, take_dropout},
};

/* Reads a module of modules.json.  The last part of its type, such as
 * "sentence_transformers.models.Pooling", is its kind. */
static int read_module(struct cr_sentence *s, const struct cr_document *d, int module,
                       const char *folder, struct cr_error *error)
{
    const char *type = NULL, *path = "";
    if (cr_read_string(d, module, "module", "type", &type, error) ||
        cr_read_string(d, module, "module", "path", &path, error))
        return -1;
    const char *dot = type ? strrchr(type, '.') : NULL, *name = dot ? dot + 1 : type ? type : "nothing";
    const bool is_own = !*path || strcmp(path, ".") == 0;
    for (size_t i = 0; i < sizeof module_kinds / sizeof *module_kinds; i++) {
        const struct module_kind *kind = &module_kinds[i];
        if (strcmp(name, kind->name) != 0 || !(is_inner_path(path) || (is_own && kind->may_be_own)))
            continue;
        if (kind->place != CR_ANYWHERE && (kind->place == CR_BEHIND_POOLING) != s->pools)
            return cr_fail(error, "%s:%d: found the module %s %s, expected a Transformer, a Pooling, and then other "
                                  "modules", d->path, cr_value_line(d, module), name,
                           kind->place == CR_BEHIND_POOLING ? "in front of the Pooling" : "behind a Pooling");
        return kind->read(s, folder, is_own ? "" : path, error);
    }
    return cr_fail(error, "%s:%d: found the module %.80s in the folder '%.80s', expected a Transformer, Pooling, "
                          "Normalize, Dropout, LogitScore, Dense, LayerNorm or StaticEmbedding in a folder of letters, "
                          "digits, _ and -",
                   d->path, cr_value_line(d, module), name, path);
}

/* Reads modules.json if the folder has it. */
static int read_modules(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    int found = cr_document_read_optional(&d, folder, "modules.json", false, error), status = 0;
    if (found <= 0)
        return found;
    if (d.values[0].kind != CR_JSON_ARRAY)
        status = cr_fail(error, "%s:%d: found %s, expected an array of modules", d.path, cr_value_line(&d, 0),
                         cr_kind_of_value(&d, 0));
    for (int i = status ? -1 : d.values[0].first; i >= 0 && status == 0; i = d.values[i].next)
        status = read_module(s, &d, i, folder, error);
    if (status == 0 && s->table && s->has_layers)
        status = cr_fail(error, "%s: found a StaticEmbedding and modules with weights of their own, expected only "
                                "Normalize and Dropout behind it",
                         d.path);
    cr_document_free(&d);
    return status;
}

/* ---- other files ---- */

/* Reads an integer from a JSON file; leaves *out unchanged if there is no such file or key. */
static int read_number(const char *folder, const char *file, const char *key, int64_t *out,
                       struct cr_error *error)
{
    struct cr_document d;
    int found = open_object(&d, folder, file, error);
    if (found <= 0)
        return found;
    int status = cr_read_integer(&d, 0, "limit", key, out, error);
    if (status == 0 && *out < 0)
        status = cr_fail(error, "%s:%d: found %s %lld, expected 0 or more tokens", d.path,
                         cr_value_line(&d, cr_member(&d, 0, key)), key, (long long)*out);
    cr_document_free(&d);
    return status;
}

/* Reads the settings of the module Transformer from the first file of a list that exists: older
 * versions named the file after the model's family. */
static int read_transformer(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    static const char *const files[] = {
        "sentence_bert_config.json",       "sentence_roberta_config.json",
        "sentence_distilbert_config.json", "sentence_camembert_config.json",
        "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json"};
    enum { N = sizeof files / sizeof *files };
    struct cr_document d;
    int found = 0;
    for (int i = 0; i < N && found == 0; i++) {
        found = read_number(folder, files[i], "max_seq_length", &s->max_length, error) ? -1 : 0;
        found = found ? found : open_object(&d, folder, files[i], error);
    }
    if (found <= 0)
        return found;
    const char *output = NULL;
    int status = cr_read_bool(&d, 0, "Transformer", "do_lower_case", &s->lower_case, error) ||
                         cr_read_string(&d, 0, "Transformer", "module_output_name", &output, error)
                     ? -1
                     : 0;
    set(&s->output, output);
    cr_document_free(&d);
    return status;
}

/* True if an activation is torch.nn.modules.linear.Identity. */
static bool is_identity(const char *activation)
{
    const char *dot = strrchr(activation, '.');
    return strcmp(dot ? dot + 1 : activation, "Identity") == 0;
}

/* Finds the prompt of a role: its name is the role, or for documents another usual name.  Leaves
 * *text null if there is none. */
static int find_prompt(const struct cr_document *d, int prompts, const char *role, const char **text,
                       struct cr_error *error)
{
    const char *const names[] = {role, "passage", "corpus"};
    const int n = strcmp(role, "document") == 0 ? 3 : 1;
    for (int i = 0; i < n && !*text; i++)
        if (cr_read_string(d, prompts, "prompts", names[i], text, error))
            return -1;
    return 0;
}

/* Sets *text to the prompt of `role`; if that is null, to the prompt that default_prompt_name
 * names; to NULL if there is none.  The prompts "query" and "document" may be missing. */
static int choose_prompt(const struct cr_document *d, int prompts, const char *role, const char **text,
                         struct cr_error *error)
{
    const char *usual = NULL;
    if (cr_read_string(d, 0, "config", "default_prompt_name", &usual, error) ||
        (usual && prompts >= 0 && cr_read_string(d, prompts, "prompts", usual, text, error)))
        return -1;
    if (usual && !*text && strcmp(usual, "query") != 0 && strcmp(usual, "document") != 0)
        return cr_fail(error, "%s:%d: found default_prompt_name %.60s, expected the name of a prompt", d->path,
                           cr_value_line(d, cr_member(d, 0, "default_prompt_name")), usual);
    if (role)
        *text = NULL;
    return role && prompts >= 0 ? find_prompt(d, prompts, role, text, error) : 0;
}

/* Reads truncate_dim, the number of a vector's elements that are kept, as a last module: Truncate
 * N. */
static int read_truncation(struct cr_sentence *s, const struct cr_document *d, struct cr_error *error)
{
    char module[40];
    int64_t n = CR_NO_VALUE;
    if (cr_read_integer(d, 0, "config", "truncate_dim", &n, error))
        return -1;
    if (n == CR_NO_VALUE)
        return 0;
    if (n < 1)
        return cr_fail(error, "%s:%d: found truncate_dim %" PRId64 ", expected at least 1", d->path,
                       cr_value_line(d, cr_member(d, 0, "truncate_dim")), n);
    snprintf(module, sizeof module, "Truncate %" PRId64, n);
    add_module(s, module);
    s->truncates = true;
    return 0;
}

/* Reads config_sentence_transformers.json: the prompt of a role or the default one; truncate_dim;
 * and activation_fn, which tells whether scores are the logits. */
static int read_prompt(struct cr_sentence *s, const char *folder, const char *role,
                       struct cr_error *error)
{
    struct cr_document d;
    int found = open_object(&d, folder, "config_sentence_transformers.json", error);
    if (found <= 0)
        return found;
    const char *text = NULL, *activation = "";
    int prompts = CR_NO_VALUE;
    int status = cr_read_object(&d, 0, "config", "prompts", &prompts, error);
    if (status == 0)
        status = cr_read_string(&d, 0, "config", "activation_fn", &activation, error);
    if (status == 0)
        status = read_truncation(s, &d, error);
    s->plain = is_identity(activation);
    if (status == 0)
        status = choose_prompt(&d, prompts, role, &text, error);
    set(&s->prompt, text && *text ? text : NULL);
    cr_document_free(&d);
    return status;
}

/* Reads model_max_length from the tokenizer's settings; 10^30 means that there is no limit. */
static int read_model_max(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    int found = open_object(&d, folder, "tokenizer_config.json", error);
    if (found <= 0)
        return found;
    double value = 0;
    int status = cr_read_number(&d, 0, "tokenizer", "model_max_length", &value, error);
    s->model_max_length = value >= 1 && value <= INT32_MAX ? (int64_t)value : 0;
    cr_document_free(&d);
    return status;
}

/* Reads pad_token from the tokenizer's settings: a string, or an object whose `content` is the
 * string. */
static int read_pad(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    const char *token = NULL;
    int found = open_object(&d, folder, "tokenizer_config.json", error);
    if (found < 0)
        return -1;
    int pad = found ? cr_member(&d, 0, "pad_token") : CR_NO_VALUE;
    int status = pad == CR_NO_VALUE                    ? 0
                 : d.values[pad].kind == CR_JSON_OBJECT ? cr_read_string(&d, pad, "pad_token", "content", &token, error)
                                                        : cr_read_string(&d, 0, "tokenizer", "pad_token", &token, error);
    set(&s->pad, token);
    if (found)
        cr_document_free(&d);
    return status || token ? status
                           : cr_fail(error, "%.300s: found no pad_token in tokenizer_config.json, expected it, as SigLIP "
                                            "fills texts up",
                                     folder);
}

/* Sets the pooling of a folder without modules.json.  CLIP and SigLIP models compute a vector
 * themselves; models of model2vec have a table; for all other models it is the mean over tokens. */
static int choose_pooling(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    const char *family = "";
    int found = open_object(&d, folder, "config.json", error);
    if (found <= 0)
        return found;
    int status = cr_read_string(&d, 0, "config", "model_type", &family, error);
    bool is_siglip = status == 0 && (strcmp(family, "siglip") == 0 || strcmp(family, "siglip_text_model") == 0);
    if (status == 0 && strcmp(family, "model2vec") == 0) {
        s->table = true;
        status = cr_read_bool(&d, 0, "config", "normalize", &s->normalize, error);
    }
    if (is_siglip || (status == 0 && (strcmp(family, "clip") == 0 || strcmp(family, "clip_text_model") == 0)))
        set(&s->pooling, "features");
    cr_document_free(&d);
    return is_siglip ? read_pad(s, folder, error) : status;
}

/* Reads the pooling from a GGUF file.  Such a file has neither prompts nor layers after the
 * pooling. */
static int read_gguf(struct cr_sentence *s, const char *path, struct cr_error *error)
{
    struct cr_gguf_pooling pooling;
    if (cr_gguf_read_pooling(&pooling, path, error))
        return -1;
    set(&s->pooling, pooling.name);
    s->positions = pooling.positions;
    s->ranks = pooling.ranks;
    return 0;
}

char *cr_sentence_folder(const struct cr_sentence *s, const char *folder)
{
    return s->inner && *s->inner ? cr_path_in(folder, s->inner) : cr_strdup(folder);
}

int cr_read_sentence(struct cr_sentence *s, const char *folder, const char *role,
                     struct cr_error *error)
{
    *s = (struct cr_sentence){.pooling = cr_strdup("mean"), .segments = true};
    if (cr_is_gguf(folder))
        return read_gguf(s, folder, error);
    if (choose_pooling(s, folder, error) || read_modules(s, folder, error))
        return -1;
    char *inner = cr_sentence_folder(s, folder);
    int status = read_transformer(s, inner, error) ||
                         read_number(inner, "config.json", "max_position_embeddings", &s->positions, error) ||
                         read_model_max(s, inner, error) || cr_read_segments(&s->segments, inner, error) ||
                         read_prompt(s, folder, role, error) ||
                         (s->score && read_template(s, inner, error))
                     ? -1
                     : 0;
    free(inner);
    s->excludes_prompt &= s->prompt != NULL;
    return status;
}

/* ---- settings of the script ---- */

int cr_limit_sentence(struct cr_sentence *s, int64_t asked, int64_t of_tokenizer, struct cr_error *error)
{
    const int64_t of_files = s->table                  ? 0
                             : s->max_length > 0       ? s->max_length
                             : s->model_max_length > 0 ? s->model_max_length
                                                       : s->positions;
    const int64_t usual = s->table ? CR_TABLE_TOKENS : 512;
    int64_t limit = asked > 0 ? asked : of_files > 0 ? of_files : of_tokenizer > 0 ? of_tokenizer : usual;
    s->max_length = s->positions > 0 && limit > s->positions ? s->positions : limit;
    return s->max_length >= 2 ? 0
                              : cr_fail(error, "found a limit of %" PRId64 " tokens, expected at least 2",
                                        s->max_length);
}

int cr_lower_sentence_limit(struct cr_sentence *s, int64_t asked, int64_t positions, struct cr_error *error)
{
    if (asked > positions)
        return cr_fail(error, "found a limit of %" PRId64 " tokens, expected at most %" PRId64
                              ", the number of positions",
                       asked, positions);
    if (positions < s->max_length)
        s->max_length = positions;
    return 0;
}

/* Fills in the settings of the script.  A reranking decoder gets the option `score`, and a
 * classifier gets `classes`, in place of `pooling`. */
static void settings_of(struct cr_sentence_settings *out, const struct cr_sentence *s)
{
    int n = 0;
    snprintf(out->most, sizeof out->most, "%" PRId64, s->max_length);
    snprintf(out->classes, sizeof out->classes, "%d", s->n_labels);
    out->items[n++] = (crescent_setting){"T", out->most};
    if (s->score) {
        out->items[n++] = (crescent_setting){"score", s->score};
    } else if (s->n_labels) {
        out->items[n++] = (crescent_setting){"classes", out->classes};
    } else {
        out->items[n++] = (crescent_setting){"pooling", s->pooling};
        out->items[n++] = (crescent_setting){"normalize", s->normalize ? "true" : "false"};
        if (s->modules)
            out->items[n++] = (crescent_setting){"modules", s->modules};
        snprintf(out->pad, sizeof out->pad, "%" PRId32, s->pad_id);
        if (s->pad)
            out->items[n++] = (crescent_setting){"text_pad", out->pad};
    }
    out->n = n;
}

crescent_script cr_sentence_script(struct cr_sentence_settings *of_files, const struct cr_sentence *s,
                                   const crescent_script *how)
{
    crescent_script script = how ? *how : (crescent_script){0};
    const size_t own = (size_t)script.n_settings;
    settings_of(of_files, s);
    crescent_setting *settings = cr_calloc((size_t)of_files->n + own, sizeof *settings);
    memcpy(settings, of_files->items, (size_t)of_files->n * sizeof *settings);
    if (own)
        memcpy(settings + of_files->n, script.settings, own * sizeof *settings);
    script.settings = settings;
    script.n_settings += of_files->n;
    return script;
}

/* ---- classifiers ---- */

/* Returns the number from 0 to n - 1 that a text represents, without sign and leading zeros, or
 * -1. */
static int label_number(const char *text, int n)
{
    char plain[24];
    long number = strtol(text, NULL, 10);
    snprintf(plain, sizeof plain, "%ld", number);
    return number >= 0 && number < n && strcmp(text, plain) == 0 ? (int)number : -1;
}

/* Reads id2label, {"0": NAME, ...}, which must have each number below its count once. */
static int read_names(struct cr_sentence *s, const struct cr_document *d, int names, struct cr_error *error)
{
    s->n_labels = d->values[names].count;
    s->labels = cr_calloc((size_t)s->n_labels + 1, sizeof *s->labels);
    for (int i = d->values[names].first; i >= 0; i = d->values[i].next) {
        int number = label_number(d->values[i].key, s->n_labels);
        if (number < 0 || s->labels[number] || d->values[i].kind != CR_JSON_STRING)
            return cr_fail(error, "%s:%d: id2label: found %.60s, expected the numbers from 0 to %d, each with a name",
                           d->path, cr_value_line(d, i), d->values[i].key, s->n_labels - 1);
        s->labels[number] = cr_strdup(d->values[i].text);
    }
    return 0;
}

/* Sets names LABEL_0, LABEL_1, ..., as transformers does if a file gives none. */
static void number_labels(struct cr_sentence *s, int n)
{
    s->n_labels = n;
    s->labels = cr_calloc((size_t)n, sizeof *s->labels);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "LABEL_%d", i);
        s->labels[i] = cr_strdup(name);
    }
}

/* Reads how probabilities are computed from logits.  It is a sigmoid if there is one label, or if
 * several labels may apply.  If the activation is Identity, scores are the logits. */
static int read_activation(struct cr_sentence *s, const struct cr_document *d, struct cr_error *error)
{
    const char *problem = "", *activation = "";
    int nested = CR_NO_VALUE;
    if (cr_read_object(d, 0, "config", "sentence_transformers", &nested, error) ||
        cr_read_string(d, 0, "config", "problem_type", &problem, error) ||
        cr_read_string(d, 0, "config", "sbert_ce_default_activation_function", &activation, error) ||
        (nested >= 0 && cr_read_string(d, nested, "config", "activation_fn", &activation, error)))
        return -1;
    s->plain |= is_identity(activation);
    s->sigmoid = s->n_labels == 1 || strcmp(problem, "multi_label_classification") == 0;
    return 0;
}

/* Reads the names or the number of labels from config.json; a reranking decoder has one label. */
static int count_labels(struct cr_sentence *s, const struct cr_document *d, struct cr_error *error)
{
    enum { MOST_LABELS = 100000 };
    int names = CR_NO_VALUE;
    int64_t n = 2;
    if (s->score) {
        number_labels(s, 1);
        return 0;
    }
    if (cr_read_object(d, 0, "config", "id2label", &names, error) ||
        cr_read_integer(d, 0, "config", "num_labels", &n, error))
        return -1;
    n = names >= 0 ? d->values[names].count : n;
    if (n < 1 || n > MOST_LABELS)
        return cr_fail(error, "%s: found %" PRId64 " labels, expected a number from 1 to %d", d->path, n, MOST_LABELS);
    if (names >= 0)
        return read_names(s, d, names, error);
    number_labels(s, (int)n);
    return 0;
}

int cr_read_labels(struct cr_sentence *s, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    if (cr_is_gguf(folder)) {
        int status = cr_gguf_labels(folder, &s->labels, &s->n_labels, error);
        s->sigmoid = s->n_labels == 1;
        return status;
    }
    int found = open_object(&d, folder, "config.json", error);
    if (found <= 0)
        return found < 0 ? -1 : cr_fail(error, "%s/config.json: found no such file, expected it", folder);
    int status = count_labels(s, &d, error);
    if (status == 0)
        status = read_activation(s, &d, error);
    cr_document_free(&d);
    return status;
}

void cr_free_sentence(struct cr_sentence *s)
{
    free(s->pooling);
    free(s->token_size_at);
    free(s->modules);
    free(s->inner);
    free(s->output);
    free(s->prompt);
    free(s->score);
    free(s->pad);
    cr_free_ranking_prompt(&s->template);
    for (int i = 0; i < s->n_labels; i++)
        free(s->labels[i]);
    free(s->labels);
}
