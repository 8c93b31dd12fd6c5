#include "schedule_parts.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/text.h"
#include "compiler/ir/unwind.h"

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
    if (extent == 1)
        return cr_number(b, 0);
    if (below > 1)
        digit = cr_binary(b, CR_EXPR_DIV, digit, cr_number(b, below));
    if (!top)
        digit = cr_binary(b, CR_EXPR_MOD, digit, cr_number(b, extent));
    return digit;
}

cr_expr cr_extent_of(struct cr_builder *b, int atom)
{
    return cr_named_number(b, cr_extent(b->k, atom), atom < 0 ? 0 : b->atom_size[atom]);
}

cr_expr cr_size(struct cr_builder *b, int atom)
{
    int length = cr_length_of(b->k, atom);
    if (!length)
        return cr_extent_of(b, atom);
    if (!b->g->lengths[length - 1].batch)
        return cr_field(b, b->length[length - 1]);
    CR_CHECK(b->of_row[length - 1] != CR_NONE);
    return cr_var(b, b->of_row[length - 1]);
}

void cr_put_extent(struct cr_text *text, const struct cr_builder *b, int atom)
{
    char name[512];
    int size = atom < 0 ? 0 : b->atom_size[atom];
    if (size)
        cr_size_text(cr_named_sizes_of(b->g), size, name, sizeof name);
    else
        snprintf(name, sizeof name, "%lld", (long long)cr_extent(b->k, atom));
    cr_put(text, "%s", name);
}

void cr_put_extents(struct cr_text *text, const struct cr_builder *b, int row, int col)
{
    cr_put(text, "[");
    cr_put_extent(text, b, row);
    cr_put(text, ", ");
    cr_put_extent(text, b, col);
    cr_put(text, "]");
}

/* Returns x times a constant number. */
static cr_expr times(struct cr_builder *b, cr_expr x, int64_t number)
{
    return number == 1 ? x : cr_binary(b, CR_EXPR_MUL, x, cr_number(b, number));
}

/* Returns the name that the number of an item's inner parts has, of its columns or its queries; else 0. */
static int inner_parts(struct cr_builder *b, int64_t below)
{
    static const enum cr_tile_axis axes[] = {CR_TILE_COLUMNS, CR_TILE_QUERIES};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (b->f->tiles[(int)axes[i] * CR_TILE_LEVELS + CR_TILE_PARTS] == below)
            return cr_parts_size(b, axes[i], below);
    return 0;
}

/* x times the number of an item's inner parts. */
static cr_expr times_inner(struct cr_builder *b, cr_expr x, int64_t inner)
{
    return inner == 1 ? x : cr_binary(b, CR_EXPR_MUL, x, cr_named_number(b, inner, inner_parts(b, inner)));
}

cr_expr cr_count_steps(struct cr_builder *b, cr_expr size, int64_t step, int step_size)
{
    cr_expr named = cr_named_number(b, step, step_size);
    cr_expr up = step_size ? cr_binary(b, CR_EXPR_SUB, cr_binary(b, CR_EXPR_ADD, size, named), cr_number(b, 1))
                           : cr_plus(b, size, step - 1);
    return step == 1 ? size : cr_binary(b, CR_EXPR_DIV, up, named);
}

void cr_add_item_part(struct cr_builder *b, cr_expr size, int64_t step, int step_size)
{
    int64_t number;
    if (!cr_number_of(b, size, &number) || b->n_item_parts == CR_MAX_ITEM_PARTS)
        return;
    b->item_parts[b->n_item_parts++] =
        (struct cr_item_part){number, step, b->f->exprs[size].size, step_size};
}

/* Returns the expression for the number of a share's item, in which numbers of parts have names: those of the loops
 * inside it, and its own number of parts, whose named size is `parts`. */
static cr_expr share_digit(struct cr_builder *b, int64_t below, int64_t extent, int parts, bool top)
{
    cr_expr digit = cr_digit(b, below, extent, top);
    struct cr_expr_node *e = &b->f->exprs[digit];
    if (e->op == CR_EXPR_MOD) {
        b->f->exprs[e->b].size = parts;
        e = &b->f->exprs[e->a];
    }
    if (e->op == CR_EXPR_DIV)
        b->f->exprs[e->b].size = inner_parts(b, below);
    return digit;
}

/* Names the numbers in the expression for the counter of outer loop i: its extent, and the product
 * of the extents of the loops inside it. */
