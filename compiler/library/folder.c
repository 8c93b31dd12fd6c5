/* folder.c - a model as a folder in Hugging Face's layout; see folder.h. */
#include "folder.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/files/json_value.h"
#include "compiler/files/mapping.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/ir/mem.h"

/* ---- a file of JSON ---- */

/* A file whose members are looked for one at a time. */
struct json_file {
    const char *path;
    struct cr_mapping mapping;
    struct cr_json json;
    char *room; /* for any of its strings */
};

static int open_json(struct json_file *file, const char *path, struct cr_error *error)
{
    *file = (struct json_file){.path = path};
    if (cr_map_file(&file->mapping, path, error->text, sizeof error->text))
        return -1;
    file->room = cr_calloc(file->mapping.size + 1, 1);
    return 0;
}

static void close_json(struct json_file *file)
{
    free(file->room);
    cr_unmap_file(&file->mapping);
}

static int fail_json(const struct json_file *file, const char *what, struct cr_error *error)
{
    return cr_fail(error, "%.400s:%d: JSON: %s", file->path, cr_json_line(&file->json),
                   file->json.wrong ? file->json.wrong : what);
}

/* Goes to the value of a key.  Returns 1, or 0 if there is none, or -1. */
static int find_member(struct json_file *file, const char *key, struct cr_error *error)
{
    const char *text = (const char *)file->mapping.bytes;
    file->json = (struct cr_json){text, text, text + file->mapping.size, NULL};
    if (cr_json_member(&file->json, key, file->room))
        return 1;
    return file->json.wrong ? fail_json(file, "", error) : 0;
}

/* ---- config.json ---- */

/* True if a class such as GPT2LMHeadModel or GPTNeoXForCausalLM is one of a family such as gpt2 or
 * gpt_neox, whose name has `size` letters. */
