/* The loops around tiles. */
#include "parts.h"

/* "item", divided by `below` and modulo `extent` where that is not idle. */
void cr_print_digit(struct cr_printer *p, int64_t below, int64_t extent, bool top)
{
    cr_put(p->text, "item");
    if (below > 1)
        cr_put(p->text, " / %lld", (long long)below);
    if (!top)
        cr_put(p->text, " %% %lld", (long long)extent);
}

/* The loop over the items, each taken apart into outer loops, blocks and groups. */
void cr_print_items(struct cr_printer *p, int64_t below)
{
    const struct cr_kernel *k = p->k;
    cr_put(p->text, "    for (long item = begin; item < end; item++) {\n");
    for (int i = k->n_outer - 1; i >= 0; i--) {
        int64_t size = cr_extent(k, k->outer[i]);
        cr_put(p->text, "        const long o%d = ", i);
        cr_print_digit(p, below, size, i == 0);
        cr_put(p->text, ";\n");
        below *= size;
    }
}

/* The part of a dimension that an item does: "first" to "last", `step` of `size`. */
void cr_print_part(struct cr_printer *p, const char *first, const char *last, int64_t below,
                   int64_t parts, int64_t part, int64_t size)
{
    struct cr_text *t = p->text;
    if (parts == 1) {
        cr_put(t, "        const long %s = 0, %s = %lld;\n", first, last, (long long)size);
        return;
    }
    cr_put(t, "        const long %s = ", first);
    cr_print_digit(p, below, parts, false);
    cr_put(t, " * %lld;\n        const long %s = %s + %lld < %lld ? %s + %lld : %lld;\n",
           (long long)part, last, first, (long long)part, (long long)size, first, (long long)part,
           (long long)size);
}

int64_t cr_outer_items(const struct cr_kernel *k)
{
    int64_t items = 1;
    for (int i = 0; i < k->n_outer; i++)
        items *= k->atoms.extent[k->outer[i]];
    return items;
}

/* "const long name = first + step < end ? step : end - first;", or the plain number. */
void cr_print_count(struct cr_printer *p, int indent, const char *name, const char *first,
                    int64_t step_size, const char *end)
{
    cr_put(p->text, "%*sconst long %s = %s - %s < %lld ? %s - %s : %lld;\n", indent, "", name, end,
           first, (long long)step_size, end, first, (long long)step_size);
}