static void name_digit(struct cr_builder *b, cr_expr digit, int i, int64_t below)
{
    struct cr_expr_node *e = &b->f->exprs[digit];
    struct cr_named_sizes *sizes = cr_named_sizes_of(b->g);
    if (!sizes)
        return;
    if (e->op == CR_EXPR_MOD) {
        b->f->exprs[e->b].size = b->atom_size[b->k->outer[i]];
        e = &b->f->exprs[e->a];
    }
    if (e->op != CR_EXPR_DIV)
        return;
    for (int j = i + 1; j < b->k->n_outer; j++)
        below /= cr_extent(b->k, b->k->outer[j]);
    int parts = inner_parts(b, below), inside = parts ? parts : cr_plain_size(sizes, below);
    for (int j = i + 1; j < b->k->n_outer; j++)
        if (cr_extent(b->k, b->k->outer[j]) > 1)
            inside = cr_size_product(sizes, inside, b->atom_size[b->k->outer[j]]);
    if (cr_is_named(sizes, inside))
        b->f->exprs[e->b].size = inside;
}

/* True if an atom's loop runs to a ragged length, which has a value for each row of a batch. */
static bool is_ragged(const struct cr_builder *b, int atom)
{
    int length = b->k->atoms.length[atom];
    return length && b->g->lengths[length - 1].batch;
}

/* Begins the condition that the counter of outer loop i is less than its length: items past the
 * length do nothing. */
static void begin_outer_if(struct cr_builder *b, int i, cr_expr length)
{
    cr_begin_if(b, cr_binary(b, CR_EXPR_LESS, cr_var(b, b->outer[i]), length), NULL);
    b->n_outer_ifs++;
}

/* Declares the counter of outer loop i.  If the loop runs to a length that is not ragged, begins
 * the condition for it; but for the outermost loop (`top`), makes the number of items depend on the
 * length. */
static void begin_outer(struct cr_builder *b, int i, int64_t below, bool top)
{
    int atom = b->k->outer[i];
    cr_expr digit = cr_digit(b, below, cr_extent(b->k, atom), top);
    name_digit(b, digit, i, below);
    b->outer[i] = cr_let(b, b->outer_name[i], digit);
    if (!b->k->atoms.length[atom] || is_ragged(b, atom))
        return;
    if (top)
        b->items = times(b, cr_size(b, atom), below);
    else
        begin_outer_if(b, i, cr_size(b, atom));
}

/* Declares the size of the item's row for a ragged length; variable `row` is the number of the row.
 * Begins the conditions of outer loops that run to this length. */
static void let_size_of_row(struct cr_builder *b, int n, int length, int row)
{
    const struct cr_kernel *k = b->k;
    char plain[15], name[24];
    cr_identifier(plain, sizeof plain, b->g->lengths[length].name);
    snprintf(name, sizeof name, "%s_of_row", plain);
    b->of_row[length] = cr_let(b, name, cr_load_at(b, b->length[length], row));
    for (int i = n - 1; i >= 0; i--)
        if (k->atoms.length[k->outer[i]] == length + 1)
            begin_outer_if(b, i, cr_load_at(b, b->length[length], row));
}

/* Declares the sizes of the item's row for all ragged lengths whose batch is one of the first n
 * outer loops.  The counters of these loops must be declared. */
static void let_sizes_of_row(struct cr_builder *b, int n)
{
    for (int i = 0; i < n; i++)
        for (int length = 0; length < b->g->n_lengths; length++)
            if (b->length[length] != CR_NONE && b->g->lengths[length].batch &&
                b->g->lengths[length].batch == b->k->atoms.length[b->k->outer[i]])
                let_size_of_row(b, n, length, b->outer[i]);
}

/* Begins the loop over items and declares the counters of the first n outer loops.  With `topmost`,
 * outer loop 0 is the most significant digit of an item number. */
static void begin_items(struct cr_builder *b, int n, int64_t below, bool topmost)
{
    const struct cr_kernel *k = b->k;
    int64_t items = below;
    for (int i = 0; i < n; i++)
        items *= cr_extent(k, k->outer[i]);
    bool fixed = topmost && !(n && k->atoms.length[k->outer[0]]);
    cr_begin_item_loop(b, fixed ? items : 0);
    for (int i = n - 1; i >= 0; i--) {
        begin_outer(b, i, below, topmost && i == 0);
        below *= cr_extent(k, k->outer[i]);
    }
    let_sizes_of_row(b, n);
}

/* Makes a share empty if it is past the end of its dimension. */
static void end_share(struct cr_builder *b, const struct cr_share *share)
{
    cr_begin_if(b, cr_binary(b, CR_EXPR_LESS, cr_var(b, share->last), cr_var(b, share->first)),
                NULL);
    cr_set(b, share->last, cr_var(b, share->first));
    cr_end(b);
}

