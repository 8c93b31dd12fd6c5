/*
 * name_sizes.c - gives the numbers in a function's body the names of sizes, for readers of the C.
 *
 * A number gets its name from its origin, not from its value alone.  The extent of a loop has the
 * names of the axes that the loop iterates over, of a tensor or of a view of it.  A stride along an
 * axis has the names of the axes after that axis.  The distance of rows in scratch has the name of
 * the number of columns that a call writes there.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/signature.h"
#include "compiler/passes/module/kernel_kinds.h"

enum { MAX_STRIDES = 24, MAX_SLICES = 16 }; /* the most strides of a slot, and the most slices
                                               before an offset */

/* The strides of a slot, each with its named size.  The first n_own strides are those of the
 * kernel's own indices, the others those of views of the tensor. */
struct strides {
    struct {
        int64_t value;
        int size;
    } items[MAX_STRIDES];
    int n, n_own;
    cr_id tensor; /* the tensor that the slot holds, or CR_NONE */
};

/* The named sizes found so far for the numbers of a function. */
struct naming {
    struct cr_builder *b;
    struct cr_named_sizes *table;
    int (*sizes)[CR_MAX_RANK]; /* by node: the named size of each axis */
    struct strides *slots;     /* by slot: the slot's strides */
};

/* A function called for each operand and result of a kernel: with its node, the slot that holds it,
 * and its affine index. */
typedef void visitor(struct naming *n, cr_id node, int slot, const struct cr_affine *at);

/* Calls `visit` for all results, operands and loads of a kernel, except packed weights, which have
 * no index. */
static void visit_all(struct naming *n, visitor *visit)
{
    const struct cr_kernel *k = n->b->k;
    const struct cr_kernel_parts *parts = cr_parts_of(k);
    const struct cr_operand *operand;
    const struct cr_tiles *program;
    for (int i = 0; i < cr_n_results_of(k); i++) {
        int stored = k->stored_in[i];
        visit(n, k->stored[stored], n->b->stored[stored], &k->results[i]);
    }
    for (int i = 0; (operand = cr_operand_of(k, i)); i++)
        if (!(parts->lacks && parts->lacks(k, i)) && operand->ref >= 0)
            visit(n, k->refs[operand->ref], n->b->ref[operand->ref], &operand->at);
    for (int p = 0; (program = cr_program_of(k, p)); p++)
        for (int i = 0; i < program->n; i++) {
            const struct cr_value *v = &program->values[i];
            if (v->source == CR_LOAD || v->source == CR_GATHER)
                visit(n, k->refs[v->ref], n->b->ref[v->ref], &v->at);
        }
}

/* ---- views ---- */

/* Sets the strides of a reshape, from the strides of its operand.  An axis of the reshape has a
 * stride if it is part of one axis of the operand, or merges contiguous axes; the others get 0. */
static void reshape_strides(const struct cr_node *node, const struct cr_node *in,
                            const int64_t *from, int64_t *strides)
{
    for (int a = node->rank - 1, b = in->rank - 1; a >= 0 && b >= 0;) {
        int64_t stride = from[b], size = node->shape[a], of = in->shape[b];
        int a_end = a;
        while (size != of) {
            if (size < of) {
                size *= node->shape[--a];
            } else {
                stride = from[b - 1] == from[b] * in->shape[b] ? stride : 0;
                of *= in->shape[--b];
            }
        }
        for (int i = a_end; i >= a; stride *= node->shape[i--])
            strides[i] = stride;
        a--;
        b--;
    }
}

/* Sets the strides of a movement op's result from the strides of its operand. */
static void move_strides(const struct cr_node *node, const struct cr_node *in, const int64_t *from,
                         int64_t *strides)
{
    if (node->op == CR_OP_reshape)
        reshape_strides(node, in, from, strides);
    for (int a = 0; a < node->rank; a++) {
        if (node->op == CR_OP_permute)
            strides[a] = from[node->index[a]];
        else if (node->op != CR_OP_reshape && node->rank == in->rank && node->shape[a] == in->shape[a])
            strides[a] = from[a];
        else if (node->op == CR_OP_slice)
            strides[a] = from[a];
    }
}

