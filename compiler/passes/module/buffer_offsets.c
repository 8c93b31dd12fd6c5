#include "buffer_offsets.h"

#include "kernel_kinds.h"

bool cr_reads_operand(const struct cr_kernel *kernel, int i)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    return !parts->lacks || !parts->lacks(kernel, i);
}

int cr_ref_of_operand(const struct cr_kernel *kernel, int i)
{
    return cr_reads_operand(kernel, i) ? cr_operand_of(kernel, i)->ref : -1;
}

static bool reads_ref(const struct cr_value *v)
{
    return v->source == CR_LOAD || v->source == CR_GATHER;
}

bool cr_has_buffer_offsets(const struct cr_kernel *kernel)
{
    return cr_parts_of(kernel)->starts;
}

static void lower(struct cr_buffer_offsets *starts, bool *known, int ref, const struct cr_affine *at)
{
    if (!known[ref] || at->base < starts->at[ref])
        starts->at[ref] = at->base;
    known[ref] = true;
}

void cr_find_buffer_offsets(const struct cr_kernel *kernel, struct cr_buffer_offsets *starts)
{
    bool known[CR_MAX_REFS + 1] = {false};
    *starts = (struct cr_buffer_offsets){{0}};
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(kernel, p)); p++)
        for (int i = 0; i < tiles->n; i++)
            if (reads_ref(&tiles->values[i]))
                lower(starts, known, tiles->values[i].ref, &tiles->values[i].at);
    const struct cr_operand *operand;
    for (int i = 0; (operand = cr_operand_of(kernel, i)); i++)
        if (cr_ref_of_operand(kernel, i) >= 0)
            lower(starts, known, operand->ref, &operand->at);
    lower(starts, known, CR_START_RESULT, &kernel->dest);
}

void cr_set_buffer_offsets(struct cr_kernel *kernel, const struct cr_buffer_offsets *starts)
{
    const struct cr_tiles *tiles;
    for (int p = 0; (tiles = cr_program_of(kernel, p)); p++)
        for (int i = 0; i < tiles->n; i++)
            if (reads_ref(&tiles->values[i]))
                tiles->values[i].at.base -= starts->at[tiles->values[i].ref];
    struct cr_operand *operand;
    for (int i = 0; (operand = cr_operand_of(kernel, i)); i++)
        if (cr_ref_of_operand(kernel, i) >= 0)
            operand->at.base -= starts->at[operand->ref];
    kernel->dest.base -= starts->at[CR_START_RESULT];
}
