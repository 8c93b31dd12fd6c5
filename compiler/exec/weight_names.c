/* weight_names.c - other names of parameters; see weight_names.h. */
#include "weight_names.h"

#include <stdio.h>
#include <string.h>

/* Tables that may be the head, too, and the head's name. */
static const struct {
    const char *table, *head;
} tied[] = {
    {"embed_tokens.weight", "lm_head.weight"},
    {"wte.weight", "lm_head.weight"},
    {"embed_in.weight", "embed_out.weight"},
};

/* What the names of tensors end in that are no parameters. */
static const char *const buffers[] = {
    ".attn.bias",       ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
    ".inv_freq",        "position_ids",      "lm_head.weight",  "embed_out.weight",
};

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

bool cr_weight_is_buffer(const char *name)
{
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (ends_in(name, buffers[i]))
            return true;
    return false;
}

/* As it is, without what stands before the first dot, or with the family's name before it. */
static const struct cr_st_tensor *find_prefixed(const struct cr_weight_files *files,
                                                const char *name, const char *family,
                                                const struct cr_weight_file **file)
{
    char longer[400];
    const char *dot = strchr(name, '.');
    const struct cr_st_tensor *tensor = cr_weight_files_find(files, name, file);
    if (!tensor && dot)
        tensor = cr_weight_files_find(files, dot + 1, file);
    if (!tensor && snprintf(longer, sizeof longer, "%s.%s", family, name) < (int)sizeof longer)
        tensor = cr_weight_files_find(files, longer, file);
    return tensor;
}

/* The names of a norm's numbers in files that were once TensorFlow's. */
static const struct cr_st_tensor *find_norm(const struct cr_weight_files *files, const char *name,
                                            const char *family, const struct cr_weight_file **file)
{
    static const char *const names[][2] = {{"LayerNorm.weight", "gamma"}, {"LayerNorm.bias", "beta"}};
    char other[400];
    for (int i = 0; i < 2; i++) {
        int kept = (int)(strrchr(names[i][0], '.') + 1 - names[i][0]);
        int n = (int)(strlen(name) - strlen(names[i][0])) + kept;
        if (ends_in(name, names[i][0]) &&
            snprintf(other, sizeof other, "%.*s%s", n, name, names[i][1]) < (int)sizeof other)
            return find_prefixed(files, other, family, file);
    }
    return NULL;
}

/* The head in place of its table, in a model that has no head of its own. */
static const struct cr_st_tensor *find_head(const struct cr_weight_files *files, const char *name,
                                            const char *family, const struct cr_names *params,
                                            const struct cr_weight_file **file)
{
    for (size_t i = 0; i < sizeof tied / sizeof *tied; i++)
        if (ends_in(name, tied[i].table) && cr_names_find(params, tied[i].head) < 0)
            return find_prefixed(files, tied[i].head, family, file);
    return NULL;
}

const struct cr_st_tensor *cr_weight_find(const struct cr_weight_files *files, const char *name,
                                          const char *family, const struct cr_names *params,
                                          const struct cr_weight_file **file)
{
    if (!family)
        return cr_weight_files_find(files, name, file);
    const struct cr_st_tensor *tensor = find_prefixed(files, name, family, file);
    if (!tensor)
        tensor = find_norm(files, name, family, file);
    if (!tensor)
        tensor = find_head(files, name, family, params, file);
    return tensor;
}