struct cr_view_strides *cr_find_views(const struct cr_module *m)
{
    const struct cr_graph *g = m->graph;
    struct cr_view_strides *views = cr_calloc((size_t)g->n_nodes, sizeof *views);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        bool own = m->storage[id].space != CR_SPACE_NONE || cr_kind_of(g, id) != CR_KIND_MOVE ||
                   cr_elements(node->rank, node->shape) == 0;
        views[id].of = own ? id : views[cr_in(g, id, 0)].of;
        int64_t stride = 1;
        for (int a = node->rank - 1; own && a >= 0; stride *= node->shape[a--])
            views[id].stride[a] = stride;
        if (!own)
            views[id].first = views[cr_in(g, id, 0)].first;
        for (int a = 0; !own && node->op == CR_OP_slice && a < node->rank; a++)
            views[id].first += node->index[a] * views[cr_in(g, id, 0)].stride[a];
        if (!own)
            move_strides(node, &g->nodes[cr_in(g, id, 0)], views[cr_in(g, id, 0)].stride,
                         views[id].stride);
    }
    return views;
}

/* ---- extents of loops ---- */

/* Sets the named size of an atom, if its value is the atom's extent and the atom has no name
 * yet. */
static void set_atom(struct naming *n, int atom, int size)
{
    if (atom >= 0 && cr_is_named(n->table, size) &&
        n->table->sizes[size - 1].value == n->b->k->atoms.extent[atom] && !n->b->atom_size[atom])
        n->b->atom_size[atom] = size;
}

/* Multiplies the named sizes of `axis` and of as many axes before it as make up the atom's extent.
 * Sets *size to the product, or to 0 if it has no name.  Returns false if no such axes make up the
 * extent, or if they are not contiguous, so that one stride does not cover them. */
static bool size_of_axes(const struct naming *n, cr_id view, int axis, int atom, int *size)
{
    const struct cr_node *node = &n->b->g->nodes[view];
    const int64_t *strides = n->b->views[view].stride;
    int64_t extent = 1, wanted = n->b->k->atoms.extent[atom];
    int product = cr_plain_size(n->table, 1);
    for (int i = axis; i >= 0 && extent < wanted; i--) {
        if (strides[i] != strides[axis] * extent && node->shape[i] > 1)
            return false;
        extent *= node->shape[i];
        product = cr_size_product(n->table, product, n->sizes[view][i]);
    }
    *size = cr_is_named(n->table, product) ? product : 0;
    return extent == wanted && extent > 1;
}

/* If a view has an axis with the atom's stride and extent, sets *size to the named size of that
 * axis.  Returns false if *size already has another value (CR_NONE means none): then two axes have
 * this stride and extent, and it is unknown which of them the atom iterates over. */
static bool agrees(const struct naming *n, cr_id view, int atom, int64_t coef, int *size)
{
    const struct cr_node *node = &n->b->g->nodes[view];
    for (int axis = node->rank - 1; axis >= 0; axis--) {
        int found;
        if (n->b->views[view].stride[axis] != coef || node->shape[axis] <= 1 ||
            !size_of_axes(n, view, axis, atom, &found))
            continue;
        if (*size != CR_NONE && found != *size)
            return false;
        *size = found;
    }
    return true;
}

/* Gives atoms the names of the axes that they iterate over: axes of tensor `id`, or of a view of it
 * that begins at the same element as the address.  Views matter for heads: the tensor [B, T, C] has
 * no head axis, its view [B, T, H, D] has one. */
static void name_atoms_by(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    (void)slot;
    for (int a = 0; a < n->b->k->atoms.n; a++) {
        int size = CR_NONE;
        bool agree = at->coef[a] && !n->b->atom_size[a];
        for (cr_id view = id; view < n->b->g->n_nodes && agree; view++)
            if (n->b->views[view].of == id && n->b->views[view].first == at->base)
                agree = agrees(n, view, a, at->coef[a], &size);
        if (agree && size != CR_NONE)
            set_atom(n, a, size);
    }
}

/* Returns the atom that iterates over the same axis as atom `a` in larger steps: its step is the
 * step of `a` times the extent of `a`.  Returns CR_NONE if there is none. */
static int outer_atom(const struct naming *n, int a, const struct cr_affine *at)
{
    const struct cr_atoms *atoms = &n->b->k->atoms;
    for (int outer = 0; outer < atoms->n; outer++)
        if (at->coef[outer] == at->coef[a] * atoms->extent[a] && atoms->extent[outer] > 1)
            return outer;
    return CR_NONE;
}

