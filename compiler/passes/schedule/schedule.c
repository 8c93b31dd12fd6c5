/*
 * schedule.c - makes the program from kernels and their memory: calls of runtime functions, inside
 * loops, on addresses in buffers.
 *
 * The module's target determines the sizes of loops.  Kernels that share a function (outline)
 * become one function here, and each call binds its arguments to buffers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/text.h"
#include "compiler/ir/unwind.h"
#include "compiler/passes/fuse/in_place.h"
#include "compiler/passes/module/buffer_offsets.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/plan/lifetimes.h"
#include "compiler/passes/weights/formats.h"
#include "compiler/passes/weights/weights.h"
#include "describe_kernel.h"
#include "kernel_titles.h"
#include "loop_bindings.h"
#include "schedule.h"
#include "schedule_parts.h"
#include "title_parts.h"

struct scheduling {
    struct cr_module *m;
    const struct cr_graph *g;
    struct cr_program *p;
    struct cr_titles titles;
    int *function;  /* by kernel: the kernel's function in the program */
    int64_t *items; /* by kernel: the number of items of its function when all lengths are at their
                       bounds */
    int *buffer;   /* by node: the buffer that stores the node, or CR_NONE */
    int *panels;   /* by node: the buffer of the node's packed panels, or CR_NONE */
    int first_panels; /* the index of the first buffer of panels */
    int (*sizes)[CR_MAX_RANK]; /* by node: the named size of each axis; null if sizes get no
                                  names */
    struct cr_view_strides *views;     /* by node; null if `sizes` is null */
};

/* ---- buffers ---- */

static int64_t bytes_of(int64_t floats)
{
    return floats * (int64_t)sizeof(float);
}

/* Converts an offset of the plan, in floats, to bytes; the offset of a port or literal is its
 * number. */
static struct cr_location location_of(const struct cr_storage *storage)
{
    bool counted = storage->space != CR_SPACE_ARENA && storage->space != CR_SPACE_WEIGHTS;
    return (struct cr_location){storage->space,
                                counted ? storage->offset : bytes_of(storage->offset), 0};
}

/* Returns the name for joined parameters: the last part of the first parameter's name, such as
 * "bias". */
static const char *name_of_joined(const struct cr_graph *g, cr_id id)
{
    const char *first = g->nodes[cr_joined_param(g, id, 0)].name, *dot = strrchr(first, '.');
    return dot ? dot + 1 : first;
}

/* Returns the node from which reshapes and permutes compute node `id`, or `id`. */
static cr_id origin_of(const struct cr_graph *g, cr_id id)
{
    while (g->nodes[id].op == CR_OP_reshape || g->nodes[id].op == CR_OP_permute)
        id = cr_in(g, id, 0);
    return id;
}

/* Adds a buffer with the shape and type of node `id`, at the location `at`. */
static struct cr_buffer *add_buffer(struct scheduling *s, cr_id id, struct cr_location at)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cr_buffer *buffer = CR_PUSH(s->p->buffers, s->p->n_buffers, s->p->cap_buffers);
    char title[256];
    cr_node_title(title, sizeof title, &s->titles, id);
    if (cr_is_joined(s->g, id))
        snprintf(title, sizeof title, "%s", name_of_joined(s->g, id));
    *buffer = (struct cr_buffer){.name = cr_strdup(node->name ? node->name : title),
                                 .format = cr_format_of(node->dtype),
                                 .rank = node->rank,
                                 .space = at.space,
                                 .offset = at.offset,
                                 .alias = CR_NONE};
    memcpy(buffer->shape, node->shape, sizeof buffer->shape);
    for (int i = 0; i < CR_MAX_RANK; i++)
        buffer->length[i] = cr_length_at(s->g, id, i) - 1;
    if (s->sizes)
        memcpy(buffer->size, s->sizes[id], sizeof buffer->size);
    buffer->bytes = cr_format_bytes(buffer->format, cr_elements(node->rank, node->shape));
    return buffer;
}

/* Finds the buffer of panels at this offset that a kernel of another entry added, and uses it for
 * this kernel.  Returns false if there is none. */
static bool find_panels(struct scheduling *s, const struct cr_kernel *k, int64_t floats)
{
    const struct cr_program *p = s->p;
    for (int i = s->first_panels; k->entry && i < p->n_buffers; i++)
        if (p->buffers[i].offset == bytes_of(floats))
            s->panels[cr_packed(k)] = i;
    return s->panels[cr_packed(k)] != CR_NONE;
}

/* Returns the named size of an axis; 0 if it has none, or if the axis does not have this many
 * elements. */
static int size_of_axis(const struct cr_buffer *buffer, int axis, int64_t elements)
{
    return buffer->shape[axis] == elements ? buffer->size[axis] : 0;
}

/* Gives a buffer the shape of K x N panels: rows rounded up to blocks, columns to panels.  It is
 * the buffer of a matrix or, if `is_table`, of a table whose rows become columns.  Panels have no
 * lengths, because the whole weight is packed. */
static void set_panels(struct cr_buffer *buffer, enum cr_format format, int64_t K, int64_t N, bool is_table)
{
    const int64_t shape[2] = {cr_block_rows(format, K), cr_round_up(N, CR_PANEL_FLOATS)};
    const int rows = buffer->rank - (is_table ? 1 : 2), columns = buffer->rank - (is_table ? 2 : 1);
    const int size[2] = {size_of_axis(buffer, rows, shape[0]), size_of_axis(buffer, columns, shape[1])};
    buffer->format = format;
    buffer->rank = 2;
    memcpy(buffer->shape, shape, sizeof shape);
    memcpy(buffer->size, size, sizeof size);
    buffer->length[0] = buffer->length[1] = CR_NONE;
    buffer->bytes = cr_format_bytes(format, buffer->shape[0] * buffer->shape[1]);
}

