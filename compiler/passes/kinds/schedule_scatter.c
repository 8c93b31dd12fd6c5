/*
 * schedule_scatter.c - schedules the addition of rows to the rows of a table.  Each item computes a
 * few rows of the table and reads every index.  So no two threads write to the same row, and the
 * order of each sum is fixed.
 */
#include <stdio.h>

#include "compiler/ir/named_sizes.h"
#include "compiler/ir/text.h"
#include "compiler/passes/schedule/schedule_parts.h"
#include "kinds.h"

/* Returns the number of a size for the product of a node's axes from `first` on, or 0 if it has no
 * name. */
static int size_of_axes(const struct cr_builder *b, cr_id id, int first)
{
    struct cr_named_sizes *sizes = b->node_sizes ? cr_named_sizes_of(b->g) : NULL;
    int size = sizes ? cr_plain_size(sizes, 1) : 0;
    for (int axis = first; sizes && axis < b->g->nodes[id].rank; axis++)
        size = cr_size_product(sizes, size, b->node_sizes[id][axis]);
    return size;
}

/* Returns the named size of the columns of a row, or of the number of rows that are added, one for
 * each index. */
static int size_of_width(const struct cr_builder *b)
{
    return size_of_axes(b, b->k->root, 1);
}

static int size_of_rows(const struct cr_builder *b)
{
    return size_of_axes(b, b->k->refs[b->k->scatter.b.ref], 0);
}

/* Schedules a scatter.  Its items share the rows of the table evenly; each reads all indices. */
int64_t cr_schedule_scatter(struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    int64_t rows = b->g->nodes[k->root].shape[0];
    int64_t block = cr_ceil_div(rows, b->target->scatter_items), items = cr_ceil_div(rows, block);
    cr_begin_item_loop(b, items);
    struct cr_share part = cr_let_share(b, "row0", "row1", 1, items, block,
                                        cr_number(b, rows));
    struct cr_argument width = cr_x(cr_named_number(b, k->scatter.width, size_of_width(b)));
    CR_CALL(b, CR_CALLEE_scatter_add, CR_FORMAT_f32, cr_x(cr_share_size(b, &part)), width,
            cr_at(cr_offset(b, cr_start_of(b->out), part.first, CR_NONE, k->scatter.width)), width,
            cr_x(cr_var(b, part.first)),
            cr_x(cr_named_number(b, k->scatter.rows, size_of_rows(b))),
            cr_at(cr_operand_at(b, &k->scatter.a, -1, CR_NONE, -1, CR_NONE)), width,
            cr_at(cr_operand_at(b, &k->scatter.b, -1, CR_NONE, -1, CR_NONE)));
    cr_end(b);
    return items;
}

/* Appends the name of a size, or the number `number` if the size has no name. */
static void put_size(struct cr_text *text, const struct cr_builder *b, int size, int64_t number)
{
    char name[512];
    if (size)
        cr_size_text(cr_named_sizes_of(b->g), size, name, sizeof name);
    else
        snprintf(name, sizeof name, "%lld", (long long)number);
    cr_put(text, "%s", name);
}

void cr_describe_scatter(struct cr_text *text, const struct cr_builder *b)
{
    const struct cr_kernel *k = b->k;
    cr_put(text, " = for each row the sum of the ");
    put_size(text, b, size_of_rows(b), k->scatter.rows);
    cr_put(text, " rows[");
    put_size(text, b, size_of_width(b), k->scatter.width);
    cr_put(text, "] with its index");
}
