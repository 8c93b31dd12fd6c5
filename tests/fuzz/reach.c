/* Kinds of kernels and loops that the graphs of a long run must produce; see reach.h. */
#include "reach.h"

#include <stdio.h>

#include "compiler/passes/fuse/in_place.h"
#include "compiler/passes/module/kernel_kinds.h"

/* ---- kernels ---- */

static bool has_source(const struct cr_tiles *tiles, enum cr_source source)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == source)
            return true;
    return false;
}

static bool is_gather(const struct cr_kernel *k)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        if (has_source(tiles, CR_GATHER))
            return true;
    return false;
}

static bool is_scatter(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_SCATTER;
}

static bool is_scan(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_SCAN;
}

static bool is_write(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_WRITE;
}

/* ---- kernels whose loops end at a length ---- */

static bool ends(const struct cr_kernel *k, int atom)
{
    return atom >= 0 && k->atoms.length[atom];
}

static bool is_limited_sum(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && ends(k, k->k);
}

static bool is_limited_keys(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION && ends(k, k->key);
}

static bool is_limited_scores(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION && ends(k, k->k);
}

static bool is_limited_values(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION && ends(k, k->col);
}

static bool is_limited_reduction(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && has_source(&k->program, CR_REDUCE) && ends(k, k->col);
}

static bool is_limited_column(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_COLUMNS && ends(k, k->row);
}

static bool is_limited_scan(const struct cr_kernel *k)
{
    bool any = false;
    for (int a = 0; a < k->atoms.n; a++)
        any |= k->atoms.length[a] != 0;
    return k->kind == CR_KERNEL_SCAN && any;
}

/* ---- others ---- */

static bool is_random(const struct cr_kernel *k)
{
    return has_source(&k->program, CR_RANDOM);
}

static bool is_reduction(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && has_source(&k->program, CR_REDUCE);
}

static bool is_joined(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && k->n_stored > 1;
}

/* True if a joined kernel also stores one number for each row, such as the statistics of a norm. */
static bool has_row_numbers(const struct cr_kernel *k)
{
    bool numbers = false;
    for (int i = 1; is_joined(k) && k->col >= 0 && i < k->n_stored; i++)
        numbers |= k->results[0].coef[k->col] != 0 && k->results[i].coef[k->col] == 0;
    return numbers;
}

static bool is_limited_joined(const struct cr_kernel *k)
{
    return is_joined(k) && (ends(k, k->row) || ends(k, k->col));
}

static bool is_long_row(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && k->col >= 0 && k->atoms.extent[k->col] > 1024;
}

/* True if AVX2 computes a product of a long k in several tiles of rows; see cr_has_long_k in
 * runtime/gemm.inc. */
static bool has_long_k(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && k->gemm.K > 1024 && k->row >= 0 &&
           k->atoms.extent[k->row] > 6;
}

static bool is_nest(const struct cr_kernel *k)
{
    return k->n_outer > 1;
}

static bool is_part(const struct cr_kernel *k)
{
    return k->buffer != k->root && k->kind != CR_KERNEL_TILE;
}

static bool is_packed(const struct cr_kernel *k)
{
    return cr_packed(k) != CR_NONE;
}

static bool is_unpacked(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && cr_packed(k) == CR_NONE;
}

static bool is_norm_product(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && has_source(&k->gemm.prologue, CR_REDUCE);
}

static bool is_attention(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION;
}

static bool is_window(const struct cr_kernel *k)
{
    return is_attention(k) && k->attention.n_bounds == 2;
}

static bool is_window_around(const struct cr_kernel *k)
{
    for (int i = 0; is_window(k) && i < 2; i++)
        if (k->attention.bounds[i].last.moves && k->attention.bounds[i].last.offset > 0)
            return true;
    return false;
}

static bool has_gathered_bias(const struct cr_kernel *k)
{
    return is_attention(k) && has_source(&k->program, CR_GATHER);
}

static bool is_long_attention(const struct cr_kernel *k)
{
    return is_attention(k) && k->attention.keys > 128 && k->attention.n_bounds > 0;
}

