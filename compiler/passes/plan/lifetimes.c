#include "lifetimes.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "reuse_operands.h"

/* The place in a loop where a value is stored: kernel number `at` of an iteration, and the index in
 * its stored nodes. */
struct maker {
    int at, stored;
};

/* The nodes that a maker stores in all iterations of a loop, if all of them are kept; see
 * lifetimes.h. */
struct field {
    const struct cr_loop *loop;
    struct maker maker;
    const struct cr_loop *stack; /* identifies the stack: the first loop with the same one */
    int number;                  /* number among the fields of its stack */
    int64_t floats, offset;      /* size, and offset in a layer of the stack */
};

/* The range of layer numbers of a loop. */
struct layers {
    int entry, lowest, highest;
    const struct cr_loop *loop;
};

struct finder {
    const struct cr_module *m;
    const struct cr_loop *loops;
    int n_loops;
    struct cr_lifetimes *found;
    bool *output;          /* by node: true for an output */
    struct layers *layers; /* the ranges of all loops, sorted */
    struct field *fields;
    int n_fields, cap_fields;
};

/* ---- live ranges ---- */

/* Sets `first` of each node to the first kernel that writes it, and `last` to the last kernel that
 * writes or reads it; -1 if there is none. */
static void find_first_and_last(struct finder *f)
{
    struct cr_lifetimes *l = f->found;
    for (cr_id id = 0; id < f->m->graph->n_nodes; id++) {
        const struct cr_node *node = &f->m->graph->nodes[id];
        l->floats[id] = cr_align(cr_elements(node->rank, node->shape));
        l->first[id] = l->last[id] = -1;
    }
    for (int i = 0; i < f->m->n_kernels; i++) {
        const struct cr_kernel *k = &f->m->kernels[i];
        for (int s = 0; s < k->n_stored; s++) {
            if (l->first[k->stored[s]] < 0)
                l->first[k->stored[s]] = i;
            l->last[k->stored[s]] = i;
        }
        for (int r = 0; r < k->n_refs; r++)
            l->last[k->refs[r]] = i;
    }
}

/* True if a value is stored in the arena: a kernel computes it, and it is not an output. */
static bool is_in_arena(const struct finder *f, cr_id id)
{
    return f->found->first[id] >= 0 && !f->output[id];
}

/* Sets most_live to the most floats that are live at one kernel, by adding up the changes from
 * kernel to kernel.  A value that is stored over an operand needs no memory of its own. */
static void find_most_live(struct finder *f)
{
    int n = f->m->n_kernels;
    int64_t live = 0, *change = cr_calloc((size_t)n + 1, sizeof *change);
    for (cr_id id = 0; id < f->m->graph->n_nodes; id++) {
        if (!is_in_arena(f, id))
            continue;
        change[f->found->first[id]] += f->found->floats[id];
        change[f->found->last[id] + 1] -= f->found->floats[id];
        if (f->found->over[id] != CR_NONE) {
            change[f->found->first[id]] -= f->found->floats[id];
            change[f->found->first[id] + 1] += f->found->floats[id];
        }
    }
    for (int i = 0; i < n; i++) {
        live += change[i];
        if (f->found->most_live < live)
            f->found->most_live = live;
    }
    free(change);
}

/* ---- layers ---- */

static int lowest_layer(const struct cr_loop *loop)
{
    return loop->direction > 0 ? loop->start : loop->start - loop->count + 1;
}

static int highest_layer(const struct cr_loop *loop)
{
    return lowest_layer(loop) + loop->count - 1;
}

static int by_layers(const void *x, const void *y)
{
    const struct layers *a = x, *b = y;
    if (a->entry != b->entry)
        return a->entry - b->entry;
    if (a->lowest != b->lowest)
        return a->lowest - b->lowest;
    if (a->highest != b->highest)
        return a->highest - b->highest;
    return (a->loop > b->loop) - (a->loop < b->loop);
}

static struct layers layers_of(const struct finder *f, const struct cr_loop *loop)
{
    return (struct layers){f->m->kernels[loop->first].entry, lowest_layer(loop),
                           highest_layer(loop), loop};
}

