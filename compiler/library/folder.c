/* folder.c - a model as a folder in Hugging Face's layout; see folder.h. */
#include "folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/files/json_value.h"
#include "compiler/files/mapping.h"
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

static char *read_model_type(struct json_file *file, struct cr_error *error)
{
    int found = find_member(file, "model_type", error);
    if (found > 0 && cr_json_string(&file->json, file->room))
        return cr_strdup(file->room);
    if (found > 0)
        fail_json(file, "model_type is no text, expected the name of an architecture", error);
    else if (found == 0)
        cr_fail(error, "%.400s: no model_type, expected the name of an architecture", file->path);
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
        type = read_model_type(&file, error);
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

/* One number, or a list of them. */
static int read_integers(struct json_file *file, const char *key, int64_t *values, int most, int *n,
                         struct cr_error *error)
{
    struct cr_json *json = &file->json;
    int more = 1;
    if (cr_json_integer(json, &values[0])) {
        *n = 1;
        return 0;
    }
    if (!cr_json_take(json, '['))
        return json->end - json->at >= 4 && memcmp(json->at, "null", 4) == 0
                   ? 0
                   : fail_json(file, "expected a whole number, or a list of some", error);
    for (int i = 0; (more = cr_json_next(json, i, ']')) > 0; i++) {
        if (i == most)
            return cr_fail(error, "%.400s: %s: more than %d numbers", file->path, key, most);
        if (!cr_json_integer(json, &values[i]))
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
