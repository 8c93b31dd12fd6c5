/* model_path.c - checks paths of models and explains what is wrong with them; see model_path.h. */
#include "model_path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/files/gguf.h"
#include "compiler/files/lfs.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/nearest_name.h"
#include "installed_files.h"

/* ---- missing files ---- */

/* Writes ", did you mean PATH?" with the script in the same folder whose name is most similar, or
 * "". */
static void suggest_file(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    int folder = (int)(file - path), n = 0, cap = 0;
    char *name = cr_strdup(path), **names = NULL;
    name[folder] = '\0';
    DIR *dir = opendir(folder ? name : ".");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (cr_ends_in(entry->d_name, ".lua"))
            *CR_PUSH(names, n, cap) = cr_strdup(entry->d_name);
    const char *hint = cr_nearest(file, (const char *const *)names, n);
    buf[0] = '\0';
    if (hint)
        snprintf(buf, size, ", did you mean %s%s?", name, hint);
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    free(name);
    if (dir)
        closedir(dir);
}

/* True if the path with .lua appended is a script, in the folder or installed.  Then writes ", did
 * you mean PATH.lua?". */
static bool with_ending(const char *path, char *buf, size_t size)
{
    size_t room = strlen(path) + 5;
    char *name = cr_calloc(room, 1);
    snprintf(name, room, "%s.lua", path);
    char *found = cr_find_installed(name);
    bool there = access(found, R_OK) == 0;
    if (there)
        snprintf(buf, size, ", did you mean %s?", name);
    free(found);
    free(name);
    return there;
}

/* True if a path looks like OWNER/NAME, the name of a model on Hugging Face's hub. */
static bool is_hub_name(const char *path)
{
    static const char *const files[] = {".lua", ".onnx", ".gguf", ".json", ".safetensors", ".bin", ".pt"};
    const char *slash = strchr(path, '/');
    bool is = slash && slash != path && slash[1] && path[0] != '.' && path[0] != '~';
    for (const char *c = path; is && *c; c++)
        is = isalnum((unsigned char)*c) || *c == '-' || *c == '_' || *c == '.' || c == slash;
    for (size_t i = 0; is && i < sizeof files / sizeof *files; i++)
        is = !cr_ends_in(path, files[i]);
    if (!is)
        return false;
    char *owner = cr_strdup(path);
    owner[slash - path] = '\0';
    is = access(owner, F_OK) != 0;
    free(owner);
    return is;
}

/* Fails because a path names no file or folder; `reason` is the errno of the attempt.  Always
 * returns -1. */
static int fail_missing(const char *path, int reason, struct cr_error *error)
{
    char hint[512];
    if (strstr(path, "://"))
        return cr_fail(error, "%.300s: an address, expected a file or a folder that was downloaded", path);
    if (is_hub_name(path))
        return cr_fail(error,
                       "%.200s: no such file or folder; if it is a model on Hugging Face's hub, download it "
                       "(hf download %.200s --local-dir %.200s) and give its folder: %.200s",
                       path, path, strchr(path, '/') + 1, strchr(path, '/') + 1);
    if (!with_ending(path, hint, sizeof hint))
        suggest_file(path, hint, sizeof hint);
    return cr_fail(error, "%.400s: cannot be read: %s%s", path, strerror(reason), hint);
}

int cr_check_readable(const char *path, struct cr_error *error)
{
    return access(path, R_OK) == 0 ? 0 : fail_missing(path, errno, error);
}

/* ---- files of other kinds ---- */

/* A kind of file other than a script, recognised by the end of the name or by the first bytes. */
struct kind {
    const char *end, *begin; /* the end of the name, or the first bytes; the other one is null */
    const char *what;
    const char *expected; /* what the message says to give instead */
    bool in_folder;       /* the file may be a part of a model's folder: config.json is beside it */
};

#define A_MODEL "a model: a script, a folder with config.json and weights, a GGUF or an ONNX file"
#define FOR_ARRAY "a model, with --input NAME=FILE.npy for an array"
#define FOR_WEIGHTS "a script, with --weights for this file"
#define FOR_TEXT "a model; generate MODEL --prompt-file FILE goes on with a text"

