/* grads.c - seeds, gradients as outputs, and their file; see grads.h. */
#include "grads.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/files/safetensors.h"
#include "compiler/ir/gradient.h"
#include "compiler/ir/mem.h"

/* As of gradients, CR_GRADIENT: names of a script have no colon. */
#define COTANGENT "cotangent:"

bool cr_wants_grads(const struct cr_options *o)
{
    return o->grads || o->expect_grads;
}

const char *cr_grads_file(const struct cr_options *o)
{
    return o->grads && strcmp(o->grads, "none") != 0 ? o->grads : NULL;
}

int cr_grads_check_no_file(const struct cr_options *o, const char *verb, struct cr_error *error)
{
    if (!cr_grads_file(o))
        return 0;
    return cr_fail(error, "--grads %.300s: %s computes no gradients, expected --grads none",
                   o->grads, verb);
}

/* What stands behind a prefix, or null. */
static const char *behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

const char *cr_cotangent_of(const char *input)
{
    return behind(input, COTANGENT);
}

const char *cr_gradient_of(const char *output)
{
    return behind(output, CR_GRADIENT);
}

/* ---- where the walk begins ---- */

struct seeds {
    struct cr_graph *g;
    struct cr_seed *items;
    int n, cap;
};

/* A leaf in the shape of a node: an input of that name, or ones if it is null. */
static cr_id leaf_like(struct cr_graph *g, cr_id id, const char *name)
{
    struct cr_attr attr = {.dtype = CR_F32, .rank = g->nodes[id].rank, .value = 1, .name = name};
    memcpy(attr.shape, g->nodes[id].shape, sizeof attr.shape);
    return cr_must(g, name ? CR_OP_input : CR_OP_const, 0, NULL, &attr);
}

static void add_seed(struct seeds *s, cr_id id, const char *file_for)
{
    char name[512];
    s->g->here = s->g->nodes[id].where;
    snprintf(name, sizeof name, "%s%s", COTANGENT, file_for ? file_for : "");
    cr_id cotangent = leaf_like(s->g, id, file_for ? name : NULL);
    *CR_PUSH(s->items, s->n, s->cap) = (struct cr_seed){id, cotangent};
}

/* Whether --cotangent gave this name before pair i. */
static bool given_before(const struct cr_pairs *pairs, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(pairs->items[j].key, pairs->items[i].key) == 0)
            return true;
    return false;
}

/* What --cotangent names: outputs, or values the script tapped. */
static int add_given(struct cr_model *m, struct seeds *s, bool *seeded, struct cr_error *error)
{
    const struct cr_pairs *pairs = &m->options->cotangent;
    for (int i = 0; i < pairs->n; i++) {
        const char *name = pairs->items[i].key;
        cr_id id = cr_model_find(m, "--cotangent", name, error);
        if (id == CR_NONE)
            return -1;
        if (s->g->nodes[id].dtype != CR_F32)
            return cr_fail(error, "%.400s: --cotangent %.100s: the value is %s, expected f32",
                           m->options->model, name, cr_dtype_name(s->g->nodes[id].dtype));
        if (!given_before(pairs, i))
            add_seed(s, id, name);
        for (int j = 0; j < m->n_script_outputs; j++)
            seeded[j] |= strcmp(s->g->outputs[j].name, name) == 0;
    }
    return 0;
}

static int add_seeds(struct cr_model *m, struct seeds *s, struct cr_error *error)
{
    if (s->g->n_lengths)
        return cr_fail(error, "%.400s: --grads: the model has the length %.100s, expected sizes that "
                       "are fixed", m->options->model, s->g->lengths[0].name);
    bool *seeded = cr_calloc((size_t)m->n_script_outputs, sizeof *seeded);
    int status = add_given(m, s, seeded, error);
    for (int i = 0; !status && i < m->n_script_outputs; i++)
        if (!seeded[i] && s->g->nodes[s->g->outputs[i].id].dtype == CR_F32)
            add_seed(s, s->g->outputs[i].id, NULL);
    free(seeded);
    if (!status && !s->n)
        return cr_fail(error, "%.400s: --grads: no output is f32, expected one to begin with",
                       m->options->model);
    return status;
}

/* ---- what is asked for ---- */

/* Every parameter, then every f32 input. */
static int find_wanted(const struct cr_graph *g, cr_id *wanted)
{
    int n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            wanted[n++] = id;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input && g->nodes[id].dtype == CR_F32)
            wanted[n++] = id;
    return n;
}

static void add_outputs(struct cr_graph *g, const struct seeds *s)
{
    char name[512];
    int most = g->n_nodes;
    cr_id *wanted = cr_calloc((size_t)most, sizeof *wanted);
    cr_id *gradients = cr_calloc((size_t)most, sizeof *gradients);
    int n = find_wanted(g, wanted);
    for (int i = 0; i < n; i++) /* those of files are no inputs of the model */
        if (cr_cotangent_of(g->nodes[wanted[i]].name))
            n = i;
    cr_add_gradients(g, s->n, s->items, n, wanted, gradients);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%s", CR_GRADIENT, g->nodes[wanted[i]].name);
        cr_add_output(g, name, gradients[i]);
    }
    free(wanted);
    free(gradients);
}

int cr_grads_add(struct cr_model *m, struct cr_error *error)
{
    struct seeds seeds = {.g = m->script.graph};
    if (m->options->cotangent.n && !cr_wants_grads(m->options))
        return cr_fail(error, "--cotangent %.200s: expected --grads beside it",
                       m->options->cotangent.items[0].key);
    if (!cr_wants_grads(m->options))
        return 0;
    int status = add_seeds(m, &seeds, error);
    if (!status)
        add_outputs(m->script.graph, &seeds);
    free(seeds.items);
    return status;
}

/* ---- the file ---- */

int cr_grads_put(struct cr_writer *writer, const struct cr_port *outputs, int n, void *const *data,
                 struct cr_error *error)
{
    struct cr_st_tensor *tensors = cr_calloc((size_t)n, sizeof *tensors);
    int count = 0;
    for (int i = 0; i < n; i++)
        if (cr_gradient_of(outputs[i].name))
            tensors[count++] = (struct cr_st_tensor){.name = cr_gradient_of(outputs[i].name),
                                                     .type = CR_ST_F32,
                                                     .rank = outputs[i].rank,
                                                     .shape = outputs[i].shape,
                                                     .data = data[i]};
    int status =
        cr_safetensors_put(writer, tensors, count, NULL, 0, error->text, sizeof error->text);
    free(tensors);
    return status;
}
