/* parameters.c - loads, draws and sets the parameters of a model; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compare_files.h"
#include "folder_model_type.h"
#include "handles.h"
#include "imported_model.h"

/* After a load with this status, marks all parameters as given; after a failure marks none, since
 * some may already have values of another file than the rest.  Returns the status. */
static int all_given(crescent_model *m, int status)
{
    memset(m->given, !status, (size_t)m->engine.n_params);
    if (status)
        cr_kept_free(&m->kept);
    return status;
}

static int check_number(const crescent_model *m, int index, struct cr_error *error)
{
    return cr_check_index(m->engine.path, "parameter", index, m->engine.n_params, error);
}

int cr_check_weights(const crescent_model *m, struct cr_error *error)
{
    for (int i = 0; i < m->engine.n_params; i++)
        if (!m->given[i])
            return cr_fail(error, "%.400s: parameter %.200s has no values, expected some",
                           m->engine.path, m->engine.params[i].name);
    return 0;
}

/* ---- filling ---- */

static int check_paths(const crescent_model *m, const char *const *paths, int n,
                       struct cr_error *error)
{
    if (n < 1)
        return cr_fail(error, "%.400s: found %d files of weights, expected one or more", m->engine.path,
                       n);
    for (int i = 0; i < n; i++)
        if (!paths[i])
            return cr_fail(error, "%.400s: file %d of weights is null, expected a path",
                           m->engine.path, i);
    return 0;
}

/* Describes in `surplus` the tensors of the files that the model does not have; fails if the rule
 * forbids such tensors. */
static int take_surplus(const struct cr_surplus *found, crescent_surplus_rule rule,
                        crescent_surplus *surplus, struct cr_error *error)
{
    if (surplus) {
        surplus->count = found->count;
        surplus->file = found->file;
        memcpy(surplus->name, found->name, sizeof surplus->name);
    }
    if (!found->count || rule == CRESCENT_ANY_TENSORS)
        return 0;
    return cr_fail(error, "%.400s: found tensor %s, which is not in the model (%d such tensors), expected only tensors of the model, as --strict requires", found->file, found->name,
                   found->count);
}

/* If the error is about a missing tensor of the pooler, adds to it the options with which the
 * folder opens: one omits the pooler, another selects the head of the class in config.json. */
static void name_head(const crescent_model *m, struct cr_error *error)
{
    static const char *const heads[][2] = {{"ForMaskedLM", "masked_lm=true"},
                                           {"ForTokenClassification", "token_classes=N"}};
    struct cr_error before = *error;
    if (m->is_part || !m->origin->folder || !strstr(before.text, ": no tensor 'pooler."))
        return;
    char *class = cr_folder_class(m->origin->folder);
    cr_fail(error, "%.400s, or --set pooler=false", before.text);
    for (size_t i = 0; class && i < sizeof heads / sizeof *heads; i++)
        if (strstr(class, heads[i][0]))
            cr_fail(error, "%.400s, or --set %s for the head of %.60s", before.text, heads[i][1], class);
    free(class);
}

/* Fails if another rank has other weight files.  Skips the model's own folder, which was compared
 * when the model was opened. */
static int compare_paths(const crescent_model *m, const char *const *paths, int n, struct cr_error *error)
{
    for (int i = 0; i < n; i++)
        if ((!m->origin->folder || strcmp(paths[i], m->origin->folder) != 0) &&
            cr_compare_files(m->context, paths[i], "weights", error))
            return -1;
    return 0;
}

/* Loads weights from files.  An imported model reads the weights in its own file through the
 * import. */
static int load(crescent_model *m, const char *const *paths, int n, crescent_surplus_rule rule,
                crescent_surplus *surplus, struct cr_error *error)
{
    struct cr_surplus found = {0};
    cr_kept_free(&m->kept);
    if (check_paths(m, paths, n, error))
        return -1;
    bool alone = crescent_ranks_of(m->context).count == 1;
    struct cr_kept *kept = m->context->cache_bytes && alone ? &m->kept : NULL;
    if (n == 1 && m->origin->imported && strcmp(paths[0], m->origin->folder) == 0)
        return cr_imported_load(m->origin->imported, &m->engine, kept, error);
    if (cr_load_params(&m->engine, paths, n, m->origin->family, kept, &found, error)) {
        name_head(m, error);
        return -1;
    }
    return compare_paths(m, paths, n, error) || take_surplus(&found, rule, surplus, error) ? -1 : 0;
}

static int load_bytes(crescent_model *m, const struct cr_weight_bytes *bytes,
                      crescent_surplus_rule rule, crescent_surplus *surplus, struct cr_error *error)
{
    struct cr_surplus found = {0};
    cr_kept_free(&m->kept);
    if (cr_load_params_from(&m->engine, bytes, m->origin->family, &found, error))
        return -1;
    return take_surplus(&found, rule, surplus, error);
}

