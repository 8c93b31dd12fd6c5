#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "kernel_kinds.h"

struct cr_module *cr_module_new(struct cr_graph *graph)
{
    struct cr_module *module = cr_calloc(1, sizeof *module);
    module->graph = graph;
    for (cr_id id = 0; id < graph->n_nodes; id++) {
        enum cr_kind kind = cr_kind_of(graph, id);
        module->ops_before += kind != CR_KIND_LEAF && kind != CR_KIND_MOVE;
    }
    return module;
}

void cr_module_free(struct cr_module *module)
{
    if (!module)
        return;
    cr_graph_free(module->graph);
    for (int i = 0; i < module->n_kernels; i++)
        cr_kernel_free(&module->kernels[i]);
    free(module->kernels);
    for (int i = 0; i < module->n_joined; i++)
        cr_kernel_free(&module->joined[i]);
    free(module->joined);
    free(module->materialised);
    free(module->inside);
    free(module->stored_with);
    free(module->in_state);
    free(module->attentions);
    free(module->backwards);
    free(module->hashes);
    free(module->function);
    free(module->starts);
    free(module->loops);
    free(module->segments);
    free(module->storage);
    free(module->lies_over);
    free(module->packed);
    free(module->layouts);
    free(module->columns_of);
    cr_program_free(module->program);
    free(module);
}

/* Returns the item with an output, or null.  A binary search: items are sorted by output, a field `at` bytes behind the
 * begin of each item of `size` bytes. */
static const void *find_output(const void *items, size_t size, size_t at, int n, cr_id output)
{
    int begin = 0, end = n;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        const char *item = (const char *)items + (size_t)middle * size;
        cr_id found;
        memcpy(&found, item + at, sizeof found);
        if (found == output)
            return item;
        if (found < output)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

const struct cr_attention *cr_attention_at(const struct cr_module *module, cr_id output)
{
    return find_output(module->attentions, sizeof *module->attentions, offsetof(struct cr_attention, output),
                       module->n_attentions, output);
}

const struct cr_attention_backward *cr_backward_at(const struct cr_module *module, cr_id output)
{
    const struct cr_attention_backward *found =
        find_output(module->backwards, sizeof *module->backwards, offsetof(struct cr_attention_backward, output),
                    module->n_backwards, output);
    return found && !found->divided ? found : NULL;
}

const struct cr_loop *cr_loop_at(const struct cr_loop *loops, int n, int kernel)
{
    int begin = 0, end = n;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        const struct cr_loop *loop = &loops[middle];
        if (kernel < loop->first)
            end = middle;
        else if (kernel >= loop->first + loop->period * loop->count)
            begin = middle + 1;
        else
            return loop;
    }
    return NULL;
}

static int by_entry_and_root(const void *a, const void *b)
{
    const struct cr_kernel *x = a, *y = b;
    if (x->entry != y->entry)
        return x->entry - y->entry;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->dest.base != y->dest.base)
        return x->dest.base < y->dest.base ? -1 : 1;
    return (x->root == x->buffer) - (y->root == y->buffer); /* writing rows follows the copy */
}

void cr_sort_kernels(struct cr_module *m)
{
    qsort(m->kernels, (size_t)m->n_kernels, sizeof *m->kernels, by_entry_and_root);
    cr_number_kernels(m);
}

void cr_number_kernels(struct cr_module *m)
{
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        m->graph->nodes[id].kernel = CR_NONE;
    for (int i = 0; i < m->n_kernels; i++)
        m->graph->nodes[m->kernels[i].buffer].kernel = i;
}

bool cr_same_loops(const struct cr_kernel *a, const struct cr_kernel *b)
{
    size_t n = (size_t)a->atoms.n;
    return a->atoms.n == b->atoms.n && a->n_outer == b->n_outer && a->row == b->row &&
           a->col == b->col && a->k == b->k && a->key == b->key &&
           !memcmp(a->atoms.extent, b->atoms.extent, n * sizeof *a->atoms.extent) &&
           !memcmp(a->atoms.length, b->atoms.length, n * sizeof *a->atoms.length) &&
           !memcmp(a->outer, b->outer, (size_t)a->n_outer * sizeof *a->outer);
}

bool cr_writes_over(const struct cr_module *m, const struct cr_kernel *k)
{
    for (int i = 0; i < k->n_stored; i++) {
        cr_id state = cr_state_of(m, k->stored[i]);
        if (state != CR_NONE && cr_reads_node(k, state))
            return true;
    }
    return false;
}
