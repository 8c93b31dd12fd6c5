/* file_formats.c - gives parameters the formats that they have in their file; see
 * file_formats.h. */
#include "file_formats.h"

#include <string.h>

#include "compiler/exec/quantised_columns.h"
#include "compiler/exec/weight_names.h"

/* Returns the weight format that holds the same numbers as a GGUF type, or f32 if there is none.
 * Only formats for weights are searched, so that i32 is not returned. */
static enum cr_format format_of(const char *type)
{
    enum cr_quantised quantised;
    if (cr_quantised_find(type, &quantised))
        return cr_quantised_format(quantised);
    enum cr_format format = cr_format_find(type, strlen(type));
    return format < CR_FORMAT_COUNT && cr_formats[format].pack ? format : CR_FORMAT_f32;
}

/* Sets the format of a parameter to that of its tensor; fails if the tensor's type cannot be
 * read. */
static int take_format(struct cr_node *param, const struct cr_gguf_weight *weight,
                       struct cr_error *error)
{
    if (cr_gguf_check(weight->file, weight->tensor, error->text, sizeof error->text))
        return -1;
    param->format = format_of(weight->tensor->type->name);
    return 0;
}

int cr_take_own_formats(struct cr_graph *g, const struct cr_origin *origin, struct cr_error *error)
{
    const char *path = origin->folder;
    struct cr_weight_files files;
    struct cr_names params = {0};
    if (cr_weight_files_open(&files, &path, 1, error))
        return -1;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            cr_names_add(&params, g->nodes[id].name);
    int status = 0;
    for (cr_id id = 0; id < g->n_nodes && status == 0; id++) {
        const struct cr_weight_file *file;
        const struct cr_st_tensor *tensor =
            g->nodes[id].op == CR_OP_param
                ? cr_weight_find(&files, g->nodes[id].name, origin->family, &params, &file)
                : NULL;
        if (tensor)
            status = take_format(&g->nodes[id], &file->gguf->items[tensor - file->file.tensors],
                                 error);
    }
    cr_names_free(&params);
    cr_weight_files_close(&files);
    return status;
}
