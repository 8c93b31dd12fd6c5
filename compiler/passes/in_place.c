#include "in_place.h"

static int ref_of(const struct cr_kernel *k, cr_id id)
{
    for (int i = 0; i < k->n_refs; i++)
        if (k->refs[i] == id)
            return i;
    return -1;
}

static bool reads_ref(const struct cr_value *v, int ref)
{
    return (v->source == CR_LOAD || v->source == CR_GATHER) && v->ref == ref;
}

/* True if two indices are one in all iterations of the loops. */
static bool same_place(const struct cr_kernel *k, const struct cr_affine *a,
                       const struct cr_affine *b)
{
    bool same = a->base == b->base;
    for (int i = 0; i < k->atoms.n; i++)
        same &= a->coef[i] == b->coef[i] || k->atoms.extent[i] == 1;
    return same;
}

bool cr_reads_node(const struct cr_kernel *k, cr_id id)
{
    return ref_of(k, id) >= 0;
}

/* Gathered rows and operands of products are read elsewhere than where a result goes. */
bool cr_reads_in_place(const struct cr_kernel *k, int result, cr_id state)
{
    int ref = ref_of(k, state);
    bool gemm = k->kind == CR_KERNEL_GEMM;
    if (ref < 0)
        return true;
    if (k->kind != CR_KERNEL_TILE && !gemm)
        return false;
    for (int i = 0; i < k->prologue.n; i++)
        if (reads_ref(&k->prologue.values[i], ref))
            return false;
    if (gemm &&
        ((!k->prologue.n && k->a.ref == ref) || (k->gemm.packed == CR_NONE && k->b.ref == ref)))
        return false;
    for (int i = 0; i < k->program.n; i++) {
        const struct cr_value *v = &k->program.values[i];
        if (reads_ref(v, ref) &&
            (v->source == CR_GATHER || !same_place(k, &v->at, &k->results[result])))
            return false;
    }
    return true;
}

bool cr_writes_over(const struct cr_module *m, const struct cr_kernel *k)
{
    for (int i = 0; i < k->n_stored; i++) {
        cr_id state = cr_state_of(m, k->stored[i]);
        if (state != CR_NONE && cr_reads_node(k, state))
            return true;
    }
    return false;
}
