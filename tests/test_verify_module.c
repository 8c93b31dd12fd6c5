/*
 * test_verify_module.c - tests of the verifier by damage: each row damages a valid module in one way, by a pass
 * of the test, and the driver must name the pass, the place and the fault.
 */
#include "compiler/passes/module/kernel_kinds.h"
#include "damage.h"

/* ---- modules to damage ---- */

/* A training step of a small GPT: every kind of kernel, random numbers, loops up and down. */
static const struct cr_setting step_settings[] = {
    {"n_layer", "4", false}, {"T", "8", false},      {"n_embd", "12", false},
    {"n_head", "2", false},  {"vocab", "10", false},
};

/* A model with kernels that store several results. */
static const struct cr_setting sort_settings[] = {{"n_layer", "2", false}};

/* Attention whose scores get a bias for each query and key; a bias and slopes; a bias from a table. */
static const struct cr_setting bias_settings[] = {{"kind", "bias", false}};
static const struct cr_setting slope_settings[] = {{"kind", "bias_and_slopes", false}};
static const struct cr_setting table_settings[] = {{"kind", "table", false}};

/* A model with rotary positions, whose queries and keys are computed in parts, and with biases that
 * are joined. */
static const struct cr_setting layer_settings[] = {{"variant", "ropeBiased", false}};

/* The tested models; JOINED has a kernel with three results, each in place of a state. */
enum { STACK, SORTING, BIAS, SLOPES, TABLE, LAYER, JOINED, MODULES };

static struct cr_module *make_module(int which)
{
    switch (which) {
    case SORTING:
        return module_of("graphs/train_sort.lua", sort_settings, 1);
    case BIAS:
        return module_of("tests/scripts/attention_variants.lua", bias_settings, 1);
    case SLOPES:
        return module_of("tests/scripts/attention_variants.lua", slope_settings, 1);
    case TABLE:
        return module_of("tests/scripts/attention_variants.lua", table_settings, 1);
    case JOINED:
        return module_of("tests/golden/joined_tiles.lua", NULL, 0);
    case LAYER:
        return module_of("tests/variants/layer.lua", layer_settings, 1);
    default:
        return module_of("tests/scripts/stack_training.lua", step_settings, 5);
    }
}

/* ---- what to damage ---- */

static struct cr_node *node_of(struct cr_module *m, enum cr_op op)
{
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->graph->nodes[id].op == op)
            return &m->graph->nodes[id];
    ck_abort_msg("no %s in the graph", cr_ops[op].name);
    return NULL;
}

static cr_id *operands_of(struct cr_module *m, const struct cr_node *node)
{
    return m->graph->operands + node->first_in;
}

static struct cr_kernel *kernel_of(struct cr_module *m, enum cr_kernel_kind kind)
{
    for (int i = 0; i < m->n_kernels; i++)
        if (m->kernels[i].kind == kind)
            return &m->kernels[i];
    ck_abort_msg("no kernel of kind %d", (int)kind);
    return NULL;
}

/* Returns a kernel that has rows and columns and loads its operands. */
static struct cr_kernel *tile_of(struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++) {
        struct cr_kernel *k = &m->kernels[i];
        if (k->kind == CR_KERNEL_TILE && k->row >= 0 && k->col >= 0 && k->dest.coef[k->col] == 1 &&
            k->program.n > 2 && k->program.values[0].source == CR_LOAD &&
            !k->program.values[0].by_row)
            return k;
    }
    ck_abort_msg("no tile");
    return NULL;
}

/* Returns the first value from a source in the tile programs of any kernel. */
static struct cr_value *value_of(struct cr_module *m, enum cr_source source)
{
    for (int i = 0; i < m->n_kernels; i++) {
        struct cr_tiles *tiles;
        for (int p = 0; (tiles = cr_program_of(&m->kernels[i], p)); p++)
            for (int v = 0; v < tiles->n; v++)
                if (tiles->values[v].source == source)
                    return &tiles->values[v];
    }
    ck_abort_msg("no value of source %d", (int)source);
    return NULL;
}

static int number_of(const struct cr_module *m, const struct cr_kernel *k)
{
    return (int)(k - m->kernels);
}

static const struct cr_storage *arena_end(const struct cr_module *m)
{
    const struct cr_storage *end = NULL;
    for (int i = 0; i < m->n_kernels; i++) {
        const struct cr_storage *s = &m->storage[m->kernels[i].buffer];
        if (s->space == CR_SPACE_ARENA && (!end || s->offset > end->offset))
            end = s;
    }
    return end;
}

/* Returns a kernel whose result is in the arena and is read by a kernel other than the next one. */
static int long_lived(const struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++) {
        cr_id id = m->kernels[i].buffer;
        for (int k = i + 2; m->storage[id].space == CR_SPACE_ARENA && k < m->n_kernels; k++)
            for (int r = 0; r < m->kernels[k].n_refs; r++)
                if (m->kernels[k].refs[r] == id && m->kernels[i + 1].buffer != id &&
                    m->storage[m->kernels[i + 1].buffer].space == CR_SPACE_ARENA)
                    return i;
    }
    ck_abort_msg("no value lives long");
    return 0;
}

static struct cr_loop *first_loop(struct cr_module *m)
{
    ck_assert_int_gt(m->n_loops, 0);
    return &m->loops[0];
}

/* Changes one number of a node's shape or index. */
static void set_axis(struct cr_module *m, const int64_t **axes, int axis, int64_t value)
{
    int64_t changed[CR_MAX_RANK];
    memcpy(changed, *axes, sizeof changed);
    changed[axis] = value;
    *axes = cr_intern_axes(m->graph, changed);
}

/* ---- damage to the graph ---- */

