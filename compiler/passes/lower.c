/*
 * lower.c - from a stored node to the kernel that computes it.
 *
 * The node's axes become atoms; evaluation (evaluate.c) turns what lies above it into
 * tile programs; then every atom gets its part: column, row, outer loop.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "lowering.h"
#include "weights.h"

/* ---- atoms of the root ---- */

static void cut_root(struct cr_lowering *lw)
{
    const struct cr_node *root = &lw->g->nodes[lw->top];
    for (int i = 0; i < root->rank; i++) {
        lw->cuts.n[i] = root->shape[i] > 1;
        lw->cuts.extent[i][0] = root->shape[i];
    }
}

/* Numbers the atoms of the root and maps its axes onto them. */
static void number_atoms(struct cr_lowering *lw)
{
    const struct cr_node *root = &lw->g->nodes[lw->top];
    struct cr_atoms *atoms = &lw->k->atoms;
    memset(atoms, 0, sizeof *atoms);
    memset(&lw->root_map, 0, sizeof lw->root_map);
    for (int i = 0; i < root->rank; i++) {
        int64_t coef = root->shape[i];
        for (int j = 0; j < lw->cuts.n[i]; j++) {
            coef /= lw->cuts.extent[i][j];
            lw->root_map.axis[i].coef[atoms->n] = coef;
            atoms->extent[atoms->n++] = lw->cuts.extent[i][j];
        }
    }
    lw->n_root_atoms = atoms->n;
}

/* Cuts an atom of the root in two; false if that atom is not the root's or there is no room. */
static bool cut_atom(struct cr_lowering *lw, const struct cr_split *split)
{
    int atom = split->atom;
    if (atom >= lw->n_root_atoms || lw->n_root_atoms + 4 > CR_MAX_ATOMS)
        return false;
    int axis = 0;
    for (; atom >= lw->cuts.n[axis]; axis++)
        atom -= lw->cuts.n[axis];
    int64_t *extent = lw->cuts.extent[axis];
    memmove(extent + atom + 1, extent + atom, (size_t)(lw->cuts.n[axis] - atom) * sizeof *extent);
    extent[atom] /= split->low;
    extent[atom + 1] = split->low;
    lw->cuts.n[axis]++;
    return true;
}

/* ---- the parts of the atoms ---- */

/* Applies a function to every affine of the kernel. */
static void each_affine(struct cr_kernel *k, void (*visit)(struct cr_affine *, void *),
                        void *context)
{
    struct cr_tiles *programs[] = {&k->program, &k->prologue, &k->scores, &k->dropout};
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (int i = 0; i < programs[p]->n; i++)
            visit(&programs[p]->values[i].at, context);
    visit(&k->dest, context);
    if (k->kind != CR_KERNEL_TILE) {
        visit(&k->a.at, context);
        visit(&k->b.at, context);
        visit(&k->v.at, context);
    }
}

struct merge {
    int outer, inner;
    int64_t extent; /* of inner */
    bool fits;
};

static void check_merge(struct cr_affine *affine, void *context)
{
    struct merge *m = context;
    m->fits &= affine->coef[m->outer] == affine->coef[m->inner] * m->extent;
}

static void forget_outer(struct cr_affine *affine, void *context)
{
    affine->coef[((struct merge *)context)->outer] = 0;
}

/* Makes one atom of two where every access steps evenly through both. */
static bool merge_atoms(struct cr_kernel *k, int outer, int inner)
{
    struct merge m = {outer, inner, k->atoms.extent[inner], true};
    each_affine(k, check_merge, &m);
    if (!m.fits)
        return false;
    each_affine(k, forget_outer, &m);
    k->atoms.extent[inner] *= k->atoms.extent[outer];
    k->atoms.extent[outer] = 1;
    return true;
}

/*
 * Shares the root's atoms other than the column between the row atom and outer loops.
 * Atoms in `outer` must be loops.  The innermost of the rest becomes the row, merged
 * with its neighbours where possible.
 */
static void assign_rows(struct cr_lowering *lw, unsigned outer)
{
    struct cr_kernel *k = lw->k;
    k->row = CR_NO_ATOM;
    k->n_outer = 0;
    for (int a = lw->n_root_atoms - 1; a >= 0; a--) {
        if (a == k->col || k->atoms.extent[a] == 1 || outer >> a & 1)
            continue;
        if (k->row < 0)
            k->row = a;
        else
            merge_atoms(k, a, k->row);
    }
    for (int a = 0; a < lw->n_root_atoms; a++)
        if (a != k->col && a != k->row && k->atoms.extent[a] > 1)
            k->outer[k->n_outer++] = a;
}

