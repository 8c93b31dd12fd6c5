/* weight_files.c - opens files of weights and folders of them; see weight_files.h. */
#include "weight_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "compiler/json/document.h"

#define WHOLE "model.safetensors"
#define INDEX "model.safetensors.index.json"
#define MODULES "modules.json"

bool cr_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool cr_ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

char *cr_path_in(const char *folder, const char *name)
{
    size_t n = strlen(folder), size = n + strlen(name) + 2;
    char *path = cr_calloc(size, 1);
    bool slash = n && folder[n - 1] == '/';
    snprintf(path, size, "%s%s%s", folder, slash ? "" : "/", name);
    return path;
}

bool cr_is_torch_file(const char *path)
{
    static const char *const ends[] = {".pt", ".pth", ".bin", ".ckpt"};
    const char *end = strrchr(path, '.');
    for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i]) == 0)
            return access(path, F_OK) == 0;
    return false;
}

/* Replaces the error by a better one if the file is of a kind often mistaken for weights. */
static void name_other(const char *path, struct cr_error *error)
{
    if (cr_is_torch_file(path))
        cr_fail(error,
                "%.400s: a file of PyTorch's torch.save, expected safetensors "
                "(in Python: safetensors.torch.save_file(tensors, path))",
                path);
}

/* Opens a file and appends it to the list, which then owns `path`.  `asked` is the caller's path
 * that led to the file. */
static int open_file(struct cr_weight_files *files, char *path, const char *asked,
                     struct cr_error *error)
{
    struct cr_weight_file *f = CR_PUSH(files->items, files->n, files->cap);
    *f = (struct cr_weight_file){.path = path, .asked = asked};
    if (cr_is_gguf(path))
        f->gguf = cr_calloc(1, sizeof *f->gguf);
    if (f->gguf ? cr_gguf_weights_open(f->gguf, &f->file, f->path, error) == 0
                : cr_safetensors_open(&f->file, f->path, error->text, sizeof error->text) == 0)
        return 0;
    name_other(path, error);
    free(f->gguf);
    free(f->path);
    files->n--;
    return -1;
}

/* ---- the index of shards ---- */

/* An index of shards while it is read; its first shard is file number `first` of the list. */
struct index {
    const char *folder, *asked; /* folder of the index; the caller's path that led to it */
    struct cr_document document;
    const char **shards; /* names of the shards, in ascending order */
    int n_shards, cap_shards, first;
};

/* Checks member i of weight_map: its value must be the name of a file in the folder of the
 * index. */
static int check_member(const struct index *x, int i, struct cr_error *error)
{
    const struct cr_json_value *file = &x->document.values[i];
    if (file->kind != CR_JSON_STRING)
        return cr_fail_value(&x->document, i, "expected \"TENSOR\": \"FILE\"", error);
    if (strchr(file->text, '/') || !*file->text)
        return cr_fail(error, "%.400s:%d: %s holds %s, expected the name of a file beside it",
                       x->document.path, cr_value_line(&x->document, i),
                       cr_show(file->text, file->length).text,
                       cr_show(file->key, file->key_length).text);
    return 0;
}