/* Declares a share of `size` rows, where `size` is a length.  The rows are divided evenly among
 * size / block shares, rounded up; later shares are empty. */
static struct cr_share let_even_share(struct cr_builder *b, cr_expr digit, int64_t block,
                                      cr_expr size)
{
    struct cr_share rows;
    rows.most_size = cr_tile_size(b, CR_TILE_ROWS, 0, block);
    cr_expr most = cr_named_number(b, block, rows.most_size);
    int blocks = cr_let(b, "blocks", cr_count_steps(b, size, block, rows.most_size));
    cr_expr up = cr_plus(b, cr_binary(b, CR_EXPR_ADD, size, cr_var(b, blocks)), -1);
    int even = cr_let(b, "even", cr_binary(b, CR_EXPR_DIV, up, cr_var(b, blocks)));
    int step = cr_let(b, "block", cr_binary(b, CR_EXPR_MIN, cr_var(b, even), most));
    rows.first = cr_let(b, "row0", cr_binary(b, CR_EXPR_MUL, digit, cr_var(b, step)));
    cr_expr end = cr_binary(b, CR_EXPR_ADD, cr_var(b, rows.first), cr_var(b, step));
    rows.last = cr_let_noted(b, "row1", cr_binary(b, CR_EXPR_MIN, end, size), true, NULL);
    end_share(b, &rows);
    rows.most = block;
    rows.even = false;
    rows.may_be_empty = true;
    return rows;
}

void cr_begin_items(struct cr_builder *b, int64_t below)
{
    begin_items(b, b->k->n_outer, below, true);
}

void cr_begin_items_of_outer(struct cr_builder *b, int n, int64_t below)
{
    begin_items(b, n, below, true);
}

struct cr_share cr_begin_items_of_rows(struct cr_builder *b, int64_t below, int64_t blocks,
                                       int64_t block)
{
    int64_t inner = cr_outer_items(b->k) * below;
    cr_parts_size(b, CR_TILE_COLUMNS, below);
    if (blocks == 1 || !cr_length_of(b->k, b->k->row)) {
        cr_begin_items(b, blocks * below);
        return cr_let_share(b, "row0", "row1", below, blocks, block, cr_size(b, b->k->row));
    }
    if (is_ragged(b, b->k->row)) {
        cr_begin_items(b, blocks * below);
        return let_even_share(b, share_digit(b, below, blocks, 0, false), block, cr_size(b, b->k->row));
    }
    cr_expr size = cr_size(b, b->k->row);
    b->items = times_inner(b, cr_count_steps(b, size, block, cr_tile_size(b, CR_TILE_ROWS, 0, block)), inner);
    begin_items(b, b->k->n_outer, below, false);
    return let_even_share(b, share_digit(b, inner, blocks, 0, true), block, size);
}

void cr_end_items(struct cr_builder *b)
{
    for (; b->n_outer_ifs; b->n_outer_ifs--)
        cr_end(b);
    cr_end(b);
}

/* Writes the note for the variable of a share's first element, for example "the first of 128
 * columns" for col0. */
static void note_share(char note[64], const char *first, const struct cr_share *part)
{
    static const char *const words[][3] = {
        {"col", "column", "columns"}, {"query", "query", "queries"}, {"head", "head", "heads"}};
    const char *noun = "rows", *one = "row";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(first, words[i][0], strlen(words[i][0])) == 0)
            one = words[i][1], noun = words[i][2];
    if (part->most_size)
        snprintf(note, 64, "the item's first %s", one);
    else
        snprintf(note, 64, "the first of %s%lld %s", part->even ? "" : "at most ", (long long)part->most, noun);
}