static bool is_backward(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION_BACKWARD;
}

static bool is_long_backward(const struct cr_kernel *k)
{
    return is_backward(k) && k->attention.keys > 128;
}

static bool has_dropout(const struct cr_kernel *k)
{
    return is_attention(k) && k->attention.dropout.n > 0;
}

static bool has_dropout_backward(const struct cr_kernel *k)
{
    return is_backward(k) && has_source(&k->attention.dropout, CR_RANDOM);
}

static bool makes_of_array(const struct cr_kernel *k, enum cr_array_kind kind)
{
    for (int i = 0; is_backward(k) && i < k->attention_backward.n_arrays; i++)
        if (k->attention_backward.arrays[i] == kind)
            return true;
    return false;
}

static bool sums_over_keys(const struct cr_kernel *k)
{
    return makes_of_array(k, CR_SUM_OVER_KEYS);
}

static bool sums_over_queries(const struct cr_kernel *k)
{
    return makes_of_array(k, CR_SUM_OVER_QUERIES);
}

static bool stores_array(const struct cr_kernel *k)
{
    return makes_of_array(k, CR_WHOLE_ARRAY);
}

static bool sums_arrays(const struct cr_kernel *k)
{
    return stores_array(k) && k->attention_backward.serial;
}

static bool scatters_array(const struct cr_kernel *k)
{
    return makes_of_array(k, CR_SCATTERED);
}

static bool takes_scores(const struct cr_kernel *k)
{
    return is_backward(k) && has_source(&k->program, CR_SCORE);
}

static bool is_backward_in_place(const struct cr_kernel *k)
{
    return is_backward(k) && k->row >= 0 && k->dest.coef[k->row] != k->attention.K;
}

static bool is_attention_with_more(const struct cr_kernel *k)
{
    return is_attention(k) && has_source(&k->program, CR_MAP) && k->attention_rows.queries->n > 0;
}

static bool is_tile_again(const struct cr_kernel *k)
{
    return k->again && k->kind == CR_KERNEL_TILE;
}

static bool is_gemm_again(const struct cr_kernel *k)
{
    return k->again && k->kind == CR_KERNEL_GEMM;
}

static bool is_backward_again(const struct cr_kernel *k)
{
    return k->again && is_backward(k);
}

static bool has_own_gradients(const struct cr_kernel *k)
{
    return is_backward(k) && k->n_stored >= 3;
}

static bool is_chosen(const struct cr_kernel *k)
{
    return cr_weights_of(k) && cr_weights_of(k)->choices > 0;
}

static bool is_columns_again(const struct cr_kernel *k)
{
    return k->again && k->kind == CR_KERNEL_COLUMNS;
}

static bool is_part_again(const struct cr_kernel *k)
{
    return k->again && k->buffer != k->root;
}