static void sort_layers(struct finder *f)
{
    f->layers = cr_calloc((size_t)f->n_loops, sizeof *f->layers);
    for (int i = 0; i < f->n_loops; i++)
        f->layers[i] = layers_of(f, &f->loops[i]);
    qsort(f->layers, (size_t)f->n_loops, sizeof *f->layers, by_layers);
}

/* Returns the first loop at or after `layers->loop` that has the same entry and layers, or null. */
static const struct cr_loop *first_over(const struct finder *f, const struct layers *layers)
{
    int low = 0, high = f->n_loops;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (by_layers(&f->layers[middle], layers) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct layers *found = &f->layers[low];
    return low < f->n_loops && found->entry == layers->entry && found->lowest == layers->lowest &&
                   found->highest == layers->highest
               ? found->loop
               : NULL;
}

/* Returns the first loop whose values are in the same stack as those of `loop`: it has the same
 * entry and the same layers, or one more or fewer at either end. */
static const struct cr_loop *stack_of(const struct finder *f, const struct cr_loop *loop)
{
    const struct layers own = layers_of(f, loop);
    const struct cr_loop *first = loop;
    for (int low = -1; low <= 1; low++)
        for (int high = -1; high <= 1; high++) {
            struct layers near = {own.entry, own.lowest + low, own.highest + high, f->loops};
            const struct cr_loop *found = first_over(f, &near);
            if (found && found < first)
                first = found;
        }
    return first;
}

/* ---- parts of the arena ---- */

static int add_part(struct finder *f, int64_t floats)
{
    *CR_PUSH(f->found->parts, f->found->n, f->found->cap) = (struct cr_part){floats, 0};
    return f->found->n - 1;
}

static void put_into(struct finder *f, int part, cr_id id, int64_t within)
{
    f->found->part[id] = part;
    f->found->within[id] = within;
}

/* Returns the node that `maker` stores in an iteration of the loop. */
static cr_id made_by(const struct finder *f, const struct cr_loop *loop, struct maker maker,
                     int iteration)
{
    const struct cr_kernel *first = &f->m->kernels[loop->first + maker.at];
    return first[iteration * loop->period].stored[maker.stored];
}

/*
 * True if `places` buffers, used round-robin, suffice for the values of a maker: no value is live
 * when the next value is written to its buffer.  The next value may be several rounds later,
 * because outputs are stored elsewhere.  A live range ends at the last reader, inside the loop or
 * after it.
 */
static bool suffice(const struct finder *f, const struct cr_loop *loop, struct maker maker,
                    int places)
{
    for (int buffer = 0; buffer < places; buffer++) {
        int end = -1; /* the last kernel at which the previous value in this buffer is live */
        for (int i = buffer; i < loop->count; i += places) {
            cr_id id = made_by(f, loop, maker, i);
            if (!is_in_arena(f, id))
                continue;
            if (f->found->first[id] <= end)
                return false;
            end = f->found->last[id];
        }
    }
    return true;
}

/* True if the value of the first iteration is read after the loop. */
static bool outlives(const struct finder *f, const struct cr_loop *loop, struct maker maker)
{
    return f->found->last[made_by(f, loop, maker, 0)] >= loop->first + loop->period * loop->count;
}

/* Assigns the values of the iterations to `places` parts, round-robin. */
static void share(struct finder *f, const struct cr_loop *loop, struct maker maker, int places)
{
    for (int p = 0; p < places; p++) {
        int part = -1;
        for (int i = p; i < loop->count; i += places) {
            cr_id id = made_by(f, loop, maker, i);
            if (!is_in_arena(f, id))
                continue;
            if (part < 0)
                part = add_part(f, f->found->floats[id]);
            put_into(f, part, id, 0);
        }
    }
}

static void keep(struct finder *f, const struct cr_loop *loop, struct maker maker)
{
    int64_t floats = f->found->floats[made_by(f, loop, maker, 0)];
    *CR_PUSH(f->fields, f->n_fields, f->cap_fields) =
        (struct field){loop, maker, stack_of(f, loop), 0, floats, 0};
}

/* True if iterations store parts of the same value, or values of different sizes, of which the loop
 * stores only some parts.  Each such value then has its own part of the arena. */
static bool makes_parts(const struct finder *f, const struct cr_loop *loop, struct maker maker)
{
    for (int i = 0; i + 1 < loop->count; i++) {
        cr_id id = made_by(f, loop, maker, i), next = made_by(f, loop, maker, i + 1);
        if (id == next || f->found->floats[id] != f->found->floats[next])
            return true;
    }
    return false;
}

/* Assigns the nodes that a maker stores to parts of the arena.  If all of them must be kept, adds a
 * field instead. */
static void find_parts_of(struct finder *f, const struct cr_loop *loop, struct maker maker)
{
    if (f->found->first[made_by(f, loop, maker, 0)] != loop->first + maker.at)
        return; /* a concat, a part of which is stored before the loop */
    if (makes_parts(f, loop, maker))
        return;
    if (suffice(f, loop, maker, 1))
        share(f, loop, maker, 1);
    else if (!outlives(f, loop, maker) && suffice(f, loop, maker, 2))
        share(f, loop, maker, 2);
    else
        keep(f, loop, maker);
}

static void find_parts_of_loop(struct finder *f, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++)
        for (int s = 0; s < f->m->kernels[loop->first + at].n_stored; s++)
            find_parts_of(f, loop, (struct maker){at, s});
}

