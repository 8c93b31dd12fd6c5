/* accumulate.c - runs a training step over micro-batches and adds their gradients; see
 * accumulate.h. */
#include "accumulate.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/emit/micro_batches.h"
#include "compiler/exec/join_ranks.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/passes/shard/share_states.h"
#include "sum_parts.h"
#include "training.h"

enum { ALIGN = 16 }; /* in floats: each output in a block is aligned to 64 bytes */

/* ---- memory ---- */

/* Appends outputs of the entry micro_batch to the layout of a block.  With `in_parts`, these are
 * the outputs of which each rank adds up some rows, otherwise all others. */
static void add_to_block(struct crescent_trainer *t, bool in_parts)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_accumulation *a = &t->accumulation;
    for (int i = 0; i < e->n_outputs; i++) {
        if (t->next_state.to_sum[i] == CR_NONE || a->in_parts[i] != in_parts)
            continue;
        a->begin[i] = a->floats;
        a->floats += (cr_port_elements(&e->outputs[i]) + ALIGN - 1) / ALIGN * ALIGN;
    }
}

/* Lays out a block: assigns an aligned offset to each output of the entry micro_batch. */
static void lay_out(struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_accumulation *a = &t->accumulation;
    a->begin = cr_calloc((size_t)e->n_outputs, sizeof *a->begin);
    a->in_parts = cr_calloc((size_t)e->n_outputs, sizeof *a->in_parts);
    for (int i = 0; i < e->n_outputs && a->ranks; i++)
        a->in_parts[i] =
            t->next_state.to_sum[i] != CR_NONE &&
            cr_is_worth_sharing(e->outputs[i].rank, e->outputs[i].shape, a->ranks->count);
    add_to_block(t, false);
    a->whole = a->floats;
    add_to_block(t, true);
}

static int entry_of(const struct cr_engine *e, const char *name)
{
    int entry = 0;
    while (strcmp(e->entries[entry].name, name) != 0)
        entry++;
    return entry;
}

int cr_accumulation_new(struct crescent_trainer *t, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_accumulation *a = &t->accumulation;
    a->micro_batch = entry_of(e, CR_MICRO_BATCH);
    a->update = entry_of(e, CR_UPDATE);
    a->inputs = cr_calloc((size_t)e->n_inputs, sizeof *a->inputs);
    a->given = cr_calloc((size_t)e->n_inputs, sizeof *a->given);
    lay_out(t);
    int64_t bytes = a->floats * cr_sums_at_once(t->next_state.micro_batches) * (int64_t)sizeof(float);
    a->sums = cr_memory_new(bytes, "the sums of gradients over micro-batches", error);
    if (a->sums)
        memset(a->sums, 0, (size_t)bytes); /* the padding between outputs is sent to other ranks as
                                              well, so it must be initialised */
    return a->sums ? 0 : -1;
}

void cr_accumulation_free(struct crescent_trainer *t)
{
    struct cr_accumulation *a = &t->accumulation;
    for (int i = 0; a->given && i < cr_trainer_engine(t)->n_inputs; i++)
        free(a->given[i]);
    free(a->given);
    free(a->inputs);
    free(a->begin);
    free(a->in_parts);
    free(a->messages);
    free(a->sums);
}

/* Returns the bytes of the outputs at the begin of a block that one rank adds up as a whole. */
static size_t whole_bytes(const struct crescent_trainer *t)
{
    return (size_t)t->accumulation.whole * sizeof(float);
}

/* ---- data ---- */

int cr_give_micro_batches(struct crescent_trainer *t, int i, const void *tensors,
                          struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    int64_t one = cr_port_elements(&e->inputs[i]) * (int64_t)sizeof(float);
    int n = t->next_state.micro_batches;
    for (int k = 0; k < n && e->id_limits[i]; k++)
        if (cr_check_ids(e, i, e->inputs[i].name, (const void *)((const char *)tensors + k * one), NULL,
                         error))
            return -1;
    void **given = &t->accumulation.given[i];
    if (!*given)
        *given = cr_memory_new(n * one, e->inputs[i].name, error);
    if (!*given)
        return -1;
    memcpy(*given, tensors, (size_t)(n * one));
    return 0;
}