DAMAGE(no_such_op) { node_of(m, CR_OP_mul)->op = CR_OP_COUNT; }
DAMAGE(another_op) { node_of(m, CR_OP_add)->op = CR_OP_lt; }
DAMAGE(no_such_type) { node_of(m, CR_OP_mul)->dtype = (enum cr_dtype)7; }
DAMAGE(another_type) { node_of(m, CR_OP_mul)->dtype = CR_I32; }
DAMAGE(length_from_nowhere) { node_of(m, CR_OP_mul)->lengths[0] = 1; }
DAMAGE(too_many_axes) { node_of(m, CR_OP_reshape)->rank = CR_MAX_RANK + 1; }
DAMAGE(another_shape) 
{
    struct cr_node *node = node_of(m, CR_OP_matmul);
    set_axis(m, &node->shape, 1, node->shape[1] + 1);
}
DAMAGE(huge_shape) { set_axis(m, &node_of(m, CR_OP_expand)->shape, 0, INT64_MAX); }
DAMAGE(shape_from_elsewhere)
{
    static int64_t shape[CR_MAX_RANK];
    struct cr_node *node = node_of(m, CR_OP_mul);
    memcpy(shape, node->shape, sizeof shape);
    node->shape = shape;
}
DAMAGE(itself_as_operand)
{
    struct cr_node *node = node_of(m, CR_OP_mul);
    operands_of(m, node)[0] = (cr_id)(node - m->graph->nodes);
}
DAMAGE(negative_operand) { operands_of(m, node_of(m, CR_OP_mul))[1] = -1; }
DAMAGE(operands_beyond) { node_of(m, CR_OP_mul)->first_in = m->graph->n_operands - 1; }
DAMAGE(operand_too_many) { node_of(m, CR_OP_mul)->n_in = 3; }
DAMAGE(axis_beyond) { node_of(m, CR_OP_sum)->axis = 5; }
DAMAGE(axis_of_an_add) { node_of(m, CR_OP_add)->axis = 1; }
DAMAGE(axis_twice) 
{
    struct cr_node *node = node_of(m, CR_OP_permute);
    set_axis(m, &node->index, 0, node->index[1]);
}
DAMAGE(slice_beyond) 
{
    struct cr_node *node = node_of(m, CR_OP_slice);
    set_axis(m, &node->index, 0, node->index[0] + 1000);
}
DAMAGE(no_such_init) { node_of(m, CR_OP_param)->init = (enum cr_init)9; }
DAMAGE(name_from_elsewhere) { node_of(m, CR_OP_param)->name = "elsewhere"; }
DAMAGE(no_name) { node_of(m, CR_OP_input)->name = NULL; }
DAMAGE(name_of_a_const) { node_of(m, CR_OP_const)->name = m->graph->name; }
DAMAGE(two_of_a_name)
{
    struct cr_node *first = node_of(m, CR_OP_param), *second = first + 1;
    while (second->op != CR_OP_param)
        second++;
    second->name = first->name;
}
DAMAGE(tap_from_elsewhere) { node_of(m, CR_OP_mul)->tap = "elsewhere"; }
DAMAGE(scope_from_elsewhere) { node_of(m, CR_OP_mul)->where.scope = "elsewhere"; }
DAMAGE(no_file) { node_of(m, CR_OP_mul)->where.file = NULL; }
DAMAGE(no_such_output) { m->graph->outputs[1].id = m->graph->n_nodes; }
DAMAGE(two_outputs_of_a_name) { m->graph->outputs[1].name = m->graph->outputs[0].name; }
DAMAGE(output_from_elsewhere) { m->graph->outputs[1].name = "elsewhere"; }

/* Adds a node that is equal to an existing one, used or unused. */
static cr_id add_again(struct cr_module *m)
{
    const struct cr_node *node = node_of(m, CR_OP_mul);
    const cr_id in[] = {operands_of(m, node)[0], operands_of(m, node)[1]};
    return cr_must(m->graph, CR_OP_mul, 2, in, NULL);
}

DAMAGE(equal_nodes) { cr_add_output(m->graph, "equal", add_again(m)); }
DAMAGE(dead_node)
{
    cr_id id = (cr_id)(node_of(m, CR_OP_mul) - m->graph->nodes);
    cr_must(m->graph, CR_OP_tanh, 1, &id, NULL);
}
DAMAGE(rewired)
{
    cr_id *in = operands_of(m, node_of(m, CR_OP_sub));
    in[0] = in[1];
}
DAMAGE(another_output) { m->graph->outputs[0].id = m->graph->outputs[1].id; }
DAMAGE(nothing) { (void)m; }

/* ---- damage to kernels ---- */

