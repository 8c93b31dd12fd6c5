/* rank_group.c - the ranks of a context; see crescent.h. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/exec/join_ranks.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/print_graph.h"
#include "compare_files.h"
#include "handles.h"

int crescent_join(crescent_context *context)
{
    CR_REQUIRE_CONTEXT(context, true);
    CR_ENTER(context);
    if (context->ranks)
        return CRESCENT_OK;
    return cr_done(&guard, cr_ranks_open(&context->ranks, guard.error));
}

/* Returns a hash of what makes a rank's kernels differ besides the graph: formats of parameters,
 * and options of the configuration. */
static uint64_t hash_settings(const struct cr_graph *g, const crescent_config *c)
{
    uint64_t hash = cr_hash_word((uint64_t)c->max_arena, c->backend == CRESCENT_REF);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_param)
            hash = cr_hash_word(hash, (uint64_t)g->nodes[id].format * 256 + (uint64_t)g->nodes[id].arithmetic);
    for (int i = 0; i < c->n_skip; i++)
        for (const char *letter = c->skip[i]; *letter; letter++)
            hash = cr_hash_word(hash, (unsigned char)*letter);
    return hash;
}

/* Compares the printed graphs, in which addresses and the order in memory do not occur. */
int cr_compare_graphs(const crescent_context *context, const struct cr_graph *graph, const crescent_config *config,
                      const char *path, struct cr_error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (!context->ranks || context->ranks->count == 1)
        return 0;
    uint64_t hash = hash_settings(graph, config);
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return cr_fail(error, "%.400s: no memory to compare the model with that of other ranks", path);
    cr_print_graph(out, graph);
    fclose(out);
    for (size_t i = 0; i < length; i++)
        hash = cr_hash_word(hash, (unsigned char)text[i]);
    free(text);
    int other = cr_ranks_compare(context->ranks, hash);
    if (other < 0)
        return 0;
    return cr_fail(error, "%.400s: the model of rank %d differs from that of rank 0, expected the same files and "
                   "options for all ranks", path, other);
}

int crescent_ranks_share(const crescent_context *context, void *data, size_t bytes)
{
    if (!context || !data)
        return CRESCENT_FAILED;
    if (context->ranks)
        context->ranks->broadcast(context->ranks, data, bytes, 0);
    return CRESCENT_OK;
}

int crescent_ranks_any(const crescent_context *context, int flag)
{
    return context && context->ranks ? cr_ranks_any(context->ranks, flag != 0) : flag != 0;
}

int crescent_ranks_compare(const crescent_context *context, uint64_t word)
{
    return context && context->ranks ? cr_ranks_compare(context->ranks, word) : -1;
}

int crescent_ranks_compare_files(crescent_context *context, const char *path)
{
    CR_REQUIRE_CONTEXT(context, path);
    CR_ENTER(context);
    return cr_done(&guard, cr_compare_files(context, path, "contents", guard.error));
}

crescent_ranks crescent_ranks_of(const crescent_context *context)
{
    const struct cr_ranks *ranks = context ? context->ranks : NULL;
    return ranks ? (crescent_ranks){ranks->rank, ranks->count, ranks->sent, ranks->differ} : (crescent_ranks){0, 1, 0, 0};
}

void crescent_ranks_wait(const crescent_context *context)
{
    cr_ranks_wait_to_fail(context ? context->ranks : NULL);
}

void crescent_ranks_abort(const crescent_context *context, int status)
{
    if (context && context->ranks)
        context->ranks->abort(context->ranks, status);
    else
        cr_ranks_end_launched(status);
}