/* Adds the buffer for the panels of a kernel's weight matrix, unless it exists. */
static void add_panels(struct scheduling *s, const struct cr_kernel *k, int64_t floats)
{
    if (s->panels[cr_packed(k)] != CR_NONE || find_panels(s, k, floats))
        return;
    struct cr_location at = {CR_SPACE_WEIGHTS, bytes_of(floats), 0};
    struct cr_buffer *buffer = add_buffer(s, cr_packed(k), at);
    const char *name = s->g->nodes[origin_of(s->g, cr_packed(k))].name;
    if (name) {
        free((char *)buffer->name);
        buffer->name = cr_strdup(name);
    }
    const struct cr_node *matrix = &s->g->nodes[cr_packed(k)];
    set_panels(buffer, cr_panel_format(s->g, cr_packed(k)), matrix->shape[matrix->rank - 2],
               cr_panel_columns(s->g, cr_packed(k)), false);
    s->panels[cr_packed(k)] = s->p->n_buffers - 1;
}

/* Adds the buffer for the panels of a table: a row of the table is a column of the panels. */
static int add_table(struct scheduling *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cr_buffer *buffer = add_buffer(s, id, location_of(&s->m->storage[id]));
    set_panels(buffer, cr_kept_format(s->g, id), node->shape[1], node->shape[0], true);
    return s->p->n_buffers - 1;
}

/* Allocates all buffers at once, because there are many. */
static void reserve_buffers(struct scheduling *s)
{
    int n = 0;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        n += s->m->storage[id].space != CR_SPACE_NONE;
    for (int i = 0; i < s->m->n_kernels; i++)
        n += cr_packed(&s->m->kernels[i]) != CR_NONE;
    s->p->buffers = cr_calloc((size_t)n, sizeof *s->p->buffers);
    s->p->cap_buffers = n;
}

/* Adds buffers for stored nodes, in the order of their numbers, then for panels of weights.  Equal
 * panels share a buffer, and a table shares the buffer of the panels that have its rows. */
static void add_buffers(struct scheduling *s)
{
    reserve_buffers(s);
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        s->buffer[id] = s->panels[id] = CR_NONE;
        if (s->m->storage[id].space == CR_SPACE_NONE || s->m->columns_of[id] != CR_NONE)
            continue;
        add_buffer(s, id, location_of(&s->m->storage[id]));
        s->buffer[id] = s->p->n_buffers - 1;
    }
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (cr_state_of(s->m, id) != CR_NONE)
            s->p->buffers[s->buffer[id]].alias = s->buffer[cr_state_of(s->m, id)];
    s->first_panels = s->p->n_buffers;
    for (int i = 0; i < s->m->n_kernels; i++)
        if (cr_packed(&s->m->kernels[i]) != CR_NONE)
            add_panels(s, &s->m->kernels[i], s->m->packed[i]);
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (s->m->columns_of[id] != CR_NONE)
            s->buffer[id] = s->m->columns_of[id] == id ? add_table(s, id)
                                                       : s->panels[s->m->columns_of[id]];
}

/* Adds the literals, in the order of the numbers that the pass `plan` gave them. */
static void add_literals(struct scheduling *s)
{
    struct cr_program *p = s->p;
    p->literals = cr_calloc((size_t)cr_n_literals(s->g), sizeof *p->literals);
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        const struct cr_node *node = &s->g->nodes[id];
        if (node->op != CR_OP_literal || s->m->storage[id].offset < p->n_literals)
            continue;
        const struct cr_literal *literal = cr_literal_of(s->g, node);
        size_t bytes = (size_t)literal->n * sizeof *literal->words;
        uint32_t *words = cr_calloc(1, bytes);
        memcpy(words, literal->words, bytes);
        p->literals[p->n_literals++] = (struct cr_literal){literal->dtype, literal->n, words};
    }
}

/* ---- names ---- */

/* Returns the function that computes node `id`, or null if it has not been added. */
static const struct cr_function *maker_of(const struct scheduling *s, cr_id id)
{
    int kernel = s->g->nodes[id].kernel;
    if (kernel == CR_NONE || s->m->kernels[kernel].root != id ||
        s->function[s->m->function[kernel]] == CR_NONE)
        return NULL;
    return &s->p->functions[s->function[s->m->function[kernel]]];
}

/* Returns the end of a title: as many whole words as fit in `most` letters. */
static const char *last_words(const char *title, size_t most)
{
    const char *word = title;
    while (strlen(word) > most && strchr(word, '_'))
        word = strchr(word, '_') + 1;
    return strlen(word) > most ? title + strlen(title) - most : word;
}

/* Writes a name for a node that has none: its scope and its op, such as "loss_max". */
static void name_by_scope(const struct scheduling *s, cr_id id, char *plain, size_t size)
{
    struct cr_text title = {0};
    cr_put(&title, "%s", s->g->nodes[id].where.scope);
    cr_put_op(&title, s->m, id);
    cr_identifier(plain, size, title.data + (*title.data == '.'));
    free(title.data);
}

/* Writes the name of an operand: its own name or tap, the name of joined parameters, the name of
 * the function that computes it, or its scope and op. */
static void name_operand(const struct scheduling *s, cr_id id, char *plain, size_t size)
{
    const struct cr_node *node = &s->g->nodes[id];
    const struct cr_function *maker = maker_of(s, id);
    if (node->name || node->tap)
        cr_identifier(plain, size, node->name ? node->name : node->tap);
    else if (cr_is_joined(s->g, id))
        cr_identifier(plain, size, name_of_joined(s->g, id));
    else if (maker)
        snprintf(plain, size, "k%d_%s", maker->number, last_words(maker->title, 40));
    else
        name_by_scope(s, id, plain, size);
}

/* Returns the shape of a node with lengths and sizes by name, such as "[n, 3 * N_EMBD]"; the caller
 * frees it. */
