/* write_offsets.c - finds the row offsets of write ops, and checks them before a run; see
 * write_offsets.h. */
#include "write_offsets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/eval.h"
#include "compiler/ir/mem.h"

/* A scalar node on which an offset depends. */
struct number {
    enum cr_op op;
    enum cr_dtype dtype;
    int in[3]; /* the operands, as indices in `numbers` */
    int port;  /* for inputs and states: index of the port, and index of the element in its
                * tensor */
    int64_t element;
    double value;
    unsigned entries; /* bit i: entry i needs the number */
};

struct offset {
    int number;
    int64_t rows, room; /* number of rows written; size of the axis along which they are written */
    int length;         /* index of the number that is the count of written rows; CR_NONE: the
                         * count is `rows` */
    int axis;
    unsigned entries;
    char *file;
    int line;
};

struct cr_offsets {
    struct number *numbers;
    int n_numbers, cap_numbers;
    struct offset *offsets;
    int n_offsets, cap_offsets;
};

/* ---- finding them ---- */

struct finder {
    const struct cr_graph *g;
    struct cr_offsets *offsets;
    unsigned *needed; /* by node: bit i: entry i needs it */
    int *number;      /* by node: its index in `numbers`; CR_NONE: its value is unknown before a
                       * run */
    int *port;        /* by node: its index among the nodes with the same op */
};

static bool may_be_number(const struct cr_node *node)
{
    enum cr_kind kind = cr_ops[node->op].kind;
    bool leaf = kind == CR_KIND_LEAF && node->op != CR_OP_param && node->op != CR_OP_literal;
    return node->dtype != CR_F32 && cr_elements(node->rank, node->shape) == 1 &&
           (leaf || kind == CR_KIND_ELEMENTWISE || kind == CR_KIND_MOVE);
}

static int64_t element_of(const struct cr_node *node, const int64_t *index)
{
    int64_t element = 0;
    for (int a = 0; a < node->rank; a++)
        element = element * node->shape[a] + index[a];
    return element;
}

/* Changes *index from an index into the result of a movement op to the index of the same element
 * in its operand. */
static void move_back(const struct cr_node *node, const struct cr_node *in, int64_t *index)
{
    int64_t from[CR_MAX_RANK], element = element_of(node, index);
    memcpy(from, index, sizeof from);
    for (int a = in->rank - 1; a >= 0; a--) {
        if (node->op == CR_OP_reshape)
            index[a] = element % in->shape[a], element /= in->shape[a];
        else if (node->op == CR_OP_slice)
            index[a] = from[a] + node->index[a];
        else if (node->op == CR_OP_expand)
            index[a] = in->shape[a] == 1 ? 0 : from[a + node->rank - in->rank];
    }
    for (int a = 0; node->op == CR_OP_permute && a < node->rank; a++)
        index[node->index[a]] = from[a];
}

/* Sets *number to the element of an input or a state that a node is a view of; returns false if
 * the node is no such view. */
static bool find_element(const struct finder *f, cr_id id, struct number *number)
{
    int64_t index[CR_MAX_RANK] = {0};
    for (; cr_kind_of(f->g, id) == CR_KIND_MOVE; id = cr_in(f->g, id, 0))
        move_back(&f->g->nodes[id], &f->g->nodes[cr_in(f->g, id, 0)], index);
    number->op = f->g->nodes[id].op;
    number->port = f->port[id];
    number->element = element_of(&f->g->nodes[id], index);
    return cr_is_input(&f->g->nodes[id]);
}

/* Adds a node to `numbers` if all its operands are there. */
static void number_node(struct finder *f, cr_id id)
{
    const struct cr_node *node = &f->g->nodes[id];
    bool known = may_be_number(node);
    struct number number = {.op = node->op,
                            .dtype = node->dtype,
                            .port = f->port[id],
                            .value = node->op == CR_OP_const ? node->value : 0,
                            .entries = cr_holds_length(f->g, id) ? ~0u : f->needed[id]};
    for (int i = 0; i < node->n_in && known; i++)
        known = (number.in[i] = f->number[cr_in(f->g, id, i)]) != CR_NONE;
    if (!known && may_be_number(node) && cr_kind_of(f->g, id) == CR_KIND_MOVE)
        known = find_element(f, id, &number);
    if (!known)
        return;
    f->number[id] = f->offsets->n_numbers;
    *CR_PUSH(f->offsets->numbers, f->offsets->n_numbers, f->offsets->cap_numbers) = number;
}

/* Returns the index in `numbers` of the input that holds a length, or CR_NONE. */
static int number_of_length(const struct finder *f, int length)
{
    for (cr_id id = 0; length && id < f->g->n_nodes; id++)
        if (f->g->nodes[id].op == CR_OP_input &&
            cr_find_length(f->g, f->g->nodes[id].name) == length - 1)
            return f->number[id];
    return CR_NONE;
}