struct cr_share cr_let_share(struct cr_builder *b, const char *first, const char *last,
                             int64_t below, int64_t parts, int64_t step, cr_expr size)
{
    int64_t number;
    bool fixed = cr_number_of(b, size, &number);
    struct cr_share part = {.most = fixed ? cr_min(number, step) : step,
                            .even = fixed && (parts == 1 || number % step == 0),
                            .may_be_empty = !fixed && parts > 1};
    if (parts == 1) {
        part.first = cr_let_number(b, 0, 0);
        part.last = cr_let(b, last, size);
        return part;
    }
    int step_size = cr_tile_size(b, cr_axis_of_counter(first), 0, step);
    cr_expr named = cr_named_number(b, step, step_size);
    part.most_size = part.most == step ? step_size : 0;
    cr_add_item_part(b, size, step, step_size);
    enum cr_tile_axis axis = cr_axis_of_counter(first);
    bool named_parts = axis == CR_TILE_COLUMNS || axis == CR_TILE_QUERIES;
    cr_expr digit = share_digit(b, below, parts, named_parts && below == 1 ? cr_parts_size(b, axis, parts) : 0,
                                b->n_items == below * parts);
    char note[64];
    note_share(note, first, &part);
    part.first = cr_let_noted(b, first, cr_binary(b, CR_EXPR_MUL, digit, named), false,
                              part.most > 1 ? note : NULL);
    cr_expr end = cr_binary(b, CR_EXPR_ADD, cr_var(b, part.first), named);
    if (!part.even)
        end = cr_binary(b, CR_EXPR_MIN, end, size);
    part.last = cr_let_noted(b, last, end, !fixed, NULL);
    if (!fixed)
        end_share(b, &part);
    return part;
}

cr_expr cr_share_size(struct cr_builder *b, const struct cr_share *share)
{
    int64_t number;
    cr_expr size = cr_minus_var(b, share->last, share->first);
    return share->even && !cr_number_of(b, size, &number) ? cr_named_number(b, share->most, share->most_size) : size;
}

/* Returns the named size of a loop's step, which is that of the item's part if both are equal. */
static int step_size_of(struct cr_builder *b, const char *counter, int64_t step)
{
    return cr_tile_size(b, cr_axis_of_counter(counter), 1, step);
}

struct cr_steps cr_begin_steps(struct cr_builder *b, const char *name, const char *count,
                               cr_expr first, cr_expr last, int64_t step)
{
    struct cr_steps steps;
    int64_t begin, end;
    bool fixed = cr_number_of(b, first, &begin) && cr_number_of(b, last, &end);
    int size = fixed && end - begin <= step ? 0 : step_size_of(b, name, step);
    steps.first = cr_begin_loop(b, name, first, last, step, size, CR_NONE);
    if (fixed && end - begin == step)
        steps.count = cr_let(b, count, cr_binary(b, CR_EXPR_SUB, last, first));
    else if (fixed && (end - begin) % step == 0)
        steps.count = cr_let_number(b, step, size);
    else
        steps.count = cr_let_count(b, count, steps.first, step, size, last);
    return steps;
}

struct cr_steps cr_begin_share(struct cr_builder *b, const char *name, const char *count,
                               const struct cr_share *share, int64_t step, cr_expr until)
{
    cr_expr last = cr_var(b, share->last);
    struct cr_steps steps = {.first = share->first};
    bool once = share->most <= step && !share->may_be_empty;
    int size = once ? 0 : step_size_of(b, name, step);
    if (until != CR_NONE)
        cr_remark(b, "once for all items that have these rows");
    if (!once)
        steps.first = cr_begin_loop(b, name, cr_var(b, share->first), last, step, size, until);
    else if (until == CR_NONE)
        cr_begin_plain(b);
    else
        cr_begin_if(b, until, NULL);
    if (!once && share->even && share->most % step == 0)
        steps.count = cr_let_number(b, step, size);
    else if (!once)
        steps.count = cr_let_count(b, count, steps.first, step, size, last);
    else if ((steps.count = cr_let(b, count, cr_share_size(b, share))) >= 0)
        b->f->vars[steps.count].most = share->most_size;
    return steps;
}

cr_expr cr_is_first_item(struct cr_builder *b, const struct cr_share *share, int64_t parts)
{
    cr_expr first = cr_binary(b, CR_EXPR_EQUAL, cr_var(b, CR_VAR_ITEM), cr_var(b, CR_VAR_BEGIN));
    if (b->n_items == parts)
        return first;
    cr_expr zero = cr_binary(b, CR_EXPR_EQUAL, cr_var(b, share->first), cr_number(b, 0));
    return cr_binary(b, CR_EXPR_OR, first, zero);
}

struct cr_argument cr_tile_columns(struct cr_builder *b)
{
    return cr_n(b, b->target->tile_columns);
}

struct cr_argument cr_prefetch_distance(struct cr_builder *b)
{
    struct cr_named_sizes *sizes = b->node_sizes ? cr_named_sizes_of(b->g) : NULL;
    if (!sizes)
        return cr_n(b, b->target->ahead);
    sizes->names[CR_NAME_AHEAD].value = b->target->ahead;
    return cr_x(cr_named_number(b, b->target->ahead, cr_size_of_name(sizes, CR_NAME_AHEAD)));
}

struct cr_argument cr_no_prefetch(struct cr_builder *b)
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
