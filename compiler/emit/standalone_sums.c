/* standalone_sums.c - prints the sums over micro-batches of a standalone training step; see
 * standalone_sums.h. */
#include "standalone_sums.h"

#include <string.h>

#include "micro_batches.h"
#include "standalone_shares.h"

enum { ALIGN = 16 }; /* outputs in a sum are aligned to 16 floats, 64 bytes */

bool cr_is_step_data(const struct cr_standalone *w, int input)
{
    const struct cr_next_state *next = w->next_state;
    return !next->is_state[input] && !next->is_sum[input] && input != next->number;
}

/* Returns the number of floats that the first n outputs of micro_batch take in a sum.  Counts
 * only outputs that ranks add up in parts if `in_parts`, else only the other outputs. */
static int64_t floats_of(const struct cr_standalone *w, int n, bool in_parts)
{
    int64_t floats = 0;
    for (int i = 0; i < n; i++) {
        const struct cr_port *port = &w->p->outputs[i];
        if (w->next_state->to_sum[i] != CR_NONE && cr_is_sum_in_parts(w, i) == in_parts)
            floats += (cr_elements(port->rank, port->shape) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return floats;
}

/* Returns the number of floats of the outputs that are not added up in parts, which come first in
 * a sum. */
static int64_t whole_floats(const struct cr_standalone *w)
{
    return floats_of(w, w->p->n_outputs, false);
}

/* Returns the index in a sum of the first element of an output of micro_batch. */
static int64_t begin_in_sum(const struct cr_standalone *w, int output)
{
    bool in_parts = cr_is_sum_in_parts(w, output);
    return (in_parts ? whole_floats(w) : 0) + floats_of(w, output, in_parts);
}

static int64_t sum_floats(const struct cr_standalone *w)
{
    return whole_floats(w) + floats_of(w, w->p->n_outputs, true);
}

int64_t cr_sums_floats(const struct cr_standalone *w)
{
    return w->p->micro_batches ? sum_floats(w) * cr_sums_at_once(w->p->micro_batches) : 0;
}

/* Prints the struct micro_batches, which the functions share. */
static void put_struct(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put(t,
           "\n/* ---- micro-batches ---- */\n\n"
           "#ifdef %s_MPI\n#include <mpi.h>\n#endif\n\n"
           "#define %s_SUM_FLOATS %lldL /* floats of all outputs of a micro-batch */\n",
           w->upper, w->upper, (long long)sum_floats(w));
    if (p->ranks)
        cr_put(t, "#define %s_WHOLE_FLOATS %lldL /* those that ranks do not add in parts; they come first */\n", w->upper,
               (long long)whole_floats(w));
    cr_put(t,
           "\n/* The micro-batches of a step.  While it runs there are several sums, one behind the other: each level of a\n"
           " * recursion fills one. */\n"
           "struct micro_batches {\n"
           "    const struct cr_runtime *rt;\n    struct cr_pool *threads;\n"
           "    float *weights, *sums, *arena;\n"
           "    const void **inputs;\n    void **outputs;\n");
    for (int i = 0; i < p->n_inputs; i++)
        if (cr_is_step_data(w, i))
            cr_put(t, "    const %s *in_%s;\n", cr_c_type(p->inputs[i].dtype), p->inputs[i].identifier);
    cr_put(t,
           "    int number, status; /* number: index of the current micro-batch */\n"
           "    int rank, ranks;    /* the number of this process, and the number of processes */\n"
           "};\n");
}

/* Prints the function run_micro_batch. */
static void put_run(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    const struct cr_next_state *next = w->next_state;
    cr_put(t,
           "\n/* Runs a micro-batch; stores its outputs as the sum of a level. */\n"
           "static void run_micro_batch(struct micro_batches *m, int number, int level)\n{\n"
           "    float *sum = m->sums + level * %s_SUM_FLOATS;\n"
           "    m->number = number;\n", w->upper);
    for (int i = 0; i < p->n_inputs; i++)
        if (i == next->number)
            cr_put(t, "    m->inputs[%d] = &m->number;\n", i);
        else if (cr_is_step_data(w, i))
            cr_put(t, "    m->inputs[%d] = m->in_%s + number * %lldL;\n", i, p->inputs[i].identifier,
                   (long long)cr_elements(p->inputs[i].rank, p->inputs[i].shape));
    for (int i = 0; i < p->n_outputs; i++)
        if (next->to_sum[i] != CR_NONE)
            cr_put(t, "    m->outputs[%d] = sum + %lldL;\n", i, (long long)begin_in_sum(w, i));
    if (p->ranks)
        cr_put(t, "    struct cr_ranks ranks = {m->rank};\n");
    cr_put(t,
           "    m->status |= %s_" CR_MICRO_BATCH "_execute(m->rt, m->threads, m->weights, m->inputs,\n"
           "        m->outputs, m->arena%s);\n}\n",
           p->name, p->ranks ? ", &ranks" : "");
}

/* The text of functions that are the same for all models except for macros: $ stands for the
 * model's name in capitals, @ for the number of floats that ranks exchange as a whole.  Lines
 * that begin with ^ are only for ranks that add up outputs in parts. */
static const char ranks_text[] =
    "\n/* Rank r runs the micro-batches from first_of(r) to first_of(r + 1) - 1. */\n"
    "static int first_of(const struct micro_batches *m, int rank)\n{\n"
    "    return (int)((long long)$_MICRO_BATCHES * rank / m->ranks);\n}\n\n"
    "/* Returns the rank that runs a micro-batch. */\n"
    "static int rank_of(const struct micro_batches *m, int number)\n{\n"
    "    int rank = 0;\n"
    "    while (first_of(m, rank + 1) <= number)\n        rank++;\n"
    "    return rank;\n}\n";

static const char exchange_text[] =
    "\n#ifdef $_MPI\n"
    "/* Moves a sum from one rank to another; with to = -1, to all others. */\n"
    "static void exchange(const struct micro_batches *m, float *sum, int to, int from)\n{\n"
    "    const long piece = 1L << 28; /* MPI counts in int */\n"
    "    long at;\n"
    "    for (at = 0; at < @; at += piece) {\n"
    "        int n = (int)(@ - at < piece ? @ - at : piece);\n"
    "        if (to < 0)\n"
    "            MPI_Bcast(sum + at, n, MPI_FLOAT, from, MPI_COMM_WORLD);\n"
    "        else if (m->rank == from)\n"
    "            MPI_Send(sum + at, n, MPI_FLOAT, to, 0, MPI_COMM_WORLD);\n"
    "        else if (m->rank == to)\n"
    "            MPI_Recv(sum + at, n, MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
    "    }\n}\n"
    "#endif\n";

static const char tree_text[] =
    "\n/* Adds the sum of the next level, which rank `from` has, to the sum of this level, on rank `to`. */\n"
    "static void join_sums(const struct micro_batches *m, int level, int to, int from)\n{\n"
    "    float *sum = m->sums + level * $_SUM_FLOATS, *more = sum + $_SUM_FLOATS;\n"
    "    long i;\n"
    "#ifdef $_MPI\n"
    "    if (to != from)\n        exchange(m, more, to, from);\n"
    "#else\n"
    "    (void)from;\n"
    "#endif\n"
    "    for (i = 0; i < @ && m->rank == to; i++)\n        sum[i] += more[i];\n}\n\n"
    "/* Leaves the sum of n micro-batches in the sum of a level, on the rank that has the first of them.  A\n"
    " * binary tree, which follows from n alone, adds them: the left part here, the right part in the next\n"
    " * level. */\n"
    "static void add_tree(struct micro_batches *m, int first, int n, int level)\n{\n"
    "    int left = 1;\n"
    "    if (first >= first_of(m, m->rank + 1) || first + n <= first_of(m, m->rank))\n"
    "        return; /* other ranks have them */\n"
    "    if (n == 1) {\n        run_micro_batch(m, first, level);\n        return;\n    }\n"
    "    while (2 * left < n)\n        left *= 2;\n"
    "    add_tree(m, first, left, level);\n"
    "    add_tree(m, first + left, n - left, level + 1);\n"
    "    join_sums(m, level, rank_of(m, first), rank_of(m, first + left));\n"
    "^    join_parts(m, level, rank_of(m, first), rank_of(m, first + left - 1), rank_of(m, first + left),\n"
    "^        rank_of(m, first + n - 1));\n}\n\n"
    "/* Leaves the sum of all micro-batches in the first of `sums`, on every rank. */\n"
    "static void add_micro_batches(struct micro_batches *m)\n{\n"
    "    m->rank = 0;\n    m->ranks = 1;\n"
    "#ifdef $_MPI\n"
    "    MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);\n"
    "    MPI_Comm_size(MPI_COMM_WORLD, &m->ranks);\n"
    "#endif\n"
    "    add_tree(m, 0, $_MICRO_BATCHES, 0);\n"
    "#ifdef $_MPI\n"
    "    if (m->ranks > 1)\n        exchange(m, m->sums, -1, rank_of(m, 0));\n"
    "^    complete_sums(m);\n"
    "#endif\n}\n";

/* Appends a text with $, @ and ^ replaced as described at ranks_text. */
static void put_with_name(struct cr_text *t, const struct cr_standalone *w, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '$')
            cr_put(t, "%s", w->upper);
        else if (*c == '@')
            cr_put(t, "%s_%s_FLOATS", w->upper, w->p->ranks ? "WHOLE" : "SUM");
        else if (*c == '^' && !w->p->ranks)
            c = strchr(c, '\n');
        else if (*c != '^')
            cr_put(t, "%c", *c);
}

/* Prints the table of the sums that ranks add up in parts, and the functions that add them up. */
static void put_parts(struct cr_text *t, const struct cr_standalone *w)
{
    cr_put(t, "\n/* The outputs that ranks add up in parts, in a sum. */\nstatic const struct shared shared_sums[] = {\n");
    for (int i = 0; i < w->p->n_outputs; i++)
        if (cr_is_sum_in_parts(w, i))
            cr_put_shared_row(t, w, cr_whole_output(w->p, i), begin_in_sum(w, i),
                              !cr_is_input_share(w->p, w->next_state->to_sum[i]));
    cr_put(t, "    {0, 0, 0, 0},\n};\n\n");
    cr_put_named_template(t, w, "compiler/emit/standalone_step_ranks.inc");
}

void cr_put_sums_source(struct cr_text *t, const struct cr_standalone *w)
{
    if (!w->p->micro_batches)
        return;
    put_struct(t, w);
    put_run(t, w);
    put_with_name(t, w, ranks_text);
    put_with_name(t, w, exchange_text);
    if (w->p->ranks)
        put_parts(t, w);
    put_with_name(t, w, tree_text);
}

void cr_put_sums_call(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    int64_t weights = p->weights_bytes / (int64_t)sizeof(float);
    cr_put(t,
           "    micro.rt = packing.rt;\n    micro.threads = threads;\n"
           "    micro.weights = packing.weights;\n"
           "    micro.sums = packing.weights + %lldL;\n"
           "    micro.arena = micro.sums + %lldL;\n"
           "    micro.inputs = inputs;\n    micro.outputs = outputs;\n    micro.status = 0;\n",
           (long long)weights, (long long)cr_sums_floats(w));
    for (int i = 0; i < p->n_inputs; i++)
        if (cr_is_step_data(w, i))
            cr_put(t, "    micro.in_%s = in_%s;\n", p->inputs[i].identifier, p->inputs[i].identifier);
    cr_put(t, "    add_micro_batches(&micro);\n");
    for (int i = 0; i < p->n_outputs; i++)
        if (w->next_state->to_sum[i] != CR_NONE) {
            cr_put(t, "    inputs[%d] = micro.sums + %lldL", w->next_state->to_sum[i],
                   (long long)begin_in_sum(w, i));
            if (cr_is_input_share(p, w->next_state->to_sum[i]))
                cr_put_share_begin(t, w, cr_whole_output(p, i));
            cr_put(t, ";\n");
        }
    cr_put(t,
           "    status = micro.status;\n"
           "    if (!status)\n"
           "        status = %s_" CR_UPDATE "_execute(packing.rt, threads, packing.weights, inputs,\n"
           "            outputs, micro.arena%s);\n",
           p->name, p->ranks ? ", &ranks" : "");
}