DAMAGE(no_such_kind) { tile_of(m)->kind = (enum cr_kernel_kind)17; }
DAMAGE(another_kind)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_GEMM);
    struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++) {
        free(tiles->values); /* since the new kind would not free them */
        *tiles = (struct cr_tiles){0};
    }
    k->kind = CR_KERNEL_TILE;
    k->parts = cr_kernel_kinds[k->kind].parts;
}
DAMAGE(parts_of_another_kind) { kernel_of(m, CR_KERNEL_GEMM)->kind = CR_KERNEL_TILE; }
DAMAGE(core_of_no_node) { tile_of(m)->core = m->graph->n_nodes; }
DAMAGE(no_such_root) { tile_of(m)->root = m->graph->n_nodes; }
DAMAGE(another_root) { tile_of(m)->root = 0; }
DAMAGE(not_to_be_stored) { m->materialised[tile_of(m)->buffer] = false; }
DAMAGE(stored_by_nobody) { cr_kernel_free(&m->kernels[--m->n_kernels]); }
DAMAGE(to_be_stored) { m->materialised[(cr_id)(node_of(m, CR_OP_iota) - m->graph->nodes)] = true; }
DAMAGE(stored_twice)
{
    m->kernels = realloc(m->kernels, (size_t)(m->n_kernels + 1) * sizeof *m->kernels);
    m->cap_kernels = m->n_kernels + 1;
    cr_kernel_copy(&m->kernels[m->n_kernels], &m->kernels[m->n_kernels - 1]);
    m->n_kernels++;
}
DAMAGE(out_of_order)
{
    struct cr_kernel *k = m->kernels;
    while (k[1].n_refs != 1 || k[1].refs[0] != k->buffer)
        k++;
    struct cr_kernel first = k[0];
    k[0] = k[1];
    k[1] = first;
}
DAMAGE(another_number) { m->graph->nodes[tile_of(m)->buffer].kernel++; }
DAMAGE(number_of_an_input) { node_of(m, CR_OP_input)->kernel = 0; }
DAMAGE(part_left_out)
{
    struct cr_kernel *k = m->kernels;
    while (k->buffer == k->root)
        k++;
    cr_kernel_free(k);
    memmove(k, k + 1, (size_t)(--m->n_kernels - number_of(m, k)) * sizeof *k);
}
DAMAGE(part_moved)
{
    struct cr_kernel *k = m->kernels;
    while (k->buffer == k->root || k[1].buffer != k->buffer)
        k++;
    k->dest.base++;
}
DAMAGE(shorter_loop) { tile_of(m)->atoms.extent[tile_of(m)->row]--; }
DAMAGE(longer_loop) { tile_of(m)->atoms.extent[tile_of(m)->row]++; }
DAMAGE(no_loop) { tile_of(m)->atoms.extent[tile_of(m)->row] = 0; }
DAMAGE(row_and_column) { tile_of(m)->row = tile_of(m)->col; }
DAMAGE(no_such_atom) { tile_of(m)->col = CR_MAX_ATOMS; }
DAMAGE(lost_loop) { tile_of(m)->row = -1; }
DAMAGE(result_moved) { tile_of(m)->dest.base = 1; }
DAMAGE(result_stretched) { tile_of(m)->dest.coef[tile_of(m)->row]++; }
DAMAGE(result_not_moving) { tile_of(m)->dest.coef[tile_of(m)->row] = 0; }
DAMAGE(operand_moved) { tile_of(m)->program.values[0].at.base++; }
DAMAGE(operand_before) { tile_of(m)->program.values[0].at.base = -1; }
DAMAGE(operand_overflows) { tile_of(m)->program.values[0].at.coef[tile_of(m)->row] = INT64_MAX; }
DAMAGE(no_such_operand) { tile_of(m)->program.values[0].ref = tile_of(m)->n_refs; }
DAMAGE(not_made_operand) { tile_of(m)->refs[0] = tile_of(m)->buffer; }
DAMAGE(too_many_operands) { tile_of(m)->n_refs = CR_MAX_REFS + 1; }
DAMAGE(no_such_source) { tile_of(m)->program.values[0].source = (enum cr_source)12; }
DAMAGE(no_such_result) { tile_of(m)->program.result = tile_of(m)->program.n; }
DAMAGE(argument_ahead) { value_of(m, CR_MAP)->arg[0] = CR_MAX_VALUES - 1; }
DAMAGE(another_map) { value_of(m, CR_MAP)->op = CR_OP_sigmoid; }
DAMAGE(one_a_row) { tile_of(m)->program.values[0].by_row = true; }
DAMAGE(another_reduction)
{
    struct cr_value *v = value_of(m, CR_REDUCE);
    v->op = v->op == CR_OP_sum ? CR_OP_max : CR_OP_sum;
}
DAMAGE(no_product) { value_of(m, CR_CORE)->source = CR_CONST; }
DAMAGE(index_beyond) { value_of(m, CR_IOTA)->at.base += 1000; }
DAMAGE(table_too_long) { value_of(m, CR_GATHER)->table_rows++; }
DAMAGE(another_stream) { value_of(m, CR_RANDOM)->ref = CR_MAX_STREAMS - 1; }
DAMAGE(numbers_beyond) { value_of(m, CR_RANDOM)->at.base++; }
DAMAGE(no_end_of_columns) { kernel_of(m, CR_KERNEL_COLUMNS)->program.result = 0; }
DAMAGE(sum_too_short) { kernel_of(m, CR_KERNEL_GEMM)->gemm.K--; }
DAMAGE(no_core) { kernel_of(m, CR_KERNEL_GEMM)->core = 0; }
DAMAGE(another_matrix)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_GEMM);
    while (cr_packed(k) == CR_NONE)
        k++;
    k->gemm.weights.node = k->root;
}
DAMAGE(no_epilogue)
{
    kernel_of(m, CR_KERNEL_ATTENTION)->program.n = 0;
}
DAMAGE(keys_too_few) { kernel_of(m, CR_KERNEL_ATTENTION)->attention.keys--; }
DAMAGE(keys_elsewhere)
{
    kernel_of(m, CR_KERNEL_ATTENTION)->attention.key.at.base += 100000;
}
DAMAGE(values_by_query)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION);
    k->attention.value.at.coef[k->row] = 1;
}
DAMAGE(too_many_bounds)
{
    kernel_of(m, CR_KERNEL_ATTENTION)->attention.n_bounds = CR_MAX_BOUNDS + 1;
}
DAMAGE(one_gradient_twice)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    struct cr_affine *dest = k->results;
    dest[CR_DV] = dest[CR_DK];
    dest[CR_DV].coef[k->col] = dest[CR_DV].coef[k->k];
    dest[CR_DV].coef[k->k] = 0;
}
/* Returns the index of an array of a kind, in the kernel of an attention's gradients. */
static int array_of(const struct cr_kernel *k, enum cr_array_kind kind)
{
    for (int i = 0; i < k->attention_backward.n_arrays; i++)
        if (k->attention_backward.arrays[i] == kind)
            return i;
    ck_abort_msg("no array of kind %d", (int)kind);
    return 0;
}

DAMAGE(array_too_many)
{
    kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->attention_backward.n_arrays++;
}
DAMAGE(array_of_no_kind)
{
    kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->attention_backward.arrays[0] = CR_SCATTERED + 1;
}
DAMAGE(gradient_of_no_sink)
{
    kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->attention_backward.arrays[0] = CR_OF_SINK;
}
DAMAGE(sums_at_once)
{
    kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->attention_backward.serial = 0;
}
DAMAGE(array_summed_further)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->results[CR_OF_ARRAY + array_of(k, CR_WHOLE_ARRAY)].coef[k->row]--;
}
DAMAGE(sums_elsewhere)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->results[CR_OF_ARRAY + array_of(k, CR_SUM_OVER_KEYS)].base--;
}
DAMAGE(sums_for_each_key)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->attention_backward.arrays[array_of(k, CR_SUM_OVER_KEYS)] = CR_SUM_OVER_QUERIES;
}
DAMAGE(stored_nowhere)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->stored_in[CR_OF_ARRAY + array_of(k, CR_WHOLE_ARRAY)] = k->n_stored;
}
DAMAGE(stored_in_an_input)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    cr_id *stored = &k->stored[k->stored_in[CR_OF_ARRAY + array_of(k, CR_WHOLE_ARRAY)]];
    for (int i = 0; i < k->n_refs; i++)
        if (m->graph->nodes[k->refs[i]].name)
            *stored = k->refs[i];
}
DAMAGE(stored_too_many) { kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->n_stored = CR_MAX_STORED + 1; }
DAMAGE(stored_no_node) { kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->stored[1] = m->graph->n_nodes; }
DAMAGE(stored_in_another)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->stored_in[CR_OF_ARRAY + array_of(k, CR_WHOLE_ARRAY)] = 0;
}
DAMAGE(gradient_stored_twice) { kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->stored_in[1] = 0; }
DAMAGE(stored_apart) { kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD)->stored_in[1] = 1; }
/* Returns the kernel that stores several results. */
static struct cr_kernel *joined_of(struct cr_module *m)
{
    for (int i = 0; i < m->n_kernels; i++)
        if (m->kernels[i].kind == CR_KERNEL_TILE && m->kernels[i].n_stored > 1)
            return &m->kernels[i];
    ck_abort_msg("no kernel stores several nodes");
    return NULL;
}

