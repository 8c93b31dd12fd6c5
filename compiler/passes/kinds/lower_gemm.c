/* lower_gemm.c - GEMM: a contraction with an epilogue, and possibly a prologue that computes the
 * rows of its left operand. */
#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/verifier/kernel_check.h"
#include "compiler/passes/weights/weights.h"
#include "kinds.h"

static int gemm_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    numbers[0] = k->gemm.K;
    numbers[1] = k->gemm.N;
    numbers[2] = k->gemm.weights.node != CR_NONE;
    numbers[3] = k->gemm.weights.choices;
    return 4;
}

/* The numbers of the operands. */
enum { A, B, CHOICE };

/* True if a GEMM lacks operand i: A if a prologue computes its rows; B if it was packed when
 * weights were loaded; CHOICE, the i32 that selects a matrix, unless B is a stack of matrices. */
static bool gemm_lacks(const struct cr_kernel *k, int i)
{
    if (i == A)
        return k->gemm.prologue.n > 0;
    return i == B ? k->gemm.weights.node != CR_NONE : !k->gemm.weights.choices;
}

static void gemm_remark(const struct cr_kernel *k, struct cr_remarks *remarks)
{
    remarks->summands = k->gemm.K;
}

/* Fails unless the packed weights are a K x N matrix. */
static int verify_packed(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    cr_id packed = k->gemm.weights.node;
    int64_t choices = k->gemm.weights.choices;
    int64_t K = k->gemm.K, N = k->gemm.N;
    if (packed == CR_NONE)
        return choices ? cr_kernel_fault(c, "it chooses among weights that it has not") : 0;
    if (!cr_check_node(c, packed))
        return cr_kernel_fault(c, "it has packed weights of no node");
    const struct cr_node *node = &c->g->nodes[packed];
    if (node->rank < 2 || node->shape[node->rank - 2] != K || node->shape[node->rank - 1] != N ||
        cr_check_elements(c, packed) != K * N * (choices ? choices : 1))
        return cr_kernel_fault(c, "its packed weights v[%d] are no %lld x %lld", (int)packed,
                               (long long)K, (long long)N);
    if (choices && (N % CR_PANEL || node->op != CR_OP_param ||
                    c->g->nodes[k->refs[k->gemm.weights.choice.ref]].dtype != CR_I32))
        return cr_kernel_fault(c, "it cannot choose among the weights v[%d]", (int)packed);
    return 0;
}

static int verify_gemm(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    if (k->gemm.K != cr_extent(k, k->k) || k->gemm.N != cr_extent(k, k->col))
        return cr_kernel_fault(c, "K or N is not the extent of its loop");
    if (cr_verify_core(c, k->gemm.N, k->gemm.K))
        return -1;
    return verify_packed(c);
}

const struct cr_kernel_parts cr_parts_gemm = {
    .programs = {{.at = CR_PART(gemm.prologue),
                  .name = "prologue",
                  .loops = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM,
                  .across = CR_LOOP_SUM,
                  .reduces = true,
                  .whole_rows = true,
                  .title = "each row first",
                  .label = "rows of the left operand"},
                 CR_EPILOGUE},
    .operands = {[A] = {CR_PART(gemm.a), "a", CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_SUM},
                 [B] = {CR_PART(gemm.b), "b", CR_LOOP_OUTER | CR_LOOP_SUM | CR_LOOP_COL},
                 [CHOICE] = {CR_PART(gemm.weights.choice), "v", 0}},
    .weights = CR_PART(gemm.weights),
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .in_place = true,
    .starts = true,
    .numbers = gemm_numbers,
    .lacks = gemm_lacks,
    .remark = gemm_remark,
    .verify = verify_gemm,
};

bool cr_fits_gemm(const struct cr_lowering *lw)
{
    return lw->core != CR_NONE;
}

static void ignore_piece(void *context, const struct cr_layout_info *info)
{
    (void)context, (void)info;
}

/* True if node `id`, or the node that it is a view of, is stored; does not look below node
 * `last`. */
