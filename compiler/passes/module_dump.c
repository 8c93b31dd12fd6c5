/*
 * module_dump.c - dumps a module: the graph as a Lua script that can be read back, then kernels,
 * loops, memory and program as Lua comments.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/print_graph.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/plan/stored_nodes.h"
#include "passes.h"

/* Prints a value as "%3 = add %1 %2" or "%0 = load v[7]".  Leaves out the row's index of a
 * gather. */
static void print_value(FILE *out, const struct cr_kernel *k, const struct cr_tiles *tiles, int i)
{
    const struct cr_value *v = &tiles->values[i];
    static const char *const sources[] = {"load",  "gather",  "index", "random",
                                          "const", "product", "scores"};
    fprintf(out, "--       %%%d = ", i);
    if (v->source == CR_MAP || v->source == CR_REDUCE)
        fputs(cr_ops[v->op].name, out);
    else
        fputs(sources[v->source], out);
    for (int a = 0; a < cr_value_args(v) && v->source != CR_GATHER; a++)
        fprintf(out, " %%%d", v->arg[a]);
    if (v->source == CR_CONST)
        fprintf(out, " %g", v->number);
    if (v->source == CR_LOAD || v->source == CR_GATHER)
        fprintf(out, " v[%d]", (int)k->refs[v->ref]);
    fputs(v->by_row ? "    (one a row)\n" : "\n", out);
}

static void print_tiles(FILE *out, const struct cr_kernel *k, const char *title,
                        const struct cr_tiles *tiles)
{
    if (tiles->n)
        fprintf(out, "--     %s\n", title);
    for (int i = 0; i < tiles->n; i++)
        print_value(out, k, tiles, i);
}

/* Prints the extents of the loops, outermost first; a missing atom has extent 1. */
static void print_atoms(FILE *out, const struct cr_kernel *k, const struct cr_remarks *remarks)
{
    fputs("--     loops", out);
    for (int i = 0; i < k->n_outer; i++)
        fprintf(out, " %lld", (long long)k->atoms.extent[k->outer[i]]);
    fprintf(out, ", rows %lld, columns %lld", k->row < 0 ? 1LL : (long long)k->atoms.extent[k->row],
            k->col < 0 ? 1LL : (long long)k->atoms.extent[k->col]);
    if (remarks->summands)
        fprintf(out, ", summed over %lld", (long long)remarks->summands);
    if (remarks->keys)
        fprintf(out, ", keys %lld", (long long)remarks->keys);
    fprintf(out, "; %.0f flop\n", k->flops);
}

/* Prints a tile program under its title.  Prints nothing for a program of scores that only returns
 * the product. */
static void print_program(FILE *out, const struct cr_kernel *k, const struct cr_remarks *remarks,
                          int p)
{
    const struct cr_program_part *part = &cr_parts_of(k)->programs[p];
    const struct cr_tiles *tiles = cr_program_of(k, p);
    const char *title = cr_title_of(k, p);
    if (!title)
        title = part->label ? part->label : cr_kernel_kinds[k->kind].name;
    if (!part->scaled || tiles->n > 1)
        print_tiles(out, k, title, tiles);
    if (part->scaled && tiles->n && remarks->factor != 1)
        fprintf(out, "--     %s times %g\n", part->name, remarks->factor);
}

/* Prints the states that a kernel stores over.  If it stores several nodes, prints the node before
 * each state. */
static void print_states(FILE *out, const struct cr_module *m, const struct cr_kernel *k)
{
    for (int s = 0; s < k->n_stored; s++) {
        cr_id state = cr_state_of(m, k->stored[s]);
        if (state == CR_NONE)
            continue;
        if (k->n_stored > 1)
            fprintf(out, ", v[%d]", (int)k->stored[s]);
        fprintf(out, "%s in place of v[%d]", k->n_stored > 1 ? "" : ",", (int)state);
    }
}

/* Prints a kernel, its loops, the bounds of its mask and its tile programs.  Also prints the buffer
 * if that is not the root, as for a part of a concat. */
static void print_kernel(FILE *out, const struct cr_module *m, int i)
{
    const struct cr_kernel *k = &m->kernels[i];
    const struct cr_where *where = &m->graph->nodes[k->root].where;
    const struct cr_remarks remarks = cr_remarks_of(k);
    const struct cr_packed_weights *weights = cr_weights_of(k);
    char bound[128];
    fprintf(out, "--   kernel %d: %s v[%d]", i, cr_kernel_kinds[k->kind].name, (int)k->root);
    if (k->buffer != k->root)
        fprintf(out, " into v[%d]", (int)k->buffer);
    for (int s = 1; s < k->n_stored; s++)
        fprintf(out, " and v[%d]", (int)k->stored[s]);
    if (remarks.rows_at && remarks.rows_at->ref >= 0)
        fprintf(out, ", rows from v[%d] on", (int)k->refs[remarks.rows_at->ref]);
    else if (remarks.rows_at)
        fprintf(out, ", rows from %lld on", (long long)remarks.rows_at->at.base);
    if (weights && weights->choices)
        fprintf(out, ", by the one of %lld matrices that v[%d] says", (long long)weights->choices,
                (int)k->refs[weights->choice.ref]);
    print_states(out, m, k);
    if (k->again)
        fputs(", again", out);
    if (*m->graph->entries[k->entry])
        fprintf(out, ", for %s", m->graph->entries[k->entry]);
    fprintf(out, "    %s (%s:%d)\n", where->scope, where->file, where->line);
    print_atoms(out, k, &remarks);
    for (int b = 0; b < remarks.n_bounds; b++)
        fprintf(out, "--     key %s\n",
                cr_bound_text(bound, sizeof bound, &remarks.bounds[b], "row"));
    for (int p = 0; cr_program_of(k, p); p++)
        print_program(out, k, &remarks, p);
}

