/*
 * Rows added up into the rows of a table.  Each item makes a few rows of the table and looks
 * at every index for them, so that no two threads write to one row and the sums have one
 * order.
 */
#include "parts.h"

int64_t cr_print_scatter_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = p->g->nodes[k->root].shape[0];
    int64_t block = cr_ceil_div(rows, SCATTER_ITEMS), items = cr_ceil_div(rows, block);
    long long width = (long long)k->N;
    char source[CR_ADDRESS_SIZE], index[CR_ADDRESS_SIZE];
    cr_print_address(p, index, sizeof index, k->b.ref, &k->b.at, -1, "0", -1, "0");
    cr_print_address(p, source, sizeof source, k->a.ref, &k->a.at, -1, "0", -1, "0");
    cr_put(p->text, "    for (long item = begin; item < end; item++) {\n");
    cr_print_part(p, "first", "last", 1, items, block, rows);
    cr_put_line(p->text, 8,
                "rt->scatter_add(last - first, %lld, a->out + first * %lld, %lld, first, "
                "%lld, %s, %lld, %s);",
                width, width, width, (long long)k->K, source, width, index);
    cr_put(p->text, "    }\n");
    return items;
}
