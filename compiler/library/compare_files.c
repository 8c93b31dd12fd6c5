/* compare_files.c - hashes the files of a model and compares the hashes of ranks; see compare_files.h. */
#include "compare_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/exec/join_ranks.h"
#include "compiler/exec/kept_file.h"
#include "compiler/exec/weight_files.h"
#include "compiler/files/samples.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "installed_files.h"

/* ---- a file ---- */

/* Mixes the contents of an open file, or its samples, into a hash.  Skips bytes that cannot be read. */
static void hash_contents(uint64_t hash[2], int fd, size_t size)
{
    for (size_t i = 0; i < CR_SAMPLES; i++) {
        const struct cr_file_sample sample = cr_get_sample(size, i);
        cr_kept_hash_file(hash, fd, sample.at, sample.bytes);
    }
}

/* Sets *hash to a hash of a file's contents, or to 0 if it is not a regular file, such as a pipe.
 * Returns -1 if the file cannot be opened. */
static int hash_file(const char *path, uint64_t *hash)
{
    struct stat status;
    uint64_t two[2] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *hash = 0;
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        hash_contents(two, fd, (size_t)status.st_size);
        *hash = cr_hash_word(cr_hash_word(two[0], two[1]), (uint64_t)status.st_size);
    }
    close(fd);
    return 0;
}

/* ---- a folder ---- */

enum group { SETTINGS, TOKENIZER, WEIGHTS, N_GROUPS };

static bool begins_with(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0;
}

/* Returns the group of a file in a model's folder, or N_GROUPS if models do not read files of that
 * name. */
static enum group group_of(const char *name)
{
    static const char *const tables[] = {"vocab.json", "merges.txt", "encoder.json",
                                         "vocab.bpe",  "vocab.txt",  "special_tokens_map.json"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(name, tables[i]) == 0)
            return TOKENIZER;
    if (begins_with(name, "tokenizer") || cr_ends_in(name, ".model"))
        return TOKENIZER;
    if (begins_with(name, "model") && (cr_ends_in(name, ".safetensors") || cr_ends_in(name, ".safetensors.index.json")))
        return WEIGHTS;
    bool is_setting = cr_ends_in(name, "config.json") || cr_ends_in(name, ".jinja") ||
                      strcmp(name, "modules.json") == 0 || strcmp(name, "config_sentence_transformers.json") == 0;
    return is_setting ? SETTINGS : N_GROUPS;
}

/* True for the name of a module's folder, such as 1_Pooling. */
static bool is_module(const char *name)
{
    return isdigit((unsigned char)*name) && strchr(name, '_');
}

/* Adds a hash of each file's name and contents to the sum of its group.  A sum does not depend on
 * the order in which the system lists files.  `begin` is a hash of the folder's name inside the
 * model's folder, or 0 for the model's folder itself. */
static void add_folder(uint64_t sums[N_GROUPS], const char *folder, uint64_t begin)
{
    DIR *files = opendir(folder);
    const struct dirent *file;
    while (files && (file = readdir(files))) {
        const char *name = file->d_name;
        uint64_t hash = begin, contents;
        char *path = cr_path_in(folder, name);
        for (const char *c = name; *c; c++)
            hash = cr_hash_word(hash, (unsigned char)*c);
        if (group_of(name) != N_GROUPS && hash_file(path, &contents) == 0)
            sums[group_of(name)] += cr_hash_word(hash, contents);
        else if (begin == 0 && is_module(name) && cr_is_folder(path))
            add_folder(sums, path, hash);
        free(path);
    }
    if (files)
        closedir(files);
}

/* ---- comparing ---- */

static int compare(const crescent_context *context, uint64_t hash, const char *path, const char *what,
                   struct cr_error *error)
{
    int other = cr_ranks_compare(context->ranks, hash);
    if (other < 0)
        return 0;
    return cr_fail(error, "%.400s: %s of rank %d differ from those of rank 0, expected the same files for all ranks",
                   path, what, other);
}

/* Compares the files of a folder with those of rank 0, group by group. */
static int compare_folder(const crescent_context *context, const char *path, struct cr_error *error)
{
    static const char *const names[] = {"settings (config.json and others)", "files of the tokenizer", "weights"};
    uint64_t sums[N_GROUPS] = {0};
    add_folder(sums, path, 0);
    for (int i = 0; i < N_GROUPS; i++)
        if (compare(context, sums[i], path, names[i], error))
            return -1;
    return 0;
}

static int compare_path(const crescent_context *context, const char *path, const char *what, struct cr_error *error)
{
    uint64_t hash;
    if (cr_is_folder(path))
        return compare_folder(context, path, error);
    if (hash_file(path, &hash))
        return cr_fail(error, "%.400s: cannot be opened: %s", path, strerror(errno));
    return compare(context, hash, path, what, error);
}

int cr_compare_files(const crescent_context *context, const char *path, const char *what, struct cr_error *error)
{
    if (!context->ranks || context->ranks->count == 1)
        return 0;
    char *found = cr_find_installed(path);
    int status = compare_path(context, found, what, error);
    free(found);
    return status;
}
