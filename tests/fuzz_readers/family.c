/* family.c - fuzz target: the config.json of a published model with changed keys and values, for
 * the script of its family, is refused with a line, or gives a graph that the passes accept.  The
 * bytes of an input choose the file in tests/configs and the changes. */
#include <dirent.h>
#include <stdbool.h>

#include "compiler/crescent.h"

#include "target.h"

enum { MAX_FILES = 32, MAX_MEMBERS = 64, MAX_TEXT = 1 << 14 };

/* A member of a JSON object; the texts are JSON, the key without its quotes. */
struct member {
    char *key, *value;
};

/* A file of tests/configs. */
struct config {
    struct member members[MAX_MEMBERS];
    int n;
};

static struct config files[MAX_FILES];
static int n_files;
static char folder[] = "/tmp/crescent-family-XXXXXX", path[64];

/* Values of other types, at limits, and for other keys. */
static const char *const values[] = {
    "null", "true", "false", "0", "1", "-1", "2", "3", "0.5", "1.0", "1e-5", "-0.0", "1e308", "1e999",
    "7", "8", "64", "100", "1048576", "1048577", "2147483647", "2147483648", "4294967296", "1e15",
    "9007199254740993", "99999999999999999999", "\"\"", "\"0\"", "\"12\"", "\"a,b\"", "\"gelu\"",
    "\"quick_gelu\"", "\"silu\"", "\"relu2\"", "\"linear\"", "\"dynamic\"", "\"yarn\"", "\"longrope\"",
    "\"llama3\"", "\"default\"", "\"absolute\"", "\"rope\"", "\"none\"", "\"full_attention\"",
    "\"\\u0000\"", "\"\\n\\u001b[1m\"", "[]", "{}", "[1]", "[1, 2]", "[224, 112]", "[null]", "[[1], {}]",
    "[\"full_attention\", \"sliding_attention\"]", "{\"a\": 1}", "{\"a\": {\"b\": [1, {\"c\": null}]}}",
    "{\"quant_method\": \"gptq\", \"bits\": 4}"};

/* Tables for rope_scaling and rope_parameters. */
static const char *const ropes[] = {
    "{\"type\": \"linear\", \"factor\": 2.0}", "{\"type\": \"linear\", \"rope_type\": \"yarn\"}",
    "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 16}",
    "{\"rope_type\": \"yarn\", \"factor\": 0, \"original_max_position_embeddings\": -1}",
    "{\"rope_type\": \"dynamic\", \"factor\": 2.0}", "{\"rope_type\": \"dynamic\", \"factor\": -1e30}",
    "{\"rope_type\": \"longrope\", \"long_factor\": [1, 2], \"short_factor\": [1, 2]}",
    "{\"rope_type\": \"longrope\", \"long_factor\": [0], \"original_max_position_embeddings\": 8}",
    "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 4.0, \"high_freq_factor\": 4.0,"
    " \"original_max_position_embeddings\": 8192}",
    "{\"rope_theta\": 1e4, \"rope_type\": \"default\", \"partial_rotary_factor\": 0.3}"};

