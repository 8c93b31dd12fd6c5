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

/* The value that alone reads value i, once; -1 if there is no such value, or i is a result. */
static int only_reader(const struct cr_tiles *tiles, int i)
{
    int uses = 0, reader = -1;
    for (int j = i + 1; j < tiles->n; j++)
        for (int a = 0; a < cr_value_args(&tiles->values[j]); a++)
            if (tiles->values[j].arg[a] == i) {
                uses++;
                reader = j;
            }
    return uses == 1 && !cr_is_result(tiles, i) ? reader : -1;
}

/* The last value that value i may be computed together with, by one function of the runtime
 * (combine.h): that function reads the operands of both. */
static int latest_of(const struct cr_tiles *tiles, int i)
{
    int reader = only_reader(tiles, i);
    while (tiles->values[i].source == CR_MAP && reader >= 0) {
        i = reader;
        reader = only_reader(tiles, i);
    }
    return i;
}

/* True if no value reads an operand behind the result that is stored over it; nor is an operand stored
 * as two results, of which one is stored over it. */
static bool reads_before(const struct cr_kernel *k, int ref, int result)
{
    const struct cr_tiles *tiles = &k->program;
    int stored = tiles->results[result];
    for (int r = 0; r <= tiles->n_more; r++)
        if (r != result && tiles->results[r] == stored && reads_ref(&tiles->values[stored], ref))
            return false;
    for (int i = 0; i < tiles->n; i++) {
        const struct cr_value *v = &tiles->values[i];
        bool late = reads_ref(v, ref) && i > stored;
        for (int a = 0; a < cr_value_args(v); a++)
            late |= reads_ref(&tiles->values[v->arg[a]], ref) && latest_of(tiles, i) > stored;
        if (late)
            return false;
    }
    return true;
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
    return !k->program.n_more || reads_before(k, ref, result);
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
