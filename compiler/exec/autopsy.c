/* autopsy.c - which node is the first to go wrong; see autopsy.h. */
#include "autopsy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "rounding.h"

enum { HAS_NAN = 1, HAS_INFINITY = 2 };

/* A walk over the graph. */
struct walker {
    struct cr_autopsy *autopsy;
    const struct cr_graph *graph;
    struct cr_graph *plain;       /* the same without arithmetics */
    struct cr_interpreter exact;  /* all in double precision */
    struct cr_interpreter local;  /* from what is stored */
    struct cr_interpreter bounds; /* of the errors of `local` */
    int *item; /* by node: where it stands in the list of what is stored; or CR_NONE */
    unsigned char *not_finite; /* by node: HAS_... of its value in `local` */
    int *origin;               /* by node: the finding that is to blame for it, or CR_NONE */
};

/* ---- elements ---- */

/* The coordinates of row-major element number i, as an offset into a view. */
static double element(const struct cr_view *view, const struct cr_node *node, int64_t i)
{
    const double *at = view->data;
    for (int axis = node->rank - 1; axis >= 0; axis--) {
        at += i % node->shape[axis] * view->stride[axis];
        i /= node->shape[axis];
    }
    return *at;
}

struct scan {
    unsigned flags;
    int64_t at, first[4]; /* by flag: the first such element */
};

static void row_scan(const struct cr_row_walk *walk, int64_t n, double *const *at,
                     const int64_t *step)
{
    struct scan *s = walk->context;
    for (int64_t i = 0; i < n; i++, s->at++) {
        double value = at[0][i * step[0]];
        unsigned flag = isnan(value) ? HAS_NAN : isinf(value) ? HAS_INFINITY : 0;
        if (flag && !(s->flags & flag))
            s->first[flag] = s->at;
        s->flags |= flag;
    }
}

static struct scan scan(const struct cr_view *view, const struct cr_node *node)
{
    struct scan s = {0};
    const struct cr_row_walk walk = {.rank = node->rank,
                                     .shape = node->shape,
                                     .n = 1,
                                     .data = {view->data},
                                     .stride = {view->stride},
                                     .context = &s};
    cr_walk_rows(&walk, row_scan);
    return s;
}

static void row_saturate(const struct cr_row_walk *walk, int64_t n, double *const *at,
                         const int64_t *step)
{
    (void)walk;
    for (int64_t i = 0; i < n; i++) {
        double *value = &at[0][i * step[0]];
        if (fabs(*value) >= (double)FLT_MAX * (1 + 0x1p-25))
            *value = copysign(INFINITY, *value);
    }
}

/* What no float holds is an infinity, as in the kernels. */
static void saturate(const struct cr_view *view, const struct cr_node *node)
{
    const struct cr_row_walk walk = {.rank = node->rank,
                                     .shape = node->shape,
                                     .n = 1,
                                     .data = {view->data},
                                     .stride = {view->stride}};
    enum cr_kind kind = cr_ops[node->op].kind;
    if (node->dtype == CR_F32 && kind != CR_KIND_LEAF && kind != CR_KIND_MOVE)
        cr_walk_rows(&walk, row_saturate);
}

/* ---- what is not finite ---- */

static struct cr_finding *add_finding(struct walker *w, cr_id id)
{
    struct cr_autopsy *a = w->autopsy;
    struct cr_finding *f = CR_PUSH(a->findings, a->n, a->cap);
    *f = (struct cr_finding){.node = id, .call = CR_NONE, .worst = CR_NONE};
    if (w->item[id] >= 0)
        f->call = a->stored->items[w->item[id]].call;
    return f;
}

/* Flags that any operand has. */
static unsigned flags_of_operands(const struct walker *w, const struct cr_node *node)
{
    unsigned flags = 0;
    for (int i = 0; i < node->n_in; i++)
        flags |= w->not_finite[cr_inputs(w->graph, node)[i]];
    return flags;
}

/* True of infinities that were handed in, as those of a mask: who makes NaN of them is to blame. */
static bool is_handed_in(const struct walker *w, int finding)
{
    const struct cr_finding *f = &w->autopsy->findings[finding];
    return f->kind == CR_FINDING_INFINITE &&
           cr_ops[w->graph->nodes[f->node].op].kind == CR_KIND_LEAF;
}

/* The origin that the operands have from further up: that of the first one that is not finite.  Of
 * NaN that this node makes, one that is computed. */
static int inherited_origin(const struct walker *w, const struct cr_node *node, unsigned made)
{
    for (int i = 0; i < node->n_in; i++) {
        cr_id in = cr_inputs(w->graph, node)[i];
        if (w->not_finite[in] && w->origin[in] >= 0 &&
            !(made & HAS_NAN && is_handed_in(w, w->origin[in])))
            return w->origin[in];
    }
    return CR_NONE;
}

/* A constant that is infinite is meant to be, as that of a mask. */
static bool is_meant(const struct cr_node *node, unsigned made)
{
    bool written = node->op == CR_OP_const || node->op == CR_OP_literal;
    return !made || (written && !(made & HAS_NAN));
}