/* Keys of all families, and an unknown one. */
static const char *const keys[] = {
    "model_type", "architectures", "vocab_size", "hidden_size", "n_embd", "intermediate_size", "n_inner",
    "num_hidden_layers", "n_layer", "num_attention_heads", "n_head", "num_key_value_heads", "head_dim",
    "max_position_embeddings", "n_positions", "n_ctx", "hidden_act", "activation_function",
    "hidden_activation", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "rope_theta",
    "rope_scaling", "rope_parameters", "rotary_pct", "rotary_emb_base", "partial_rotary_factor",
    "sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "tie_word_embeddings",
    "attention_bias", "mlp_bias", "qkv_bias", "query_pre_attn_scalar", "attn_logit_softcapping",
    "final_logit_softcapping", "use_parallel_residual", "qk_layernorm", "is_decoder",
    "add_cross_attention", "type_vocab_size", "image_size", "patch_size", "num_channels",
    "pooler_output_size", "pooler_act", "position_embedding_type", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "quantization_config", "num_experts", "transformers.js_config",
    "_attn_implementation", "zebra", "lion_dropout", "use_rope", "B", "T", "name_prefix", "layout", "*", "",
    "rope_type", "rope_factor", "\\n\\u0007", "rope_interleaved", "original_max_position_embeddings"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the files ---- */

static char *copy_of(const char *from, const char *to)
{
    char *copy = calloc((size_t)(to - from) + 1, 1);
    PROMISE(copy);
    return memcpy(copy, from, (size_t)(to - from));
}

/* Returns the end of the JSON value that begins at `at`. */
static const char *end_of_value(const char *at)
{
    int depth = 0;
    for (bool text = false; *at; at++) {
        if (*at == '"' && at[-1] != '\\')
            text = !text;
        depth += text ? 0 : (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (!text && (depth < 0 || (depth == 0 && *at == ',')))
            break;
    }
    return at;
}

/* Sets a number of layers to two, so that compiling takes little time. */
static void make_short(struct member *m)
{
    if (strcmp(m->key, "num_hidden_layers") == 0 || strcmp(m->key, "n_layer") == 0)
        strcpy(m->value, "2");
}

static void read_members(struct config *c, const char *text)
{
    const char *at = strchr(text, '"');
    while (at && c->n < MAX_MEMBERS) {
        const char *quote = strchr(at + 1, '"'), *value = quote + 2, *end = end_of_value(value);
        struct member *m = &c->members[c->n++];
        *m = (struct member){copy_of(at + 1, quote), copy_of(value, end)};
        make_short(m);
        at = *end == ',' ? strchr(end, '"') : NULL;
    }
}

/* Reads the files of tests/configs, or of the folder that FUZZ_CONFIGS names. */
static void read_files(void)
{
    const char *name = getenv("FUZZ_CONFIGS");
    struct dirent **entries;
    int n = scandir(name ? name : "tests/configs", &entries, NULL, alphasort);
    PROMISE(n > 0);
    for (int i = 0; i < n; i++) {
        static char text[MAX_TEXT];
        char file[512];
        snprintf(file, sizeof file, "%s/%s", name ? name : "tests/configs", entries[i]->d_name);
        free(entries[i]);
        FILE *f = n_files < MAX_FILES && strstr(file, ".json") ? fopen(file, "r") : NULL;
        if (!f)
            continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        read_members(&files[n_files++], text);
    }
    free(entries);
    PROMISE(n_files > 0);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

/* ---- one input ---- */

/* Returns the next byte modulo `limit`; 0 after the last one. */
static size_t draw(const uint8_t **data, size_t *size, size_t limit)
{
    if (*size == 0)
        return 0;
    --*size;
    return *(*data)++ % limit;
}

/* Returns the index of the member with this key, or c->n, the index of a new member, if there is none. */
static int place_of(const struct config *c, const char *key)
{
    int i = 0;
    while (i < c->n && strcmp(c->members[i].key, key) != 0)
        i++;
    return i;
}

/* Changes, drops or adds a member, or gives it the value of another; `c` does not own its texts. */
static void change(struct config *c, const uint8_t **data, size_t *size)
{
    size_t kind = draw(data, size, 6), i = c->n ? draw(data, size, (size_t)c->n) : 0;
    const char *value = values[draw(data, size, COUNT(values))];
    if (kind <= 1 && c->n) {
        c->members[i].value = (char *)value;
    } else if (kind == 2 && c->n) {
        c->members[i] = c->members[--c->n];
    } else if (c->n < MAX_MEMBERS) {
        const char *key = keys[draw(data, size, COUNT(keys))];
        if (kind == 3 && c->n) {
            value = c->members[i].value;
        } else if (kind == 4) {
            key = i % 2 ? "rope_scaling" : "rope_parameters";
            value = ropes[draw(data, size, COUNT(ropes))];
        }
        int place = place_of(c, key);
        c->members[place] = (struct member){(char *)key, (char *)value};
        c->n += place == c->n;
    }
}

/* The file as a text. */
static size_t print(const struct config *c, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "{");
    for (int i = 0; i < c->n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s\"%s\": %s", i ? ",\n" : "\n",
                               c->members[i].key, c->members[i].value);
    at += (size_t)snprintf(text + at, at < size ? size - at : 0, "\n}\n");
    PROMISE(at < size);
    return at;
}

static void write_config(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    PROMISE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

/* Returns true if an error is Lua's own, such as arithmetic on a nil value: the script did not
 * check a value. */
static bool is_of_lua(const char *error)
{
    static const char *const parts[] = {"attempt to ", "found no argument", "found nothing in",
                                        "bad argument"};
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(error, parts[i]))
            return true;
    return false;
}

/* Returns true if a call succeeded; otherwise it must be an error of the user, with a line about
 * the file. */
static bool went_well(crescent_context *context, int status)
{
    if (status == CRESCENT_OK)
        return true;
    const char *error = crescent_error(context);
    promise_message(error);
    if (status == CRESCENT_BUG || is_of_lua(error))
        fprintf(stderr, "%s\n", error);
    PROMISE(status == CRESCENT_FAILED && !is_of_lua(error));
    return false;
}

/* Runs all passes on the graph or on its incremental form. */
static void compile(crescent_context *context, crescent_graph *graph, bool incremental)
{
    const crescent_incremental how = {2, 1};
    char *text = NULL;
    if (incremental && !went_well(context, crescent_graph_incremental(graph, &how)))
        return;
    went_well(context, crescent_dump(graph, NULL, "plan", &text));
    crescent_free(text);
}

static void open_model(bool compiles, bool incremental)
{
    const crescent_setting short_text = {"T", "4"};
    const crescent_script how = {.defaults = &short_text, .n_defaults = 1};
    crescent_context *context = crescent_context_new();
    crescent_graph *graph;
    if (went_well(context, crescent_graph_open(context, folder, &how, &graph))) {
        PROMISE(crescent_graph_port_count(graph, CRESCENT_PARAM) > 0);
        for (int i = 0; crescent_note_at(context, i); i++)
            promise_message(crescent_note_at(context, i));
        if (compiles)
            compile(context, graph, incremental);
        crescent_graph_close(graph);
    }
    crescent_context_free(context);
}

/* The first byte chooses the file, the second whether the graph is compiled, which takes long. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[2 * MAX_TEXT];
    if (n_files == 0) {
        read_files();
        PROMISE(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/config.json", folder);
        atexit(remove_folder);
    }
    struct config c = files[draw(&data, &size, (size_t)n_files)];
    size_t how = draw(&data, &size, 16);
    for (int i = 0; i < 4 && size > 0; i++)
        change(&c, &data, &size);
    write_config(text, print(&c, text, sizeof text));
    open_model(how < 4, how < 3);
    return 0;
}
