/* family_script.c - finds the script for the model of a folder or a GGUF file; see family_script.h. */
#include "family_script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/frontend/builtin_modules.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "folder_model_type.h"
#include "installed_files.h"

/* True if a model_type is a plain file name, so that a path made from it stays in the folder. */
static bool is_file_name(const char *family)
{
    bool good = isalnum((unsigned char)*family) && strlen(family) < 100;
    for (const char *c = family; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_' || *c == '-' || *c == '.');
    return good;
}

/* Returns the path of FAMILY.lua in the folder, in a folder of $CRESCENT_PATH or among the
 * installed scripts; null if there is none. */
static char *find_script(const char *folder, const char *family)
{
    char name[128];
    if (!is_file_name(family))
        return NULL;
    snprintf(name, sizeof name, "%s.lua", family);
    char *path = cr_is_folder(folder) ? cr_path_in(folder, name) : NULL;
    if (path && access(path, F_OK) == 0)
        return path;
    free(path);
    return cr_find_on_path(name);
}

char *cr_family_script(const char *folder, const char *family)
{
    const char *path;
    size_t length;
    return cr_builtin_model(family, &path, &length) ? cr_strdup(path) : find_script(folder, family);
}

/* Returns the built-in family with the most similar name or, for a folder, the family whose typical
 * key is in its config.json; null if there is none. */
static const char *nearest_family(const char *folder, const char *family)
{
    static const char *const keys[][2] = {{"rms_norm_eps", "llama"},
                                          {"type_vocab_size", "bert"},
                                          {"image_size", "vit"},
                                          {"partial_rotary_factor", "phi"},
                                          {"rotary_pct", "gpt_neox"},
                                          {"n_embd", "gpt2"}};
    const char *names[CR_MOST_MODELS];
    int n = cr_builtin_model_names(names, CR_MOST_MODELS);
    const char *hint = cr_nearest(family, names, n);
    for (size_t i = 0; !hint && cr_is_folder(folder) && i < sizeof keys / sizeof *keys; i++)
        if (cr_folder_has_key(folder, keys[i][0]))
            hint = keys[i][1];
    return hint;
}

static int fail_family(const char *folder, const char *family, struct cr_error *error)
{
    char known[CR_MODELS_TEXT], file[160] = "";
    const char *hint = nearest_family(folder, family);
    if (is_file_name(family))
        snprintf(file, sizeof file, ", %s.lua in the folder or on CRESCENT_PATH", family);
    return cr_fail(error,
                   "%.300s: no script for the model_type %s, expected --script F.lua%s, or one of %s%s%s",
                   folder, cr_show(family, strlen(family)).text, file,
                   cr_builtin_models(known, sizeof known), hint ? "; the nearest is " : "",
                   hint ? hint : "");
}

/* Sets the script of an origin to the file at `path`. */
static int take_file(struct cr_origin *o, const char *folder, char *path)
{
    free(o->path);
    o->path = path;
    o->folder = cr_strdup(folder);
    return 0;
}

int cr_take_family(struct cr_origin *o, const char *folder, const char *script,
                   struct cr_error *error)
{
    const char *path;
    size_t length;
    if (script)
        return take_file(o, folder, cr_find_installed(script));
    const char *text = cr_builtin_model(o->family, &path, &length);
    if (!text) {
        char *found = find_script(folder, o->family);
        return found ? take_file(o, folder, found) : fail_family(folder, o->family, error);
    }
    cr_keep_text(o, text, length);
    /* the prefix is also needed to find tensors */
    char *prefix = cr_strdup(cr_builtin_prefix(o->family));
    free(o->family);
    o->family = prefix;
    free(o->path);
    o->path = cr_strdup(path);
    o->folder = cr_strdup(folder);
    return 0;
}
