/*
 * Rows added up into the rows of a table.  Each item makes a few rows of the table and looks
 * at every index for them, so that no two threads write to one row and the sums have one
 * order.
 */
#include "parts.h"

/* Where the indices are as floats: the kernel's own copy if the caller handed integers in. */
static const char *print_index(struct cr_printer *p, char *address, size_t size)
{
    const struct cr_kernel *k = p->k;
    const struct cr_node *node = &p->g->nodes[k->refs[k->b.ref]];
    cr_print_address(p, address, size, k->b.ref, &k->b.at, -1, "0", -1, "0");
    if (node->op != CR_OP_input)
        return address;
    cr_take_scratch(p, "index", k->K, "the indices as floats");
    cr_put_line(p->text, 4, "rt->load_i32(1, %lld, index, 0, %s, 0, 1);", (long long)k->K, address);
    return "index";
}

int64_t cr_print_scatter_kernel(struct cr_printer *p)
{
    const struct cr_kernel *k = p->k;
    int64_t rows = p->g->nodes[k->root].shape[0];
    int64_t block = cr_ceil_div(rows, SCATTER_ITEMS), items = cr_ceil_div(rows, block);
    long long width = (long long)k->N;
    char source[CR_ADDRESS_SIZE], address[CR_ADDRESS_SIZE];
    const char *index = print_index(p, address, sizeof address);
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
