/* sum_parts.c - sends parts of sums from rank to rank; see sum_parts.h. */
#include "sum_parts.h"

#include "compiler/ir/mem.h"
#include "compiler/passes/shard/share_states.h"
#include "training.h"

/* Returns the rank that adds up, in a node of the tree, the rows that rank `owner` will have after
 * the last addition. It is the owner if it runs micro-batches of the node.  Otherwise rows are
 * assigned to the node's ranks round-robin.  If both subtrees have the same number of ranks, a
 * power of two, each row is sent once. */
static int holder(struct cr_rank_range ranks, int owner)
{
    bool is_own = owner >= ranks.first && owner <= ranks.last;
    return is_own ? owner : ranks.first + owner % (ranks.last - ranks.first + 1);
}

/* The elements of the rows that a rank owns in an output of the entry micro_batch. */
struct rows {
    int64_t begin, end;
};

static struct rows owned_rows(const struct crescent_trainer *t, int output, int rank)
{
    const struct cr_port *port = &cr_trainer_engine(t)->outputs[output];
    int ranks = t->accumulation.ranks->count;
    return (struct rows){cr_owned_begin(port->rank, port->shape, rank, ranks),
                         cr_owned_begin(port->rank, port->shape, rank + 1, ranks)};
}

/* Adds to the list the message that moves rows of an output between two ranks, if this rank sends
 * or receives it. */
static void pass_rows(struct crescent_trainer *t, int level, int output, struct rows rows, int from,
                      int to)
{
    struct cr_accumulation *a = &t->accumulation;
    int own = a->ranks->rank;
    if (from == to || rows.begin >= rows.end || (own != from && own != to))
        return;
    float *data = cr_block_at(&t->accumulation, level) + a->begin[output] + rows.begin;
    *CR_PUSH(a->messages, a->n_messages, a->cap_messages) =
        (struct cr_message){.data = data,
                            .bytes = (size_t)(rows.end - rows.begin) * sizeof(float),
                            .other = own == from ? to : from,
                            .is_received = own == to};
}

/* Sends and receives the listed messages, and empties the list. */
static void exchange(struct crescent_trainer *t)
{
    struct cr_accumulation *a = &t->accumulation;
    a->ranks->exchange(a->ranks, a->messages, a->n_messages);
    a->n_messages = 0;
}

static void add_rows(const struct crescent_trainer *t, int level, int output, struct rows rows)
{
    float *sum = cr_block_at(&t->accumulation, level) + t->accumulation.begin[output];
    const float *more = sum + t->accumulation.floats;
    for (int64_t i = rows.begin; i < rows.end; i++)
        sum[i] += more[i];
}

void cr_join_sum_parts(struct crescent_trainer *t, struct cr_rank_range left,
                       struct cr_rank_range right, int level)
{
    const struct cr_accumulation *a = &t->accumulation;
    const struct cr_rank_range both = {left.first, right.last};
    for (int i = 0; i < cr_trainer_engine(t)->n_outputs; i++)
        for (int owner = 0; a->in_parts[i] && owner < a->ranks->count; owner++) {
            struct rows rows = owned_rows(t, i, owner);
            pass_rows(t, level, i, rows, holder(left, owner), holder(both, owner));
            pass_rows(t, level + 1, i, rows, holder(right, owner), holder(both, owner));
        }
    exchange(t);
    for (int i = 0; i < cr_trainer_engine(t)->n_outputs; i++)
        for (int owner = 0; a->in_parts[i] && owner < a->ranks->count; owner++)
            if (holder(both, owner) == a->ranks->rank)
                add_rows(t, level, i, owned_rows(t, i, owner));
}

/* Lists the messages that complete each rank's share of an output by the rows that other ranks
 * own. */
static void complete_shares(struct crescent_trainer *t, int output)
{
    const struct cr_port *port = &cr_trainer_engine(t)->outputs[output];
    int ranks = t->accumulation.ranks->count;
    for (int to = 0; to < ranks; to++) {
        struct rows missing = {cr_share_begin(port->rank, port->shape, to, ranks),
                               owned_rows(t, output, to).begin};
        for (int from = 0; from < to; from++) {
            struct rows rows = owned_rows(t, output, from);
            rows.begin = rows.begin > missing.begin ? rows.begin : missing.begin;
            rows.end = rows.end < missing.end ? rows.end : missing.end;
            pass_rows(t, 0, output, rows, from, to);
        }
    }
}

void cr_complete_sums(struct crescent_trainer *t)
{
    const struct cr_engine *e = cr_trainer_engine(t);
    const struct cr_accumulation *a = &t->accumulation;
    for (int i = 0; i < e->n_outputs; i++)
        if (a->in_parts[i] && cr_is_shared_input(t, t->next_state.to_sum[i]))
            complete_shares(t, i);
    exchange(t);
    for (int i = 0; i < e->n_outputs; i++)
        if (a->in_parts[i] && !cr_is_shared_input(t, t->next_state.to_sum[i]))
            cr_gather_shares(t, &e->outputs[i], cr_block_at(&t->accumulation, 0) + a->begin[i]);
}
