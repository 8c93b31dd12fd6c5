/* micro_batches.c - checks the entries of a step over micro-batches; see micro_batches.h. */
#include "micro_batches.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

bool cr_has_micro_batches(const struct cr_graph *g)
{
    return g->n_entries == 2 && cr_find_entry(g, CR_MICRO_BATCH) != CR_NONE &&
           cr_find_entry(g, CR_UPDATE) != CR_NONE;
}

int cr_sums_at_once(int n)
{
    int sums = 1;
    while (n >>= 1)
        sums++;
    return sums;
}

int cr_left_leaves(int n)
{
    int leaves = 1;
    while (2 * leaves < n)
        leaves *= 2;
    return leaves;
}

/* Returns the node of the output called `name` of an entry, or CR_NONE. */
static cr_id find_output(const struct cr_graph *g, int entry, const char *name)
{
    for (int i = 0; i < cr_n_results(g); i++)
        if (g->outputs[i].entry == entry && strcmp(g->outputs[i].name, name) == 0)
            return g->outputs[i].id;
    return CR_NONE;
}

/* Reads the number of micro-batches from a constant that is an output of the entry `update`. */
static int read_number(const struct cr_graph *g, int update, const char *path, int *n,
                       struct cr_error *error)
{
    cr_id id = find_output(g, update, "micro_batches");
    const struct cr_node *node = id == CR_NONE ? NULL : &g->nodes[id];
    if (!node || node->op != CR_OP_const || node->dtype != CR_I32 || node->rank > 0 ||
        !(node->value >= 1 && node->value <= 65536))
        return cr_fail(error,
                       "%.400s: entry " CR_UPDATE " has no constant output micro_batches, expected "
                       "an i32 from 1 to 65536 (optim.micro_batches gives it)",
                       path);
    *n = (int)node->value;
    return 0;
}

/* Fails if an entry reads an input that does not exist when it runs: a sum in micro_batch, or the
 * data of a micro-batch in update. */
static int check_input(const struct cr_graph *g, const struct cr_node *node, unsigned needed,
                       const char *path, struct cr_error *error)
{
    int micro = cr_find_entry(g, CR_MICRO_BATCH), update = cr_find_entry(g, CR_UPDATE);
    const char *summed = cr_after_prefix(node->name, CR_SUM);
    bool is_sum = summed && find_output(g, micro, summed) != CR_NONE;
    if (is_sum && (needed >> micro & 1))
        return cr_fail(error,
                       "%.400s: a micro-batch depends on the mean of %.200s over all micro-batches, "
                       "expected that only the update depends on it",
                       path, summed);
    if (!is_sum && (needed >> update & 1) && find_output(g, update, node->name) == CR_NONE)
        return cr_fail(error,
                       "%.400s: entry " CR_UPDATE " reads input %.200s, which differs from "
                       "micro-batch to micro-batch, expected micro.mean of a value computed from it",
                       path, node->name);
    return 0;
}

/* Bits: which inputs a value depends on.  BY_MICRO_BATCH: inputs that differ between
 * micro-batches. BY_STEP: state, which differs between steps. */
enum { BY_MICRO_BATCH = 1, BY_STEP = 2 };

static unsigned char source_of(const struct cr_graph *g, const struct cr_node *node)
{
    bool is_state = find_output(g, cr_find_entry(g, CR_UPDATE), node->name) != CR_NONE;
    return is_state ? BY_STEP : BY_MICRO_BATCH;
}

/* Fails if a micro-batch draws random numbers by a seed that changes only from step to step: then
 * all micro-batches of a step would draw the same numbers. */
static int check_random(const struct cr_graph *g, const unsigned *needed, const char *path,
                        struct cr_error *error)
{
    int micro = cr_find_entry(g, CR_MICRO_BATCH), status = 0;
    unsigned char *by = cr_calloc((size_t)g->n_nodes, 1);
    for (cr_id id = 0; id < g->n_nodes && !status; id++) {
        const struct cr_node *node = &g->nodes[id];
        by[id] = node->op == CR_OP_input ? source_of(g, node) : 0;
        for (int i = 0; i < node->n_in; i++)
            by[id] |= by[cr_in(g, id, i)];
        if (cr_kind_of(g, id) == CR_KIND_RANDOM && (needed[id] >> micro & 1) && by[id] == BY_STEP)
            status = cr_fail(error,
                             "%.400s:%d: found random numbers that depend on the number of the step, which all micro-batches share, expected the number of the micro-batch (micro.number)",
                             *node->where.file ? node->where.file : path, node->where.line);
    }
    free(by);
    return status;
}

int cr_find_micro_batches(const struct cr_graph *g, const char *path, int *n,
                          struct cr_error *error)
{
    *n = 0;
    if (!cr_has_micro_batches(g))
        return 0;
    if (g->n_replaced)
        return cr_fail(error,
                       "%.400s: state %.200s in a step over micro-batches, expected inputs with "
                       "outputs of their names",
                       path, g->outputs[cr_n_results(g)].name);
    unsigned *needed = cr_find_needed(g);
    int status = read_number(g, cr_find_entry(g, CR_UPDATE), path, n, error);
    for (cr_id id = 0; id < g->n_nodes && !status; id++)
        if (g->nodes[id].op == CR_OP_input)
            status = check_input(g, &g->nodes[id], needed[id], path, error);
    if (!status)
        status = check_random(g, needed, path, error);
    free(needed);
    return status;
}