/* Prints the nodes that have been chosen to be stored, while no kernel stores them yet. */
static void print_stored(FILE *out, const struct cr_module *m)
{
    fputs("-- stored:", out);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->materialised[id])
            fprintf(out, " v[%d]", (int)id);
    fputc('\n', out);
}

/* Prints the kernels in execution order.  For a kernel outside loops, prints the kernel whose
 * function it shares; for a loop, its layers and the range of its kernels. */
static void print_steps(FILE *out, const struct cr_module *m)
{
    fputs("-- steps\n", out);
    for (int i = 0; i < m->n_segments; i++) {
        const struct cr_segment *step = &m->segments[i];
        if (step->loop < 0) {
            fprintf(out, "--   kernel %d, function of kernel %d\n", step->kernel,
                    m->function[step->kernel]);
            continue;
        }
        const struct cr_loop *loop = &m->loops[step->loop];
        fprintf(out, "--   layers %d to %d: kernels %d to %d\n", loop->start,
                cr_layer_of(loop, loop->count - 1), loop->first, loop->first + loop->period - 1);
    }
}

/* Prints a value of the arena: its size, its offset, and the kernels of its live range, which
 * begins at kernel i and ends at kernel `last_read`. */
static void print_lifetime(FILE *out, const struct cr_module *m, cr_id id, int i, int last_read)
{
    const struct cr_loop *loop = cr_loop_of(m, i);
    const struct cr_node *node = &m->graph->nodes[id];
    int last = last_read < i ? i : last_read;
    int end = loop ? loop->first + loop->period : m->n_kernels;
    fprintf(out, "--   v[%d]\t%10lld at %-10lld ", (int)id,
            4 * (long long)cr_elements(node->rank, node->shape),
            4 * (long long)m->storage[id].offset);
    for (int k = 0; k < end && k < 64; k++)
        fputc(k < i ? '.' : k == i ? 'W' : k <= last ? '=' : '.', out);
    fputc('\n', out);
}

/* Prints the live ranges of all stored values.  Of a loop, prints only those of the first
 * iteration. */
static void print_lifetimes(FILE *out, const struct cr_module *m)
{
    int *last_read = cr_find_last_reads(m);
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_loop *loop = cr_loop_of(m, i);
        const struct cr_kernel *k = &m->kernels[i];
        bool begun = i && k[-1].buffer == k->buffer,
             later = loop && i >= loop->first + loop->period;
        for (int s = begun; s < k->n_stored && !later; s++)
            if (m->storage[k->stored[s]].space == CR_SPACE_ARENA)
                print_lifetime(out, m, k->stored[s], i, last_read[k->stored[s]]);
    }
    free(last_read);
}

static void print_plan(FILE *out, const struct cr_module *m)
{
    fprintf(out, "-- weights: %lld bytes in %d places\n", 4 * (long long)m->weights_floats,
            m->n_layouts);
    fprintf(out, "-- arena: %lld bytes, at least %lld are live at once; bytes, offset, lifetime\n",
            4 * (long long)m->arena_floats, 4 * (long long)m->lower_bound_floats);
    if (m->activation_floats >= 0)
        fprintf(out, "-- activations: %lld bytes of it are kept for the backward pass\n",
                4 * (long long)m->activation_floats);
    print_lifetimes(out, m);
}

void cr_dump(FILE *out, const struct cr_module *module, const char *after)
{
    fprintf(out, "-- %s after %s\n", module->graph->name, after);
    cr_print_graph(out, module->graph);
    if (module->has & CR_HAS_STORED && !(module->has & CR_HAS_KERNELS))
        print_stored(out, module);
    if (module->has & CR_HAS_KERNELS) {
        fprintf(out, "-- %d kernels\n", module->n_kernels);
        for (int i = 0; i < module->n_kernels; i++)
            print_kernel(out, module, i);
    }
    if (module->has & CR_HAS_LOOPS)
        print_steps(out, module);
    if (module->has & CR_HAS_PLAN)
        print_plan(out, module);
    if (module->has & CR_HAS_PROGRAM)
        cr_print_program(out, module->program);
}
