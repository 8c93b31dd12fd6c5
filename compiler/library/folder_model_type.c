/* folder_model_type.c - the model family of a folder in Hugging Face's layout; see folder_model_type.h. */
#include "folder_model_type.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/ir/mem.h"
#include "compiler/json/config_file.h"

/* True if a class such as XLMRobertaModel or GPTNeoXForCausalLM belongs to a family such as
 * xlm-roberta or gpt_neox. */
static bool is_class_of(const char *class, const char *family)
{
    static const char *const ends[] = {"For", "Model", "LMHeadModel", "DoubleHeadsModel"};
    for (; *family; family++)
        if (*family != '_' && *family != '-' && tolower((unsigned char)*class++) != *family)
            return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(class, ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

/* Returns the built-in model that a class belongs to, or null. */
static const char *family_of(const char *class)
{
    const char *names[CR_MOST_MODELS];
    int n = cr_builtin_model_names(names, CR_MOST_MODELS);
    for (int i = 0; i < n; i++)
        if (is_class_of(class, names[i]))
            return names[i];
    return NULL;
}

/* Reads an item of `architectures` and sets *family to its family.  Fails if it belongs to no
 * family, or to another one than the items before. */
static int take_architecture(const struct cr_document *d, int item, char **family,
                             struct cr_error *error)
{
    char known[CR_MODELS_TEXT];
    if (d->values[item].kind != CR_JSON_STRING)
        return cr_fail_value(d, item, "expected the name of an architecture", error);
    const char *name = d->values[item].text;
    const char *one = family_of(name);
    if (!one || (*family && strcmp(one, *family) != 0))
        return cr_fail(error, "%.300s: no model_type, and the architecture %s, expected a class of one of "
                              "%s", d->path, cr_show(name, strlen(name)).text,
                       cr_builtin_models(known, sizeof known));
    free(*family);
    *family = cr_strdup(one);
    return 0;
}

/* Returns the family whose characteristic tensor name is among the names of the folder's tensors,
 * or null. */
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

/* Fails with a message that tells how to name the family in a config.json that names none. */
static int fail_without_family(const char *path, const char *folder, struct cr_error *error)
{
    char known[CR_MODELS_TEXT];
    const char *family = family_of_tensors(folder);
    if (family)
        return cr_fail(error, "%.400s: no model_type and no architectures, expected \"model_type\": \"%s\", as "
                              "the tensors are named, or --script F.lua", path, family);
    return cr_fail(error, "%.400s: no model_type and no architectures, expected a \"model_type\" of %s, or "
                          "--script F.lua", path, cr_builtin_models(known, sizeof known));
}

/* Returns the family of the classes in `architectures`.  Returns null with an error if there is no
 * class, or if the classes belong to several families. */
static char *read_architectures(const struct cr_document *d, const char *folder,
                                struct cr_error *error)
{
    char *family = NULL;
    int list = cr_member(d, 0, "architectures"), status = 0;
    if (list >= 0 && d->values[list].kind == CR_JSON_ARRAY)
        for (int i = d->values[list].first; i >= 0 && !status; i = d->values[i].next)
            status = take_architecture(d, i, &family, error);
    if (!status && !family)
        status = fail_without_family(d->path, folder, error);
    if (!status)
        return family;
    free(family);
    return NULL;
}

char *cr_folder_model_type(const char *folder, struct cr_error *error)
{
    char *path = cr_path_in(folder, "config.json"), *type = NULL;
    const char *text;
    struct cr_document d;
    if (access(path, F_OK) != 0)
        cr_fail(error, "%.400s: a folder without config.json, expected a script or a folder in "
                       "Hugging Face's layout", folder);
    else if (cr_config_read(&d, path, error) == 0) {
        if (cr_config_text(&d, "model_type", "the name of an architecture", &text, error) == 0)
            type = text ? cr_strdup(text) : read_architectures(&d, folder, error);
        cr_document_free(&d);
    }
    free(path);
    return type;
}

bool cr_folder_has_key(const char *folder, const char *key)
{
    char *path = cr_path_in(folder, "config.json");
    struct cr_error ignored = {0};
    struct cr_document d;
    bool found = false;
    if (cr_config_read(&d, path, &ignored) == 0) {
        found = cr_member(&d, 0, key) >= 0;
        cr_document_free(&d);
    }
    free(path);
    return found;
}

const char *cr_first_class(const struct cr_document *d)
{
    int classes = cr_member(d, 0, "architectures");
    int first = classes >= 0 && d->values[classes].kind == CR_JSON_ARRAY ? d->values[classes].first : CR_NO_VALUE;
    return first >= 0 && d->values[first].kind == CR_JSON_STRING ? d->values[first].text : NULL;
}

char *cr_folder_class(const char *folder)
{
    char *path = cr_path_in(folder, "config.json"), *class = NULL;
    struct cr_error ignored = {0};
    struct cr_document d;
    if (cr_config_read(&d, path, &ignored) == 0) {
        const char *first = cr_first_class(&d);
        class = first ? cr_strdup(first) : NULL;
        cr_document_free(&d);
    }
    free(path);
    return class;
}