/* Names an atom that shares an axis with an outer atom that has a name.  For example, the outer
 * loop runs over groups of heads that share keys.  The name is the size of the axis divided by that
 * of the outer atom. */
static void name_atoms_by_outer(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    const struct cr_atoms *atoms = &n->b->k->atoms;
    (void)slot;
    for (int a = 0; a < atoms->n; a++) {
        int outer = at->coef[a] > 0 && atoms->extent[a] > 1 ? outer_atom(n, a, at) : CR_NONE, size = CR_NONE;
        bool agree = outer != CR_NONE && n->b->atom_size[outer] && !n->b->atom_size[a];
        for (cr_id view = id; view < n->b->g->n_nodes && agree; view++)
            for (int axis = 0; axis < n->b->g->nodes[view].rank && n->b->views[view].of == id; axis++) {
                if (n->b->views[view].first != at->base || n->b->views[view].stride[axis] != at->coef[a] ||
                    n->b->g->nodes[view].shape[axis] != atoms->extent[a] * atoms->extent[outer])
                    continue;
                int found = cr_size_quotient(n->table, n->sizes[view][axis], n->b->atom_size[outer]);
                agree &= size == CR_NONE || found == size;
                size = found;
            }
        if (agree && size != CR_NONE)
            set_atom(n, a, size);
    }
}

/* Names the extent of the sum over queries and keys if programs compute their columns in parts,
 * such as the halves of a rotated query: as a multiple of the columns of a part. */
static void name_summed(struct naming *n)
{
    const struct cr_kernel *k = n->b->k;
    const struct cr_tiles *tiles;
    for (int i = 0; (tiles = cr_program_of(k, i)); i++) {
        int atom = tiles->n ? cr_column_atom(k, i) : -1;
        if (cr_parts_of(k)->programs[i].across != CR_LOOP_SUM || atom < 0 || atom == k->k ||
            cr_extent(k, k->k) % cr_extent(k, atom))
            continue;
        int parts = cr_plain_size(n->table, cr_extent(k, k->k) / cr_extent(k, atom));
        set_atom(n, k->k, cr_size_product(n->table, n->b->atom_size[atom], parts));
    }
}

/* True if an option of the script has the name that the head dimension would get. */
static bool is_head_option(const struct cr_named_sizes *table)
{
    bool found = false;
    for (int i = 0; i < table->n_names; i++)
        found |= strcmp(table->names[i].text, CR_HEAD_DIM) == 0;
    return found;
}

/* Names the head dimension: the extent over which an attention kernel's products of queries and
 * keys sum. */
static void name_head(struct naming *n)
{
    const struct cr_kernel *k = n->b->k;
    name_summed(n);
    char text[512];
    int size = k->key >= 0 && k->k >= 0 ? n->b->atom_size[k->k] : 0;
    if (size && !n->table->head_dim && !is_head_option(n->table) && cr_size_text(n->table, size, text, sizeof text) > 1)
        n->table->head_dim = size;
}

void cr_name_atoms(struct cr_builder *b)
{
    struct naming n = {.b = b, .table = cr_named_sizes_of(b->g), .sizes = b->node_sizes};
    if (!n.sizes)
        return;
    visit_all(&n, name_atoms_by);
    visit_all(&n, name_atoms_by_outer);
    name_head(&n);
    if (cr_packed(b->k) != CR_NONE) {
        const struct cr_node *matrix = &b->g->nodes[cr_packed(b->k)];
        set_atom(&n, b->k->k, n.sizes[cr_packed(b->k)][matrix->rank - 2]);
    }
}

/* ---- strides of slots ---- */

/* Adds a stride and its named size to a slot, unless the slot has a stride of this value. */
static void add_stride(struct naming *n, int slot, int64_t value, int size)
{
    struct strides *s = &n->slots[slot];
    for (int i = 0; i < s->n; i++)
        if (s->items[i].value == value)
            return;
    if (value <= 1 || s->n == MAX_STRIDES || !cr_is_named(n->table, size))
        return;
    s->items[s->n].value = value;
    s->items[s->n++].size = size;
}

