/*
 * Adds rows into the rows of a table.  Each item computes a few rows of the table, and looks at
 * every index.  So no two threads write to the same row, and the order of each sum is fixed.
 */
#include "compiler/ir/text.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "kinds.h"

/* The items share the rows of the table evenly; each reads all indices. */
int64_t cr_schedule_scatter(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    int64_t rows = b->g->nodes[k->root].shape[0];
    int64_t block = cr_ceil_div(rows, b->target->scatter_items), items = cr_ceil_div(rows, block);
    cr_begin_item_loop(b, items);
    struct cr_share part = cr_let_share(b, "row0", "row1", 1, items, block,
                                        cr_number(b, rows));
    struct cr_argument width = cr_n(b, k->scatter.width);
    CR_CALL(b, CR_CALLEE_scatter_add, CR_FORMAT_f32, cr_x(cr_share_size(b, &part)), width,
            cr_at(cr_offset(b, cr_start_of(b->out), part.first, CR_NONE, k->scatter.width)), width,
            cr_x(cr_var(b, part.first)), cr_n(b, k->scatter.rows),
            cr_at(cr_operand_at(b, &k->scatter.a, -1, CR_NONE, -1, CR_NONE)), width,
            cr_at(cr_operand_at(b, &k->scatter.b, -1, CR_NONE, -1, CR_NONE)));
    cr_end(b);
    return items;
}

void cr_describe_scatter(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = for each row the sum of the %lld rows[%lld] with its index",
           (long long)k->scatter.rows, (long long)k->scatter.width);
}
