#include "kernel_kinds.h"

#include <stddef.h>

const char *const cr_program_names[CR_PROGRAMS] = {
    [CR_PROLOGUE] = "prologue",
    [CR_MORE_QUERIES] = "queries, part 2",
    [CR_MORE_QUERIES + 1] = "queries, part 3",
    [CR_MORE_QUERIES + 2] = "queries, part 4",
    [CR_KEYS] = "keys",
    [CR_KEYS + 1] = "keys, part 2",
    [CR_KEYS + 2] = "keys, part 3",
    [CR_KEYS + 3] = "keys, part 4",
    [CR_SINK] = "sink",
    [CR_SCORES] = "scores",
    [CR_DROPOUT] = "dropout",
    [CR_PROGRAM] = "program",
    [CR_ARRAY] = "array 0",
    [CR_ARRAY + 1] = "array 1",
    [CR_ARRAY + 2] = "array 2",
    [CR_INDEX] = "index",
};
const char *const cr_operand_names[CR_OPERANDS] = {"a", "b", "v", "g", "delta"};

/* Numbers and names are of the same parts. */
#define SAME(array, number, name)                                                                  \
    _Static_assert(offsetof(struct cr_kernel, array[number]) == offsetof(struct cr_kernel, name),  \
                   #name)
SAME(programs, CR_PROLOGUE, prologue);
SAME(programs, CR_MORE_QUERIES, more_queries);
SAME(programs, CR_KEYS, key_rows);
SAME(programs, CR_SINK, sink);
SAME(programs, CR_SCORES, scores);
SAME(programs, CR_DROPOUT, dropout);
SAME(programs, CR_PROGRAM, program);
SAME(operands, CR_OPERANDS - 1, delta);
SAME(programs, CR_ARRAY, array);
SAME(programs, CR_INDEX, index);
SAME(results, 2, dest_v);
SAME(results, 3, dest_array);

/* The atom of a part of a row, or k where a row is whole. */
static int part_atom(const struct cr_kernel *k, const struct cr_row_parts *parts, int i)
{
    return i < parts->n ? parts->items[i].atom : k->k;
}

int cr_column_atom(const struct cr_kernel *k, int program)
{
    bool attends = k->kind == CR_KERNEL_ATTENTION;
    switch (cr_parts_of(k)->programs[program].across) {
    case CR_LOOP_COL:
        return k->col;
    case CR_LOOP_ROW:
        return k->row;
    default:
        if (attends && program >= CR_KEYS && program < CR_KEYS + CR_MAX_PARTS)
            return part_atom(k, &k->attention.key_parts, program - CR_KEYS);
        return attends ? part_atom(k, &k->attention.query_parts, program - CR_PROLOGUE) : k->k;
    }
}
