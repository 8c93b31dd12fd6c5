/* shares.c - states of a training of which each rank has a share; see shares.h. */
#include "shares.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/shard/share_states.h"
#include "runtime/ranks.h"
#include "training.h"

/* ---- the tensors that are shared ---- */

static bool differ(const struct cr_port *a, const struct cr_port *b)
{
    return !cr_has_shape(a, b->rank, b->shape);
}

void cr_shares_find(struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_shares *shares = &t->shares;
    shares->input = cr_calloc((size_t)e->n_inputs, sizeof *shares->input);
    shares->param = cr_calloc((size_t)e->n_params, sizeof *shares->param);
    shares->hash = cr_calloc((size_t)e->n_inputs, sizeof *shares->hash);
    for (int i = 0; i < e->n_inputs; i++)
        shares->input[i] = differ(cr_engine_own_input(e, i), &e->inputs[i]);
    for (int i = 0; i < e->n_outputs; i++)
        if (t->next_state.to_param[i] != CR_NONE)
            shares->param[t->next_state.to_param[i]] =
                differ(cr_engine_own_output(e, i), &e->outputs[i]);
}

void cr_shares_free(struct crescent_trainer *t)
{
    free(t->shares.input);
    free(t->shares.param);
    free(t->shares.hash);
}

struct cr_port *cr_own_inputs(const struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_port *own = cr_calloc((size_t)e->n_inputs, sizeof *own);
    for (int i = 0; i < e->n_inputs; i++)
        own[i] = *cr_engine_own_input(e, i);
    return own;
}

struct cr_port *cr_own_outputs(const struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_port *own = cr_calloc((size_t)e->n_outputs, sizeof *own);
    for (int i = 0; i < e->n_outputs; i++)
        own[i] = *cr_engine_own_output(e, i);
    return own;
}

bool cr_is_shared_input(const struct crescent_trainer *t, int input)
{
    return t->shares.input[input];
}

/* ---- the share of a rank ---- */

static struct cr_ranks *ranks_of(const struct crescent_trainer *t)
{
    return t->context->ranks;
}

static int64_t begin_of(const struct crescent_trainer *t, const struct cr_port *whole, int rank)
{
    return cr_share_begin(whole->rank, whole->shape, rank, ranks_of(t)->count);
}

/* Returns the first element of the rows that a rank owns, that is, sends to other ranks; see
 * cr_owned_begin. */
static int64_t owned_of(const struct crescent_trainer *t, const struct cr_port *whole, int rank)
{
    return cr_owned_begin(whole->rank, whole->shape, rank, ranks_of(t)->count);
}

static size_t owned_bytes(const struct crescent_trainer *t, const struct cr_port *whole, int rank)
{
    return (size_t)(owned_of(t, whole, rank + 1) - owned_of(t, whole, rank)) * sizeof(float);
}

static size_t share_bytes(const struct crescent_trainer *t, const struct cr_port *whole)
{
    return (size_t)cr_share_elements(whole->rank, whole->shape, ranks_of(t)->count) * sizeof(float);
}

float *cr_share_of_param(const struct crescent_trainer *t, int param)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    return e->tensors[param] +
           (t->shares.param[param] ? begin_of(t, &e->params[param], ranks_of(t)->rank) : 0);
}

void *cr_whole_new(const struct crescent_trainer *t, int input, struct cr_error *error)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    return cr_memory_new(cr_port_elements(port) * (int64_t)sizeof(float), port->name, error);
}

void cr_set_shared(struct crescent_trainer *t, int input, const void *whole)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    const float *own = (const float *)whole + begin_of(t, port, ranks_of(t)->rank);
    memcpy(t->inputs.data[input], own, share_bytes(t, port));
    t->shares.hash[input] = cr_hash_words(0, whole, cr_port_elements(port));
}

/* ---- gathering ---- */

void cr_gather_shares(const struct crescent_trainer *t, const struct cr_port *port, void *whole)
{
    struct cr_ranks *ranks = ranks_of(t);
    size_t *first = cr_calloc((size_t)ranks->count + 1, sizeof *first);
    for (int r = 0; r <= ranks->count; r++)
        first[r] = (size_t)owned_of(t, port, r) * sizeof(float);
    ranks->all_gather(ranks, whole, first);
    free(first);
}

void cr_gather_params(struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    for (int i = 0; i < e->n_params; i++)
        if (t->shares.param[i])
            cr_gather_shares(t, &e->params[i], e->tensors[i]);
}

void cr_gather_input(const struct crescent_trainer *t, int input, void *whole)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    memcpy((float *)whole + begin_of(t, port, ranks_of(t)->rank), t->inputs.data[input],
           share_bytes(t, port));
    cr_gather_shares(t, port, whole);
}

void cr_collect_input(const struct crescent_trainer *t, int input, void *whole)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    struct cr_ranks *ranks = ranks_of(t);
    if (ranks->rank > 0) {
        const float *share = t->inputs.data[input];
        ranks->send(ranks,
                    share + (owned_of(t, port, ranks->rank) - begin_of(t, port, ranks->rank)),
                    owned_bytes(t, port, ranks->rank), 0);
        return;
    }
    memcpy(whole, t->inputs.data[input], share_bytes(t, port));
    for (int r = 1; r < ranks->count; r++)
        ranks->receive(ranks, (float *)whole + owned_of(t, port, r), owned_bytes(t, port, r), r);
}

struct cr_bad_value cr_first_bad(const struct crescent_trainer *t, int input,
                                 struct cr_bad_value own)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    struct cr_ranks *ranks = ranks_of(t);
    struct cr_bad_value *all = cr_calloc((size_t)ranks->count, sizeof *all), first = {.at = -1};
    if (own.at >= 0)
        own.at += begin_of(t, port, ranks->rank);
    ranks->gather_blocks(ranks, all, &own, sizeof own, sizeof own);
    for (int r = ranks->count - 1; r >= 0; r--)
        if (all[r].at >= 0)
            first = all[r];
    free(all);
    return first;
}