static char *shape_note(const struct scheduling *s, cr_id id)
{
    const struct cr_node *node = &s->g->nodes[id];
    struct cr_text t = {0};
    char name[512];
    for (int i = 0; i < node->rank; i++) {
        int length = cr_length_at(s->g, id, i), size = s->sizes ? s->sizes[id][i] : 0;
        cr_axis_text(length ? &s->g->lengths[length - 1] : NULL, s->p->sizes, size, node->shape[i], name, sizeof name);
        cr_put(&t, "%s%s", i ? ", " : "[", name);
    }
    cr_put(&t, node->rank ? "]" : "[]");
    return cr_take_text(&t);
}

/* Adds a slot that calls bind to a buffer or a number. */
static int add_argument(struct cr_function *f, enum cr_slot_kind kind, enum cr_format format,
                        const char *name)
{
    struct cr_slot *slot = CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    *slot = (struct cr_slot){.kind = kind, .format = format, .length = CR_NONE};
    snprintf(slot->name, sizeof slot->name, "%s", name);
    return f->n_bound++;
}

/* True if an argument may not have this name, because an earlier argument has it or it is reserved
 * in C. */
static bool is_taken(const struct cr_builder *b, const char *name)
{
    bool taken = cr_is_reserved(name);
    for (int i = 0; i < b->f->n_bound; i++)
        taken |= strcmp(name, b->f->slots[i].name) == 0;
    return taken;
}

/* Writes the name of the next argument: `plain` or, if that name is taken, v<index>_<plain>. */
static void name_field(const struct cr_builder *b, const char *plain, char name[64])
{
    if (is_taken(b, plain))
        snprintf(name, 64, *plain ? "v%d_%s" : "v%d", b->f->n_bound, plain);
    else
        snprintf(name, 64, "%s", plain);
}

/* Adds an argument for a node in memory, with a unique name like `plain`. */
static int add_node(const struct scheduling *s, struct cr_builder *b, cr_id id, const char *plain)
{
    char name[64];
    name_field(b, plain, name);
    int slot = add_argument(b->f, CR_SLOT_ARGUMENT, cr_format_of(s->g->nodes[id].dtype), name);
    b->f->slots[slot].note = shape_note(s, id);
    return slot;
}

/* Writes the name of an operand without the number of the kernel that computes it, also if the function of that
 * kernel has not been added. */
static void words_of_operand(const struct scheduling *s, cr_id id, char words[64])
{
    const struct cr_node *node = &s->g->nodes[id];
    int kernel = node->kernel;
    bool computed = kernel != CR_NONE && s->m->kernels[kernel].root == id;
    if (!node->name && !node->tap && !cr_is_joined(s->g, id) && computed)
        cr_function_name(words, &s->titles, s->m->kernels[s->m->function[kernel]].root);
    else
        name_operand(s, id, words, 64);
}

/* Returns the last words that two names have in common; "" if they have none. */
static const char *common_words(const char *name, const char *other)
{
    const char *common = "", *at = name + strlen(name), *end = other + strlen(other);
    while (at > name && end > other && at[-1] == end[-1]) {
        at--, end--;
        if ((at == name || at[-1] == '_') && (end == other || end[-1] == '_'))
            common = at;
    }
    return common;
}

/* Shortens the name of an operand of a kernel, for readers, to the words that it has in common with the names of the
 * operands that other kernels of the same code have in its place: the first layer reads the embedding, the others
 * what the layer before them has computed.  Without such words the name is x. */
static void share_name(const struct scheduling *s, int kernel, int ref, char *plain, size_t size)
{
    char other[64], shared[64];
    if (!s->sizes)
        return;
    words_of_operand(s, s->m->kernels[kernel].refs[ref], shared);
    const size_t length = strlen(shared);
    for (int k = kernel + 1; k < s->m->n_kernels; k++) {
        if (s->m->function[k] != kernel)
            continue;
        words_of_operand(s, s->m->kernels[k].refs[ref], other);
        const char *words = common_words(shared, other);
        memmove(shared, words, strlen(words) + 1);
    }
    if (strlen(shared) < length)
        snprintf(plain, size, "%s", last_words(*shared && !(*shared >= '0' && *shared <= '9') ? shared : "x", 40));
}

static int add_operand(const struct scheduling *s, struct cr_builder *b, int kernel, int ref)
{
    cr_id id = b->k->refs[ref];
    char plain[48];
    name_operand(s, id, plain, sizeof plain);
    share_name(s, kernel, ref, plain, sizeof plain);
    return add_node(s, b, id, plain);
}

/* Adds an argument for a node that the kernel stores besides its buffer.  The argument gets the
 * name that it would have if the node had its own kernel. */
static int add_stored(const struct scheduling *s, struct cr_builder *b, cr_id id)
{
    char title[256], plain[48];
    cr_node_title(title, sizeof title, &s->titles, id);
    if (s->titles.name[id])
        cr_identifier(plain, sizeof plain, title);
    else
        name_by_scope(s, id, plain, sizeof plain);
    int slot = add_node(s, b, id, plain);
    b->f->slots[slot].written = true;
    return slot;
}

/* True if a loop of the kernel runs to a length, or if the length is the number of rows of a table
 * that it reads. */
static bool runs_to(const struct cr_kernel *k, int length)
{
    for (int a = 0; a < k->atoms.n; a++)
        if (k->atoms.length[a] == length + 1)
            return true;
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++)
            if (tiles->values[i].table_length == length + 1)
                return true;
    return false;
}

/* Adds an argument for the packed weights, named after the parameter if there is only one. */
static int add_weights(const struct scheduling *s, struct cr_builder *b)
{
    cr_id packed = cr_packed(b->k), id = origin_of(s->g, packed);
    char plain[48];
    name_operand(s, id, plain, sizeof plain);
    int slot = add_node(s, b, packed, s->g->nodes[id].name ? plain : "w");
    b->f->slots[slot].format = cr_panel_format(s->g, packed);
    b->f->slots[slot].packed = true;
    return slot;
}

static int bind_number(struct cr_builder *b, const char *name, const char *note)
{
    int slot = add_argument(b->f, CR_SLOT_NUMBER, CR_FORMAT_i32, name);
    b->f->slots[slot].note = cr_strdup(note);
    return slot;
}

