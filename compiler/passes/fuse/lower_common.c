#include "lower_common.h"

#include <string.h>

/* ---- atoms of the root ---- */

void cr_set_top(struct cr_lowering *lw, cr_id top)
{
    const struct cr_node *node = &lw->g->nodes[top];
    int n = 0;
    lw->loops = (struct cr_root_loops){.top = top};
    for (int i = 0; i < node->rank; i++) {
        if (node->shape[i] == 1)
            continue;
        lw->loops.n[i] = 1;
        lw->loops.extent[n++] = node->shape[i];
    }
}

void cr_number_atoms(struct cr_lowering *lw)
{
    const struct cr_node *top = &lw->g->nodes[lw->loops.top];
    struct cr_atoms *atoms = &lw->k->atoms;
    atoms->n = 0;
    memset(&lw->root_map, 0, sizeof lw->root_map);
    for (int i = 0; i < top->rank; i++) {
        int64_t coef = top->shape[i];
        for (int j = 0; j < lw->loops.n[i]; j++) {
            coef /= lw->loops.extent[atoms->n];
            lw->root_map.axis[i].coef[atoms->n] = coef;
            atoms->extent[atoms->n] = lw->loops.extent[atoms->n];
            atoms->length[atoms->n] = cr_length_at(lw->g, lw->loops.top, i);
            atoms->n++;
        }
    }
    lw->n_root_atoms = atoms->n;
}

bool cr_cut_atom(struct cr_lowering *lw, const struct cr_split *split)
{
    int n = lw->n_root_atoms, axis = 0;
    if (split->atom >= n || n + 4 > CR_MAX_ATOMS)
        return false;
    for (int end = lw->loops.n[0]; end <= split->atom; end += lw->loops.n[axis])
        axis++;
    if (cr_length_at(lw->g, lw->loops.top, axis))
        return false;
    int64_t *extent = lw->loops.extent + split->atom;
    memmove(extent + 1, extent, (size_t)(n - split->atom) * sizeof *extent);
    extent[0] /= split->low;
    extent[1] = split->low;
    lw->loops.n[axis]++;
    return true;
}

/* ---- the roles of the atoms ---- */

/* Calls `visit` for every affine index of the kernel. */
static void each_affine(struct cr_lowering *lw, void (*visit)(struct cr_affine *, void *),
                        void *context)
{
    struct cr_kernel *k = lw->k;
    struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(k, p)); p++)
        for (int i = 0; i < tiles->n; i++)
            visit(&tiles->values[i].at, context);
    struct cr_operand *operand;
    for (int i = 0; (operand = cr_operand_of(k, i)); i++)
        visit(&operand->at, context);
    for (int i = 0; i < CR_MAX_STORED; i++)
        visit(&k->results[i], context);
    if (lw->own_index)
        visit(lw->own_index, context);
}