/* Returns the named size of the stride of a slot that has this value, or 0. */
static int stride_of(const struct naming *n, int slot, int64_t value)
{
    const struct strides *s = &n->slots[slot];
    for (int i = 0; i < s->n; i++)
        if (s->items[i].value == value)
            return s->items[i].size;
    return 0;
}

/* Adds the row-major strides of tensor `id`. */
static void add_axes(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    const struct cr_node *node = &n->b->g->nodes[id];
    int size = cr_plain_size(n->table, 1);
    int64_t stride = 1;
    (void)at;
    for (int axis = node->rank - 1; axis > 0; axis--) {
        size = cr_size_product(n->table, size, n->sizes[id][axis]);
        stride *= node->shape[axis];
        add_stride(n, slot, stride, size);
    }
}

/* True if an atom's coefficient in the index is `value`. */
static bool is_step(const struct naming *n, const struct cr_affine *at, int64_t value)
{
    bool found = false;
    for (int a = 0; a < n->b->k->atoms.n; a++)
        found |= at->coef[a] == value;
    return found;
}

/* Adds, for each atom, the stride of the next outer axis: the atom's stride times its extent.  With
 * `steps_only`, adds it only if an atom has this stride. */
static void add_next_strides(struct naming *n, int slot, const struct cr_affine *at, bool steps_only)
{
    const struct cr_atoms *atoms = &n->b->k->atoms;
    for (int round = 0; round < atoms->n; round++)
        for (int a = 0; a < atoms->n; a++) {
            int64_t coef = at->coef[a], next = coef * atoms->extent[a];
            int step = coef == 1 ? cr_plain_size(n->table, 1) : stride_of(n, slot, coef);
            if (coef > 0 && (!steps_only || is_step(n, at, next)))
                add_stride(n, slot, next, cr_size_product(n->table, step, n->b->atom_size[a]));
        }
}

/* Adds the strides by which loops step.  They are added before other strides, which may have the
 * same value by chance: if queries and keys are in one tensor, the distance of two groups of query
 * heads can equal the width of all keys of a token. */
static void add_steps(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    (void)id;
    add_next_strides(n, slot, at, true);
}

static void add_extents(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    (void)id;
    add_next_strides(n, slot, at, false);
}

/* Adds the stride of a view's axis with its named size to *found.  If an earlier view gave the same
 * stride another size, removes the name. */
static void meet_stride(struct strides *found, int64_t value, int size)
{
    int i = 0;
    while (i < found->n && found->items[i].value != value)
        i++;
    if (i == found->n && i < MAX_STRIDES)
        found->items[found->n++].size = size;
    else if (i < found->n && found->items[i].size != size)
        found->items[i].size = 0;
    if (i < MAX_STRIDES)
        found->items[i].value = value;
}

/* Adds the strides of all views of a tensor: the view [B, T, H, D] of a tensor [B, T, C] adds D,
 * the distance of heads. */
static void add_views(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    const struct cr_builder *b = n->b;
    struct strides found = {.n = 0};
    (void)at;
    for (cr_id view = id; view < b->g->n_nodes; view++) {
        const struct cr_node *node = &b->g->nodes[view];
        int size = cr_plain_size(n->table, 1);
        int64_t stride = 1;
        for (int axis = node->rank - 1; axis > 0 && b->views[view].of == id; axis--) {
            if (b->views[view].stride[axis] != stride)
                break;
            size = cr_size_product(n->table, size, n->sizes[view][axis]);
            stride *= node->shape[axis];
            if (b->views[view].stride[axis - 1] == stride)
                meet_stride(&found, stride, size);
        }
    }
    for (int i = 0; i < found.n; i++)
        add_stride(n, slot, found.items[i].value, found.items[i].size);
}

/* Sets the tensor that the slot holds to node `id`. */
static void set_tensor(struct naming *n, cr_id id, int slot, const struct cr_affine *at)
{
    (void)at;
    n->slots[slot].tensor = id;
}

/* Adds the distance between columns of a packed matrix, which is the number of its rows. */
static void add_panels(struct naming *n)
{
    cr_id id = cr_packed(n->b->k);
    if (id == CR_NONE || n->b->weight == CR_NONE)
        return;
    const struct cr_node *matrix = &n->b->g->nodes[id];
    add_stride(n, n->b->weight, matrix->shape[matrix->rank - 2], n->sizes[id][matrix->rank - 2]);
}