/* ---- stacks ---- */

/* Returns the node of a field in a layer, or CR_NONE if the layer has no such node in the arena. */
static cr_id value_of(const struct finder *f, const struct field *field, int layer)
{
    const struct cr_loop *loop = field->loop;
    if (layer < lowest_layer(loop) || layer > highest_layer(loop))
        return CR_NONE;
    cr_id id = made_by(f, loop, field->maker, (layer - loop->start) * loop->direction);
    return is_in_arena(f, id) ? id : CR_NONE;
}

/* True if in some layer the nodes of two fields are live at the same time. */
static bool are_together(const struct finder *f, const struct field *a, const struct field *b)
{
    for (int layer = lowest_layer(a->loop); layer <= highest_layer(a->loop); layer++) {
        cr_id x = value_of(f, a, layer), y = value_of(f, b, layer);
        if (x != CR_NONE && y != CR_NONE && f->found->first[x] <= f->found->last[y] &&
            f->found->first[y] <= f->found->last[x])
            return true;
    }
    return false;
}

/*
 * The most fields in a stack; the largest fields are chosen.  Each field is compared with all
 * earlier ones, which would be too slow for more.  Each value of the other fields has its own part.
 */
enum { MANY = 1024 };

static int by_size(const void *x, const void *y)
{
    const struct field *a = x, *b = y;
    if (a->floats != b->floats)
        return a->floats > b->floats ? -1 : 1;
    int x_at = a->loop->first + a->maker.at, y_at = b->loop->first + b->maker.at;
    return x_at < y_at || (x_at == y_at && a->maker.stored < b->maker.stored) ? -1 : 1;
}

static int by_stack(const void *x, const void *y)
{
    const struct field *a = x, *b = y;
    return a->number != b->number ? a->number - b->number : by_size(x, y);
}

/* Sorts the fields by stack, then by size, the largest first; stacks are sorted by their largest
 * field. */
static void sort_fields(struct finder *f)
{
    int n = 0, *number = cr_calloc((size_t)f->n_loops, sizeof *number);
    qsort(f->fields, (size_t)f->n_fields, sizeof *f->fields, by_size);
    for (int i = 0; i < f->n_fields; i++) {
        int *of_stack = &number[f->fields[i].stack - f->loops];
        *of_stack = *of_stack ? *of_stack : ++n;
        f->fields[i].number = *of_stack;
    }
    qsort(f->fields, (size_t)f->n_fields, sizeof *f->fields, by_stack);
    free(number);
}

/* The fields of one stack. */
struct stack {
    struct field *begin, *end;
};

/* Sets the offset of a field in a layer: the lowest at which it overlaps no earlier field that is
 * live at the same time. */
