/* verify_steps.c - checks steps, loops, and the functions that kernels share. */
#include <stdlib.h>
#include <string.h>

#include "compiler/passes/fuse/in_place.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/weights/arithmetics.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/weights.h"
#include "verifier.h"

/* ---- kernels with equal code ---- */

static bool same_affine(const struct cr_affine *a, const struct cr_affine *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* True if two values differ at most in their node. */
static bool same_value(const struct cr_value *a, const struct cr_value *b)
{
    bool same = a->source == b->source && a->ref == b->ref && a->by_row == b->by_row &&
                a->table_rows == b->table_rows &&
                a->table_stride == b->table_stride &&
                a->table_length == b->table_length && a->parts == b->parts &&
                memcmp(&a->number, &b->number, sizeof a->number) == 0 &&
                same_affine(&a->at, &b->at);
    if (a->source == CR_MAP || a->source == CR_REDUCE)
        same &= a->op == b->op;
    for (int i = 0; same && i < cr_value_args(a); i++)
        same = a->arg[i] == b->arg[i];
    return same;
}

static bool same_tiles(const struct cr_graph *g, const struct cr_tiles *a, const struct cr_tiles *b)
{
    bool same = a->n == b->n && a->n_more == b->n_more;
    for (int i = 0; same && a->n && i <= a->n_more; i++)
        same = a->results[i] == b->results[i];
    for (int i = 0; same && i < a->n; i++)
        same = same_value(&a->values[i], &b->values[i]) &&
               g->nodes[a->values[i].node].dtype == g->nodes[b->values[i].node].dtype;
    return same;
}

static bool same_operand(const struct cr_operand *a, const struct cr_operand *b)
{
    return a->ref == b->ref && same_affine(&a->at, &b->at);
}

/* True if the numbers in the kernels' own members are equal (cr_kernel_numbers). */
static bool same_numbers(const struct cr_kernel *a, const struct cr_kernel *b)
{
    int64_t of_a[CR_MAX_NUMBERS], of_b[CR_MAX_NUMBERS];
    int n = cr_kernel_numbers(a, of_a);
    return n == cr_kernel_numbers(b, of_b) && !memcmp(of_a, of_b, (size_t)n * sizeof *of_a);
}

/* True if operands have equal types and formats in memory (an input may be i32, a table quantized),
 * and stored nodes have equal types. */
static bool same_types(const struct cr_graph *g, const struct cr_kernel *a,
                       const struct cr_kernel *b)
{
    bool same = a->n_refs == b->n_refs && a->n_stored == b->n_stored;
    for (int i = 0; same && i < a->n_refs; i++)
        same = g->nodes[a->refs[i]].dtype == g->nodes[b->refs[i]].dtype &&
               cr_kept_format(g, a->refs[i]) == cr_kept_format(g, b->refs[i]);
    for (int i = 1; same && i < a->n_stored; i++)
        same = g->nodes[a->stored[i]].dtype == g->nodes[b->stored[i]].dtype;
    return same;
}

/* True if tile programs, operands and results are equal. */
static bool same_parts(const struct cr_graph *g, const struct cr_kernel *a,
                       const struct cr_kernel *b)
{
    bool same = true;
    const struct cr_tiles *tiles;
    for (int i = 0; same && (tiles = cr_program_of(a, i)); i++)
        same = same_tiles(g, tiles, cr_program_of(b, i));
    const struct cr_operand *operand;
    for (int i = 0; same && (operand = cr_operand_of(a, i)); i++)
        same = same_operand(operand, cr_operand_of(b, i));
    for (int i = 0; same && i < cr_n_results_of(a); i++)
        same = a->stored_in[i] == b->stored_in[i] && same_affine(&a->results[i], &b->results[i]);
    return same;
}

/* True if neither kernel has packed weights, or both have them in the same format and
 * arithmetic. */
static bool same_panels(const struct cr_graph *g, const struct cr_kernel *a,
                        const struct cr_kernel *b)
{
    cr_id x = cr_packed(a), y = cr_packed(b);
    if (x == CR_NONE || y == CR_NONE)
        return x == y;
    return cr_panel_format(g, x) == cr_panel_format(g, y) &&
           cr_panel_arithmetic(g, x) == cr_panel_arithmetic(g, y);
}

/* True if one function can compute both kernels, called with different tensors and random
 * streams. */
static bool are_alike(const struct cr_graph *g, const struct cr_kernel *a,
                      const struct cr_kernel *b)
{
    return a->kind == b->kind && cr_same_loops(a, b) && same_numbers(a, b) && same_types(g, a, b) &&
           a->n_streams == b->n_streams && same_panels(g, a, b) && same_parts(g, a, b);
}

/* Copies a kernel in the form in which its function computes it: operands whose offset a call
 * passes begin at 0. */
static void take_code(const struct cr_module *m, int kernel, struct cr_kernel *code)
{
    cr_kernel_copy(code, &m->kernels[kernel]);
    cr_set_buffer_offsets(code, &m->starts[kernel]);
}

/* True if a kernel can share the function of kernel `other`. */
static bool may_share(const struct cr_module *m, int kernel, int other)
{
    const struct cr_kernel *k = &m->kernels[kernel], *o = &m->kernels[other];
    struct cr_kernel a, b;
    if (!m->starts || !memcmp(&m->starts[kernel], &m->starts[other], sizeof *m->starts))
        return are_alike(m->graph, k, o) && cr_writes_over(m, k) == cr_writes_over(m, o);
    take_code(m, kernel, &a);
    take_code(m, other, &b);
    bool alike = are_alike(m->graph, &a, &b) && cr_writes_over(m, &a) == cr_writes_over(m, &b);
    cr_kernel_free(&a);
    cr_kernel_free(&b);
    return alike;
}

static int verify_functions(const struct cr_module *m, struct cr_error *error)
{
    for (int i = 0; i < m->n_kernels; i++) {
        int function = m->function[i];
        if (function < 0 || function > i || m->function[function] != function)
            return cr_fail_at(error, "kernel", i, "its function is not that of an earlier kernel");
        if (function != i && !may_share(m, i, function))
            return cr_fail_at(error, "kernel", i,
                              "it differs from the kernel whose function it shares");
    }
    return 0;
}

/* ---- steps ---- */

/* Fails unless the iterations of a loop call the same functions in the same order, belong to one
 * entry, and have layer numbers from 0 on. */
static int verify_loop(const struct cr_module *m, const struct cr_loop *loop,
                       struct cr_error *error)
{
    int kernels = m->n_kernels - loop->first;
    if (loop->period < 1 || loop->count < 2 || loop->count > kernels / loop->period)
        return cr_fail_at(error, "kernel", loop->first, "its loop has no iterations, or too many");
    if (abs(loop->direction) != 1 || loop->start < 0 || cr_layer_of(loop, loop->count - 1) < 0)
        return cr_fail_at(error, "kernel", loop->first,
                          "the layers of its loop are not numbers from 0 on");
    int end = loop->first + loop->period * loop->count;
    for (int k = loop->first + loop->period; k < end; k++)
        if (m->function[k] != m->function[k - loop->period])
            return cr_fail_at(error, "kernel", k, "the iterations of its loop differ");
    for (int k = loop->first; k < end; k++)
        if (m->kernels[k].entry != m->kernels[loop->first].entry)
            return cr_fail_at(error, "kernel", k, "its loop began for another entry");
    return 0;
}

int cr_verify_steps(const struct cr_module *m, struct cr_error *error)
{
    int at = 0;
    if (verify_functions(m, error))
        return -1;
    for (int i = 0; i < m->n_segments; i++) {
        const struct cr_segment *step = &m->segments[i];
        if (step->loop < -1 || step->loop >= m->n_loops)
            return cr_fail(error, "step %d: there is no loop %d", i, step->loop);
        const struct cr_loop *loop = step->loop < 0 ? NULL : &m->loops[step->loop];
        if (step->kernel != at || at >= m->n_kernels || (loop && loop->first != at))
            return cr_fail(error, "step %d: it calls kernel %d, kernel %d is next", i, step->kernel,
                           at);
        if (loop && verify_loop(m, loop, error))
            return -1;
        at += loop ? loop->period * loop->count : 1;
    }
    return at == m->n_kernels ? 0 : cr_fail_at(error, "kernel", at, "no step calls it");
}