/* Returns an argument of a call if it is a number without a name, else null. */
static struct cr_expr_node *unnamed_number(const struct naming *n, const struct cr_call *call,
                                           int argument)
{
    const struct cr_function *f = n->b->f;
    if (argument == CR_NONE)
        return NULL;
    const struct cr_argument *a = &f->arguments[call->first_argument + argument];
    struct cr_expr_node *e = a->kind == CR_ARGUMENT_NUMBER ? &f->exprs[a->number] : NULL;
    return e && e->op == CR_EXPR_NUMBER && !e->size && e->number > 1 ? e : NULL;
}

/* Returns the named size of an argument of a call, or 0 if it has none.  With `plain`, a number
 * without a name counts as a size. */
static int size_of_argument(const struct naming *n, const struct cr_call *call, int argument,
                            bool plain)
{
    const struct cr_function *f = n->b->f;
    const struct cr_argument *a = &f->arguments[call->first_argument + argument];
    if (argument == CR_NONE || a->kind != CR_ARGUMENT_NUMBER)
        return 0;
    const struct cr_expr_node *e = &f->exprs[a->number];
    if (e->op == CR_EXPR_VAR)
        return f->vars[e->a].most;
    if (e->op != CR_EXPR_NUMBER)
        return 0;
    return e->size || !plain ? e->size : cr_plain_size(n->table, e->number);
}

/* Names the distance between panels: the rows of a panel times its columns.  The panels of the
 * values of an attention have a row for each key, even if a call reads only some of them. */
static void name_panels(const struct naming *n, const struct cr_call *call,
                        const struct cr_parameter *p)
{
    struct cr_expr_node *e = unnamed_number(n, call, p->row_stride.argument);
    int panel = cr_size_of_name(n->table, CR_NAME_PANEL), key = n->b->k->key;
    int rows = size_of_argument(n, call, p->rows.argument, true);
    int sizes[] = {cr_size_product(n->table, rows, panel),
                   cr_size_product(n->table, key >= 0 ? n->b->atom_size[key] : 0, panel)};
    for (int i = 1; i >= 0; i--)
        if (e && sizes[i] && n->table->sizes[sizes[i] - 1].value == e->number)
            e->size = sizes[i];
}

/* Names the distance between rows of a panel, in the terms of an address in scratch. */
static void name_panel_rows(const struct naming *n, const struct cr_address *address)
{
    struct cr_function *f = n->b->f;
    for (int t = address->first_term; t < address->first_term + address->n_terms; t++)
        if (f->slots[address->slot].kind == CR_SLOT_SCRATCH && !f->terms[t].size && f->terms[t].coef == CR_PANEL)
            f->terms[t].size = cr_size_of_name(n->table, CR_NAME_PANEL);
}

/* True if the slot is scratch of an attention and its rows are `distance`, the width of a panel,
 * apart: blocks of scores have a panel of queries in a row. */
static bool is_panel_wide(const struct naming *n, int slot, int64_t distance)
{
    return n->b->f->slots[slot].kind == CR_SLOT_SCRATCH && n->b->k->key >= 0 && distance == CR_PANEL;
}

/* Names the row stride or the column stride at an address, which is the argument `stride`; the argument `across` is the
 * number of columns or of rows.  If they are equal in scratch, rows or columns are contiguous, and the stride gets the
 * name of that number. */
static void name_distance(struct naming *n, const struct cr_call *call, int stride, int across, int slot)
{
    struct cr_expr_node *e = unnamed_number(n, call, stride);
    int size = size_of_argument(n, call, across, false);
    if (!e)
        return;
    if (n->b->f->slots[slot].kind == CR_SLOT_SCRATCH && size && n->table->sizes[size - 1].value == e->number)
        add_stride(n, slot, e->number, size);
    e->size = stride_of(n, slot, e->number);
    if (!e->size && is_panel_wide(n, slot, e->number))
        e->size = cr_size_of_name(n->table, CR_NAME_PANEL);
}

/* Names the offset of an address in scratch if it is a multiple of the call's columns: a part of a
 * row begins after other parts of equal width. */
