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
