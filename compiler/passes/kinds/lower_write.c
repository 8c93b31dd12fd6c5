/* lower_write.c - WRITE: computes rows like TILE and stores them from a row number on that is known
 * at run time. */
#include <string.h>

#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/verifier/kernel_check.h"
#include "kinds.h"

static int list_affine(const struct cr_affine *affine, int64_t *numbers)
{
    numbers[0] = affine->base;
    memcpy(numbers + 1, affine->coef, sizeof affine->coef);
    return 1 + CR_MAX_ATOMS;
}

static int write_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    const struct cr_kernel_write *w = &k->write;
    int n = 0;
    numbers[n++] = w->rows;
    numbers[n++] = w->step;
    numbers[n++] = w->at.ref;
    n += list_affine(&w->row, numbers + n);
    return n + list_affine(&w->at.at, numbers + n);
}
_Static_assert(3 + 2 * (1 + CR_MAX_ATOMS) <= CR_MAX_NUMBERS, "the numbers of a write");

static void write_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->rows_at = &k->write.at;
}

/* Fails unless `at`, the row at which the write begins, is a constant or a loaded i32, and row
 * `row` of the loops is stored at row at + row of the result. */
static int verify_write(const struct cr_kernel_check *c)
{
    const struct cr_kernel_write *w = &c->k->write;
    const struct cr_node *node = &c->g->nodes[c->k->buffer];
    int axis = node->axis, ref = w->at.ref;
    int64_t rows = c->g->nodes[cr_in(c->g, c->k->buffer, 1)].shape[axis];
    if (w->rows != node->shape[axis] ||
        w->step != cr_elements(node->rank - axis - 1, node->shape + axis + 1))
        return cr_kernel_fault(c, "it does not write rows as v[%d] has them", (int)c->k->buffer);
    if (ref < -1 || ref >= c->k->n_refs ||
        (ref >= 0 && c->g->nodes[c->k->refs[ref]].dtype != CR_I32))
        return cr_kernel_fault(c, "there is no number where its rows begin");
    if (ref >= 0 &&
        cr_verify_index(c, &w->at.at, 0, cr_check_elements(c, c->k->refs[ref]), "that number"))
        return -1;
    if (cr_verify_index(c, &w->row, CR_LOOP_OUTER, rows, "its rows"))
        return -1;
    for (int a = 0; a < c->k->atoms.n; a++)
        if (w->row.coef[a] && c->k->dest.coef[a] != w->row.coef[a] * w->step)
            return cr_kernel_fault(c, "atom %d moves its result by other than rows", a);
    return 0;
}

const struct cr_kernel_parts cr_parts_write = {
    .programs[0] = {CR_PROGRAM_BY_ROW, .reduces = true, .title = "steps"},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .narrow = true,
    .writes_rows = true,
    .numbers = write_numbers,
    .remark = write_remark,
    .verify = verify_write,
};

bool cr_fits_write(const struct cr_lowering *lw)
{
    return cr_kind_of(lw->g, lw->k->root) == CR_KIND_WRITE && lw->k->buffer == lw->k->root;
}

/* Lowers the operand `at`, the row at which a write begins: a constant, or an i32 loaded at run
 * time. */
static bool lower_at(struct cr_lowering *lw, struct cr_operand *operand)
{
    const struct cr_map start = {0};
    cr_id at = cr_in(lw->g, lw->k->root, 2);
    if (lw->g->nodes[at].op != CR_OP_const)
        return cr_evaluate_operand(&lw->ev, at, &start, operand);
    *operand = (struct cr_operand){.ref = -1, .at.base = (int64_t)lw->g->nodes[at].value};
    return true;
}

/*
 * Lowers a write.  The atoms of the written axis become outer loops, so that each row can be
 * skipped. They cannot be columns: a program that reduces along them fails, and its operand is then
 * stored by a kernel of its own.
 */
bool cr_lower_write(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    const struct cr_node *node = &lw->g->nodes[k->root];
    int axis = node->axis;
    k->write.row = lw->root_map.axis[axis];
    k->write.rows = node->shape[axis];
    k->write.step = cr_elements(node->rank - axis - 1, node->shape + axis + 1);
    unsigned along = cr_affine_atoms(&k->write.row);
    lw->own_index = &k->write.row;
    cr_evaluate_begin(ev, &k->program, CR_NONE, CR_COL_UNKNOWN, true);
    k->program.result = cr_evaluate(ev, lw->loops.top, &lw->root_map);
    if (k->program.result < 0)
        return false;
    bool reduces = ev->col != CR_COL_UNKNOWN;
    k->col = reduces ? ev->col : lw->n_root_atoms - 1;
    if (k->col >= 0 && along >> k->col & 1)
        k->col = CR_NO_ATOM;
    ev->obstacle = lw->loops.top;
    if ((reduces && k->col < 0) || !cr_evaluate_end(ev, &k->program, k->col))
        return false;
    cr_assign_rows(lw, along);
    return lower_at(lw, &k->write.at);
}

double cr_flops_write(const struct cr_kernel *k, double elements)
{
    return elements * k->program.n;
}