/* The kinds of files, by the end of the name or the first bytes.  The first row that matches
 * applies. */
static const struct kind kinds[] = {
    {NULL, CR_LFS_BEGIN, "a pointer of Git LFS", "the file that it stands for (git lfs pull)", false},
    {".safetensors", NULL, "weights (safetensors)", FOR_WEIGHTS, true},
    {".safetensors.index.json", NULL, "the index of weights in several files", FOR_WEIGHTS, true},
    {".npy", NULL, "an array of NumPy", FOR_ARRAY, false},
    {NULL, "\x93NUMPY", "an array of NumPy", FOR_ARRAY, false},
    {".npz", NULL, "an archive of arrays of NumPy", FOR_ARRAY, false},
    {"config.json", NULL, "the configuration of a model", A_MODEL, true},
    {"tokenizer.json", NULL, "a tokenizer", A_MODEL, true},
    {".json", NULL, "a JSON file", A_MODEL, true},
    {".txt", NULL, "a text", FOR_TEXT, false},
    {".md", NULL, "a text", FOR_TEXT, false},
    {".py", NULL, "a program in Python", "a script in Lua, or an ONNX file, which torch.onnx.export writes",
     false},
    {NULL, "\x7f" "ELF", "a program or a library", A_MODEL, false},
    {NULL, "PK\x03\x04", "a zip archive", A_MODEL, false},
    {NULL, "\x1f\x8b", "a compressed file", A_MODEL, false},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, BEGIN = 64 };

static const struct kind torch = {
    NULL, NULL, "a file of PyTorch's torch.save",
    "a model whose weights are safetensors (in Python: safetensors.torch.save_file(tensors, path))", true};
static const struct kind binary = {NULL, NULL, "a file that is no text", A_MODEL, false};

/* Returns the kind of a file, or null if it may be a script.  (Lua itself rejects bytecode.) */
static const struct kind *kind_of(const char *path)
{
    char bytes[BEGIN];
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = regular && !cr_ends_in(path, ".lua") ? fopen(path, "rb") : NULL;
    if (!file)
        return NULL;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (cr_is_torch_file(path))
        return &torch;
    for (int i = 0; i < N_KINDS; i++) {
        const char *begin = kinds[i].begin;
        size_t m = begin ? strlen(begin) : 0;
        if (begin ? n >= m && memcmp(bytes, begin, m) == 0 : cr_ends_in(path, kinds[i].end))
            return &kinds[i];
    }
    return n && *bytes != '\x1b' && memchr(bytes, '\0', n) ? &binary : NULL;
}

/* Writes the folder of a file to `buf` if it has a config.json, else "". */
static void own_folder(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/');
    char *folder = cr_strdup(slash ? path : ".");
    if (slash)
        folder[slash - path + (slash == path)] = '\0';
    char *config = cr_path_in(folder, "config.json");
    buf[0] = '\0';
    if (access(config, F_OK) == 0)
        snprintf(buf, size, "%.250s", folder);
    free(config);
    free(folder);
}

int cr_check_script_path(const char *path, struct cr_error *error)
{
    char folder[300] = "";
    if (cr_check_readable(path, error))
        return -1;
    const struct kind *kind = kind_of(path);
    if (!kind)
        return 0;
    if (kind->in_folder)
        own_folder(path, folder, sizeof folder);
    if (*folder)
        return cr_fail(error, "%.300s: %s, expected the folder of the model: %s", path, kind->what, folder);
    return cr_fail(error, "%.300s: %s, expected %s", path, kind->what, kind->expected);
}

int cr_check_folder_path(const char *path, struct cr_error *error)
{
    if (cr_is_gguf(path))
        return 0;
    if (cr_check_script_path(path, error))
        return -1;
    return cr_is_folder(path)
               ? 0
               : cr_fail(error, "%.300s: found a file, expected the folder of a model with its tokenizer", path);
}

const char *cr_other_file(const char *path)
{
    const struct kind *kind = kind_of(path);
    return kind ? kind->what : NULL;
}
