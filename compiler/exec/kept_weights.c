/* kept_weights.c - keeps packed weights in files; see kept_weights.h. */
#include "kept_weights.h"

#include <inttypes.h>
#include <unistd.h>

#include "compiler/files/mapping.h"

/* ---- keys ---- */

/* Adds lines about a parameter and its source tensor to the key. */
static void put_param(struct cr_text *key, const struct cr_engine *e, int i,
                      const struct cr_kept_weight_file *files, const struct cr_kept_tensor *t)
{
    char shape[224];
    const struct cr_port *port = &e->params[i];
    cr_put(key, "param %d %s %s %s ", e->to_param[i], cr_formats[port->format].name, port->name,
           cr_shape_text(shape, sizeof shape, port->rank, port->shape));
    if (t->file == CR_NONE) {
        uint64_t hash[2] = {0};
        cr_kept_hash(hash, t->data, t->bytes);
        cr_put(key, "%016" PRIx64 "%016" PRIx64 " %s %s\n", hash[0], hash[1], t->type, t->name);
    } else {
        size_t at = (size_t)((const unsigned char *)t->data - files[t->file].mapping->bytes);
        cr_put(key, "%d %zu %s %s\n", t->file, at, t->type, t->name);
    }
}

/* Adds lines about all parameters and the layout of the packed weights to the key. */
static void put_layout(struct cr_text *key, const struct cr_engine *e,
                       const struct cr_kept_weight_file *files, const struct cr_kept_tensor *tensors)
{
    const struct cr_program *p = e->program;
    cr_put(key, "weights %" PRId64 "\n", p->weights_bytes);
    for (int i = 0; i < e->n_params; i++)
        put_param(key, e, i, files, &tensors[i]);
    for (int i = 0; i < p->n_layouts; i++) {
        const struct cr_weight_layout *at = &p->layouts[i];
        cr_put(key, "place %d %ld %ld %ld %ld %ld %ld %ld %ld %d\n", at->param, at->source, at->rows,
               at->cols, at->row_stride, at->col_stride, at->target, at->panel_stride, at->first_col,
               at->last);
    }
}

/* Makes the key of an engine's packed weights; returns false if they cannot be kept. */
static bool make_key(struct cr_kept_key *key, const struct cr_engine *e, const struct cr_kept_weight_file *files,
                     int n, const struct cr_kept_tensor *tensors)
{
    if (!e->program || e->tensors || !e->program->weights_bytes || !cr_kept_begin(key, "packed weights"))
        return false;
    put_layout(&key->text, e, files, tensors);
    for (int i = 0; i < n; i++) {
        const int handle = files[i].mapping->handle;
        if (!handle || !cr_kept_add_source(key, files[i].path, handle - 1, files[i].header))
            return false;
    }
    cr_kept_name(key, ".weights");
    return key->path;
}

/* ---- files ---- */

void cr_kept_find(struct cr_kept *k, struct cr_engine *e, const struct cr_kept_weight_file *files, int n,
                  const struct cr_kept_tensor *tensors)
{
    int64_t bytes;
    *k = (struct cr_kept){0};
    if (!make_key(&k->key, e, files, n, tensors)) {
        cr_kept_free(k);
        return;
    }
    int fd = cr_kept_open(&k->key, &bytes);
    if (fd < 0)
        return;
    k->is_mapped = bytes == e->program->weights_bytes &&
                   cr_engine_map_weights(e, fd, cr_kept_at(&k->key)) == 0;
    if (k->is_mapped) /* the key is needed only to write the file */
        cr_kept_free_key(&k->key);
    close(fd);
}

int64_t cr_kept_write(const struct cr_kept *k, const struct cr_engine *e, int64_t most,
                      struct cr_error *error)
{
    return cr_kept_store(&k->key, e->weights, e->program->weights_bytes, most, error);
}

void cr_kept_free(struct cr_kept *k)
{
    cr_kept_free_key(&k->key);
    k->is_mapped = false;
}