DAMAGE(joined_too_many) { joined_of(m)->n_stored = CR_MAX_STORED + 1; }
DAMAGE(joined_without_value) { joined_of(m)->program.n_more--; }
DAMAGE(joined_value_not_there) { joined_of(m)->program.results[1] = joined_of(m)->program.n; }
DAMAGE(joined_node_twice) { joined_of(m)->stored[1] = joined_of(m)->stored[2]; }
DAMAGE(joined_node_of_an_input)
{
    struct cr_kernel *k = joined_of(m);
    k->stored[1] = k->refs[0];
}
DAMAGE(joined_moved) { joined_of(m)->results[2].base++; }
DAMAGE(joined_left_out)
{
    struct cr_kernel *k = joined_of(m);
    k->n_stored--;
    k->program.n_more--;
}
DAMAGE(stored_beside_its_state)
{
    cr_id id = 0;
    while (m->in_state[id] == CR_NONE)
        id++;
    m->in_state[id] = CR_NONE;
}
DAMAGE(gradients_exchanged)
{
    m->backwards[0].dq = m->backwards[0].dk;
}
DAMAGE(gradients_from_another_on)
{
    m->backwards[0].output = m->backwards[0].dk;
}
DAMAGE(gradient_listed_twice)
{
    m->backwards[0].arrays[0].result = m->backwards[0].dv;
}
DAMAGE(gradient_used_inside)
{
    m->backwards[0].arrays[0].result = m->backwards[0].arrays[0].array;
}
DAMAGE(gradients_not_joined)
{
    m->backwards[0].joined = false;
}
DAMAGE(joined_over_what_is_read)
{
    struct cr_tiles *tiles = &joined_of(m)->program;
    for (int i = 0; i < tiles->n; i++) /* each moment is stored before the old ones are read */
        if (tiles->values[i].source == CR_MAP) {
            tiles->results[1] = tiles->results[2] = i;
            return;
        }
}
DAMAGE(index_without_table)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->attention_backward.arrays[array_of(k, CR_SCATTERED)] = CR_SUM_OVER_KEYS;
}
DAMAGE(table_without_index)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    free(k->attention_backward.index.values);
    k->attention_backward.index = (struct cr_tiles){.n = 0};
}
DAMAGE(table_too_short)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->atoms.extent[k->attention_backward.bucket]--;
}
DAMAGE(scores_of_scores)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_ATTENTION_BACKWARD);
    k->attention.scores.values[0].source = CR_SCORE;
}
DAMAGE(rows_too_many) { kernel_of(m, CR_KERNEL_SCATTER)->scatter.rows++; }

/* ---- damage to steps ---- */

DAMAGE(another_function)
{
    for (int i = 1; i < m->n_kernels; i++)
        if (m->function[i] != i) {
            m->function[i] = 0;
            return;
        }
}
DAMAGE(later_function) { m->function[0] = 1; }
DAMAGE(differs_a_little)
{
    for (int i = 1; i < m->n_kernels; i++)
        if (m->function[i] != i && m->kernels[i].kind == CR_KERNEL_ATTENTION &&
            m->kernels[i].attention.n_bounds) {
            m->kernels[i].attention.bounds[0].last.offset--;
            return;
        }
    ck_abort_msg("no attention has a mask");
}
DAMAGE(step_left_out) { m->n_segments--; }
DAMAGE(step_twice) { m->segments[1] = m->segments[0]; }
DAMAGE(no_such_loop) { m->segments[0].loop = m->n_loops; }
DAMAGE(loop_too_long) { first_loop(m)->count++; }
DAMAGE(loop_too_short) { first_loop(m)->count--; }
DAMAGE(no_period) { first_loop(m)->period = 0; }
DAMAGE(no_direction) { first_loop(m)->direction = 0; }
DAMAGE(layers_below_zero) { first_loop(m)->start = -1; }

/* ---- damage to the plan ---- */

DAMAGE(live_values_overlap)
{
    int i = long_lived(m);
    m->storage[m->kernels[i + 1].buffer] = m->storage[m->kernels[i].buffer];
}
/* Binds the same buffer in all layers. */
DAMAGE(layers_share_a_buffer)
{
    const struct cr_loop *loop = first_loop(m);
    for (int at = 0; at < loop->period; at++) {
        cr_id a = m->kernels[loop->first + at].buffer;
        cr_id b = m->kernels[loop->first + loop->period * (loop->count - 1) + at].buffer;
        if (m->storage[a].space == CR_SPACE_ARENA && m->storage[b].space == CR_SPACE_ARENA)
            m->storage[b] = m->storage[a];
    }
}
DAMAGE(result_over_operand)
{
    for (int i = 0; i < m->n_kernels; i++)
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            if (m->storage[m->kernels[i].refs[r]].space == CR_SPACE_ARENA &&
                m->storage[m->kernels[i].buffer].space == CR_SPACE_ARENA) {
                m->storage[m->kernels[i].buffer] = m->storage[m->kernels[i].refs[r]];
                return;
            }
}
DAMAGE(beyond_the_arena) { ((struct cr_storage *)arena_end(m))->offset = m->arena_floats; }
DAMAGE(before_the_arena) { ((struct cr_storage *)arena_end(m))->offset = -16; }
DAMAGE(between_cache_lines) { ((struct cr_storage *)arena_end(m))->offset--; }
DAMAGE(arena_too_small) { m->arena_floats = m->lower_bound_floats - 16; }
DAMAGE(bound_too_low) { m->lower_bound_floats -= 16; }
DAMAGE(output_in_the_arena) { m->storage[m->graph->outputs[0].id].space = CR_SPACE_ARENA; }
DAMAGE(outputs_exchanged) { m->storage[m->graph->outputs[0].id].offset = 1; }
DAMAGE(another_input)
{
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->graph->nodes[id].op == CR_OP_input)
            m->storage[id].offset ^= 1;
}
DAMAGE(weights_too_small) { m->weights_floats -= 16; }
DAMAGE(weights_overlap) { m->layouts[m->n_layouts - 1].target = m->layouts[0].target; }
DAMAGE(weights_of_no_parameter) { m->layouts[0].param = m->graph->outputs[0].id; }
DAMAGE(weights_of_another)
{
    for (int i = 1; i < m->n_layouts; i++)
        if (m->layouts[i].cols == m->layouts[0].cols && m->layouts[i].rows == m->layouts[0].rows &&
            m->layouts[i].param != m->layouts[0].param) {
            m->layouts[0].param = m->layouts[i].param;
            return;
        }
    ck_abort_msg("no two places of a size");
}