static const struct {
    const char *name;
    bool (*is)(const struct cr_kernel *);
} kinds[] = {
    {"gather", is_gather},
    {"scatter", is_scatter},
    {"running sums", is_scan},
    {"write of rows", is_write},
    {"random numbers", is_random},
    {"row reduction", is_reduction},
    {"tile of several results", is_joined},
    {"tile of an array and numbers of its rows", has_row_numbers},
    {"tile of several results to a length", is_limited_joined},
    {"rows cut into tiles", is_long_row},
    {"nested loops", is_nest},
    {"product into a concat", is_part},
    {"product with packed weights", is_packed},
    {"product with a matrix that a number chooses", is_chosen},
    {"product with packing", is_unpacked},
    {"product of a long k", has_long_k},
    {"product of normalised rows", is_norm_product},
    {"attention", is_attention},
    {"attention to a window", is_window},
    {"attention to a window on both sides", is_window_around},
    {"attention with a gathered bias", has_gathered_bias},
    {"masked attention in blocks", is_long_attention},
    {"gradient of attention", is_backward},
    {"gradient of attention in blocks", is_long_backward},
    {"gradient of attention into that of one projection", is_backward_in_place},
    {"gradients of attention as results of their own", has_own_gradients},
    {"gradient of attention through work on scores", takes_scores},
    {"gradients of scores summed over keys", sums_over_keys},
    {"gradients of scores summed over queries", sums_over_queries},
    {"gradients of scores stored", stores_array},
    {"gradients of scores summed over heads", sums_arrays},
    {"gradients of scores scattered", scatters_array},
    {"attention with dropout", has_dropout},
    {"gradient of attention with dropout", has_dropout_backward},
    {"attention with a prologue and an epilogue", is_attention_with_more},
    {"tile, made again", is_tile_again},
    {"product, made again", is_gemm_again},
    {"columns, made again", is_columns_again},
    {"gradient of attention, made again", is_backward_again},
    {"part of a concat, made again", is_part_again},
    {"product summed to a length", is_limited_sum},
    {"attention to keys up to a length", is_limited_keys},
    {"attention whose scores are summed to a length", is_limited_scores},
    {"attention whose values are as wide as a length", is_limited_values},
    {"row reduction to a length", is_limited_reduction},
    {"reduction down columns to a length", is_limited_column},
    {"running sums to a length", is_limited_scan},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- loops ---- */

/* The kinds of loops over layers, told apart by an operand of the second iteration. */

static const struct cr_kernel *second(const struct cr_module *m, const struct cr_loop *loop, int at)
{
    return &m->kernels[loop->first + loop->period + at];
}

/* Returns the kernel that computes a node, or -1. */
static int kernel_of_node(const struct cr_module *m, cr_id id)
{
    int maker = m->n_kernels - 1;
    while (maker >= 0 && cr_find_stored_node(&m->kernels[maker], id) < 0)
        maker--;
    return maker;
}

/* Returns the number of values of the first iteration that the second one reads. */
static int n_values_passed(const struct cr_module *m, const struct cr_loop *loop)
{
    int n = 0;
    for (int made = loop->first; made < loop->first + loop->period; made++) {
        bool read = false;
        for (int at = 0; at < loop->period; at++)
            for (int r = 0; r < second(m, loop, at)->n_refs; r++)
                read |= cr_find_stored_node(&m->kernels[made], second(m, loop, at)->refs[r]) >= 0;
        n += read;
    }
    return n;
}

static bool is_down(const struct cr_module *m, const struct cr_loop *loop)
{
    (void)m;
    return loop->direction < 0;
}

static bool is_handing_on(const struct cr_module *m, const struct cr_loop *loop)
{
    return n_values_passed(m, loop) > 0;
}

static bool is_handing_on_two(const struct cr_module *m, const struct cr_loop *loop)
{
    return n_values_passed(m, loop) > 1;
}

/* True if a loop reads values in the arena that another loop has stored, one for each of its
 * iterations. */
static bool is_reading_kept(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++) {
        for (int r = 0; r < second(m, loop, at)->n_refs; r++) {
            cr_id id = second(m, loop, at)->refs[r];
            int maker = kernel_of_node(m, id);
            const struct cr_loop *made = maker < 0 ? NULL : cr_loop_of(m, maker);
            if (made && made != loop && m->storage[id].space == CR_SPACE_ARENA && made->count > 2)
                return true;
        }
    }
    return false;
}

/* True if only the last iteration computes an output. */
static bool is_ending_in_output(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++) {
        int last = loop->first + (loop->count - 1) * loop->period + at;
        if (m->storage[m->kernels[last].buffer].space == CR_SPACE_OUTPUT &&
            m->storage[second(m, loop, at)->buffer].space == CR_SPACE_ARENA)
            return true;
    }
    return false;
}

/* True if each iteration computes an output. */
static bool is_making_outputs(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++)
        if (m->storage[m->kernels[loop->first + at].buffer].space == CR_SPACE_OUTPUT &&
            m->storage[second(m, loop, at)->buffer].space == CR_SPACE_OUTPUT)
            return true;
    return false;
}

