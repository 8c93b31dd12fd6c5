#include "token_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/weight_files.h"
#include "compiler/json/config_file.h"

/* True if a folder has no config.json, or one whose model_type is model2vec. */
static bool may_have_table(const char *folder)
{
    char *path = cr_path_in(folder, "config.json");
    const char *type = NULL;
    struct cr_document d;
    struct cr_error ignored = {0};
    bool may = access(path, F_OK) != 0;
    if (!may && cr_config_read(&d, path, &ignored) == 0) {
        may = cr_config_text(&d, "model_type", "the name of an architecture", &type, &ignored) == 0 && type &&
              strcmp(type, "model2vec") == 0;
        cr_document_free(&d);
    }
    free(path);
    return may;
}

static int count_tensors(const struct cr_weight_files *files)
{
    int n = 0;
    for (int i = 0; i < files->n; i++)
        n += files->items[i].file.n_tensors;
    return n;
}

/* Finds the table among the tensors of open files; returns 1 if it is their only tensor.  Fails for
 * a table of model2vec with fewer rows than tokens, which comes with tensors for the row of each
 * token and a factor. */
static int take_table(struct cr_token_table *table, const struct cr_weight_files *files, const char *folder,
                      struct cr_error *error)
{
    static const char *const names[] = {"embedding.weight", "embeddings"}, *const more[] = {"mapping", "weights"};
    const struct cr_weight_file *file;
    for (int i = 0; i < 2; i++) {
        const struct cr_st_tensor *tensor = cr_weight_files_find(files, names[i], &file);
        if (!tensor || tensor->rank != 2)
            continue;
        for (int k = 0; k < 2; k++)
            if (cr_weight_files_find(files, more[k], &file))
                return cr_fail(error, "%.300s: found the tensor %s beside the table, expected a table with a row for "
                                      "each token",
                               folder, more[k]);
        *table = (struct cr_token_table){names[i], tensor->shape[0], tensor->shape[1]};
        return count_tensors(files) == 1;
    }
    return 0;
}

int cr_find_token_table(struct cr_token_table *table, const char *folder, struct cr_error *error)
{
    struct cr_weight_files files;
    struct cr_error ignored = {0};
    if (!may_have_table(folder) || cr_weight_files_open(&files, &folder, 1, &ignored))
        return 0;
    int found = take_table(table, &files, folder, error);
    cr_weight_files_close(&files);
    return found;
}