/* Returns the input that holds the value of a length. */
static cr_id holder_of(const struct cr_graph *g, int length)
{
    cr_id id = 0;
    while (!cr_holds_length(g, id) || cr_find_length(g, g->nodes[id].name) != length)
        id++;
    return id;
}

/* Writes the bound of a length: the named size of an axis that has this length, or else a number. */
static void bound_text(const struct scheduling *s, int length, char *text, size_t bytes)
{
    int size = 0;
    for (cr_id id = 0; s->sizes && !size && id < s->g->n_nodes; id++)
        for (int axis = 0; axis < s->g->nodes[id].rank; axis++)
            if (cr_length_at(s->g, id, axis) == length + 1 && cr_is_named(s->p->sizes, s->sizes[id][axis]))
                size = s->sizes[id][axis];
    cr_axis_text(NULL, s->p->sizes, size, s->g->lengths[length].bound, text, bytes);
}

/* Adds an argument for each length that the kernel needs: a number, or for a ragged length an array
 * with a size for each row. */
static void add_lengths(const struct scheduling *s, struct cr_builder *b)
{
    char plain[48], name[64], bound[128], note[200];
    for (int i = 0; i < s->g->n_lengths; i++) {
        b->length[i] = b->of_row[i] = CR_NONE;
        if (!runs_to(b->k, i))
            continue;
        cr_identifier(plain, sizeof plain, s->g->lengths[i].name);
        name_field(b, plain, name);
        bound_text(s, i, bound, sizeof bound);
        snprintf(note, sizeof note, "%.60s, at most %s", s->g->lengths[i].name, bound);
        b->length[i] = s->g->lengths[i].batch ? add_node(s, b, holder_of(s->g, i), name)
                                              : bind_number(b, name, note);
        b->f->slots[b->length[i]].length = i;
    }
}

/* Adds the arguments in the order of the fields in emitted C: operands, the second and later stored
 * nodes, weights, random streams, lengths, and last the first stored node. */
static void add_arguments(const struct scheduling *s, struct cr_builder *b, int kernel)
{
    const struct cr_kernel *k = b->k;
    char name[32];
    for (int i = 0; i < k->n_refs; i++) {
        b->ref[i] = add_operand(s, b, kernel, i);
        if (s->m->columns_of[k->refs[i]] != CR_NONE) {
            b->f->slots[b->ref[i]].packed = true;
            b->f->slots[b->ref[i]].format = cr_kept_format(s->g, k->refs[i]);
        }
    }
    for (int i = 1; i < k->n_stored; i++)
        b->stored[i] = add_stored(s, b, k->stored[i]);
    b->weight = CR_NONE;
    if (cr_packed(k) != CR_NONE)
        b->weight = add_weights(s, b);
    for (int i = 0; i < k->n_streams; i++) {
        snprintf(name, sizeof name, "stream%d", i);
        b->stream[i] = bind_number(b, name, "of random numbers");
    }
    add_lengths(s, b);
    b->out = add_argument(b->f, CR_SLOT_ARGUMENT, cr_format_of(s->g->nodes[k->root].dtype), "out");
    b->f->slots[b->out].written = true;
    b->f->slots[b->out].note = shape_note(s, k->root);
    b->f->slots[b->out].partly = cr_parts_of(k)->writes_rows;
}

/* ---- functions ---- */

static void add_own_vars(struct cr_function *f)
{
    static const char *const names[] = {"begin", "end", "item"};
    for (int i = 0; i < CR_N_OWN_VARS; i++) {
        struct cr_var *var = CR_PUSH(f->vars, f->n_vars, f->cap_vars);
        *var = (struct cr_var){.changes = false};
        snprintf(var->name, sizeof var->name, "%s", names[i]);
    }
}

/* Returns the kernel from which a function is made.  If calls pass the offset of each operand
 * (m->starts), this is *copy, in which operands begin at 0. */
static const struct cr_kernel *code_of(const struct scheduling *s, int kernel,
                                       struct cr_kernel *copy)
{
    if (!s->m->starts)
        return &s->m->kernels[kernel];
    cr_kernel_copy(copy, &s->m->kernels[kernel]);
    cr_set_buffer_offsets(copy, &s->m->starts[kernel]);
    return copy;
}

/* Returns the product of the extents of the outer loops, and sets *named to true if a size in it
 * has a name. */
static cr_expr count_outer(struct cr_builder *b, bool *named)
{
    struct cr_named_sizes *sizes = cr_named_sizes_of(b->g);
    int size = cr_plain_size(sizes, 1);
    for (int i = 0; i < b->k->n_outer; i++)
        if (cr_extent(b->k, b->k->outer[i]) > 1)
            size = cr_size_product(sizes, size, b->atom_size[b->k->outer[i]]);
    *named = cr_is_named(sizes, size);
    return cr_named_number(b, cr_outer_items(b->k), *named ? size : 0);
}

/* Returns the number of parts of an axis as an expression, such as "N_EMBD / 32" or "(N_EMBD + 31)
 * / 32".  Sets *named to true if the size of the axis has a name. */
static cr_expr count_parts(struct cr_builder *b, const struct cr_item_part *part, bool *named)
{
    cr_expr elements = cr_named_number(b, part->elements, part->size);
    cr_expr step = cr_named_number(b, part->step, part->step_size);
    *named |= part->size != 0;
    if (part->elements % part->step && part->step_size)
        elements = cr_unfolded(b, CR_EXPR_SUB, cr_unfolded(b, CR_EXPR_ADD, elements, step), cr_number(b, 1));
    else if (part->elements % part->step)
        elements = cr_unfolded(b, CR_EXPR_ADD, elements, cr_number(b, part->step - 1));
    return part->step == 1 ? elements : cr_unfolded(b, CR_EXPR_DIV, elements, step);
}