/* Adds a write op to the list of checks if its offset is known before a run. */
static void add_offset(struct finder *f, cr_id id)
{
    const struct cr_node *node = &f->g->nodes[id];
    cr_id rows = cr_in(f->g, id, 1), at = cr_in(f->g, id, 2);
    if (f->number[at] == CR_NONE || !f->needed[id])
        return;
    *CR_PUSH(f->offsets->offsets, f->offsets->n_offsets, f->offsets->cap_offsets) =
        (struct offset){.number = f->number[at],
                        .rows = f->g->nodes[rows].shape[node->axis],
                        .room = node->shape[node->axis],
                        .length = number_of_length(f, cr_length_at(f->g, rows, node->axis)),
                        .axis = node->axis,
                        .entries = f->needed[id],
                        .file = cr_strdup(node->where.file),
                        .line = node->where.line};
}

static void find_all(struct finder *f)
{
    int n[CR_OP_COUNT] = {0};
    for (cr_id id = 0; id < f->g->n_nodes; id++) {
        f->number[id] = CR_NONE;
        f->port[id] = n[f->g->nodes[id].op]++;
        number_node(f, id);
        if (f->g->nodes[id].op == CR_OP_write)
            add_offset(f, id);
    }
}

struct cr_offsets *cr_offsets_find(const struct cr_graph *g)
{
    bool writes = false;
    for (cr_id id = 0; id < g->n_nodes && !writes; id++)
        writes = g->nodes[id].op == CR_OP_write;
    if (!writes)
        return NULL;
    struct finder f = {g, cr_calloc(1, sizeof *f.offsets), cr_find_needed(g), NULL, NULL};
    f.number = cr_calloc((size_t)g->n_nodes, sizeof *f.number);
    f.port = cr_calloc((size_t)g->n_nodes, sizeof *f.port);
    find_all(&f);
    free(f.needed);
    free(f.number);
    free(f.port);
    return f.offsets;
}

void cr_offsets_free(struct cr_offsets *o)
{
    for (int i = 0; o && i < o->n_offsets; i++)
        free(o->offsets[i].file);
    if (o) {
        free(o->offsets);
        free(o->numbers);
    }
    free(o);
}

/* ---- a run ---- */

static double read_number(const struct number *number, const void *tensor)
{
    if (number->dtype == CR_I32)
        return ((const int32_t *)tensor)[number->element];
    return ((const float *)tensor)[number->element] != 0;
}

/* Returns the value of a number: computed from its operands, or read from an input or a state. */
static double evaluate(const struct cr_offsets *o, const struct number *n,
                       const void *const *inputs, void *const *states)
{
    double in[3] = {0};
    for (int i = 0; i < cr_ops[n->op].arity; i++)
        in[i] = o->numbers[n->in[i]].value;
    if (n->op == CR_OP_input)
        return read_number(n, inputs[n->port]);
    if (n->op == CR_OP_state)
        return read_number(n, states[n->port]);
    if (cr_ops[n->op].kind == CR_KIND_ELEMENTWISE)
        return cr_evaluator_of(n->op, n->dtype)(n->op, in[0], in[1], in[2]);
    return cr_ops[n->op].kind == CR_KIND_MOVE ? in[0] : n->value;
}

/* Fails if rows at this offset lie outside the axis. */
static int check_offset(const struct cr_offsets *o, const struct offset *offset,
                        struct cr_error *error)
{
    double at = o->numbers[offset->number].value;
    int64_t rows =
        offset->length == CR_NONE ? offset->rows : (int64_t)o->numbers[offset->length].value;
    if (at >= 0 && at + (double)rows <= (double)offset->room)
        return 0;
    return cr_fail(error,
                   "%.400s:%d: write: the offset of %" PRId64
                   " row%s is %.0f, expected 0 to %" PRId64 ", as axis %d has %" PRId64,
                   offset->file, offset->line, rows, rows == 1 ? "" : "s", at, offset->room - rows,
                   offset->axis + 1, offset->room);
}

int cr_offsets_check(struct cr_offsets *o, unsigned entries, const void *const *inputs,
                     void *const *states, struct cr_error *error)
{
    for (int i = 0; o && i < o->n_numbers; i++)
        if (o->numbers[i].entries & entries)
            o->numbers[i].value = evaluate(o, &o->numbers[i], inputs, states);
    for (int i = 0; o && i < o->n_offsets; i++)
        if (o->offsets[i].entries & entries && check_offset(o, &o->offsets[i], error))
            return -1;
    return 0;
}

bool cr_offsets_use(const struct cr_offsets *o, int input)
{
    for (int i = 0; o && i < o->n_numbers; i++)
        if (o->numbers[i].op == CR_OP_input && o->numbers[i].port == input)
            return true;
    return false;
}
