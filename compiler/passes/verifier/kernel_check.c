#include "kernel_check.h"

bool cr_take_role(struct cr_kernel_check *c, int atom, unsigned role)
{
    if (atom < 0)
        return atom == -1;
    if (atom >= c->k->atoms.n || c->roles[atom])
        return false;
    c->roles[atom] = role;
    return true;
}

/* ---- indices ---- */

/* Sets *least and *most to the smallest and largest value of an affine index over the loops
 * `loops`.  Fails if it depends on other loops or overflows. */
static int find_range(const struct cr_kernel_check *c, const struct cr_affine *at, unsigned loops,
                      const char *what, int64_t *least, int64_t *most)
{
    *least = *most = at->base;
    for (int a = 0; a < CR_MAX_ATOMS; a++) {
        if (!at->coef[a] || (a < c->k->atoms.n && c->k->atoms.extent[a] == 1))
            continue;
        if (a >= c->k->atoms.n || !(c->roles[a] & loops))
            return cr_kernel_fault(c, "the index of %s goes along atom %d, which is no loop of it",
                                   what, a);
        int64_t way, *end = at->coef[a] < 0 ? least : most;
        if (__builtin_mul_overflow(at->coef[a], c->k->atoms.extent[a] - 1, &way) ||
            __builtin_add_overflow(*end, way, end))
            return cr_kernel_fault(c, "the index of %s overflows", what);
    }
    return 0;
}

int cr_verify_index(const struct cr_kernel_check *c, const struct cr_affine *at, unsigned loops,
                    int64_t size, const char *what)
{
    int64_t least, most;
    if (find_range(c, at, loops, what, &least, &most))
        return -1;
    if (least < 0 || most >= size)
        return cr_kernel_fault(c, "the index of %s goes from %lld to %lld, of %lld elements", what,
                               (long long)least, (long long)most, (long long)size);
    return 0;
}

/* ---- products ---- */

int cr_verify_core(const struct cr_kernel_check *c, int64_t N, int64_t summands)
{
    cr_id id = c->k->core;
    if (!cr_check_node(c, id) || c->g->nodes[id].op != CR_OP_matmul)
        return cr_kernel_fault(c, "its core is no matmul");
    const struct cr_node *core = &c->g->nodes[id], *left = &c->g->nodes[cr_in(c->g, id, 0)];
    if (N != core->shape[core->rank - 1] || summands != left->shape[left->rank - 1] ||
        cr_check_elements(c, id) != cr_check_elements(c, c->k->root))
        return cr_kernel_fault(c, "its sizes are not those of its core, v[%d]", (int)id);
    return 0;
}

/* ---- results ---- */

/* A set of elements in memory: `count` runs of `width` contiguous elements.  The first run begins
 * at `first`, each other one `step` elements after the one before. */
struct runs {
    int64_t first, width, step, count;
};

/* A term of an affine index: an atom's coefficient and extent. */
struct term {
    int64_t coef, extent;
};

/* Lists the terms of an index in the order of their coefficients, smallest first; returns their
 * number. */
static int sort_terms(const struct cr_kernel *k, const struct cr_affine *at, struct term *terms)
{
    int n = 0;
    for (int a = 0; a < k->atoms.n; a++) {
        if (!at->coef[a] || k->atoms.extent[a] == 1)
            continue;
        int i = n++;
        for (; i > 0 && terms[i - 1].coef > at->coef[a]; i--)
            terms[i] = terms[i - 1];
        terms[i] = (struct term){at->coef[a], k->atoms.extent[a]};
    }
    return n;
}

/* Sets *runs to the elements that an index visits.  Returns false if they do not form such runs, or
 * if an element is visited twice. */
static bool find_runs(const struct cr_kernel *k, const struct cr_affine *at, struct runs *runs)
{
    struct term terms[CR_MAX_ATOMS];
    int n = sort_terms(k, at, terms), i = 0;
    *runs = (struct runs){at->base, 1, 0, 1};
    for (; i < n && terms[i].coef == runs->width; i++)
        runs->width *= terms[i].extent;
    if (i < n)
        runs->step = terms[i].coef;
    for (; i < n && terms[i].coef == runs->step * runs->count; i++)
        runs->count *= terms[i].extent;
    return i == n && (runs->count == 1 || runs->step > runs->width);
}

/* Returns the runs of elements in a node's buffer that a kernel may store.  For a concat or a
 * write, there is one run for each index of the axes before its axis; for any other node there is a
 * single run. */
static struct runs room_of(const struct cr_kernel_check *c, cr_id id)
{
    const struct cr_node *node = &c->g->nodes[id];
    struct runs room = {0, cr_check_elements(c, id), 0, 1};
    if (node->op != CR_OP_concat && node->op != CR_OP_write)
        return room;
    for (int i = 0; i < node->axis; i++)
        room.count *= node->shape[i];
    room.step = room.width = room.width / room.count;
    return room;
}

int64_t cr_part_width(const struct cr_kernel_check *c, cr_id concat, int part)
{
    const struct cr_node *node = &c->g->nodes[concat];
    const struct cr_node *operand = &c->g->nodes[cr_in(c->g, concat, part)];
    return cr_elements(node->rank - node->axis, operand->shape + node->axis);
}

int cr_verify_result(const struct cr_kernel_check *c, cr_id id, const struct cr_affine *at,
                     unsigned loops, unsigned summed, int64_t first, int64_t width)
{
    struct runs room = room_of(c, id), runs;
    int64_t times = 1;
    bool fits = true;
    if (cr_verify_index(c, at, loops, cr_check_elements(c, id), "its result"))
        return -1;
    for (int a = 0; fits && a < c->k->atoms.n; a++)
        if ((c->roles[a] & loops) && !(summed >> a & 1))
            fits = !__builtin_mul_overflow(times, c->k->atoms.extent[a], &times);
    fits = fits && find_runs(c->k, at, &runs) && runs.width * runs.count == times;
    if (fits && runs.width == room.width * room.count) {
        runs.width = room.width;
        runs.step = room.step;
        runs.count = room.count;
    }
    if (!fits || runs.first != first || runs.width != width || runs.count != room.count ||
        (room.count > 1 && runs.step != room.step))
        return cr_kernel_fault(c, "its loops do not go through the elements of its result once");
    return 0;
}