static void note_operands(const struct walker *w, struct cr_finding *f)
{
    const struct cr_node *node = &w->graph->nodes[f->node];
    for (int i = 0; i < node->n_in && cr_ops[node->op].kind == CR_KIND_ELEMENTWISE; i++) {
        cr_id in = cr_inputs(w->graph, node)[i];
        f->operands[i] = element(&w->local.values[in], &w->graph->nodes[in], f->worst);
    }
}

/* Finds what is not finite in a node's value, and which node is to blame: this one if its operands have
 * nothing of the kind, else the one that is to blame for them. */
static void trace(struct walker *w, cr_id id)
{
    const struct cr_node *node = &w->graph->nodes[id];
    struct scan s = scan(&w->local.values[id], node);
    unsigned of_operands = flags_of_operands(w, node);
    unsigned made = s.flags & HAS_NAN && !(of_operands & HAS_NAN) ? HAS_NAN
                    : s.flags && !of_operands                     ? HAS_INFINITY
                                                                  : 0;
    w->not_finite[id] = (unsigned char)s.flags;
    w->origin[id] = s.flags ? inherited_origin(w, node, made) : CR_NONE;
    if (is_meant(node, made) || (made == HAS_NAN && w->origin[id] >= 0))
        return;
    w->origin[id] = w->autopsy->n;
    struct cr_finding *f = add_finding(w, id);
    f->kind = made == HAS_NAN ? CR_FINDING_NAN : CR_FINDING_INFINITE;
    f->worst = s.first[made];
    f->got = element(&w->local.values[id], node, f->worst);
    f->want = element(&w->exact.values[id], node, f->worst);
    note_operands(w, f);
}

/* ---- what is stored ---- */

/* How far two numbers are apart; NaN is infinitely far from a number. */
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double apart = fabs(a - b);
    return isnan(apart) ? INFINITY : apart;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* What is held against each other at a stored node, element by element. */
struct judgement {
    struct cr_finding *finding;
    const float *kept;
    enum cr_dtype dtype;
    int64_t at;
    double worst; /* error over bound */
};

static double kept_element(const struct judgement *j, int64_t i)
{
    return j->dtype == CR_I32 ? (double)((const int32_t *)(const void *)j->kept)[i]
                              : (double)j->kept[i];
}

/* Twice the bound: kernels add up in blocks, and multiply what they have by what a block changes.  Near the
 * greatest float a rounding may end in infinity. */
static bool passes(double got, double want, double bound, double own)
{
    if (!(own > bound) || !(bound < INFINITY))
        return true;
    return isinf(got) && fabs(want) + bound >= (double)FLT_MAX;
}

/* Keeps the element that fails by the most or, while none fails, is nearest to its bound. */
static void row_judge(const struct cr_row_walk *walk, int64_t n, double *const *at,
                      const int64_t *step)
{
    struct judgement *j = walk->context;
    struct cr_finding *f = j->finding;
    for (int64_t i = 0; i < n; i++, j->at++) {
        double got = kept_element(j, j->at), want = at[0][i * step[0]], exact = at[1][i * step[1]];
        double own = distance(got, want), bound = at[2][i * step[2]];
        if (j->dtype == CR_F32)
            bound = 2 * (bound + CR_UNIT * fabs(want) + (double)FLT_MIN);
        bound = bound >= 0 ? bound : INFINITY; /* NaN, too */
        bool good = passes(got, want, bound, own);
        double ratio = own == 0 ? 0 : good && !(bound > 0) ? 1 : own / bound;
        f->error = larger(distance(got, exact), f->error);
        f->inherited = larger(distance(want, exact), f->inherited);
        f->own = larger(own, f->own);
        if (f->worst < 0 || (!good && !f->failing) || (good == !f->failing && ratio > j->worst)) {
            j->worst = ratio;
            f->worst = j->at;
            f->got = got;
            f->want = want;
            f->bound = bound;
        }
        f->failing += !good;
    }
}

/* Takes over what the kernel left, which has no error from here on. */
static int adopt(struct walker *w, cr_id id, const float *kept)
{
    const struct cr_node *node = &w->graph->nodes[id];
    const struct judgement from = {.kept = kept, .dtype = node->dtype};
    struct cr_view own = {0};
    if (cr_view_own_all(&w->local, &own, node))
        return -1;
    for (int64_t i = 0; i < cr_elements(node->rank, node->shape); i++)
        own.data[i] = kept_element(&from, i);
    cr_view_drop(&w->local, &w->local.values[id]);
    w->local.values[id] = own;
    cr_view_drop(&w->bounds, &w->bounds.values[id]);
    return cr_bound_nothing(&w->bounds, &w->bounds.values[id]);
}

/* What is not finite now and was not before comes from this kernel. */
static void trace_kept(struct walker *w, cr_id id, int finding)
{
    unsigned flags = scan(&w->local.values[id], &w->graph->nodes[id]).flags;
    if (flags & ~(unsigned)w->not_finite[id])
        w->origin[id] = finding;
    w->not_finite[id] = (unsigned char)flags;
}