static void place_field(const struct finder *f, const struct stack *stack, struct field *field)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (struct field *other = stack->begin; other < field; other++) {
            if (field->offset < other->offset + other->floats &&
                other->offset < field->offset + field->floats && are_together(f, field, other)) {
                field->offset = other->offset + other->floats;
                moved = true;
            }
        }
    }
}

/* The size of a layer of a stack, and the range of its layers. */
struct extent {
    int64_t floats;
    int lowest, highest;
};

/* Returns the extent of a stack, whose layers are from the lowest to the highest layer of its
 * fields. */
static struct extent extent_of(const struct stack *stack)
{
    const struct cr_loop *first = stack->begin->stack;
    struct extent e = {0, lowest_layer(first), highest_layer(first)};
    for (const struct field *field = stack->begin; field < stack->end; field++) {
        if (e.floats < field->offset + field->floats)
            e.floats = field->offset + field->floats;
        if (e.lowest > lowest_layer(field->loop))
            e.lowest = lowest_layer(field->loop);
        if (e.highest < highest_layer(field->loop))
            e.highest = highest_layer(field->loop);
    }
    return e;
}

/* Adds a part of the arena for the fields of a stack. */
static void add_stack(struct finder *f, const struct stack *stack)
{
    for (struct field *field = stack->begin; field < stack->end; field++)
        place_field(f, stack, field);
    struct extent e = extent_of(stack);
    int part = add_part(f, e.floats * (e.highest - e.lowest + 1));
    for (const struct field *field = stack->begin; field < stack->end; field++) {
        for (int layer = e.lowest; layer <= e.highest; layer++) {
            cr_id id = value_of(f, field, layer);
            if (id != CR_NONE)
                put_into(f, part, id, (layer - e.lowest) * e.floats + field->offset);
        }
    }
}

/* Adds a part for each stack of kept values. */
static void find_stacks(struct finder *f)
{
    if (f->n_fields)
        sort_fields(f);
    for (int begin = 0, end; begin < f->n_fields; begin = end) {
        for (end = begin; end < f->n_fields && f->fields[end].number == f->fields[begin].number;)
            end++;
        int placed = end - begin < MANY ? end : begin + MANY;
        add_stack(f, &(struct stack){f->fields + begin, f->fields + placed});
    }
}

/* ---- public functions ---- */

void cr_lifetimes_find(struct cr_lifetimes *found, const struct cr_module *m,
                       const struct cr_loop *loops, int n_loops)
{
    size_t n = (size_t)m->graph->n_nodes;
    struct finder f = {.m = m, .loops = loops, .n_loops = n_loops, .found = found};
    *found = (struct cr_lifetimes){0};
    found->part = cr_calloc(n, sizeof *found->part);
    found->within = cr_calloc(n, sizeof *found->within);
    found->over = cr_calloc(n, sizeof *found->over);
    found->first = cr_calloc(n, sizeof *found->first);
    found->last = cr_calloc(n, sizeof *found->last);
    found->floats = cr_calloc(n, sizeof *found->floats);
    f.output = cr_calloc(n, sizeof *f.output);
    for (int i = 0; i < m->graph->n_outputs; i++)
        f.output[m->graph->outputs[i].id] = true;
    find_first_and_last(&f);
    for (size_t i = 0; i < n; i++) {
        found->part[i] = -1;
        found->over[i] = CR_NONE;
    }
    sort_layers(&f);
    for (int i = 0; i < n_loops; i++)
        find_parts_of_loop(&f, &loops[i]);
    find_stacks(&f);
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (is_in_arena(&f, id) && found->part[id] < 0)
            put_into(&f, add_part(&f, found->floats[id]), id, 0);
    cr_reuse_operands(found, m);
    find_most_live(&f);
    free(f.fields);
    free(f.layers);
    free(f.output);
}

void cr_lifetimes_free(struct cr_lifetimes *lifetimes)
{
    free(lifetimes->first);
    free(lifetimes->last);
    free(lifetimes->floats);
    free(lifetimes->part);
    free(lifetimes->within);
    free(lifetimes->over);
    free(lifetimes->parts);
}