static bool is_class_of(const char *class, const char *family, size_t size)
{
    static const char *const ends[] = {"For", "Model", "LMHeadModel", "DoubleHeadsModel"};
    for (size_t i = 0; i < size; i++)
        if (family[i] != '_' && tolower((unsigned char)*class++) != family[i])
            return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(class, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

/* The name of the built-in model that a class is one of, or null; `known` are all names. */
static char *family_of(const char *class, const char *known)
{
    while (*known) {
        size_t size = strcspn(known, ",");
        if (is_class_of(class, known, size))
            return memcpy(cr_calloc(size + 1, 1), known, size);
        known += size;
        known += strspn(known, ", ");
    }
    return NULL;
}

/* Takes the next item of `architectures`, whose family is that of those before, if there are any. */
static int take_architecture(struct json_file *file, char **family, struct cr_error *error)
{
    char known[400];
    if (!cr_json_string(&file->json, file->room))
        return fail_json(file, "expected the name of an architecture", error);
    char *one = family_of(file->room, cr_builtin_models(known, sizeof known));
    if (!one || (*family && strcmp(one, *family) != 0)) {
        free(one);
        return cr_fail(error, "%.300s: no model_type, and the architecture %s, expected a class of one of "
                              "%s", file->path, cr_show(file->room, strlen(file->room)).text, known);
    }
    free(*family);
    *family = one;
    return 0;
}

/* The family that alone has a tensor of some name, if the folder's weights have it, or null.  Names that several
 * families share are left out. */
static const char *family_of_tensors(const char *folder)
{
    static const char *const names[][2] = {
        {"h.0.attn.c_attn.weight", "gpt2"},
        {"transformer.h.0.attn.c_attn.weight", "gpt2"},
        {"gpt_neox.layers.0.attention.query_key_value.weight", "gpt_neox"},
        {"model.layers.0.self_attn.dense.weight", "phi"},
        {"bert.encoder.layer.0.attention.self.query.weight", "bert"},
        {"vit.encoder.layer.0.attention.attention.query.weight", "vit"}};
    struct cr_weight_files files;
    struct cr_error ignored = {0};
    const char *family = NULL;
    const struct cr_weight_file *file;
    if (cr_weight_files_open(&files, &folder, 1, &ignored))
        return NULL;
    for (size_t i = 0; !family && i < sizeof names / sizeof *names; i++)
        if (cr_weight_files_find(&files, names[i][0], &file))
            family = names[i][1];
    cr_weight_files_close(&files);
    return family;
}

/* Says what to write into a config.json that names no family. */
static int fail_without_family(const char *path, const char *folder, struct cr_error *error)
{
    char known[400];
    const char *family = family_of_tensors(folder);
    if (family)
        return cr_fail(error, "%.400s: no model_type and no architectures, expected \"model_type\": \"%s\", as "
                              "the tensors are named, or --script F.lua", path, family);
    return cr_fail(error, "%.400s: no model_type and no architectures, expected a \"model_type\" of %s, or "
                          "--script F.lua", path, cr_builtin_models(known, sizeof known));
}

/* The family of the classes that `architectures` lists; null, with an error, if there is none or if they are
 * of several families. */
static char *read_architectures(struct json_file *file, const char *folder, struct cr_error *error)
{
    char *family = NULL;
    int found = find_member(file, "architectures", error), status = found < 0 ? -1 : 0, more = 0;
    if (found > 0 && cr_json_take(&file->json, '['))
        for (int i = 0; !status && (more = cr_json_next(&file->json, i, ']')) > 0; i++)
            status = take_architecture(file, &family, error);
    if (!status && more < 0)
        status = fail_json(file, "expected a list of architectures", error);
    else if (!status && !family)
        status = fail_without_family(file->path, folder, error);
    if (!status)
        return family;
    free(family);
    return NULL;
}

static char *read_model_type(struct json_file *file, const char *folder, struct cr_error *error)
{
    int found = find_member(file, "model_type", error);
    if (found > 0 && cr_json_string(&file->json, file->room))
        return cr_strdup(file->room);
    if (found == 0 || (found > 0 && cr_json_word(&file->json) == 'n'))
        return read_architectures(file, folder, error);
    if (found > 0)
        fail_json(file, "model_type is no text, expected the name of an architecture", error);
    return NULL;
}

char *cr_folder_model_type(const char *folder, struct cr_error *error)
{
    char *path = cr_path_in(folder, "config.json"), *type = NULL;
    struct json_file file;
    if (access(path, F_OK) != 0)
        cr_fail(error, "%.400s: a folder without config.json, expected a script or a folder in "
                       "Hugging Face's layout", folder);
    else if (open_json(&file, path, error) == 0) {
        type = read_model_type(&file, folder, error);
        close_json(&file);
    }
    free(path);
    return type;
}

bool cr_folder_has_key(const char *folder, const char *key)
{
    char *path = cr_path_in(folder, "config.json");
    struct cr_error ignored = {0};
    struct json_file file;
    bool found = false;
    if (open_json(&file, path, &ignored) == 0) {
        found = find_member(&file, key, &ignored) > 0;
        close_json(&file);
    }
    free(path);
    return found;
}

/* ---- numbers ---- */

/* A whole number, which may be written as 2048.0. */
static bool take_whole(struct cr_json *json, int64_t *value)
{
    char *end;
    if (cr_json_integer(json, value))
        return true;
    size_t size = json->wrong ? 0 : cr_json_number_size(json->at, json->end);
    double number = size ? strtod(json->at, &end) : 0.5;
    if (!(fabs(number) <= 0x1p53) || number != floor(number))
        return false;
    *value = (int64_t)number;
    json->at += size;
    return true;
}

/* One number, or a list of them. */
static int read_integers(struct json_file *file, const char *key, int64_t *values, int most, int *n,
                         struct cr_error *error)
{
    struct cr_json *json = &file->json;
    int more = 1;
    if (take_whole(json, &values[0])) {
        *n = 1;
        return 0;
    }
    if (!cr_json_take(json, '['))
        return cr_json_word(json) == 'n'
                   ? 0
                   : fail_json(file, "expected a whole number, or a list of some", error);
    for (int i = 0; (more = cr_json_next(json, i, ']')) > 0; i++) {
        if (i == most)
            return cr_fail(error, "%.400s: %s: more than %d numbers", file->path, key, most);
        if (!take_whole(json, &values[i]))
            return fail_json(file, "expected a whole number", error);
        *n = i + 1;
    }
    return more < 0 ? fail_json(file, "expected a list", error) : 0;
}

int cr_config_integers(const char *path, const char *key, int64_t *values, int most, int *n,
                       struct cr_error *error)
{
    struct json_file file;
    *n = 0;
    if (access(path, F_OK) != 0)
        return 0;
    if (open_json(&file, path, error))
        return -1;
    int status = find_member(&file, key, error);
    if (status > 0)
        status = read_integers(&file, key, values, most, n, error);
    close_json(&file);
    return status;
}