/* Holds what a kernel left against the formulas. */
static int judge(struct walker *w, cr_id id)
{
    const struct cr_node *node = &w->graph->nodes[id];
    const float *kept = w->autopsy->kept[w->item[id]];
    int number = w->autopsy->n;
    struct judgement j = {.finding = add_finding(w, id), .kept = kept, .dtype = node->dtype};
    const struct cr_row_walk walk = {
        .rank = node->rank,
        .shape = node->shape,
        .n = 3,
        .data = {w->local.values[id].data, w->exact.values[id].data, w->bounds.values[id].data},
        .stride = {w->local.values[id].stride, w->exact.values[id].stride,
                   w->bounds.values[id].stride},
        .context = &j};
    cr_walk_rows(&walk, row_judge);
    if (j.finding->failing)
        j.finding->kind = CR_FINDING_WRONG;
    if (adopt(w, id, kept))
        return -1;
    trace_kept(w, id, number);
    return 0;
}

/* ---- the walk ---- */

/* Finds where each value is read last; what neither an output nor a stored value needs is left out. */
static void find_last_uses(struct walker *w)
{
    const struct cr_graph *g = w->graph;
    int *last = w->local.last_use;
    for (cr_id id = 0; id < g->n_nodes; id++)
        last[id] = w->item[id] >= 0 ? id : CR_NONE;
    for (int i = 0; i < g->n_outputs; i++)
        last[g->outputs[i].id] = g->n_nodes;
    for (cr_id id = g->n_nodes - 1; id >= 0; id--)
        for (int i = 0; last[id] >= 0 && i < g->nodes[id].n_in; i++)
            if (last[cr_in(g, id, i)] < id)
                last[cr_in(g, id, i)] = id;
}

static void drop(struct walker *w, cr_id id)
{
    cr_view_drop(&w->exact, &w->exact.values[id]);
    cr_view_drop(&w->local, &w->local.values[id]);
    cr_view_drop(&w->bounds, &w->bounds.values[id]);
}

/* One node of all three; what nobody reads after it is dropped. */
static int step(struct walker *w, cr_id id)
{
    const struct cr_node *node = &w->graph->nodes[id];
    if (cr_interpreter_compute(&w->exact, id, &w->exact.values[id]) ||
        cr_interpreter_compute(&w->local, id, &w->local.values[id]))
        return -1;
    saturate(&w->local.values[id], node);
    if (cr_bound_node(&w->bounds, &w->local, id))
        return -1;
    trace(w, id);
    if (w->item[id] >= 0 && judge(w, id))
        return -1;
    for (int i = 0; i < node->n_in; i++)
        if (w->local.last_use[cr_in(w->graph, id, i)] == id)
            drop(w, cr_in(w->graph, id, i));
    if (w->local.last_use[id] == id)
        drop(w, id);
    return 0;
}

/* Outputs that are not finite are traced back. */
static void blame(struct walker *w)
{
    for (int i = 0; i < w->graph->n_outputs; i++) {
        cr_id id = w->graph->outputs[i].id;
        if (w->not_finite[id] && w->origin[id] >= 0)
            w->autopsy->findings[w->origin[id]].reaches_output = true;
    }
}

/* The walk over a graph whose nodes are all there. */
static int walk(struct walker *w)
{
    for (int i = 0; i < w->autopsy->stored->n; i++)
        w->item[w->autopsy->stored->items[i].node] = i;
    find_last_uses(w);
    for (cr_id id = 0; id < w->graph->n_nodes; id++)
        if (w->local.last_use[id] >= 0 && step(w, id))
            return -1;
    blame(w);
    return 0;
}

/* The three interpreters share what they read, and nothing else. */
int cr_autopsy_run(struct cr_autopsy *a, struct cr_error *error)
{
    const struct cr_graph *g = a->stored->graph;
    struct walker w = {.autopsy = a, .graph = g, .plain = cr_graph_copy(g)};
    const struct cr_interpreter in = {
        .graph = g, .params = a->params, .inputs = a->inputs, .error = error};
    size_t n = (size_t)g->n_nodes + 1;
    w.exact = w.local = w.bounds = in;
    w.bounds.graph = w.plain;
    for (cr_id id = 0; id < g->n_nodes; id++)
        w.plain->nodes[id].arithmetic = CR_ARITHMETIC_f32;
    w.item = cr_calloc(n, sizeof *w.item);
    w.not_finite = cr_calloc(n, sizeof *w.not_finite);
    w.origin = cr_calloc(n, sizeof *w.origin);
    for (cr_id id = 0; id < g->n_nodes; id++)
        w.item[id] = w.origin[id] = CR_NONE;
    cr_interpreter_open(&w.exact);
    cr_interpreter_open(&w.local);
    cr_interpreter_open(&w.bounds);
    int status = walk(&w);
    cr_interpreter_close(&w.exact);
    cr_interpreter_close(&w.local);
    cr_interpreter_close(&w.bounds);
    cr_graph_free(w.plain);
    free(w.item);
    free(w.not_finite);
    free(w.origin);
    return status;
}
