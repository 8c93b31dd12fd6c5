/*
 * tied_tables.c - handles tables that share their weights with a head.  The rows of such a table are cut like the
 * columns of the head's product, and each rank looks up ids in its part.
 */
#include "cuts.h"

#include <string.h>

/* True if a gather reads a table [rows, columns] that is a parameter, and only gathers of its rows
 * and products read this table.  Otherwise a rank would need the whole table besides its part. */
bool cr_gathers_from_table(const struct cr_shard *s, cr_id id)
{
    cr_id table = cr_in(s->g, id, 0);
    bool good = s->g->nodes[table].op == CR_OP_param && s->g->nodes[table].rank == 2;
    for (int i = s->users.first[table]; i < s->users.first[table + 1] && good; i++) {
        cr_id user = s->users.list[i];
        enum cr_op op = s->g->nodes[user].op;
        good = op == CR_OP_permute || op == CR_OP_gather ||
               (op == CR_OP_matmul && cr_in(s->g, user, 0) != table);
    }
    return good && !s->users.output[table];
}

/* Returns the product of the head that shares its weights with a table: its right operand is the
 * transpose of the table, so the rows of the table are cut like the columns of the product.
 * Returns CR_NONE if there is no such product, or if it is not cut. */
static cr_id tied_head(const struct cr_shard *s, cr_id table)
{
    for (int i = s->users.first[table]; i < s->users.first[table + 1]; i++) {
        cr_id right = s->users.list[i], head = cr_only_user(&s->users, right);
        bool turned = s->g->nodes[right].op == CR_OP_permute;
        while (cr_is_op(s->g, head, CR_OP_expand)) {
            right = head;
            head = cr_only_user(&s->users, right);
        }
        if (turned && cr_is_op(s->g, head, CR_OP_matmul) && cr_in(s->g, head, 1) == right &&
            cr_cut_of_columns(s, head).n == 1)
            return head;
    }
    return CR_NONE;
}

/* True if a gather reads a table whose rows are cut because a head shares its weights: a rank then
 * looks up rows only in its part. */
bool cr_is_tied(const struct cr_shard *s, cr_id id)
{
    cr_id index = cr_in(s->g, id, 1);
    return s->g->nodes[id].rank < CR_MAX_RANK && !cr_read_cut(s, index)->n &&
           cr_gathers_from_table(s, id) && tied_head(s, cr_in(s->g, id, 0)) != CR_NONE;
}

/* A lookup in a table that is cut by rows: the node of the ids, and the segment of rows that is
 * divided among the ranks. */
struct lookup {
    cr_id ids;
    const struct cr_cut_segment *rows;
};

/* Returns the smallest id whose row rank r provides. */
static int64_t first_id(const struct cr_shard *s, const struct lookup *l, int r)
{
    return cr_share_of(s, l->rows) * r;
}

/* Adds a constant tensor of this value with the shape of the ids. */
static cr_id add_number(struct cr_shard *s, const struct lookup *l, int64_t value)
{
    struct cr_attr attr = cr_attr_of(cr_shard_made(s, l->ids));
    attr.value = (double)value;
    attr.name = NULL;
    return cr_rewrite_add(&s->rw, CR_OP_const, 0, NULL, &attr);
}

/* Adds a bool for each id: true if rank r or a later rank provides its row. */
static cr_id add_reaches(struct cr_shard *s, const struct lookup *l, int r)
{
    const cr_id in[] = {l->ids, add_number(s, l, first_id(s, l, r))};
    return cr_rewrite_add(&s->rw, CR_OP_ge, 2, in, NULL);
}

static cr_id add_where(struct cr_shard *s, cr_id condition, cr_id a, cr_id b)
{
    const cr_id in[] = {condition, a, b};
    return cr_rewrite_add(&s->rw, CR_OP_where, 3, in, NULL);
}

/* Adds, for each id, the row number in the part of the rank that provides it.  All ranks compute
 * the same row numbers, because they run the same program.  A rank that does not have an id looks
 * up another row, which is not used. */
static cr_id add_local_ids(struct cr_shard *s, const struct lookup *l)
{
    cr_id begin = add_number(s, l, 0);
    for (int r = 1; r < s->ranks && first_id(s, l, r) < l->rows->size; r++) {
        int64_t last = l->rows->size - cr_share_of(s, l->rows), first = first_id(s, l, r);
        begin = add_where(s, add_reaches(s, l, r), add_number(s, l, first < last ? first : last),
                          begin);
    }
    const cr_id in[] = {l->ids, begin};
    return cr_rewrite_add(&s->rw, CR_OP_sub, 2, in, NULL);
}

/* Adds the rows that rank r has looked up: a slice of `all`, the rows gathered from all ranks. */
static cr_id add_found(struct cr_shard *s, cr_id all, int r)
{
    cr_id one = cr_shard_slice(s, all, 0, r, 1);
    struct cr_attr attr = {.rank = cr_shard_made(s, one)->rank - 1};
    memcpy(attr.shape, cr_shard_made(s, one)->shape + 1, (size_t)attr.rank * sizeof *attr.shape);
    return cr_shard_add(s, CR_OP_reshape, one, &attr);
}

/* Adds the condition of add_reaches, expanded over the columns of `row`. */
static cr_id add_row_reaches(struct cr_shard *s, const struct lookup *l, int r, cr_id row)
{
    struct cr_attr column = {.rank = cr_shard_made(s, row)->rank},
                   whole = {.rank = cr_shard_made(s, row)->rank};
    memcpy(whole.shape, cr_shard_made(s, row)->shape, (size_t)whole.rank * sizeof *whole.shape);
    memcpy(whole.lengths, cr_shard_made(s, row)->lengths, sizeof whole.lengths);
    memcpy(column.shape, whole.shape, sizeof column.shape);
    column.shape[column.rank - 1] = 1;
    return cr_shard_add(s, CR_OP_expand,
                        cr_shard_add(s, CR_OP_reshape, add_reaches(s, l, r), &column), &whole);
}

/* Adds a lookup of rows in a table that is cut by rows.  Each rank looks up all ids in its part;
 * then the rows of the rank that has each id are selected. */
cr_id cr_add_lookup(struct cr_shard *s, cr_id id)
{
    cr_id table = cr_in(s->g, id, 0);
    const struct cr_axis_cut cut = cr_cut_of_columns(s, tied_head(s, table));
    const struct lookup l = {cr_whole_of(s, cr_in(s->g, id, 1)), &cut.segments[0]};
    int64_t columns = s->g->nodes[table].shape[1];
    cr_id part = cr_shard_add(s, CR_OP_slice, s->rw.map[table],
                              &(struct cr_attr){.part = true,
                                                .index = {cr_begin_of(s, l.rows), 0},
                                                .shape = {cr_share_of(s, l.rows), columns}});
    const cr_id in[] = {part, add_local_ids(s, &l)};
    cr_id own = cr_rewrite_add(&s->rw, CR_OP_gather, 2, in, NULL);
    cr_id all = cr_shard_add(s, CR_OP_all_gather, own, &(struct cr_attr){.value = s->ranks});
    cr_id row = add_found(s, all, 0);
    for (int r = 1; r < s->ranks && first_id(s, &l, r) < l.rows->size; r++)
        row = add_where(s, add_row_reaches(s, &l, r, row), add_found(s, all, r), row);
    return row;
}
