/* folder.c - fuzz target: any bytes as the JSON files of a folder in Hugging Face's layout
 * (config.json, or the index of shards, two of which exist) are refused with a line, or read
 * correctly. */
#include "compiler/exec/weight_files.h"
#include "compiler/json/config_file.h"
#include "compiler/library/folder_model_type.h"

#include "target.h"

static char folder[] = "/tmp/crescent-folder-XXXXXX";

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    char *path = cr_path_in(folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    PROMISE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    free(path);
}

/* Writes a shard with one tensor, named after the file. */
static void write_shard(const char *name)
{
    char bytes[256] = {0};
    int n = snprintf(bytes + 8, sizeof bytes - 8,
                     "{\"%.1s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", name);
    bytes[0] = (char)n;
    write_bytes(name, bytes, (size_t)n + 12);
}

static void remove_folder(void)
{
    static const char *const names[] = {"a.safetensors", "b.safetensors", "config.json",
                                        "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = cr_path_in(folder, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

static void make_folder(void)
{
    PROMISE(mkdtemp(folder));
    atexit(remove_folder);
    write_shard("a.safetensors");
    write_shard("b.safetensors");
}

/* Opens the folder as weights: every shard that is opened must be one of the two. */
static void read_shards(void)
{
    const char *const paths[] = {folder};
    struct cr_weight_files files;
    struct cr_error error = {""};
    if (cr_weight_files_open(&files, paths, 1, &error)) {
        promise_message(error.text);
        return;
    }
    PROMISE(files.n == 1 || files.n == 2);
    for (int i = 0; i < files.n; i++)
        PROMISE(files.items[i].file.n_tensors == 1);
    cr_weight_files_close(&files);
}

static void read_config(void)
{
    int64_t ids[4];
    int n;
    struct cr_error error = {""};
    char *path = cr_path_in(folder, "config.json"), *type = cr_folder_model_type(folder, &error);
    if (!type)
        promise_message(error.text);
    free(type);
    if (cr_config_integers(path, "eos_token_id", ids, 4, &n, &error))
        promise_message(error.text);
    else
        PROMISE(n >= 0 && n <= 4);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made)
        make_folder();
    made = true;
    write_bytes("model.safetensors.index.json", data, size);
    write_bytes("config.json", data, size);
    read_shards();
    read_config();
    return 0;
}
