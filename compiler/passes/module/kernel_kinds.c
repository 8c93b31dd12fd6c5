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

/* Numbers and names must refer to the same parts. */
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

int cr_column_atom(const struct cr_kernel *k, int program)
{
    const struct cr_kernel_parts *parts = cr_parts_of(k);
    switch (parts->programs[program].across) {
    case CR_LOOP_COL:
        return k->col;
    case CR_LOOP_ROW:
        return k->row;
    default:
        return parts->sum_atom ? parts->sum_atom(k, program) : k->k;
    }
}