/* Returns the position of the shard with that name, or the position at which to insert it. */
static int find_shard(const struct index *x, const char *name, bool *found)
{
    int low = 0, high = x->n_shards;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(x->shards[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < x->n_shards && strcmp(x->shards[low], name) == 0;
    return low;
}

static void add_shard(struct index *x, const char *name)
{
    bool found;
    int at = find_shard(x, name, &found);
    if (found)
        return;
    *CR_PUSH(x->shards, x->n_shards, x->cap_shards) = NULL;
    memmove(&x->shards[at + 1], &x->shards[at],
            (size_t)(x->n_shards - 1 - at) * sizeof *x->shards);
    x->shards[at] = name;
}

/* Marks a tensor as listed in the shard for which the index lists it; fails if the shard does not
 * contain it. */
static int take_member(const struct cr_weight_files *files, const struct index *x,
                       const struct cr_json_value *member, struct cr_error *error)
{
    bool found;
    struct cr_weight_file *shard =
        &files->items[x->first + find_shard(x, member->text, &found)];
    const struct cr_st_tensor *tensor = cr_safetensors_find(&shard->file, member->key);
    if (tensor) {
        shard->listed[tensor - shard->file.tensors] = true;
        return 0;
    }
    return cr_fail(error, "%.300s: no tensor %s in %s, expected one as %s says", x->folder,
                   cr_show(member->key, member->key_length).text,
                   cr_show(member->text, member->length).text, INDEX);
}

static int open_shard(struct cr_weight_files *files, const struct index *x, int i,
                      struct cr_error *error)
{
    if (open_file(files, cr_path_in(x->folder, x->shards[i]), x->asked, error))
        return -1;
    struct cr_weight_file *shard = &files->items[files->n - 1];
    shard->listed = cr_calloc((size_t)shard->file.n_tensors + 1, sizeof *shard->listed);
    return 0;
}

/* Reads an index.  Opens all shards before it looks up tensors in them. */
static int read_index(struct cr_weight_files *files, struct index *x, struct cr_error *error)
{
    const struct cr_document *d = &x->document;
    int map = cr_member(d, 0, "weight_map"), status = 0;
    if (map < 0 || d->values[map].kind != CR_JSON_OBJECT)
        return cr_fail_value(d, map < 0 ? 0 : map, "expected an object with weight_map", error);
    const int first = d->values[map].first;
    if (first < 0)
        return cr_fail_value(d, map, "expected tensors in weight_map", error);
    for (int i = first; i >= 0 && !status; i = d->values[i].next)
        if ((status = check_member(x, i, error)) == 0)
            add_shard(x, d->values[i].text);
    for (int i = 0; !status && i < x->n_shards; i++)
        status = open_shard(files, x, i, error);
    for (int i = first; i >= 0 && !status; i = d->values[i].next)
        status = take_member(files, x, &d->values[i], error);
    return status;
}

/* Opens the shards in `folder` that the index at `path` lists. */
static int open_shards(struct cr_weight_files *files, const char *folder, const char *asked,
                       const char *path, struct cr_error *error)
{
    struct index x = {.folder = folder, .asked = asked, .first = files->n};
    if (cr_document_read(&x.document, path, error))
        return -1;
    int status = read_index(files, &x, error);
    free(x.shards);
    cr_document_free(&x.document);
    return status;
}

/* ---- folders ---- */

/* True if a file exists, or if that cannot be determined: then opening the file reports the
 * reason. */
static bool has_file(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* Fails for a folder without safetensors files; gives advice if it contains files of torch.save. */
static int fail_weights(const char *folder, struct cr_error *error)
{
    static const char *const names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = cr_path_in(folder, names[i]);
        bool found = access(path, F_OK) == 0;
        free(path);
        if (found)
            return cr_fail(error, "%.300s: its weights are in %s, expected " WHOLE "; in that folder: "
                           "python3 -c 'import glob, torch, safetensors.torch; t = {}; "
                           "[t.update(torch.load(f, map_location=\"cpu\", weights_only=True)) "
                           "for f in glob.glob(\"pytorch_model*.bin\")]; safetensors.torch.save_file("
                           "{k: v.clone().contiguous() for k, v in t.items()}, \"" WHOLE "\")'",
                           folder, names[i]);
    }
    return cr_fail(error, "%.400s: no weights in it, expected %s or %s", folder, WHOLE, INDEX);
}

/* Opens the weights in a folder.  A single file is preferred to shards, as by Hugging Face's own
 * reader. */
static int open_weights(struct cr_weight_files *files, const char *folder, const char *asked,
                        struct cr_error *error)
{
    char *whole = cr_path_in(folder, WHOLE);
    if (has_file(whole))
        return open_file(files, whole, asked, error);
    free(whole);
    char *index = cr_path_in(folder, INDEX);
    int status = has_file(index)
                     ? open_shards(files, folder, asked, index, error)
                     : fail_weights(folder, error);
    free(index);
    return status;
}

/* ---- modules of sentence-transformers ---- */

/* Prefixes the names of a file's tensors by the module's folder, with dots as separators, and a
 * dot. Their order stays the same. */
static void rename_tensors(struct cr_weight_file *f, const char *module)
{
    size_t bytes = 0, prefix = strlen(module) + 1;
    for (int i = 0; i < f->file.n_tensors; i++)
        bytes += prefix + strlen(f->file.tensors[i].name) + 1;
    char *at = f->names = cr_calloc(bytes + 1, 1);
    for (int i = 0; i < f->file.n_tensors; i++) {
        int n = sprintf(at, "%s.%s", module, f->file.tensors[i].name);
        for (char *c = at; c < at + prefix; c++)
            *c = *c == '/' ? '.' : *c;
        f->file.tensors[i].name = at;
        at += n + 1;
    }
}

/* Opens the weights of a module if it is a Dense or a LayerNorm: these have folders of their own.
 * `asked` is the caller's path. */
static int open_module(struct cr_weight_files *files, const char *folder, const char *asked,
                       const struct cr_document *d, int module, struct cr_error *error)
{
    const char *type = NULL, *path = "";
    int first = files->n;
    if (cr_read_string(d, module, "module", "type", &type, error) ||
        cr_read_string(d, module, "module", "path", &path, error))
        return -1;
    const char *dot = type ? strrchr(type, '.') : NULL;
    if (!dot || (strcmp(dot, ".Dense") != 0 && strcmp(dot, ".LayerNorm") != 0) || !*path)
        return 0;
    char *inner = cr_path_in(folder, path);
    int status = open_weights(files, inner, asked, error);
    for (int i = first; i < files->n; i++)
        rename_tensors(&files->items[i], path);
    free(inner);
    return status;
}

/* Returns the first value of the list in a modules.json, or CR_NO_VALUE. */
static int first_module(const struct cr_document *d)
{
    return d->values[0].kind == CR_JSON_ARRAY ? d->values[0].first : CR_NO_VALUE;
}

/* Opens the weights of the modules that the modules.json of a folder lists. */
static int open_modules_of(struct cr_weight_files *files, const char *folder, const char *asked,
                           struct cr_error *error)
{
    struct cr_document d;
    int found = cr_document_read_optional(&d, folder, MODULES, false, error), status = 0;
    if (found <= 0)
        return found;
    for (int i = first_module(&d); i >= 0 && !status; i = d.values[i].next)
        status = open_module(files, folder, asked, &d, i, error);
    cr_document_free(&d);
    return status;
}

/* True if the modules.json of a folder lists a Transformer in the folder `inner`. */
static bool holds_model(const char *folder, const char *inner)
{
    struct cr_error ignored;
    struct cr_document d;
    bool found = false;
    if (cr_document_read_optional(&d, folder, MODULES, false, &ignored) <= 0)
        return false;
    for (int i = first_module(&d); i >= 0; i = d.values[i].next) {
        const char *type = "", *path = "";
        if (cr_read_string(&d, i, "module", "type", &type, &ignored) == 0 &&
            cr_read_string(&d, i, "module", "path", &path, &ignored) == 0)
            found |= cr_ends_in(type, "Transformer") && strcmp(path, inner) == 0;
    }
    cr_document_free(&d);
    return found;
}

/* Opens the weights of all modules of a model.  modules.json may be in the model's folder or in
 * the folder around it. */
static int open_modules(struct cr_weight_files *files, const char *folder, struct cr_error *error)
{
    char *outer = cr_strdup(folder), *modules = cr_path_in(folder, MODULES), *slash;
    bool found = has_file(modules);
    free(modules);
    while (!found && (slash = strrchr(outer, '/')) && slash > outer) {
        *slash = 0;
        found = holds_model(outer, folder + strlen(outer) + 1);
    }
    int status = found ? open_modules_of(files, outer, folder, error) : 0;
    free(outer);
    return status;
}

/* Opens the shards in the folder of an index. */
static int open_index(struct cr_weight_files *files, const char *path, struct cr_error *error)
{
    const char *slash = strrchr(path, '/');
    char *folder = cr_strdup(slash ? path : "."), *copy = cr_strdup(path);
    if (slash)
        folder[slash - path + (slash == path)] = 0;
    int status = open_shards(files, folder, path, copy, error);
    free(folder);
    free(copy);
    return status;
}

/* ---- all of them ---- */

/* Opens the weights at a path: a folder, an index, or a file of weights. */
static int open_path(struct cr_weight_files *files, const char *path, struct cr_error *error)
{
    if (cr_is_folder(path))
        return open_weights(files, path, path, error) || open_modules(files, path, error) ? -1 : 0;
    if (cr_ends_in(path, ".index.json"))
        return open_index(files, path, error);
    return open_file(files, cr_strdup(path), path, error);
}

int cr_weight_files_open(struct cr_weight_files *files, const char *const *paths, int n,
                         struct cr_error *error)
{
    *files = (struct cr_weight_files){0};
    int status = 0;
    for (int i = 0; i < n && !status; i++)
        status = open_path(files, paths[i], error);
    if (status)
        cr_weight_files_close(files);
    return status;
}

int cr_weight_files_take(struct cr_weight_files *files, const struct cr_weight_bytes *b,
                         struct cr_error *error)
{
    const struct cr_mapping mapping = {.bytes = b->bytes, .size = b->length};
    *files = (struct cr_weight_files){0};
    struct cr_weight_file *f = CR_PUSH(files->items, files->n, files->cap);
    *f = (struct cr_weight_file){.path = cr_strdup(b->name), .asked = b->name, .borrowed = true};
    if (b->length >= 4 && memcmp(b->bytes, "GGUF", 4) == 0)
        f->gguf = cr_calloc(1, sizeof *f->gguf);
    if (f->gguf ? cr_gguf_weights_parse(f->gguf, &f->file, f->path, mapping, error) == 0
                : cr_safetensors_parse(&f->file, f->path, mapping, error->text,
                                       sizeof error->text) == 0)
        return 0;
    free(f->gguf);
    free(f->path);
    free(files->items);
    *files = (struct cr_weight_files){0};
    return -1;
}

/* Clears the bytes of a file that the caller owns, so that closing the file does not unmap them. */
static void give_back(struct cr_weight_file *f)
{
    f->file.mapping = (struct cr_mapping){0};
    if (f->gguf)
        f->gguf->file.mapping = (struct cr_mapping){0};
}

void cr_weight_files_close(struct cr_weight_files *files)
{
    for (int i = 0; i < files->n; i++) {
        if (files->items[i].borrowed)
            give_back(&files->items[i]);
        cr_safetensors_close(&files->items[i].file);
        if (files->items[i].gguf)
            cr_gguf_weights_close(files->items[i].gguf);
        free(files->items[i].gguf);
        free(files->items[i].listed);
        free(files->items[i].names);
        free(files->items[i].path);
    }
    free(files->items);
    *files = (struct cr_weight_files){0};
}

bool cr_weight_file_lists(const struct cr_weight_file *file, int i)
{
    return !file->listed || file->listed[i];
}

const struct cr_st_tensor *cr_weight_files_find(const struct cr_weight_files *files,
                                                const char *name,
                                                const struct cr_weight_file **file)
{
    for (int i = files->n - 1; i >= 0; i--) {
        const struct cr_weight_file *f = &files->items[i];
        const struct cr_st_tensor *tensor = cr_safetensors_find(&f->file, name);
        if (tensor && cr_weight_file_lists(f, (int)(tensor - f->file.tensors))) {
            *file = &files->items[i];
            return tensor;
        }
    }
    return NULL;
}