/* True if each iteration computes the next value of a state of its own. */
static bool is_updating_states(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++)
        if (cr_state_of(m, m->kernels[loop->first + at].buffer) != CR_NONE &&
            cr_state_of(m, second(m, loop, at)->buffer) != CR_NONE)
            return true;
    return false;
}

static const struct {
    const char *name;
    bool (*is)(const struct cr_module *, const struct cr_loop *);
} loops[] = {
    {"loop down the layers", is_down},
    {"loop that hands on a value", is_handing_on},
    {"loop that hands on two values", is_handing_on_two},
    {"loop that reads what another kept", is_reading_kept},
    {"loop whose last iteration makes an output", is_ending_in_output},
    {"loop that makes outputs", is_making_outputs},
    {"loop that updates states", is_updating_states},
};

enum { N_LOOPS = sizeof loops / sizeof *loops };

/* ---- states ---- */

/* True if a kernel stores the next value of a state in place of the old one; with `write`, only some rows. */
static bool is_made_in_state(const struct cr_module *m, bool write)
{
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_kernel *k = &m->kernels[i];
        bool copy = m->graph->nodes[k->buffer].op == CR_OP_reshape && k->program.n == 1;
        if (cr_state_of(m, k->buffer) != CR_NONE && !copy && is_write(k) == write)
            return true;
    }
    return false;
}

static bool is_updating(const struct cr_module *m)
{
    return is_made_in_state(m, false);
}

static bool is_writing(const struct cr_module *m)
{
    return is_made_in_state(m, true);
}

/* True if a kernel reads a state and stores its next value in place. */
static bool is_reading_over(const struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++)
        if (cr_writes_over(m, &m->kernels[i]))
            return true;
    return false;
}

/* True if a kernel stores the next values of several states. */
static bool is_writing_over_several(const struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++) {
        int states = 0;
        for (int s = 0; s < m->kernels[i].n_stored; s++)
            states += cr_state_of(m, m->kernels[i].stored[s]) != CR_NONE;
        if (states > 1)
            return true;
    }
    return false;
}

/* True if the next value of a state is stored in another buffer, and copied at the end of the run. */
static bool is_copying(const struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    for (int i = cr_n_results(g); i < g->n_outputs && m->storage; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        if (node->op == CR_OP_reshape &&
            m->storage[g->operands[node->first_in]].space == CR_SPACE_ARENA)
            return true;
    }
    return false;
}

static const struct {
    const char *name;
    bool (*is)(const struct cr_module *);
} states[] = {
    {"state that is updated in place", is_updating},
    {"state to which rows are written", is_writing},
    {"kernel that writes over what it reads", is_reading_over},
    {"kernel that writes over several states", is_writing_over_several},
    {"state that is copied", is_copying},
};

enum { N_STATES = sizeof states / sizeof *states, N_ALL = N_KINDS + N_LOOPS + N_STATES };

uint64_t cr_reach(const struct cr_module *m)
{
    uint64_t reached = 0;
    for (int k = 0; k < N_KINDS; k++)
        for (int i = 0; i < m->n_kernels && !(reached >> k & 1); i++)
            reached |= (uint64_t)kinds[k].is(&m->kernels[i]) << k;
    for (int l = 0; l < N_LOOPS; l++)
        for (int i = 0; i < m->n_loops && m->storage; i++)
            reached |= (uint64_t)loops[l].is(m, &m->loops[i]) << (N_KINDS + l);
    for (int s = 0; s < N_STATES; s++)
        reached |= (uint64_t)states[s].is(m) << (N_KINDS + N_LOOPS + s);
    return reached;
}

static const char *name_of(int i)
{
    return i < N_KINDS             ? kinds[i].name
           : i < N_KINDS + N_LOOPS ? loops[i - N_KINDS].name
                                   : states[i - N_KINDS - N_LOOPS].name;
}

int cr_print_missing(uint64_t reached)
{
    int missing = 0;
    for (int i = 0; i < N_ALL; i++)
        if (!(reached >> i & 1)) {
            printf("no graph has a %s\n", name_of(i));
            missing++;
        }
    return missing;
}