struct merge {
    int outer, inner;
    int64_t extent; /* extent of the inner atom */
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

/* Merges two atoms into one if every index advances evenly through both, and neither has a
 * length. */
static bool merge_atoms(struct cr_lowering *lw, int outer, int inner)
{
    struct cr_kernel *k = lw->k;
    struct merge m = {outer, inner, k->atoms.extent[inner],
                      !k->atoms.length[outer] && !k->atoms.length[inner]};
    if (m.fits)
        each_affine(lw, check_merge, &m);
    if (!m.fits)
        return false;
    each_affine(lw, forget_outer, &m);
    k->atoms.extent[inner] *= k->atoms.extent[outer];
    k->atoms.extent[outer] = 1;
    return true;
}

void cr_assign_outer(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    for (int a = 0; a < lw->n_root_atoms; a++)
        if (a != k->row && a != k->col && a != k->key && k->atoms.extent[a] > 1)
            k->outer[k->n_outer++] = a;
}

/* If an atom has a ragged length, with a value for each row of a batch, returns the atom of the
 * batch axis; else CR_NO_ATOM. */
static int batch_atom(const struct cr_lowering *lw, int atom)
{
    const struct cr_atoms *atoms = &lw->k->atoms;
    int length = atoms->length[atom], batch = length ? lw->g->lengths[length - 1].batch : 0;
    for (int a = 0; batch && a < atoms->n; a++)
        if (atoms->length[a] == batch)
            return a;
    return CR_NO_ATOM;
}

static bool is_outer(const struct cr_kernel *k, int atom)
{
    for (int i = 0; i < k->n_outer; i++)
        if (k->outer[i] == atom)
            return true;
    return false;
}

bool cr_check_ragged(struct cr_lowering *lw)
{
    struct cr_atoms *atoms = &lw->k->atoms;
    for (int a = 0; a < atoms->n; a++) {
        int batch = batch_atom(lw, a), length = atoms->length[a];
        if (batch != CR_NO_ATOM && !is_outer(lw->k, batch))
            return false;
        if (batch == CR_NO_ATOM && length && lw->g->lengths[length - 1].batch)
            atoms->length[a] = 0;
    }
    return true;
}

void cr_assign_rows(struct cr_lowering *lw, unsigned outer)
{
    struct cr_kernel *k = lw->k;
    for (int a = 0; a < k->atoms.n; a++)
        if (batch_atom(lw, a) != CR_NO_ATOM)
            outer |= 1u << batch_atom(lw, a);
    for (int a = lw->n_root_atoms - 1; a >= 0; a--) {
        if (a == k->col || k->atoms.extent[a] == 1 || outer >> a & 1)
            continue;
        if (k->row < 0)
            k->row = a;
        else
            merge_atoms(lw, a, k->row);
    }
    cr_assign_outer(lw);
}

/* ---- contractions ---- */

int cr_inner_length(const struct cr_lowering *lw, cr_id contraction)
{
    int r = lw->g->nodes[contraction].rank;
    int left = cr_length_at(lw->g, cr_in(lw->g, contraction, 0), r - 1);
    int right = cr_length_at(lw->g, cr_in(lw->g, contraction, 1), r - 2);
    return left ? left : right;
}

bool cr_lower_epilogue(struct cr_lowering *lw, cr_id core)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *node = &lw->g->nodes[core];
    cr_evaluate_begin(ev, &k->program, core, CR_NO_ATOM, false);
    k->program.result = cr_evaluate(ev, lw->loops.top, &lw->root_map);
    if (k->program.result < 0)
        return false;
    ev->obstacle = core;
    int64_t covered = 1;
    for (int i = 0; i < node->rank; i++) {
        if (!cr_affine_covers(&ev->core_map.axis[i], &k->atoms, node->shape[i]))
            return false;
        covered *= node->shape[i];
    }
    int64_t all = 1;
    for (int a = 0; a < lw->n_root_atoms; a++)
        all *= k->atoms.extent[a];
    k->col = cr_affine_single(&ev->core_map.axis[node->rank - 1]);
    if (all != covered || (node->shape[node->rank - 1] > 1 && k->col < 0))
        return false;
    if (k->col >= 0)
        ev->fixed |= 1u << k->col;
    return cr_evaluate_end(ev, &k->program, k->col);
}

/* ---- reductions ---- */

bool cr_is_reduction_down(const struct cr_lowering *lw, cr_id id)
{
    return cr_goes_down(lw->g, id) && (id == lw->k->root || !cr_is_stored(&lw->ev, id));
}

bool cr_lower_whole(struct cr_lowering *lw, cr_id id, struct cr_operand *operand)
{
    const struct cr_map start = {0};
    while (!cr_is_stored(&lw->ev, id) && lw->g->nodes[id].op == CR_OP_reshape)
        id = cr_in(lw->g, id, 0);
    lw->ev.obstacle = id;
    return cr_is_stored(&lw->ev, id) && cr_evaluate_operand(&lw->ev, id, &start, operand);
}