/* Returns the number of items.  If sizes in it have names, it is written as the product of the
 * outer loops and of the parts of axes. */
static cr_expr count_items(struct cr_builder *b, int64_t items)
{
    int64_t product = cr_outer_items(b->k);
    bool named = false;
    for (int i = 0; i < b->n_item_parts; i++)
        product *= cr_ceil_div(b->item_parts[i].elements, b->item_parts[i].step);
    if (!b->node_sizes || product != items || items == 1)
        return cr_number(b, items);
    cr_expr count = count_outer(b, &named);
    for (int i = 0; i < b->n_item_parts; i++) {
        cr_expr parts = count_parts(b, &b->item_parts[i], &named);
        bool one = i == 0 && cr_outer_items(b->k) == 1;
        count = one ? parts : cr_unfolded(b, CR_EXPR_MUL, count, parts);
    }
    return named ? count : cr_number(b, items);
}

/* Adds the function of a kernel: first its name and arguments, to which the body refers; then the
 * body; then the comment. */
static void add_function(struct scheduling *s, int kernel)
{
    struct cr_function *f = CR_PUSH(s->p->functions, s->p->n_functions, s->p->cap_functions);
    struct cr_kernel copy;
    struct cr_builder b = {.m = s->m,
                           .g = s->g,
                           .k = code_of(s, kernel, &copy),
                           .target = s->m->settings.target,
                           .f = f,
                           .node_sizes = s->sizes,
                           .views = s->views,
                           .writes_over = s->m->lies_over[kernel] ||
                                          cr_writes_over(s->m, &s->m->kernels[kernel]),
                           .items = CR_NONE};
    char title[256];
    *f = (struct cr_function){.number = s->p->n_functions, .sizes = s->p->sizes};
    cr_function_title(title, sizeof title, &s->titles, b.k->root);
    cr_function_name(f->title, &s->titles, b.k->root);
    if (!*f->title)
        snprintf(f->title, sizeof f->title, "tile");
    add_own_vars(f);
    add_arguments(s, &b, kernel);
    b.node = cr_main_node(b.k);
    cr_name_atoms(&b);
    cr_name_loops(&b);
    s->items[kernel] = cr_kernel_kinds[b.k->kind].schedule(&b);
    cr_drop_unused(&b);
    cr_name_strides(&b);
    f->items = b.items == CR_NONE ? count_items(&b, s->items[kernel]) : b.items;
    f->comment = cr_describe(&b, title);
    if (b.k == &copy)
        cr_kernel_free(&copy);
    s->function[kernel] = s->p->n_functions - 1;
    if (s->p->scratch_bytes < bytes_of(f->scratch_floats))
        s->p->scratch_bytes = bytes_of(f->scratch_floats);
}

static void add_functions(struct scheduling *s)
{
    for (int i = 0; i < s->m->n_kernels; i++)
        s->function[i] = CR_NONE;
    for (int i = 0; i < s->m->n_kernels; i++)
        if (s->m->function[i] == i)
            add_function(s, i);
}

/* ---- steps ---- */

/* Returns the buffer (or number) that a call of a kernel binds to slot `slot`. */
static int64_t bound_to(const struct scheduling *s, int kernel, int slot)
{
    const struct cr_kernel *k = &s->m->kernels[kernel];
    int first_weight = k->n_refs + k->n_stored - 1;
    int first_stream = first_weight + (cr_packed(k) != CR_NONE);
    if (slot < k->n_refs)
        return s->buffer[k->refs[slot]];
    if (slot < first_weight)
        return s->buffer[k->stored[1 + slot - k->n_refs]];
    if (slot < first_stream)
        return s->panels[cr_packed(k)];
    if (slot < first_stream + k->n_streams)
        return k->streams[slot - first_stream];
    slot -= first_stream + k->n_streams;
    for (int i = 0; i < s->g->n_lengths; i++)
        if (runs_to(k, i) && slot-- == 0)
            return s->g->lengths[i].batch ? s->buffer[holder_of(s->g, i)] : i;
    return s->buffer[k->buffer];
}

/* Returns the offset in bytes at which a kernel's operand begins in the buffer of a slot.  The
 * first slots are the kernel's refs, the last one is its result. */
static int64_t start_in(const struct scheduling *s, int kernel, int slot, int n_bound)
{
    int ref = slot == n_bound - 1 ? CR_START_RESULT : slot;
    if (!s->m->starts || (ref != CR_START_RESULT && slot >= s->m->kernels[kernel].n_refs))
        return 0;
    return bytes_of(s->m->starts[kernel].at[ref]);
}

/* Adds the binding of a slot: the argument in each iteration, and a formula for their locations
 * (loop_bindings.h). */
static void add_binding(struct scheduling *s, const struct cr_loop *loop, int kernel, int slot,
                        const struct cr_function *f)
{
    struct cr_program *p = s->p;
    struct cr_binding *binding = CR_PUSH(p->bindings, p->n_bindings, p->cap_bindings);
    int n = loop ? loop->count : 1;
    struct cr_location *at = cr_calloc((size_t)n, sizeof *at);
    *binding = (struct cr_binding){.first_buffer = p->n_bound};
    for (int i = 0; i < n; i++) {
        int k = kernel + (loop ? i * loop->period : 0);
        struct cr_given given = {bound_to(s, k, slot), start_in(s, k, slot, f->n_bound)};
        *CR_PUSH(p->bound, p->n_bound, p->cap_bound) = given;
        at[i] = cr_location_of(p, &f->slots[slot], given);
    }
    cr_find_form(p, binding, loop, at);
    free(at);
}

/* Makes a step's binding of packed weights select one matrix of a stack by an i32 that is known at
 * run time. */