/* ---- the kinds ---- */

static bool lower_tile(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    k->kind = CR_KERNEL_TILE;
    cr_evaluate_begin(ev, &k->program, CR_NONE, CR_COL_UNKNOWN, true);
    k->program.result = cr_evaluate(ev, lw->top, &lw->root_map);
    if (k->program.result < 0)
        return false;
    bool reduces = ev->col != CR_COL_UNKNOWN;
    k->col = reduces ? ev->col : lw->n_root_atoms - 1;
    if (!cr_evaluate_end(ev, &k->program, k->col)) {
        k->col = CR_NO_ATOM; /* rows of one column each */
        if (reduces || !cr_evaluate_end(ev, &k->program, k->col))
            return false;
    }
    assign_rows(lw, 0);
    return true;
}

/*
 * A reduction down columns: rows run over the reduced axis and columns over the root's last
 * atom, so that what is reduced is read as it lies.  Its program ends with the reduction.
 */
static bool lower_columns_of(struct cr_lowering *lw, cr_id reduction)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *node = &lw->g->nodes[reduction];
    cr_id of = cr_in(lw->g, reduction, 0);
    struct cr_map map = lw->root_map;
    k->kind = CR_KERNEL_COLUMNS;
    k->K = lw->g->nodes[of].shape[node->axis];
    k->col = lw->n_root_atoms - 1;
    if (!cr_new_atom(ev, k->K, &k->row))
        return false;
    ev->fixed |= 1u << k->row;
    map.axis[node->axis] = cr_affine_atom(k->row);
    cr_evaluate_begin(ev, &k->program, CR_NONE, CR_NO_ATOM, false);
    int value = cr_evaluate(ev, of, &map);
    if (value < 0)
        return false;
    k->program.result = cr_evaluate_reduction(ev, reduction, value);
    if (k->program.result < 0 || !cr_evaluate_end(ev, &k->program, k->col))
        return false;
    for (int a = 0; a < lw->n_root_atoms; a++)
        if (a != k->col && k->atoms.extent[a] > 1)
            k->outer[k->n_outer++] = a;
    return true;
}

bool cr_goes_down(const struct cr_graph *g, cr_id id)
{
    const struct cr_node *node = &g->nodes[id];
    return cr_kind_of(g, id) == CR_KIND_REDUCE && g->nodes[cr_in(g, id, 0)].shape[node->axis] > 1 &&
           cr_elements(node->rank - node->axis - 1, node->shape + node->axis + 1) > 1;
}

/*
 * What both contractions need of the root: evaluates it as an epilogue of `core`, checks
 * that the root has each element of the core once, and finds the column atom.
 */
bool cr_lower_epilogue(struct cr_lowering *lw, cr_id core)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *node = &lw->g->nodes[core];
    k->core = core;
    cr_evaluate_begin(ev, &k->program, core, CR_NO_ATOM, false);
    k->program.result = cr_evaluate(ev, lw->top, &lw->root_map);
    if (k->program.result < 0)
        return false;
    ev->blame = core;
    int64_t covered = 1;
    for (int i = 0; i < node->rank; i++) {
        if (!cr_affine_covers(&ev->core_map.axis[i], &k->atoms, node->shape[i]))
            return false;
        covered *= node->shape[i];
    }
    int64_t all = 1;
    for (int a = 0; a < lw->n_root_atoms; a++)
        all *= k->atoms.extent[a];
    k->N = node->shape[node->rank - 1];
    k->col = cr_affine_single(&ev->core_map.axis[node->rank - 1]);
    if (all != covered || (k->N > 1 && k->col < 0))
        return false;
    if (k->col >= 0)
        ev->fixed |= 1u << k->col;
    return cr_evaluate_end(ev, &k->program, k->col);
}

/* The atoms an operand moves along, as bits. */
static unsigned atoms_of(const struct cr_affine *affine)
{
    unsigned atoms = 0;
    for (int a = 0; a < CR_MAX_ATOMS; a++)
        if (affine->coef[a])
            atoms |= 1u << a;
    return atoms;
}

/* Rows of A: in memory already, or computed by a prologue. */
bool cr_lower_rows(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    cr_evaluate_begin(ev, &k->prologue, CR_NONE, k->k, true);
    k->prologue.result = cr_evaluate(ev, id, map);
    if (k->prologue.result < 0 || !cr_evaluate_end(ev, &k->prologue, k->k))
        return false;
    const struct cr_value *only = &k->prologue.values[0];
    bool is_float = lw->g->nodes[only->node].dtype == CR_F32;
    if (k->prologue.n == 1 && only->source == CR_LOAD && is_float) {
        k->a = (struct cr_operand){only->ref, only->at};
        k->prologue.n = 0;
    }
    return true;
}