static bool is_stored_to(const struct cr_lowering *lw, cr_id id, cr_id last)
{
    while (id != last && !cr_is_stored(&lw->ev, id))
        id = cr_in(lw->g, id, 0);
    return cr_is_stored(&lw->ev, id);
}

/* Lowers the i32 operand that selects a matrix of a stack.  Returns false unless its node, or the
 * node that it is a view of, is stored. */
static bool lower_index(struct cr_lowering *lw, cr_id id)
{
    const struct cr_map start = {0};
    cr_id stored = id;
    while (!cr_is_stored(&lw->ev, stored) && cr_kind_of(lw->g, stored) == CR_KIND_MOVE)
        stored = cr_in(lw->g, stored, 0);
    lw->ev.obstacle = stored;
    return cr_is_stored(&lw->ev, stored) &&
           cr_evaluate_operand(&lw->ev, id, &start, &lw->k->gemm.weights.choice);
}

/* Lowers the left operand A: as an operand in memory, or as a prologue that computes its rows. */
static bool lower_rows(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    struct cr_evaluate *ev = &lw->ev;
    cr_evaluate_begin(ev, &k->gemm.prologue, CR_NONE, k->k, true);
    k->gemm.prologue.result = cr_evaluate(ev, id, map);
    if (k->gemm.prologue.result < 0 || !cr_evaluate_end(ev, &k->gemm.prologue, k->k))
        return false;
    const struct cr_value *only = &k->gemm.prologue.values[0];
    bool is_float = lw->g->nodes[only->node].dtype == CR_F32;
    if (k->gemm.prologue.n == 1 && only->source == CR_LOAD && is_float) {
        k->gemm.a = (struct cr_operand){only->ref, only->at};
        k->gemm.prologue.n = 0;
    }
    return true;
}

/* Lowers the right operand B: as weights packed when they were loaded, possibly a stack of matrices
 * of which an i32 selects one; or as an operand that the kernel packs. */
static bool lower_columns(struct cr_lowering *lw, cr_id id, const struct cr_map *map)
{
    struct cr_kernel *k = lw->k;
    cr_id matrix = cr_weight_matrix(lw->g, id);
    if (cr_weight_pieces(lw->g, matrix, ignore_piece, NULL)) {
        k->gemm.weights.node = matrix;
        return true;
    }
    struct cr_stacked choice;
    if (cr_find_choice(lw->g, id, &choice) && !is_stored_to(lw, id, choice.gather)) {
        k->gemm.weights.node = choice.stack;
        k->gemm.weights.choices = lw->g->nodes[choice.stack].shape[0];
        return lower_index(lw, choice.index);
    }
    return cr_evaluate_operand(&lw->ev, id, map, &k->gemm.b);
}

/* Lowers a GEMM.  The epilogue determines the column atom and the map at which it reads the
 * product; the maps of both operands follow from that map. */
bool cr_lower_gemm(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    cr_id core = lw->core;
    int r = lw->g->nodes[core].rank;
    k->core = core;
    k->gemm.weights.node = CR_NONE;
    k->gemm.K = lw->g->nodes[cr_in(lw->g, core, 0)].shape[r - 1];
    k->gemm.N = lw->g->nodes[core].shape[r - 1];
    if (!cr_lower_epilogue(lw, core))
        return false;
    struct cr_map a = lw->ev.core_map, b = a;
    lw->ev.obstacle = core;
    if (!cr_new_atom(&lw->ev, k->gemm.K, cr_inner_length(lw, core), &k->k))
        return false;
    if (k->k >= 0)
        lw->ev.fixed |= 1u << k->k;
    a.axis[r - 1] = b.axis[r - 2] = cr_affine_atom(k->k);
    if (!lower_rows(lw, cr_in(lw->g, core, 0), &a) || !lower_columns(lw, cr_in(lw->g, core, 1), &b))
        return false;
    unsigned outer = k->gemm.weights.node == CR_NONE ? cr_affine_atoms(&k->gemm.b.at) : 0;
    cr_assign_rows(lw, outer);
    return true;
}

double cr_flops_gemm(const struct cr_kernel *k, double elements)
{
    return 2 * elements * (double)k->gemm.K;
}