static void add_choice(struct scheduling *s, const struct cr_kernel *k, const struct cr_step *step)
{
    const struct cr_function *f = &s->p->functions[step->function];
    const struct cr_packed_weights *weights = cr_weights_of(k);
    const struct cr_operand *by = &weights->choice;
    const struct cr_node *stack = &s->g->nodes[weights->node];
    int weight = k->n_refs + k->n_stored - 1;
    struct cr_binding *binding = &s->p->bindings[step->first_binding + weight];
    enum cr_format format = f->slots[weight].format;
    binding->choice.bound = weights->choices;
    binding->choice.by = step->first_binding + by->ref;
    binding->choice.element =
        by->at.base - start_in(s, (int)(k - s->m->kernels), by->ref, f->n_bound) / bytes_of(1);
    binding->choice.stride =
        cr_column_units(format, stack->shape[1]) * stack->shape[2] * cr_formats[format].unit;
}

/* Adds the step that runs a kernel.  In a loop over layers the step also runs the same kernel of
 * the other layers. */
static void add_step(struct scheduling *s, const struct cr_loop *loop, int kernel)
{
    struct cr_program *p = s->p;
    int function = s->function[s->m->function[kernel]];
    const struct cr_function *f = &p->functions[function];
    const struct cr_kernel *k = &s->m->kernels[kernel];
    struct cr_step *step = CR_PUSH(p->steps, p->n_steps, p->cap_steps);
    *step = (struct cr_step){
        .kind = cr_parts_of(k)->step, .function = function, .first_binding = p->n_bindings};
    if (cr_parts_of(k)->lay)
        cr_parts_of(k)->lay(k, step);
    else
        step->call.shares = cr_count_shares(k, s->items[s->m->function[kernel]],
                                            s->m->settings.target);
    int at = p->n_steps - 1;
    for (int slot = 0; slot < f->n_bound; slot++)
        add_binding(s, loop, kernel, slot, f);
    if (cr_weights_of(k) && cr_weights_of(k)->choices)
        add_choice(s, k, &p->steps[at]);
}

/* Returns the stride from layer to layer of the first operand that is in `space` and has a constant
 * positive stride in all iterations; 0 if there is none.  Tries the result of a step before its
 * operands. */
static int64_t find_stride(const struct cr_program *p, int first, int n, enum cr_space space)
{
    struct cr_step_walk walk = cr_walk_steps(p, first, n, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));) {
        int operands = cr_n_operands(p, step);
        for (int i = 0; i < operands; i++) {
            const struct cr_binding *b = cr_operand_binding(p, step, (i + operands - 1) % operands);
            if (b->space == space && b->form == CR_FORM_EVEN && b->stride > 0 &&
                !b->first_differs && !b->last_differs)
                return b->stride;
        }
    }
    return 0;
}

/* Marks operands whose stride from layer to layer equals the loop's: their addresses are relative
 * to the loop's pointer to the current layer. */
static void mark_relative(struct cr_program *p, const struct cr_layers *loop, int first, int n)
{
    struct cr_step_walk walk = cr_walk_steps(p, first, n, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));) {
        for (int i = 0; i < cr_n_operands(p, step); i++) {
            struct cr_binding *b = cr_operand_binding(p, step, i);
            b->relative = b->form == CR_FORM_EVEN &&
                          ((b->space == CR_SPACE_WEIGHTS && b->stride == loop->weights_stride) ||
                           (b->space == CR_SPACE_ARENA && b->stride == loop->arena_stride));
        }
    }
}

/* Adds a loop over layers, whose strides (find_stride) are those of its pointers to the current
 * layer's weights and part of the arena. */
static void add_loop(struct scheduling *s, const struct cr_segment *segment)
{
    struct cr_program *p = s->p;
    const struct cr_loop *loop = &s->m->loops[segment->loop];
    int at = p->n_steps, n = loop->period;
    *CR_PUSH(p->steps, p->n_steps, p->cap_steps) =
        (struct cr_step){.kind = CR_STEP_LOOP,
                         .function = CR_NONE,
                         .loop = {.start = loop->start,
                                  .direction = loop->direction,
                                  .count = loop->count}};
    for (int i = 0; i < n; i++)
        add_step(s, loop, segment->kernel + i);
    struct cr_layers *layers = &p->steps[at].loop;
    layers->weights_stride = find_stride(p, at + 1, n, CR_SPACE_WEIGHTS);
    layers->arena_stride = find_stride(p, at + 1, n, CR_SPACE_ARENA);
    mark_relative(p, layers, at + 1, n);
    *CR_PUSH(p->steps, p->n_steps, p->cap_steps) =
        (struct cr_step){.kind = CR_STEP_END, .function = CR_NONE};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Counts a call of a kernel in the newest entry, and the arena and scratch that it needs. */
static void add_kernel(struct scheduling *s, int kernel)
{
    struct cr_entry *entry = &s->p->entries[s->p->n_entries - 1];
    const struct cr_function *f = &s->p->functions[s->function[s->m->function[kernel]]];
    for (int i = 0; i < s->m->kernels[kernel].n_stored; i++) {
        const struct cr_storage *at = &s->m->storage[s->m->kernels[kernel].stored[i]];
        const struct cr_node *node = &s->g->nodes[s->m->kernels[kernel].stored[i]];
        int64_t end = bytes_of(at->offset + cr_align(cr_elements(node->rank, node->shape)));
        if (at->space == CR_SPACE_ARENA)
            entry->arena_bytes = larger(entry->arena_bytes, end);
    }
    entry->scratch_bytes = larger(entry->scratch_bytes, bytes_of(f->scratch_floats));
    entry->n_calls++;
}

/* Adds the next entry, whose first kernel is `kernel`. */
static void add_entry(struct scheduling *s, int kernel)
{
    const struct cr_graph *g = s->g;
    int number = s->p->n_entries;
    struct cr_entry *entry = CR_PUSH(s->p->entries, s->p->n_entries, s->p->cap_entries);
    *entry = (struct cr_entry){.name = cr_strdup(g->entries[number]),
                               .first_step = s->p->n_steps,
                               .first_call = kernel};
    while (g->outputs[entry->first_output].entry < number)
        entry->first_output++;
    for (int i = 0; i < cr_n_results(g); i++)
        entry->n_outputs += g->outputs[i].entry == number;
    for (int i = kernel; i < s->m->n_kernels && s->m->kernels[i].entry == number; i++)
        add_kernel(s, i);
}

/* Adds all entries with their steps.  Kernels are sorted by entry.  An entry whose outputs have no
 * elements has no kernels and no steps. */
static void add_steps(struct scheduling *s)
{
    struct cr_program *p = s->p;
    for (int i = 0; i < s->m->n_segments; i++) {
        int kernel = s->m->segments[i].kernel;
        while (s->m->kernels[kernel].entry >= p->n_entries)
            add_entry(s, kernel);
        if (s->m->segments[i].loop < 0)
            add_step(s, NULL, kernel);
        else
            add_loop(s, &s->m->segments[i]);
        struct cr_entry *entry = &p->entries[p->n_entries - 1];
        entry->n_steps = p->n_steps - entry->first_step;
    }
    while (p->n_entries < s->g->n_entries)
        add_entry(s, s->m->n_kernels);
}

/* Marks the buffers that an entry's steps use. */
static void mark_buffers(struct scheduling *s, int number)
{
    struct cr_program *p = s->p;
    struct cr_step_walk walk = cr_walk_entry(p, &p->entries[number], false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));) {
        for (int i = 0; i < cr_n_operands(p, step); i++) {
            const struct cr_binding *b = cr_operand_binding(p, step, i);
            bool address = cr_operand_slot(p, step, i)->kind == CR_SLOT_ARGUMENT;
            for (int j = 0; address && j < (walk.loop ? walk.loop->count : 1); j++)
                p->buffers[p->bound[b->first_buffer + j].what].entries |= 1u << number;
        }
    }
}