/* Sets the memory that the inputs of micro-batch `number` are read from. */
static int take_data(struct crescent_trainer *t, int number, struct cr_error *error)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_accumulation *a = &t->accumulation;
    int64_t index = t->step * t->next_state.micro_batches + number;
    if (cr_feeds_take(&t->feeds, e, index, t->inputs.data, error))
        return -1;
    for (int i = 0; i < e->n_inputs; i++) {
        int64_t one = cr_port_elements(&e->inputs[i]) * (int64_t)sizeof(float);
        a->inputs[i] = a->given[i] ? (const char *)a->given[i] + number * one : t->inputs.data[i];
    }
    a->number = number;
    if (t->next_state.number != CR_NONE)
        a->inputs[t->next_state.number] = &a->number;
    return 0;
}

/* ---- ranks ---- */

/* Returns the number of the first micro-batch of a rank.  The rank runs the micro-batches from
 * there up to the first one of the next rank. */
static int first_of(const struct crescent_trainer *t, int rank)
{
    const struct cr_ranks *ranks = t->accumulation.ranks;
    int n = t->next_state.micro_batches;
    return ranks ? (int)cr_first_of_rank(n, rank, ranks->count) : rank ? n : 0;
}

/* Returns the rank that runs a micro-batch.  That rank also adds up each subtree of gradients whose
 * first leaf is this micro-batch. */
static int rank_of(const struct crescent_trainer *t, int micro_batch)
{
    int rank = 0;
    while (first_of(t, rank + 1) <= micro_batch)
        rank++;
    return rank;
}

static int own_rank(const struct crescent_trainer *t)
{
    return t->accumulation.ranks ? t->accumulation.ranks->rank : 0;
}

/* True if this rank runs any of the n micro-batches from `first` on. */
static bool has_any(const struct crescent_trainer *t, int first, int n)
{
    int rank = own_rank(t);
    return first < first_of(t, rank + 1) && first + n > first_of(t, rank);
}

int cr_join_ranks(struct crescent_trainer *t, struct cr_error *error)
{
    struct cr_ranks *ranks = t->context->ranks;
    int n = t->next_state.micro_batches ? t->next_state.micro_batches : 1;
    if (!ranks || ranks->count == 1)
        return 0;
    if (ranks->count > n)
        return cr_fail(error,
                       "%.400s: found %d ranks for a step of %d micro-batch%s, expected at least one "
                       "for each rank (optim.micro_batches)",
                       cr_trainer_engine(t)->path, ranks->count, n, n == 1 ? "" : "es");
    t->accumulation.ranks = ranks;
    return 0;
}

/* Returns a hash of the state in which a training starts: the step, all parameters, the optimiser's
 * state, the data in files. */
static uint64_t hash_start(const struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    uint64_t hash = cr_hash_word((uint64_t)t->step, t->accumulation.data);
    for (int i = 0; i < e->n_params; i++)
        hash = cr_hash_words(hash, e->tensors[i], cr_port_elements(&e->params[i]));
    for (int i = 0; i < e->n_inputs; i++)
        if (t->next_state.is_state[i])
            hash = cr_is_shared_input(t, i)
                       ? cr_hash_word(hash, t->shares.hash[i])
                       : cr_hash_words(hash, t->inputs.data[i], cr_port_elements(&e->inputs[i]));
    return hash;
}

int cr_compare_ranks(struct crescent_trainer *t, struct cr_error *error)
{
    if (!t->accumulation.ranks || t->accumulation.compared)
        return 0;
    if (cr_ranks_check_memory(t->accumulation.ranks, cr_trainer_engine(t)->path, error))
        return -1;
    int other = cr_ranks_compare(t->accumulation.ranks, hash_start(t));
    t->accumulation.compared = other < 0;
    if (other < 0)
        return 0;
    return cr_fail(error,
                   "%.400s: parameters, state or data of rank %d differ from those of rank 0, expected "
                   "the same files for all ranks",
                   cr_trainer_engine(t)->path, other);
}

/* ---- the tree of micro-batches ---- */

/* Runs a micro-batch; its outputs fill the block of `level`. */
static int run_micro_batch(struct crescent_trainer *t, int number, int level, struct cr_error *error)
{
    struct cr_engine *e = cr_trainer_engine(t);
    const struct cr_accumulation *a = &t->accumulation;
    if (take_data(t, number, error))
        return -1;
    for (int i = 0; i < e->n_outputs; i++)
        t->results[i] = t->next_state.to_sum[i] == CR_NONE
                            ? NULL
                            : cr_block_at(&t->accumulation, level) + a->begin[i];
    return cr_engine_run_entry(e, a->micro_batch, a->inputs, t->results, error);
}