int crescent_load_weights(crescent_model *model, const char *const *paths, int n,
                          crescent_surplus_rule rule, crescent_surplus *surplus)
{
    CR_REQUIRE(model, paths);
    CR_ENTER(model->context);
    return cr_done(&guard, all_given(model, load(model, paths, n, rule, surplus, guard.error)));
}

int crescent_load_weights_bytes(crescent_model *model, const char *name, const void *bytes,
                                size_t length, crescent_surplus_rule rule, crescent_surplus *surplus)
{
    CR_REQUIRE(model, name && bytes);
    CR_ENTER(model->context);
    const struct cr_weight_bytes file = {name, bytes, length};
    return cr_done(&guard, all_given(model, load_bytes(model, &file, rule, surplus, guard.error)));
}

const char *crescent_weights_path(const crescent_model *model)
{
    return model ? model->origin->folder : NULL;
}

int crescent_draw_weights(crescent_model *model, int64_t seed)
{
    CR_REQUIRE(model, true);
    CR_ENTER(model->context);
    cr_kept_free(&model->kept);
    return cr_done(&guard,
                   all_given(model, cr_draw_params(&model->engine, (uint64_t)seed, guard.error)));
}

static int set(crescent_model *m, int index, const float *tensor, struct cr_error *error)
{
    const struct cr_contents contents = {.data = tensor};
    cr_kept_free(&m->kept); /* the cached file holds the files' weights, not these */
    if (check_number(m, index, error) || cr_engine_set_param(&m->engine, index, &contents, error))
        return -1;
    m->given[index] = true;
    return 0;
}

int crescent_set_weight(crescent_model *model, int index, const float *tensor)
{
    CR_REQUIRE(model, tensor);
    CR_ENTER(model->context);
    return cr_done(&guard, set(model, index, tensor, guard.error));
}

/* ---- files of packed weights ---- */

int crescent_cache_weights(crescent_context *context, int64_t bytes)
{
    CR_REQUIRE_CONTEXT(context, true);
    context->cache_bytes = bytes > 0 ? bytes : 0;
    return CRESCENT_OK;
}

int64_t crescent_uncached_weights(const crescent_model *model)
{
    bool can_be = model && model->kept.key.path && !model->kept.is_mapped;
    return can_be ? model->engine.program->weights_bytes : 0;
}

int64_t crescent_cached_weights(const crescent_model *model)
{
    return model && model->kept.is_mapped ? model->engine.program->weights_bytes : 0;
}

int crescent_write_cache(crescent_model *model, int64_t *written)
{
    CR_REQUIRE(model, true);
    CR_ENTER(model->context);
    int64_t bytes = 0;
    bool is_due = crescent_uncached_weights(model) > 0;
    if (is_due)
        bytes = cr_kept_write(&model->kept, &model->engine, model->context->cache_bytes, guard.error);
    if (written)
        *written = bytes;
    return cr_done(&guard, is_due && !bytes ? -1 : 0);
}

/* ---- reading back ---- */

/* Makes the engine keep the values of parameters.  Fails if any has values already, as the engine
 * did not keep those. */
static int keep(crescent_model *m, struct cr_error *error)
{
    if (m->engine.tensors)
        return 0;
    for (int i = 0; i < m->engine.n_params; i++)
        if (m->given[i])
            return cr_fail(error,
                           "%.400s: parameter %.200s was set before, expected "
                           "crescent_keep_weights before parameters are set",
                           m->engine.path, m->engine.params[i].name);
    return cr_engine_keep_params(&m->engine, NULL, error);
}

int crescent_keep_weights(crescent_model *model)
{
    CR_REQUIRE(model, true);
    CR_ENTER(model->context);
    return cr_done(&guard, keep(model, guard.error));
}

int cr_check_kept(const crescent_model *m, struct cr_error *error)
{
    if (!m->engine.tensors)
        return cr_fail(error, "%.400s: its weights are not kept, expected crescent_keep_weights before "
                              "they are set",
                       m->engine.path);
    return cr_check_weights(m, error);
}

static int get(const crescent_model *m, int index, float *tensor, struct cr_error *error)
{
    if (check_number(m, index, error) || cr_check_kept(m, error))
        return -1;
    size_t n = (size_t)cr_port_elements(&m->engine.params[index]);
    memcpy(tensor, m->engine.tensors[index], n * sizeof *tensor);
    return 0;
}

int crescent_get_weight(const crescent_model *model, int index, float *tensor)
{
    CR_REQUIRE(model, tensor);
    CR_ENTER(model->context);
    return cr_done(&guard, get(model, index, tensor, guard.error));
}