static struct cr_layout_info *panels_of(struct cr_module *m)
{
    struct cr_layout_info *p = m->layouts;
    while (!p->panel_stride)
        p++;
    return p;
}

DAMAGE(plain_in_a_format)
{
    struct cr_layout_info *p = m->layouts;
    while (p->panel_stride)
        p++;
    m->graph->nodes[p->param].format = CR_FORMAT_bool;
}
DAMAGE(weights_beyond_a_parameter) { panels_of(m)->source++; }
DAMAGE(weights_transposed)
{
    struct cr_layout_info *p = panels_of(m);
    while (p->rows != p->cols || p->row_stride == p->col_stride)
        p++;
    int64_t row = p->row_stride;
    p->row_stride = p->col_stride;
    p->col_stride = row;
}
DAMAGE(panels_not_ended) { panels_of(m)->last = false; }
DAMAGE(columns_left_out) { panels_of(m)->first_col = 1; }
DAMAGE(packed_elsewhere)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_GEMM);
    while (cr_packed(k) == CR_NONE)
        k++;
    m->packed[number_of(m, k)] += 16;
}
DAMAGE(nothing_packed)
{
    struct cr_kernel *k = kernel_of(m, CR_KERNEL_GEMM);
    while (cr_packed(k) == CR_NONE)
        k++;
    m->packed[number_of(m, k)] = -1;
}
DAMAGE(parameter_elsewhere)
{
    for (int i = 0; i < m->n_kernels; i++)
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            if (m->graph->nodes[m->kernels[i].refs[r]].op == CR_OP_param) {
                m->storage[m->kernels[i].refs[r]].offset += 16;
                return;
            }
}

static struct cr_kernel *attention_of(struct cr_module *m)
{
    return kernel_of(m, CR_KERNEL_ATTENTION);
}

DAMAGE(no_edge) { attention_of(m)->attention.bounds[0].last.moves = false; }
DAMAGE(edges_that_both_move) { attention_of(m)->attention.bounds[0].first.moves = true; }
DAMAGE(columns_not_made) { attention_of(m)->attention_rows.key_parts.n = 1; }
DAMAGE(part_twice) { attention_of(m)->attention_rows.key_parts.items[1].start = 0; }
DAMAGE(part_without_program)
{
    struct cr_kernel *k = attention_of(m);
    k->attention_rows.key_parts.items[2] = k->attention_rows.key_parts.items[1];
    k->attention_rows.key_parts.n = 3;
}
DAMAGE(part_of_a_loop)
{
    struct cr_kernel *k = attention_of(m);
    k->attention_rows.query_parts.items[1].atom = k->key;
}

/* Exchanges two biases. */
DAMAGE(biases_exchanged)
{
    struct cr_layout_info *first = NULL;
    for (int i = 0; i < m->n_layouts; i++) {
        struct cr_layout_info *p = &m->layouts[i];
        const char *name = m->graph->nodes[p->param].name;
        if (strcmp(name, "q.bias") && strcmp(name, "k.bias"))
            continue;
        if (first) {
            int64_t target = first->target;
            first->target = p->target;
            p->target = target;
            return;
        }
        first = p;
    }
    ck_abort_msg("no biases of queries and keys");
}

/* ---- the table ---- */

/* The properties that the damaging pass of a row declares to break, and to give. */
enum { KEEP = 0, MAY = CR_HAS_SIMPLE };