static void name_scratch_base(const struct naming *n, const struct cr_call *call, const struct cr_parameter *p,
                              int argument)
{
    struct cr_address *address = &n->b->f->arguments[call->first_argument + argument].address;
    int cols = size_of_argument(n, call, p->cols.argument, false);
    if (n->b->f->slots[address->slot].kind != CR_SLOT_SCRATCH || !cols || address->size || address->base <= 0 ||
        address->base % n->table->sizes[cols - 1].value)
        return;
    int times = cr_plain_size(n->table, address->base / n->table->sizes[cols - 1].value);
    address->size = cr_size_product(n->table, cols, times);
}

/* Names the strides among a call's arguments, which its signature identifies. */
static void name_call(struct naming *n, const struct cr_call *call)
{
    struct cr_signature signature;
    cr_parse_signature(&signature, call);
    for (int i = 0; i < signature.n && i < call->n_arguments; i++) {
        const struct cr_parameter *p = &signature.parameters[i];
        const struct cr_argument *a = &n->b->f->arguments[call->first_argument + i];
        if (p->kind != CR_PARAMETER_ADDRESS || a->kind != CR_ARGUMENT_ADDRESS)
            continue;
        if (p->panels && p->format == CR_FORMAT_f32) {
            name_panels(n, call, p);
            name_panel_rows(n, &a->address);
        } else if (!p->panels) {
            name_distance(n, call, p->row_stride.argument, p->cols.argument, a->address.slot);
            name_scratch_base(n, call, p, i);
        }
        name_distance(n, call, p->col_stride.argument, p->rows.argument, a->address.slot);
    }
}

/* Sets *size to the named size of `value`, a multiple of a stride, and returns the number of its
 * factors; INT_MAX if it has no name. */
static int multiple_of(const struct naming *n, const struct strides *s, int stride, int64_t value, int *size)
{
    char text[512];
    int64_t times = value / s->items[stride].value;
    *size = cr_size_product(n->table, s->items[stride].size, cr_plain_size(n->table, times));
    return *size ? cr_size_text(n->table, *size, text, sizeof text) : INT_MAX;
}

/* Sets *size to a named product that equals `value` and has one of the slot's strides as a factor.
 * Chooses the product with the fewest factors, and of several the one with the largest stride.  The
 * stride of a view is used only if its product has fewer factors than one with a stride of the
 * kernel itself, which must exist.  Returns the number of factors, or INT_MAX if there is no such
 * product. */
static int shortest_multiple(const struct naming *n, const struct strides *s, int64_t value, int *size)
{
    int64_t largest = 0;
    int fewest = INT_MAX, found;
    for (int i = 0; i < s->n; i++) {
        int64_t stride = s->items[i].value;
        int factors = value % stride ? INT_MAX : multiple_of(n, s, i, value, &found);
        if (i >= s->n_own && (factors >= fewest || fewest == INT_MAX))
            continue;
        if (factors < fewest || (factors == fewest && factors < INT_MAX && stride > largest)) {
            *size = found;
            fewest = factors;
            largest = stride;
        }
    }
    return fewest;
}

/* If node `id` is a slice of columns of a tensor, with all its rows, returns its first column;
 * otherwise -1. */
static int64_t first_column(const struct cr_graph *g, cr_id id, cr_id tensor)
{
    const struct cr_node *node = &g->nodes[id];
    bool slices = node->op == CR_OP_slice && cr_in(g, id, 0) == tensor;
    for (int axis = 0; slices && axis < node->rank - 1; axis++)
        slices = node->shape[axis] == g->nodes[tensor].shape[axis];
    return slices ? node->index[node->rank - 1] : -1;
}

/* Collects the widths of adjacent slices of a tensor from its first column to the slice that begins
 * at column `begin`, the last one first.  Returns their number; 0 if no slice begins there, or if
 * they leave a gap. */
static int widths_before(const struct naming *n, cr_id tensor, int64_t begin, int widths[MAX_SLICES])
{
    const struct cr_graph *g = n->b->g;
    const int last = g->nodes[tensor].rank - 1;
    int found = 0;
    cr_id id = tensor;
    while (id < g->n_nodes && first_column(g, id, tensor) != begin)
        id++;
    for (id = id < g->n_nodes ? tensor : id; id < g->n_nodes && begin > 0 && found < MAX_SLICES; id++) {
        int64_t column = first_column(g, id, tensor);
        if (column < 0 || column + g->nodes[id].shape[last] != begin)
            continue;
        widths[found++] = n->sizes[id][last];
        begin = column;
        id = tensor;
    }
    return begin ? 0 : found;
}

