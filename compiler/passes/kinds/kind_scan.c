/*
 * kind_scan.c - SCAN: running sums along an axis of a stored tensor.  Axes before the scanned one
 * become items, and axes after it become columns, which are cut into blocks.
 */
#include "compiler/ir/text.h"
#include "compiler/passes/fuse/lower_common.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "compiler/passes/verifier/kernel_check.h"
#include "kinds.h"

enum { BLOCK = 512 /* the most columns of an item */ };

static int scan_numbers(const struct cr_kernel *k, int64_t *numbers)
{
    numbers[0] = k->scan.items;
    numbers[1] = k->scan.rows;
    numbers[2] = k->scan.cols;
    numbers[3] = k->scan.reverse;
    return 4;
}

/* Returns the number of elements that the kernel reads of its operand: the whole tensor. */
static int64_t scan_reads(const struct cr_kernel *k, int i)
{
    (void)i;
    return k->scan.items * k->scan.rows * k->scan.cols;
}

static int verify_scan(const struct cr_kernel_check *c)
{
    const struct cr_kernel *k = c->k;
    int64_t rows = k->scan.rows, cols = k->scan.cols;
    if (k->scan.items < 1 || rows < 1 || cols < 1 || rows > CR_MAX_ELEMENTS / cols ||
        k->scan.items > CR_MAX_ELEMENTS / rows / cols ||
        k->scan.items * rows * cols != cr_check_elements(c, k->root))
        return cr_kernel_fault(c, "its sums are not those of its root");
    return 0;
}

const struct cr_kernel_parts cr_parts_scan = {
    .operands[0] = {CR_PART(scan.a), "a", 0},
    .results[0] = CR_LOOP_OUTER | CR_LOOP_ROW | CR_LOOP_COL,
    .numbers = scan_numbers,
    .elements_read = scan_reads,
    .verify = verify_scan,
};

bool cr_fits_scan(const struct cr_lowering *lw)
{
    return cr_kind_of(lw->g, lw->k->root) == CR_KIND_SCAN && lw->k->buffer == lw->k->root;
}

bool cr_lower_scan(struct cr_lowering *lw)
{
    struct cr_kernel *k = lw->k;
    const struct cr_node *root = &lw->g->nodes[k->root];
    k->scan.items = cr_elements(root->axis, root->shape);
    k->scan.rows = root->shape[root->axis];
    k->scan.cols = cr_elements(root->rank - root->axis - 1, root->shape + root->axis + 1);
    k->scan.reverse = root->index[0] != 0;
    cr_assign_rows(lw, 0);
    return cr_lower_whole(lw, cr_in(lw->g, k->root, 0), &k->scan.a);
}

double cr_flops_scan(const struct cr_kernel *kernel, double elements)
{
    (void)kernel;
    return elements;
}

/* Returns the atom whose extent is a run-time length, or -1.  Only the summed axis may have one. */
static int limited_atom(const struct cr_kernel *k)
{
    for (int a = 0; a < k->atoms.n; a++)
        if (k->atoms.length[a])
            return a;
    return -1;
}

/* Returns the address of column `col` in the first row that the sums of `item` add: row 0 or, for a
 * reverse scan, the last row.  `last` is a variable with the number of the last row, or CR_NONE. */
static struct cr_argument first_row(struct cr_builder *b, struct cr_address at, int item, int col,
                                    int last)
{
    const struct cr_kernel *k = b->k;
    if (k->scan.reverse && last == CR_NONE)
        at.base += (k->scan.rows - 1) * k->scan.cols;
    if (k->scan.reverse && last != CR_NONE)
        at = cr_offset(b, at, last, CR_NONE, k->scan.cols);
    at = cr_offset(b, at, item, CR_NONE, k->scan.rows * k->scan.cols);
    return cr_at(cr_offset(b, at, col, CR_NONE, 1));
}

/* Schedules one call for each item and block of columns; a reverse scan has a negative step. */
int64_t cr_schedule_scan(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    int64_t blocks = cr_ceil_div(k->scan.cols, BLOCK), step = k->scan.cols;
    int limited = limited_atom(k), last = CR_NONE;
    step = k->scan.reverse ? -step : step;
    cr_begin_item_loop(b, k->scan.items * blocks);
    int item = cr_let(b, "row", cr_digit(b, blocks, k->scan.items, true));
    struct cr_share part = cr_let_share(b, "col0", "col1", 1, blocks, cr_ceil_div(k->scan.cols, blocks),
                                        cr_number(b, k->scan.cols));
    cr_expr rows = limited < 0 ? cr_number(b, k->scan.rows) : cr_size(b, limited);
    if (limited >= 0 && k->scan.reverse)
        last = cr_let(b, "last", cr_plus(b, cr_size(b, limited), -1));
    CR_CALL(b, CR_CALLEE_cumsum, b->f->slots[b->out].format, cr_x(rows),
            cr_x(cr_share_size(b, &part)),
            first_row(b, cr_start_of(b->out), item, part.first, last), cr_n(b, step),
            first_row(b, cr_operand_at(b, &k->scan.a, -1, CR_NONE, -1, CR_NONE), item, part.first,
                      last),
            cr_n(b, step));
    cr_end(b);
    return k->scan.items * blocks;
}

void cr_describe_scan(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = running sums over %lld%s", (long long)k->scan.rows,
           k->scan.reverse ? ", from the last" : "");
}