/* Adds the outputs in the block of level + 1 to those in the block of `level`, except outputs that
 * ranks add in parts.  The padding between outputs is skipped. */
static void add_next_block(const struct crescent_trainer *t, int level)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    const struct cr_accumulation *a = &t->accumulation;
    for (int i = 0; i < e->n_outputs; i++) {
        if (t->next_state.to_sum[i] == CR_NONE || a->in_parts[i])
            continue;
        float *sum = cr_block_at(&t->accumulation, level) + a->begin[i];
        const float *more = sum + a->floats;
        for (int64_t k = 0, n = cr_port_elements(&e->outputs[i]); k < n; k++)
            sum[k] += more[k];
    }
}

/* Adds the right subtree's sum to the left subtree's sum.  Rank `from` has the former in its block
 * of level + 1, rank `to` has the latter in its block of `level` and gets the result there. */
static void join_parts(const struct crescent_trainer *t, int to, int from, int level)
{
    struct cr_ranks *ranks = t->accumulation.ranks;
    int own = own_rank(t);
    if (from != to && own == to)
        ranks->receive(ranks, cr_block_at(&t->accumulation, level + 1), whole_bytes(t), from);
    if (from != to && own == from)
        ranks->send(ranks, cr_block_at(&t->accumulation, level + 1), whole_bytes(t), to);
    if (own == to)
        add_next_block(t, level);
}

/* Computes the sum of n micro-batches from `first` on, in the block of `level`.  The left subtree's
 * sum is computed in the same block, the right subtree's sum in the blocks of higher levels.  A
 * rank takes part in a subtree if it runs one of its micro-batches.  The rank of the first
 * micro-batch gets the sum; of outputs that are added in parts, each rank gets some rows. */
static int add_tree(struct crescent_trainer *t, int first, int n, int level, struct cr_error *error)
{
    if (!has_any(t, first, n))
        return 0;
    if (n == 1)
        return run_micro_batch(t, first, level, error);
    int left = cr_left_leaves(n);
    if (add_tree(t, first, left, level, error) ||
        add_tree(t, first + left, n - left, level + 1, error))
        return -1;
    struct cr_rank_range a = {rank_of(t, first), rank_of(t, first + left - 1)};
    struct cr_rank_range b = {rank_of(t, first + left), rank_of(t, first + n - 1)};
    join_parts(t, a.first, b.first, level);
    if (t->accumulation.ranks)
        cr_join_sum_parts(t, a, b, level);
    return 0;
}

int cr_run_micro_batches(struct crescent_trainer *t, struct cr_error *error)
{
    struct cr_ranks *ranks = t->accumulation.ranks;
    if (add_tree(t, 0, t->next_state.micro_batches, 0, error))
        return -1;
    if (ranks) {
        ranks->broadcast(ranks, cr_block_at(&t->accumulation, 0), whole_bytes(t), rank_of(t, 0));
        cr_complete_sums(t);
    }
    return 0;
}

/* ---- the sums as inputs of the entry update ---- */

/* Returns the memory of the whole sum that an input of the entry update reads.  This rank may have
 * filled only its share of it. */
static float *sum_at(const struct crescent_trainer *t, int input)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    int output = 0;
    while (output < e->n_outputs && t->next_state.to_sum[output] != input)
        output++;
    CR_CHECK(output < e->n_outputs);
    return cr_block_at(&t->accumulation, 0) + t->accumulation.begin[output];
}

const float *cr_sum_of(const struct crescent_trainer *t, int input)
{
    float *sum = sum_at(t, input);
    if (cr_is_shared_input(t, input))
        cr_gather_shares(t, &cr_trainer_engine(t)->inputs[input], sum);
    return sum;
}

/* Returns the part of a sum that this rank's update reads: its share, or the whole sum if ranks do
 * not share it. */
static const float *own_sum(const struct crescent_trainer *t, int input)
{
    const struct cr_port *port = &cr_trainer_engine(t)->inputs[input];
    const struct cr_ranks *ranks = t->accumulation.ranks;
    return sum_at(t, input) +
           (cr_is_shared_input(t, input)
                ? cr_share_begin(port->rank, port->shape, ranks->rank, ranks->count)
                : 0);
}

const void *const *cr_update_inputs(struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    struct cr_accumulation *a = &t->accumulation;
    for (int i = 0; i < e->n_inputs; i++)
        a->inputs[i] = t->next_state.is_sum[i] ? own_sum(t, i) : t->inputs.data[i];
    return a->inputs;
}