static const struct {
    const char *name;
    const char *after; /* by a pass, or null: to the graph of the script */
    void (*damage)(struct cr_module *m);
    unsigned breaks, gives;
    int module;          /* which */
    const char *message; /* behind "bug: after damage, " */
} rows[] = {
#define ROW(damage, after, breaks, gives, message)                                                 \
    {#damage, after, damage, breaks, gives, STACK, message}
#define KERNEL(module, damage, message) {#damage, "fuse", damage, KEEP, 0, module, message}
#define PARTS(damage, after, message) {#damage, after, damage, KEEP, 0, LAYER, message}
#define TILES(damage, after, message) {#damage, after, damage, KEEP, 0, JOINED, message}
#define GRADS(damage, message) {#damage, "join_grads", damage, KEEP, 0, SLOPES, message}
    /* the graph */
    ROW(no_such_op, "simplify", MAY, 0, "node %d (?): no such op"),
    ROW(another_op, "simplify", MAY, 0, "node %d (lt): shape or type is not what"),
    ROW(no_such_type, "simplify", MAY, 0, "node %d (mul): no such type"),
    ROW(another_type, "simplify", MAY, 0, "node %d (mul): shape or type is not what"),
    ROW(length_from_nowhere, "simplify", MAY, 0, "node %d (mul): its lengths are not what"),
    ROW(too_many_axes, "simplify", MAY, 0, "node %d (reshape): no such rank"),
    ROW(another_shape, "simplify", MAY, 0, "node %d (matmul): shape or type is not what"),
    ROW(shape_from_elsewhere, "simplify", MAY, 0, "node %d (mul): shape or type is not what"),
    ROW(huge_shape, "simplify", MAY, 0, "node %d (expand): expand: found a tensor ["),
    ROW(itself_as_operand, "simplify", MAY, 0, "node %d (mul): an operand does not come before"),
    ROW(negative_operand, "simplify", MAY, 0, "node %d (mul): an operand does not come before"),
    ROW(operands_beyond, "simplify", MAY, 0, "node %d (mul): its operands lie outside the pool"),
    ROW(operand_too_many, "simplify", MAY, 0, "node %d (mul): mul: found 3 operands, expected 2"),
    ROW(axis_beyond, "simplify", MAY, 0, "node %d (sum): sum: found axis 6 of a tensor of rank"),
    ROW(axis_of_an_add, "simplify", MAY, 0, "node %d (add): it has an attribute"),
    ROW(axis_twice, "simplify", MAY, 0, "node %d (permute): permute: found axis "),
    ROW(slice_beyond, "simplify", MAY, 0, "node %d (slice): slice: "),
    ROW(no_such_init, "simplify", MAY, 0, "node %d (param): no such init"),
    ROW(name_from_elsewhere, "simplify", MAY, 0, "node %d (param): its name is not interned"),
    ROW(no_name, "simplify", MAY, 0, "node %d (input): it has no name"),
    ROW(name_of_a_const, "simplify", MAY, 0, "node %d (const): it has a name"),
    ROW(two_of_a_name, "simplify", MAY, 0, "param %s: there are two"),
    ROW(tap_from_elsewhere, "simplify", MAY, 0, "node %d (mul): its tap is not interned"),
    ROW(scope_from_elsewhere, "simplify", MAY, 0, "node %d (mul): its scope is not interned"),
    ROW(no_file, "simplify", MAY, 0, "node %d (mul): its file is not interned"),
    ROW(no_such_output, "simplify", MAY, 0, "output 1: there is no node %d"),
    ROW(two_outputs_of_a_name, "simplify", MAY, 0, "output %s: there are two"),
    ROW(output_from_elsewhere, "simplify", MAY, 0, "output 1: its name is not interned"),
    /* damage that the check of a declared property finds in the graph */
    ROW(equal_nodes, "simplify", MAY, CR_HAS_SIMPLE, "node %d (mul): it is equal to node %d"),
    ROW(dead_node, "simplify", MAY, CR_HAS_SIMPLE, "node %d (tanh): it is dead"),
    ROW(nothing, NULL, MAY, CR_HAS_SIMPLE, "node %d (%s): it is "),
    ROW(another_output, "simplify", MAY, CR_HAS_OUTPUTS, "node %d (%s): two outputs are this"),
    ROW(equal_nodes, "simplify", KEEP, 0, "node %d: it was changed in place"),
    ROW(dead_node, "simplify", KEEP, 0, "node %d: it was changed in place"),
    ROW(rewired, "simplify", KEEP, 0, "node %d: it was changed in place"),
    ROW(another_output, "simplify", KEEP, 0, "node %d: it was changed in place"),
    ROW(another_shape, "fuse", KEEP, 0, "node %d: it was changed in place"),
    /* kernels */
    ROW(no_such_kind, "fuse", KEEP, 0, "kernel %d: no such kind"),
    ROW(another_kind, "fuse", KEEP, 0, "kernel %d: "),
    ROW(parts_of_another_kind, "fuse", KEEP, 0, "kernel %d: no such kind"),
    ROW(core_of_no_node, "fuse", KEEP, 0, "kernel %d: no such node"),
    ROW(no_such_root, "fuse", KEEP, 0, "kernel %d: no such node"),
    ROW(another_root, "fuse", KEEP, 0, "kernel %d: v[0] is not the next part of v[%d]"),
    ROW(not_to_be_stored, "fuse", KEEP, 0, "kernel %d: v[%d] is not to be stored"),
    ROW(to_be_stored, "fuse", KEEP, 0, "node %d: no kernel stores all of it"),
    ROW(stored_by_nobody, "fuse", KEEP, 0, "node %d: no kernel stores all of it"),
    ROW(stored_twice, "fuse", KEEP, 0, "kernel %d: it stores v[%d] a second time"),
    ROW(out_of_order, "fuse", KEEP, 0, "kernel %d: it reads v[%d], which is not made yet"),
    ROW(another_number, "fuse", KEEP, 0, "node %d: kernel %d does not store it"),
    ROW(number_of_an_input, "fuse", KEEP, 0, "node %d: kernel 0 does not store it"),
    KERNEL(SORTING, part_left_out, "kernel %d: v[%d] is not the next part of v[%d]"),
    KERNEL(SORTING, part_moved, "kernel %d: its loops do not go through"),
    ROW(shorter_loop, "fuse", KEEP, 0, "kernel %d: its loops do not go through"),
    ROW(longer_loop, "fuse", KEEP, 0, "kernel %d: the index of program goes from 0 to "),
    ROW(no_loop, "fuse", KEEP, 0, "kernel %d: atom %d has extent 0"),
    ROW(row_and_column, "fuse", KEEP, 0, "kernel %d: an atom has two parts"),
    ROW(no_such_atom, "fuse", KEEP, 0, "kernel %d: an atom has two parts, or does not exist"),
    ROW(lost_loop, "fuse", KEEP, 0, "kernel %d: the index of program goes along atom %d"),
    ROW(result_moved, "fuse", KEEP, 0, "kernel %d: the index of its result goes from 1 to "),
    ROW(result_stretched, "fuse", KEEP, 0, "kernel %d: the index of its result goes from 0 to "),
    ROW(result_not_moving, "fuse", KEEP, 0, "kernel %d: its loops do not go through"),
    ROW(operand_moved, "fuse", KEEP, 0, "kernel %d: the index of program goes from 1 to "),
    ROW(operand_before, "fuse", KEEP, 0, "kernel %d: the index of program goes from -1 to "),
    ROW(operand_overflows, "fuse", KEEP, 0, "kernel %d: the index of program overflows"),
    ROW(no_such_operand, "fuse", KEEP, 0, "kernel %d: program: there is no operand %d"),
    ROW(not_made_operand, "fuse", KEEP, 0, "kernel %d: it reads v[%d], which is not made yet"),
    ROW(too_many_operands, "fuse", KEEP, 0, "kernel %d: 25 operands"),
    ROW(no_such_source, "fuse", KEEP, 0, "kernel %d: program: there is no such value as 0"),
    ROW(no_such_result, "fuse", KEEP, 0, "kernel %d: program: the result is value %d of %d"),
    ROW(argument_ahead, "fuse", KEEP, 0, "kernel %d: %s: value %d is made of value 95"),
    ROW(another_map, "fuse", KEEP, 0, "kernel %d: "),
    ROW(one_a_row, "fuse", KEEP, 0, "kernel %d: program: value 0 is not the same in all columns"),
    ROW(another_reduction, "fuse", KEEP, 0, "kernel %d: %s: value %d cannot be reduced"),
    ROW(index_beyond, "fuse", KEEP, 0, "kernel %d: the index of %s goes from 1000 to "),
    ROW(table_too_long, "fuse", KEEP, 0, "kernel %d: program: v[%d] is no table of 11 rows"),
    ROW(another_stream, "fuse", KEEP, 0, "kernel %d: %s: stream 7 is not that of v[%d]"),
    ROW(numbers_beyond, "fuse", KEEP, 0, "kernel %d: the index of %s goes from 1 to "),
    ROW(no_end_of_columns, "fuse", KEEP, 0, "kernel %d: program: value %d cannot be reduced"),
    ROW(no_product, "fuse", KEEP, 0, "kernel %d: program: it takes the product 0 times"),
    ROW(sum_too_short, "fuse", KEEP, 0, "kernel %d: K or N is not the extent of its loop"),
    ROW(no_core, "fuse", KEEP, 0, "kernel %d: its core is no matmul"),
    ROW(another_matrix, "fuse", KEEP, 0, "kernel %d: its packed weights v[%d] are no "),
    ROW(no_epilogue, "fuse", KEEP, 0, "kernel %d: it has no program"),
    ROW(keys_too_few, "fuse", KEEP, 0, "kernel %d: there are not as many keys as its loop has"),
    ROW(keys_elsewhere, "fuse", KEEP, 0, "kernel %d: the index of key goes from "),
    ROW(values_by_query, "fuse", KEEP, 0, "kernel %d: the index of value goes along atom %d"),
    ROW(too_many_bounds, "fuse", KEEP, 0, "kernel %d: it has 5 bounds"),
    PARTS(no_edge, "fuse", "kernel %d: bound 0 has no edge, or two that move"),
    PARTS(edges_that_both_move, "fuse", "kernel %d: bound 0 has no edge, or two that move"),
    PARTS(columns_not_made, "fuse", "kernel %d: the parts of its rows are no rows"),
    PARTS(part_twice, "fuse", "kernel %d: the parts of its rows are no rows"),
    PARTS(part_without_program, "fuse", "kernel %d: the parts of its rows are no rows"),
    PARTS(part_of_a_loop, "fuse", "kernel %d: an atom has two parts, or does not exist"),
    PARTS(biases_exchanged, "plan", "kernel %d: its parameter v[%d] is not where it reads it"),
    ROW(one_gradient_twice, "fuse", KEEP, 0, "kernel %d: it does not store part %d of v[%d]"),
    KERNEL(SLOPES, stored_nowhere, "kernel %d: it stores no node %d for result %d"),
    KERNEL(BIAS, stored_in_an_input, "kernel %d: v[%d] is no node that it can store besides"),
    KERNEL(BIAS, stored_in_another, "kernel %d: v[%d] has 2 of its results"),
    KERNEL(SLOPES, gradient_stored_twice, "kernel %d: v[%d] has 2 of its results"),
    ROW(stored_apart, "fuse", KEEP, 0, "kernel %d: it stores no node %d for result %d"),
    KERNEL(BIAS, stored_too_many, "kernel %d: it stores %d nodes"),
    KERNEL(BIAS, stored_no_node, "kernel %d: no such node"),
    TILES(joined_too_many, "join_tiles", "kernel %d: it stores 7 nodes"),
    TILES(joined_without_value, "join_tiles", "kernel %d: program: it has %d values and 2 results"),
    TILES(joined_value_not_there, "join_tiles", "kernel %d: program: the result is value %d of %d"),
    TILES(joined_node_twice, "join_tiles", "kernel %d: v[%d] is no node that it can store besides"),
    TILES(joined_node_of_an_input, "join_tiles",
          "kernel %d: v[%d] is no node that it can store besides"),
    TILES(joined_moved, "join_tiles", "kernel %d: the index of its result goes from 1 to "),
    TILES(joined_left_out, "join_tiles", "node %d: no kernel stores all of it"),
    GRADS(gradients_exchanged, "node %d: the gradients of an attention have other products"),
    GRADS(gradients_from_another_on,
          "node %d: the gradients of an attention are no results of one kernel"),
    GRADS(gradient_listed_twice,
          "node %d: the gradients of an attention are no results of one kernel"),
    GRADS(gradient_used_inside,
          "node %d: the gradients of an attention are no results of one kernel"),
    ROW(gradients_not_joined, "join_grads", KEEP, 0,
        "node %d: the gradients of an attention are no results of one kernel"),
    TILES(stored_beside_its_state, "states",
          "node %d: it is not stored in the state that it replaces"),
    TILES(joined_over_what_is_read, "join_tiles",
          "kernel %d: it reads v[%d], where v[%d] is written over it"),
    KERNEL(SLOPES, array_too_many, "kernel %d: array %d is not there, or nothing is made of it"),
    KERNEL(SLOPES, gradient_of_no_sink,
           "kernel %d: array 0 is not there, or nothing is made of it"),
    KERNEL(SLOPES, array_of_no_kind, "kernel %d: array 0 is not there, or nothing is made of it"),
    KERNEL(BIAS, sums_at_once, "kernel %d: its loops are not those that its arrays are summed"),
    KERNEL(BIAS, array_summed_further, "kernel %d: its loops do not go through the elements"),
    KERNEL(SLOPES, sums_elsewhere, "kernel %d: the index of its result goes from "),
    KERNEL(SLOPES, sums_for_each_key, "kernel %d: the index of its result goes along atom"),
    KERNEL(BIAS, scores_of_scores, "kernel %d: scores: value 0 is of scores that are not there"),
    KERNEL(TABLE, index_without_table, "kernel %d: it has an index for no table"),
    KERNEL(TABLE, table_without_index, "kernel %d: it has an index for no table, or a table"),
    KERNEL(TABLE, table_too_short, "kernel %d: its loops do not go through the elements"),
    ROW(rows_too_many, "fuse", KEEP, 0, "kernel %d: the index of a goes from 0 to 0, of "),
    /* steps */
    ROW(another_function, "outline", KEEP, 0, "kernel %d: it differs from the kernel whose"),
    ROW(later_function, "outline", KEEP, 0, "kernel 0: its function is not that of an earlier"),
    ROW(differs_a_little, "outline", KEEP, 0, "kernel %d: it differs from the kernel whose"),
    ROW(step_left_out, "outline", KEEP, 0, "kernel %d: no step calls it"),
    ROW(step_twice, "outline", KEEP, 0, "step 1: it calls kernel 0, kernel 1 is next"),
    ROW(no_such_loop, "outline", KEEP, 0, "step 0: there is no loop %d"),
    ROW(loop_too_long, "outline", KEEP, 0, "kernel %d: the iterations of its loop differ"),
    ROW(loop_too_short, "outline", KEEP, 0, "step %d: it calls kernel %d, kernel %d is next"),
    ROW(no_period, "outline", KEEP, 0, "kernel %d: its loop has no iterations"),
    ROW(no_direction, "outline", KEEP, 0, "kernel %d: the layers of its loop are not numbers"),
    ROW(layers_below_zero, "outline", KEEP, 0, "kernel %d: the layers of its loop are not numbers"),
    /* the plan */
    ROW(live_values_overlap, "plan", KEEP, 0, "kernel %d: it reads v[%d], where v[%d] is written"),
    ROW(layers_share_a_buffer, "plan", KEEP, 0, "kernel %d: it reads v[%d], where v[%d] is "),
    ROW(result_over_operand, "plan", KEEP, 0, "kernel %d: it reads v[%d], where v[%d] is written"),
    ROW(beyond_the_arena, "plan", KEEP, 0, "kernel %d: its result v[%d] lies outside the arena"),
    ROW(before_the_arena, "plan", KEEP, 0, "kernel %d: its result v[%d] lies outside the arena"),
    ROW(between_cache_lines, "plan", KEEP, 0, "kernel %d: its result v[%d] lies outside the arena"),
    ROW(arena_too_small, "plan", KEEP, 0, "kernel %d: its result v[%d] lies outside the arena"),
    ROW(bound_too_low, "plan", KEEP, 0, "arena: at least %d floats are claimed, %d are live"),
    ROW(output_in_the_arena, "plan", KEEP, 0, "kernel %d: its result v[%d] lies in the wrong"),
    ROW(outputs_exchanged, "plan", KEEP, 0, "kernel %d: its result v[%d] lies in the wrong space"),
    ROW(another_input, "plan", KEEP, 0, "kernel %d: its operand v[%d] lies in the wrong space"),
    ROW(weights_too_small, "plan", KEEP, 0, "layout %d of the weights: it lies outside"),
    ROW(plain_in_a_format, "plan", MAY, 0, "kernel %d: it differs from the kernel whose function"),
    ROW(weights_overlap, "plan", KEEP, 0, "layout %d of the weights: it overlaps another"),
    ROW(weights_of_no_parameter, "plan", KEEP, 0, "layout 0 of the weights: it is of no parameter"),
    ROW(weights_of_another, "plan", KEEP, 0, "kernel %d: its "),
    ROW(weights_beyond_a_parameter, "plan", KEEP, 0, "layout %d of the weights: it takes elements"),
    ROW(weights_transposed, "plan", KEEP, 0, "kernel %d: its weights are not packed where"),
    ROW(panels_not_ended, "plan", KEEP, 0, "layout %d of the weights: the pieces of its panels"),
    ROW(columns_left_out, "plan", KEEP, 0, "layout %d of the weights: the pieces of its panels"),
    ROW(packed_elsewhere, "plan", KEEP, 0, "kernel %d: its weights are not packed where"),
    ROW(nothing_packed, "plan", KEEP, 0, "kernel %d: its weights are not packed where"),
    ROW(parameter_elsewhere, "plan", KEEP, 0, "kernel %d: its parameter v[%d] is not where"),
#undef ROW
#undef KERNEL
};

START_TEST(damage_is_caught)
{
    struct cr_pass pass = {.name = "damage",
                           .run = rows[_i].damage,
                           .breaks = rows[_i].breaks,
                           .gives = rows[_i].gives};
    struct cr_module *m = make_module(rows[_i].module);
    run_until(m, rows[_i].after);
    expect_caught(m, &pass, rows[_i].name, rows[_i].message);
}
END_TEST

/* A pass that damages nothing succeeds, whatever properties it declares. */
START_TEST(nothing_is_fine)
{
    struct cr_error error;
    for (int which = 0; which < MODULES; which++) {
        struct cr_module *m = make_module(which);
        struct cr_pass pass = {.name = "nothing", .run = nothing, .gives = CR_HAS_SIMPLE};
        run_until(m, "simplify");
        ck_assert_msg(cr_run_pass(m, &pass, &error) == 0, "%s", error.text);
        cr_module_free(m);
        m = make_module(which);
        pass.gives = 0;
        run_until(m, "plan");
        ck_assert_msg(cr_run_pass(m, &pass, &error) == 0, "%s", error.text);
        cr_module_free(m);
    }
}
END_TEST

/* A pass does not run without the properties that it needs.  A pass removes the properties that it
 * breaks, and all that depend on them. */
START_TEST(needs_are_checked)
{
    struct cr_error error;
    struct cr_module *m = make_module(STACK);
    const struct cr_pass needs = {.name = "needs", .run = no_such_op, .needs = CR_HAS_SIMPLE};
    const struct cr_pass breaks = {.name = "breaks", .run = nothing, .breaks = CR_HAS_KERNELS};
    ck_assert_int_ne(cr_run_pass(m, &needs, &error), 0);
    ck_assert_str_eq(error.text, "bug: pass needs lacks what it needs");
    run_until(m, "plan");
    ck_assert_msg(cr_run_pass(m, &breaks, &error) == 0, "%s", error.text);
    ck_assert_int_eq((int)(m->has & (CR_HAS_KERNELS | CR_HAS_LOOPS | CR_HAS_PLAN)), 0);
    cr_module_free(m);
}
END_TEST

/* Skipping a pass is refused, with a line, if another pass needs its result, and allowed
 * otherwise. */
START_TEST(needed_passes_are_not_skipped)
{
    static const struct {
        const char *skip[2];
        const char *message;
    } skips[] = {
        {{"simplify"}, "--skip simplify: pass join needs it, expected it to be skipped, too"},
        {{"simplify", "join"}, NULL},
        {{"join"}, NULL},
        {{"lift_grads"}, NULL},
        {{"join_grads"}, NULL},
        {{"fuse"}, "--skip fuse: pass states needs it, expected it to be skipped, too"},
        {{"states"}, "--skip states: pass join_tiles needs it, expected it to be skipped, too"},
        {{"recompute"}, NULL},
        {{"outline"}, NULL},
        {{"plan"}, "--skip plan: pass schedule needs it, expected it to be skipped, too"},
    };
    for (size_t i = 0; i < sizeof skips / sizeof *skips; i++) {
        const struct cr_pass_options options = {
            .settings = {.skip = skips[i].skip, .n_skip = skips[i].skip[1] ? 2 : 1}};
        struct cr_error error = {""};
        struct cr_module *m = make_module(STACK);
        int status = cr_run_passes(m, &options, &error);
        ck_assert_msg((status == 0) == !skips[i].message, "--skip %s: %s", skips[i].skip[0],
                      error.text);
        if (status)
            ck_assert_str_eq(error.text, skips[i].message);
        cr_module_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, damage_is_caught, 0, sizeof rows / sizeof *rows);
    tcase_add_test(all, nothing_is_fine);
    tcase_add_test(all, needs_are_checked);
    tcase_add_test(all, needed_passes_are_not_skipped);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
