#include "buffer_offsets.h"

#include "kernel_kinds.h"

/* True if a program computes the rows of the left operand, or the keys. */
static bool is_computed(const struct cr_kernel *kernel, int i)
{
    if (&kernel->operands[i] == &kernel->a)
        return kernel->prologue.n > 0;
    return &kernel->operands[i] == &kernel->b && kernel->key_rows[0].n > 0;
}

bool cr_reads_operand(const struct cr_kernel *kernel, int i)
{
    const struct cr_kernel_parts *parts = cr_parts_of(kernel);
    bool packed = &kernel->operands[i] == &kernel->b && cr_packed(kernel) != CR_NONE;
    bool lacks = parts->lacks && parts->lacks(kernel, i);
    return parts->operands[i].used && !lacks && !packed && !is_computed(kernel, i);
}

int cr_ref_of_operand(const struct cr_kernel *kernel, int i)
{
    return cr_reads_operand(kernel, i) ? kernel->operands[i].ref : -1;
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
    for (int p = 0; p < CR_PROGRAMS; p++)
        for (int i = 0; cr_parts_of(kernel)->programs[p].loops && i < kernel->programs[p].n; i++)
            if (reads_ref(&kernel->programs[p].values[i]))
                lower(starts, known, kernel->programs[p].values[i].ref,
                      &kernel->programs[p].values[i].at);
    for (int i = 0; i < CR_OPERANDS; i++)
        if (cr_ref_of_operand(kernel, i) >= 0)
            lower(starts, known, kernel->operands[i].ref, &kernel->operands[i].at);
    lower(starts, known, CR_START_RESULT, &kernel->dest);
}

void cr_set_buffer_offsets(struct cr_kernel *kernel, const struct cr_buffer_offsets *starts)
{
    for (int p = 0; p < CR_PROGRAMS; p++)
        for (int i = 0; cr_parts_of(kernel)->programs[p].loops && i < kernel->programs[p].n; i++)
            if (reads_ref(&kernel->programs[p].values[i]))
                kernel->programs[p].values[i].at.base -=
                    starts->at[kernel->programs[p].values[i].ref];
    for (int i = 0; i < CR_OPERANDS; i++)
        if (cr_ref_of_operand(kernel, i) >= 0)
            kernel->operands[i].at.base -= starts->at[kernel->operands[i].ref];
    kernel->dest.base -= starts->at[CR_START_RESULT];
}