/* Sets the entries that use each port: for inputs and states those that use their buffers, for
 * lengths all.  If there is only one entry, it uses all inputs. */
static void mark_ports(struct scheduling *s)
{
    struct cr_program *p = s->p;
    for (int i = 0; i < p->n_entries; i++)
        mark_buffers(s, i);
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].space == CR_SPACE_INPUT || p->buffers[i].space == CR_SPACE_STATE)
            p->inputs[p->buffers[i].offset].entries |= p->buffers[i].entries;
    for (int i = 0; p->n_entries == 1 && i < p->n_inputs; i++)
        p->inputs[i].entries = 1;
    for (int i = 0; i < p->n_lengths; i++)
        p->inputs[p->input_of_length[i]].entries = (1u << (p->n_entries - 1) << 1) - 1;
    for (int i = 0; i < p->n_outputs; i++)
        p->outputs[i].entries = 1u << s->g->outputs[i].entry;
}

/* ---- the interface of the program ---- */

/* Adds the lengths, each with the input that holds its value. */
static void add_program_lengths(struct scheduling *s)
{
    struct cr_program *p = s->p;
    int n = 0;
    p->n_lengths = s->g->n_lengths;
    p->lengths = cr_calloc((size_t)p->n_lengths, sizeof *p->lengths);
    p->input_of_length = cr_calloc((size_t)p->n_lengths, sizeof *p->input_of_length);
    for (int i = 0; i < p->n_lengths; i++)
        p->lengths[i] = (struct cr_length){cr_strdup(s->g->lengths[i].name),
                                           s->g->lengths[i].bound, s->g->lengths[i].batch};
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        if (!cr_is_input(&s->g->nodes[id]))
            continue;
        int length = cr_find_length(s->g, s->g->nodes[id].name);
        if (length >= 0)
            p->input_of_length[length] = n;
        n++;
    }
}

/* True if a node is a parameter or, if not `param`, if it is an input or a state. */
static bool is_leaf_port(const struct cr_node *node, bool param)
{
    return param ? node->op == CR_OP_param : cr_is_input(node);
}

/* Returns the ports for parameters or, if not `param`, for inputs and states, in the order of the
 * graph. */
static struct cr_port *leaf_ports(const struct cr_graph *g, bool param, int *n)
{
    *n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        *n += is_leaf_port(&g->nodes[id], param);
    struct cr_port *ports = cr_calloc((size_t)*n, sizeof *ports), *port = ports;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (is_leaf_port(&g->nodes[id], param))
            *port++ = cr_port_of_node(&g->nodes[id], cr_strdup(g->nodes[id].name));
    return ports;
}

/* Adds the ports of parameters, inputs and outputs.  An output's port says whether it may share the
 * memory of an input. */
static void add_ports(struct scheduling *s)
{
    struct cr_program *p = s->p;
    p->params = leaf_ports(s->g, true, &p->n_params);
    p->inputs = leaf_ports(s->g, false, &p->n_inputs);
    p->n_outputs = cr_n_results(s->g);
    p->outputs = cr_calloc((size_t)p->n_outputs, sizeof *p->outputs);
    bool *in_place = cr_find_in_place(s->m);
    for (int i = 0; i < p->n_outputs; i++) {
        p->outputs[i] = cr_port_of_node(&s->g->nodes[s->g->outputs[i].id], cr_output_name(s->g, i));
        p->outputs[i].in_place = in_place[i];
    }
    free(in_place);
    cr_identify_ports(p->inputs, p->n_inputs, p->name);
    cr_identify_ports(p->outputs, p->n_outputs, p->name);
}

