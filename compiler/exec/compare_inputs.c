/* compare_inputs.c - compares the inputs of ranks by a hash; see compare_inputs.h. */
#include "compare_inputs.h"

#include "compiler/ir/hash.h"
#include "engine_parts.h"
#include "join_ranks.h"
#include "run_sizes.h"

enum { LANES = 8 };

/* Mixes n words into a hash by several independent chains, which the processor computes in
 * parallel. */
static uint64_t hash_row(uint64_t hash, const uint32_t *words, int64_t n)
{
    uint64_t lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] = cr_hash_word(lanes[lane], words[i + lane]);
    for (int lane = 0; lane < LANES; lane++)
        hash = cr_hash_word(hash, lanes[lane]);
    return cr_hash_words(hash, words + i, n - i);
}

/* Mixes the elements of a tensor along `axis` and all later axes into a hash, as far as they
 * exist in this run: up to `sizes`. */
static uint64_t hash_sized(uint64_t hash, const struct cr_port *port, const int64_t *sizes, int axis,
                           const uint32_t *data)
{
    int64_t stride = 1;
    if (axis == port->rank)
        return cr_hash_word(hash, *data);
    if (axis == port->rank - 1)
        return hash_row(hash, data, sizes[axis]);
    for (int a = axis + 1; a < port->rank; a++)
        stride *= port->shape[a];
    for (int64_t i = 0; i < sizes[axis]; i++)
        hash = hash_sized(hash, port, sizes, axis + 1, data + i * stride);
    return hash;
}

/* True if an axis of the input has a ragged length, so that elements beyond a row's size do not
 * exist. */
static bool is_ragged(const struct cr_engine *e, int input)
{
    for (int a = 0; a < e->inputs[input].rank; a++) {
        int length = e->length_axes[input][a];
        if (length && e->lengths[length - 1].batch)
            return true;
    }
    return false;
}

/* Skips ragged inputs: each rank computes the whole of a ragged model, so no rank depends on
 * another's input. */
int cr_compare_inputs(const struct cr_engine *e, const int *number, int n, const void *const *inputs,
                      struct cr_error *error)
{
    uint64_t hash = 0;
    int64_t sizes[CR_MAX_RANK];
    int other;
    if (!e->ranks)
        return 0;
    if (cr_engine_check_lengths(e, inputs, error))
        return -1;
    for (int k = 0; k < n; k++) {
        int i = number ? number[k] : k;
        if (is_ragged(e, i))
            continue;
        cr_input_sizes(e, i, inputs, sizes);
        hash = hash_sized(hash, &e->inputs[i], sizes, 0, inputs[i]);
    }
    if ((other = cr_ranks_compare(e->ranks, hash)) < 0)
        return 0;
    return cr_fail(error, "%s: rank %d does not run with the inputs of rank 0, expected the same files and options for all "
                   "ranks", e->path, other);
}