/* Names an offset at which a slice of the tensor begins: by the sum of the widths of the slices
 * before it, such as queries and keys before values.  Widths equal to the last one become one
 * product, such as 2 * C. */
static void name_column(const struct naming *n, cr_id tensor, struct cr_address *address)
{
    int widths[MAX_SLICES], alike[MAX_SLICES], others[MAX_SLICES], n_alike = 0, n_others = 0;
    int found = tensor == CR_NONE ? 0 : widths_before(n, tensor, address->base, widths);
    for (int i = 0; i < found; i++)
        if (widths[i] == widths[0])
            alike[n_alike++] = widths[i];
        else
            others[n_others++] = widths[i];
    int size = cr_size_sum(n->table, alike, n_alike, 0), rest = cr_size_sum(n->table, others, n_others, 0);
    if (!size || (n_others && !rest))
        return;
    address->size = size;
    address->part = n_others ? n->table->sizes[rest - 1].value : 0;
    address->part_size = rest;
}

/* Names the offset of an address.  The name is a multiple of one of the slot's strides, or a sum of
 * two multiples if that is not longer than a product of three factors: half a head after the
 * queries is HIDDEN_SIZE + HEAD_DIM / 2 rather than 17 * HEAD_DIM / 2.  The second number of a pair
 * is one element after a multiple.  Any other offset may be a column at which a slice begins. */
static void name_base(const struct naming *n, struct cr_address *address)
{
    const struct strides *s = &n->slots[address->slot];
    int size, rest, fewest = INT_MAX;
    if (address->base <= 0)
        return;
    fewest = shortest_multiple(n, s, address->base, &size);
    if (fewest == INT_MAX) {
        bool odd = address->base > 1 && shortest_multiple(n, s, address->base - 1, &size) < INT_MAX;
        address->size = odd ? size : 0;
        address->part = odd;
        if (!odd)
            name_column(n, s->tensor, address);
        return;
    }
    address->size = size;
    for (int i = 0; i < s->n && fewest > 2; i++) {
        int64_t stride = s->items[i].value, part = address->base % stride;
        if (stride >= address->base || !part)
            continue;
        int factors = multiple_of(n, s, i, address->base - part, &size);
        int more = shortest_multiple(n, s, part, &rest);
        if (factors < INT_MAX && more < INT_MAX && factors + more <= fewest) {
            fewest = factors + more;
            address->size = size;
            address->part = part;
            address->part_size = rest;
        }
    }
}

/* Names the coefficients and the offset of each address. */
static void name_addresses(const struct naming *n)
{
    struct cr_function *f = n->b->f;
    for (int i = 0; i < f->n_arguments; i++) {
        struct cr_address *address = &f->arguments[i].address;
        if (f->arguments[i].kind != CR_ARGUMENT_ADDRESS)
            continue;
        for (int t = address->first_term; t < address->first_term + address->n_terms; t++)
            if (!f->terms[t].size)
                f->terms[t].size = stride_of(n, address->slot, f->terms[t].coef);
        if (f->slots[address->slot].kind == CR_SLOT_ARGUMENT)
            name_base(n, address);
    }
}

/* Names the strides of all addresses and calls.  Goes through the calls twice, because the strides
 * of a scratch slot may be known only from a later call. */
void cr_name_strides(struct cr_builder *b)
{
    struct naming n = {.b = b, .table = cr_named_sizes_of(b->g), .sizes = b->node_sizes};
    if (!n.sizes)
        return;
    n.slots = cr_calloc((size_t)b->f->n_slots, sizeof *n.slots);
    for (int i = 0; i < b->f->n_slots; i++)
        n.slots[i].tensor = CR_NONE;
    visit_all(&n, set_tensor);
    visit_all(&n, add_axes);
    visit_all(&n, add_steps);
    visit_all(&n, add_extents);
    add_panels(&n);
    for (int i = 0; i < b->f->n_slots; i++)
        n.slots[i].n_own = n.slots[i].n;
    visit_all(&n, add_views);
    visit_all(&n, add_extents);
    for (int i = 0; i < 2 * b->f->n_calls; i++)
        name_call(&n, &b->f->calls[i % b->f->n_calls]);
    name_addresses(&n);
    free(n.slots);
}