static void ignore_piece(void *context, const struct cr_place_info *info)
{
    (void)context, (void)info;
}

/* B: weights packed at load, or an operand packed as the kernel runs. */
static bool lower_columns(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    cr_id matrix = cr_weight_matrix(lw->g, id);
    if (cr_weight_pieces(lw->g, matrix, ignore_piece, NULL)) {
        k->packed = matrix;
        return true;
    }
    return cr_evaluate_operand(&lw->ev, id, map, &k->b);
}

static bool lower_gemm(struct cr_lowering *lw, cr_id core)
{
    struct cr_kernel *k = lw->k;
    const struct cr_node *node = &lw->g->nodes[core];
    int r = node->rank;
    k->kind = CR_KERNEL_GEMM;
    if (!cr_lower_epilogue(lw, core))
        return false;
    struct cr_map a = lw->ev.core_map, b = a;
    k->K = lw->g->nodes[cr_in(lw->g, core, 0)].shape[r - 1];
    lw->ev.blame = core;
    if (!cr_new_atom(&lw->ev, k->K, &k->k))
        return false;
    if (k->k >= 0)
        lw->ev.fixed |= 1u << k->k;
    a.axis[r - 1] = b.axis[r - 2] = cr_affine_atom(k->k);
    if (!cr_lower_rows(lw, cr_in(lw->g, core, 0), &a) ||
        !lower_columns(lw, cr_in(lw->g, core, 1), &b))
        return false;
    unsigned outer = k->packed == CR_NONE ? atoms_of(&k->b.at) : 0;
    assign_rows(lw, outer);
    return true;
}

/* An operand that is stored from its first element to its last. */
static bool lower_whole(struct cr_lowering *lw, cr_id id, struct cr_operand *operand)
{
    const struct cr_map start = {0};
    while (!cr_is_stored(&lw->ev, id) && lw->g->nodes[id].op == CR_OP_reshape)
        id = cr_in(lw->g, id, 0);
    lw->ev.blame = id;
    return cr_is_stored(&lw->ev, id) && cr_evaluate_operand(&lw->ev, id, &start, operand);
}

static bool lower_scatter(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    cr_id rows = cr_in(lw->g, k->root, 0), index = cr_in(lw->g, k->root, 1);
    const struct cr_node *root = &lw->g->nodes[k->root], *positions = &lw->g->nodes[index];
    k->kind = CR_KERNEL_SCATTER;
    k->K = cr_elements(positions->rank, positions->shape);
    k->N = cr_elements(root->rank - 1, root->shape + 1);
    assign_rows(lw, 0);
    return lower_whole(lw, rows, &k->a) && lower_whole(lw, index, &k->b);
}

/* ---- work and traffic ---- */

static void count_work(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    const struct cr_node *root = &lw->g->nodes[k->root];
    double elements = (double)cr_elements(root->rank, root->shape);
    k->bytes_written = 4 * elements;
    for (int i = 0; i < k->n_refs; i++) {
        const struct cr_node *node = &lw->g->nodes[k->refs[i]];
        k->bytes_read += 4 * (double)cr_elements(node->rank, node->shape);
    }
    if (k->kind == CR_KERNEL_TILE)
        k->flops = elements * k->program.n;
    if (k->kind == CR_KERNEL_COLUMNS)
        k->flops = elements * (double)k->K * k->program.n;
    if (k->kind == CR_KERNEL_SCATTER)
        k->flops = (double)k->K * (double)k->N;
    if (k->kind == CR_KERNEL_GEMM) {
        k->flops = 2 * elements * (double)k->K;
        if (k->packed != CR_NONE)
            k->bytes_read += 4 * (double)k->K * (double)k->N;
    }
    if (k->kind == CR_KERNEL_ATTENTION || k->kind == CR_KERNEL_ATTENTION_BACKWARD)
        k->flops = cr_attention_flops(k, elements);
}

/* ---- one kernel ---- */

/* The contraction beneath elementwise work and moves, or CR_NONE if there is none within
 * `budget` nodes. */
static cr_id find_core(const struct cr_evaluate *ev, cr_id id, bool at_root, int *budget)
{
    if (--*budget < 0)
        return CR_NONE;
    enum cr_kind kind = cr_kind_of(ev->g, id);
    if ((!at_root || ev->kernel->buffer != id) && cr_is_stored(ev, id))
        return CR_NONE;
    if (kind == CR_KIND_CONTRACT)
        return id;
    if (kind != CR_KIND_ELEMENTWISE && kind != CR_KIND_MOVE)
        return CR_NONE;
    for (int i = 0; i < ev->g->nodes[id].n_in; i++) {
        cr_id core = find_core(ev, cr_in(ev->g, id, i), false, budget);
        if (core != CR_NONE)
            return core;
    }
    return CR_NONE;
}

