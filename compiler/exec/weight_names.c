/* weight_names.c - the alternative names of parameters in files; see weight_names.h. */
#include "weight_names.h"

#include <stdio.h>
#include <string.h>

/* Names of embedding tables that a model may also use as its head, and the name of a separate
 * head's weight. */
static const struct {
    const char *table, *head;
} tied[] = {
    {"embed_tokens.weight", "lm_head.weight"},
    {"wte.weight", "lm_head.weight"},
    {"embed_in.weight", "embed_out.weight"},
};

/* Endings of the names of tensors that no parameter needs; see cr_weight_is_buffer. */
static const char *const buffers[] = {
    ".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
    ".inv_freq",  "position_ids",      "lm_head.weight",  "embed_out.weight",
};

const char *cr_weight_buffer(int i)
{
    return i < (int)(sizeof buffers / sizeof *buffers) ? buffers[i] : NULL;
}

bool cr_weight_is_buffer(const char *name)
{
    for (int i = 0; cr_weight_buffer(i); i++)
        if (cr_ends_in(name, cr_weight_buffer(i)))
            return true;
    return false;
}

/* Endings of the names of a norm's parameters, and their endings in files converted from
 * TensorFlow. */
static const struct {
    const char *end, *kept, *once;
} norms[] = {
    {"LayerNorm.weight", "LayerNorm.", "gamma"},
    {"LayerNorm.bias", "LayerNorm.", "beta"},
};

enum {
    N_NORMS = sizeof norms / sizeof *norms,
    N_TIED = sizeof tied / sizeof *tied,
    N_PREFIXES =
        3 /* a name unchanged, without the text up to its first dot, and with the family's name as
           * prefix */
};
_Static_assert(CR_WEIGHT_HEADS == N_PREFIXES * (1 + N_NORMS) &&
                   CR_WEIGHT_NAMES == CR_WEIGHT_HEADS + N_PREFIXES * N_TIED,
               "each name has a number");

/* Writes the TensorFlow name of a norm's parameter; returns false if the name is not one of
 * norms[i]. */
static bool norm_name(char *other, size_t size, const char *name, int i)
{
    if (!cr_ends_in(name, norms[i].end))
        return false;
    int n = (int)(strlen(name) - strlen(norms[i].end) + strlen(norms[i].kept));
    return snprintf(other, size, "%.*s%s", n, name, norms[i].once) < (int)size;
}

/* Writes the name of the head's weight for an embedding table; returns false if it is no such
 * table or if the model has a separate head. */
static bool head_name(char *other, size_t size, const char *name, const struct cr_names *params,
                      int i)
{
    return cr_ends_in(name, tied[i].table) && cr_names_find(params, tied[i].head) < 0 &&
           snprintf(other, size, "%s", tied[i].head) < (int)size;
}

bool cr_weight_name(char *other, size_t size, const char *name, const char *family,
                    const struct cr_names *params, int i)
{
    char base[400];
    int kind = i / N_PREFIXES;
    bool has = kind == 0         ? snprintf(base, sizeof base, "%s", name) < (int)sizeof base
               : kind <= N_NORMS ? norm_name(base, sizeof base, name, kind - 1)
                                 : head_name(base, sizeof base, name, params, kind - 1 - N_NORMS);
    const char *dot = has ? strchr(base, '.') : NULL;
    if (!has || (i && !family) || (i % N_PREFIXES == 1 && !dot))
        return false;
    const char *from = i % N_PREFIXES == 1 ? dot + 1 : base;
    bool behind = i % N_PREFIXES == 2;
    return snprintf(other, size, "%s%s%s", behind ? family : "", behind ? "." : "", from) <
           (int)size;
}

/* Finds the tensor with the first name, among a parameter's names from alternative `first` on,
 * that a file contains. */
static const struct cr_st_tensor *find_from(int first, const struct cr_weight_files *files, const char *name,
                                            const char *family, const struct cr_names *params,
                                            const struct cr_weight_file **file)
{
    char other[400];
    const struct cr_st_tensor *tensor = NULL;
    for (int i = first; i < CR_WEIGHT_NAMES && !tensor; i++)
        if (cr_weight_name(other, sizeof other, name, family, params, i))
            tensor = cr_weight_files_find(files, other, file);
    return tensor;
}

const struct cr_st_tensor *cr_weight_find(const struct cr_weight_files *files, const char *name,
                                          const char *family, const struct cr_names *params,
                                          const struct cr_weight_file **file)
{
    const struct cr_st_tensor *tensor = cr_weight_files_find(files, name, file);
    return tensor ? tensor : find_from(1, files, name, family, params, file);
}

const struct cr_st_tensor *cr_weight_find_head(const struct cr_weight_files *files, const char *name,
                                               const char *family, const struct cr_names *params,
                                               const struct cr_weight_file **file)
{
    return find_from(CR_WEIGHT_HEADS, files, name, family, params, file);
}
