#include "schedule_parts.h"

#include <stdio.h>

int64_t cr_outer_items(const struct cr_kernel *k)
{
    int64_t items = 1;
    for (int i = 0; i < k->n_outer; i++)
        items *= k->atoms.extent[k->outer[i]];
    return items;
}

int64_t cr_count_shares(const struct cr_kernel *k, int64_t items, const struct cr_target *target)
{
    double work = k->flops + 4 * (k->bytes_read + k->bytes_written);
    double shares = work / (double)target->share_work;
    return cr_max(1, shares < (double)items ? (int64_t)shares : items);
}

cr_expr cr_digit(struct cr_builder *b, int64_t below, int64_t extent, bool top)
{
    cr_expr digit = cr_var(b, CR_VAR_ITEM);
    if (below > 1)
        digit = cr_binary(b, CR_EXPR_DIV, digit, cr_number(b, below));
    if (!top)
        digit = cr_binary(b, CR_EXPR_MOD, digit, cr_number(b, extent));
    return digit;
}

cr_expr cr_size(struct cr_builder *b, int atom)
{
    int length = atom < 0 ? 0 : b->k->atoms.length[atom];
    return length ? cr_field(b, b->length[length - 1]) : cr_number(b, cr_extent(b->k, atom));
}

void cr_begin_items(struct cr_builder *b, int64_t below)
{
    const struct cr_kernel *k = b->k;
    char name[16];
    cr_begin_loop(b, "item", cr_var(b, CR_VAR_BEGIN), cr_var(b, CR_VAR_END), 1, CR_NONE);
    for (int i = k->n_outer - 1; i >= 0; i--) {
        int64_t size = cr_extent(k, k->outer[i]);
        snprintf(name, sizeof name, "o%d", i);
        b->outer[i] = cr_let(b, name, cr_digit(b, below, size, i == 0));
        below *= size;
        if (k->atoms.length[k->outer[i]]) {
            cr_expr inside = cr_binary(b, CR_EXPR_LESS, cr_var(b, b->outer[i]),
                                       cr_size(b, k->outer[i]));
            cr_begin_if(b, inside, NULL);
        }
    }
}

void cr_end_items(struct cr_builder *b)
{
    for (int i = 0; i < b->k->n_outer; i++)
        if (b->k->atoms.length[b->k->outer[i]])
            cr_end(b);
    cr_end(b);
}

struct cr_share cr_let_share(struct cr_builder *b, const char *first, const char *last,
                           int64_t below, int64_t parts, int64_t step, cr_expr size)
{
    struct cr_share part;
    if (parts == 1) {
        part.first = cr_let(b, first, cr_number(b, 0));
        part.last = cr_let(b, last, size);
        return part;
    }
    cr_expr digit = cr_digit(b, below, parts, false);
    part.first = cr_let(b, first, cr_binary(b, CR_EXPR_MUL, digit, cr_number(b, step)));
    cr_expr end = cr_binary(b, CR_EXPR_MIN, cr_plus(b, cr_var(b, part.first), step), size);
    bool fixed = b->f->exprs[size].op == CR_EXPR_NUMBER;
    part.last = cr_let_noted(b, last, end, !fixed, NULL);
    if (!fixed) {
        cr_begin_if(b, cr_binary(b, CR_EXPR_LESS, cr_var(b, part.last), cr_var(b, part.first)),
                    NULL);
        cr_set(b, part.last, cr_var(b, part.first));
        cr_end(b);
    }
    return part;
}

struct cr_steps cr_begin_steps(struct cr_builder *b, const char *name, const char *count,
                               cr_expr first, cr_expr last, int64_t step, cr_expr until)
{
    struct cr_steps steps;
    steps.first = cr_begin_loop(b, name, first, last, step, until);
    steps.count = cr_let_count(b, count, steps.first, step, last);
    return steps;
}

struct cr_argument cr_vectors(struct cr_builder *b)
{
    return cr_n(b, b->target->tile_vectors);
}

struct cr_argument cr_ahead(struct cr_builder *b)
{
    return cr_n(b, b->target->ahead);
}

struct cr_argument cr_none_ahead(struct cr_builder *b)
{
    return cr_n(b, 0);
}

struct cr_address cr_panel_at(struct cr_builder *b, int slot, int var, int origin, int64_t K)
{
    return cr_offset(b, cr_start_of(slot), var, origin, K);
}

struct cr_address cr_result_at(struct cr_builder *b, const struct cr_affine *dest, int row,
                               int row_var, int col, int col_var)
{
    return cr_element(b, b->out, dest, row, row_var, col, col_var);
}

struct cr_address cr_operand_at(struct cr_builder *b, const struct cr_operand *operand, int row,
                                int row_var, int col, int col_var)
{
    return cr_element(b, b->ref[operand->ref], &operand->at, row, row_var, col, col_var);
}