static int by_param(const void *a, const void *b)
{
    const struct cr_weight_layout *x = a, *y = b;
    if (x->param != y->param)
        return x->param < y->param ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Adds the layouts of parameters in the weights, sorted by parameter, so that the layouts of one
 * parameter are consecutive. */
static void add_layouts(struct scheduling *s)
{
    struct cr_program *p = s->p;
    int *number = cr_calloc((size_t)s->g->n_nodes, sizeof *number), n = 0;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (s->g->nodes[id].op == CR_OP_param)
            number[id] = n++;
    p->n_layouts = s->m->n_layouts;
    p->layouts = cr_calloc((size_t)p->n_layouts, sizeof *p->layouts);
    for (int i = 0; i < p->n_layouts; i++) {
        const struct cr_layout_info *at = &s->m->layouts[i];
        p->layouts[i] = (struct cr_weight_layout){number[at->param], at->source,     at->rows,
                                         at->cols,          at->row_stride, at->col_stride,
                                         at->target,        at->panel_stride,
                                         at->first_col,     at->last};
    }
    free(number);
    qsort(p->layouts, (size_t)p->n_layouts, sizeof *p->layouts, by_param);
    for (int i = p->n_layouts - 1; i >= 0; i--)
        p->params[p->layouts[i].param].offset = bytes_of(p->layouts[i].target);
}

/* ---- data for reports ---- */

/* Returns the number of bytes of parameters that a call of the kernel reads. */
static double weights_read(const struct cr_module *m, const struct cr_kernel *k)
{
    double bytes = cr_panel_bytes(m->graph, k);
    for (int r = 0; r < k->n_refs; r++)
        if (m->storage[k->refs[r]].space == CR_SPACE_WEIGHTS)
            bytes += cr_ref_bytes(m->graph, k, r);
    return bytes;
}

/* Adds the data for reports on a kernel, with the name of its function in C. */
static void add_info(struct scheduling *s, int kernel)
{
    const struct cr_kernel *k = &s->m->kernels[kernel];
    const struct cr_where *where = &s->g->nodes[k->root].where;
    const struct cr_function *f = &s->p->functions[s->function[kernel]];
    char name[96], line[512];
    snprintf(name, sizeof name, "k%d_%s", f->number, f->title);
    snprintf(line, sizeof line, "%s:%d", where->file, where->line);
    const struct cr_traffic once = {k->bytes_read + k->bytes_written,
                                    k->bytes_read + k->bytes_written};
    s->p->kernels[s->p->n_kernels++] = (struct cr_kernel_info){.name = cr_strdup(name),
                                                               .scope = cr_strdup(where->scope),
                                                               .where = cr_strdup(line),
                                                               .step = cr_parts_of(k)->step,
                                                               .flops = k->flops,
                                                               .bytes_read = k->bytes_read,
                                                               .bytes_written = k->bytes_written,
                                                               .bytes_weights =
                                                                   weights_read(s->m, k),
                                                               .traffic = f->traffic.to_l2 > 0
                                                                              ? f->traffic
                                                                              : once};
}

/* Adds the data of all functions, and the sequence of calls of a run in the order of the kernels.
 * Counts the calls of each function, and the calls that recompute a value. */
static void add_infos(struct scheduling *s)
{
    struct cr_program *p = s->p;
    p->kernels = cr_calloc((size_t)p->n_functions, sizeof *p->kernels);
    p->sequence = cr_calloc((size_t)s->m->n_kernels, sizeof *p->sequence);
    p->n_sequence = s->m->n_kernels;
    for (int i = 0; i < s->m->n_kernels; i++) {
        if (s->m->function[i] == i)
            add_info(s, i);
        p->sequence[i] = s->function[s->m->function[i]];
        p->kernels[p->sequence[i]].calls++;
        p->kernels[p->sequence[i]].again += s->m->kernels[i].again;
    }
    p->ops_before = s->m->ops_before;
}

static void add_sizes(struct scheduling *s)
{
    struct cr_program *p = s->p;
    p->weights_bytes = bytes_of(s->m->weights_floats);
    p->arena_bytes = bytes_of(s->m->arena_floats);
    if (p->n_entries == 1)
        p->entries->arena_bytes = p->arena_bytes; /* with unused layers of stacks */
    p->arena_bytes_least = bytes_of(s->m->lower_bound_floats);
    p->activation_bytes = s->m->activation_floats;
    if (s->m->activation_floats > 0)
        p->activation_bytes = bytes_of(s->m->activation_floats);
}

/* Infers the named sizes of all nodes, if the graph has any; the program shares the table. */
static void take_sizes(struct scheduling *s)
{
    s->p->sizes = cr_named_sizes_of(s->g);
    if (!s->p->sizes)
        return;
    s->p->sizes->users++;
    s->sizes = cr_infer_named_sizes(s->g);
    s->views = cr_find_views(s->m);
    for (int i = 0; i < s->m->n_kernels; i++) {
        struct cr_builder b = {
            .g = s->g, .k = &s->m->kernels[i], .node_sizes = s->sizes, .views = s->views};
        if (s->m->function[i] == i)
            cr_name_atoms(&b); /* to find the size that is printed as HEAD_DIM */
    }
}

/* Makes the program: buffers before the bindings that refer to them, and functions before their
 * steps. */
void cr_pass_schedule(struct cr_module *module)
{
    struct scheduling s = {.m = module, .g = module->graph};
    size_t nodes = (size_t)module->graph->n_nodes, kernels = (size_t)module->n_kernels;
    if (!module->settings.target)
        module->settings.target = &cr_target_generic;
    s.p = cr_calloc(1, sizeof *s.p);
    s.p->name = cr_model_name(s.g->name);
    snprintf(s.p->target, sizeof s.p->target, "%s", module->settings.target->name);
    add_program_lengths(&s);
    s.function = cr_calloc(kernels, sizeof *s.function);
    s.items = cr_calloc(kernels, sizeof *s.items);
    s.buffer = cr_calloc(nodes, sizeof *s.buffer);
    s.panels = cr_calloc(nodes, sizeof *s.panels);
    cr_titles_find(&s.titles, module);
    take_sizes(&s);
    add_buffers(&s);
    add_literals(&s);
    add_functions(&s);
    add_steps(&s);
    add_ports(&s);
    mark_ports(&s);
    add_layouts(&s);
    add_infos(&s);
    add_sizes(&s);
    cr_titles_free(&s.titles);
    free(s.function);
    free(s.items);
    free(s.buffer);
    free(s.panels);
    free(s.sizes);
    free(s.views);
    module->program = s.p;
}