/* Where in the buffer the root's element goes; a concat's operand goes to its part. */
static void set_dest(struct cr_lowering *lw, int64_t concat_start)
{
    bool part = lw->k->buffer != lw->k->root;
    const struct cr_node *buffer = &lw->g->nodes[part ? lw->k->buffer : lw->top];
    struct cr_map map = lw->root_map;
    if (part)
        map.axis[buffer->axis].base += concat_start;
    lw->k->dest = cr_map_linear(&map, buffer->rank, buffer->shape);
}

static void reset(struct cr_lowering *lw, const struct cr_kernel *blank)
{
    cr_kernel_free(lw->k);
    *lw->k = *blank;
    lw->ev.fixed = 0;
    lw->ev.wants_split = false;
    lw->ev.blame = CR_NONE;
    number_atoms(lw);
}

/* Whether a node is a reduction down columns, for this kernel to compute. */
static bool is_reduction_down(const struct cr_lowering *lw, cr_id id)
{
    return cr_goes_down(lw->g, id) && (id == lw->k->root || !cr_is_stored(&lw->ev, id));
}

/* Such a reduction that the root is a reshape of has the loops; else the root. */
static void choose_top(struct cr_lowering *lw)
{
    cr_id id = lw->k->root;
    while (lw->k->buffer == lw->k->root && lw->g->nodes[id].op == CR_OP_reshape &&
           (id == lw->k->root || !cr_is_stored(&lw->ev, id)))
        id = cr_in(lw->g, id, 0);
    if (is_reduction_down(lw, id))
        lw->top = id;
}

static bool attempt(struct cr_lowering *lw)
{
    if (cr_kind_of(lw->g, lw->k->root) == CR_KIND_SCATTER && lw->k->buffer == lw->k->root)
        return lower_scatter(lw);
    if (lw->backward)
        return cr_lower_backward(lw, lw->backward);
    if (is_reduction_down(lw, lw->top))
        return lower_columns_of(lw, lw->top);
    int budget = 16 * CR_MAX_VALUES;
    cr_id core = find_core(&lw->ev, lw->top, lw->top == lw->k->root, &budget);
    if (core == CR_NONE)
        return lower_tile(lw);
    const struct cr_attention *attention = cr_attention_at(lw->ev.module, core);
    bool online = attention && !lw->ev.module->materialised[attention->logits];
    return online ? cr_lower_attention(lw, attention) : lower_gemm(lw, core);
}

/*
 * A reshape whose elements cannot be found in its operand by affine indices has them in
 * the same order, so the loops can be those of the operand.
 */
static bool go_below(struct cr_lowering *lw)
{
    if (lw->k->buffer != lw->k->root || lw->ev.blame != lw->top ||
        lw->g->nodes[lw->top].op != CR_OP_reshape)
        return false;
    lw->top = cr_in(lw->g, lw->top, 0);
    cut_root(lw);
    return true;
}

struct cr_lowering *cr_lowering_new(const struct cr_module *module)
{
    struct cr_lowering *lw = cr_calloc(1, sizeof *lw);
    lw->g = lw->ev.g = module->graph;
    lw->ev.module = module;
    return lw;
}

void cr_lowering_free(struct cr_lowering *lowering)
{
    free(lowering);
}

bool cr_lower(struct cr_lowering *lw, cr_id root, cr_id buffer, int64_t concat_start,
              struct cr_kernel *kernel, cr_id *blame)
{
    const struct cr_kernel blank = {.root = root,
                                    .buffer = buffer,
                                    .core = CR_NONE,
                                    .packed = CR_NONE,
                                    .row = -1,
                                    .col = -1,
                                    .k = -1,
                                    .key = -1};
    lw->k = lw->ev.kernel = kernel;
    *kernel = blank;
    lw->backward = buffer == root ? cr_backward_at(lw->ev.module, root) : NULL;
    lw->top = lw->backward ? lw->backward->probs : root;
    choose_top(lw);
    cut_root(lw);
    bool done, again;
    do {
        reset(lw, &blank);
        set_dest(lw, concat_start);
        done = attempt(lw);
        again = !done && ((lw->ev.wants_split && cut_atom(lw, &lw->ev.split)) || go_below(lw));
    } while (again);
    *blame = lw->ev.blame;
    if (done)
        count_work(lw);
    else
        cr_kernel_free(kernel);
    return done;
}
